package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
)

// The state of a session is a folder with two lists, one JSON object a line, and
// the old bytes of what was changed:
//
//	seen.jsonl     the versions of files that the session read or wrote
//	changes.jsonl  what it changed; an entry is durable before the change is made
//	old/HASH       bytes that a file had
//	trash/N/       a folder that change N deleted
const (
	seenFile    = "seen.jsonl"
	changesFile = "changes.jsonl"
	oldDir      = "old"
	trashDir    = "trash"
)

// Versions of what is not a file with bytes.
const (
	absent = "absent"
	folder = "folder"
)

// A record is a change as it is kept, or what became of one.
type record struct {
	N      int         `json:"n"`
	State  string      `json:"state"`          // see below
	Key    string      `json:"key,omitempty"`  // of the use
	Args   string      `json:"args,omitempty"` // hash of its input
	Tool   string      `json:"tool,omitempty"`
	At     time.Time   `json:"at,omitzero"`
	Root   rawName     `json:"root,omitempty"`
	Path   rawName     `json:"path,omitempty"`   // below Root
	Before string      `json:"before,omitempty"` // version
	After  string      `json:"after,omitempty"`
	Mode   fs.FileMode `json:"mode,omitempty"` // of the file before
	Size   int64       `json:"size,omitempty"` // of what is kept
	Made   []rawName   `json:"made,omitempty"` // folders that were made for it, below Root
	Told   string      `json:"told,omitempty"` // what the model was told
}

// States of a change.
const (
	begun  = "begun"  // written before the effect, so that a crash is visible
	done   = "done"   // it took effect
	failed = "failed" // it did not
	undone = "undone" // it was put back
	pruned = "pruned" // its old bytes are gone
)

func (r *record) abs() string {
	return filepath.Join(string(r.Root), filepath.FromSlash(string(r.Path)))
}

// A memory is the state of one session. Its files are read again when another
// process has written to them.
type memory struct {
	dir     string
	seen    map[string]string // version by path
	changes []*record         // by number, from 1
	sizes   [2]int64          // of the lists as they were read
}

// remembered is how many sessions are held in memory. Another one's lists are read
// again.
const remembered = 1000

// memory returns the state of a session; the lock is held.
func (f *Files) memory(id uzda.SessionID) (*memory, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.sessions[id]
	if m == nil {
		if len(f.sessions) >= remembered {
			for any := range f.sessions {
				delete(f.sessions, any)
				break
			}
		}
		m = &memory{dir: filepath.Join(f.cfg.State, id.Folder())}
		f.sessions[id] = m
	}
	return m, m.load()
}

func (m *memory) load() error {
	var sizes [2]int64
	for i, name := range []string{seenFile, changesFile} {
		info, err := os.Stat(filepath.Join(m.dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("read what the session did to files: %w", err)
		}
		if err == nil {
			sizes[i] = info.Size()
		}
	}
	if m.seen != nil && sizes == m.sizes {
		return nil
	}
	m.seen, m.changes = map[string]string{}, nil
	seen, err := lines[sight](filepath.Join(m.dir, seenFile))
	if err != nil {
		return err
	}
	for _, s := range seen {
		m.seen[string(s.Path)] = s.Version
	}
	changes, err := lines[record](filepath.Join(m.dir, changesFile))
	if err != nil {
		return err
	}
	for _, c := range changes {
		m.note(c)
	}
	m.sizes = sizes
	return nil
}

// note takes a record into the list.
func (m *memory) note(c record) {
	switch {
	case c.N == len(m.changes)+1 && c.Root != "":
		m.changes = append(m.changes, &c)
	case c.N >= 1 && c.N <= len(m.changes):
		old := m.changes[c.N-1]
		if old.State = c.State; c.Told != "" {
			old.Told = c.Told
		}
	}
}

// A sight is a version of a file that the session knows.
type sight struct {
	Path    rawName `json:"path"`
	Version string  `json:"version"`
}

// lines reads a list. A last line that a crash cut off does not count.
func lines[T any](name string) ([]T, error) {
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what the session did to files: %w", err)
	}
	var out []T
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		var one T
		if len(line) > 0 && json.Unmarshal(line, &one) == nil {
			out = append(out, one)
		}
	}
	return out, nil
}

// see remembers that the session knows this version of a file. It survives the end
// of the program; after a loss of power a file may have to be read again.
func (m *memory) see(path, version string) error {
	if m.seen[path] == version {
		return nil
	}
	if err := m.add(0, seenFile, sight{rawName(path), version}, false); err != nil {
		return err
	}
	m.seen[path] = version
	return nil
}

// gone remembers that the session knows that nothing is at a path.
func (m *memory) gone(path string) error {
	known := []string{path}
	for other, v := range m.seen {
		if v != absent && strings.HasPrefix(other, path+string(filepath.Separator)) {
			known = append(known, other)
		}
	}
	for _, one := range known {
		if err := m.see(one, absent); err != nil {
			return err
		}
	}
	return nil
}

// record adds a change or its new state to the list.
func (m *memory) record(c record, durable bool) error {
	if err := m.add(1, changesFile, c, durable); err != nil {
		return err
	}
	m.note(c)
	return nil
}

func (m *memory) add(which int, name string, v any, durable bool) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("record what is done to files: %w", err)
	}
	if err := os.MkdirAll(m.dir, 0o700); err != nil {
		return fmt.Errorf("record what is done to files: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(m.dir, name), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("record what is done to files: %w", err)
	}
	defer f.Close()
	size, err := f.Seek(0, 2)
	if err != nil {
		return fmt.Errorf("record what is done to files: %w", err)
	}
	last := []byte{'\n'}
	if size > 0 {
		if _, err := f.ReadAt(last, size-1); err != nil {
			return fmt.Errorf("record what is done to files: %w", err)
		}
	}
	if last[0] != '\n' { // a crash cut the last line off: it must not spoil this one
		raw = append([]byte{'\n'}, raw...)
	}
	raw = append(raw, '\n')
	if _, err := f.Write(raw); err != nil {
		_ = f.Truncate(size) // a full disk takes a part
		return fmt.Errorf("record what is done to files: %w", err)
	}
	if durable {
		if err := f.Sync(); err != nil {
			return fmt.Errorf("record what is done to files: %w", err)
		}
		syncDir(m.dir)
	}
	m.sizes[which] = size + int64(len(raw))
	return nil
}

// begunBy returns the change that a use began, if any.
func (m *memory) begunBy(key, args string) *record {
	for i := len(m.changes) - 1; i >= 0 && key != ""; i-- {
		if c := m.changes[i]; c.Key == key && c.Args == args && c.State != failed {
			return c
		}
	}
	return nil
}

func (m *memory) oldFile(version string) string { return filepath.Join(m.dir, oldDir, version) }

// syncDir makes a rename durable. A system that cannot sync a folder keeps the
// rename all the same.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}

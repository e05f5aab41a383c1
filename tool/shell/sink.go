package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/uzda-dev/uzda"
)

// What is held in memory of one output: its beginning and its end.
const (
	half    = 1 << 20  // bytes of each
	hastily = 64 << 10 // the same, for a command that was cancelled: a second is all there is
)

// Names in a session's folder begin so: the named pipe of a running command, a file
// that is being written; raw outputs end so.
const (
	postPrefix = ".post-"
	unfinished = ".new-"
	rawSuffix  = ".out"
)

// A sink takes the raw output of a command. It is safe for concurrent use.
type sink struct {
	limit int64                    // bytes of the file
	open  func() (*os.File, error) // makes the file

	mu    sync.Mutex
	held  ends
	file  *os.File
	filed int64
	fault error // why the file is not whole
	users int   // the one that writes and the one that reads
}

func (s *sink) write(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held.total+int64(len(p)) > int64(s.held.half) {
		s.begin()
	}
	s.spill(p)
	_, _ = s.held.Write(p) // into memory
}

// begin makes the file with what came so far.
func (s *sink) begin() {
	if s.file != nil || s.fault != nil {
		return
	}
	if s.file, s.fault = s.open(); s.fault == nil {
		s.spill(s.held.head)
	}
}

func (s *sink) spill(p []byte) {
	if s.fault != nil || s.file == nil || s.users == 0 {
		return
	}
	n := int(min(int64(len(p)), s.limit-s.filed))
	if n <= 0 {
		return
	}
	n, s.fault = s.file.Write(p[:n])
	s.filed += int64(n)
}

// keep sees to it that the raw output lies in a file. It returns the path, and what
// is missing there, "" if nothing.
func (s *sink) keep() (path, missing string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin()
	if s.file != nil {
		path = s.file.Name()
	}
	switch {
	case s.fault != nil && s.filed == 0:
		if s.file != nil {
			s.file.Close()
			_ = os.Remove(path)
		}
		return "", fmt.Sprintf("the raw output could not be kept: %v", plainError(s.fault))
	case s.fault != nil:
		return path, fmt.Sprintf("only the first %d of %d bytes could be kept: %v", s.filed, s.held.total, plainError(s.fault))
	case s.filed < s.held.total:
		return path, fmt.Sprintf("only the first %d of %d bytes are kept", s.filed, s.held.total)
	}
	return path, ""
}

// plainError leaves the path out: it is said beside.
func plainError(err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return p.Err
	}
	return err
}

// whole opens all of the output so far, where it lies in a file.
func (s *sink) whole() (f *os.File, size int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil || s.fault != nil || s.filed < s.held.total {
		return nil, 0, false
	}
	f, err := os.Open(s.file.Name())
	return f, s.held.total, err == nil
}

// drop removes the file: what it holds is told already, and nothing will follow.
func (s *sink) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		_ = os.Remove(s.file.Name())
	}
}

// parts returns the beginning and the end of the output, at most most bytes of each,
// and how many bytes between them are not there. Later output does not change them.
func (s *sink) parts(most int) (head, tail []byte, gap, total int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := &s.held
	head, total = slices.Clip(h.head), h.total
	tail = append(slices.Clone(h.tail[h.next:]), h.tail[:h.next]...)
	if total == int64(len(head)+len(tail)) {
		head, tail = append(head, tail...), nil
		if len(head) > 2*most {
			head, tail = head[:most], head[len(head)-most:]
		}
	} else {
		head, tail = head[:min(most, len(head))], tail[max(len(tail)-most, 0):]
	}
	return head, tail, total - int64(len(head)+len(tail)), total
}

// finish is called by each of the two that use the sink; the last closes the file.
func (s *sink) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users == 0 && s.file != nil {
		s.file.Close()
	}
}

// spill makes the file for a raw output, and room for it: the oldest ones go.
func (s *Shell) spill(folder string, use uzda.Use, salt string) (*os.File, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	s.prune(folder)
	id := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r == '.' {
			return r
		}
		return '-'
	}, uzda.Before(string(use.ID), 40))
	return os.OpenFile(filepath.Join(folder, id+"-"+salt+rawSuffix), os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
}

// prune removes the oldest outputs where all of them could take too much.
func (s *Shell) prune(folder string) {
	type old struct {
		name string
		size int64
		at   time.Time
	}
	var all []old
	sum := s.c.Spill
	entries, _ := os.ReadDir(folder) // making the file will say what is wrong
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), rawSuffix) {
			all = append(all, old{e.Name(), info.Size(), info.ModTime()})
			sum += info.Size()
		}
	}
	slices.SortFunc(all, func(a, b old) int { return a.at.Compare(b.at) })
	const most = 1000 // files
	for i, f := range all {
		if sum <= s.c.Kept && len(all)-i < most {
			return
		}
		_ = os.Remove(filepath.Join(folder, f.name))
		sum -= f.size
	}
}

// tidy removes what a crash left in a session's folder.
func tidy(folder string) {
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		of, ok := strings.CutPrefix(e.Name(), postPrefix)
		if !ok {
			of, ok = strings.CutPrefix(e.Name(), unfinished)
		}
		if ok && !elsewhere(of) {
			_ = os.Remove(filepath.Join(folder, e.Name()))
		}
	}
}

package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/uzda-dev/uzda"
)

// dirFile holds the working directory of a session, in the session's folder.
const dirFile = "directory"

func (s *Shell) folder(id uzda.SessionID) string { return filepath.Join(s.c.State, id.Folder()) }

// Place returns the directory that the session went to, or dir if it went nowhere or
// cannot be there any more.
func (s *Shell) Place(id uzda.SessionID, dir string) string {
	if at := s.stored(id); at != "" && s.usable(at) == nil {
		return at
	}
	return dir
}

// stored returns where the last command left the session, "" if nowhere else.
func (s *Shell) stored(id uzda.SessionID) string {
	s.mu.Lock()
	at := s.dirs[id]
	s.mu.Unlock()
	if at != "" {
		return at
	}
	data, err := os.ReadFile(filepath.Join(s.folder(id), dirFile))
	if err != nil {
		return ""
	}
	return string(data)
}

// usable says why a directory cannot be worked in, nil if it can.
func (s *Shell) usable(dir string) error {
	at, err := filepath.EvalSymlinks(dir)
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(at); err == nil && !info.IsDir() {
			return errors.New("is no directory any more")
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("is gone")
	}
	if err != nil {
		return fmt.Errorf("cannot be used: %w", err)
	}
	if len(s.c.Roots) == 0 {
		return nil
	}
	for _, root := range s.c.Roots {
		if root, err := filepath.EvalSymlinks(root); err == nil && within(root, at) {
			return nil
		}
	}
	return errors.New("is outside the folders that commands may work in")
}

func within(root, dir string) bool {
	rel, err := filepath.Rel(root, dir)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// begin returns where a use runs, and what is to say of it: that the directory of
// the session is lost.
func (s *Shell) begin(use uzda.Use) (dir, note string, err error) {
	dir = use.Dir
	if dir == "" {
		if dir = "."; len(s.c.Roots) > 0 {
			dir = s.c.Roots[0]
		}
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", "", fmt.Errorf("the directory %s: %w", dir, err)
	}
	if at := s.stored(use.Session); at != "" && at != dir {
		if why := s.usable(at); why != nil {
			note = fmt.Sprintf("the working directory %s %v; this ran in %s", at, why, dir)
			s.forget(use.Session)
		}
	}
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		s.forget(use.Session)
		return "", "", fmt.Errorf("the directory %s is gone; the next one begins in the session's own directory", dir)
	}
	return dir, note, nil
}

// moved keeps where a command ended. It returns the directory if it is another than
// before, and what is to say of one that cannot be kept.
func (s *Shell) moved(id uzda.SessionID, from, to string) (dir, note string) {
	switch to {
	case "":
		return "", ""
	case "\n":
		s.forget(id)
		return "", "the directory that the command ended in is gone: the next command begins in the session's own directory"
	}
	if at, err := filepath.EvalSymlinks(from); err == nil && at == to {
		return "", ""
	}
	if why := s.usable(to); why != nil {
		s.forget(id)
		return "", fmt.Sprintf("%s %v: the next command begins in the session's own directory", to, why)
	}
	if err := s.store(id, to); err != nil {
		s.mu.Lock()
		s.dirs[id] = to
		s.mu.Unlock()
		return to, fmt.Sprintf("the new directory could not be stored, so a restart forgets it: %v", err)
	}
	return to, ""
}

func (s *Shell) forget(id uzda.SessionID) {
	s.mu.Lock()
	delete(s.dirs, id)
	s.mu.Unlock()
	_ = os.Remove(filepath.Join(s.folder(id), dirFile)) // it is not used where it is not usable
}

// store replaces the file: written beside it, synced and renamed, so that a crash at
// any point leaves the old directory or the new one.
func (s *Shell) store(id uzda.SessionID, dir string) (err error) {
	folder := s.folder(id)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, unfinished+own()+"-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(dir)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(folder, dirFile))
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return err
	}
	s.mu.Lock()
	delete(s.dirs, id)
	s.mu.Unlock()
	return nil
}

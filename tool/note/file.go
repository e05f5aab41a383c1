package note

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	mainFile  = "notes.md"
	keyPrefix = "key-"
	suffix    = ".md"
)

func file(key string) string {
	if key == "" {
		return mainFile
	}
	return keyPrefix + key + suffix
}

// fileMost is how much of a file is read: a person may have put anything there.
const fileMost = 1 << 20

// load reads the notes of a folder by key; empty ones count as none. With an error
// comes what could be read.
func load(dir string) (map[string]string, error) {
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the notes: %w", err)
	}
	all := map[string]string{}
	var faults error
	for _, f := range files {
		key, ok := keyOf(f.Name())
		if !ok {
			continue // a temporary file, or not ours
		}
		text, err := content(filepath.Join(dir, f.Name()))
		if err != nil {
			faults = errors.Join(faults, fmt.Errorf("read the notes: %w", err))
		} else if text != "" {
			all[key] = text
		}
	}
	return all, faults
}

func keyOf(name string) (key string, ok bool) {
	if name == mainFile {
		return "", true
	}
	rest, ours := strings.CutPrefix(name, keyPrefix)
	key, ok = strings.CutSuffix(rest, suffix)
	return key, ours && ok && key != "" && validKey(key)
}

// content reads a file, if it is one: to open a pipe would wait for its writer.
func content(name string) (string, error) {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return "", nil // deleted by another process just now, or no note
	}
	if err != nil {
		return "", err
	}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, fileMost))
	return strings.ToValidUTF8(string(data), "\uFFFD"), err
}

// keys returns the keys but that of the main note, sorted.
func keys(all map[string]string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(k string) bool { return k == "" })
}

// store replaces a note: written beside it, synced, renamed, and the folder
// synced, so that a crash at any point leaves the old note or the new one.
func store(dir, key, text string) (err error) {
	name := filepath.Join(dir, file(key))
	if text == "" {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("delete the note: %w", err)
		}
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("save the note: %w", err)
	}
	sweep(dir)
	f, err := os.CreateTemp(dir, unfinished+"*")
	if err != nil {
		return fmt.Errorf("save the note: %w", err)
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if _, err := f.WriteString(text); err != nil {
		return fmt.Errorf("save the note: %w", err)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("save the note: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("save the note: %w", err)
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return fmt.Errorf("save the note: %w", err)
	}
	return syncDir(dir)
}

// unfinished begins the names of files that are being written.
const unfinished = ".new-"

// sweep removes what writers that were killed left behind. Others may be writing,
// so what is young stays.
func sweep(dir string) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return // writing will say so
	}
	for _, f := range files {
		if info, err := f.Info(); err == nil && strings.HasPrefix(f.Name(), unfinished) && time.Since(info.ModTime()) > time.Hour {
			_ = os.Remove(filepath.Join(dir, f.Name()))
		}
	}
}

// syncDir makes a rename durable. A system that cannot sync a folder keeps the
// rename all the same.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("save the note: %w", err)
	}
	defer func() { _ = d.Close() }()
	_ = d.Sync()
	return nil
}

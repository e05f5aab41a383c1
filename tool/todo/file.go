package todo

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	name       = "todo.md"
	unfinished = ".new-" // begins the names of files that are being written
)

// Markdown writes a list as people read it.
func Markdown(items []Item) string {
	var b strings.Builder
	for _, it := range items {
		fmt.Fprintf(&b, "- [%s] %s\n", box(it.Status), it.Text)
	}
	return b.String()
}

func box(s Status) string {
	switch s {
	case Done:
		return "x"
	case Doing:
		return "~"
	}
	return " "
}

// parseList reads a list, also one that a person edited: what is no item is left
// out, and what is too much is cut.
func parseList(text string) (items []Item) {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "- [")
		mark, what, found := strings.Cut(rest, "]")
		what = oneLine(what)
		if !ok || !found || what == "" || len(items) == MaxItems {
			continue
		}
		it := Item{Text: firstRunes(what), Status: Pending}
		switch mark {
		case "x", "X":
			it.Status = Done
		case "~", "-", ">":
			it.Status = Doing
		}
		items = append(items, it)
	}
	return items
}

func firstRunes(s string) string {
	n := 0
	for i := range s {
		if n++; n > MaxText {
			return s[:i]
		}
	}
	return s
}

func load(dir string) ([]Item, error) {
	if info, err := os.Stat(filepath.Join(dir, name)); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read the list: %s is no plain file; remove it", name) // to open a pipe would wait
	}
	f, err := os.Open(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the list: %w", err)
	}
	defer func() { _ = f.Close() }()
	const most = 1 << 20
	data, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return nil, fmt.Errorf("read the list: %w", err)
	}
	return parseList(strings.ToValidUTF8(string(data), "\uFFFD")), nil
}

// store replaces a list: written beside it, synced, renamed, and the folder synced,
// so that a crash at any point leaves the old list or the new one.
func store(dir string, items []Item) (err error) {
	to := filepath.Join(dir, name)
	if len(items) == 0 {
		if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("clear the list: %w", err)
		}
		return nil
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("save the list: %w", err)
		}
	}()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	sweep(dir)
	f, err := os.CreateTemp(dir, unfinished+"*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if _, err := f.WriteString(Markdown(items)); err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), to); err != nil {
		return err
	}
	if d, err := os.Open(dir); err == nil { // a system that cannot sync a folder keeps the rename all the same
		_ = d.Sync()
		_ = d.Close()
	}
	return nil
}

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

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/tool/shell"
)

// perSession are the folders of the data folder that have a folder for each session.
var perSession = []string{"files", "guide", "notes", "shell", "todo", "verify"}

// traceOf is the file of a session's trace. It can be made again from the journal.
func (w *work) traceOf(id uzda.SessionID) string {
	return filepath.Join(w.data(), "traces", id.Folder()+".jsonl")
}

// dataOf are the files and folders beside the store that belong to a session. Notes
// in a folder that the person named are the person's.
func (w *work) dataOf(id uzda.SessionID) []string {
	out := []string{w.traceOf(id), w.traceOf(id) + ".new"}
	for _, name := range perSession {
		out = append(out, filepath.Join(w.data(), name, id.Folder()))
	}
	return out
}

// A stuckError says what of a session cannot be removed, so that it stays.
type stuckError struct{ error }

// dropData removes what belongs to sessions that are about to go. It goes first: what
// a crash leaves is a session that is in the list and can be removed again, and where
// the disk is full there is room then for the rest.
func (p *pruning) dropData(k kin) error {
	for _, one := range k.all {
		for _, path := range p.dataOf(one.ID) {
			size := sizeIn(path)
			if err := os.RemoveAll(path); err != nil {
				return &stuckError{err}
			}
			p.freed += size
		}
	}
	return nil
}

// dataSize is how many bytes dropData would remove.
func (p *pruning) dataSize(k kin) (n int64) {
	for _, one := range k.all {
		for _, path := range p.dataOf(one.ID) {
			n += sizeIn(path)
		}
	}
	return n
}

// sizeIn is how many bytes the files below a path have.
func sizeIn(path string) (n int64) {
	_ = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

// reapKin ends what commands of a session that was not brought to its end have left
// running.
func (p *pruning) reapKin(k kin) {
	if k.open() == "" {
		return
	}
	for _, dir := range []string{p.outputs(), filepath.Join(p.data(), "verify")} {
		sh, err := shell.New(shell.Config{State: dir})
		if err != nil {
			return // then no command has run here
		}
		for _, one := range k.all {
			for _, l := range sh.Reap(one.ID) {
				fmt.Fprintln(p.err, "uzda: ended, since a command of session", one.ID, "had left it running:", safe(l))
			}
		}
	}
}

// makeRoom lets sessions be removed where the disk is full: to remove one, a little
// must be written. The traces go, which can be made again.
func (a *app) makeRoom(c *cobra.Command) error {
	cfg, err := a.config(c)
	if err != nil {
		return err
	}
	w := &work{app: a, cfg: cfg}
	traces := filepath.Dir(w.traceOf("any"))
	if !full(filepath.Dir(storePath(cfg))) || sizeIn(traces) == 0 {
		return nil
	}
	if err := os.RemoveAll(traces); err != nil {
		return fail(uzda.StorageError, "remove some files by hand, then call it again", "the disk is full: %v", err)
	}
	fmt.Fprintln(a.err, "uzda: the disk is full: the files of traces were removed to make room; `uzda trace ID` still shows one")
	return nil
}

// full says whether a disk has no room for what is written in order to remove.
func full(dir string) bool {
	const little = 512 << 10
	f, err := os.CreateTemp(dir, "room-*")
	if err != nil {
		return errors.Is(err, syscall.ENOSPC)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	_, err = f.Write(make([]byte, little))
	return err != nil
}

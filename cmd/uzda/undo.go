package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/tool/file"
)

func (a *app) undoCommand() *cobra.Command {
	var list, force bool
	c := a.looks("undo SESSION", "put back what a session changed in files", `Undo puts files back as they were before the session changed them by write_file,
edit_file and delete_file, the last change first. If somebody else has changed
one of them since, nothing is put back and the files are named; --force puts them
back all the same. What cannot be put back is named, and the rest is put back. What
commands of the shell changed is not undone.`, one(0),
		func(ctx context.Context, w *work, args []string) error {
			id, s, err := w.load(ctx, args[0])
			if err != nil {
				return err
			}
			w.dirOf = s.Opened.Dir
			if list {
				return w.changes(id)
			}
			return w.undo(ctx, id, file.UndoOptions{Force: force})
		})
	c.Flags().BoolVar(&list, "list", false, "only list the changes")
	c.Flags().BoolVar(&force, "force", false, "also where somebody else changed a file since; that is lost")
	return flags(c, "add-dir")
}

// undo puts back what a session changed. It takes the session, so that nothing
// changes meanwhile.
func (w *work) undo(ctx context.Context, id uzda.SessionID, o file.UndoOptions) error {
	epoch, err := w.store.Acquire(ctx, id, holder())
	if err != nil {
		return failed(id, err)
	}
	defer func() { _ = w.store.Release(context.WithoutCancel(ctx), id, epoch) }()
	h, err := w.folders()
	if err != nil {
		return err
	}
	done, err := h.files.Undo(ctx, id, o)
	if errors.Is(err, file.ErrClash) {
		return fail(uzda.ToolError, "look at them; --force puts them back all the same", "nothing was put back, since others have changed these files: %s", strings.Join(w.near(done.Clash), ", "))
	}
	partly := errors.Is(err, file.ErrPartly)
	if err != nil && !partly {
		return fail(uzda.StorageError, "what was put back so far stays; call it again", "undo: %v", err)
	}
	if err := w.undone(ctx, id, done); err != nil || !partly {
		return err
	}
	if w.json() { // it is said in what was printed
		return &exit{code: uzda.ToolError.Exit()}
	}
	return fail(uzda.ToolError, "mend what is named, then call undo again", "not everything could be put back")
}

// undone tells what undo did.
func (w *work) undone(ctx context.Context, id uzda.SessionID, done file.Undone) error {
	n, err := w.commands(ctx, id)
	if err != nil {
		return failed(id, err)
	}
	if w.json() {
		writeJSON(w.out, map[string]any{"session": id, "undone": done, "commands": n})
		return nil
	}
	for _, l := range []struct {
		what  string
		paths []string
	}{{"restored", done.Restored}, {"removed", done.Removed}, {"lost (no longer kept)", done.Lost}} {
		for _, p := range w.near(l.paths) {
			fmt.Fprintf(w.out, "%s %s\n", l.what, safe(p))
		}
	}
	for _, f := range done.Failed {
		fmt.Fprintf(w.err, "not put back: %s: %s\n", safe(w.near([]string{f.Path})[0]), safe(f.Why))
	}
	if len(done.Restored)+len(done.Removed)+len(done.Lost)+len(done.Failed) == 0 {
		fmt.Fprintln(w.out, "There is nothing to undo.")
	}
	if n > 0 {
		fmt.Fprintf(w.err, "%s of the shell ran in this session; what they changed is not undone.\n", plural(n, "command"))
	}
	return nil
}

// changes lists what a session changed.
func (w *work) changes(id uzda.SessionID) error {
	h, err := w.folders()
	if err != nil {
		return err
	}
	list, err := h.files.Changes(id)
	if err != nil {
		return fail(uzda.StorageError, "", "%v", err)
	}
	if w.json() {
		if list == nil {
			list = []file.Change{}
		}
		writeJSON(w.out, map[string]any{"session": id, "changes": list})
		return nil
	}
	if len(list) == 0 {
		fmt.Fprintf(w.out, "Session %s changed no files.\n", id)
	}
	for _, c := range list {
		back := ""
		if c.Back != "" {
			back = "  (" + c.Back + ")"
		}
		fmt.Fprintf(w.out, "%3d  %-7s  %s%s\n", c.N, c.What, safe(w.near([]string{c.Path})[0]), safe(back))
	}
	return nil
}

// near writes paths in the folder of the session as they are from there.
func (w *work) near(paths []string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		if rel, err := filepath.Rel(w.root(), p); err == nil && filepath.IsLocal(rel) {
			p = rel
		}
		out[i] = p
	}
	return out
}

// commands counts the commands that a session has started.
func (w *work) commands(ctx context.Context, id uzda.SessionID) (n int, err error) {
	names := map[uzda.UseID]string{}
	for e, err := range w.store.Read(ctx, id, 0) {
		if err != nil {
			return 0, err
		}
		switch b := e.Body.(type) {
		case uzda.Said:
			for i, u := range b.Message.Uses() {
				names[uzda.UseID(fmt.Sprintf("%d.%d", e.Seq, i+1))] = u.Name
			}
		case uzda.Started:
			if names[b.Use] == "shell" {
				n++
			}
		}
	}
	return n, nil
}

package main

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/trace"
)

// family is the session that args name with its descendants, or all sessions.
func (w *work) family(ctx context.Context, args []string) ([]uzda.SessionID, error) {
	l, ok := w.store.(uzda.Lister)
	root := uzda.SessionID("")
	if len(args) > 0 {
		id, _, err := w.load(ctx, args[0])
		if err != nil {
			return nil, err
		}
		root = id
		if !ok {
			return []uzda.SessionID{id}, nil
		}
	}
	parents := map[uzda.SessionID]uzda.SessionID{}
	var all []uzda.SessionID
	for info, err := range l.List(ctx) {
		if err != nil {
			return nil, fail(uzda.StorageError, "`uzda doctor` looks at the store", "%v", err)
		}
		parents[info.ID] = info.Parent
		all = append(all, info.ID)
	}
	slices.Sort(all) // a parent stands before its children
	return slices.DeleteFunc(all, func(id uzda.SessionID) bool {
		for ; root != "" && id != "" && id != root; id = parents[id] {
		}
		return root != "" && id != root
	}), nil
}

func spansOf(ctx context.Context, j uzda.Journal, ids ...uzda.SessionID) ([]trace.Span, error) {
	var js []trace.Journal
	for _, id := range ids {
		js = append(js, trace.Journal{Session: id, Events: j.Read(ctx, id, 0)})
	}
	return trace.Spans(trace.Options{}, js...)
}

func (a *app) traceCommand() *cobra.Command {
	file := ""
	c := a.looks("trace SESSION", "the trace of a session: what ran when, because of what", `Trace draws the spans of a session and of its children as a tree. With
--output-format json it prints them as one array, with stream-json a span a
line; --file writes such lines to a file.`, one(0), func(ctx context.Context, w *work, args []string) error {
		ids, err := w.family(ctx, args)
		if err != nil {
			return err
		}
		spans, err := spansOf(ctx, w.store, ids...)
		if err != nil {
			return fail(uzda.StorageError, "`uzda doctor` looks at the store", "%v", err)
		}
		switch {
		case file != "":
			f, err := os.Create(file)
			if err == nil {
				err = errors.Join(trace.WriteJSONL(f, spans), f.Close())
			}
			if err != nil {
				return fail(uzda.ConfigError, "check the path and the space on the disk", "--file: %v", err)
			}
			if w.json() {
				writeJSON(w.out, map[string]any{"file": file, "spans": len(spans)})
			}
			return nil
		case w.cfg.OutputFormat == "json":
			writeJSON(w.out, spans)
			return nil
		case w.json():
			return trace.WriteJSONL(w.out, spans)
		}
		return trace.Tree(w.out, spans, trace.Drawing{ASCII: w.plainOut()})
	})
	c.Flags().StringVar(&file, "file", "", "write the spans there, a line of JSON each")
	return c
}

// plainOut says whether the terminal may lack more than ASCII.
func (a *app) plainOut() bool {
	return slices.Contains(a.env, "TERM=dumb")
}

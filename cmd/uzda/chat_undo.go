package main

import (
	"context"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/tool/file"
)

// undo takes back what the last turn changed in files.
func (r *runner) undo(ctx context.Context) error {
	s, err := r.host.State(ctx, r.id)
	if err != nil {
		return failed(r.id, err)
	}
	began := s.Turn.Seq
	if began == 0 {
		began = s.Last.Seq
	}
	var from time.Time
	for e, err := range r.store.Read(ctx, r.id, began-1) {
		if err != nil {
			return failed(r.id, err)
		}
		from = e.At
		break
	}
	h, err := r.folders()
	if err != nil {
		return err
	}
	list, err := h.files.Changes(r.id)
	if err != nil {
		return fail(uzda.StorageError, "", "%v", err)
	}
	o := file.UndoOptions{}
	for _, c := range list {
		if c.At.Before(from) {
			o.Since = max(o.Since, c.N)
		}
	}
	return r.work.undo(ctx, r.id, o)
}

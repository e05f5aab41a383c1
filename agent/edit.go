package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/uzda-dev/uzda"
)

// CanEdit says why an edit may not be made now, nil if it may.
func (s *State) CanEdit(b uzda.Edited) error {
	if len(s.Uses) > 0 || s.Ask != nil {
		return fmt.Errorf("edit %s: a use or an ask is open", b.What)
	}
	from, to := s.span(b)
	if from < 0 || to < from {
		return fmt.Errorf("edit %s: no messages %d to %d in the view", b.What, b.From, b.To)
	}
	for i, e := range b.With {
		if at := s.at(e.Seq); b.Only && (at < from || at > to || slices.ContainsFunc(b.With[:i], func(o uzda.Entry) bool { return o.Seq == e.Seq })) {
			return fmt.Errorf("edit %s: message %d is not one of %d to %d, or stands twice", b.What, e.Seq, b.From, b.To)
		}
	}
	if last := lastReply(s.View); to < last {
		return uzda.Valid(s.spliced(from, to, b, b.With))
	}
	if b.Only && s.posted(from, b.With) {
		return uzda.Valid(s.spliced(from, to, b, b.With))
	}
	return fmt.Errorf("edit %s: it touches the last assistant message", b.What)
}

// posted says whether messages are what people posted after the last reply for turns
// that have ended since: one that was too long would else be in the way for ever.
func (s *State) posted(from int, with []uzda.Entry) bool {
	for _, e := range s.View[from:] {
		if e.Message.Role == uzda.Assistant {
			return false
		}
	}
	return !slices.ContainsFunc(with, func(e uzda.Entry) bool {
		old := s.View[s.at(e.Seq)].Message
		return len(old.Results())+len(e.Message.Results()) > 0 || e.Message.Role != uzda.User || s.Turn.Seq != 0 && e.Seq >= s.Turn.Seq
	})
}

func (s *State) edit(seq uzda.Seq, b uzda.Edited) {
	from, to := s.span(b)
	with := slices.Clone(b.With)
	for i := range with {
		if b.What != uzda.MoveUndo {
			with[i].Edit = seq
		}
	}
	renews := b.What == uzda.MoveCompact || b.What == uzda.MoveHandover
	if renews && (b.Saved == nil || b.Saved.Requests > 0) { // one by code alone says nothing of the summaries
		s.Missed = 0
	}
	switch b.What {
	case uzda.MoveCompact:
		s.Compacted++
	case uzda.MoveHandover:
		s.Compacted = 0
	case uzda.MoveUndo:
		if !b.Only && s.Compacted > 0 {
			s.Compacted--
		}
	}
	view := s.spliced(from, to, b, with)
	s.Hash, s.Gen = "", s.Gen+1
	s.View = make([]uzda.Entry, 0, len(view)+16)
	s.Size, s.Grown, s.Weighed, s.Used = 0, 0, 0, uzda.Usage{} // counted anew: the provider's count was of another view
	for _, e := range view {
		s.join(e)
	}
	if b.Saved != nil {
		s.Weighed, s.WeighedAt = max(b.Saved.After, 0), s.Grown+s.mail() // what is about to join was weighed too
	}
}

// spliced is the view with the messages from to to replaced as b says, by with.
func (s *State) spliced(from, to int, b uzda.Edited, with []uzda.Entry) []uzda.Entry {
	if !b.Only {
		return slices.Concat(s.View[:from], with, s.View[to+1:])
	}
	view := slices.Clone(s.View)
	for _, e := range with {
		view[s.at(e.Seq)] = e
	}
	return view
}

func (s *State) span(b uzda.Edited) (from, to int) { return s.at(b.From), s.at(b.To) }

// at is the place of a message in the view, -1 if it is not there.
func (s *State) at(seq uzda.Seq) int {
	if i, ok := slices.BinarySearchFunc(s.View, seq, func(e uzda.Entry, n uzda.Seq) int { return cmp.Compare(e.Seq, n) }); ok {
		return i
	}
	return slices.IndexFunc(s.View, func(e uzda.Entry) bool { return e.Seq == seq })
}

// Edit makes one edit for a person, while no runner has the session.
func (r *Runner) Edit(ctx context.Context, id uzda.SessionID, e uzda.Edited) (uzda.Seq, error) {
	epoch, err := r.Store.Acquire(ctx, id, r.Holder)
	if err != nil {
		return 0, fmt.Errorf("edit session %s: %w", id, err)
	}
	defer r.Store.Release(context.WithoutCancel(ctx), id, epoch) //nolint:errcheck // it ends by itself too
	// One that is repeated was made already.
	if e.ID != "" {
		for old, err := range r.Store.Read(ctx, id, 0) {
			if err != nil {
				return 0, fmt.Errorf("edit session %s: %w", id, err)
			}
			if uzda.InputID(old.Body) == e.ID {
				return old.Seq, nil
			}
		}
	}
	s, err := Load(ctx, r.Store, id)
	if err != nil {
		return 0, err
	}
	if err := s.CanEdit(e); err != nil {
		return 0, err
	}
	evs, err := r.Store.Append(ctx, id, uzda.At{Head: s.Head, Epoch: epoch}, e)
	if err != nil {
		return 0, fmt.Errorf("edit session %s: %w", id, err)
	}
	return evs[0].Seq, nil
}

// Undo builds the edit that takes back the edit numbered seq. The originals
// come from the journal: Fold, which does no I/O, gets them in the event. What a
// later edit has changed again is left alone, or where the edit cannot be taken back
// without it, the error names that one.
func Undo(ctx context.Context, j uzda.Journal, id uzda.SessionID, seq uzda.Seq) (uzda.Edited, error) {
	fail := func(format string, args ...any) (uzda.Edited, error) {
		return uzda.Edited{}, fmt.Errorf("undo edit %d of session %s: "+format, append([]any{seq, id}, args...)...)
	}
	s := &State{}
	var old undone
	for e, err := range j.Read(ctx, id, 0) {
		if err != nil {
			return fail("%w", err)
		}
		b, ok := e.Body.(uzda.Edited)
		if ok && e.Seq == seq {
			old.take(s, b)
		}
		s.Fold(e)
		if ok && old.found && e.Seq > seq && old.over == 0 && old.standing(s, seq) < len(old.edit.With) {
			if old.over = e.Seq; b.Undo == seq {
				return fail("it was taken back already, by edit %d", e.Seq)
			}
		}
	}
	if !old.found {
		return fail("there is no such edit")
	}
	n := old.standing(s, seq)
	if n == 0 || !old.edit.Only && n < len(old.edit.With) {
		return fail("edit %d has changed what it put there: take that back first", old.over)
	}
	undo := uzda.Edited{What: uzda.MoveUndo, Only: old.edit.Only, Undo: seq}
	still := map[uzda.Seq]bool{}
	for _, e := range s.View {
		if e.Edit == seq {
			still[e.Seq] = true
			undo.From, undo.To = or(undo.From, e.Seq), e.Seq
		}
	}
	for _, e := range old.before {
		if !old.edit.Only || still[e.Seq] { // what was edited again stays as it is
			undo.With = append(undo.With, e)
		}
	}
	return undo, nil
}

// undone is an edit that is to be taken back.
type undone struct {
	found  bool
	edit   uzda.Edited
	before []uzda.Entry // what it replaced
	over   uzda.Seq     // the first edit that has changed what it put there
}

func (u *undone) take(s *State, b uzda.Edited) {
	if from, to := s.span(b); from >= 0 && to >= from && s.CanEdit(b) == nil {
		u.found, u.edit, u.before = true, b, slices.Clone(s.View[from:to+1])
	}
}

// standing counts the messages of the view that the edit put there.
func (u *undone) standing(s *State, seq uzda.Seq) (n int) {
	for _, e := range s.View {
		if e.Edit == seq {
			n++
		}
	}
	return n
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/cmd/uzda/line"
)

// pruning removes sessions, and says what became of each.
type pruning struct {
	*work
	remover uzda.Remover
	force   bool
	shrink  bool

	removed []uzda.SessionID // with those that they began
	roots   int              // of removed
	skipped []skippedJSON
	shown   int   // how many of skipped the preview has said
	code    int   // of the first that was skipped; 0: none was
	freed   int64 // bytes of what was removed, in the store and beside it
	disk    int64 // of the store, before
}

type skippedJSON struct {
	Session uzda.SessionID `json:"session"`
	Why     string         `json:"why"`
	Hint    string         `json:"hint,omitempty"`
}

// String is why, with what can be done.
func (s skippedJSON) String() string {
	if s.Hint == "" {
		return s.Why
	}
	return s.Why + "; " + s.Hint
}

// prunedJSON is what became of sessions that were to be removed.
type prunedJSON struct {
	Removed []uzda.SessionID `json:"removed"`
	Would   []uzda.SessionID `json:"would_remove,omitempty"` // of --dry-run
	Skipped []skippedJSON    `json:"skipped"`
	Frees   int64            `json:"would_free_bytes,omitempty"` // of --dry-run
	Freed   int64            `json:"freed_bytes"`                // what they held, whether the disk has it back or not
	Before  int64            `json:"store_bytes_before"`
	After   int64            `json:"store_bytes_after"`
	Note    string           `json:"note,omitempty"`
}

func (w *work) pruning(force, shrink bool) (*pruning, error) {
	r, ok := w.store.(uzda.Remover)
	if !ok {
		return nil, fail(uzda.ConfigError, "", "this store cannot remove sessions")
	}
	return &pruning{work: w, remover: r, force: force, shrink: shrink, removed: []uzda.SessionID{}, skipped: []skippedJSON{}}, nil
}

// before measures the store, once.
func (p *pruning) before(ctx context.Context) {
	if z, ok := p.store.(uzda.Sizer); ok && p.disk == 0 {
		p.disk, _, _ = z.Size(ctx) // it is only for people
	}
}

// insist is the hint about a session that is not over.
const insist = "--force removes it all the same"

func (p *pruning) skip(id uzda.SessionID, why, hint string) {
	p.skipped = append(p.skipped, skippedJSON{id, why, hint})
}

// preview shows what would go.
func (p *pruning) preview(of int, chosen []kin, before time.Time) {
	if of == 0 {
		fmt.Fprintln(p.out, "Nothing to remove: there are no sessions.")
	} else if len(chosen) == 0 {
		fmt.Fprintf(p.out, "Nothing to remove: of %s none that may go is so old (last changed before %s).\n", plural(of, "session"), before.Local().Format("2006-01-02 15:04"))
	} else {
		var cost uzda.Money
		var size int64
		parts := 0
		oldest, newest := chosen[0].updated, chosen[0].updated
		rows := make([]uzda.SessionInfo, 0, len(chosen))
		for _, k := range chosen {
			for _, one := range k.all {
				cost += one.Cost
			}
			parts, size = parts+len(k.all)-1, size+k.size+k.beside
			if rows = append(rows, k.root); k.updated.Before(oldest) {
				oldest = k.updated
			}
			if k.updated.After(newest) {
				newest = k.updated
			}
		}
		const most = 10
		_ = p.list(rows[:min(most, len(rows))])
		if len(rows) > most {
			fmt.Fprintf(p.out, "and %d more\n", len(rows)-most)
		}
		began := ""
		if parts > 0 {
			began = fmt.Sprintf(", with %s that they began", plural(parts, "session"))
		}
		days := oldest.Local().Format(time.DateOnly)
		if last := newest.Local().Format(time.DateOnly); last != days {
			days += " to " + last
		}
		fmt.Fprintf(p.out, "\n%s of %s would go%s: last changed %s, about %s, %s spent.\n", plural(len(chosen), "session"), thousands(of), began,
			days, bulk(size), short(cost))
	}
	for _, l := range tally(p.skipped) {
		fmt.Fprintln(p.out, safe(l))
	}
	p.shown = len(p.skipped)
}

// tally says how many stay for each reason.
func tally(skipped []skippedJSON) (out []string) {
	n := map[string]int{}
	for _, s := range skipped {
		n[s.Why]++
	}
	said := map[string]bool{}
	for _, s := range skipped {
		switch {
		case said[s.Why]:
		case n[s.Why] == 1:
			out = append(out, fmt.Sprintf("Session %s stays: %s", s.Session, s))
		default:
			out = append(out, fmt.Sprintf("%s stay, each for this: %s", plural(n[s.Why], "session"), s))
		}
		said[s.Why] = true
	}
	return out
}

func (p *pruning) dry(chosen []kin) error {
	if p.json() {
		res := p.result(p.disk, "")
		for _, k := range chosen {
			res.Frees += k.size + k.beside
			for _, one := range k.all {
				res.Would = append(res.Would, one.ID)
			}
		}
		writeJSON(p.out, res)
		return nil
	}
	fmt.Fprintln(p.out, "Nothing was removed: this was --dry-run.")
	return nil
}

// ask wants a yes from the person at the terminal.
func (p *pruning) ask(ctx context.Context, n int) error {
	if !p.tty || p.json() {
		return fail(uzda.ConfigError, "nothing was removed; --dry-run shows them, --yes removes them",
			"nobody can be asked here, and %s would go for good", plural(n, "session"))
	}
	question := fmt.Sprintf("Remove %s for good? [y]es, [n]o: ", plural(n, "session"))
	desk := p.talk.desk
	desk.Ask(question)
	defer desk.Prompt("", false)
	for {
		var in line.Input
		select {
		case <-ctx.Done():
			fmt.Fprintln(p.err)
			return interrupted(ctx)
		case in = <-desk.Inputs():
		}
		said := strings.ToLower(strings.TrimSpace(in.Text))
		switch {
		case in.Kind == line.Interrupt, in.Kind == line.End, said == "n", said == "no":
			if in.Kind != line.Interrupt {
				p.talk.ended = in.Kind == line.End
			}
			return fail(uzda.CancelledByUser, "", "nothing was removed")
		case said == "y", said == "yes":
			return nil
		}
		desk.Ask("Please type y or n. " + question)
	}
}

// all removes sessions and what nothing needs any more, and says so. named: a
// person named each, and hears of each.
func (p *pruning) all(ctx context.Context, chosen []kin, named bool) error {
	p.before(ctx)
	var broke error
	for _, k := range chosen {
		if broke = ctx.Err(); broke == nil {
			broke = p.one(ctx, k)
		}
		if broke != nil {
			break
		}
	}
	note := ""
	if broke == nil {
		if _, broke = p.remover.Sweep(ctx); broke == nil {
			note = p.giveBack(ctx)
		}
	}
	disk := p.disk
	if z, ok := p.store.(uzda.Sizer); ok {
		if d, _, err := z.Size(context.WithoutCancel(ctx)); err == nil {
			disk = d
		}
	}
	p.report(p.result(disk, note), named, broke)
	if broke == nil {
		return nil
	}
	if err := interrupted(ctx); err != nil {
		return err
	}
	return fail(uzda.StorageError, "what was removed so far is gone; call it again for the rest", "%v", broke)
}

func (p *pruning) result(disk int64, note string) prunedJSON {
	return prunedJSON{Removed: p.removed, Skipped: p.skipped, Freed: p.freed, Before: p.disk, After: disk, Note: note}
}

func (p *pruning) report(res prunedJSON, named bool, broke error) {
	if p.json() {
		if broke == nil {
			writeJSON(p.out, res)
		}
		return
	}
	if p.roots > 0 {
		what := plural(p.roots, "session")
		if more := len(p.removed) - p.roots; more > 0 {
			what += fmt.Sprintf(" and %d that they began", more)
		}
		fmt.Fprintf(p.out, "Removed %s.", what)
		if p.disk > 0 {
			fmt.Fprintf(p.out, " About %s were freed.", bulk(res.Freed))
			if res.After < res.Before {
				fmt.Fprintf(p.out, " The store takes %s, it took %s.", bulk(res.After), bulk(res.Before))
			} else {
				fmt.Fprintf(p.out, " The store still takes %s: what is free in it is used again.", bulk(res.After))
			}
		}
		fmt.Fprintln(p.out)
	}
	if res.Note != "" {
		fmt.Fprintln(p.err, "uzda: "+safe(res.Note))
	}
	if !named {
		for _, s := range p.skipped[p.shown:] {
			fmt.Fprintf(p.err, "uzda: session %s stays: %s\n", s.Session, safe(s.String()))
		}
	}
}

// refused is the error of sessions that a person named and that stayed.
func (p *pruning) refused() error {
	if p.code == 0 {
		return nil
	}
	for _, s := range p.skipped {
		fmt.Fprintf(p.err, "uzda: session %s stays: %s\n", s.Session, safeLines(s.String()))
	}
	return &exit{code: p.code}
}

// one removes a session with what it began, unless something speaks against it.
func (p *pruning) one(ctx context.Context, k kin) error {
	id := k.root.ID
	stays := func(why uzda.Reason, text, hint string) error {
		p.skip(id, text, hint)
		p.code = cmp.Or(p.code, why.Exit())
		return nil
	}
	if k.open() != "" && !p.force { // of prune they are not chosen
		return stays(uzda.ConfigError, p.pending(ctx, k), insist)
	}
	var busy *uzda.Busy
	var stuck *stuckError
	epoch, err := p.empty(ctx, k)
	if epoch != 0 {
		defer p.store.Release(context.WithoutCancel(ctx), id, epoch) //nolint:errcheck // Remove ends it, and so does the process
	}
	var ids []uzda.SessionID
	if err == nil {
		ids, err = p.remover.Remove(ctx, id, epoch, k.heads())
	}
	switch {
	case errors.As(err, &busy):
		return stays(uzda.SessionBusy, k.heldBy(busy), "")
	case errors.As(err, &stuck):
		return stays(uzda.StorageError, stuck.Error(), "see to it that you may remove that, then call this again")
	case errors.Is(err, uzda.ErrNotFound): // another program was quicker
		return nil
	case errors.Is(err, uzda.ErrConflict):
		return stays(uzda.SessionBusy, "it was used just now", "look at it again: uzda show "+string(id))
	case errors.Is(err, uzda.ErrFenced):
		return stays(uzda.SessionBusy, "another program has taken it over", "")
	case err != nil:
		return err
	}
	p.removed, p.roots, p.freed = append(p.removed, ids...), p.roots+1, p.freed+k.size
	return nil
}

// held says who has one of the sessions, as far as the store can say, "" if nobody.
func (p *pruning) held(ctx context.Context, k kin) string {
	h, ok := p.store.(holding)
	if !ok {
		return ""
	}
	for _, one := range k.all {
		if busy, err := h.Held(ctx, one.ID); err == nil && busy != nil {
			return k.heldBy(busy)
		}
	}
	return ""
}

func (k kin) heldBy(busy *uzda.Busy) string {
	text := "it is held by " + busy.Holder + " since " + busy.Since.Local().Format(time.DateTime)
	if busy.Session != k.root.ID {
		text += fmt.Sprintf(", in session %s, which it began", busy.Session)
	}
	return text
}

// heads are what was seen of the sessions.
func (k kin) heads() map[uzda.SessionID]uzda.Seq {
	out := map[uzda.SessionID]uzda.Seq{}
	for _, one := range k.all {
		out[one.ID] = one.Head
	}
	return out
}

// empty removes what sessions have beside the store, while nobody else has one of
// them. It returns the epoch of the first, which is still held, 0 if it is not.
func (p *pruning) empty(ctx context.Context, k kin) (int64, error) {
	var epochs []int64 // of those that are held
	defer func() {
		for i := 1; i < len(epochs); i++ {
			_ = p.store.Release(context.WithoutCancel(ctx), k.all[i].ID, epochs[i]) // it ends with the process too
		}
	}()
	first := func() int64 { return append(epochs, 0)[0] }
	for _, one := range k.all {
		epoch, err := p.store.Acquire(ctx, one.ID, holder())
		if err != nil {
			return first(), err
		}
		epochs = append(epochs, epoch)
		last := uzda.Seq(-1)
		for e, err := range p.store.Read(ctx, one.ID, one.Head-1) {
			if last = one.Head; err == nil { // what cannot be read may go
				last = e.Seq
			}
		}
		switch {
		case last < 0 && len(epochs) == 1:
			return epoch, uzda.ErrNotFound
		case last != one.Head:
			return first(), uzda.ErrConflict
		}
	}
	p.reapKin(k)
	return first(), p.dropData(k)
}

// pending says in detail what is not over in a session.
func (p *pruning) pending(ctx context.Context, k kin) string {
	id := k.root.ID
	s, err := agent.Load(ctx, p.store, id)
	if err != nil {
		return k.open()
	}
	if asks := pendingIn(ctx, p.store, id, "", s); len(asks) > 0 {
		one := asks[0]
		text := fmt.Sprintf("it waits for an approval: use %s, %s", one.Use, glance(one.Tool, one.Input, 80))
		if len(asks) > 1 {
			text += fmt.Sprintf(", and %d more", len(asks)-1)
		}
		in := cmp.Or(one.Session, id)
		return text + fmt.Sprintf(" (uzda approve %s %s, uzda deny %s %s)", in, one.Use, in, one.Use)
	}
	return k.open() + fmt.Sprintf(" (uzda show %s, uzda resume %s)", id, id)
}

// giveBack gives room back to the disk where that is worth it, and says why not.
func (p *pruning) giveBack(ctx context.Context) string {
	const much = 64 << 20
	z, sized := p.store.(uzda.Sizer)
	s, ok := p.store.(uzda.Shrinker)
	if !ok || !sized {
		return ""
	}
	disk, used, err := z.Size(ctx)
	if free := disk - used; err != nil || !p.shrink && (free < much || free < disk/4) {
		return ""
	}
	err = s.Shrink(ctx)
	switch {
	case errors.Is(err, uzda.ErrInUse):
		return fmt.Sprintf("%s of the store are free for new sessions, but not given back to the disk, since another program runs sessions; later: uzda sessions prune --older 100w --shrink", bulk(disk-used))
	case err != nil:
		return fmt.Sprintf("the sessions are gone, but the room was not given back to the disk: %v", err)
	}
	return ""
}

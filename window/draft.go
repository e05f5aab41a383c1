package window

import (
	"cmp"
	"math"
	"slices"

	"github.com/uzda-dev/uzda"
)

// A draft is a view as the edits of a plan leave it.
type draft struct {
	view    uzda.View // as it came: its Entries still hold what this plan replaces
	entries []uzda.Entry
	fixed   int           // the first of entries that may not be touched
	edits   []uzda.Edited // made so far
	factor  float64       // tokens of the provider over estimates of ours
	over    int           // tokens that it counted beyond that
	budget  int           // tokens that the request is to stay under; never 0
	head    int           // estimate of system prompt, tools and tail
	sizes   []int         // estimates of entries
	sum     int           // of sizes
}

const (
	// usualReply is the room for a reply where the head does not say.
	usualReply = 16_384
	// summaryShare is the part of the budget that a view is brought under where it
	// is made anew, so that this is seldom needed.
	summaryShare = 0.5
)

// pending stands for the number of an edit that has none yet.
const pending = -1

func newDraft(v uzda.View) *draft {
	d := &draft{view: v, entries: v.Entries, fixed: min(max(v.Fixed, 0), len(v.Entries)), factor: 1}
	d.head = sizeOfHead(v.Head) + Estimate(v.Tail)
	d.sizes = make([]int, len(v.Entries))
	for i, e := range v.Entries {
		d.sizes[i] = sizeOf(e.Message)
		d.sum += d.sizes[i]
	}
	all := max(d.head+d.sum, 1)
	if v.Counted && v.Tokens > 0 {
		d.factor, d.over, _ = calibrate(v.Tokens, all)
	}
	if v.Refused && v.Model.Window > d.tokens() { // it was over the window, whatever was counted
		d.factor, d.over = min(float64(v.Model.Window)/float64(all), 4*d.factor), 0
	}
	d.budget = max(cmp.Or(max(v.Budget, 0), max(v.Model.Window, 0), d.tokens()), 1)
	return d
}

// scaled is an estimate in the provider's tokens.
func (d *draft) scaled(estimate int) int { return int(math.Ceil(float64(estimate) * d.factor)) }

// tokens is the size of the whole request.
func (d *draft) tokens() int { return d.scaled(d.head+d.sum) + d.over }

// share is the part of the budget that the request takes.
func (d *draft) share() float64 { return float64(d.tokens()) / float64(d.budget) }

// target is the size that a view that is made anew is brought under, where it can.
func (d *draft) target() int { return int(float64(d.budget) * summaryShare) }

// fits says that the request leaves room for a reply in the model's window. A
// window that is not known has room.
func (d *draft) fits() bool {
	window := d.view.Model.Window
	return window <= 0 || d.tokens() <= window-replyRoom(d.view.Head, d.view.Model)
}

// replyRoom is what a request leaves of the window for its reply: all that the
// reply may have, but at most an eighth of the window.
func replyRoom(h uzda.Head, m uzda.ModelInfo) int {
	room := cmp.Or(h.Params.MaxTokens, usualReply)
	if m.MaxOutput > 0 {
		room = min(room, m.MaxOutput)
	}
	return min(room, m.Window/8)
}

// between estimates the entries from..to-1, in the provider's tokens.
func (d *draft) between(from, to int) int {
	n := 0
	for _, s := range d.sizes[from:to] {
		n += s
	}
	return d.scaled(n)
}

// original is a message as it was before this plan.
func (d *draft) original(seq uzda.Seq) (uzda.Entry, bool) {
	i := slices.IndexFunc(d.view.Entries, func(e uzda.Entry) bool { return e.Seq == seq })
	if i < 0 {
		return uzda.Entry{}, false
	}
	return d.view.Entries[i], true
}

// recalls says whether the model has the tool by which it can ask for what was
// put away.
func (d *draft) recalls() bool { return hasTool(d.view.Head, recallName) }

const recallName = "recall"

func hasTool(h uzda.Head, name string) bool {
	return slices.ContainsFunc(h.Tools, func(t uzda.ToolSpec) bool { return t.Name == name })
}

// apply makes an edit and says in it what it was worth. It reports false, and
// changes nothing, where the edit may not be made or does not make the request
// smaller.
func (d *draft) apply(e uzda.Edited) bool {
	next, ok := d.after(e)
	if !ok || next.head+next.sum >= d.head+d.sum || uzda.Valid(next.entries) != nil {
		return false
	}
	s := uzda.Saving{}
	if e.Saved != nil {
		s = *e.Saved
	}
	s.Before, s.After = d.tokens(), next.tokens()
	if s.Messages == 0 {
		s.Messages = len(e.With)
		if !e.Only {
			s.Messages = len(d.entries) - len(next.entries) + len(e.With)
		}
	}
	e.Saved = &s
	next.edits = append(slices.Clip(d.edits), e)
	*d = next
	return true
}

// after is the draft with an edit made; false where the edit names messages that
// are not there or may not be touched.
func (d *draft) after(e uzda.Edited) (draft, bool) {
	at := func(seq uzda.Seq) int {
		return slices.IndexFunc(d.entries, func(x uzda.Entry) bool { return x.Seq == seq })
	}
	from, to := at(e.From), at(e.To)
	if from < 0 || to < from || to >= d.fixed && !(e.Only && loose(d.entries, from, d.view.Turn) && loose(d.entries, to, d.view.Turn)) {
		return draft{}, false
	}
	next := *d
	if e.Only {
		next.entries, next.sizes = slices.Clone(d.entries), slices.Clone(d.sizes)
		for i, n := from, 0; n < len(e.With); n++ {
			for i <= to && next.entries[i].Seq != e.With[n].Seq {
				i++
			}
			if i > to {
				return draft{}, false
			}
			next.set(i, e.With[n])
		}
		return next, true
	}
	sizes := make([]int, len(e.With))
	for i, x := range e.With {
		sizes[i] = sizeOf(x.Message)
		next.sum += sizes[i]
	}
	for _, s := range d.sizes[from : to+1] {
		next.sum -= s
	}
	next.entries = slices.Concat(d.entries[:from], e.With, d.entries[to+1:])
	for i := range e.With {
		next.entries[from+i].Edit = pending
	}
	next.sizes = slices.Concat(d.sizes[:from], sizes, d.sizes[to+1:])
	next.fixed += len(e.With) - (to + 1 - from)
	return next, true
}

func (d *draft) set(i int, e uzda.Entry) {
	e.Edit = pending
	size := sizeOf(e.Message)
	d.sum += size - d.sizes[i]
	d.entries[i], d.sizes[i] = e, size
}

// asView is the view as a plan leaves it, to be weighed.
func (d *draft) asView() uzda.View {
	v := d.view
	v.Entries, v.Fixed = d.entries, d.fixed
	if len(d.edits) > 0 || v.Refused { // the last count was of something else
		v.Used, v.Tokens, v.Counted = uzda.Usage{}, d.tokens(), v.Counted || v.Refused
	}
	return v
}

// sizeOfHead estimates what every request begins with.
func sizeOfHead(h uzda.Head) int {
	n := Estimate(h.System) + Estimate(string(h.Params.Schema))
	for _, t := range h.Tools {
		n += sizeOfTool(t)
	}
	return n
}

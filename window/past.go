package window

import (
	"context"
	"slices"
	"strconv"

	"github.com/uzda-dev/uzda"
)

// A past is what happened in a session before the messages that stay, from the
// originals where there is a journal: nothing in it has gone through a summary.
type past struct {
	items []item
	posts []post
	facts []string // registers of earlier summaries, where there is no journal
}

// A post is a message that people wrote.
type post struct {
	seq     uzda.Seq
	blocks  uzda.Blocks
	turn    int  // in which it joined
	running bool // it belongs to the turn that runs
	earlier bool // it is the task of an earlier summary, where there is no journal
}

// pastOf reads what happened before the entry at, a reply.
func pastOf(ctx context.Context, d *draft, at int) past {
	if d.view.Events != nil {
		if p, ok := fromJournal(ctx, d, at); ok {
			return p
		}
	}
	return fromView(d, at)
}

// told is a message as it was before this plan: what the plan clears is still told.
// A brief that the plan made is marked as one.
func (d *draft) told(e uzda.Entry) uzda.Entry {
	for _, made := range d.edits {
		if (made.What == uzda.MoveCompact || made.What == uzda.MoveHandover) && made.With[0].Seq == e.Seq {
			e.Edit = -1
			return e
		}
	}
	if whole, ok := d.original(e.Seq); ok {
		return whole
	}
	return e
}

// fromView makes do with the view, where there is no journal.
func fromView(d *draft, at int) past {
	var p past
	names := map[uzda.UseID]string{}
	newest := -1
	for _, e := range d.entries[:at] {
		e = d.told(e)
		_, record := recordOf(e)
		p.items = append(p.items, itemsOf(e, names)...)
		switch {
		case record:
			task, facts := earlier(e.Message)
			p.posts = append(p.posts, post{seq: e.Seq, blocks: task, earlier: true})
			p.facts = append(p.facts, facts)
		case e.Message.Role == uzda.User && len(e.Message.Results()) == 0:
			newest = len(p.posts)
			p.posts = append(p.posts, post{seq: e.Seq, blocks: e.Message.Blocks})
		}
	}
	if newest >= 0 && !d.view.First {
		p.posts[newest].running = true
	}
	return p
}

// A reader follows a journal as far as it tells what the view has held.
type reader struct {
	past
	until   uzda.Seq // the reply that stays first: what joined the view before it came before it
	names   map[uzda.UseID]string
	open    map[uzda.UseID]bool // uses without a result
	started map[uzda.UseID]bool
	inbox   []mail
	turn    uzda.Seq // the Posted that began it, 0 at rest
	asks    int      // of the turn
	cancel  uzda.Seq
	turns   int // that have ended
}

type mail struct {
	seq uzda.Seq
	uzda.Posted
}

func fromJournal(ctx context.Context, d *draft, at int) (past, bool) {
	r := reader{until: d.entries[at].Seq, names: map[uzda.UseID]string{}, open: map[uzda.UseID]bool{}, started: map[uzda.UseID]bool{}}
	for e, err := range d.view.Events(ctx) {
		if err != nil {
			return past{}, false
		}
		if e.Seq < r.until {
			r.take(e)
		} else if _, ok := e.Body.(uzda.Ended); ok {
			r.turns++
		}
	}
	for i := range r.posts {
		r.posts[i].running = r.posts[i].turn == r.turns && !d.view.First
	}
	return r.past, true
}

func (r *reader) take(e uzda.Event) {
	switch b := e.Body.(type) {
	case uzda.Posted:
		r.inbox = append(r.inbox, mail{e.Seq, b})
		if r.turn == 0 {
			r.turn, r.asks = e.Seq, 0
		}
	case uzda.Cancelled:
		if r.turn != 0 && (b.Turn == 0 || b.Turn == r.turn) {
			r.cancel = e.Seq
		}
	case uzda.Asked:
		r.asks++
		r.join(func(m mail) bool { return !m.Turn || m.seq == r.turn })
	case uzda.Said:
		r.said(e.Seq, b)
	case uzda.Started:
		r.started[b.Use] = true
	case uzda.Returned:
		if b.Pending == nil {
			r.close(e.Seq, b.Result)
		}
	case uzda.Delivered:
		if r.started[b.Result.Use] {
			r.close(e.Seq, b.Result)
		}
	case uzda.Verified:
		if !b.OK && len(b.Blocks) > 0 {
			r.items = append(r.items, item{sort: noted, seq: e.Seq, text: b.Blocks.String()})
		}
	case uzda.Edited:
		r.edited(b)
	case uzda.Ended:
		until := r.cancel
		if until == 0 && r.asks == 0 {
			until = e.Seq
		}
		r.join(func(m mail) bool { return m.seq < until })
		r.turns, r.turn, r.asks, r.cancel = r.turns+1, 0, 0, 0
		if len(r.inbox) > 0 {
			r.turn = r.inbox[0].seq
		}
	}
}

// join takes from the inbox what the view takes from it.
func (r *reader) join(now func(mail) bool) {
	var rest []mail
	for _, m := range r.inbox {
		if !now(m) {
			rest = append(rest, m)
			continue
		}
		r.posts = append(r.posts, post{seq: m.seq, blocks: m.Blocks, turn: r.turns})
		r.items = append(r.items, itemsOf(uzda.Entry{Seq: m.seq, Message: uzda.Message{Role: uzda.User, Blocks: m.Blocks}}, r.names)...)
	}
	r.inbox = rest
}

// said takes a reply, unless it was one that never joined the view.
func (r *reader) said(seq uzda.Seq, b uzda.Said) {
	cut := b.Stop == uzda.StopLength && slices.ContainsFunc(b.Message.Repairs, func(p uzda.Repair) bool { return p.Block == -1 })
	if cut || b.Stop == uzda.StopRefusal {
		return
	}
	m, n := b.Message, 0
	m.Blocks = slices.Clone(m.Blocks)
	for i, k := range m.Blocks {
		if u, ok := k.(uzda.ToolUse); ok {
			n++
			u.ID = uzda.UseID(strconv.FormatInt(int64(seq), 10) + "." + strconv.Itoa(n))
			m.Blocks[i], r.open[u.ID] = u, true
		}
	}
	r.items = append(r.items, itemsOf(uzda.Entry{Seq: seq, Message: m}, r.names)...)
}

func (r *reader) close(seq uzda.Seq, res uzda.ToolResult) {
	if !r.open[res.Use] {
		return
	}
	delete(r.open, res.Use)
	r.items = append(r.items, resultItem(seq, res, r.names[res.Use]))
}

// edited takes what a person has changed in the view as what happened: what they
// took out must not come back. The planner's own moves take nothing out.
func (r *reader) edited(b uzda.Edited) {
	switch b.What {
	case uzda.MoveClear, uzda.MoveDedupe, uzda.MoveCompact, uzda.MoveHandover, uzda.MoveUndo:
		return
	}
	put := map[uzda.Seq]bool{}
	for _, e := range b.With {
		put[e.Seq] = true
	}
	from, to := min(b.From, b.To), max(b.From, b.To)
	gone := func(seq uzda.Seq) bool { return seq >= from && seq <= to && (!b.Only || put[seq]) }
	var items []item
	var posts []post
	for _, e := range b.With {
		items = append(items, itemsOf(uzda.Entry{Seq: e.Seq, Message: e.Message}, r.names)...)
		if e.Message.Role == uzda.User && len(e.Message.Results()) == 0 {
			posts = append(posts, post{seq: e.Seq, blocks: e.Message.Blocks, turn: r.turns})
		}
	}
	if at := slices.IndexFunc(r.posts, func(p post) bool { return gone(p.seq) }); at >= 0 {
		for i := range posts {
			posts[i].turn = r.posts[at].turn
		}
	}
	r.items = instead(r.items, items, func(i item) bool { return gone(i.seq) })
	r.posts = instead(r.posts, posts, func(p post) bool { return gone(p.seq) })
}

// instead puts with where the first of those stood that are gone, at the end where
// none is.
func instead[T any](all, with []T, gone func(T) bool) []T {
	at := slices.IndexFunc(all, gone)
	all = slices.DeleteFunc(all, gone)
	if at < 0 {
		at = len(all)
	}
	return slices.Insert(all, at, with...)
}

package window

import (
	"context"
	"fmt"
	"slices"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/window/register"
)

const (
	pinShare = 10  // what is pinned takes at most this part of the budget
	leastNew = 100 // tokens that a summary takes, whatever is in it
	leastFor = 32  // the part of the budget that lost facts get, however full it is
)

// compact proposes to replace the head of the view: by the task, what is pinned and
// a summary. The last replies stay word for word.
func (p Planner) compact(ctx context.Context, d *draft) (uzda.Edited, *uzda.Missed) {
	missed := d.missed(uzda.MoveCompact)
	if !d.replies() {
		return uzda.Edited{}, missed("there is no reply yet, so that nothing can be put away")
	}
	at := p.cut(d)
	m := p.making(ctx, d, uzda.MoveCompact, at)
	if m.idle() {
		return uzda.Edited{}, missed("nothing but an earlier summary could be replaced")
	}
	var seen []item // by the model until now
	names := map[uzda.UseID]string{}
	for _, e := range d.entries[:at] {
		seen = append(seen, itemsOf(d.told(e), names)...)
	}
	if err := m.summarise(ctx, p, seen); err != nil {
		return uzda.Edited{}, missed(err.Error())
	}
	return m.finish()
}

// A making is a brief that is being made for a draft.
type making struct {
	*draft
	what     string
	at       int // where what stays begins
	stay     []uzda.Entry
	to       int // the last entry that is written anew
	past     past
	brief    brief
	requests int
}

func (p Planner) making(ctx context.Context, d *draft, what string, at int) *making {
	m := &making{draft: d, what: what, at: at, past: pastOf(ctx, d, at)}
	m.stay, m.to = tail(d.entries, at, d.fixed)
	m.brief = brief{task: m.past.task(d), recall: d.recalls(), pins: p.pins(ctx, d)}
	for _, e := range d.entries[:at] {
		m.brief.labels = uzda.Union(m.brief.labels, labelsOf(e.Message.Blocks)...)
	}
	for _, one := range m.past.posts {
		for _, b := range one.blocks {
			m.brief.labels = uzda.Union(m.brief.labels, b.Marks()...)
		}
	}
	return m
}

// idle says that only earlier briefs would be replaced.
func (m *making) idle() bool {
	return !slices.ContainsFunc(m.entries[:m.at], func(e uzda.Entry) bool {
		_, ok := recordOf(m.told(e))
		return !ok
	})
}

// summarise has the items told in short, unless even a tiny summary would gain
// nothing: that costs no request.
func (m *making) summarise(ctx context.Context, p Planner, items []item) error {
	if after, ok := m.after(m.edit()); !ok || after.head+after.sum+leastNew >= m.head+m.sum {
		return fmt.Errorf("nothing would be gained: the %d messages that could be replaced are no longer than what must stay of them", m.at)
	}
	s := p.summariser(m.draft, m.brief.task.String())
	text, err := s.summarise(ctx, items)
	m.requests, m.brief.summary = s.count, text
	return err
}

// edit is what has been made so far.
func (m *making) edit() uzda.Edited {
	with := append([]uzda.Entry{{Seq: m.entries[m.at-1].Seq, Message: m.brief.message()}}, m.stay...)
	return uzda.Edited{What: m.what, From: m.entries[0].Seq, To: m.entries[m.to].Seq, With: with}
}

// finish adds the facts that would be lost, as many as there is room for, and
// measures it all.
func (m *making) finish() (uzda.Edited, *uzda.Missed) {
	missed := m.missed(m.what)
	e := m.edit()
	after, ok := m.after(e)
	if !ok || after.head+after.sum >= m.head+m.sum {
		return uzda.Edited{}, missed("the request would not get shorter by it")
	}
	facts := m.past.register()
	lost := register.Lost(facts, m.view.Head.System+"\n"+m.brief.says()+"\n"+words(m.stay)+words(m.entries[m.to+1:]))
	text, kept := restore(lost, m.room(after))
	if kept > 0 {
		m.brief.facts = text
		e = m.edit()
		if after, ok := m.after(e); !ok || after.head+after.sum >= m.head+m.sum {
			m.brief.facts, kept = "", 0
			e = m.edit()
		}
	}
	e.Saved = &uzda.Saving{Facts: len(facts), Lost: len(lost), Restored: kept, Requests: m.requests, Messages: m.at, Why: m.why(len(facts), len(lost), kept)}
	return e, nil
}

// room is what the facts may take, by our estimate.
func (m *making) room(after draft) int {
	free := max(m.target()-after.tokens(), m.budget/leastFor)
	room := int(float64(min(free, m.budget/factsShare)) / m.factor)
	return min(room, (m.head+m.sum-after.head-after.sum-1)/2) - aroundMessage - Estimate(factsBegin+factsEnd)
}

func (m *making) why(facts, lost, kept int) string {
	how := fmt.Sprintf("%d messages were summarised, for which a model was asked %d times", m.at, m.requests)
	if m.requests == 1 {
		how = fmt.Sprintf("%d messages were summarised in one request", m.at)
	}
	if m.brief.summary == "" {
		how = fmt.Sprintf("%d messages were replaced by what the journal says of them", m.at)
	}
	if lost == 0 {
		return fmt.Sprintf("%s; all %d facts are still there", how, facts)
	}
	return fmt.Sprintf("%s; of %d facts %d were lost, and %d of those were added back", how, facts, lost, kept)
}

// replies says whether there is a reply before which something could be replaced.
func (d *draft) replies() bool {
	return d.fixed > 0 && d.fixed < len(d.entries) && d.entries[d.fixed].Message.Role == uzda.Assistant
}

func (d *draft) missed(what string) func(why string) *uzda.Missed {
	return func(why string) *uzda.Missed {
		return &uzda.Missed{Ask: d.view.Ask, What: what, Why: uzda.Clip(visible(why), 500)}
	}
}

// pins are the texts that outlive a summary, as they are now. Where they cannot be
// had the brief does without: they are still where they were.
func (p Planner) pins(ctx context.Context, d *draft) []Pin {
	if p.Pinned == nil {
		return nil
	}
	pins, err := p.Pinned(ctx, d.view.Session)
	if err != nil {
		return nil
	}
	room := int(float64(d.budget)/d.factor) / pinShare
	var out []Pin
	for _, one := range pins {
		if one.Text == "" {
			continue
		}
		one.Text = within(one.Text, room)
		room -= Estimate(one.Text)
		if one.Text != "" {
			out = append(out, one)
		}
	}
	return out
}

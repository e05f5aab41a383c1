package window

import (
	"context"

	"github.com/uzda-dev/uzda"
)

// handover proposes to begin a fresh view: all before the last reply becomes one
// brief, made from the originals in the journal and not from earlier summaries.
// Alone it is made without a model.
func (p Planner) handover(ctx context.Context, d *draft, alone bool) (uzda.Edited, *uzda.Missed) {
	missed := d.missed(uzda.MoveHandover)
	if !d.replies() {
		return uzda.Edited{}, missed("there is no reply yet, so that nothing can be put away")
	}
	m := p.making(ctx, d, uzda.MoveHandover, d.fixed)
	if alone {
		m.brief.done = m.past.done(d)
		return m.finish()
	}
	if err := m.summarise(ctx, p, m.past.items); err != nil {
		return uzda.Edited{}, missed(err.Error())
	}
	return m.finish()
}

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/uzda-dev/uzda"
)

// measuredJSON is what compactions of several sessions would come to.
type measuredJSON struct {
	DryRun   bool           `json:"dry_run"`
	Sessions []*compactJSON `json:"sessions"`
	Before   int            `json:"before"`
	After    int            `json:"after"`
	Facts    int            `json:"facts"`
	Lost     int            `json:"lost"`
	Restored int            `json:"restored"`
	Requests int            `json:"requests"`
	Cost     *uzda.Money    `json:"cost_usd"`
	Exit     int            `json:"exit"`  // the largest of the sessions'
	Error    *errorJSON     `json:"error"` // of a session with that exit

	forgets bool // some of the models cannot recall what would be put away
}

// measure tries compactions on several sessions, and sums up.
func (w *work) measure(ctx context.Context, names []string, o compaction) error {
	all := measuredJSON{DryRun: true, Cost: new(uzda.Money)}
	budget := w.cfg.Context.Budget
	for _, name := range names {
		w.cfg.Context.Budget = budget // not that of the session before
		r, err := w.compact(ctx, name, o)
		var e *exit
		if errors.As(err, &e) && e.outcome != nil { // the others can still be measured
			r = &compactJSON{Session: uzda.SessionID(name), DryRun: true, Edits: []editJSON{}, Missed: []uzda.Missed{}, Cost: new(uzda.Money),
				Exit: e.code, Error: &errorJSON{e.outcome.Reason, e.outcome.Detail, e.outcome.Hint}}
		} else if err != nil {
			return err
		}
		all.add(r)
		if !w.json() {
			fmt.Fprintf(w.out, "session %s\n", safe(string(r.Session)))
			r.write(w.out, w.outWidth())
			if r.Error != nil {
				fmt.Fprintf(w.out, "%s: %s\n", r.Error.Code, safe(r.Error.Message))
			}
			fmt.Fprintln(w.out)
		}
	}
	if w.json() {
		writeJSON(w.out, all)
	} else {
		fmt.Fprintln(w.out, all.String())
	}
	if all.Exit != 0 {
		return &exit{code: all.Exit}
	}
	return nil
}

func (m *measuredJSON) add(r *compactJSON) {
	m.Sessions = append(m.Sessions, r)
	was := m.Exit
	m.Before, m.After, m.Exit = m.Before+r.Before, m.After+r.After, max(m.Exit, r.Exit)
	m.forgets = m.forgets || r.forgets
	if m.Error == nil || r.Exit > was {
		m.Error = r.Error
	}
	m.Facts, m.Lost, m.Restored, m.Requests = m.Facts+r.Facts, m.Lost+r.Lost, m.Restored+r.Restored, m.Requests+r.Requests
	if m.Cost == nil || r.Cost == nil {
		m.Cost = nil
	} else {
		m.Cost = new(*m.Cost + *r.Cost)
	}
}

// String is the line that sums up.
func (m *measuredJSON) String() string {
	parts := []string{"total: " + plural(len(m.Sessions), "session"), fmt.Sprintf("%s → %s tokens", thousands(m.Before), thousands(m.After))}
	if m.Facts > 0 {
		parts = append(parts, facts(m.Facts, m.Lost, m.Restored, m.forgets), fmt.Sprintf("%.1f %% lost by the summary", 100*float64(m.Lost)/float64(m.Facts)))
	}
	if m.Requests > 0 {
		parts = append(parts, spent(m.Requests, m.Cost))
	}
	return strings.Join(parts, " · ")
}

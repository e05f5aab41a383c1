package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
)

// stage shows a conversation to a person: what is said as it comes, a line for each
// call, and what went wrong.
type stage struct {
	w    io.Writer
	p    paint
	room func() int // columns
	live func() bool
	now  func() time.Time

	mu    sync.Mutex
	flow  flow
	calls map[uzda.UseID]*called
	open  uzda.UseID         // whose line has not ended
	mine  map[string]*queued // what was typed here, by the id of the post
	model string
	lost  bool   // it cannot recall what is put away
	waits string // for what, since when
	since time.Time
	quiet time.Time // since when nothing was shown
}

// queued is a message of this person. Text is empty once the agent has it.
type queued struct {
	text   string
	stored bool
}

// called is a call that goes on.
type called struct {
	line  string // its name and what it is about
	began time.Time
	shown bool
}

func newStage(w io.Writer, p paint, room func() int, live func() bool, now func() time.Time, thinking bool) *stage {
	return &stage{w: w, p: p, room: room, live: live, now: now, flow: flow{w: w, p: p, thinking: thinking},
		calls: map[uzda.UseID]*called{}, mine: map[string]*queued{}, quiet: now()}
}

// prime tells what the session was doing before.
func (s *stage) prime(st *agent.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = forgets(st.Gear.Tools)
	for _, u := range st.Uses {
		s.calls[u.ID] = s.call(u.Name, u.Args())
	}
}

func (s *stage) call(name string, input []byte) *called {
	const took = 12 // columns
	return &called{line: glance(name, input, max(20, s.room()-2-took))}
}

// event shows an event.
func (s *stage) event(e uzda.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.show(e) {
		s.quiet = s.now()
	}
}

// show says whether it showed anything.
func (s *stage) show(e uzda.Event) bool {
	switch b := e.Body.(type) {
	case uzda.Streaming:
		s.leave()
		s.flow.piece(b.Delta)
		return b.Delta.Kind == "text" || s.flow.thinking
	case uzda.Restarted:
		s.flow.reset()
	case uzda.Posted:
		return s.posted(b)
	case uzda.Asked:
		s.model = b.Model
		s.wait("the model " + b.Model)
		return s.joined()
	case uzda.Said:
		s.leave()
		s.flow.said(b.Message)
		for i, u := range b.Message.Uses() {
			s.calls[uzda.UseID(fmt.Sprintf("%d.%d", e.Seq, i+1))] = s.call(u.Name, u.Input)
		}
	case uzda.Broken:
		s.flow.reset()
		if b.Code != string(uzda.CodeCancelled) { // that is said at the end
			s.fault("the reply did not come: " + b.Error)
		}
	case uzda.Tried:
		s.fault(fmt.Sprintf("asked again: %s", b.Attempt.Error))
	case uzda.Noted:
		s.say(s.p.dim, fmt.Sprintf("note of %s: %s", b.By, b.Text))
	case uzda.Started:
		s.started(e, b)
		return false
	case uzda.Returned:
		if b.Pending == nil {
			s.returned(e, b.Result)
		}
	case uzda.Delivered:
		s.returned(e, b.Result)
	case uzda.Verified:
		if !b.OK {
			s.fault("the check failed: " + b.Blocks.String())
		} else {
			s.say(s.p.dim, "the check passed")
		}
	case uzda.Edited:
		s.say(s.p.dim, edited(editOf(e.Seq, b, s.lost)))
	case uzda.Equipped:
		s.lost = forgets(b.Tools)
		return false
	case uzda.Missed:
		s.fault(b.What + " came to nothing: " + b.Why)
	default:
		return false
	}
	return true
}

func (s *stage) wait(what string) { s.waits, s.since = what, s.now() }

// leave ends the line of a call that is still open.
func (s *stage) leave() {
	if s.open != "" {
		fmt.Fprintln(s.w)
	}
	s.open = ""
}

// say shows a line of the program's own.
func (s *stage) say(colour func(string) string, text string) {
	s.leave()
	s.flow.end()
	for _, l := range wrap(uzda.OneLine(safe(text), faultSize), s.room()-2) {
		fmt.Fprintln(s.w, "  "+colour(l))
	}
}

func (s *stage) fault(text string) { s.say(s.p.red, text) }

// posted shows what somebody else said; what was typed here is on the screen.
func (s *stage) posted(b uzda.Posted) bool {
	if q := s.mine[b.ID]; q != nil {
		q.stored = true
		return false
	}
	s.say(s.p.bold, fmt.Sprintf("%s says: %s", b.By, saidIn(b.Blocks)))
	return true
}

// joined says that the agent has what was typed while it worked.
func (s *stage) joined() bool {
	some := false
	for _, q := range s.mine {
		if q.stored && q.text != "" {
			s.say(s.p.dim, "the agent has it now: "+uzda.OneLine(q.text, 40))
			q.text, some = "", true
		}
	}
	return some
}

// sent notes a message of this person; later: it waits for the next step.
func (s *stage) sent(id, text string, later bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mine[id] = &queued{}
	if later {
		s.mine[id].text = text
		s.say(s.p.dim, "queued: the agent gets it at its next step")
	}
}

// tell shows a line while the agent may be at work.
func (s *stage) tell(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.say(s.p.dim, text)
}

func (s *stage) started(e uzda.Event, b uzda.Started) {
	if c := s.calls[b.Use]; c != nil {
		c.began = e.At
		s.wait("the tool " + c.line)
	}
}

// slow shows the calls that run for longer than one waits without a word, on a line
// that its end completes. A quick one is shown when it has ended.
func (s *stage) slow() {
	const patience = 700 * time.Millisecond
	for _, id := range slices.Sorted(maps.Keys(s.calls)) {
		c := s.calls[id]
		if c.shown || c.began.IsZero() || s.now().Sub(c.began) < patience || !s.live() {
			continue
		}
		s.leave()
		s.flow.end()
		fmt.Fprint(s.w, "  "+s.p.cyan(c.line))
		s.open, c.shown = id, true
	}
}

// returned completes the line of a call.
func (s *stage) returned(e uzda.Event, r uzda.ToolResult) {
	c := s.calls[r.Use]
	if c == nil {
		return
	}
	s.wait("the loop")
	took := ""
	if !c.began.IsZero() {
		took = " · " + lasted(max(0, e.At.Sub(c.began)))
	}
	if s.open != r.Use {
		s.leave()
		s.flow.end()
		fmt.Fprint(s.w, "  "+s.p.cyan(c.line))
	}
	s.open = ""
	if r.Code == uzda.CodeDenied || r.Code == uzda.CodeCancelled {
		fmt.Fprintln(s.w, s.p.dim(took)+s.p.red(" · "+string(r.Code)))
	} else {
		fmt.Fprintln(s.w, s.p.dim(took))
	}
	delete(s.calls, r.Use)
	switch {
	case r.Code == uzda.CodeDenied, r.Code == uzda.CodeCancelled:
	case r.IsError:
		s.result(r.Blocks.String(), mostOfError, s.p.red)
	case len(r.People) > 0:
		s.result(r.People.String(), mostOfResult, nil)
	}
}

// lasted is a time as a person reads it.
func lasted(d time.Duration) string {
	if d >= time.Minute {
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

const mostOfError, mostOfResult = 6, 40 // lines that are shown

// result shows what a call gave, cut; a diff has its colours.
func (s *stage) result(text string, most int, colour func(string) string) {
	lines := strings.Split(strings.TrimRight(safeLines(text), "\n"), "\n")
	more := len(lines) - most
	if more > 0 {
		lines = lines[:most]
	}
	diff := isDiff(text)
	for _, l := range lines {
		shown := colour
		if diff {
			shown = s.p.ofDiff(l)
		}
		l = fit(l, s.room()-5)
		if shown != nil {
			l = shown(l)
		}
		fmt.Fprintln(s.w, strings.TrimRight("    "+l, " "))
	}
	if more > 0 {
		fmt.Fprintln(s.w, "    "+s.p.dim(fmt.Sprintf("… %d lines more: uzda show", more)))
	}
}

// beat says from time to time for what the conversation waits; it ends when done
// is closed.
func (s *stage) beat(done <-chan struct{}) {
	t := time.NewTicker(250 * time.Millisecond)
	defer t.Stop()
	for {
		select {
		case <-done:
			return
		case <-t.C:
		}
		s.mu.Lock()
		s.slow()
		if now := s.now(); s.waits != "" && now.Sub(s.quiet) >= 30*time.Second {
			s.quiet = now
			s.say(s.p.dim, fmt.Sprintf("still waiting for %s (%s)", s.waits, now.Sub(s.since).Round(time.Second)))
		}
		s.mu.Unlock()
	}
}

// left says whether something that was typed has not reached the agent.
func (s *stage) left() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.mine {
		if q.text != "" {
			return true
		}
	}
	return false
}

// finish ends what is open.
func (s *stage) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave()
	s.flow.reset()
	s.waits = ""
}

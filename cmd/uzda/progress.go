package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/window"
)

// progress tells a person what a run does: a line a step, and a sign of life
// while it waits.
type progress struct {
	w    io.Writer
	flow *flow // shows replies as they come; nil: they are not shown
	now  func() time.Time
	show bool // results too
	lost bool // the model cannot recall what is put away
	room int  // columns of a line

	mu    sync.Mutex
	steps int
	model string
	got   int    // bytes of the reply that comes
	waits string // for what, since when
	since time.Time
	names map[uzda.UseID]string
	gists map[uzda.UseID]string // what a call is about, in a few words
	begun map[uzda.UseID]time.Time
	asked time.Time
}

func newProgress(w io.Writer, now func() time.Time, show bool, columns int) *progress {
	if columns < 40 {
		columns = 120 // no terminal, or none that says its width
	}
	return &progress{w: w, now: now, show: show, room: columns, since: now(), names: map[uzda.UseID]string{}, gists: map[uzda.UseID]string{}, begun: map[uzda.UseID]time.Time{}}
}

// streams lets the replies be shown on a terminal as they come.
func (p *progress) streams(out io.Writer, colours paint) {
	p.flow = &flow{w: out, p: colours}
	p.w = breaker{p.w, p.flow}
}

// breaker ends the line of a reply before another is written.
type breaker struct {
	w    io.Writer
	flow *flow
}

func (b breaker) Write(text []byte) (int, error) {
	b.flow.end()
	return b.w.Write(text)
}

// prime tells what the session was doing before.
func (p *progress) prime(s *agent.State) {
	p.steps, p.lost = s.Turn.Steps, forgets(s.Gear.Tools)
	for _, u := range s.Uses {
		p.names[u.ID], p.gists[u.ID] = u.Name, gist(u.Input)
	}
}

func (p *progress) wait(what string) { p.waits, p.since = what, p.now() }

// event takes an event of the session.
func (p *progress) event(e uzda.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch b := e.Body.(type) {
	case uzda.Asked:
		p.steps, p.model, p.asked = p.steps+1, b.Model, e.At
		p.wait("the model " + b.Model)
	case uzda.Restarted:
		if p.flow != nil {
			p.flow.reset()
		}
	case uzda.Streaming:
		if p.flow != nil {
			p.flow.piece(b.Delta)
		}
		if b.Delta.Kind == "text" && p.model != "" {
			p.got += len(b.Delta.Text)
			p.wait(fmt.Sprintf("the model %s, which has said %s bytes", p.model, thousands(p.got)))
		}
	case uzda.Said:
		p.got = 0
		p.said(e, b)
	case uzda.Broken:
		if p.flow != nil {
			p.flow.reset()
		}
		p.fault("model", b.Active, "", "the reply did not come: "+b.Error)
	case uzda.Tried:
		p.tried(b.Attempt)
	case uzda.Noted:
		fmt.Fprintf(p.w, "     note of %s: %s\n", safe(b.By), strings.ReplaceAll(safeLines(b.Text), "\n", "\n       "))
	case uzda.Started:
		p.begun[b.Use] = e.At
		p.wait("the tool " + uzda.OneLine(p.names[b.Use]+" "+p.gists[b.Use], 60))
	case uzda.Returned:
		if b.Pending != nil {
			p.wait(b.Pending.On + " for " + p.names[b.Result.Use])
			return
		}
		p.returned(e, b.Result)
	case uzda.Delivered:
		p.returned(e, b.Result)
	case uzda.Verified:
		verdict := "passed"
		if !b.OK {
			verdict = "failed: " + b.Blocks.String()
		}
		p.line("verify", b.Active, "", verdict)
	case uzda.Equipped:
		p.lost = forgets(b.Tools)
	case uzda.Edited:
		p.edited(editOf(e.Seq, b, p.lost))
	case uzda.Missed:
		p.fault(b.What, 0, "", "came to nothing: "+b.Why)
	case uzda.Used:
		p.used(b)
	case uzda.Late:
		p.line(string(b.Result.Use), 0, "", "reported late: "+string(b.Result.Effect))
	}
}

func (p *progress) said(e uzda.Event, b uzda.Said) {
	n := 0
	for _, u := range b.Message.Uses() {
		n++
		id := uzda.UseID(fmt.Sprintf("%d.%d", e.Seq, n))
		p.names[id], p.gists[id] = u.Name, gist(u.Input)
	}
	money := short(b.Cost)
	if b.Unknown {
		money = "$?"
	}
	note := b.Message.String()
	if p.flow != nil {
		p.flow.said(b.Message)
		note = ""
	}
	p.line("model", b.Active, fmt.Sprintf("%s tokens  %s", thousands(b.Usage.Total()), money), note)
	if n == 0 {
		p.wait("the check of the answer")
	} else {
		p.wait("the loop")
	}
}

// edited tells what was put away; what does not fit stands below it.
func (p *progress) edited(e editJSON) {
	note, tokens := safe(gistOf(e)), shrunk(e.Saving)
	head := 33 // columns before a note
	if tokens != "" {
		head += max(uzda.Columns(tokens), 17) + 2
	}
	if head+uzda.Columns(note) <= p.room {
		p.line(e.What, 0, tokens, note)
		return
	}
	p.line(e.What, 0, tokens, "")
	for _, l := range wrap(note, p.room-7) {
		fmt.Fprintln(p.w, "       "+l)
	}
}

// resent tells what a provider's cache must read anew.
func (p *progress) resent(changes []window.Change) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range changes {
		p.fault("cache", 0, "", c.String())
	}
}

// used tells of a request beside the conversation. Those of a retry and of a check
// are told of otherwise.
func (p *progress) used(b uzda.Used) {
	if b.For == "retry" || b.For == "verify" {
		return
	}
	money := short(b.Cost)
	if b.Unknown {
		money = "$?"
	}
	p.line(b.For, b.Active, fmt.Sprintf("%s tokens  %s", thousands(b.Usage.Total()), money), b.Model)
}

// tried says why the model is asked again, whom, and after how long.
func (p *progress) tried(a uzda.Attempt) {
	what, wait := fmt.Sprintf("attempt %d", a.N), time.Duration(a.WaitMS)*time.Millisecond
	if a.Model != "" && a.Model != p.model {
		p.model = a.Model
		what += " by " + a.Model
	}
	if wait > 0 {
		what += fmt.Sprintf(" in %.1f s", wait.Seconds())
	}
	p.fault("model", 0, "", what+": "+a.Error)
	p.wait("the model " + p.model)
}

func (p *progress) returned(e uzda.Event, r uzda.ToolResult) {
	name := p.names[r.Use]
	var took time.Duration
	if at, ok := p.begun[r.Use]; ok {
		took = max(0, e.At.Sub(at))
	}
	switch {
	case r.IsError:
		p.fault(name, took, p.gists[r.Use], string(r.Code)+": "+r.Blocks.String())
	case p.show:
		p.line(name, took, "", r.Blocks.String())
	default:
		p.line(name, took, "", p.gists[r.Use])
	}
}

// fault is a line with a reason, which must be readable: what does not fit stands
// below it.
func (p *progress) fault(what string, took time.Duration, about, why string) {
	why = uzda.OneLine(safe(uzda.Clip(why, faultSize)), faultSize)
	if head := 34; about == "" && head+uzda.Columns(why) <= p.room {
		p.line(what, took, "", why)
		return
	}
	p.line(what, took, "", about)
	for _, l := range wrap(why, p.room-7) {
		fmt.Fprintln(p.w, "       "+l)
	}
}

const faultSize = 600 // bytes of a reason

// line is "step  tool  seconds  tokens  dollars  note", on one line of the terminal.
func (p *progress) line(what string, took time.Duration, tokens, note string) {
	line := fmt.Sprintf("%3d  %s %7.2f s", p.steps, pad(uzda.OneLine(what, 16), 16), took.Seconds())
	switch {
	case tokens != "":
		line += "  " + pad(tokens, 17) + "  "
	case note != "":
		line += "  "
	}
	fmt.Fprintln(p.w, strings.TrimRight(line+uzda.OneLine(note, p.room-uzda.Columns(line)), " "))
}

// pad fills s up to n columns.
func pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-uzda.Columns(s))) }

// beat says every 30 seconds for what the run waits; it ends when done is closed.
func (p *progress) beat(done <-chan struct{}) {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	last := p.now()
	for {
		select {
		case <-done:
			return
		case <-t.C:
		}
		p.mu.Lock()
		if now := p.now(); now.Sub(p.since) >= 30*time.Second && now.Sub(last) >= 30*time.Second && p.waits != "" {
			last = now
			fmt.Fprintf(p.w, "     still waiting for %s (%s)\n", safe(p.waits), now.Sub(p.since).Round(time.Second))
		}
		p.mu.Unlock()
	}
}

// short is money as a person reads it.
func short(m uzda.Money) string {
	switch d := m.Dollars(); {
	case m == 0:
		return "$0"
	case d >= 0.01:
		return fmt.Sprintf("$%.4f", d)
	default:
		return fmt.Sprintf("$%.6f", d)
	}
}

func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

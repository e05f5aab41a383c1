package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/cmd/uzda/attach"
	"github.com/uzda-dev/uzda/cmd/uzda/line"
	"github.com/uzda-dev/uzda/session"
)

// chat is a conversation at a terminal.
type chat struct {
	*runner
	desk    line.Desk
	stage   *stage
	begun   bool          // the session is in the store
	along   []attach.File // what goes with the next message
	restore func() error
	end     context.CancelFunc // ends the chat

	mu      sync.Mutex
	leaving bool                    // Ctrl-C was typed at the prompt
	cancel  context.CancelCauseFunc // of the turn that runs; nil: none does
	again   bool                    // it was cancelled already
}

const atRest, atWork = "> ", "+ "

var errInterrupted = errors.New("interrupted at the terminal")

// loop takes messages until the person ends the chat.
func (c *chat) loop(ctx context.Context, s *agent.State) error {
	all := ctx
	ctx, c.end = context.WithCancel(ctx)
	defer c.end()
	if s.Turn.Seq != 0 {
		c.stage.tell("The last turn is not done; it goes on.")
		c.turn(ctx)
	}
	for !c.talk.ended {
		text, ok := c.next(ctx)
		if !ok {
			break
		}
		if err := c.take(ctx, text); err != nil {
			return err
		}
	}
	c.bye()
	if all.Err() != nil {
		return &exit{code: uzda.CancelledByUser.Exit()}
	}
	return nil
}

// next is the next message; false at the end of the chat.
func (c *chat) next(ctx context.Context) (string, bool) {
	for len(c.talk.early) > 0 {
		text := c.talk.early[0]
		if c.talk.early = c.talk.early[1:]; strings.TrimSpace(text) == "" {
			continue
		}
		fmt.Fprintln(c.desk, atRest+safeLines(text))
		return text, true
	}
	c.desk.Prompt(atRest, true)
	for {
		select {
		case <-ctx.Done():
			return "", false
		case in := <-c.desk.Inputs():
			switch {
			case in.Kind == line.End, in.Kind == line.Interrupt && c.leaves():
				return "", false
			case in.Kind == line.Said:
				c.setLeaving(false)
				return in.Text, true
			}
		}
	}
}

// leaves says whether an interrupt at the prompt ends the chat: the second does.
func (c *chat) leaves() bool {
	if c.setLeaving(true) {
		return true
	}
	said := paint{c.plain}.dim("Ctrl-C again, Ctrl-D or /quit ends the chat")
	if _, plain := c.desk.(*line.Plain); plain { // the system has written ^C after the prompt
		fmt.Fprintln(c.desk, "\n"+said)
		c.desk.Prompt(atRest, true)
	} else {
		fmt.Fprintln(c.desk, said)
	}
	return false
}

func (c *chat) setLeaving(on bool) (was bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was, c.leaving = c.leaving, on
	return was
}

// interrupt cancels the turn that runs. It is called for a signal too, at any time.
func (c *chat) interrupt() {
	c.mu.Lock()
	cancel, again := c.cancel, c.again
	c.again = cancel != nil
	c.mu.Unlock()
	switch {
	case cancel == nil: // at the prompt of a terminal that has no editor
		if c.leaves() {
			c.end()
		}
	case again:
		c.stage.tell("it is being cancelled; what runs gets a second to end")
	default:
		cancel(errInterrupted)
	}
}

// take does what was typed at the prompt.
func (c *chat) take(ctx context.Context, text string) error {
	switch name, more, isCommand := command(text); {
	case isCommand:
		return c.command(ctx, name, more)
	case strings.TrimSpace(text) != "":
		if err := c.say(ctx, text, false); err != nil {
			c.sorry(err)
			return nil
		}
	case !c.begun || !c.waiting(ctx):
		return nil
	}
	c.turn(ctx)
	return nil
}

// waiting says whether a turn is not done: an empty line goes on with it.
func (c *chat) waiting(ctx context.Context) bool {
	s, err := c.host.State(ctx, c.id)
	return err == nil && s.Turn.Seq != 0
}

// say posts a message. The first opens the session.
func (c *chat) say(ctx context.Context, text string, queued bool) error {
	if !c.begun {
		if err := c.begin(ctx, c.id); err != nil {
			return err
		}
		c.begun = true
	}
	blocks, err := c.message(ctx, text, c.along...)
	if err != nil {
		return err
	}
	id := "chat-" + string(session.NewID(c.now()))
	c.stage.sent(id, text, queued)
	if _, err := c.host.PostAt(ctx, c.id, uzda.SomeHead, uzda.Posted{ID: id, Blocks: blocks, By: person()}); err != nil {
		return failed(c.id, err)
	}
	c.along = nil
	return nil
}

// cancellable is a context that Ctrl-C ends, until done is called.
func (c *chat) cancellable(ctx context.Context) (doing context.Context, done func()) {
	doing, cancel := context.WithCancelCause(ctx)
	c.mu.Lock()
	c.cancel, c.again = cancel, false
	c.mu.Unlock()
	return doing, func() {
		c.mu.Lock()
		c.cancel = nil
		c.mu.Unlock()
		cancel(nil)
	}
}

// turn runs the session until it rests, with what the person says meanwhile, and
// asks what is to be asked.
func (c *chat) turn(ctx context.Context) {
	turn, done := c.cancellable(ctx)
	defer done()
	s, err := c.advance(turn)
	for err == nil && turn.Err() == nil && len(pendingIn(ctx, c.store, c.id, "", s)) > 0 {
		answered, asked := c.askPerson(turn, s)
		if err = asked; err != nil || !answered {
			break
		}
		s, err = c.advance(turn)
	}
	if err == nil && turn.Err() != nil && s.Parked != nil { // interrupted at a question
		keep := context.WithoutCancel(ctx)
		if _, err = c.host.Post(keep, c.id, uzda.Cancelled{Why: context.Cause(turn).Error(), By: person()}); err == nil {
			s, err = c.advance(keep)
		}
	}
	if err != nil {
		c.sorry(failed(c.id, err))
		return
	}
	c.sum(s)
}

// advance runs the session, and shows what happens. What is typed meanwhile is posted.
func (c *chat) advance(ctx context.Context) (*agent.State, error) {
	if s, err := c.host.State(ctx, c.id); err == nil {
		c.stage.prime(s)
	}
	over := make(chan struct{})
	go c.stage.beat(over)
	stop := c.watch(func(e uzda.Event) {
		c.stage.event(e)
		for _, change := range c.resent(e) {
			c.stage.tell("cache: " + change.String())
		}
	})
	defer func() {
		close(over)
		stop()
		c.stage.finish()
	}()
	c.desk.Prompt(atWork, false)
	type end struct {
		s   *agent.State
		err error
	}
	for {
		done := make(chan end, 1)
		go func() {
			s, err := c.host.Run(ctx, c.id)
			done <- end{s, err}
		}()
		var last uzda.Seq // that was posted meanwhile
		for working := true; working; {
			select {
			case e := <-done:
				if e.err != nil || last <= e.s.Head || ctx.Err() != nil {
					return e.s, e.err
				}
				working = false // it came just too late
			case in := <-c.desk.Inputs():
				last = max(last, c.meanwhile(ctx, in))
			}
		}
	}
}

// meanwhile takes what is typed while the agent works, and returns the number of
// what was posted.
func (c *chat) meanwhile(ctx context.Context, in line.Input) uzda.Seq {
	name, more, isCommand := command(in.Text)
	switch {
	case in.Kind == line.Interrupt:
		c.interrupt()
	case in.Kind == line.End:
		c.talk.ended = true
		c.stage.tell("the chat ends after this turn; Ctrl-C cancels it")
	case isCommand && name == "quit" && more == "":
		c.talk.ended = true
		c.interrupt()
	case isCommand:
		c.stage.finish()
		if err := c.command(ctx, name, more); err != nil {
			c.sorry(err)
		}
		c.desk.Prompt(atWork, false)
	case strings.TrimSpace(in.Text) != "":
		if err := c.say(context.WithoutCancel(ctx), in.Text, true); err != nil {
			c.sorry(err)
			return 0
		}
		s, err := c.host.State(context.WithoutCancel(ctx), c.id)
		if err == nil {
			return s.Head
		}
	}
	return 0
}

// sum is the line after a turn: how it ended, and what it took.
func (c *chat) sum(s *agent.State) {
	o := s.Outcome(c.id)
	if o == nil {
		return
	}
	p := paint{c.plain}
	res := resultIn(context.Background(), c.store, c.id, s, o, 0)
	took := s.Last.Active
	if s.Turn.Seq != 0 {
		took = s.Turn.Active
	}
	if !c.out.tty && o.Reason.Outcome() == uzda.Finished {
		fmt.Fprintln(c.out, c.answerOf(o))
	}
	parts := []string{plural(res.Steps, "step"), thousands(res.Usage.Input+res.Usage.Output+res.Usage.CacheRead+res.Usage.CacheWrite) + " tokens",
		money(res), lasted(took)}
	if room := cmp.Or(s.Gear.Budget, s.Gear.Model.Window); room > 0 && s.Size > 0 {
		parts = append(parts, fmt.Sprintf("context %d %%", (100*s.Size+room-1)/room))
	}
	if res.Calls > 0 {
		parts = append(parts[:1], append([]string{plural(res.Calls, "call")}, parts[1:]...)...)
	}
	if o.Reason.Outcome() != uzda.Finished {
		for _, l := range wrap(c.ending(o, len(res.Pending)), c.columns()-1) {
			fmt.Fprintln(c.desk, p.red(l))
		}
		if o.Hint != "" && o.Reason.Outcome() != uzda.Waiting && o.Reason != uzda.CancelledByUser {
			fmt.Fprintln(c.desk, p.dim(strings.Join(wrap(onSession(safe(o.Hint), c.id), c.columns()-1), "\n")))
		}
	}
	fmt.Fprintln(c.desk, p.dim(flowed(parts, c.columns())))
}

// ending says how a turn ended that is not done.
func (c *chat) ending(o *uzda.Outcome, waiting int) string {
	switch {
	case o.Reason == uzda.CancelledByUser:
		if c.stage.left() {
			return "cancelled; what was queued goes along with your next message"
		}
		return "cancelled; your next message goes on"
	case o.Reason == uzda.WaitApproval && waiting > 0:
		return plural(waiting, "call") + " left waiting; an empty line asks again"
	}
	text := fmt.Sprintf("%s: %s", o.Reason.Outcome(), o.Reason)
	if o.Detail != "" {
		text += ": " + safe(o.Detail)
	}
	return text
}

// money is what a turn cost, as a person reads it.
func money(res result) string {
	switch {
	case res.Cost == nil:
		return "cost unknown"
	case *res.Cost == 0:
		return "$0"
	case res.Bound:
		return "at least " + short(*res.Cost)
	}
	return short(*res.Cost)
}

// sorry shows an error of the program; the chat goes on.
func (c *chat) sorry(err error) {
	c.stage.finish()
	p := paint{c.plain}
	var e *exit
	if !errors.As(err, &e) || e.outcome == nil {
		fmt.Fprintln(c.desk, p.red(safeLines(err.Error())))
		return
	}
	fmt.Fprintln(c.desk, p.red(fmt.Sprintf("%s: %s", e.outcome.Reason, safeLines(e.outcome.Detail))))
	if e.outcome.Hint != "" {
		fmt.Fprintln(c.desk, p.dim(safeLines(onSession(e.outcome.Hint, c.id))))
	}
}

// bye says how the conversation goes on another time.
func (c *chat) bye() {
	c.desk.Prompt("", false)
	if c.begun {
		fmt.Fprintln(c.desk, paint{c.plain}.dim("go on with: uzda chat --session "+string(c.id)))
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/cmd/uzda/line"
	"github.com/uzda-dev/uzda/session"
)

func (a *app) chatCommand() *cobra.Command {
	var id string
	var hide bool
	c := &cobra.Command{Use: "chat [flags]", Short: "talk with an agent, line by line", Args: none,
		Long: `Chat is a conversation in one session. Each line that you type is a message;
the reply is shown as it comes, with a line for each tool call. What needs your
approval is asked. A line that ends in \ goes on in the next, and so does a block
between two lines of three backquotes.

While the agent works, what you type joins at its next step, and Ctrl-C cancels the
turn; the next message goes on. At the prompt Ctrl-D, Ctrl-C twice or /quit end
the chat; /help lists the commands. --session goes on in a session that there is,
also after a crash or with a call that waits.

If standard input is no terminal, each line of it is a message, the answers go to
standard output and all else to standard error. Nothing is asked: a call that
needs approval stays waiting. The first turn that is not done ends the chat.

It exits with 0 if you end it; with the code of the last turn if the input is no
terminal; with 130 after SIGTERM.`,
		Example: `  uzda chat
  uzda chat --session ID
  printf 'How many orders?\nAnd the year before?\n' | uzda chat --db shop.db`}
	c.Flags().StringVar(&id, "session", "", "go on in that session; it is made if there is none")
	c.Flags().BoolVar(&hide, "no-thinking", false, "do not show what the model thinks")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := a.meet(c); err != nil {
			return err
		}
		w, err := a.open(c)
		if err != nil {
			return err
		}
		defer w.close()
		if w.json() {
			return fail(uzda.ConfigError, "for JSON: uzda run --session ID --output-format json \"...\"",
				"chat speaks text: output_format (%s) is %s", w.cfg.Origin("output_format"), w.cfg.OutputFormat)
		}
		w.warnSize(c.Context())
		old, sid, err := w.chatIn(c.Context(), id)
		if err != nil {
			return err
		}
		if !w.tty {
			return w.piped(c.Context(), sid, old)
		}
		return w.chat(c.Context(), sid, old, !hide)
	}
	return flags(c, append([]string{"output-format"}, runFlags...)...)
}

// chatIn loads the session that a chat goes on in; a new one has no events.
func (w *work) chatIn(ctx context.Context, name string) (*agent.State, uzda.SessionID, error) {
	id := uzda.SessionID(name)
	if name == "" {
		return &agent.State{}, session.NewID(w.now()), nil
	}
	if err := id.Check(); err != nil {
		return nil, "", usage("--session: %v", err)
	}
	s, err := agent.Load(ctx, w.store, id)
	if err != nil {
		return nil, "", fail(uzda.StorageError, "`uzda doctor` looks at the store", "%v", err)
	}
	if s.Head == 0 {
		if found, old, err := w.load(ctx, name); err == nil { // the beginning of an id
			id, s = found, old
		}
	}
	w.goesOn = s.Head > 0
	return s, id, w.sound(ctx, id, s)
}

// piped takes each line of standard input for a message.
func (w *work) piped(ctx context.Context, id uzda.SessionID, s *agent.State) error {
	r, err := w.runner(ctx, s)
	if err != nil {
		return err
	}
	r.id, r.head = id, s.Head
	if s.Turn.Seq != 0 { // what the turn that is not done waits for comes first
		if err := r.drive(ctx); err != nil {
			return err
		}
	}
	inputs := line.NewPlain(w.in, w.err, false).Inputs()
	var last error // of the last turn
	for n := 0; ; {
		var in line.Input
		select {
		case in = <-inputs:
		case <-ctx.Done():
			return &exit{code: uzda.CancelledByUser.Exit()}
		}
		switch {
		case in.Kind == line.End && n == 0:
			return fail(uzda.ConfigError, "type at a terminal, or pipe messages in, a line each", "chat: standard input holds no message")
		case in.Kind == line.End:
			return last
		case strings.TrimSpace(in.Text) == "":
			continue
		}
		if n++; n == 1 {
			if err := r.begin(ctx, id); err != nil {
				return err
			}
		}
		if err := r.post(ctx, in.Text); err != nil {
			return err
		}
		r.began = w.now()
		var e *exit
		if last = r.drive(ctx); last != nil && (!errors.As(last, &e) || e.code != uzda.EndTurnDenied.Exit()) {
			return last // what is said next may stand on it
		}
	}
}

// chat talks with a person at a terminal.
func (w *work) chat(ctx context.Context, id uzda.SessionID, s *agent.State, thinking bool) error {
	r, err := w.runner(ctx, s)
	if err != nil {
		return err
	}
	r.id, r.head = id, s.Head
	r.reap(ctx)
	c := &chat{runner: r, begun: s.Head > 0}
	if err := c.takeOver(thinking); err != nil {
		return err
	}
	defer c.giveBack()
	c.hello(s)
	return c.loop(ctx, s)
}

// takeOver takes the terminal over, and gives it to all that this program says.
func (c *chat) takeOver(thinking bool) error {
	desk, err := c.deskOf()
	if err != nil {
		return fail(uzda.ConfigError, "TERM=dumb does without", "%v", err)
	}
	c.desk = desk
	oldErr, oldOut, oldTalk := c.app.err, c.out.w, c.talk
	c.app.err, c.talk = desk, &talk{desk: desk, stop: c.interrupt}
	if c.out.tty {
		c.out.w = desk
	}
	c.app.catch.Store(&catch{interrupt: c.interrupt, restore: func() { desk.Close() }}) //nolint:errcheck // the program ends
	c.restore = func() error {
		c.app.catch.Store(nil)
		c.app.err, c.out.w, c.talk = oldErr, oldOut, oldTalk
		return desk.Close()
	}
	c.stage = newStage(desk, paint{c.plain}, c.columns, desk.Live, c.now, thinking)
	return nil
}

// deskOf opens an editor where the terminal can do it.
func (c *chat) deskOf() (line.Desk, error) {
	if c.plainOut() {
		return line.NewPlain(c.in, c.app.err, true), nil
	}
	history := line.OpenHistory(filepath.Join(c.cfg.Data, "history"), func(s string) string { return agent.CleanText(c.secrets(), s) })
	out := os.Stdout
	if !c.out.tty {
		out = os.Stderr
	}
	return line.Open(os.Stdin, out, line.Options{Show: safe, Complete: c.completes, History: history})
}

func (c *chat) giveBack() {
	if err := c.restore(); err != nil {
		fmt.Fprintln(c.app.err, "uzda: warning: the terminal could not be given back:", err)
	}
}

// columns is the width of the terminal now.
func (c *chat) columns() int {
	if n := columns(os.Stderr); n >= 40 {
		return n
	}
	return 80
}

// hello says with whom one talks, and what was said last.
func (c *chat) hello(s *agent.State) {
	p := paint{c.plain}
	fmt.Fprintln(c.desk, p.dim(uzda.OneLine(fmt.Sprintf("%s · %s · %s", c.runner.agent, c.info.ID, c.cfg.Dir), c.columns()-1)))
	if s.Head == 0 {
		fmt.Fprintln(c.desk, p.dim("/help says what you can type; Ctrl-D ends the chat"))
		return
	}
	c.tail(s)
}

// tail shows the end of what was said.
func (c *chat) tail(s *agent.State) {
	const most, mostLines = 6, 12
	p := paint{c.plain}
	from := max(0, len(s.View)-most)
	if from > 0 {
		fmt.Fprintln(c.desk, p.dim(fmt.Sprintf("… %s before: uzda show %s", plural(from, "message"), c.id)))
	}
	for _, e := range s.View[from:] {
		text := strings.TrimSpace(safeLines(saidIn(e.Message.Blocks)))
		if text == "" {
			continue
		}
		lines := strings.Split(text, "\n")
		if len(lines) > mostLines {
			lines = append(lines[:mostLines], p.dim(fmt.Sprintf("… %d lines more", len(lines)-mostLines)))
		}
		if e.Message.Role == uzda.User {
			lines[0] = p.bold("> ") + lines[0]
		}
		fmt.Fprintln(c.desk, strings.Join(lines, "\n"))
	}
}

package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/cost"
	"github.com/uzda-dev/uzda/session"
	"github.com/uzda-dev/uzda/tool/todo"
	"github.com/uzda-dev/uzda/window"
)

// chatCommands are what may be typed instead of a message.
var chatCommands = []struct{ name, says string }{
	{"help", "this list"},
	{"attach", "FILE: send it with your next message; - drops what waits"},
	{"context", "what fills the model's window"},
	{"compact", "make what the model sees shorter"},
	{"cost", "what the session has used"},
	{"todo", "the agent's list of what is to be done"},
	{"undo", "take the changes of the last turn back"},
	{"new", "begin another session"},
	{"quit", "end the chat"},
}

var slash = regexp.MustCompile(`(?s)^/([a-z]+)(\s.*)?$`)

// command says whether a line is a command: a slash and one word. More words after a
// command that there is are returned, to be refused: they would be lost. A path is
// none, nor is a sentence that begins with one.
func command(text string) (name, more string, ok bool) {
	m := slash.FindStringSubmatch(text)
	if m == nil {
		return "", "", false
	}
	name, more = m[1], strings.TrimSpace(m[2])
	known := name == "exit"
	for _, c := range chatCommands {
		known = known || c.name == name
	}
	return name, more, known || more == ""
}

// commandsFrom are the commands that begin like text.
func commandsFrom(text string) (out []string) {
	if !strings.HasPrefix(text, "/") {
		return nil
	}
	for _, c := range chatCommands {
		if strings.HasPrefix("/"+c.name, text) {
			out = append(out, "/"+c.name)
		}
	}
	return out
}

// command does what a command says.
func (c *chat) command(ctx context.Context, name, more string) error {
	if more != "" && name != "attach" {
		fmt.Fprintf(c.desk, "/%s takes no more words; type it alone. (To say it to the agent, begin with a space.)\n", name)
		return nil
	}
	var err error
	switch name {
	case "help":
		c.help()
	case "quit", "exit":
		c.talk.ended = true
	case "new":
		err = c.anew(ctx)
	case "attach":
		err = c.takeAlong(ctx, more)
	case "context", "compact", "cost", "todo", "undo":
		if !c.begun {
			fmt.Fprintln(c.desk, "Nothing was said yet.")
			return nil
		}
		err = map[string]func(context.Context) error{"context": c.context, "compact": c.shorten, "cost": c.costs, "todo": c.list, "undo": c.takeBack}[name](ctx)
	default:
		var names []string
		for _, k := range chatCommands {
			names = append(names, k.name)
		}
		hint := "/help lists them"
		if near := uzda.Nearest(name, names, 1); len(near) > 0 {
			hint = "did you mean /" + near[0] + "?"
		}
		fmt.Fprintf(c.desk, "There is no command /%s; %s (To say it to the agent, begin with a space.)\n", name, hint)
	}
	if err != nil {
		c.sorry(err)
	}
	return nil
}

func (c *chat) help() { fmt.Fprint(c.desk, chatHelp()) }

// chatHelp is what /help says, in 80 columns.
func chatHelp() string {
	var b strings.Builder
	for _, k := range chatCommands {
		fmt.Fprintf(&b, "  /%-9s%s\n", k.name, k.says)
	}
	b.WriteString(`
  \ at the end of a line      the message goes on in the next
  ` + "```" + `                         begins and ends a block of several lines
  Ctrl-J                      a line end in the message
  Up, Down                    what you said before
  Ctrl-C                      cancels the turn; twice at rest ends the chat
  Ctrl-D                      ends the chat
While the agent works, what you type joins at its next step.
`)
	return b.String()
}

// anew begins another session with the same agent; it is opened by the first message.
func (c *chat) anew(context.Context) error {
	if c.working() {
		return fail(uzda.ConfigError, "Ctrl-C cancels the turn", "the agent is at work")
	}
	if c.begun {
		fmt.Fprintf(c.desk, "The old session: uzda chat --session %s\n", c.id)
	}
	c.id, c.head, c.begun, c.goesOn, c.along = session.NewID(c.now()), 0, false, false, nil
	fmt.Fprintln(c.desk, "A new session begins with your next message.")
	return nil
}

func (c *chat) context(ctx context.Context) error {
	s, err := c.host.State(ctx, c.id)
	if err != nil {
		return failed(c.id, err)
	}
	r, err := c.filled(ctx, c.id, s)
	if err != nil {
		return err
	}
	return r.write(c.desk, window.Drawing{Width: c.columns(), Colour: !c.plain, ASCII: c.plainOut()})
}

// shorten does what `uzda compact` does. Ctrl-C cancels it.
func (c *chat) shorten(ctx context.Context) error {
	if c.working() {
		return fail(uzda.ConfigError, "Ctrl-C cancels the turn", "the agent is at work")
	}
	s, err := c.host.State(ctx, c.id)
	if err != nil {
		return failed(c.id, err)
	}
	if err := c.rests(ctx, c.id, s); err != nil {
		return err
	}
	doing, done := c.cancellable(ctx)
	defer done()
	r, err := c.compactBy(doing, c.host, c.id, s)
	for e, unread := range c.store.Read(context.WithoutCancel(ctx), c.id, s.Head) { // they are told here, once
		if unread != nil {
			break
		}
		c.resent(e)
		c.head = e.Seq
	}
	if err != nil {
		return err
	}
	r.write(c.desk, c.columns())
	if r.Error != nil {
		return fail(r.Error.Code, r.Error.Hint, "%s", r.Error.Message)
	}
	return nil
}

// working says whether a turn runs.
func (c *chat) working() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cancel != nil
}

func (c *chat) costs(ctx context.Context) error {
	ids, err := c.family(ctx, []string{string(c.id)})
	if err != nil {
		return err
	}
	r := cost.NewReport(c.prices)
	for _, id := range ids {
		if err := r.Read(id, c.store.Read(ctx, id, 0)); err != nil {
			return fail(uzda.StorageError, "`uzda doctor` looks at the store", "%v", err)
		}
	}
	return r.WriteText(c.desk, cost.ByModel, cost.ByPurpose)
}

// list shows the agent's list.
func (c *chat) list(context.Context) error {
	items, err := c.todo().Read(c.id)
	if err != nil {
		return fail(uzda.StorageError, "", "%v", err)
	}
	text := todo.Markdown(items)
	if len(items) == 0 {
		text = "The agent has no list.\n"
	}
	fmt.Fprint(c.desk, safeLines(text))
	return nil
}

// takeBack undoes what the agent changed.
func (c *chat) takeBack(ctx context.Context) error {
	if c.working() {
		return fail(uzda.ConfigError, "Ctrl-C cancels the turn", "the agent is at work")
	}
	return c.undo(ctx)
}

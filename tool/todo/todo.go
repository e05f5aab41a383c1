// Package todo is the tool by which a model keeps the list of its steps.
package todo

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/schema"
)

//go:embed todo.md
var description string

// Limits of a list.
const (
	MaxItems = 100
	MaxText  = 500 // runes of one item
)

// A Status says how far an item is.
type Status string

// The statuses.
const (
	Pending Status = "pending"
	Doing   Status = "doing"
	Done    Status = "done"
)

// An Item is one step.
type Item struct {
	Text   string `json:"text" doc:"what is to be done, in one line"`
	Status Status `json:"status" enum:"pending,doing,done" doc:"pending, doing or done"`
}

type input struct {
	Items []Item `json:"items" doc:"the whole list, in order; [] clears it"`
}

// Todo is the tool `todo`. Each session has one list, in Markdown, that a person may
// read and edit. It is replaced as a whole: a reader sees the old one or the new one.
// It is safe for concurrent use.
type Todo struct {
	dir  string
	spec uzda.ToolSpec
	in   *schema.Schema
	mu   sync.Mutex // one change at a time
}

var (
	_ uzda.Tool    = (*Todo)(nil)
	_ uzda.Checker = (*Todo)(nil)
)

// New returns the tool; the lists of all sessions lie under dir, which is made when
// the first one is saved.
func New(dir string) *Todo {
	in, err := schema.For[input]()
	if err != nil {
		panic(err)
	}
	return &Todo{dir: dir, in: in, spec: uzda.ToolSpec{
		Name: "todo", Description: strings.TrimSpace(description), Input: in.JSON(),
		Effects: uzda.Effects{Idempotent: true}, Source: "built-in",
	}}
}

// Spec says what the tool is.
func (t *Todo) Spec() uzda.ToolSpec { return t.spec }

// Check validates the list.
func (t *Todo) Check(raw json.RawMessage) (json.RawMessage, error) {
	out, err := t.in.Coerce(raw)
	if err != nil {
		return nil, err
	}
	_, err = parse(out)
	return out, err
}

func parse(raw json.RawMessage) ([]Item, error) {
	var in input
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, fmt.Errorf("the input cannot be read: %w", err)
	}
	if len(in.Items) > MaxItems {
		return nil, fmt.Errorf("/items has %d items, at most %d are kept: join small steps, leave out what was done long ago", len(in.Items), MaxItems)
	}
	for i, it := range in.Items {
		it.Text = oneLine(it.Text)
		switch n := utf8.RuneCountInString(it.Text); {
		case n == 0:
			return nil, fmt.Errorf("/items/%d/text is empty: say what is to be done, or leave the item out", i)
		case n > MaxText:
			return nil, fmt.Errorf("/items/%d/text has %d characters, at most %d are kept: say it shorter, and keep details in notes", i, n, MaxText)
		}
		in.Items[i] = it
	}
	return in.Items, nil
}

// oneLine joins lines and drops what could move the cursor of a terminal.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// Call replaces the list of the session.
func (t *Todo) Call(ctx context.Context, use uzda.Use) (uzda.Result, error) {
	items, err := parse(use.Input)
	if err != nil {
		return fail(uzda.CodeInvalidInput, err.Error()), nil
	}
	if err := ctx.Err(); err != nil {
		return uzda.Result{}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := store(filepath.Join(t.dir, use.Session.Folder()), items); err != nil {
		return fail(uzda.CodeFailed, err.Error()+". The old list stands"), nil
	}
	return uzda.Result{Blocks: uzda.Say(short(items)), People: uzda.Say(Markdown(items))}, nil
}

func fail(code uzda.Code, text string) uzda.Result {
	return uzda.Result{Blocks: uzda.Say(text), IsError: true, Code: code, Effect: uzda.EffectNone}
}

// Read returns the list of a session, also as a person left it; none is no error.
func (t *Todo) Read(session uzda.SessionID) ([]Item, error) {
	return load(filepath.Join(t.dir, session.Folder()))
}

// Text is the list of a session as a compaction pins it: "" where there is none. A
// long one has its done items counted, and then what is left of it cut.
func (t *Todo) Text(session uzda.SessionID) (string, error) {
	const most = 8 << 10
	items, err := t.Read(session)
	text := Markdown(items)
	if len(text) <= most {
		return text, err
	}
	open := slices.DeleteFunc(slices.Clone(items), func(it Item) bool { return it.Status == Done })
	head := ""
	if done := len(items) - len(open); done > 0 {
		head = fmt.Sprintf("(%d items are done)\n", done)
	}
	var b strings.Builder
	b.WriteString(head)
	for i, it := range open {
		const foot = 80
		line := Markdown([]Item{it})
		if b.Len()+len(line) > most-foot {
			fmt.Fprintf(&b, "(%d more items are in the list)\n", len(open)-i)
			break
		}
		b.WriteString(line)
	}
	return b.String(), err
}

// short tells the model where it stands; it wrote the list itself.
func short(items []Item) string {
	if len(items) == 0 {
		return "The list is empty."
	}
	var doing []string
	next, done := "", 0
	for i, it := range items {
		line := fmt.Sprintf("%d. %s", i+1, it.Text)
		switch it.Status {
		case Done:
			done++
		case Doing:
			doing = append(doing, line)
		default:
			if next == "" {
				next = line
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Saved: %d of %d done.", done, len(items))
	switch {
	case len(doing) > 0:
		fmt.Fprintf(&b, " Doing: %s", strings.Join(doing, "; "))
	case next != "":
		fmt.Fprintf(&b, " Next: %s", next)
	}
	if len(doing) > 1 {
		fmt.Fprintf(&b, "\n%d items are doing at once: set all but the one that you work on to pending.", len(doing))
	}
	return b.String()
}

// Package note is the tool by which a model keeps notes outside its window.
package note

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/schema"
)

//go:embed note.md
var description string

// Limits of the notes of a session.
const (
	Limit    = 8 << 10 // bytes of all together
	MaxNotes = 100
)

type input struct {
	Op   string  `json:"op" enum:"read,write,append,delete,list" doc:"read, write (replaces the whole note), append, delete, or list (keys, sizes and beginnings)"`
	Text *string `json:"text" doc:"the note in Markdown; needed for write and append"`
	Key  string  `json:"key,omitempty" doc:"a second, separate note, for example one task; lower-case letters, digits, - and _, at most 64; leave it out for the main note"`
}

// Notes is the tool `notes`. Each session has a folder of its own with one file
// a note, in Markdown, that a person may read and edit. A note is replaced as a
// whole: a reader, also in another process, sees the old one or the new one, and
// what was saved survives a loss of power. It is safe for concurrent use.
type Notes struct {
	dir  string
	spec uzda.ToolSpec
	in   *schema.Schema
	mu   sync.Mutex // one change at a time, since append reads first
}

var (
	_ uzda.Tool    = (*Notes)(nil)
	_ uzda.Checker = (*Notes)(nil)
)

// New returns the tool; the notes of all sessions lie under dir, which is made
// when the first note is saved.
func New(dir string) *Notes {
	in, err := schema.For[input]()
	if err != nil {
		panic(err)
	}
	return &Notes{dir: dir, in: in, spec: uzda.ToolSpec{
		Name: "notes", Description: strings.TrimSpace(description), Input: in.JSON(),
		// Each operation may run twice: append leaves out what is there already.
		Effects: uzda.Effects{Idempotent: true}, Source: "built-in",
	}}
}

// Spec says what the tool is.
func (n *Notes) Spec() uzda.ToolSpec { return n.spec }

// Check validates the input, and that text is there where it is needed.
func (n *Notes) Check(raw json.RawMessage) (json.RawMessage, error) {
	out, err := n.in.Coerce(raw)
	if err != nil {
		return nil, err
	}
	_, err = parse(out)
	return out, err
}

func parse(raw json.RawMessage) (input, error) {
	var in input
	if err := json.Unmarshal(raw, &in); err != nil {
		return in, fmt.Errorf("the input cannot be read: %w", err)
	}
	if (in.Op == "write" || in.Op == "append") && in.Text == nil {
		return in, fmt.Errorf("/text is missing: %s needs the text of the note; an empty text deletes it", in.Op)
	}
	if !validKey(in.Key) {
		return in, errors.New("/key must be 1 to 64 lower-case letters, digits, - and _; leave it out for the main note")
	}
	return in, nil
}

func validKey(key string) bool {
	for _, c := range key {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return len(key) <= 64
}

// Call does one operation.
func (n *Notes) Call(ctx context.Context, use uzda.Use) (uzda.Result, error) {
	in, err := parse(use.Input)
	if err != nil {
		return fail(uzda.CodeInvalidInput, err.Error()), nil
	}
	if err := ctx.Err(); err != nil {
		return uzda.Result{}, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	all, err := load(filepath.Join(n.dir, use.Session.Folder()))
	if err != nil {
		return fail(uzda.CodeFailed, err.Error()), nil
	}
	switch in.Op {
	case "read":
		return read(all, in.Key), nil
	case "list":
		return uzda.Result{Blocks: uzda.Say(list(all)), Effect: uzda.EffectNone}, nil
	case "delete":
		if all[in.Key] == "" {
			return uzda.Result{Blocks: uzda.Say(missing(all, in.Key)), Effect: uzda.EffectNone}, nil
		}
		return n.save(use.Session, all, in.Key, ""), nil
	case "append":
		return n.save(use.Session, all, in.Key, added(all[in.Key], *in.Text)), nil
	case "write":
		return n.save(use.Session, all, in.Key, *in.Text), nil
	}
	return fail(uzda.CodeInvalidInput, "/op must be one of read, write, append, delete, list"), nil
}

// added is a note with text as lines of its own, once.
func added(old, text string) string {
	old, text = strings.TrimRight(old, "\n"), strings.TrimRight(text, "\n")
	if old == "" || text == "" {
		return old + text
	}
	if old == text || strings.HasSuffix(old, "\n"+text) {
		return old
	}
	return old + "\n" + text
}

func fail(code uzda.Code, text string) uzda.Result {
	return uzda.Result{Blocks: uzda.Say(text), IsError: true, Code: code, Effect: uzda.EffectNone}
}

// read returns all notes, or one.
func read(all map[string]string, key string) uzda.Result {
	text := shorten(join(all), most)
	switch {
	case key != "" && all[key] == "":
		text = missing(all, key)
	case key != "":
		text = shorten(all[key], most)
	case text == "":
		text = none
	}
	return uzda.Result{Blocks: uzda.Say(text), Effect: uzda.EffectNone}
}

const none = `There are no notes yet. Save some with op "write" and a text.`

func missing(all map[string]string, key string) string {
	if key == "" {
		return "There is no main note. " + index(all)
	}
	return fmt.Sprintf("There is no note %q. %s", key, index(all))
}

// join is the main note, and after it the others under their keys.
func join(all map[string]string) string {
	var b strings.Builder
	b.WriteString(all[""])
	for _, k := range keys(all) {
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		fmt.Fprintf(&b, "[%s]\n%s", k, all[k])
	}
	return b.String()
}

// list says which notes there are: how large, and how each begins.
func list(all map[string]string) string {
	if len(all) == 0 {
		return none
	}
	const begin = 80 // columns
	var b strings.Builder
	line := func(name, text string) {
		first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		fmt.Fprintf(&b, "%s: %d bytes: %s\n", name, len(text), uzda.OneLine(first, begin))
	}
	if all[""] != "" {
		line("the main note", all[""])
	}
	for _, k := range keys(all) {
		line("["+k+"]", all[k])
	}
	fmt.Fprintf(&b, "Together %d of %d bytes.", size(all), Limit)
	return shorten(b.String(), most)
}

// Text is all notes of a session as a compaction pins them: "" where there are
// none. What a person made far too long is cut. With an error comes what could be
// read all the same.
func (n *Notes) Text(id uzda.SessionID) (string, error) {
	all, err := load(filepath.Join(n.dir, id.Folder()))
	const pinned = 2 * Limit // more than all that the tool saves, with its keys
	return shorten(join(all), pinned), err
}

const most = 4 * Limit // bytes of an answer

// shorten keeps what a person made far too long in bounds.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return fmt.Sprintf("%s\n[cut here: %d of %d bytes are left out; write a shorter note]", uzda.Before(text, most), len(text)-most, len(text))
}

// save replaces one note, if all of them stay within the limit.
func (n *Notes) save(id uzda.SessionID, all map[string]string, key, text string) uzda.Result {
	total := len(text)
	for k, t := range all {
		if k != key {
			total += len(t)
		}
	}
	if total > Limit && total > size(all) { // what a person made too long may still shrink
		return fail(uzda.CodeFailed, fmt.Sprintf("Not saved: the notes would have %d bytes, at most %d are kept. Nothing was changed. Condense: "+
			"keep the goal, decisions, exact ids, numbers and paths, what is done and what is next; drop what can be looked up again and "+
			"what is settled; then write the whole note again. %s", total, Limit, index(all)))
	}
	if text != "" && all[key] == "" && len(all) >= MaxNotes {
		return fail(uzda.CodeFailed, fmt.Sprintf("Not saved: there are %d notes already, at most %d are kept. Nothing was changed. "+
			"Delete those of tasks that are done, or join small ones. %s", len(all), MaxNotes, index(all)))
	}
	if err := store(filepath.Join(n.dir, id.Folder()), key, text); err != nil {
		return fail(uzda.CodeFailed, err.Error())
	}
	what := "The note"
	if key != "" {
		what = fmt.Sprintf("The note %q", key)
	}
	done := "is saved"
	if text == "" {
		done = "is deleted"
	}
	return uzda.Result{Blocks: uzda.Say(fmt.Sprintf("%s %s. The notes have %d of %d bytes.", what, done, total, Limit))}
}

func size(all map[string]string) int {
	n := 0
	for _, t := range all {
		n += len(t)
	}
	return n
}

// index lists the notes with their sizes.
func index(all map[string]string) string {
	var parts []string
	if t := all[""]; t != "" {
		parts = append(parts, fmt.Sprintf("the main note (%d bytes)", len(t)))
	}
	for _, k := range keys(all) {
		parts = append(parts, fmt.Sprintf("%s (%d bytes)", k, len(all[k])))
	}
	if len(parts) == 0 {
		return "There are no notes yet."
	}
	return "There are: " + strings.Join(parts, ", ") + "."
}

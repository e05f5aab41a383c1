package uzda

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

type (
	// A SessionID names a session. The id of a child is its parent's id and the
	// use that began it, so that a resumed parent finds it again.
	SessionID string
	// A Seq numbers the events of a session from 1, without gaps.
	Seq int64
	// A UseID names a tool use by the loop: "SEQ.N", the number of its Said and
	// its place in it, from 1. Providers repeat their ids, so those stay in
	// [ToolUse.Wire] and are mapped for each request.
	UseID string
)

// A Block is one part of a message: [Text], [Thinking], [Media], [ToolUse],
// [ToolResult] or [Opaque]. The set is closed.
type Block interface {
	block()
	// Marks returns the block's labels.
	Marks() []Label
}

// Meta is what every block carries.
type Meta struct {
	Labels []Label `json:"labels,omitempty"`
}

func (Meta) block() {}

// Marks returns the block's labels.
func (m Meta) Marks() []Label { return m.Labels }

// Kinds of labels that Uzda itself sets and reads.
const (
	Private   = "private"   // data that must not leave
	Untrusted = "untrusted" // text that somebody else may have written
)

// A Label says where a value came from: Kind is [Private], [Untrusted] or a
// name of the embedder's own; From is a use or a source.
type Label struct {
	Kind string `json:"kind"`
	From string `json:"from,omitempty"`
}

type (
	// Text is what was said, in UTF-8.
	Text struct {
		Meta
		Text string `json:"text"`
	}
	// Thinking is the model's reasoning; Signature is the provider's proof of it.
	Thinking struct {
		Meta
		Text      string `json:"text,omitempty"`
		Signature string `json:"signature,omitempty"`
	}
	// Media is a picture, a document or a sound.
	Media struct {
		Meta
		Type string `json:"type"` // MIME type
		Name string `json:"name,omitempty"`
		Data []byte `json:"data,omitempty"` // stored as base64; a long one becomes a blob of the journal
	}
	// ToolUse is the model's request to run a tool.
	ToolUse struct {
		Meta
		ID    UseID           `json:"id,omitempty"`   // set by the loop when the message joins the view
		Wire  string          `json:"wire,omitempty"` // the provider's id
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input,omitempty"` // a JSON object, always
		Raw   string          `json:"raw,omitempty"`   // what came instead, where it was no JSON object
	}
	// ToolResult is the outcome of one use.
	ToolResult struct {
		Meta
		Use     UseID  `json:"use"`
		Blocks  Blocks `json:"blocks"`
		IsError bool   `json:"is_error,omitempty"`
		Code    Code   `json:"code,omitempty"`
		Effect  Effect `json:"effect,omitempty"`
		// Full is the whole output where Blocks hold only its head and tail.
		Full *Full `json:"full,omitempty"`
		// People is the part for people (a table, a diff), which no model reads.
		People Blocks `json:"people,omitempty"`
	}
	// Opaque is a block that only its origin understands; it goes back unchanged.
	Opaque struct {
		Meta
		Origin string          `json:"origin"`
		Raw    json.RawMessage `json:"raw"`
	}
)

// Full says where the whole of a cut output lies, and how long it is in bytes.
type Full struct {
	Blob string `json:"blob"` // hash, see [Blobs]
	Size int64  `json:"size"`
}

// Blocks encodes each block as an object with one key, its kind.
type Blocks []Block

type anyBlock struct {
	Text     *Text       `json:"text,omitempty"`
	Thinking *Thinking   `json:"thinking,omitempty"`
	Media    *Media      `json:"media,omitempty"`
	Use      *ToolUse    `json:"use,omitempty"`
	Result   *ToolResult `json:"result,omitempty"`
	Opaque   *Opaque     `json:"opaque,omitempty"`
}

// MarshalJSON writes blocks as they stand in journals.
func (bs Blocks) MarshalJSON() ([]byte, error) { return appendBlocks(nil, bs) }

// UnmarshalJSON reads what MarshalJSON wrote. A block of an unknown kind, by a
// newer program, becomes [Opaque].
func (bs *Blocks) UnmarshalJSON(raw []byte) error {
	var in []json.RawMessage
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	*bs = make(Blocks, len(in))
	for i, one := range in {
		var w anyBlock
		if err := json.Unmarshal(one, &w); err != nil {
			return fmt.Errorf("decode block %d: %w", i, err)
		}
		switch {
		case w.Text != nil:
			(*bs)[i] = *w.Text
		case w.Thinking != nil:
			(*bs)[i] = *w.Thinking
		case w.Media != nil:
			(*bs)[i] = *w.Media
		case w.Use != nil:
			(*bs)[i] = *w.Use
		case w.Result != nil:
			(*bs)[i] = *w.Result
		case w.Opaque != nil:
			(*bs)[i] = *w.Opaque
		default:
			(*bs)[i] = Opaque{Origin: "unknown", Raw: one}
		}
	}
	return nil
}

// String returns the text blocks joined by newlines.
func (bs Blocks) String() string {
	var parts []string
	for _, b := range bs {
		if t, ok := b.(Text); ok && t.Text != "" {
			parts = append(parts, t.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// Words returns the text blocks that nobody else may have written, joined by
// newlines: of a message what its author says, without what came along.
func (bs Blocks) Words() string {
	var own Blocks
	for _, b := range bs {
		if !slices.ContainsFunc(b.Marks(), func(l Label) bool { return l.Kind == Untrusted }) {
			own = append(own, b)
		}
	}
	return own.String()
}

// Size is the size in bytes of what a model reads of blocks. Media count as 6,000,
// about 1,500 tokens, whatever their own size.
func (bs Blocks) Size() (n int) {
	for _, b := range bs {
		switch b := b.(type) {
		case Text:
			n += len(b.Text)
		case Thinking:
			n += len(b.Text)
		case Media:
			n += 6000
		case ToolUse:
			n += len(b.Name) + len(b.Input)
		case ToolResult:
			n += b.Blocks.Size()
		case Opaque:
			n += len(b.Raw)
		}
	}
	return n
}

// Say makes blocks of one text.
func Say(text string, labels ...Label) Blocks {
	return Blocks{Text{Text: text, Meta: Meta{Labels: labels}}}
}

// Role says who a message is from.
type Role string

// The roles. Results of tools come in a message of the user.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// An Origin says who sent a message, so that its items go back to nobody else.
type Origin struct {
	Profile string `json:"profile"`           // adapter and service
	Base    string `json:"base,omitempty"`    // base URL
	Account string `json:"account,omitempty"` // fingerprint of the key, never the key
	Model   string `json:"model"`
}

// An Item is what a provider sent for Blocks blocks of the message, folded from
// its deltas: string fields byte for byte, unknown fields kept in order. Raw is
// null where encoding the blocks gives what came.
type Item struct {
	Blocks int             `json:"blocks,omitempty"`
	Raw    json.RawMessage `json:"raw"`
}

// Plain says whether the item holds nothing that its blocks don't.
func (i Item) Plain() bool { return len(i.Raw) == 0 || string(i.Raw) == "null" }

// A Repair names what was mended in a message before it was recorded. Its block
// is encoded again; every other item goes back as it came.
type Repair struct {
	Block int    `json:"block"` // index, -1 where the block was left out
	What  string `json:"what"`
}

// A Message is one entry of a transcript.
type Message struct {
	Role    Role     `json:"role"`
	Blocks  Blocks   `json:"blocks"`
	Origin  *Origin  `json:"origin,omitempty"`
	Items   []Item   `json:"items,omitempty"`
	Repairs []Repair `json:"repairs,omitempty"`
}

// Uses returns the calls that the message asks for, in order.
func (m Message) Uses() []ToolUse { return pick[ToolUse](m.Blocks) }

// Results returns the results that the message carries, in order.
func (m Message) Results() []ToolResult { return pick[ToolResult](m.Blocks) }

// String returns the message's text.
func (m Message) String() string { return m.Blocks.String() }

func pick[T Block](bs Blocks) []T {
	var out []T
	for _, b := range bs {
		if t, ok := b.(T); ok {
			out = append(out, t)
		}
	}
	return out
}

// Union adds the labels of more that a lacks. It never changes a.
func Union(a []Label, more ...Label) []Label {
	for _, l := range more {
		if !slices.Contains(a, l) {
			a = append(a[:len(a):len(a)], l)
		}
	}
	return a
}

// An Entry is a message in the view. Seq is the event by which it came, Edit
// the edit that put it there, if any.
type Entry struct {
	Seq     Seq     `json:"seq"`
	Edit    Seq     `json:"edit,omitempty"`
	Message Message `json:"message"`
}

// Valid says what is wrong with a view, nil if nothing: every message with uses
// is followed directly by one that begins with exactly their results, in order,
// ids are unique, inputs are objects.
func Valid(view []Entry) error {
	seen := map[UseID]bool{}
	var want []UseID
	for _, e := range view {
		var got []UseID
		for _, r := range e.Message.Results() {
			got = append(got, r.Use)
		}
		if !slices.Equal(want, got) {
			return fmt.Errorf("message %d: results %v for uses %v", e.Seq, got, want)
		}
		for i := range got {
			if _, ok := e.Message.Blocks[i].(ToolResult); !ok {
				return fmt.Errorf("message %d: a block stands between the results", e.Seq)
			}
		}
		want = nil
		for _, u := range e.Message.Uses() {
			if u.ID == "" || seen[u.ID] {
				return fmt.Errorf("message %d: the use id %q is empty or repeated", e.Seq, u.ID)
			}
			if len(u.Input) == 0 || u.Input[0] != '{' {
				return fmt.Errorf("message %d: the input of use %s is no object", e.Seq, u.ID)
			}
			seen[u.ID] = true
			want = append(want, u.ID)
		}
	}
	if len(want) > 0 {
		return fmt.Errorf("message %d: uses without results", view[len(view)-1].Seq)
	}
	return nil
}

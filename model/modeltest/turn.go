package modeltest

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/uzda-dev/uzda"
)

// A Turn is one scripted reply: its thinking, its text, its calls, and why it
// stops. The zero value is an empty reply.
type Turn struct {
	Thinking string // signed on the wires that sign: see [Server.Sign]
	Text     string
	Calls    []Call
	// Parts, where there are any, are the reply in this order instead of the
	// three fields above.
	Parts []Part

	Stop    string          // the provider's own word; default as the provider ends such a reply
	Detail  json.RawMessage // Messages: stop_details, such as {"category":"cyber"}
	Refusal string          // Chat Completions: the refusal beside the content
	// Extra are members that the assistant's message has besides, such as
	// {"reasoning_details":[…]}. Chat Completions and Ollama only; they go into
	// one delta.
	Extra json.RawMessage
	// Usage is what the provider says and bills; nil: counted, see [Cache].
	Usage *uzda.Usage
	// RawUsage is said instead of Usage, in the provider's own form.
	RawUsage json.RawMessage

	Header http.Header // of the reply
	Shape  *Shape      // how the reply is written; nil: as Config.Shape says
	// Faults are met one after the other by the requests for this turn; then it
	// is answered well.
	Faults []Fault
}

// A Part is one piece of a reply; exactly one field is set.
type Part struct {
	Text     string
	Thinking string
	Hidden   string // thinking of which only the signature is sent
	Call     *Call
	// Raw is a block of the provider's own, such as server_tool_use or
	// redacted_thinking, that only goes back byte for byte. Messages only.
	Raw json.RawMessage
}

// A Call is one tool use of a reply.
type Call struct {
	Name  string
	Input string // a JSON object, default {}; anything else is sent as it is: broken, or cut
	ID    string // default one that the service could have made
	Form  Form   // how the input is sent
	// Extra are members of the call besides, such as {"extra_content":{…}}. They
	// must come back byte for byte. Chat Completions only.
	Extra json.RawMessage
}

// A Form is how the input of a call is sent.
type Form string

// The forms of an input. All but FormNormal and FormObject send no input.
const (
	FormNormal Form = ""
	FormEmpty  Form = "empty"  // an empty string
	FormNull   Form = "null"   // null instead of a string
	FormAbsent Form = "absent" // no member, no delta
	FormObject Form = "object" // an object instead of a string; Messages: whole in the block's start
	FormBoth   Form = "both"   // Messages: whole in the block's start and again in deltas
)

// parts returns the pieces of the turn in order.
func (t *Turn) parts() []Part {
	if t.Parts != nil {
		return t.Parts
	}
	var out []Part
	if t.Thinking != "" {
		out = append(out, Part{Thinking: t.Thinking})
	}
	if t.Text != "" {
		out = append(out, Part{Text: t.Text})
	}
	for i := range t.Calls {
		out = append(out, Part{Call: &t.Calls[i]})
	}
	return out
}

// input is the text of the arguments as they are sent.
func (c *Call) input() string {
	switch {
	case c.Form == FormEmpty || c.Form == FormNull || c.Form == FormAbsent:
		return ""
	case c.Input == "":
		return "{}"
	}
	return c.Input
}

// size is the length in bytes of what the model said in a part, for the count of
// its tokens.
func (p *Part) size() int {
	n := len(p.Text) + len(p.Thinking) + len(p.Hidden) + len(p.Raw)
	if p.Call != nil {
		n += len(p.Call.Name) + len(p.Call.input())
	}
	return n
}

// A Shape is how replies are written where it differs from the provider's usual
// way. The zero value is that way.
type Shape struct {
	ContentType string        // instead of the right one
	Piece       int           // bytes of a delta; default 24, -1: a block in one delta
	ASCII       bool          // strings are written with \u escapes beyond ASCII
	Ragged      bool          // deltas may be cut inside a character, or between the halves of a surrogate pair
	CRLF        bool          // lines end in CR LF
	Blank       int           // blank lines before anything
	Framing     Framing       // stream or not, whatever was asked for
	Gzip        bool          // the body is compressed, asked for or not
	Delay       time.Duration // before each event
	Write       int           // bytes written at a time, each flushed; default an event
	Seed        uint64        // not 0: an event is written in random pieces, the same ones for the same seed
	Extra       bool          // members, events and comments that no client knows
	Padded      bool          // spaces before the last brace of each event
	NoStart     bool          // Messages: no message_start; Chat Completions: no first delta with the role
	NoFinish    bool          // no finish reason
	NoEnd       bool          // no [DONE], message_stop or last line
	ExtraEnd    bool          // Messages: a [DONE] after the end, as some gateways send
	Usage       UsageAt       // where the usage stands
	Index       Index         // of tool calls
	IDs         IDs           // of tool calls
	Interleave  bool          // the deltas of parallel calls alternate
	Whole       bool          // a call comes in one delta
	Mixed       bool          // Chat Completions: text and calls in the same deltas
	Markup      Markup        // calls come as text, in a local model's own markup
	Reasoning   string        // Chat Completions: the member for thinking; default reasoning_content
	Model       string        // that the reply names; default the one asked for
}

// Framing is how a reply comes.
type Framing string

// The framings.
const (
	FramingNormal Framing = ""       // as asked for
	FramingWhole  Framing = "whole"  // one JSON object, also where a stream is asked for
	FramingStream Framing = "stream" // a stream, also where none is asked for
)

// UsageAt is where a reply says its usage.
type UsageAt string

// Places of the usage.
const (
	UsageNormal UsageAt = ""      // Chat Completions: in a chunk of its own if the request asks for it
	UsageNone   UsageAt = "none"  // nowhere
	UsageLast   UsageAt = "last"  // Chat Completions: in the chunk with the finish reason, asked or not
	UsageExtra  UsageAt = "extra" // Chat Completions: in a chunk of its own, asked or not
	UsageStart  UsageAt = "start" // Messages: only output tokens in the last event, as older ones
)

// An Index is how tool calls are numbered in a stream.
type Index string

// Ways to number calls.
const (
	IndexNormal Index = ""     // 0, 1, 2 …; Messages numbers blocks
	IndexNone   Index = "none" // no member
	IndexZero   Index = "zero" // all 0; each call comes whole before the next
	IndexGap    Index = "gap"  // 0, 2, 4 …
	IndexOne    Index = "one"  // 1, 2, 3 …
)

// IDs is how tool calls are named.
type IDs string

// Ways to name calls.
const (
	IDsNormal IDs = ""
	IDsNone   IDs = "none"  // no member
	IDsEmpty  IDs = "empty" // ""
	IDsSame   IDs = "same"  // all as the first
)

// A Markup is a local model's own way to write calls, as a server sends it on
// that does not know it.
type Markup string

// Ways to write calls as text.
const (
	MarkupNone    Markup = ""
	MarkupHermes  Markup = "hermes"  // <tool_call>{"name":…,"arguments":{…}}</tool_call>
	MarkupTwice   Markup = "twice"   // the same with the closing tag twice
	MarkupXML     Markup = "xml"     // <function=NAME><parameter=KEY>VALUE</parameter></function>
	MarkupMistral Markup = "mistral" // [TOOL_CALLS][{"name":…,"arguments":{…}}]
)

package modeltest

import (
	"net/http"
	"slices"

	"github.com/uzda-dev/uzda"
)

// A Wire is a format that the server speaks.
type Wire string

// The wires. WireMeta is everything that is no reply: models, counts, health.
const (
	WireMessages Wire = "messages" // Anthropic Messages
	WireChat     Wire = "chat"     // Chat Completions
	WireOllama   Wire = "ollama"   // Ollama's own
	WireMeta     Wire = "meta"
)

// A Request is one request as the server got it, and what became of it.
type Request struct {
	N      int // of all requests of the server, from 1
	Wire   Wire
	Method string
	Path   string // with the query
	Header http.Header
	Body   []byte // nil if Config.Keep has let it go

	Model     string
	Stream    bool
	MaxTokens int      // 0 if it does not say
	Tools     []string // their names
	Messages  int      // how many
	Assistant int      // how many of them are the assistant's
	Units     []Unit   // what the provider reads, in its order; see Extends

	Turn    int      // the place of the turn that answered it, from 1; 0 if none did
	Attempt int      // at this turn, from 1
	Fault   *Fault   // that it met
	Faults  []string // what is wrong with the request

	Status  int
	Billed  bool       // some of the reply went out
	Usage   uzda.Usage // as the provider counts it; Output as far as it went out
	Whole   bool       // the reply went out to its end
	Dropped int        // tokens that a local server cut from the front
	Tokens  int        // of the prompt, as the server counts it, also if it was refused

	times int    // tokens of four bytes
	doc   value  // the body
	first string // the hash of the first message, which tells sessions apart
}

// forget lets go of what is large.
func (r *Request) forget() {
	r.Body, r.Units = nil, slices.Clone(r.Units) // others may hold the old ones
	for i := range r.Units {
		r.Units[i].Raw = nil
	}
}

// LastText is the text of the last message: its string, or its texts joined.
func (r *Request) LastText() string {
	list := r.doc.get("messages")
	if len(list.vals) == 0 {
		return ""
	}
	return list.vals[len(list.vals)-1].words()
}

// words are the texts in a message or a block.
func (v *value) words() string {
	content, text := v.get("content"), v.get("text")
	out := content.text + text.text
	for i := range content.vals {
		out += content.vals[i].words()
	}
	return out
}

package uzda

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"
)

// A Model answers requests; safe for concurrent use.
type Model interface {
	// Stream yields chunks in order: [Delta]s for display, [Attempt] (a
	// decorator's visible retry or fallback), [Done] blocks, and last a [Stop]
	// with the usage. A stream that ends without Stop is an error, not a short
	// answer. The request belongs to the call until the stream ends; it is not
	// changed. Cancelling ctx ends the stream within 100 ms.
	Stream(ctx context.Context, req *Request) iter.Seq2[Chunk, error]
}

// Optional: a Describer says what a model is. Without it a model is remote, of
// unknown price and without a known window.
type Describer interface{ Describe() ModelInfo }

// Optional: a Counter counts the input tokens of a request as its provider
// would, by an endpoint of it. It is asked near a threshold, not each time.
type Counter interface {
	Count(ctx context.Context, req *Request) (tokens int, err error)
}

// ModelInfo describes a model; zero means unknown.
type ModelInfo struct {
	ID        string `json:"id"`                   // "provider/name"
	Window    int    `json:"window,omitempty"`     // tokens
	MaxOutput int    `json:"max_output,omitempty"` // tokens
	Free      bool   `json:"free,omitempty"`       // local, scripted or replayed: costs nothing
}

// Params are how a model is asked; zero means the model's default.
type Params struct {
	MaxTokens   int             `json:"max_tokens,omitempty"` // of a reply; default 16,384
	Temperature *float64        `json:"temperature,omitempty"`
	Effort      string          `json:"effort,omitempty"`
	Stops       []string        `json:"stops,omitempty"`
	Choice      string          `json:"choice,omitempty"` // auto, any, none, or a tool's name
	NoParallel  bool            `json:"no_parallel,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"` // of the answer
	Strict      bool            `json:"strict,omitempty"` // hold tool inputs to their schemas where the provider can
	// Options are members of the request as the provider names them, for what it
	// alone has (thinking, betas, hosted tools …); see the adapter.
	Options map[string]json.RawMessage `json:"options,omitempty"`
}

// Head is the stable part of a request.
type Head struct {
	Model  string
	System string
	Tools  []ToolSpec // in the order in which they joined the session
	Params Params
}

// A Request is Head, then View, then Tail. View only grows between edits; Tail
// is volatile and never part of a later prefix.
type Request struct {
	Session SessionID
	Agent   string
	Head    Head
	HeadGen int     // counts changes of Head: what was encoded of it is good while it stays
	View    []Entry // not to be changed
	Gen     int     // counts edits: what was encoded of View is good while it stays
	Tail    string
	Max     int  // tokens of this reply
	Ask     int  // ordinal of the ask in the session, from 1
	Enc     *Enc // nil outside a runner
}

// Enc caches encoded bytes per adapter and profile. It belongs to the runner:
// it is no part of the state, so it is neither folded nor checkpointed.
type Enc struct{ bufs map[string]*Buf }

// A Buf is one adapter's encoded head and the first N messages of the view.
type Buf struct {
	headGen, gen int
	N            int
	Head, View   []byte
	// Kept is what else the adapter keeps of the view that it has encoded, such as
	// the ids that calls have on the wire; nil when the view begins anew.
	Kept any
}

// Buf returns the buffer for key, emptied where its generation is over.
func (e *Enc) Buf(key string, r *Request) *Buf {
	if e.bufs == nil {
		e.bufs = map[string]*Buf{}
	}
	b := e.bufs[key]
	if b == nil {
		b = &Buf{headGen: r.HeadGen, gen: r.Gen}
		e.bufs[key] = b
	}
	if b.gen != r.Gen || b.N > len(r.View) {
		b.gen, b.N, b.View, b.Kept = r.Gen, 0, nil, nil
	}
	if b.headGen != r.HeadGen {
		b.headGen, b.Head = r.HeadGen, nil
	}
	return b
}

// StopReason is why a model stopped, normalised once by its adapter.
type StopReason string

// The closed set of stops. A complete reply with calls is StopUse, whatever the
// provider called it. Anything else becomes StopUnknown, with the provider's
// word in [Stop.Raw].
const (
	StopEnd      StopReason = "end_turn"
	StopUse      StopReason = "tool_use"
	StopLength   StopReason = "max_tokens"
	StopSequence StopReason = "stop_sequence"
	StopPause    StopReason = "pause"
	StopRefusal  StopReason = "refusal"
	StopContext  StopReason = "context_exceeded"
	StopUnknown  StopReason = "unknown"
)

// A Chunk is one piece of a stream: [Delta], [Attempt], [Warning], [Done] or [Stop].
type Chunk interface{ chunk() }

type (
	// A Delta is text as it comes, for display only: nothing is decided from it.
	Delta struct {
		Block int    `json:"block"` // place of the block in the reply
		Kind  string `json:"kind"`  // text, thinking or input
		Text  string `json:"text"`
	}
	// An Attempt says that what came so far has failed, and that the request is
	// about to be sent again or elsewhere. It comes before the wait and before the
	// request: its reader reserves the worst case of the new attempt, and ends the
	// stream if that does not fit.
	Attempt struct {
		N      int    `json:"n"`               // of the attempt to come, from 2
		Model  string `json:"model,omitempty"` // "provider/name" of the attempt to come; "": the same
		Free   bool   `json:"free,omitempty"`  // that model costs nothing
		Error  string `json:"error"`           // of the attempt that failed
		WaitMS int64  `json:"wait_ms,omitempty"`
		Usage  Usage  `json:"usage,omitzero"` // of the attempt that failed: at least this
	}
	// A Warning is for people: something about this model is not as it should be,
	// and Hint says how to mend it. The same code is told once a session.
	Warning struct {
		Code string
		Text string
		Hint string
	}
	// Done is a finished block with the item that it came as, where there is one.
	Done struct {
		Block Block
		Item  *Item
	}
	// Stop ends a reply.
	Stop struct {
		Reason StopReason
		Raw    string // the provider's word
		Detail string // a refusal's category, for example
		Usage  Usage
		Origin *Origin
		// Request is the provider's id of the request, for its support.
		Request string
	}
)

func (Delta) chunk()   {}
func (Attempt) chunk() {}
func (Warning) chunk() {}
func (Done) chunk()    {}
func (Stop) chunk()    {}

// Usage counts the tokens of a reply. Input is uncached input; the size of the
// context is [Usage.Context].
type Usage struct {
	Input      int  `json:"input,omitempty"`
	Output     int  `json:"output,omitempty"`
	CacheRead  int  `json:"cache_read,omitempty"`
	CacheWrite int  `json:"cache_write,omitempty"`    // for the shorter time
	CacheLong  int  `json:"cache_write_1h,omitempty"` // for the longer time
	AtLeast    bool `json:"at_least,omitempty"`       // a lower bound: the provider did not say all
}

// Add returns the sum; it is a lower bound if either is.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.CacheRead + v.CacheRead,
		u.CacheWrite + v.CacheWrite, u.CacheLong + v.CacheLong, u.AtLeast || v.AtLeast}
}

// Context is the size of the context: all input, cached or not.
func (u Usage) Context() int { return u.Input + u.CacheRead + u.CacheWrite + u.CacheLong }

// Total is every token, in and out.
func (u Usage) Total() int { return u.Context() + u.Output }

// A Reply is a collected stream.
type Reply struct {
	Message  Message
	Stop     Stop
	Attempts []Attempt
	Partial  string // text deltas that no finished block holds
}

// MaxReply is the size in bytes of a stream over which [Collect] gives it up.
const MaxReply = MaxString

// Collect folds a stream; watch, if any, sees each chunk as it comes. On an
// error it returns what had come. A stream over MaxReply is an error too: a model
// that never ends must not fill the memory.
func Collect(seq iter.Seq2[Chunk, error], watch func(Chunk)) (Reply, error) {
	r, size := Reply{Message: Message{Role: Assistant}}, 0
	var partial []byte
	for c, err := range seq {
		if err == nil {
			if size += weight(c); size > MaxReply {
				err = &ProviderError{Code: "unknown", Message: fmt.Sprintf("the reply does not end: it is over %d bytes", MaxReply),
					Hint: "lower the model's max_tokens, or use another model"}
			}
		}
		if err != nil {
			r.Partial = string(partial)
			return r, err
		}
		if watch != nil {
			watch(c)
		}
		switch c := c.(type) {
		case Delta:
			if c.Kind == "text" {
				partial = append(partial, c.Text...)
			}
		case Attempt:
			r.Attempts, partial = append(r.Attempts, c), partial[:0]
		case Done:
			r.Message.Blocks = append(r.Message.Blocks, c.Block)
			if _, ok := c.Block.(Text); ok {
				partial = partial[:0]
			}
			if c.Item != nil {
				r.Message.Items = append(r.Message.Items, *c.Item)
			}
		case Stop:
			r.Stop, r.Message.Origin = c, c.Origin
		}
	}
	r.Partial = string(partial)
	if !slices.ContainsFunc(r.Message.Items, func(it Item) bool { return !it.Plain() }) {
		r.Message.Items = nil
	}
	if r.Stop.Reason == "" {
		return r, fmt.Errorf("the stream ended without a stop: %w", io.ErrUnexpectedEOF)
	}
	return r, nil
}

// weight is what a chunk adds to the size of a stream.
func weight(c Chunk) int {
	switch c := c.(type) {
	case Delta:
		return len(c.Text) + 16
	case Attempt:
		return len(c.Error) + 256
	case Warning:
		return len(c.Text) + len(c.Hint) + 64
	case Done:
		switch b := c.Block.(type) {
		case Media:
			return len(b.Data) + 64
		case Opaque:
			return len(b.Raw) + 64
		case Text:
			return len(b.Text) + 64
		case ToolUse:
			return len(b.Name) + len(b.Input) + len(b.Raw) + 64
		}
	}
	return 64
}

// A ProviderError is a failure of a model's service.
type ProviderError struct {
	Code    string // overloaded, rate_limit, quota, auth, not_found, invalid_request, context, network, cut, unknown
	Status  int    // of HTTP, 0 if there was none
	Message string
	Hint    string        // how to mend it
	Request string        // the provider's id of the request, for its support
	Wait    time.Duration // how long the provider asks to wait; 0: it does not say
	Again   Again         // what the provider says of trying again
	Usage   Usage         // at least this was used, where the provider said so before it failed
	// Tokens is the input of a request that did not fit, as the provider counts it or
	// at least, and Window what may be sent; 0: it does not say.
	Tokens, Window int
	Err            error
}

// Again is whether a request may be sent again.
type Again string

// What a provider may say of it; "" is nothing.
const (
	AgainYes Again = "yes"
	AgainNo  Again = "no"
)

// Retryable says whether the same request may succeed later: the service was too
// busy, broke, or was not reached. A stream that was cut after content is not:
// what it said is known, and whoever reads it decides.
func (e *ProviderError) Retryable() bool {
	if e.Again != "" {
		return e.Again == AgainYes && e.Code != "cut"
	}
	switch e.Code {
	case "overloaded", "rate_limit", "network":
		return true
	case "unknown":
		return e.Status == 408 || e.Status == 409 || e.Status >= 500
	}
	return false
}

func (e *ProviderError) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("provider: %s (HTTP %d): %s", e.Code, e.Status, e.Message)
	}
	return fmt.Sprintf("provider: %s: %s", e.Code, e.Message)
}

// Unwrap returns the cause.
func (e *ProviderError) Unwrap() error { return e.Err }

package uzda

import (
	"encoding/json"
	"time"
)

// An Event is one numbered fact of a session. Body is one of the kinds below,
// [Unread] where this program does not know the kind, or [Erased].
type Event struct {
	Seq  Seq       // 0 for transient events
	At   time.Time // for people; nothing is decided from it
	By   int64     // epoch of the runner that wrote it; 0 for the inbox
	Sum  string    // SHA-256 of the stored body
	Prev string    // SHA-256 of the line before, up to its body
	Body Body
}

// A Body is the content of an event; the set is closed.
type Body interface{ Kind() string }

// Class says who may append a kind, and where.
type Class int

// The classes.
const (
	ClassInbox     Class = iota // anyone, at any head
	ClassDecision               // the holder of the lease, after the exact head
	ClassOutcome                // the holder, at any head: what came of a decision
	ClassTransient              // never stored: for watchers only
)

// The inbox: anyone, at any head.
type (
	// Posted is a message to the agent. It joins at the next step, or with Turn
	// only when the turn that runs has ended.
	Posted struct {
		ID     string `json:"id"`
		Blocks Blocks `json:"blocks"`
		Turn   bool   `json:"turn,omitempty"`
		By     string `json:"by,omitempty"`
	}
	// Answered says whether a use that waits for approval may run. It holds for
	// what Hash covers and nothing else.
	Answered struct {
		ID      string  `json:"id"`
		Use     UseID   `json:"use"`
		Hash    string  `json:"hash"`
		Verdict Verdict `json:"verdict"`
		Scope   Scope   `json:"scope,omitempty"`
		Rule    string  `json:"rule,omitempty"` // what ScopeSession covers
		By      string  `json:"by,omitempty"`
	}
	// Cancelled ends the turn that began with Turn, or with 0 the one that runs.
	Cancelled struct {
		ID   string `json:"id"`
		Turn Seq    `json:"turn,omitempty"`
		Why  string `json:"why,omitempty"`
		By   string `json:"by,omitempty"`
	}
	// Delivered is the result of a pending use, by whoever had it. A second one
	// for the same use is ignored.
	Delivered struct {
		ID     string     `json:"id"`
		Result ToolResult `json:"result"`
		Spent  Spend      `json:"spent,omitzero"` // by a child
		By     string     `json:"by,omitempty"`
	}
	// Late is what a fenced or abandoned runner reports. It informs people and
	// audit, never the transcript; "done" resolves an unknown outcome.
	Late struct {
		ID     string     `json:"id"`
		Result ToolResult `json:"result"`
		By     string     `json:"by,omitempty"`
	}
	// Resolved says whether a use whose outcome was unknown took effect.
	Resolved struct {
		ID   string `json:"id"`
		Use  UseID  `json:"use"`
		Took bool   `json:"took"`
		By   string `json:"by,omitempty"`
	}
	// Noted is a remark for people.
	Noted struct {
		ID   string `json:"id"`
		Text string `json:"text"`
		By   string `json:"by,omitempty"`
	}
)

// Decisions: the holder of the lease, after the exact head.
type (
	// Opened begins a session.
	Opened struct {
		Format int       `json:"format"` // of the journal; this program writes 1
		Agent  string    `json:"agent"`
		Parent SessionID `json:"parent,omitempty"`
		Use    UseID     `json:"use,omitempty"` // of the parent
		Depth  int       `json:"depth,omitempty"`
		Scope  SessionID `json:"scope,omitempty"` // of once-keys; default the session
		Budget Limits    `json:"budget,omitzero"`
		Charge []Account `json:"charge,omitempty"` // of the parent, which this session spends from
		Dir    string    `json:"dir,omitempty"`
		By     string    `json:"by,omitempty"` // program and version
		// With is what the program needs to make the agent again: names of its own.
		With map[string]string `json:"with,omitempty"`
	}
	// Equipped is all that the model is given besides the view: before the first
	// ask, and again between steps when something has changed.
	Equipped struct {
		Model     ModelInfo  `json:"model"`
		Params    Params     `json:"params,omitzero"`
		System    string     `json:"system,omitempty"`
		Tools     []ToolSpec `json:"tools,omitempty"` // in the order in which they joined
		Mode      string     `json:"mode,omitempty"`  // permission mode
		Limits    Limits     `json:"limits"`
		Verify    string     `json:"verify,omitempty"` // what checks the end, in words
		MayBeMute bool       `json:"may_be_mute,omitempty"`
		// Budget is how many tokens of the window requests are to stay under; 0: the
		// view is edited by people only.
		Budget int `json:"budget,omitempty"`
	}
	// Asked is written before a request is sent.
	Asked struct {
		Ordinal int    `json:"ordinal"` // in the session, from 1
		Model   string `json:"model"`
		Hash    string `json:"hash"` // rolling hash of head and view as they are sent
		Tail    string `json:"tail,omitempty"`
		Max     int    `json:"max_tokens"`
		Hold    Hold   `json:"hold,omitzero"`
		Tokens  int    `json:"tokens"`            // held: projected input and Max
		Counted bool   `json:"counted,omitempty"` // the provider counted the input, it is no estimate
	}
	// Judged is the ruling on a use: its input as coerced (where that differs),
	// what people are shown, and the hash of what an approval covers.
	Judged struct {
		Use     UseID           `json:"use"`
		Verdict Verdict         `json:"verdict"`
		By      string          `json:"by,omitempty"` // the gate
		Hash    string          `json:"hash"`
		Input   json.RawMessage `json:"input,omitempty"`
		Preview string          `json:"preview,omitempty"`
		Labels  int             `json:"labels,omitempty"` // how many the session had
		Grants  int             `json:"grants,omitempty"` // how many people had given
	}
	// Started is written before an effect, so that a crash is visible.
	Started struct {
		Use     UseID   `json:"use"`
		Attempt int     `json:"attempt"`
		Spec    string  `json:"spec"` // hash
		Effects Effects `json:"effects,omitzero"`
		Args    string  `json:"args"` // hash of the canonical input
		Key     string  `json:"key"`
		Once    bool    `json:"once,omitempty"`
	}
	// Edited is one splice of the view: the messages From to To (numbers of
	// events) are replaced by With. Clear, dedupe, compact, handover and undo differ
	// only in What.
	Edited struct {
		ID   string  `json:"id,omitempty"`
		What string  `json:"what"`
		From Seq     `json:"from"`
		To   Seq     `json:"to"`
		With []Entry `json:"with"`
		// Only: of the messages From to To, those with the numbers of With are
		// replaced, each by its own, and the others stay.
		Only  bool    `json:"only,omitempty"`
		Undo  Seq     `json:"undo,omitempty"` // the edit that this one takes back
		By    string  `json:"by,omitempty"`
		Saved *Saving `json:"saved,omitempty"`
	}
	// Parked says what the session waits for.
	Parked struct {
		On    Reason    `json:"on"`
		Uses  []UseID   `json:"uses"`
		Until time.Time `json:"until,omitzero"`
	}
	// Ended closes a turn.
	Ended struct {
		Outcome string `json:"outcome"`
		Reason  Reason `json:"reason"`
		Detail  string `json:"detail,omitempty"`
		Hint    string `json:"hint,omitempty"`
	}
)

// Outcomes: the holder, at any head.
type (
	// Tried is a visible retry or fallback. It is for people: what the attempt used
	// is a Used of its own.
	Tried struct {
		Ask     int     `json:"ask,omitempty"`
		Use     UseID   `json:"use,omitempty"`
		Attempt Attempt `json:"attempt"`
	}
	// Broken is a reply that was cut or never came.
	Broken struct {
		Text   string        `json:"text,omitempty"` // what had come of it
		Code   string        `json:"code"`           // see ProviderError
		Error  string        `json:"error"`
		Hint   string        `json:"hint,omitempty"`
		Usage  Usage         `json:"usage,omitzero"`
		Cost   Money         `json:"cost,omitempty"`
		Active time.Duration `json:"active,omitempty"` // nanoseconds
		// Unknown: Cost is at the dearest price that is known.
		Unknown bool `json:"price_unknown,omitempty"`
		// Tokens and Window are what the provider says of a request that did not fit;
		// see ProviderError.
		Tokens int `json:"tokens,omitempty"`
		Window int `json:"window,omitempty"`
	}
	// Said is a whole reply as it joins the view, with what it cost. They are one
	// event, so that every prefix of an append is a valid state.
	Said struct {
		Message Message       `json:"message"`
		Stop    StopReason    `json:"stop"`
		Raw     string        `json:"raw,omitempty"` // the provider's word for the stop
		Detail  string        `json:"detail,omitempty"`
		Usage   Usage         `json:"usage,omitzero"`
		Cost    Money         `json:"cost,omitempty"`
		Unknown bool          `json:"price_unknown,omitempty"`
		Active  time.Duration `json:"active,omitempty"`
		Model   string        `json:"model,omitempty"`   // that answered, where it is not the one that was asked
		Request string        `json:"request,omitempty"` // the provider's id of the request
	}
	// Used is a paid call that is no reply: a summary, a judge, a verifier.
	Used struct {
		For     string        `json:"for"`
		Model   string        `json:"model,omitempty"`
		Usage   Usage         `json:"usage,omitzero"`
		Cost    Money         `json:"cost,omitempty"`
		Active  time.Duration `json:"active,omitempty"`
		Unknown bool          `json:"price_unknown,omitempty"`
	}
	// Returned closes a use, or says that it is pending.
	Returned struct {
		Result  ToolResult    `json:"result"`
		Pending *Pending      `json:"pending,omitempty"`
		Fatal   string        `json:"fatal,omitempty"` // the Go error that stops the turn
		Active  time.Duration `json:"active,omitempty"`
	}
	// Missed is a move of a planner that came to nothing: the view stayed as it was.
	Missed struct {
		Ask  int    `json:"ask"`
		What string `json:"what"`
		Why  string `json:"why"`
	}
	// Weighed is what fills the window before an ask: at the beginning of a turn,
	// and whenever the view was edited. Percentages are of Budget, where it is not
	// known of Window, else of Total.
	Weighed struct {
		Ask     int      `json:"ask,omitempty"`
		Items   []Weight `json:"items"`
		Total   int      `json:"total"`  // tokens
		Window  int      `json:"window"` // 0: not known
		Budget  int      `json:"budget"` // 0: not known
		Percent float64  `json:"percent"`
		State   string   `json:"state"` // ok, warning, hard or unknown
		// Factor is what the provider counted over what was estimated for the same
		// request; Calibrated says that there was such a count.
		Factor     float64 `json:"factor"`
		Calibrated bool    `json:"calibrated"`
		// Fixed is the percentage of system prompt and tools, which no edit frees, of
		// the window.
		Fixed float64 `json:"fixed_percent"`
	}
	// Verified is the verdict on what the model took for its end. Blocks go back
	// to it where the check failed.
	Verified struct {
		OK     bool          `json:"ok"`
		By     string        `json:"by"`
		Blocks Blocks        `json:"blocks,omitempty"`
		Usage  Usage         `json:"usage,omitzero"`
		Cost   Money         `json:"cost,omitempty"`
		Active time.Duration `json:"active,omitempty"`
	}
)

// What stands in for a body, and what is never stored.
type (
	// Unread is a body that this program cannot read. With Need the session can
	// be read here, but not go on.
	Unread struct {
		Name string
		V    int
		Need bool
		Raw  json.RawMessage
	}
	// Erased stands where a body was erased on purpose; the chain still verifies.
	Erased struct{ Name string }
	// Streaming is a delta of the reply to an ask, for watchers at the head.
	Streaming struct {
		Ask   int   `json:"ask"`
		Delta Delta `json:"delta"`
	}
	// Restarted tells watchers that the reply to an ask begins anew.
	Restarted struct {
		Ask   int    `json:"ask"`
		Error string `json:"error"`
	}
)

// Kind returns the name in the journal.
func (Posted) Kind() string    { return "posted" }
func (Answered) Kind() string  { return "answered" }
func (Cancelled) Kind() string { return "cancelled" }
func (Delivered) Kind() string { return "delivered" }
func (Late) Kind() string      { return "late" }
func (Resolved) Kind() string  { return "resolved" }
func (Noted) Kind() string     { return "noted" }
func (Opened) Kind() string    { return "opened" }
func (Equipped) Kind() string  { return "equipped" }
func (Asked) Kind() string     { return "asked" }
func (Judged) Kind() string    { return "judged" }
func (Started) Kind() string   { return "started" }
func (Edited) Kind() string    { return "edited" }
func (Parked) Kind() string    { return "parked" }
func (Ended) Kind() string     { return "ended" }
func (Tried) Kind() string     { return "tried" }
func (Broken) Kind() string    { return "broken" }
func (Said) Kind() string      { return "said" }
func (Used) Kind() string      { return "used" }
func (Returned) Kind() string  { return "returned" }
func (Verified) Kind() string  { return "verified" }
func (Missed) Kind() string    { return "missed" }
func (Weighed) Kind() string   { return "weighed" }
func (u Unread) Kind() string  { return u.Name }
func (e Erased) Kind() string  { return e.Name }
func (Streaming) Kind() string { return "streaming" }
func (Restarted) Kind() string { return "restarted" }

// InputID is the poster's own id of an inbox event; a repeated one is not stored
// again. It is empty for other kinds.
func InputID(b Body) string {
	switch b := b.(type) {
	case Posted:
		return b.ID
	case Answered:
		return b.ID
	case Cancelled:
		return b.ID
	case Delivered:
		return b.ID
	case Late:
		return b.ID
	case Resolved:
		return b.ID
	case Noted:
		return b.ID
	case Edited:
		return b.ID
	}
	return ""
}

// A kind's codec: its version, class, whether a program that does not know it
// must stop, how to decode it and how to bring an old version up by one.
type codec struct {
	v      int
	class  Class
	need   bool
	decode func([]byte) (Body, error)
	up     map[int]func(json.RawMessage) (json.RawMessage, error)
}

func of[T Body](c Class, need bool) codec {
	return codec{v: 1, class: c, need: need, decode: func(raw []byte) (Body, error) {
		var b T
		err := json.Unmarshal(raw, &b)
		return b, err
	}}
}

var codecs = map[string]codec{
	"posted": of[Posted](ClassInbox, true), "answered": of[Answered](ClassInbox, true), "cancelled": of[Cancelled](ClassInbox, true),
	"delivered": of[Delivered](ClassInbox, true), "late": of[Late](ClassInbox, false), "resolved": of[Resolved](ClassInbox, true),
	"noted":  of[Noted](ClassInbox, false),
	"opened": of[Opened](ClassDecision, true), "equipped": of[Equipped](ClassDecision, true), "asked": of[Asked](ClassDecision, true),
	"judged": of[Judged](ClassDecision, true), "started": of[Started](ClassDecision, true), "edited": of[Edited](ClassDecision, true),
	"parked": of[Parked](ClassDecision, false), "ended": of[Ended](ClassDecision, true),
	"tried": of[Tried](ClassOutcome, false), "broken": of[Broken](ClassOutcome, true), "said": of[Said](ClassOutcome, true),
	"used": of[Used](ClassOutcome, true), "returned": of[Returned](ClassOutcome, true), "verified": of[Verified](ClassOutcome, true),
	"missed": of[Missed](ClassOutcome, true), "weighed": of[Weighed](ClassOutcome, false),
	"streaming": {class: ClassTransient}, "restarted": {class: ClassTransient},
}

// ClassOf says who may append a kind.
func ClassOf(b Body) Class {
	c, ok := codecs[b.Kind()]
	if !ok {
		return ClassTransient
	}
	return c.class
}

// Kinds returns the names of all kinds that are stored, and their versions.
func Kinds() map[string]int {
	out := map[string]int{}
	for name, c := range codecs {
		if c.class != ClassTransient {
			out[name] = c.v
		}
	}
	return out
}

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
)

// result is what a run prints with --output-format json: a contract that scripts
// depend on.
type result struct {
	Session  uzda.SessionID `json:"session"`
	Outcome  string         `json:"outcome"`
	Reason   uzda.Reason    `json:"reason"`
	Answer   string         `json:"answer"`
	Model    string         `json:"model"`
	Steps    int            `json:"steps"`
	Calls    int            `json:"tool_calls"`
	Usage    usageJSON      `json:"usage"`
	Cost     *uzda.Money    `json:"cost_usd"`
	Bound    bool           `json:"cost_is_lower_bound"`
	Duration int64          `json:"duration_ms"`
	Pending  []pendingJSON  `json:"pending"`
	Unknown  []uzda.UseID   `json:"unknown"`
	Denied   int            `json:"denied"`
	Trace    string         `json:"trace"`
	Exit     int            `json:"exit"`
	Error    *errorJSON     `json:"error"`
}

// usageJSON counts tokens; the size of the context is the first, the third and
// the fourth together.
type usageJSON struct {
	Input      int `json:"input_tokens"` // uncached
	Output     int `json:"output_tokens"`
	CacheRead  int `json:"cache_read_tokens"`
	CacheWrite int `json:"cache_write_tokens"`
}

type pendingJSON struct {
	Session uzda.SessionID  `json:"session,omitempty"` // of a child, where it is one
	Use     uzda.UseID      `json:"use"`
	Tool    string          `json:"tool"`
	Input   json.RawMessage `json:"input"`
	Hash    string          `json:"hash"`
	Reason  string          `json:"reason"`
	Preview string          `json:"preview,omitempty"` // what it would change, where its tool says so

	open agent.Open
}

type errorJSON struct {
	Code    uzda.Reason `json:"code"`
	Message string      `json:"message"`
	Hint    string      `json:"hint"`
}

func usageOf(u uzda.Usage) usageJSON {
	return usageJSON{u.Input, u.Output, u.CacheRead, u.CacheWrite + u.CacheLong}
}

// resultOf is the result of a run that has no session, or none that counts.
func resultOf(o *uzda.Outcome, code int) result {
	r := result{Session: o.Session, Outcome: o.Reason.Outcome(), Reason: o.Reason, Exit: code,
		Pending: []pendingJSON{}, Unknown: []uzda.UseID{}}
	if out := r.Outcome; out == uzda.Failed || out == uzda.Stopped {
		r.Error = &errorJSON{o.Reason, o.Detail, o.Hint}
	}
	return r
}

// resultIn is the result of a session's last turn.
func resultIn(ctx context.Context, j uzda.Journal, id uzda.SessionID, s *agent.State, o *uzda.Outcome, took time.Duration) result {
	r := resultOf(o, o.Reason.Exit())
	t := s.Turn
	if t.Seq == 0 {
		t = s.Last
	}
	r.Session, r.Answer, r.Model, r.Steps, r.Calls = id, o.Answer, cmp.Or(t.Model, s.Gear.Model.ID), t.Steps, t.Calls
	r.Usage, r.Duration, r.Denied = usageOf(t.Usage), took.Milliseconds(), t.Denied
	cost := t.Cost
	r.Bound = s.Guess
	if !t.Unpriced && (s.Gear.Model.Free || cost > 0 || !s.Guess) {
		r.Cost = &cost
	}
	r.Pending = append(r.Pending, pendingIn(ctx, j, id, "", s)...)
	r.Unknown = append(r.Unknown, slices.Sorted(maps.Keys(s.Unknown))...)
	return r
}

// pendingIn lists what a person is asked, in the session and in the children
// that it waits for.
func pendingIn(ctx context.Context, j uzda.Journal, id, shown uzda.SessionID, s *agent.State) []pendingJSON {
	var out []pendingJSON
	for _, u := range s.Waits() {
		out = append(out, pendingJSON{shown, u.ID, u.Name, u.Args(), u.Judged.Hash, u.Judged.Verdict.Reason, u.Judged.Preview, u})
	}
	for _, u := range s.Uses {
		if u.Result != nil || u.Pending == nil || u.Pending.On != string(uzda.WaitChild) {
			continue
		}
		kid := uzda.SessionID(u.Pending.Ref)
		if ks, err := agent.Load(ctx, j, kid); err == nil && ks.Head > 0 {
			out = append(out, pendingIn(ctx, j, kid, kid, ks)...)
		}
	}
	return out
}

// writeJSON prints a value on a line. What of it has no JSON would be a mistake of
// this program; a write that fails is remembered by the output.
func writeJSON(w io.Writer, v any) {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.Encode(v) //nolint:errcheck // see above
}

// eventJSON is a stored event as a line of stream-json.
type eventJSON struct {
	Seq  uzda.Seq  `json:"seq"`
	At   time.Time `json:"at"`
	Kind string    `json:"kind"`
	V    int       `json:"v"`
	Body any       `json:"body"`
}

// jsonOf is an event for stream-json: stored ones, and pieces of what the model
// says. Others are transient and show only how a reply comes about.
func jsonOf(e uzda.Event) (any, bool) {
	switch b := e.Body.(type) {
	case uzda.Streaming:
		type piece struct {
			Ask   int    `json:"ask"`
			Block int    `json:"block"`
			Text  string `json:"text"`
		}
		return struct {
			Delta piece `json:"delta"`
		}{piece{b.Ask, b.Delta.Block, b.Delta.Text}}, b.Delta.Kind == "text"
	case uzda.Restarted:
		return nil, false
	case uzda.Unread:
		return eventJSON{e.Seq, e.At, b.Name, b.V, b.Raw}, true
	case uzda.Erased:
		return eventJSON{e.Seq, e.At, b.Name, uzda.Kinds()[b.Name], nil}, true
	}
	return eventJSON{e.Seq, e.At, e.Body.Kind(), uzda.Kinds()[e.Body.Kind()], e.Body}, true
}

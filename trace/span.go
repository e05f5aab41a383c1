// Package trace makes spans from journals: what ran when, because of what, and
// what it used.
package trace

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/uzda-dev/uzda"
)

// How a span ended.
const (
	OK         = "ok"
	Error      = "error"      // see the attribute error.type
	Cancelled  = "cancelled"  // by a person, a deadline or a signal
	Unfinished = "unfinished" // the journal has no end for it: a crash, or it is under way
)

// A Span is something that took time. Its ids follow from the session and the
// event that began it: building it again gives the same ids.
type Span struct {
	Trace   string // 16 bytes in hex, from the root session
	ID      string // 8 bytes in hex
	Parent  string // "" for the root
	Name    string // as OpenTelemetry names it, for example "chat claude-opus-5-5"
	Kind    string // client for calls of a model, else internal
	Start   time.Time
	End     time.Time
	Status  string
	Attr    map[string]any
	Session uzda.SessionID
	Seq     uzda.Seq // of the event that began it
}

// Duration is the time between start and end on the clock, waits and all.
func (sp Span) Duration() time.Duration { return sp.End.Sub(sp.Start) }

// MarshalJSON writes {"trace","span","parent","name","kind","start","end","ms",
// "status","attributes","session","seq"}; times are UTC, ms may have a fraction.
func (sp Span) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(struct {
		Trace   string         `json:"trace"`
		ID      string         `json:"span"`
		Parent  string         `json:"parent,omitempty"`
		Name    string         `json:"name"`
		Kind    string         `json:"kind"`
		Start   time.Time      `json:"start"`
		End     time.Time      `json:"end"`
		MS      float64        `json:"ms"`
		Status  string         `json:"status"`
		Attr    map[string]any `json:"attributes"`
		Session uzda.SessionID `json:"session"`
		Seq     uzda.Seq       `json:"seq"`
	}{sp.Trace, sp.ID, sp.Parent, sp.Name, sp.Kind, sp.Start.UTC(), sp.End.UTC(), float64(sp.Duration().Microseconds()) / 1000,
		sp.Status, sp.Attr, sp.Session, sp.Seq})
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

// WriteJSONL writes one span a line.
func WriteJSONL(w io.Writer, spans []Span) error {
	for _, s := range spans {
		line, err := s.MarshalJSON()
		if err != nil {
			return fmt.Errorf("write span %s (%s): %w", s.ID, s.Name, err)
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return fmt.Errorf("write the trace: %w", err)
		}
	}
	return nil
}

// A Journal is a session with its events.
type Journal struct {
	Session uzda.SessionID
	Events  iter.Seq2[uzda.Event, error]
}

// Spans makes the spans of journals, in any order of journals, sorted by start.
// A child's spans stand under the use that began it. On an error of a journal
// it returns the spans of what was read, and the error.
func Spans(o Options, journals ...Journal) ([]Span, error) {
	type read struct {
		id     uzda.SessionID
		depth  int
		events []uzda.Event
	}
	var all []read
	var failed error
	for _, j := range journals {
		r := read{id: j.Session}
		for e, err := range j.Events {
			if err != nil {
				failed = cmp.Or(failed, fmt.Errorf("trace session %s: %w", j.Session, err))
				break
			}
			if b, ok := e.Body.(uzda.Opened); ok {
				r.depth = b.Depth
				if b.Parent != "" {
					r.depth = max(r.depth, 1)
				}
			}
			r.events = append(r.events, e)
		}
		all = append(all, r)
	}
	slices.SortStableFunc(all, func(a, b read) int { return cmp.Compare(a.depth, b.depth) }) // parents first
	b := NewBuilder(o)
	var out []Span
	for _, r := range all {
		for _, e := range r.events {
			out = append(out, b.Event(r.id, e)...)
		}
	}
	out = append(out, b.Close()...)
	Sort(out)
	return out, failed
}

// Sort orders spans by start, and those that begin together by their events.
func Sort(spans []Span) {
	rank := func(s Span) int {
		switch s.Attr[What] {
		case "session":
			return 0
		case "turn":
			return 1
		}
		return 2
	}
	slices.SortStableFunc(spans, func(a, b Span) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Session, b.Session), cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.ID, b.ID))
	})
}

// traceID and spanID are hashes, so that whoever knows a session and a use
// (the parent of a child, for example) knows the span too.
func traceID(root uzda.SessionID) string { return digest(16, "trace", string(root)) }

func spanID(session uzda.SessionID, what, key string) string {
	return digest(8, "span", string(session), what, key)
}

func digest(n int, parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:n])
}

func seqKey(s uzda.Seq) string { return strconv.FormatInt(int64(s), 10) }

// share is part of whole, to four places.
func share(part, whole int) float64 {
	if whole <= 0 {
		return 0
	}
	return math.Round(float64(part)/float64(whole)*1e4) / 1e4
}

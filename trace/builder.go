package trace

import (
	"time"

	"github.com/uzda-dev/uzda"
)

// Options say what goes into spans.
type Options struct {
	// NoContent leaves out what was said: prompts, inputs, results, previews.
	// By default they are in, since a trace file is the user's own.
	NoContent bool
	// Redact, if any, hides secrets in content.
	Redact uzda.Redactor
}

// A Builder turns events into spans as they come. Events of a session come in
// order; those of several sessions may be mixed, parents before their children.
// It keeps what is open, not what has ended. Not safe for concurrent use.
type Builder struct {
	o        Options
	sessions map[uzda.SessionID]*session
	order    []*session
	ended    []Span
}

// NewBuilder returns a builder without sessions.
func NewBuilder(o Options) *Builder {
	return &Builder{o: o, sessions: map[uzda.SessionID]*session{}}
}

// Event takes an event and returns the spans that ended with it. One that was
// seen before, and a transient one, is ignored.
func (b *Builder) Event(id uzda.SessionID, e uzda.Event) []Span {
	s := b.sessions[id]
	if s == nil {
		s = &session{b: b, id: id, root: id, last: e.At, uses: map[uzda.UseID]*use{}, seen: map[uzda.UseID]bool{}}
		b.sessions[id] = s
		b.order = append(b.order, s)
	}
	if e.Seq <= s.seq {
		return nil
	}
	s.begin(e)
	s.take(e)
	s.seq, s.last = e.Seq, later(s.last, e.At)
	return b.flush()
}

// Close ends what is open, as unfinished, and returns it. A session's span ends
// here too, with the status of its last turn.
func (b *Builder) Close() []Span {
	for i := len(b.order) - 1; i >= 0; i-- { // children first
		b.order[i].close()
	}
	b.sessions, b.order = map[uzda.SessionID]*session{}, nil
	return b.flush()
}

func (b *Builder) flush() []Span {
	out := b.ended
	b.ended = nil
	return out
}

// newSpan begins a span of the session; parent may be "".
func (s *session) newSpan(what, key, parent, name, kind string, at time.Time, seq uzda.Seq) *Span {
	return &Span{
		Trace: traceID(s.root), ID: spanID(s.id, what, key), Parent: parent, Name: name, Kind: kind,
		Start: at, Session: s.id, Seq: seq, Attr: map[string]any{What: what, Conversation: string(s.id)},
	}
}

// end gives a span its end and hands it out.
func (s *session) end(sp *Span, at time.Time, status string) {
	sp.End, sp.Status = later(sp.Start, at), status
	s.b.ended = append(s.b.ended, *sp)
}

// fail names what went wrong.
func (sp *Span) fail(code, text string) {
	if code != "" {
		sp.Attr[ErrorType] = code
	}
	if text != "" {
		sp.Attr[ErrorText] = text
	}
}

// link gives a child's span the use of its parent as its parent. If the parent
// is not among the sessions, the span stays a root and says where it belongs.
func (s *session) link() {
	if s.opened.Parent == "" || s.span == nil {
		return
	}
	if p := s.b.sessions[s.opened.Parent]; p != nil && p.span != nil {
		s.span.Parent = p.span.ID
		if p.seen[s.opened.Use] {
			s.span.Parent = spanID(p.id, "tool", string(s.opened.Use))
		}
		return
	}
	s.span.Attr[ParentSession] = string(s.opened.Parent)
	s.span.Attr[ParentSpan] = spanID(s.opened.Parent, "tool", string(s.opened.Use))
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// put sets an attribute that says something.
func put[T comparable](sp *Span, key string, v T) {
	var zero T
	if v != zero {
		sp.Attr[key] = v
	}
}

func (sp *Span) active(d time.Duration) { put(sp, ActiveMS, float64(d.Microseconds())/1000) }

// usage writes what was used and what it cost.
func (sp *Span) usage(u uzda.Usage, cost uzda.Money) {
	tokens := func(key string, n int) {
		if n > 0 || !u.AtLeast && u.Total() > 0 { // what the provider did not say is left out
			sp.Attr[key] = n
		}
	}
	tokens(InputTokens, u.Context())
	tokens(OutputTokens, u.Output)
	tokens(CacheReadTokens, u.CacheRead)
	tokens(CacheWriteToken, u.CacheWrite+u.CacheLong)
	tokens(Tokens, u.Total())
	sp.Attr[Cost] = cost
	put(sp, LowerBound, u.AtLeast)
}

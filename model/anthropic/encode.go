package anthropic

import (
	"bytes"
	"strconv"
	"time"

	"github.com/uzda-dev/uzda"
)

// A body is a request's body in parts. What is stable comes first:
//
//	head: model, tools, tool_choice, system, …, kept in Buf.Head
//	view: messages, the last of them open, kept in Buf.View
//	rest: the tail, max_tokens, thinking, container, stream
//
// Of two requests of a session the longer begins with the bytes of the shorter
// up to the end of its view, if cache markers are left out, which are put between
// parts.
type body struct {
	req  *uzda.Request
	enc  *uzda.Enc
	key  string
	buf  *uzda.Buf
	kept *kept

	parts    [][]byte
	betas    []string
	names    names
	max      int  // tokens of the reply
	thinks   bool // with a fixed budget
	marked   bool // with cache markers
	warnings []uzda.Warning
}

const (
	// defaultMax is the length of a reply in tokens where nobody says it.
	defaultMax = 16384
	// resume is said where the view would end in the assistant's words, or begin
	// with them: newer models refuse to go on in the middle of a reply.
	resume = "Continue."
	// noTools stands for the tools of a view with calls whose tools are all gone:
	// the provider refuses calls without any.
	noTools  = `,"tools":[{"name":"no_tools_are_left","description":"Cannot be called.","input_schema":{"type":"object","properties":{}}}]`
	noChoice = `,"tool_choice":{"type":"none"}`
)

// encode makes the body of a request, for a count without what the counting
// endpoint refuses. Options that are no JSON are an error.
func (e *endpoint) encode(req *uzda.Request, enc *uzda.Enc, count bool) (*body, error) {
	o := e.origin
	b := &body{req: req, enc: enc, key: "anthropic\x00" + o.Profile + "\x00" + o.Base + "\x00" + o.Account + "\x00" + o.Model}
	b.buf = enc.Buf(b.key, req)
	opts, err := readOptions(req.Head.Params.Options)
	if err != nil {
		return nil, err
	}
	b.betas, b.names, b.max = opts.betas, fitNames(req.Head.Tools), e.most(req)
	marker, spare := opts.marker(e.Local)
	if b.buf.Head == nil {
		h := header{endpoint: e, req: req, opts: opts, names: b.names, marker: marker, count: count}
		if b.buf.Head, err = h.encode(); err != nil {
			return nil, err
		}
		b.warnings = h.warnings
	}
	b.view(e)
	b.assemble(marker, spare)
	b.rest(e, opts, count)
	return b, nil
}

// view encodes what is new of the view.
func (b *body) view(e *endpoint) {
	if b.kept, _ = b.buf.Kept.(*kept); b.kept == nil {
		b.kept = &kept{ids: map[uzda.UseID]string{}, taken: map[string]bool{}}
		b.buf.Kept, b.buf.View, b.buf.N = b.kept, nil, 0
	}
	v := viewer{kept: b.kept, view: b.req.View, out: b.buf.View, origin: e.origin, names: b.names,
		mute: b.without(noThinking), blind: b.without(noMedia)}
	for i := b.buf.N; i < len(b.req.View); i++ {
		v.entry(i)
	}
	b.buf.View, b.buf.N = v.out, len(b.req.View)
}

// fresh is the length in bytes of what the provider has not kept of an earlier
// request, as far as cache markers let it.
func (b *body) fresh() (n int) {
	for _, p := range b.parts {
		n += len(p)
	}
	if b.marked && b.kept.past > 0 {
		n -= len(b.buf.Head) + b.kept.past
	}
	return n
}

// most is how long the reply may be, in tokens.
func (m Model) most(req *uzda.Request) int {
	most := req.Max
	if most <= 0 {
		most = req.Head.Params.MaxTokens
	}
	if most <= 0 {
		most = defaultMax
	}
	if m.MaxOutput > 0 {
		most = min(most, m.MaxOutput)
	}
	return most
}

// assemble puts head and view together, with at most spare cache markers in the
// view: on the last block of ours, and on the one that was the last before the
// newest reply, as the provider looks back only 20 blocks from a marker for what
// it has kept.
func (b *body) assemble(marker string, spare int) {
	b.parts = append(make([][]byte, 0, 8), b.buf.Head)
	from := 0
	mark := func(at int) {
		b.parts = append(b.parts, b.buf.View[from:at:at], []byte(marker))
		from = at
	}
	k := b.kept
	b.marked = spare > 0 && k.last > 0
	if spare > 1 && 0 < k.past && k.past < k.last {
		mark(k.past)
	}
	if b.marked {
		mark(k.last)
	}
	n := len(b.buf.View)
	b.parts = append(b.parts, b.buf.View[from:n:n])
}

// rest is what differs from request to request.
func (b *body) rest(e *endpoint, opts *options, count bool) {
	k, role := b.kept, b.kept.role
	out := make([]byte, 0, 256+len(b.req.Tail))
	say := func(text string) {
		out = appendText(open(out, role, uzda.User), text)
		role = uzda.User
	}
	if role != uzda.User && !k.paused {
		say(resume)
	}
	if !blank(b.req.Tail) && !k.paused { // after a pause the provider goes on where it was
		say(b.req.Tail)
	}
	out = append(out, "]}]"...)
	if k.calls && !e.Local && !bytes.HasPrefix(b.buf.Head, append(e.model(), beginTools...)) {
		if out = append(out, noTools...); opts.body["tool_choice"] == nil {
			out = append(out, noChoice...)
		}
	}
	if t := opts.thinkingFor(b.max, k.bare); t != nil {
		out = append(append(out, `,"thinking":`...), t...)
		b.thinks = opts.thinks == "enabled"
	}
	if count {
		b.parts = append(b.parts, append(out, '}'))
		return
	}
	if c := k.container; c.ID != "" && opts.body["container"] == nil && (c.Expires.IsZero() || time.Now().Before(c.Expires)) {
		out = appendString(append(out, `,"container":`...), c.ID)
	}
	out = strconv.AppendInt(append(out, `,"max_tokens":`...), int64(b.max), 10)
	b.parts = append(b.parts, append(out, `,"stream":true}`...))
}

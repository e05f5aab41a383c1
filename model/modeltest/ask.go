package modeltest

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/uzda-dev/uzda"
)

// A wire is one format: it reads and checks requests, and renders replies.
type wire interface {
	name() Wire
	read(c *checker, r *Request)
	stream(a *answer) []frame
	whole(a *answer) []byte
	// failure is the body of an error in the provider's own form.
	failure(f failure) []byte
	// event is an error in the middle of a stream, from the body of one.
	event(body []byte) []byte
	ping() []byte
	content(stream bool) string // type
}

// A failure is an error to render.
type failure struct {
	status  int
	kind    string // the provider's own word; default that for the status
	message string
	request string // id
	tokens  int    // of a prompt that is too long
	window  int    // that it is too long for
}

// An answer is a turn on its way to a request.
type answer struct {
	turn  *Turn
	shape Shape
	parts []Part
	ids   []string // of calls
	id    string   // of the reply
	model string
	sign  func(shown, thought string) string
	usage uzda.Usage
	asked bool  // for the usage, in a stream of Chat Completions
	now   int64 // seconds
}

// A frame is one event of a reply; said counts the bytes of the model's words up
// to its end.
type frame struct {
	data []byte
	said int
}

// ask answers a request for a reply.
func (s *Server) ask(to *sender, r *Request, w wire) {
	r.Wire = w.name()
	if !s.accept(to, r, w, true) {
		return
	}
	turn, err := s.turn(r)
	if err != nil {
		s.note(fmt.Sprintf("request %d: %v", r.N, err))
		s.refuse(to, r, w, failure{status: http.StatusBadRequest, message: err.Error()})
		return
	}
	if turn.Shape != nil {
		to.shape = *turn.Shape
	}
	s.save(r) // a reply may go out for long
	f := r.Fault
	switch {
	case f == nil:
	case f.Kind == Refuse:
		s.broken(to, r, w, f)
		return
	case !to.early(f):
		return
	}
	s.reply(to, r, w, turn)
}

// reply sends what a turn says.
func (s *Server) reply(to *sender, r *Request, w wire, t *Turn) {
	a := s.answer(r, t, to.shape)
	stream := r.Stream
	if to.shape.Framing != FramingNormal {
		stream = to.shape.Framing == FramingStream
	}
	if stream {
		to.frames = w.stream(a)
	} else {
		to.frames = []frame{{data: w.whole(a), said: said(a.parts)}}
	}
	to.headers(t.Header)
	to.note = func(whole bool) {
		r.Whole = whole
		s.bill(r, a.usage, to)
		s.save(r)
	}
	r.Status = http.StatusOK
	to.play(w, r.Fault, stream)
}

// accept reads and checks a request; false if it was refused.
func (s *Server) accept(to *sender, r *Request, w wire, ask bool) bool {
	to.w.Header().Set("Request-Id", s.requestID(r))
	to.w.Header().Set("X-Request-Id", s.requestID(r))
	c := &checker{s: s, r: r, wire: w.name(), rules: &s.cfg.Rules, count: !ask}
	f := failure{status: http.StatusBadRequest}
	if len(r.Faults) > 0 {
		f.status = http.StatusRequestEntityTooLarge
	} else if status := c.open(); status != 0 {
		f.status = status
	} else {
		w.read(c, r)
	}
	if r.Faults = append(r.Faults, c.faults...); len(r.Faults) > 0 {
		for _, one := range r.Faults {
			s.note(fmt.Sprintf("request %d, %s %s: %s", r.N, r.Method, r.Path, one))
		}
		f.message = strings.Join(r.Faults, "; ")
		s.refuse(to, r, w, f)
		return false
	}
	if f = s.unwelcome(r, w.name()); f.status != 0 {
		s.refuse(to, r, w, f)
		return false
	}
	s.save(r)
	return true
}

// unwelcome says why a request that is right is refused all the same: by its
// key, its model or its size.
func (s *Server) unwelcome(r *Request, w Wire) failure {
	if !s.knows(keyOf(r.Header)) {
		return failure{status: http.StatusUnauthorized, message: "the API key is not valid"}
	}
	m, ok := s.model(r.Model)
	if !ok {
		return failure{status: http.StatusNotFound, message: fmt.Sprintf("the model %q does not exist", r.Model)}
	}
	r.Tokens = r.prompt()
	return s.fits(r, w, m)
}

// knows says whether a key is a customer's.
func (s *Server) knows(key string) bool {
	return len(s.cfg.Keys) == 0 || slices.Contains(s.cfg.Keys, key)
}

// refuse answers with the provider's own error.
func (s *Server) refuse(to *sender, r *Request, w wire, f failure) {
	f.request = s.requestID(r)
	status, content, body := f.status, "application/json", w.failure(f)
	if f.window > 0 {
		status, content, body = s.cfg.Overflow.answer(f, w)
	}
	r.Status = status
	s.save(r)
	to.plain(status, content, body)
}

// broken answers with what a fault says.
func (s *Server) broken(to *sender, r *Request, w wire, f *Fault) {
	r.Status = f.Status
	if r.Status == 0 {
		r.Status = 529
	}
	if !to.wait(f.Wait) {
		return
	}
	body := []byte(f.Body)
	if f.Body == "" && !f.Bare {
		body = w.failure(failure{status: r.Status, message: statusText(r.Status), request: s.requestID(r)})
	}
	to.headers(f.Header)
	s.save(r)
	to.plain(r.Status, "application/json", body)
}

// statusText is what a provider says of a status.
func statusText(status int) string {
	if status == 529 {
		return "Overloaded"
	}
	return http.StatusText(status)
}

// turn picks the turn that answers a request, and the fault that it meets.
func (s *Server) turn(r *Request) (*Turn, error) {
	n := s.attempt(r)
	if s.cfg.Answer != nil {
		asked := *r
		t := s.cfg.Answer(&asked)
		r.Fault, _ = t.fault(r.Attempt)
		return &t, nil
	}
	turns := s.cfg.Turns
	if n >= len(turns) && (!s.cfg.Loop || len(turns) == 0) {
		return nil, fmt.Errorf("the fake provider has %d turns and was asked for turn %d", len(turns), n+1)
	}
	t := &turns[n%len(turns)]
	fault, over := t.fault(r.Attempt)
	r.Fault = fault
	if over && !s.cfg.ByView {
		s.mu.Lock()
		s.next = max(s.next, n+1)
		s.mu.Unlock()
	}
	return t, nil
}

// attempt finds the place of the turn, from 0, and counts the attempt at it.
func (s *Server) attempt(r *Request) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, key := s.next, strconv.Itoa(s.next)
	if s.cfg.ByView || s.cfg.Answer != nil {
		n, key = r.Assistant, strconv.Itoa(r.Assistant)+" "+r.first
	}
	s.attempts[key]++
	r.Turn, r.Attempt = n+1, s.attempts[key]
	return n
}

// answer prepares a turn for a request.
func (s *Server) answer(r *Request, t *Turn, shape Shape) *answer {
	sum := sha256.Sum256(append([]byte(s.cfg.Name+strconv.Itoa(r.N)), r.Body...))
	seed := strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))
	a := newAnswer(t, shape, seed[:24], func(n int) string {
		return s.cfg.Rules.id(r.Wire, fmt.Sprintf("%s%02d", seed[24:46], n))
	})
	s.issueFor(r, t, &a.shape, a.ids)
	a.sign = func(shown, thought string) string { return s.sign(r.Model, shown, thought) }
	a.usage, a.asked, a.now = s.count(r, t), r.doc.usageAsked(), s.cfg.Now().Unix()
	if a.model = shape.Model; a.model == "" {
		a.model = r.Model
	}
	return a
}

// newAnswer is what does not depend on the request. Calls without an id get the
// n-th one, from 0.
func newAnswer(t *Turn, shape Shape, id string, call func(n int) string) *answer {
	a := &answer{turn: t, shape: shape, parts: t.parts(), id: id}
	for i := range a.parts {
		c := a.parts[i].Call
		if c == nil {
			continue
		}
		if a.ids = append(a.ids, c.ID); c.ID == "" {
			a.ids[len(a.ids)-1] = call(len(a.ids) - 1)
		}
	}
	if shape.Markup != MarkupNone {
		a.parts = marked(a.parts, shape.Markup)
	}
	return a
}

// calls says whether the reply has calls that the client can see.
func (a *answer) calls() bool { return len(a.ids) > 0 && a.shape.Markup == MarkupNone }

// said is the length in bytes of what the model says in a reply.
func said(parts []Part) (n int) {
	for i := range parts {
		n += parts[i].size()
	}
	return n
}

func (s *Server) requestID(r *Request) string {
	return fmt.Sprintf("req_%s_%06d", s.cfg.Name, r.N)
}

func (s *Server) model(id string) (Model, bool) {
	for _, m := range s.cfg.Models {
		if m.ID == id {
			return m.full(), true
		}
	}
	return Model{ID: id}.full(), len(s.cfg.Models) == 0
}

func (m Model) full() Model {
	if m.Window == 0 {
		m.Window = 200_000
	}
	if m.MaxOutput == 0 {
		m.MaxOutput = 64_000
	}
	return m
}

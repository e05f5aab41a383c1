package modeltest

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// fast answers from bytes that were rendered once: for benchmarks of clients, it
// parses nothing and keeps nothing.
type fast struct {
	cfg     Config
	n       atomic.Int64
	replies map[string][]pre // by wire and whether it streams
}

// A pre is a reply rendered once. What stands at the places is the number of the
// request, so that ids differ.
type pre struct {
	body   []byte
	places []int
}

// number is what a request's number replaces; it is as long.
const number = "00000000zz00000000"

func newFast(cfg Config) *fast {
	f := &fast{cfg: cfg, replies: map[string][]pre{}}
	signer := &Server{cfg: cfg}
	for _, w := range []wire{messages{}, chat{}, ollama{}} {
		for i := range cfg.Turns {
			t, shape := &cfg.Turns[i], cfg.Shape
			if t.Shape != nil {
				shape = *t.Shape
			}
			a := newAnswer(t, shape, number, func(n int) string { return "call_" + strconv.Itoa(n) + "_" + number })
			a.sign = func(shown, thought string) string { return signer.sign("fake", shown, thought) }
			a.model, a.asked, a.now = "fake", true, cfg.Now().Unix()
			if a.usage.Output = tokens(said(a.parts)); t.Usage != nil {
				a.usage = *t.Usage
			}
			var stream []byte
			for _, one := range w.stream(a) {
				stream = append(stream, one.data...)
			}
			name := string(w.name())
			f.replies[name+" stream"] = append(f.replies[name+" stream"], prepare(stream))
			f.replies[name] = append(f.replies[name], prepare(w.whole(a)))
		}
	}
	return f
}

func prepare(body []byte) pre {
	p := pre{body: body}
	for at := 0; ; at += len(number) {
		i := bytes.Index(body[at:], []byte(number))
		if i < 0 {
			return p
		}
		at += i
		p.places = append(p.places, at)
	}
}

var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func (f *fast) serve(w http.ResponseWriter, req *http.Request) {
	n := f.n.Add(1)
	buf, _ := bodies.Get().(*bytes.Buffer)
	defer bodies.Put(buf)
	buf.Reset()
	if _, err := buf.ReadFrom(req.Body); err != nil {
		return
	}
	var to wire = chat{}
	switch {
	case strings.HasSuffix(req.URL.Path, "/messages"):
		to = messages{}
	case req.URL.Path == "/api/chat":
		to = ollama{}
	case !strings.HasSuffix(req.URL.Path, "/chat/completions"):
		http.NotFound(w, req)
		return
	}
	body := buf.Bytes()
	stream := bytes.Contains(body, []byte(`"stream":true`))
	kind := string(to.name())
	if stream {
		kind += " stream"
	}
	turn := int(n - 1)
	if f.cfg.ByView {
		turn = bytes.Count(body, []byte(`"role":"assistant"`))
	}
	all := f.replies[kind]
	if len(all) == 0 || turn >= len(all) && !f.cfg.Loop {
		http.Error(w, "the fake provider has no turn "+strconv.Itoa(turn+1), http.StatusBadRequest)
		return
	}
	p := all[turn%len(all)]
	buf.Reset()
	buf.Write(p.body)
	out := buf.Bytes()
	digits := strconv.AppendInt(make([]byte, 0, len(number)), n, 10)
	for _, at := range p.places {
		copy(out[at+len(number)-len(digits):], digits)
	}
	w.Header().Set("Content-Type", to.content(stream))
	w.Header().Set("Content-Length", strconv.Itoa(len(out)))
	_, _ = w.Write(out) // the client may be gone
}

package modeltest

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Config is what a [Server] answers, and how strictly. The zero value knows
// every model and key, and has no turns.
type Config struct {
	// Turns are the replies in order. A request that met a fault is followed by
	// another for the same turn; any other ends its turn, also if the client leaves
	// before the end of the reply. Clients that may do so want ByView.
	Turns []Turn
	Loop  bool // after the last turn comes the first again
	// ByView answers by the number of assistant messages in the request instead
	// of the order of requests, so that concurrent sessions, restarts and retries
	// get the turn that they are at.
	ByView bool
	// Answer, if it is set, makes the turns. It may be called concurrently;
	// Assistant and Attempt of the request say where the session is.
	Answer func(r *Request) Turn

	// Name tells servers apart: signatures and opaque blocks of one are foreign
	// to another. Default "fake". The same name signs alike in another process.
	Name string
	// Keys are accepted; default any that is not empty. NoKey: none is needed.
	Keys  []string
	NoKey bool
	// Models are what the model endpoints list, and all that may be asked for;
	// default any model, with a window of 200,000 tokens.
	Models []Model
	Header http.Header // of everything it answers, such as rate limits
	Shape  Shape       // of turns that have none
	Rules  Rules
	Local  Local
	Cache  Cache
	// Times is how many tokens the server counts for four bytes; default 1. With
	// more it is a tokenizer that estimates by bytes are far below.
	Times int
	// Overflow is how it refuses what does not fit into a window.
	Overflow Overflow

	// Unchecked reads nothing and answers bytes rendered once: for benchmarks of
	// clients. Faults, delays and Answer are ignored, requests are not kept. With
	// ByView it counts the bytes "role":"assistant".
	Unchecked bool
	// Keep is how many requests keep their bodies; default all.
	Keep int
	// Now is the clock of caches and dates; default time.Now.
	Now func() time.Time
}

// A Model is one that the server knows.
type Model struct {
	ID        string
	Window    int // tokens; default 200,000
	MaxOutput int // tokens; default 64,000
}

// A Server is a strict fake of a model provider on a port of this machine. It
// speaks Anthropic Messages, Chat Completions under any prefix, and Ollama's own
// API, and refuses what the providers refuse. It is a handler too, for servers
// with TLS or behind proxies. Safe for concurrent use.
type Server struct {
	URL string // http://127.0.0.1:PORT; "" where it only handles

	cfg  Config
	http *http.Server
	done chan struct{} // closed by Close: nothing waits any more
	once sync.Once
	busy sync.WaitGroup
	fast *fast // of Unchecked

	mu       sync.Mutex
	closed   bool
	requests []Request
	faults   []string
	next     int                        // place of the turn to answer, from 0
	attempts map[string]int             // by turn, and by session with ByView
	issued   map[string]map[string]bool // what may come back, by the models that said it
	echo     map[string][]echo          // what must come back, by the id of a call
	cache    cache
	loaded   map[string]int // Ollama: the window of each model that is loaded
}

// NewServer starts a server. It panics if this machine gives it no port.
func NewServer(cfg Config) *Server {
	s := NewHandler(cfg)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(fmt.Sprintf("modeltest: %v", err))
	}
	s.URL = "http://" + l.Addr().String()
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0), ConnState: s.conn}
	s.busy.Go(func() {
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.note("the server stopped: " + err.Error())
		}
	})
	return s
}

// conn counts connections, so that Close leaves none behind.
func (s *Server) conn(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.busy.Add(1)
	case http.StateClosed, http.StateHijacked:
		s.busy.Done()
	}
}

// NewHandler makes a server without a port: a handler for another one, with TLS
// or behind a proxy. Close it before that one, since requests may wait in it.
func NewHandler(cfg Config) *Server {
	if cfg.Name == "" {
		cfg.Name = "fake"
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Server{
		cfg: cfg, done: make(chan struct{}), attempts: map[string]int{},
		issued: map[string]map[string]bool{}, echo: map[string][]echo{},
		loaded: map[string]int{}, cache: cache{written: map[string]entry{}},
	}
	for i := range cfg.Turns {
		s.issue(&cfg.Turns[i]) // a client may go on with what it had of another process
	}
	if cfg.Unchecked {
		s.fast = newFast(cfg)
	}
	return s
}

// Serve starts a server for a test. It is closed at the end, and fails the test
// if any request broke the rules.
func Serve(t testing.TB, cfg Config) *Server {
	t.Helper()
	s := NewServer(cfg)
	t.Cleanup(func() {
		s.Close()
		for _, f := range s.Faults() {
			t.Errorf("modeltest: %s", f)
		}
	})
	return s
}

// Close ends all replies and connections, and waits for them.
func (s *Server) Close() {
	s.once.Do(func() {
		s.mu.Lock()
		s.closed = true // no request joins those that are waited for
		s.mu.Unlock()
		close(s.done)
		if s.http != nil {
			_ = s.http.Close() // listener and connections; there is nothing to save
		}
		s.busy.Wait()
	})
}

// Requests returns all requests so far, in the order in which they came. A reply
// that still goes out has no Status yet.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Asks returns the requests for replies, without those for models and counts.
func (s *Server) Asks() []Request {
	return slices.DeleteFunc(s.Requests(), func(r Request) bool { return r.Wire == WireMeta })
}

// Faults returns what was wrong with the requests so far, nil if nothing.
func (s *Server) Faults() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.faults)
}

// Count is the number of requests so far, which are not kept if Config.Unchecked.
func (s *Server) Count() int {
	if s.fast != nil {
		return int(s.fast.n.Load())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// Changes says where requests left the prefix of the last one before them of the
// same session, which their first message tells.
func (s *Server) Changes() []Change {
	var out []Change
	last := map[string]*Request{}
	asks := s.Asks()
	for i := range asks {
		r := &asks[i]
		if r.first == "" {
			continue // it was no request
		}
		key := string(r.Wire) + r.first
		if before := last[key]; before != nil {
			if c := r.Extends(before); c.Part != "" {
				out = append(out, c)
			}
		}
		last[key] = r
	}
	return out
}

// maxFaults bounds the lists of faults; one is enough to fail a test.
const maxFaults = 100

func (s *Server) note(fault string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.faults) < maxFaults {
		s.faults = append(s.faults, fault)
	}
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if !s.enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.busy.Done()
	defer func() { s.broke(req, recover()) }()
	if s.fast != nil {
		s.fast.serve(w, req)
		return
	}
	r, err := s.read(w, req)
	if err != nil {
		return // the client is gone; there is nobody to answer
	}
	to := &sender{w: w, ctx: req.Context(), done: s.done, shape: s.cfg.Shape}
	to.headers(s.cfg.Header)
	s.route(to, r)
	to.abort()
}

// broke notes a panic: net/http would only log it.
func (s *Server) broke(req *http.Request, p any) {
	switch p {
	case nil:
	case http.ErrAbortHandler:
		panic(p)
	default:
		s.note(fmt.Sprintf("%s %s: the server itself broke: %v\n%s", req.Method, req.URL.Path, p, debug.Stack()))
		panic(http.ErrAbortHandler)
	}
}

// enter counts a request that begins; false after Close.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.busy.Add(1)
	}
	return !s.closed
}

// read takes the body and keeps the request.
func (s *Server) read(w http.ResponseWriter, req *http.Request) (*Request, error) {
	limit := s.cfg.Rules.body()
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, limit))
	var big *http.MaxBytesError
	if err != nil && !errors.As(err, &big) {
		return nil, fmt.Errorf("read a request: %w", err)
	}
	r := &Request{Method: req.Method, Path: req.URL.RequestURI(), Header: req.Header.Clone(), Body: body, Wire: WireMeta, times: max(s.cfg.Times, 1)}
	if big != nil {
		r.Faults = append(r.Faults, fmt.Sprintf("%s%d bytes", tooLarge, limit))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, *r)
	r.N = len(s.requests)
	s.requests[r.N-1].N = r.N
	return r, nil
}

// tooLarge begins the fault of a body that is over the limit.
const tooLarge = "the body is over "

// save keeps what is known of a request by now.
func (s *Server) save(r *Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := *r
	kept.doc = value{}
	s.requests[r.N-1] = kept
	if s.cfg.Keep == 0 {
		return
	}
	for _, n := range []int{r.N, r.N - s.cfg.Keep} { // it may be old itself by now
		if n > 0 && n <= len(s.requests)-s.cfg.Keep {
			s.requests[n-1].forget()
		}
	}
}

// route finds who answers a path.
func (s *Server) route(to *sender, r *Request) {
	path, _, _ := strings.Cut(r.Path, "?")
	post := r.Method == http.MethodPost
	switch {
	case post && strings.HasSuffix(path, "/v1/messages"):
		s.ask(to, r, messages{})
	case post && strings.HasSuffix(path, "/chat/completions"):
		s.ask(to, r, chat{})
	case post && path == "/api/chat":
		s.ask(to, r, ollama{})
	default:
		s.meta(to, r, path)
	}
}

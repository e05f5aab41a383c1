package crowd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
)

// Seen is what a server saw.
type Seen struct {
	Requests int `json:"requests"`
	Answers  int `json:"answers"`
	Cut      int `json:"cut"`
	Held     int `json:"held"`
}

// A Server answers the requests of any number of sessions, in Chat Completions, at
// once. It tells what it saw at GET /seen.
type Server struct {
	mu    sync.Mutex
	cut   map[int]bool // names of sessions whose reply has broken off, and has not come since
	seen  Seen
	ready map[Order][]byte // replies, by an order in which Name is the number of the request
}

var rooms = sync.Pool{New: func() any { return &bytes.Buffer{} }}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		s.mu.Lock()
		defer s.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s.seen) // a client that is gone sees that itself
		return
	}
	room := rooms.Get().(*bytes.Buffer)
	defer rooms.Put(room)
	room.Reset()
	if _, err := room.ReadFrom(r.Body); err != nil { // the client has gone
		return
	}
	o, err := read(room.Bytes())
	if err != nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":{"message":%q,"type":"invalid_request_error"}}`, err.Error())
		return
	}
	n := bytes.Count(room.Bytes(), []byte(`"role":"tool"`)) + 1
	w.Header().Set("Content-Type", "text/event-stream")
	s.answer(w, r, o, n)
}

// answer sends the reply to request n of an order, or a part of it.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, o Order, n int) {
	text, cut, hold := s.reply(o, n)
	if !cut && !hold {
		_, _ = w.Write(text) // a client that is gone sees that itself
		return
	}
	_, _ = w.Write(text[:len(text)*2/3])
	w.(http.Flusher).Flush() // net/http's is one
	if hold {
		<-r.Context().Done()
		return
	}
	panic(http.ErrAbortHandler) // the connection breaks off
}

// reply makes a reply, or takes one that it has made, and counts it.
func (s *Server) reply(o Order, n int) (text []byte, cut, hold bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen.Requests++
	switch {
	case n == o.Hold:
		hold = true
		s.seen.Held++
	case n == o.Cut && !s.cut[o.Name]:
		if s.cut == nil {
			s.cut = map[int]bool{}
		}
		s.cut[o.Name], cut = true, true
		s.seen.Cut++
	case n > o.Steps:
		s.seen.Answers++
		delete(s.cut, o.Name)
	}
	key := o
	key.Name, key.Steps = min(n, o.Steps+1), o.Steps
	text = s.ready[key]
	if text == nil {
		if s.ready == nil {
			s.ready = map[Order][]byte{}
		}
		text = o.reply(n)
		s.ready[key] = text
	}
	return text, cut, hold
}

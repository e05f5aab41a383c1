// Package provider is a model's service that answers at once: it streams one call
// of the tool a step, and at last a text. Its replies are made before they are
// asked for.
package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/uzda-dev/uzda/bench/internal/task"
)

// A Server speaks Chat Completions and Messages under /STEPS-NAME/v1 for each run of
// its own, and tells at GET /STEPS-NAME what it saw. It refuses a request that does not
// hold all that was said before, so that no contestant can win by sending less.
type Server struct {
	chat, messages dialect

	mu   sync.Mutex
	runs map[string]*run
}

// A dialect is what a wire format says at each step, from 1.
type dialect struct {
	calls, ends [][]byte
	result      []byte // what a request holds once for each result
}

// Seen is what the server saw of a run.
type Seen struct {
	Requests int `json:"requests"`
	Answers  int `json:"answers"` // how often the task was done
	First    int `json:"first"`   // bytes of the first request
	Last     int `json:"last"`    // and of the last
}

type run struct {
	Seen
	steps int
	asked int    // requests since the last answer
	room  []byte // for what is read at a time
}

// New makes a server for runs of up to most steps.
func New(most int) *Server {
	s := &Server{runs: map[string]*run{}, chat: dialect{result: []byte(`"role":"tool"`)}, messages: dialect{result: []byte(`"type":"tool_result"`)}}
	for n := range most + 2 {
		args := fmt.Sprintf(`{"n":%d,"note":"page %04d of the book, in order"}`, n, n)
		s.chat.add(Call(n, task.Tool, args), End(n, task.Answer))
		s.messages.add(callMessage(n, task.Tool, args), endMessage(n, task.Answer))
	}
	return s
}

func (d *dialect) add(call, end []byte) { d.calls, d.ends = append(d.calls, call), append(d.ends, end) }

// Path is where a run of some steps has its endpoint; name tells it from others.
func Path(steps int, name string) string { return "/" + strconv.Itoa(steps) + "-" + name }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case r.Method == http.MethodGet && rest == "":
		s.tell(w, name)
	case r.Method == http.MethodPost && (rest == "v1/chat/completions" || rest == "v1/messages"):
		d := &s.chat
		if rest == "v1/messages" {
			d = &s.messages
		}
		reply, err := s.answer(name, r, d)
		if err != nil {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"error":{"message":%q,"type":"invalid_request_error"}}`, err.Error())
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(reply)    // a client that is gone sees that itself
		w.(http.Flusher).Flush() // net/http's is one
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) answer(name string, r *http.Request, d *dialect) ([]byte, error) {
	steps, err := strconv.Atoi(strings.SplitN(name, "-", 2)[0])
	if err != nil || steps < 1 || steps+2 > len(d.calls) {
		return nil, fmt.Errorf("the run %q has no number of steps up to %d in front", name, len(d.calls)-2)
	}
	s.mu.Lock()
	one := s.runs[name]
	if one == nil {
		one = &run{steps: steps, room: make([]byte, 0, 32<<10)}
		s.runs[name] = one
	}
	s.mu.Unlock()
	if err := one.read(r.Body, d.result); err != nil {
		return nil, err
	}
	if one.asked <= steps {
		return d.calls[one.asked], nil
	}
	one.Answers, one.asked = one.Answers+1, 0
	return d.ends[steps+1], nil
}

// read takes a request into what was seen of the run. It counts results while it reads and
// keeps nothing, so that it does not disturb the contestant's caches; only the last
// request is looked at whole.
func (r *run) read(body io.Reader, result []byte) error {
	r.Requests, r.asked = r.Requests+1, r.asked+1
	var whole bytes.Buffer
	if r.asked == r.steps+1 {
		body = io.TeeReader(body, &whole)
	}
	size, results, kept := 0, 0, 0
	for {
		n, err := body.Read(r.room[kept:cap(r.room)])
		size += n
		text := r.room[:kept+n]
		results += bytes.Count(text, result)
		kept = copy(r.room[:cap(r.room)], text[max(0, len(text)-len(result)+1):])
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	switch {
	case results != r.asked-1:
		return fmt.Errorf("request %d has %d results, want %d", r.asked, results, r.asked-1)
	case results > 0 && size < r.Last+task.Step*3/4:
		return fmt.Errorf("request %d has %d bytes after %d: something is missing", r.asked, size, r.Last)
	case whole.Len() > 0 && !json.Valid(whole.Bytes()):
		return fmt.Errorf("request %d is not JSON", r.asked)
	}
	if r.Requests == 1 {
		r.First = size
	}
	r.Last = size
	return nil
}

// tell says what was seen of a run, and forgets it.
func (s *Server) tell(w http.ResponseWriter, name string) {
	s.mu.Lock()
	one := s.runs[name]
	delete(s.runs, name)
	s.mu.Unlock()
	if one == nil {
		http.Error(w, "no such run", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(one.Seen) // a client that is gone sees that itself
}

// piece is how many bytes of arguments or text one event carries.
const piece = 12

// Call is the reply of step n: one call of a tool, its arguments in pieces.
func Call(n int, tool, args string) []byte {
	var b stream
	b.delta(`{"role":"assistant","content":null}`, "")
	b.delta(fmt.Sprintf(`{"tool_calls":[{"index":0,"id":"call_%024d","type":"function","function":{"name":%q,"arguments":""}}]}`, n, tool), "")
	for p := range pieces(args) {
		b.delta(`{"tool_calls":[{"index":0,"function":{"arguments":`+p+`}}]}`, "")
	}
	b.delta(`{}`, "tool_calls")
	return b.close(n)
}

// End is the last reply, after n-1 steps: a text in pieces.
func End(n int, text string) []byte {
	var b stream
	b.delta(`{"role":"assistant","content":""}`, "")
	for p := range pieces(text) {
		b.delta(`{"content":`+p+`}`, "")
	}
	b.delta(`{}`, "stop")
	return b.close(n)
}

func pieces(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for len(text) > 0 {
			n := min(piece, len(text))
			raw, _ := json.Marshal(text[:n]) // a string
			if !yield(string(raw)) {
				return
			}
			text = text[n:]
		}
	}
}

// stream is the events of a reply.
type stream struct{ bytes.Buffer }

const head = `data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1790000000,"model":"bench","choices":[`

func (b *stream) delta(delta, finish string) {
	if finish = strconv.Quote(finish); finish == `""` {
		finish = "null"
	}
	fmt.Fprintf(b, head+`{"index":0,"delta":%s,"logprobs":null,"finish_reason":%s}],"usage":null}`+"\n\n", delta, finish)
}

// close adds the usage, of four bytes a token and with the prefix cached, and the end.
func (b *stream) close(n int) []byte {
	in := 200 + n*task.Step/4
	fmt.Fprintf(b, head+`],"usage":{"prompt_tokens":%d,"completion_tokens":30,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}}}`+
		"\n\ndata: [DONE]\n\n", in, in+30, in*9/10)
	return bytes.Clone(b.Bytes())
}

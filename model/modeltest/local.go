package modeltest

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Local is what a server of local models does differently.
type Local struct {
	Kind LocalKind
	// Window is the window in tokens that a model has: by default Ollama gives
	// 4,096 where the request does not say num_ctx, and llama-server 8,192 to
	// each slot.
	Window int
	// Trained is the window that the model was trained for; default 32,768.
	Trained int
	Slots   int  // of llama-server; default 1
	Loading bool // llama-server: health says 503, and so does all else
	Sees    bool // Ollama: it says that its models take pictures
	Version string
}

// A LocalKind is a kind of local server.
type LocalKind string

// The local servers.
const (
	Hosted      LocalKind = ""             // none: a service
	Ollama      LocalKind = "ollama"       // it cuts long prompts from the front, and says nothing
	LlamaServer LocalKind = "llama-server" // it refuses long prompts
)

// localMembers are what local servers take besides.
var localMembers = []string{
	"options", "keep_alive", "think", "cache_prompt", "id_slot", "chat_template_kwargs", "reasoning_format", "grammar", "top_k", "min_p", "n_predict",
	"repeat_penalty", "timings_per_token",
}

func (l Local) full() Local {
	if l.Window == 0 {
		l.Window = 4096
		if l.Kind == LlamaServer {
			l.Window = 8192
		}
	}
	if l.Trained == 0 {
		l.Trained = 32768
	}
	if l.Slots == 0 {
		l.Slots = 1
	}
	if l.Version == "" {
		l.Version = "0.99.0"
	}
	return l
}

// fits says whether a request fits into the model's window. Ollama cuts what does
// not fit.
func (s *Server) fits(r *Request, w Wire, m Model) failure {
	local := s.cfg.Local.full()
	n := r.prompt()
	switch {
	case local.Kind == Ollama || w == WireOllama:
		window := local.Window
		if options := r.doc.get("options"); w == WireOllama { // the compatible endpoint does not look at it
			v := options.get("num_ctx")
			if asked, ok := v.integer(); ok {
				window = min(asked, local.Trained)
			}
		}
		s.mu.Lock()
		s.loaded[r.Model] = window
		s.mu.Unlock()
		r.Dropped = max(0, n-window)
		if cut := r.doc.get("truncate"); string(cut.raw) == "false" && r.Dropped > 0 {
			return failure{status: http.StatusBadRequest, message: "the input length exceeds the context length"}
		}
	case local.Kind == LlamaServer:
		if local.Loading {
			return failure{status: http.StatusServiceUnavailable, kind: unavailable, message: "Loading model"}
		}
		if n > local.Window {
			return failure{status: http.StatusBadRequest, kind: exceeds, tokens: n, window: local.Window}
		}
	case n > m.Window:
		return failure{status: http.StatusBadRequest, tokens: n, window: m.Window}
	}
	return failure{}
}

// meta answers everything that is no reply.
func (s *Server) meta(to *sender, r *Request, path string) {
	get, post := r.Method == http.MethodGet, r.Method == http.MethodPost
	local := s.cfg.Local.full()
	llama, olla := local.Kind == LlamaServer, local.Kind == Ollama
	switch {
	case post && strings.HasSuffix(path, "/v1/messages/count_tokens"):
		s.counted(to, r, messages{})
	case post && llama && strings.HasSuffix(path, "/chat/completions/input_tokens"):
		s.counted(to, r, chat{})
	case get && (strings.HasSuffix(path, "/models") || strings.Contains(path, "/models/")):
		s.models(to, r, path)
	case get && llama && path == "/health":
		if local.Loading {
			s.json(to, r, http.StatusServiceUnavailable, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`)
			return
		}
		s.json(to, r, http.StatusOK, `{"status":"ok"}`)
	case get && llama && path == "/props":
		s.json(to, r, http.StatusOK, fmt.Sprintf(`{"default_generation_settings":{"id":0,"n_ctx":%d,"params":{"n_predict":-1}},"total_slots":%d,`+
			`"model_path":"/models/fake.gguf","modalities":{"vision":false,"audio":false},"chat_template":"{{ messages }}",`+
			`"chat_template_caps":{"supports_tools":true,"supports_tool_calls":true},"build_info":"b9999-fake","is_sleeping":false}`, local.Window, local.Slots))
	case get && llama && path == "/slots":
		var slots []string
		for i := range local.Slots {
			slots = append(slots, fmt.Sprintf(`{"id":%d,"n_ctx":%d,"is_processing":false}`, i, local.Window))
		}
		s.json(to, r, http.StatusOK, "["+strings.Join(slots, ",")+"]")
	case post && llama && path == "/tokenize":
		s.tokenize(to, r)
	case olla && strings.HasPrefix(path, "/api/"):
		s.ollamaMeta(to, r, path)
	default:
		s.note(fmt.Sprintf("request %d, %s %s: there is no such endpoint", r.N, r.Method, r.Path))
		s.json(to, r, http.StatusNotFound, `{"error":{"message":"Not Found","type":"not_found_error"}}`)
	}
}

func (s *Server) json(to *sender, r *Request, status int, body string) {
	r.Status = status
	s.save(r)
	to.plain(status, "application/json", []byte(body))
}

// counted answers how many tokens a request has.
func (s *Server) counted(to *sender, r *Request, w wire) {
	if s.accept(to, r, w, false) {
		s.json(to, r, http.StatusOK, fmt.Sprintf(`{"input_tokens":%d}`, r.prompt()))
	}
}

func (s *Server) tokenize(to *sender, r *Request) {
	doc, _, err := readJSON(r.Body)
	content := doc.get("content")
	if err != nil || content.kind != '"' {
		s.note(fmt.Sprintf("request %d, %s: content is missing, or no string", r.N, r.Path))
		s.json(to, r, http.StatusBadRequest, `{"error":{"code":400,"message":"content is missing","type":"invalid_request_error"}}`)
		return
	}
	var list bytes.Buffer
	for i := range tokens(len(content.text)) {
		if i > 0 {
			list.WriteByte(',')
		}
		fmt.Fprint(&list, i)
	}
	s.json(to, r, http.StatusOK, `{"tokens":[`+list.String()+`]}`)
}

// models lists the models, in Anthropic's form to who speaks it.
func (s *Server) models(to *sender, r *Request, path string) {
	list := s.cfg.Models
	if len(list) == 0 {
		list = []Model{{ID: "fake-1"}}
	}
	if key := keyOf(r.Header); !s.knows(key) || key == "" && s.needsKey(WireMeta) {
		s.json(to, r, http.StatusUnauthorized, string(chat{}.failure(failure{status: 401, message: "the API key is not valid"})))
		return
	}
	anthropic := r.Header.Get("Anthropic-Version") != ""
	entry := func(m Model) string {
		m = m.full()
		switch {
		case anthropic:
			return fmt.Sprintf(`{"type":"model","id":%s,"display_name":%s,"created_at":"2026-01-01T00:00:00Z","lifecycle":"active","max_input_tokens":%d,"max_tokens":%d}`,
				quoted(m.ID, false), quoted(m.ID, false), m.Window, m.MaxOutput)
		case s.cfg.Local.Kind == LlamaServer:
			return fmt.Sprintf(`{"id":%s,"object":"model","created":1767225600,"owned_by":"llamacpp","meta":{"n_ctx_train":%d}}`, quoted(m.ID, false), s.cfg.Local.full().Trained)
		}
		return fmt.Sprintf(`{"id":%s,"object":"model","created":1767225600,"owned_by":"fake"}`, quoted(m.ID, false))
	}
	if !strings.HasSuffix(path, "/models") {
		_, id, _ := strings.Cut(path, "/models/")
		m, ok := s.model(id)
		if !ok {
			s.json(to, r, http.StatusNotFound, string(chat{}.failure(failure{status: 404, message: "the model does not exist"})))
			return
		}
		s.json(to, r, http.StatusOK, entry(m))
		return
	}
	var all []string
	for _, m := range list {
		all = append(all, entry(m))
	}
	if anthropic {
		s.json(to, r, http.StatusOK, fmt.Sprintf(`{"data":[%s],"has_more":false,"first_id":%s,"last_id":%s}`,
			strings.Join(all, ","), quoted(list[0].ID, false), quoted(list[len(list)-1].ID, false)))
		return
	}
	s.json(to, r, http.StatusOK, `{"object":"list","data":[`+strings.Join(all, ",")+`]}`)
}

func (s *Server) ollamaMeta(to *sender, r *Request, path string) {
	local := s.cfg.Local.full()
	list := s.cfg.Models
	if len(list) == 0 {
		list = []Model{{ID: "fake-1"}}
	}
	var all []string
	switch path {
	case "/api/version":
		s.json(to, r, http.StatusOK, `{"version":`+quoted(local.Version, false)+`}`)
	case "/api/tags":
		for _, m := range list {
			all = append(all, fmt.Sprintf(`{"name":%s,"model":%s,"size":1000,"digest":"sha256:0","details":{"family":"fake","parameter_size":"1B"}}`, quoted(m.ID, false), quoted(m.ID, false)))
		}
		s.json(to, r, http.StatusOK, `{"models":[`+strings.Join(all, ",")+`]}`)
	case "/api/ps":
		s.mu.Lock()
		for id, window := range s.loaded {
			all = append(all, fmt.Sprintf(`{"name":%s,"model":%s,"size":1000,"size_vram":1000,"expires_at":%q,"context_length":%d}`,
				quoted(id, false), quoted(id, false), s.cfg.Now().Add(5*time.Minute).UTC().Format(time.RFC3339), window))
		}
		s.mu.Unlock()
		s.json(to, r, http.StatusOK, `{"models":[`+strings.Join(all, ",")+`]}`)
	case "/api/show":
		doc, _, _ := readJSON(r.Body)
		name := doc.get("model")
		if _, ok := s.model(name.text); !ok || name.text == "" {
			s.json(to, r, http.StatusNotFound, `{"error":`+quoted("model '"+name.text+"' not found", false)+`}`)
			return
		}
		sees := ""
		if local.Sees {
			sees = `,"vision"`
		}
		s.json(to, r, http.StatusOK, fmt.Sprintf(`{"modelfile":"","parameters":"","template":"{{ .Prompt }}","details":{"family":"fake","parameter_size":"1B"},`+
			`"model_info":{"general.architecture":"fake","fake.context_length":%d},"capabilities":["completion","tools","thinking"%s]}`, local.Trained, sees))
	default:
		s.note(fmt.Sprintf("request %d, %s %s: there is no such endpoint", r.N, r.Method, r.Path))
		s.json(to, r, http.StatusNotFound, `{"error":"not found"}`)
	}
}

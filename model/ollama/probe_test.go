package ollama_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/modeltest"
	"github.com/uzda-dev/uzda/model/ollama"
)

// case:U04: the window is what the model was trained for, what a person said, and
// what is loaded by now, and never more than the first.
func TestProbe(t *testing.T) {
	t.Parallel()
	show := func(info, more string) map[string]string {
		return map[string]string{"/api/show": `{"details":{"family":"qwen3"},"model_info":{` + info + `},"capabilities":["completion","tools"]` + more + `}`}
	}
	const arch = `"general.architecture":"qwen3"`
	for _, c := range []struct {
		name string
		m    ollama.Model
		more map[string]string
		ps   string
		want int
	}{
		{"trained for more", ollama.Model{}, show(arch+`,"qwen3.context_length":131072`, ""), "", 32768},
		{"trained for less", ollama.Model{}, show(arch+`,"qwen3.context_length":8192`, ""), "", 8192},
		{"set", ollama.Model{NumCtx: 65536}, show(arch+`,"qwen3.context_length":131072`, ""), "", 65536},
		{"set too large", ollama.Model{NumCtx: 65536}, show(arch+`,"qwen3.context_length":40960`, ""), "", 40960},
		{"in the model's file", ollama.Model{}, show(arch+`,"qwen3.context_length":131072`, `,"parameters":"stop \"x\"\nnum_ctx                        16384\n"`), "", 16384},
		{"in the environment", ollama.Model{Env: env("OLLAMA_CONTEXT_LENGTH", "65536")}, show(arch+`,"qwen3.context_length":131072`, ""), "", 65536},
		{"nonsense in the environment", ollama.Model{Env: env("OLLAMA_CONTEXT_LENGTH", "-x")}, show(arch+`,"qwen3.context_length":131072`, ""), "", 32768},
		{"unknown", ollama.Model{}, show("", ""), "", 32768},
		{"absurd", ollama.Model{}, show(arch+`,"qwen3.context_length":-5`, ""), "", 32768},
		{"another architecture's name", ollama.Model{}, show(`"llama.context_length":4096,"vision.x.context_length":1`, ""), "", 4096},
		{"loaded with more", ollama.Model{}, show(arch+`,"qwen3.context_length":131072`, ""), `{"models":[{"name":"other:latest","context_length":99999},{"name":"m:latest","context_length":65536}]}`, 65536},
		{"loaded with less", ollama.Model{}, show(arch+`,"qwen3.context_length":131072`, ""), `{"models":[{"name":"m:latest","context_length":4096}]}`, 32768},
		{"at ollama.com", ollama.Model{ID: "m:cloud"}, show(arch+`,"qwen3.context_length":262144`, ""), "", 262144},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.more["/api/ps"] = c.ps
			s := serve(t, c.more, end)
			m := s.model()
			m.NumCtx = c.m.NumCtx
			if c.m.Env != nil {
				m.Env = c.m.Env
			}
			if c.m.ID != "" {
				m.ID = c.m.ID
			}
			got, err := m.Probe(t.Context())
			if err != nil || got.NumCtx != c.want || got.Family != "qwen3" || !slices.Equal(got.Caps, []string{"completion", "tools"}) {
				t.Errorf("NumCtx %d, family %q, caps %q, %v; want %d", got.NumCtx, got.Family, got.Caps, err, c.want)
			}
			if got.Describe().Window != c.want || !got.Can("tools") || got.Can("vision") {
				t.Errorf("described as %+v", got.Describe())
			}
		})
	}
}

func TestProbeFails(t *testing.T) {
	t.Parallel()
	tags := `{"models":[{"name":"qwen3:8b"},{"name":"llama3.2:latest"},{"name":5},{}]}`
	for _, c := range []struct {
		name, show, tags, code string
		hints                  []string
	}{
		{"misspelt", `404 {"error":"model 'qwen3:7b' not found"}`, tags, "not_found", []string{"ollama pull qwen3:7b", "there is qwen3:8b"}},
		{"nothing there", `404 {"error":"model 'qwen3:7b' not found"}`, `{"models":null}`, "not_found", []string{"ollama pull qwen3:7b", "no model"}},
		{"no Ollama", `404 {"detail":"Not Found"}`, `404 {"detail":"Not Found"}`, "not_found", []string{"check that this is an Ollama server"}},
		{"no object", `[]`, tags, "invalid_request", []string{"Ollama server"}},
	} {
		m := serve(t, map[string]string{"/api/show": c.show, "/api/tags": c.tags}, end).model()
		m.ID = "qwen3:7b"
		_, err := m.Probe(t.Context())
		p := failure(t, err)
		for _, h := range c.hints {
			if p.Code != c.code || !strings.Contains(p.Hint, h) {
				t.Errorf("%s: %v, hint %q; want %s and %q", c.name, err, p.Hint, c.code, h)
			}
		}
	}
	_, err := ollama.Model{ID: "m", Base: "127.0.0.1:1", Env: env(), Tries: 1}.Probe(t.Context())
	if p := failure(t, err); p.Code != "network" || p.Retryable() || !strings.Contains(p.Message, "127.0.0.1:1") || !strings.Contains(p.Hint, "ollama serve") {
		t.Errorf("no server: %v, hint %q", err, p.Hint)
	}
	// A request for a model that is not there says the same.
	m := serve(t, map[string]string{"/api/tags": tags}, `404 {"error":"model 'qwen3:7b' not found"}`).model()
	m.ID = "qwen3:7b"
	_, err = hear(t, m, modeltest.Hello())
	if p := failure(t, err); p.Code != "not_found" || !strings.Contains(p.Hint, "there is qwen3:8b") {
		t.Errorf("%v, hint %q", err, p.Hint)
	}
	if names, err := m.Names(t.Context()); err != nil || !slices.Equal(names, []string{"qwen3:8b", "llama3.2:latest"}) {
		t.Errorf("the models are %q, %v", names, err)
	}
}

// A key goes only where it belongs, and shows in no error.
func TestKey(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, `401 {"error":"the key s3cret-key-1234 is not known"}`)
	m := s.model()
	m.Key = "s3cret-key-1234"
	_, err := hear(t, m, modeltest.Hello())
	if p := failure(t, err); p.Code != "auth" || strings.Contains(err.Error(), "s3cret-key-1234") {
		t.Errorf("%v", err)
	}
}

// Where a model can't think as it is asked to, the request is sent without that,
// visibly, and the next ones of the session at once.
func TestThinkRefused(t *testing.T) {
	t.Parallel()
	for _, refusal := range []string{`400 {"error":"\"m\" does not support thinking"}`, `400 {"error":"think value \"high\" is not supported for this model"}`} {
		s := serve(t, nil, refusal, end)
		req := modeltest.Hello()
		req.Enc, req.Head.Params.Effort = &uzda.Enc{}, "high"
		got, err := hear(t, s.model(), req)
		if err != nil || len(got.Attempts) != 1 || got.Attempts[0].N != 2 {
			t.Errorf("attempts %+v, %v", got.Attempts, err)
		}
		if _, err := hear(t, s.model(), req); err != nil {
			t.Error(err)
		}
		bodies := s.asked()
		if len(bodies) != 3 || !strings.Contains(bodies[0], `"think":true`) || strings.Contains(bodies[1]+bodies[2], "think") {
			t.Errorf("asked %q", bodies)
		}
	}
	s := serve(t, nil, `400 {"error":"\"m\" does not support thinking"}`)
	if _, err := hear(t, s.model(), modeltest.Hello()); failure(t, err).Code != "invalid_request" || len(s.asked()) != 1 {
		t.Errorf("%v after %d requests", err, len(s.asked()))
	}
}

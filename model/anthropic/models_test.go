package anthropic_test

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/anthropic"
	"github.com/uzda-dev/uzda/model/modeltest"
)

const opus = `{"type":"model","id":"claude-opus-9","display_name":"Opus 9","lifecycle":"deprecated","retires_at":"2031-02-03T00:00:00Z","max_input_tokens":1000000,"max_tokens":128000,
	"capabilities":{"batch":{"supported":false},"effort":{"supported":true,"low":{"supported":true},"max":{"supported":false}},"image_input":{"supported":true},
	"thinking":{"supported":true,"types":{"adaptive":{"supported":true},"enabled":{"supported":false}}},"citations":true,"server_tools":{"web_search":true}}}`

// What the provider says of its models is read, page by page. M6
func TestModels(t *testing.T) {
	t.Parallel()
	h := serve(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/v1/models/claude-opus-9":
			_, _ = w.Write([]byte(opus))
		case r.URL.Path == "/v1/models/a b":
			_, _ = w.Write([]byte(`{"id":"a b"}`))
		case r.URL.Path != "/v1/models":
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"type":"error","error":{"type":"not_found_error","message":"model: x"}}`))
		case r.URL.Query().Get("after_id") == "":
			_, _ = w.Write([]byte(`{"data":[` + opus + `,7],"has_more":true,"last_id":"claude-opus-9"}`))
		default:
			_, _ = w.Write([]byte(`{"data":[{"id":"second"}],"has_more":true,"last_id":"claude-opus-9"}`)) // for ever the same
		}
	})
	m := h.model()
	m.ID = "claude-opus-9"
	want := anthropic.Info{ID: "claude-opus-9", Name: "Opus 9", Window: 1000000, MaxOutput: 128000, Lifecycle: "deprecated", Retires: time.Date(2031, 2, 3, 0, 0, 0, 0, time.UTC),
		Can: []string{"citations", "effort", "effort.low", "image_input", "server_tools.web_search", "thinking", "thinking.adaptive"}}
	if got, err := m.Info(t.Context()); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("it is %+v (%v), not %+v", got, err, want)
	}
	list, err := m.List(t.Context())
	if err != nil || len(list) != 2 || list[1].ID != "second" || !reflect.DeepEqual(list[0], want) {
		t.Errorf("the list is %+v (%v)", list, err)
	}
	page, err := m.Page(t.Context(), "x y")
	if err != nil || !strings.Contains(string(page), "second") || !strings.HasSuffix(h.paths[len(h.paths)-1], "after_id=x+y") {
		t.Errorf("the page is %s (%v)", page, err)
	}
	m.ID = "a b"
	if got, err := m.Info(t.Context()); err != nil || got.ID != "a b" {
		t.Errorf("it is %+v (%v)", got, err)
	}
	m.ID = "gone"
	var p *uzda.ProviderError
	if _, err := m.Info(t.Context()); !asProvider(err, &p) || p.Code != "not_found" {
		t.Errorf("the error is %v", err)
	}
	for _, bad := range []string{`{}`, `{"data":{}}`, `[]`, `{"data":`} {
		if _, err := replies(t, bad).model().List(t.Context()); err == nil {
			t.Errorf("%s is a list", bad)
		}
	}
}

// A count asks with the same body, without what the counting endpoint refuses. M6
func TestCount(t *testing.T) {
	t.Parallel()
	h := replies(t, `{"input_tokens":2095}`)
	half := 0.5
	req := hello(said("a"))
	req.Tail = "t"
	req.Head = uzda.Head{System: "s", Tools: []uzda.ToolSpec{spec("f")}, Params: uzda.Params{Temperature: &half, Stops: []string{"x"}, Effort: "low", NoParallel: true,
		Options: options(`{"metadata":{},"thinking":{"type":"adaptive"},"speed":"fast","service_tier":"auto","container":"c","context_management":{},"betas":["b"],"cache_ttl":"off"}`)}}
	if n, err := h.model().Count(t.Context(), req); err != nil || n != 2095 {
		t.Errorf("the count is %d (%v)", n, err)
	}
	want := `{"model":"claude-test-1","tools":[{"name":"f","description":"Does f.","input_schema":` + schema + `}],"tool_choice":{"type":"auto","disable_parallel_tool_use":true},` +
		`"system":[{"type":"text","text":"s"}],"output_config":{"effort":"low"},"context_management":{},"speed":"fast",` +
		`"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"t"}]}],"thinking":{"type":"adaptive"}}`
	if got := h.body(1); got != want || h.paths[0] != "/v1/messages/count_tokens" || h.heads[0].Get("Anthropic-Beta") != "b" {
		t.Errorf("%s was asked\n%s\nnot\n%s", h.paths[0], got, want)
	}
	for _, bad := range []string{`{}`, `{"input_tokens":0}`, `{"input_tokens":"5"}`, `[5]`} {
		if n, err := replies(t, bad).model().Count(t.Context(), req); err == nil {
			t.Errorf("%s counts %d", bad, n)
		}
	}
	// The strict fake takes it too, and counts what the reply then says.
	s := modeltest.Serve(t, modeltest.Config{Turns: []modeltest.Turn{bye}})
	req = modeltest.Hello()
	n, err := at(s).Count(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if r := must(t, at(s), req); r.Stop.Usage.Context() != n {
		t.Errorf("the count is %d, the usage %+v", n, r.Stop.Usage)
	}
}

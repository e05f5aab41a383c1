package ollama_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/modeltest"
	"github.com/uzda-dev/uzda/model/ollama"
)

// realVersion is the version of Ollama that is built and tried.
const realVersion = "v0.17.4"

// realBinary is Ollama itself: UZDA_OLLAMA, or with UZDA_FULL=1 built from its
// module, once, which takes five minutes of a processor (-timeout 30m is safe).
func realBinary(t *testing.T) string {
	t.Helper()
	if bin := os.Getenv("UZDA_OLLAMA"); bin != "" {
		return bin
	}
	if os.Getenv("UZDA_FULL") == "" {
		t.Skip("SKIPPED: no real Ollama; set UZDA_FULL=1 to build it (minutes), or UZDA_OLLAMA to a binary")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "uzda-test", "ollama-"+realVersion)
	bin := filepath.Join(dir, "ollama")
	if _, err := os.Stat(bin); err == nil {
		return bin
	}
	if _, err := os.Stat("/usr/include/nlohmann/json.hpp"); err != nil {
		t.Skip("SKIPPED: no real Ollama: its build needs the packages g++ nlohmann-json3-dev libstb-dev")
	}
	// A module has no folders that are called vendor, and one header of them is in
	// no package. It decodes sound, which is not tried here. The place is always the
	// same, so that what was compiled once need not be again.
	include := filepath.Join(dir, "include")
	if err := os.MkdirAll(filepath.Join(include, "miniaudio"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(include, "miniaudio", "miniaudio.h"), []byte(noSound), 0o644); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "install", "github.com/ollama/ollama@"+realVersion)
	build.Dir = include
	build.Env = append(os.Environ(), "CGO_ENABLED=1", "GOFLAGS=", "GOBIN="+dir, "CGO_CPPFLAGS=-I"+include)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build Ollama: %v\n%s", err, out)
	}
	return bin
}

const noSound = `#pragma once
#define MA_SUCCESS 0
enum { ma_format_f32 = 5 };
typedef int ma_result;
typedef unsigned long long ma_uint64;
typedef struct { int rate; } ma_decoder_config;
typedef struct { int unused; } ma_decoder;
static inline ma_decoder_config ma_decoder_config_init(int, int, int rate) { ma_decoder_config c = {rate}; return c; }
static inline ma_result ma_decoder_init_memory(const void *, unsigned long, const ma_decoder_config *, ma_decoder *) { return -1; }
static inline ma_result ma_decoder_get_length_in_pcm_frames(ma_decoder *, ma_uint64 *) { return -1; }
static inline ma_result ma_decoder_read_pcm_frames(ma_decoder *, void *, ma_uint64, ma_uint64 *) { return -1; }
static inline ma_result ma_decoder_uninit(ma_decoder *) { return 0; }
`

// realServer starts a server without models and returns its address.
func realServer(t *testing.T) string {
	t.Helper()
	bin := realBinary(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	home := t.TempDir()
	var log bytes.Buffer
	cmd := exec.Command(bin, "serve")
	cmd.Env = append(os.Environ(), "HOME="+home, "OLLAMA_HOST="+addr, "OLLAMA_MODELS="+filepath.Join(home, "models"))
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		kill := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		kill.Stop()
		if t.Failed() {
			t.Logf("the server says\n%s", log.Bytes())
		}
	})
	for range 200 {
		if reply, err := http.Get("http://" + addr + "/api/version"); err == nil {
			_ = reply.Body.Close()
			return addr
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("the server does not start")
	return ""
}

// create makes a model on the server; template is the form of its prompts.
func create(t *testing.T, addr, name, template string, m tiny) {
	t.Helper()
	file := m.file()
	sum := sha256.Sum256(file)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	post := func(path string, body []byte) {
		reply, err := http.Post("http://"+addr+path, "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer reply.Body.Close()
		if said, _ := io.ReadAll(reply.Body); reply.StatusCode > 299 {
			t.Fatalf("%s: %s", path, said)
		}
	}
	post("/api/blobs/"+digest, file)
	body, err := json.Marshal(map[string]any{"model": name, "files": map[string]string{"tiny.gguf": digest}, "template": template, "stream": false,
		"parameters": map[string]any{"temperature": 0}})
	if err != nil {
		t.Fatal(err)
	}
	post("/api/create", body)
}

// chatML is a template with tools, as Qwen's is.
const chatML = `{{ if .Tools }}<|im_start|>system
{{ range .Tools }}{{ . }}{{ end }}
<tool_call>
{"name": NAME, "arguments": OBJECT}
</tool_call><|im_end|>
{{ end }}{{ range .Messages }}<|im_start|>{{ .Role }}
{{ .Content }}{{ if .ToolCalls }}<tool_call>
{{ range .ToolCalls }}{"name": "{{ .Function.Name }}", "arguments": {{ .Function.Arguments }}}{{ end }}
</tool_call>{{ end }}<|im_end|>
{{ end }}<|im_start|>assistant
`

// thinkML is one that thinks.
const thinkML = `{{ range .Messages }}<|im_start|>{{ .Role }}
{{ if .Thinking }}<think>{{ .Thinking }}</think>{{ end }}{{ .Content }}<|im_end|>
{{ end }}<|im_start|>assistant
`

// A real is the server, with models of our own that say what they are made to say.
type real struct {
	addr string
	http *http.Client // nil: to the server itself
}

func (r real) model(name string) ollama.Model {
	return ollama.Model{ID: name, Base: r.addr, Tries: 1, Env: env(), HTTP: r.http}
}

// trained is the window of the models in tokens: more than the 4,096 that Ollama
// gives by itself.
const trained = 5600

// The adapter against Ollama itself. case:U04 case:U05 L3 L10
func TestReal(t *testing.T) {
	r := real{addr: realServer(t)}
	if os.Getenv("UZDA_RECORD") != "" {
		tape := &tape{}
		r.http = &http.Client{Transport: tape}
		t.Cleanup(func() { tape.save(t) })
	}
	r.empty(t)
	for _, m := range []struct {
		name, template string
		tiny
	}{
		{"chat", chatML, tiny{words: []string{"It", " is", " 4 😀", ".\n"}}},
		{"stuck", chatML, tiny{words: []string{" no"}, endless: true}},
		{"endless", chatML, tiny{words: []string{" no", " yes"}, endless: true}},
		{"tools", chatML, tiny{words: []string{"I add.\n", "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"y\": 1.50, \"x\": 12345678901234567890", "}}", "\n</tool_call>"}}},
		{"markup", chatML, tiny{words: []string{"[TOOL_", "CALLS][{\"name\": \"add\", ", "\"arguments\": {\"x\": 1, \"y\": 2}}]"}}},
		{"thinks", thinkML, tiny{words: []string{"<think>", "Hm.", "</think>", "\n\n", "Yes."}}},
	} {
		m.trained = trained
		create(t, r.addr, m.name, m.template, m.tiny)
	}
	r.all(t)
	r.http = nil
	t.Run("suite", func(t *testing.T) {
		modeltest.Run(t, func() uzda.Model { return r.model("chat") }, modeltest.Options{})
	})
	t.Run("cancel", r.cancel)
}

// The same against what the server answered when it was last recorded, with
// UZDA_RECORD=1. case:U04 case:U05 L3 L10
func TestRecorded(t *testing.T) {
	t.Parallel()
	r := real{addr: "127.0.0.1:11434", http: &http.Client{Transport: playback(t)}}
	r.empty(t)
	r.all(t)
}

func (r real) all(t *testing.T) {
	t.Run("probe", r.probe)
	t.Run("text", r.text)
	t.Run("call", r.call)
	t.Run("markup", r.markup)
	t.Run("thinking", r.thinking)
	t.Run("schema", r.schema)
	t.Run("tools of all kinds", r.tools)
	t.Run("limits", r.limits)
	t.Run("stuck", r.stuck)
	t.Run("window", r.window)
}

// empty tries a server without models.
func (r real) empty(t *testing.T) {
	t.Helper()
	if names, err := r.model("x").Names(t.Context()); err != nil || len(names) > 0 {
		t.Fatalf("models %q, %v", names, err)
	}
	_, err := r.model("chat").Probe(t.Context())
	if p := failure(t, err); p.Code != "not_found" || !strings.Contains(p.Hint, "ollama pull chat") || !strings.Contains(p.Hint, "no model is there yet") {
		t.Errorf("%v, hint %q", err, p.Hint)
	}
}

func (r real) probe(t *testing.T) {
	m, err := r.model("chat").Probe(t.Context())
	if err != nil || m.NumCtx != trained || m.Family != "llama" || !m.Can("tools") || m.Caps == nil || m.Can("vision") || m.Can("thinking") {
		t.Errorf("%+v, %v", m, err)
	}
	if m, err := r.model("thinks").Probe(t.Context()); err != nil || !m.Can("thinking") || m.Can("tools") {
		t.Errorf("%+v, %v", m, err)
	}
	_, err = r.model("chatt").Probe(t.Context())
	if p := failure(t, err); !strings.Contains(p.Hint, "chat:latest") {
		t.Errorf("hint %q", p.Hint)
	}
}

func (r real) text(t *testing.T) {
	got, err := hear(t, r.model("chat"), modeltest.Hello())
	if err != nil || got.Message.String() != "It is 4 😀.\n" || got.Stop.Reason != uzda.StopEnd || got.Message.Items != nil ||
		got.Stop.Usage.Input < 50 || got.Stop.Usage.Output < 4 || got.Stop.Usage.AtLeast || len(got.warnings) > 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

func (r real) call(t *testing.T) {
	req := asking()
	req.Enc = &uzda.Enc{}
	got, err := hear(t, r.model("tools"), req)
	uses := got.Message.Uses()
	if err != nil || len(uses) != 1 || uses[0].Name != "add" || uses[0].Wire == "" || got.Stop.Reason != uzda.StopUse || !strings.HasPrefix(got.Message.String(), "I add.") || len(got.warnings) > 0 {
		t.Fatalf("%s, %s, %v", blocks(got.Message.Blocks), got.Stop.Reason, err)
	}
	req.View = append(req.View, answered(got, "5")...)
	if _, err := hear(t, r.model("tools"), req); err != nil {
		t.Error(err)
	}
}

func (r real) markup(t *testing.T) {
	got, err := hear(t, r.model("markup"), asking())
	uses := got.Message.Uses()
	if err != nil || len(uses) != 1 || !same(uses[0].Input, `{"x":1,"y":2}`) || got.Stop.Reason != uzda.StopUse || got.deltas != "" || len(got.warnings) != 1 {
		t.Errorf("%s, shown %q, %+v, %v", blocks(got.Message.Blocks), got.deltas, got.warnings, err)
	}
}

func (r real) thinking(t *testing.T) {
	for _, c := range [][2]string{{"", "Hm."}, {"high", "Hm."}, {"none", ""}} {
		effort, want := c[0], c[1]
		req := modeltest.Hello()
		req.Head.Params.Effort = effort
		got, err := hear(t, r.model("thinks"), req)
		thought := ""
		for _, b := range got.Message.Blocks {
			if b, ok := b.(uzda.Thinking); ok {
				thought += b.Text
			}
		}
		if err != nil || thought != want || !strings.HasSuffix(got.Message.String(), "Yes.") {
			t.Errorf("effort %q: %s, %v", effort, blocks(got.Message.Blocks), err)
		}
		req.View = append(req.View, answered(got, "")...)
		if _, err := hear(t, r.model("thinks"), req); err != nil {
			t.Error(err)
		}
	}
	req := modeltest.Hello() // one that can't
	req.Head.Params.Effort = "high"
	if got, err := hear(t, r.model("chat"), req); err != nil || len(got.Attempts) != 1 {
		t.Errorf("attempts %+v, %v", got.Attempts, err)
	}
}

func (r real) schema(t *testing.T) {
	req := modeltest.Hello()
	req.Head.Params.Schema = json.RawMessage(`{"type":"object","properties":{"sum":{"type":"integer"},"ok":{"type":"boolean"}},"required":["sum","ok"]}`)
	got, err := hear(t, r.model("chat"), req)
	var answer struct {
		Sum *int
		OK  *bool
	}
	if err != nil || json.Unmarshal([]byte(got.Message.String()), &answer) != nil || answer.Sum == nil || answer.OK == nil {
		t.Errorf("%q, %v", got.Message.String(), err)
	}
}

func (r real) tools(t *testing.T) {
	req := asking()
	req.Head.Tools = append(req.Head.Tools, uzda.ToolSpec{Name: "none"}, uzda.ToolSpec{Name: "odd", Input: json.RawMessage(`{"type":"object","$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}}}},
		"properties":{"any":true,"not":{"not":{}},"ref":{"$ref":"#/$defs/n"},"const":{"const":5},"types":{"type":["string","null"]},"one":{"oneOf":[{"type":"string"},{"type":"array"}]},"map":{"type":"object","additionalProperties":{"type":"integer"}}},"required":["any"],"additionalProperties":false}`)})
	if _, err := hear(t, r.model("chat"), req); err != nil {
		t.Error(err)
	}
}

func (r real) limits(t *testing.T) {
	for _, c := range []struct {
		max, numCtx int
		want        uzda.StopReason
	}{{16, trained, uzda.StopLength}, {4000, 128, uzda.StopContext}} {
		req := modeltest.Hello()
		m := r.model("endless")
		req.Max, m.NumCtx = c.max, c.numCtx
		got, err := hear(t, m, req)
		if err != nil || got.Stop.Reason != c.want || got.Stop.Usage.Output > c.max {
			t.Errorf("at most %d in a window of %d: %s, %+v, %v", c.max, c.numCtx, got.Stop.Reason, got.Stop.Usage, err)
		}
	}
}

func (r real) stuck(t *testing.T) {
	_, err := hear(t, r.model("stuck"), modeltest.Hello())
	if p := failure(t, err); p.Code != "cut" || !strings.Contains(p.Message, "again and again") || p.Usage.Output == 0 {
		t.Errorf("%v", err)
	}
}

func (r real) window(t *testing.T) {
	words := func(n int) *uzda.Request {
		req := modeltest.Hello()
		req.View[0].Message.Blocks = uzda.Say(strings.Repeat(" "+longWord, n))
		return req
	}
	// Ollama by itself would give 4,096 tokens here.
	got, err := hear(t, r.model("chat"), words(4800))
	if err != nil || got.Stop.Usage.Input < 4800 || len(got.warnings) > 0 {
		t.Errorf("%d tokens were read, %+v, %v", got.Stop.Usage.Input, got.warnings, err)
	}
	if m, err := r.model("chat").Probe(t.Context()); err != nil || m.NumCtx != trained {
		t.Errorf("the window is %d, %v", m.NumCtx, err)
	}
	_, err = hear(t, r.model("chat"), words(6000)) // more than it was trained for
	if p := failure(t, err); p.Code != "context" || p.Retryable() {
		t.Errorf("%v", err)
	}
	// As an older server, and one whose num_ctx somebody dropped.
	m, req := r.model("chat"), words(4800)
	req.Head.Params.Options = map[string]json.RawMessage{"truncate": json.RawMessage("true"), "num_ctx": json.RawMessage("null")}
	got, err = hear(t, m, req)
	if err != nil || len(got.warnings) != 1 || got.warnings[0].Code != "prompt_cut" || !strings.Contains(got.warnings[0].Text, "4096") {
		t.Errorf("%d tokens were read, %+v, %v", got.Stop.Usage.Input, got.warnings, err)
	}
}

func (r real) cancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	req := modeltest.Hello()
	req.Max = 100_000
	var at time.Time
	for _, err := range r.model("endless").Stream(ctx, req) {
		if at.IsZero() {
			at = time.Now()
			cancel()
		}
		if err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	}
	if late := time.Since(at); late > time.Second {
		t.Errorf("the stream went on for %v after the cancel", late)
	}
	cancel()
}

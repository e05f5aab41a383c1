package config_test

import (
	"bytes"
	"strings"
	"testing"
)

const ownModel = `models:
  own:
    id: acme/llm-1
    profile: openai
    base: https://models.acme.test/v1
    key: ${ACME_API_KEY}
    headers: {X-Team: $TEAM, X-Secret: hush-hush}
    ca_file: acme.pem
    window: 200_000
    max_output: 8000
    retries: 0
    requests_per_minute: 50
    tokens_per_minute: 400000
    fallback: [anthropic/claude-haiku-5-5, other]
    options: {top_k: 5}
    tool_choice: notes
    parallel_calls: false
    strict: true
  other: {id: ollama/qwen3}
`

// L12: all of a model can be set, and a key is named, never shown; nor are headers.
func TestModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.options.Env = append(w.options.Env, "ACME_API_KEY=acme-secret-1")
	w.put("uzda.yaml", ownModel)
	c := w.load()
	m := c.Models["own"]
	for _, x := range [][2]any{
		{m.ID, "acme/llm-1"}, {m.Profile, "openai"}, {m.Base, "https://models.acme.test/v1"}, {m.Key, "ACME_API_KEY"}, {m.Headers["X-Team"], "$TEAM"},
		{m.CAFile, w.repo + "/acme.pem"}, {m.Window, 200_000}, {m.MaxOutput, 8000}, {*m.Retries, 0}, {m.RequestsPerMinute, 50},
		{m.TokensPerMinute, 400_000}, {strings.Join(m.Fallback, " "), "anthropic/claude-haiku-5-5 other"}, {string(m.Params.Options["top_k"]), "5"},
		{m.Params.Choice, "notes"}, {m.Params.NoParallel, true}, {m.Params.Strict, true},
	} {
		if x[0] != x[1] {
			t.Errorf("got %v, want %v", x[0], x[1])
		}
	}
	var text, raw bytes.Buffer
	if c.WriteText(&text) != nil || c.WriteJSON(&raw) != nil {
		t.Fatal("not written")
	}
	for _, out := range []string{text.String(), raw.String()} {
		if strings.Contains(out, "acme-secret-1") || strings.Contains(out, "hush-hush") {
			t.Errorf("a secret is shown:\n%s", out)
		}
		if !strings.Contains(out, "$ACME_API_KEY (set)") || !strings.Contains(out, "X-Secret") {
			t.Errorf("what is set is not shown:\n%s", out)
		}
	}
	w.options.Env = w.options.Env[:len(w.options.Env)-1]
	if got := item(t, w.load(), "models.own.key").Value; got != "$ACME_API_KEY (not set)" {
		t.Errorf("a variable that is not set is shown as %v", got)
	}
}

// A key that somebody writes where its variable belongs is refused, and stands in
// no message.
func TestKeysStayUnseen(t *testing.T) {
	t.Parallel()
	const key = "gsk_live0secret1"
	for _, c := range []struct{ line, want string }{
		{"key: " + key, "models.m.key is not the name of a variable; want the variable that holds it, such as $EXAMPLE_API_KEY; never the key itself"},
		{"key: sk-ant-" + key, "models.m.key is not the name of a variable"},
		{"key: \"\"", "models.m.key is not the name of a variable"},
		{"base: https://me:" + key + "@x.test/v1", "models.m.base holds a user or a password"},
		{"base: " + key, "models.m.base is no URL"},
		{"base: ftp://x.test", "models.m.base is no URL"},
		{"headers: {X-Key: [" + key + "]}", "models.m.headers.X-Key wants text on one line"},
		{"headers: {X-Key: \"a\\n" + key + "\"}", "models.m.headers.X-Key wants text on one line"},
		{"headers: {Host: " + key + "}", "the header Host is set by the program itself"},
		{"headers: {\"X Key\": x}", `"X Key" cannot name a header`},
		{"headers: x", "models.m.headers wants headers, each on a line: Name: text"},
		{"retries: -1", "models.m.retries is \"-1\"; want a whole number from 0 on"},
		{"retries: \"2\"", "want a number, without quotes"},
		{"strict: \"true\"", `models.m.strict is "true"; want true or false, without quotes`},
		{"parallel_calls: off", `models.m.parallel_calls is "off"; want true or false`},
		{"parallel_calls: 1", `models.m.parallel_calls is "1"; want true or false`},
		{"strict: [true]", "models.m.strict wants true or false"},
		{"tool_choice: true", "models.m.tool_choice is true, which YAML reads as no text"},
		{"tool_choices: any", `did you mean "models.m.tool_choice"?`},
		{"window: 0", "models.m.window is 0; want 1 or more"},
		{"profile: opnai", `models.m.profile is "opnai"; want one of anthropic`},
		{"wnidow: 5", `did you mean "models.m.window"?`},
	} {
		w := newWorld(t)
		w.put("uzda.yaml", "models:\n  m:\n    id: a/b\n    "+c.line+"\n")
		got := w.faults().Error()
		if !strings.Contains(got, c.want) || !strings.HasPrefix(got, "uzda.yaml:4:") || strings.Contains(got, key) {
			t.Errorf("%s:\ngot  %s\nwant %s", c.line, got, c.want)
		}
	}
}

// A stronger file takes back what a weaker one switched, and each value is shown as
// it was written.
func TestSwitches(t *testing.T) { // M3
	t.Parallel()
	w := newWorld(t)
	w.putUser("models:\n  m: {id: a/b, strict: true, parallel_calls: false}\n")
	w.put("uzda.yaml", "models:\n  m: {strict: false, parallel_calls: TRUE}\n")
	c := w.load()
	if p := c.Models["m"].Params; p.Strict || p.NoParallel {
		t.Errorf("the project's file does not count: %+v", p)
	}
	if strict, parallel := item(t, c, "models.m.strict"), item(t, c, "models.m.parallel_calls"); strict.Value != false || parallel.Value != true || parallel.Origin != "uzda.yaml:2" {
		t.Errorf("shown as %+v and %+v", strict, parallel)
	}
}

// A project that is not trusted sends neither keys nor data to a place of its
// choosing: it sets no base, key, header, certificate or option, and it does not
// change what a model of the user's own is.
func TestStrangersModels(t *testing.T) { // S1
	t.Parallel()
	w := stranger(t)
	w.putUser("models:\n  work: {id: vllm/qwen, base: https://gpu.test, key: $GPU_KEY}\n  fast: {id: anthropic/claude-haiku-5-5}\n")
	w.put("uzda.yaml", ownModel+"  work: {id: openai/x, profile: openai, effort: low}\n  fast: {id: openai/gpt-6-luna}\nhttp: {ca_file: evil.pem}\n")
	c := w.load()
	m := c.Models["own"]
	if m.ID != "acme/llm-1" || m.Window != 200_000 || m.Base != "" || m.Key != "" || m.Headers != nil || m.CAFile != "" || m.Params.Options != nil || c.CAFile != "" {
		t.Errorf("a stranger's model: %+v, certificates %q", m, c.CAFile)
	}
	if work := c.Models["work"]; work.ID != "vllm/qwen" || work.Profile != "" || work.Key != "GPU_KEY" || work.Params.Effort != "low" {
		t.Errorf("the user's model became %+v", work)
	}
	if c.Models["fast"].ID != "openai/gpt-6-luna" {
		t.Errorf("a name may stand for another model: %+v", c.Models["fast"])
	}
	if c.LeftOut("models.own.base") != "uzda.yaml:5" || c.LeftOut("models.own.window") != "" {
		t.Errorf("left out: %q", c.LeftOut("models.own.base"))
	}
	all := strings.Join(c.Warnings, "\n")
	for _, key := range []string{"models.own.base", "models.own.key", "models.own.headers", "models.own.ca_file", "models.own.options", "models.work.id", "models.work.profile", "http.ca_file"} {
		if !strings.Contains(all, key+" (uzda.yaml:") {
			t.Errorf("no warning of %s:\n%s", key, all)
		}
	}
	w.options.Env = append(w.options.Env, "UZDA_TRUST="+w.repo)
	if c := w.load(); c.Models["own"].Key != "ACME_API_KEY" || c.Models["work"].ID != "openai/x" || c.CAFile != w.repo+"/evil.pem" {
		t.Errorf("trusted: %+v", c.Models)
	}
}

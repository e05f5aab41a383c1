package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/model/anthropic"
	"github.com/uzda-dev/uzda/model/modeltest"
	"github.com/uzda-dev/uzda/model/ollama"
	"github.com/uzda-dev/uzda/model/openai"
	"github.com/uzda-dev/uzda/tool"
)

var weighs = tool.New("weigh", "Weigh a thing.", uzda.Effects{ReadOnly: true}, func(_ context.Context, in struct {
	Thing string `json:"thing"`
}) (string, error) {
	return fmt.Sprintf("%s: %d g", in.Thing, len(in.Thing)), nil
})

// A session goes from one provider to others and back, with thinking and calls:
// strict servers accept every request, thinking goes only to who thought it, and
// what is recorded stays as it came. Each place is visited with a new runner, as
// after a restart. M2 case:T17
func TestSwitchingProviders(t *testing.T) {
	t.Parallel()
	turn := func(who string) func(r *modeltest.Request) modeltest.Turn {
		return func(r *modeltest.Request) modeltest.Turn {
			if r.Assistant%2 == 0 {
				return modeltest.Turn{Thinking: "Hm: " + who, Text: "I weigh two.", Calls: []modeltest.Call{
					{Name: "weigh", Input: `{"thing": "żółw"}`}, {Name: "weigh", Input: `{"thing":"dom"}`},
				}}
			}
			return modeltest.Turn{Thinking: "So it is.", Text: "Weighed by " + who + "."}
		}
	}
	claude := modeltest.Serve(t, modeltest.Config{Name: "claude", Answer: turn("claude")})
	gpt := modeltest.Serve(t, modeltest.Config{Name: "gpt", Answer: turn("gpt")})
	short := modeltest.Serve(t, modeltest.Config{Name: "mistral", Answer: turn("mistral"), Rules: modeltest.Rules{NineIDs: true}})
	llama := modeltest.Serve(t, modeltest.Config{Name: "llama", Answer: turn("llama"), NoKey: true, Local: modeltest.Local{Kind: modeltest.LlamaServer, Window: 32_768}})
	local := modeltest.Serve(t, modeltest.Config{Name: "ollama", Answer: turn("ollama"), NoKey: true, Local: modeltest.Local{Kind: modeltest.Ollama}})
	models := map[string]uzda.Model{
		"opus":    anthropic.Model{ID: "claude-opus-5-5", Key: "k", Base: claude.URL},
		"sonnet":  anthropic.Model{ID: "claude-sonnet-5-5", Key: "k", Base: claude.URL},
		"gpt":     openai.Model{ID: "gpt-6-sol", Key: "k", Base: gpt.URL + "/v1"},
		"mistral": openai.Model{ID: "mistral-large", Profile: openai.Mistral(), Key: "k", Base: short.URL + "/v1"},
		"llama":   openai.Model{ID: "qwen3", Profile: openai.LlamaServer(), Base: llama.URL + "/v1"},
		"ollama":  ollama.Model{ID: "qwen3", Base: local.URL, NumCtx: 32_768},
	}
	store := journal.Memory()
	was := map[uzda.Seq]string{}
	for i, name := range strings.Fields("opus gpt opus sonnet mistral opus ollama gpt llama opus mistral gpt") {
		post := uzda.Posted{ID: fmt.Sprint(i), Blocks: uzda.Say(fmt.Sprintf("Weigh again, with %s 🐢.", name))}
		if _, err := store.Append(t.Context(), "s", uzda.At{Head: uzda.AnyHead}, post); err != nil {
			t.Fatal(err)
		}
		r := agent.Runner{Agent: agent.Agent{Model: models[name], System: "You weigh things.", Tools: []uzda.Tool{weighs}}, Store: store}
		s, err := r.Run(t.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		if s.Ended == nil || s.Ended.Reason != uzda.EndTurn || !strings.HasPrefix(s.Last.Answer, "Weighed by ") {
			t.Fatalf("visit %d, of %s: %+v, %q", i, name, s.Ended, s.Last.Answer)
		}
		for _, e := range s.View {
			raw, err := json.Marshal(e.Message)
			if err != nil {
				t.Fatal(err)
			}
			if before, ok := was[e.Seq]; ok && before != string(raw) {
				t.Errorf("message %d was %s, is %s", e.Seq, before, raw)
			}
			was[e.Seq] = string(raw)
		}
	}
	// Thinking went only to who thought it.
	for name, srv := range map[string]*modeltest.Server{"claude": claude, "gpt": gpt, "mistral": short, "llama": llama, "ollama": local} {
		for _, req := range srv.Requests() {
			for _, other := range []string{"claude", "gpt", "mistral", "llama", "ollama"} {
				if other != name && bytes.Contains(req.Body, []byte("Hm: "+other)) {
					t.Errorf("%s was sent what %s thought", name, other)
				}
			}
		}
	}
	if last := claude.Requests()[len(claude.Requests())-1].Body; !bytes.Contains(last, []byte("Hm: claude")) {
		t.Error("what claude thought does not come back to it")
	}
}

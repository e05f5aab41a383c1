package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/policy"
)

const secret = "hunter2-and-\"more\"\nlines"

// chunks is a model that streams what it is given, an ask after the other.
type chunks [][]any

func (c chunks) Stream(_ context.Context, r *uzda.Request) iter.Seq2[uzda.Chunk, error] {
	return func(yield func(uzda.Chunk, error) bool) {
		for _, one := range c[min(r.Ask, len(c))-1] {
			ok := true
			switch one := one.(type) {
			case error:
				ok = yield(nil, one)
			case uzda.Chunk:
				ok = yield(one, nil)
			}
			if !ok {
				return
			}
		}
	}
}

// A secret that Uzda holds shows nowhere: not in what the model says, thinks or
// calls, nor in pieces as it streams, nor in errors of the provider, of retries,
// of previews, checks and tools, nor in the part for people, nor in configuration.
func TestSecretsNowhere(t *testing.T) { // rule 16
	t.Parallel()
	red := policy.NewSecrets(map[string]string{"PW": secret})
	inJSON, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	var deltas []any
	for i, block := range []string{"I use " + secret + ".", "thinking of " + secret, `{"key":` + string(inJSON) + `}`} {
		for _, c := range block {
			deltas = append(deltas, uzda.Delta{Block: i, Kind: []string{"text", "thinking", "input"}[i], Text: string(c)})
		}
	}
	first := append(deltas, uzda.Attempt{N: 1, Error: "refused " + secret})
	first = append(first, deltas...)
	item := &uzda.Item{Blocks: 1, Raw: json.RawMessage(`{"thought":` + string(inJSON) + `}`)}
	first = append(first,
		uzda.Done{Block: uzda.Text{Text: "I use " + secret + "."}}, uzda.Done{Block: uzda.Thinking{Text: "of " + secret, Signature: "proof"}, Item: item},
		uzda.Done{Block: uzda.Opaque{Origin: "x", Raw: item.Raw}},
		uzda.Done{Block: uzda.ToolUse{Name: "send", Input: json.RawMessage(`{"key":` + string(inJSON) + `}`)}},
		uzda.Done{Block: uzda.ToolUse{Name: "read", Input: json.RawMessage(`{"bad":` + string(inJSON) + `}`)}},
		uzda.Stop{Reason: uzda.StopUse, Raw: secret, Detail: secret})
	cut := append([]any{uzda.Delta{Kind: "text", Text: "half of " + secret}}, fmt.Errorf("broke at %s", secret))
	last := append([]any{}, &uzda.ProviderError{Code: "unknown", Message: secret, Hint: "not " + secret})

	j, w := mem(), &world{}
	var got string
	spills := fake{w, uzda.ToolSpec{Name: "send"}, func(_ context.Context, u uzda.Use) (uzda.Result, error) {
		got = string(u.Input)
		return uzda.Result{Blocks: append(uzda.Say("sent "+secret), uzda.Media{Type: "text/plain", Name: secret, Data: []byte(secret)}, uzda.Opaque{Raw: item.Raw}),
			People: uzda.Say(secret)}, nil
	}}
	r := runner(w, j)
	r.Model, r.Redact = chunks{first, {uzda.Done{Block: uzda.Text{Text: "done"}}, uzda.Stop{Reason: uzda.StopEnd}}, cut, last}, red
	r.System, r.Gates = "Use "+secret, []uzda.Gate{failsWith(secret)}
	r.Tools = []uzda.Tool{tells{spills}, w.tool("read", reads, nil)}
	r.Verify = leaky{}
	var mu sync.Mutex
	said := map[string]string{}
	var all strings.Builder
	r.Events = func(_ uzda.SessionID, evs ...uzda.Event) {
		mu.Lock()
		defer mu.Unlock()
		for _, e := range evs {
			if s, ok := e.Body.(uzda.Streaming); ok {
				said[s.Delta.Kind] += s.Delta.Text
			}
			fmt.Fprintf(&all, "%+v\n", e.Body)
		}
	}
	post(t, j, hello("1"))
	run(t, r)
	answers(t, j, uzda.Allow)
	s := run(t, r)
	raw, err := json.Marshal(events(t, j))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"hunter2", "and-", "aHVudGVy"} {
		if strings.Contains(string(raw), part) {
			t.Errorf("the journal holds %q: %s", part, around(string(raw), part))
		}
		if strings.Contains(all.String(), part) {
			t.Errorf("watchers saw %q: %s", part, around(all.String(), part))
		}
	}
	for kind, text := range said {
		if n := strings.Count(text, "{{secret:PW}}"); n == 0 {
			t.Errorf("%s streamed as %q", kind, text)
		}
	}
	if got != `{"key":`+string(inJSON)+`}` {
		t.Errorf("the tool got %s", got)
	}
	if reason(s) == "" {
		t.Errorf("the turn goes on: %s", kinds(t, j))
	}
	for _, kind := range []string{"tried", "broken", "verified", "judged"} {
		if !strings.Contains(kinds(t, j), kind) {
			t.Errorf("nothing is %s: %s", kind, kinds(t, j))
		}
	}
	if th, ok := s.View[1].Message.Blocks[1].(uzda.Thinking); !ok || th.Signature != "" || s.View[1].Message.Items != nil {
		t.Errorf("a thought that was changed goes back as it came: %+v", s.View[1].Message)
	}
	valid(t, s)
}

func around(text, part string) string {
	i := strings.Index(text, part)
	return text[max(0, i-80):min(len(text), i+80)]
}

// tells has a preview that says too much.
type tells struct{ fake }

func (tells) Preview(context.Context, uzda.Use) (string, string, error) {
	return "will send " + secret, secret, nil
}

type failsWith string

func (f failsWith) Check(_ context.Context, a uzda.Action) (uzda.Verdict, error) {
	if a.Spec.Name == "send" {
		return uzda.Verdict{Decision: uzda.Ask}, nil
	}
	return uzda.Verdict{}, errors.New("gate " + string(f))
}

type leaky struct{}

func (leaky) Verify(context.Context, agent.Work) (bool, string, error) {
	return false, "wrong: " + secret, nil
}
func (leaky) String() string { return "check --password " + secret }

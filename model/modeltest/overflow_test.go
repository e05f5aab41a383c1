package modeltest_test

import (
	"testing"

	"github.com/uzda-dev/uzda/model/modeltest"
)

// A request over the window is refused in the dialect that is set, and counted as
// the tokenizer counts that is set. case:C06
func TestOverflow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		overflow modeltest.Overflow
		status   int
		says     string
	}{
		{modeltest.OverflowOwn, 400, `"context_length_exceeded"`},
		{modeltest.OverflowOpenAI, 400, `"context_length_exceeded"`},
		{modeltest.OverflowAnthropic, 400, `tokens > 20 maximum`},
		{modeltest.OverflowGemini, 400, `[{"error":{"code":400`},
		{modeltest.OverflowBedrock, 400, `Input is too long`},
		{modeltest.OverflowLlama, 400, `"n_ctx":20,"n_prompt_tokens":`},
		{modeltest.OverflowVLLM, 400, `context length is 20 tokens`},
		{modeltest.OverflowBytes, 413, `<title>413`},
	} {
		t.Run(string(c.overflow), func(t *testing.T) {
			t.Parallel()
			s := modeltest.Serve(t, modeltest.Config{Turns: []modeltest.Turn{{Text: "12345678"}}, Overflow: c.overflow, Times: 4, Models: []modeltest.Model{{ID: "m", Window: 20}}})
			got := post(t, s.URL+"/v1/chat/completions", wires[1].whole)
			if got.status != c.status {
				t.Errorf("status %d", got.status)
			}
			contains(t, got.body, c.says)
			if r := s.Asks()[0]; r.Tokens != 4*8 || r.Billed || r.Status != c.status {
				t.Errorf("%+v", r)
			}
		})
	}
}

// A tokenizer that counts more says so in the usage, also of what was cached.
func TestTimes(t *testing.T) {
	t.Parallel()
	s := modeltest.Serve(t, modeltest.Config{Turns: []modeltest.Turn{{Text: "12345678"}}, Times: 3})
	got := post(t, s.URL+"/v1/chat/completions", wires[1].whole)
	contains(t, got.body, `"prompt_tokens":24,"completion_tokens":6`)
}

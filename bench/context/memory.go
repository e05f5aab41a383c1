package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
)

// plainHead is a head as small as one may be: a share of the request then is
// nearly one of the messages.
func plainHead(tools ...uzda.ToolSpec) uzda.Head {
	return uzda.Head{Model: "bench/none", System: "Help the user. Use recall for what you no longer see.",
		Tools: append(tools, uzda.ToolSpec{Name: "recall", Description: "Gives back an earlier part of this session.",
			Input: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`), Effects: uzda.Effects{ReadOnly: true}, Source: "built-in"})}
}

// memories reads the conversations of BFCL's memory category: what a person tells,
// and questions on it. Every conversation becomes a session in which the agent only
// acknowledges, so that all facts are in the person's words.
func memories(ctx context.Context, shared string) ([]*story, error) {
	raw, err := os.ReadFile(filepath.Join(shared, "bench", "bfcl_memory", "memory.json"))
	if err != nil {
		return nil, err
	}
	return readMemories(ctx, raw)
}

func readMemories(ctx context.Context, raw []byte) ([]*story, error) {
	var in struct {
		Conversations map[string][]struct {
			ID, Text string
		}
		Questions []struct {
			Scenario, Question string
			Answers, Evidence  []string
		}
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, fmt.Errorf("read the memory conversations: %w", err)
	}
	var names []string
	for name := range in.Conversations {
		names = append(names, name)
	}
	slices.Sort(names)
	var out []*story
	for _, name := range names {
		t, turns := tell(plainHead()), map[string]string{}
		for _, turn := range in.Conversations[name] {
			turns[turn.ID] = strings.ToLower(turn.Text)
			t.post(turn.Text)
			t.end("I see.")
		}
		t.post("I have some questions on what I told you.")
		var needs []need
		for _, q := range in.Questions {
			n := need{query: q.Question, texts: q.Answers}
			// Only what was said can be kept: some answers are put in other words.
			if q.Scenario == name && slices.ContainsFunc(q.Evidence, func(id string) bool { return n.met(turns[id]) }) {
				needs = append(needs, n)
			}
		}
		s, err := t.story(ctx, "memory", name, plainHead(), needs)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

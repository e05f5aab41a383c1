package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// tasksADay is how many tasks of tau2 make a session: a clerk's day.
const tasksADay = 12

// A task of tau2 with the actions that solve it and what they gave.
type task struct {
	ID       string
	Scenario struct {
		Instructions struct {
			Reason string `json:"reason_for_call"`
			Known  string `json:"known_info"`
		}
	}
	Actions []struct {
		Name, Requestor string
		Arguments       json.RawMessage
		Result          *string
		Error           string
	}
	Diff [][]json.RawMessage `json:"db_diff"`
}

// days reads a domain of tau2. The tasks that have actions follow one another,
// twelve a session. What is needed of a session: the values with a digit that
// arguments of its actions and changes of its database hold, and that stand in an
// earlier result and in nothing that a person said: what the clerk had to read before
// he could act.
func days(ctx context.Context, shared, domain string) ([]*story, error) {
	f, err := os.Open(filepath.Join(shared, "bench", "tau2", domain+".json.gz"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	return readDays(ctx, domain, raw, tasksADay)
}

func readDays(ctx context.Context, domain string, raw []byte, size int) ([]*story, error) {
	var in struct{ Tasks []task }
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, fmt.Errorf("read the tasks of %s: %w", domain, err)
	}
	in.Tasks = slices.DeleteFunc(in.Tasks, func(t task) bool { return len(t.Actions) == 0 })
	var out []*story
	for day := range slices.Chunk(in.Tasks, size) {
		s, err := clerk(ctx, domain, fmt.Sprintf("%s-%d", domain, len(out)+1), day)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// clerk is a session of some tasks.
func clerk(ctx context.Context, domain, name string, tasks []task) (*story, error) {
	t, w := tell(plainHead()), wants{seen: map[string]bool{}}
	for _, one := range tasks {
		words := one.Scenario.Instructions.Reason + "\n" + one.Scenario.Instructions.Known
		t.post(words)
		w.told += strings.ToLower(words) + "\n"
		for _, a := range one.Actions {
			w.from(a.Arguments)
			act := act{tool: a.Name, input: a.Arguments, result: a.Error, failed: a.Result == nil, effect: changes(a.Name)}
			if a.Result != nil {
				act.result = *a.Result
			}
			if len(act.input) == 0 {
				act.input = json.RawMessage(`{}`)
			}
			t.do("", act)
			w.results = append(w.results, given{input: string(a.Arguments), text: act.result})
		}
		for _, d := range one.Diff {
			if len(d) > 2 {
				w.from(d[2])
			}
		}
		t.end("That is done.")
	}
	t.post("Now report on today's cases.")
	return t.story(ctx, domain, name, plainHead(), w.needs)
}

func changes(tool string) bool {
	for _, p := range []string{"get_", "find_", "list_", "search_", "check_", "calculate", "think"} {
		if strings.HasPrefix(tool, p) {
			return false
		}
	}
	return true
}

// given is a result and the arguments that it was given for.
type given struct{ input, text string }

// wants gathers what is needed.
type wants struct {
	told    string // by people: kept by other means
	results []given
	seen    map[string]bool
	needs   []need
}

// from takes the values of a JSON text that stand in a result so far.
func (w *wants) from(raw json.RawMessage) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // 182.50 stays as it is written
	var v any
	if d.Decode(&v) == nil {
		w.walk("", v)
	}
}

func (w *wants) walk(key string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range sorted(v) {
			w.walk(k, v[k])
		}
	case []any:
		for _, one := range v {
			w.walk(key, one)
		}
	case string:
		w.value(key, v)
	case json.Number:
		w.value(key, v.String())
	}
}

// value wants a value that is a fact: it has a digit and is not so short that it
// stands everywhere.
func (w *wants) value(key, v string) {
	if len(v) < 4 || len(v) > 60 || !strings.ContainsAny(v, "0123456789") || w.seen[v] {
		return
	}
	low := strings.ToLower(v)
	if stands(w.told, low) {
		return
	}
	for _, g := range w.results {
		if !stands(strings.ToLower(g.text), low) {
			continue
		}
		w.seen[v] = true
		w.needs = append(w.needs, need{query: w.words(g, key), texts: []string{v}})
		return
	}
}

// words are what one would search for: what the result was asked for, and what the
// value is.
func (w *wants) words(g given, key string) string {
	var in map[string]any
	var parts []string
	if json.Unmarshal([]byte(g.input), &in) == nil {
		for _, k := range sorted(in) {
			if s, ok := in[k].(string); ok {
				parts = append(parts, s)
			}
		}
	}
	return strings.Join(append(parts, strings.ReplaceAll(key, "_", " ")), " ")
}

func sorted(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

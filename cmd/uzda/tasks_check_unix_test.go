//go:build unix

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/sqlite"
	"github.com/uzda-dev/uzda/window"
)

// ownTools are what each agent must be given, in the order in which the provider
// gets them. Each costs tokens in every request, so none comes or goes unseen.
var ownTools = map[string][]string{
	"default": strings.Fields("delete_file edit_file fetch glob grep notes read_file read_output recall shell todo write_file"),
	"coder":   strings.Fields("delete_file edit_file fetch glob grep notes read_file read_output recall shell todo write_file"),
	"data":    strings.Fields("describe_table list_tables notes read_output recall run_query"),
}

// mostHead is how many tokens, about, system prompt and tools may have together. They
// are sent with every request: whoever raises one does it here, on purpose.
var mostHead = map[string]int{"default": 4850, "coder": 5050, "data": 2350}

// fits says whether a text is what was wanted: /a regular expression/, or exactly.
func fits(want, got string) bool {
	if re, ok := strings.CutPrefix(want, "/"); ok && strings.HasSuffix(re, "/") {
		return regexp.MustCompile("(?s)" + strings.TrimSuffix(re, "/")).MatchString(got)
	}
	return strings.TrimSpace(want) == strings.TrimSpace(got)
}

// A made is one call of the session, as the journal tells of it.
type made struct {
	name, verdict, result, read string
	labels                      []uzda.Label
}

func (m made) String() string { return m.name + " " + m.verdict + " " + m.result }

// A tale is what the journal of a task tells.
type tale struct {
	calls  []made
	tails  []string
	gear   []uzda.Equipped
	kinds  map[string]int
	asks   int
	tokens int
	cost   uzda.Money
}

// tell folds the journal into what a task is held against. It is written anew here,
// so that a mistake of the loop's own Fold does not hide itself.
func tell(t *testing.T, path string) tale {
	t.Helper()
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	out, at := tale{kinds: map[string]int{}}, map[uzda.UseID]int{}
	for e, err := range store.Read(t.Context(), taskSession, 0) {
		if err != nil {
			t.Fatal(err)
		}
		out.kinds[e.Body.Kind()]++
		switch b := e.Body.(type) {
		case uzda.Equipped:
			out.gear = append(out.gear, b)
		case uzda.Asked:
			out.asks++
			if b.Tail != "" {
				out.tails = append(out.tails, b.Tail)
			}
		case uzda.Said:
			out.tokens += b.Usage.Input + b.Usage.Output + b.Usage.CacheRead + b.Usage.CacheWrite + b.Usage.CacheLong
			out.cost += b.Cost
			for i, u := range b.Message.Uses() {
				at[uzda.UseID(fmt.Sprintf("%d.%d", e.Seq, i+1))] = len(out.calls)
				out.calls = append(out.calls, made{name: u.Name, verdict: "-", result: "open"})
			}
		case uzda.Judged:
			out.calls[at[b.Use]].verdict = string(b.Verdict.Decision)
		case uzda.Answered:
			out.calls[at[b.Use]].verdict += "+" + string(b.Verdict.Decision)
		case uzda.Returned:
			c := &out.calls[at[b.Result.Use]]
			if c.result, c.read, c.labels = "ok", b.Result.Blocks.String(), b.Result.Labels; b.Result.IsError {
				c.result = string(b.Result.Code)
			}
		}
	}
	return out
}

// check holds what the journal and the provider tell against what is wanted.
func (p *play) check(t *testing.T) {
	t.Helper()
	c := p.command("doctor")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("doctor: %v\n%s", err, out)
	}
	w := p.Want
	got := tell(t, filepath.Join(p.program.dir, "home", "sessions.uzda"))
	if want := max(cmp.Or(w.Asks, p.turns), 0); got.asks != want {
		t.Errorf("the model was asked %d times, want %d", got.asks, want)
	} else if want == 0 {
		return
	}
	p.checkCalls(t, got.calls)
	p.checkHead(t, got.gear)
	for kind, n := range w.Events {
		if got.kinds[kind] != n {
			t.Errorf("%d events are %s, want %d", got.kinds[kind], kind, n)
		}
	}
	if !slices.EqualFunc(w.Tails, got.tails, func(want, got string) bool { return fits("/"+want+"/", got) }) {
		t.Errorf("the requests end with %q, want %q", got.tails, w.Tails)
	}
	t.Logf("%d asks, %d tokens, %s", got.asks, got.tokens, got.cost)
	if w.Tokens == 0 || got.tokens > w.Tokens {
		t.Errorf("it took %d tokens, want at most %d", got.tokens, w.Tokens)
	}
	if cost := got.cost.Dollars(); cost > w.Cost || w.Cost > 0 && cost == 0 {
		t.Errorf("it cost %v dollars, want at most %v", cost, w.Cost)
	}
	notes, err := os.ReadFile(filepath.Join(p.program.dir, "home", "notes", taskSession, "notes.md"))
	if err != nil && !os.IsNotExist(err) {
		t.Error(err)
	}
	if !fits(w.Notes, string(notes)) {
		t.Errorf("the notes are %q, want %q", notes, w.Notes)
	}
	if p.server != nil {
		p.checkWire(t, got.gear)
	}
}

func (p *play) checkCalls(t *testing.T, calls []made) {
	t.Helper()
	for i := range max(len(calls), len(p.Want.Calls)) {
		switch {
		case i >= len(calls):
			t.Errorf("call %d, %q, was not made", i+1, p.Want.Calls[i])
		case i >= len(p.Want.Calls):
			t.Errorf("call %d was not expected: %s\n%s", i+1, calls[i], calls[i].read)
		default:
			want, re, has := strings.Cut(p.Want.Calls[i], " ~ ")
			if calls[i].String() != want {
				t.Errorf("call %d: %s, want %s\n%s", i+1, calls[i], want, calls[i].read)
			}
			if has && !fits("/"+re+"/", calls[i].read) {
				t.Errorf("call %d, %s: the model read what does not fit %q:\n%s", i+1, calls[i], re, calls[i].read)
			}
		}
	}
	for _, kind := range strings.Fields(p.Want.Labels) {
		if !slices.ContainsFunc(calls, func(m made) bool {
			return slices.ContainsFunc(m.labels, func(l uzda.Label) bool { return l.Kind == kind })
		}) {
			t.Errorf("no result has the label %s", kind)
		}
	}
}

// checkHead: the agent's text, word for word, what the folder's instructions add, and
// exactly its tools; and they did not change on the way.
func (p *play) checkHead(t *testing.T, gear []uzda.Equipped) {
	t.Helper()
	if len(gear) == 0 {
		t.Fatal("the model was given nothing")
	}
	text := agentText(t, p.Agent)
	for _, g := range gear {
		head := window.Estimate(text)
		rest, ok := strings.CutPrefix(g.System, text)
		if !ok {
			t.Errorf("the system prompt is not that of %s:\n%s", p.Agent, g.System)
		}
		if len(p.Want.System) == 0 && rest != "" {
			t.Errorf("after the agent's text stands %q", rest)
		}
		for _, re := range p.Want.System {
			if !fits("/"+re+"/", rest) {
				t.Errorf("after the agent's text stands %q, want %q", rest, re)
			}
		}
		var names []string
		for _, s := range g.Tools {
			names = append(names, s.Name)
			head += window.Estimate(s.Name + s.Description + string(s.Input))
		}
		if most := mostHead[p.Agent]; head > most || head < most*9/10 {
			t.Errorf("system prompt and tools have about %d tokens, want a little under %d", head, most)
		}
		if slices.Sort(names); !slices.Equal(names, ownTools[p.Agent]) {
			t.Errorf("its tools are %q, want %q", names, ownTools[p.Agent])
		}
	}
}

func agentText(t *testing.T, name string) string {
	t.Helper()
	return agentCard(t, name).System
}

func agentCard(t *testing.T, name string) card {
	t.Helper()
	data, err := embedded.ReadFile("agents/" + name + ".md")
	if err != nil {
		t.Fatal(err)
	}
	c, err := readCard(name, name, data, true)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// checkWire: each request has the head, byte for byte, and extends the one before.
func (p *play) checkWire(t *testing.T, gear []uzda.Equipped) {
	t.Helper()
	asks := p.server.Asks()
	if len(asks) != p.turns {
		t.Errorf("the provider was asked %d times, want %d", len(asks), p.turns)
	}
	for _, change := range p.server.Changes() {
		if !change.Tail {
			t.Errorf("a request leaves the prefix of the one before: %s", change)
		}
	}
	for i, r := range asks {
		names := slices.Sorted(slices.Values(r.Tools))
		if !slices.Equal(names, ownTools[p.Agent]) {
			t.Errorf("request %d has the tools %q, want %q", i+1, names, ownTools[p.Agent])
		}
		var body struct {
			System json.RawMessage `json:"system"`
			Tools  []struct {
				Name, Description string
			}
		}
		if err := json.Unmarshal(r.Body, &body); err != nil {
			t.Fatal(err)
		}
		system, err := json.Marshal(gear[0].System)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(unescaped(t, body.System), unescaped(t, system)) {
			t.Errorf("request %d has the system prompt %s", i+1, body.System)
		}
		for _, tool := range body.Tools {
			if tool.Description == "" {
				t.Errorf("request %d says nothing of %s", i+1, tool.Name)
			}
		}
		if re := p.Want.Request[i+1]; re != "" && !fits("/"+re+"/", string(r.Body)) {
			t.Errorf("request %d does not fit %q:\n%s", i+1, re, r.Body)
		}
	}
}

// unescaped is JSON in one way of writing.
func unescaped(t *testing.T, raw []byte) []byte {
	t.Helper()
	var v any
	var b bytes.Buffer
	err := json.Unmarshal(raw, &v)
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err == nil {
		err = enc.Encode(v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(b.Bytes())
}

// The texts of the agents are short, and speak of no tool that their agent lacks.
func TestAgentTexts(t *testing.T) { // C1
	t.Parallel()
	most := map[string]int{"default": 600, "data": 600, "coder": 900}
	for name, tools := range ownTools {
		text := agentText(t, name)
		n := window.Estimate(text)
		if n > most[name] || n < 100 {
			t.Errorf("%s has about %d tokens, want at most %d", name, n, most[name])
		}
		// Also a name that no tool has at all: it looks like one.
		for _, word := range regexp.MustCompile(`[a-z]+(_[a-z]+)*`).FindAllString(text, -1) {
			other := slices.Contains(builtIn, word) || strings.Contains(word, "_")
			if other && !slices.Contains(tools, word) {
				t.Errorf("%s speaks of %s, which it does not have", name, word)
			}
		}
		for _, tool := range agentCard(t, name).Tools {
			if !slices.Contains(builtIn, tool) {
				t.Errorf("%s asks for %s, which is no tool", name, tool)
			}
		}
	}
}

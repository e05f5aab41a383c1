package arch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Rule says what the packages in a folder may import besides the standard
// library and the root.
type Rule struct {
	Dir   string   // "x": that folder, "x/*": all below it, "x/...": both
	Ours  []string // folders of ours, in the same form
	Parts []string // modules of others
	Any   bool     // everything
	Bare  bool     // not even the root
}

// Rules is the table "Who may import whom" of the design; the first row that
// matches holds. A new folder needs a row, and a new part its reason in
// docs/dependencies.md.
var Rules = []Rule{
	{Dir: ".", Bare: true},
	{Dir: "agent"},

	// The conformance packages: what they test is given to them.
	{Dir: "journal/journaltest"},
	{Dir: "tool/tooltest", Ours: []string{"internal/*"}},
	{Dir: "model/modeltest", Ours: []string{"internal/*"}},
	{Dir: "memory/memorytest"},

	// Adapters that stand alone.
	{Dir: "window", Ours: []string{"window/register"}},
	{Dir: "window/..."},
	{Dir: "policy", Ours: []string{"policy/command"}, Parts: []string{"golang.org/x/net", "golang.org/x/text"}},
	{Dir: "policy/command", Parts: []string{"mvdan.cc/sh/v3"}},
	{Dir: "policy/..."},
	{Dir: "journal/...", Parts: []string{"github.com/gofrs/flock"}},
	{Dir: "sandbox/..."},
	{Dir: "egress/..."},
	{Dir: "trace/..."},
	{Dir: "cost/..."},
	{Dir: "schedule/..."},
	{Dir: "web/..."},
	{Dir: "a2a/..."},
	{Dir: "acp/..."},

	// Adapters that share what lies in internal.
	{Dir: "model/script", Ours: []string{"internal/*"}, Parts: []string{"github.com/goccy/go-yaml"}},
	{Dir: "model/*", Ours: []string{"internal/*"}},
	{Dir: "tool/query", Ours: []string{"internal/*"}, Parts: []string{"modernc.org/sqlite"}},
	{Dir: "tool/fetch", Ours: []string{"internal/*"}, Parts: []string{"golang.org/x/net"}},
	{Dir: "tool/file", Ours: []string{"internal/*"}, Parts: []string{
		"github.com/aymanbagabas/go-udiff", "github.com/bmatcuk/doublestar/v4",
	}},
	{Dir: "tool/shell", Ours: []string{"internal/*"}, Parts: []string{"mvdan.cc/sh/v3"}},
	{Dir: "tool/...", Ours: []string{"internal/*"}, Parts: []string{
		"github.com/google/jsonschema-go", "github.com/santhosh-tekuri/jsonschema/v6",
	}},
	{Dir: "channel/*", Ours: []string{"internal/*"}},
	{Dir: "hook", Ours: []string{"internal/*"}},
	{Dir: "guide", Ours: []string{"internal/*"}},
	{Dir: "retrieve/...", Ours: []string{"internal/*"}},
	{Dir: "mcp/...", Ours: []string{"internal/*"}},
	{Dir: "sqlite/...", Ours: []string{"internal/*"}, Parts: []string{
		"modernc.org/sqlite", "github.com/gofrs/flock",
	}},
	{Dir: "postgres/...", Ours: []string{"internal/*"}},
	{Dir: "memory/*", Ours: []string{"internal/*", "retrieve"}},

	// What is built on the loop.
	{Dir: "session", Ours: []string{"agent"}},
	{Dir: "answer", Ours: []string{"agent", "session", "internal/*"}},
	{Dir: "flow", Ours: []string{"agent"}},
	{Dir: "mission", Ours: []string{"agent", "session"}},
	{Dir: "eval/...", Ours: []string{"agent", "session"}},

	// internal: each the part named for it.
	{Dir: "internal/testsum/cmd", Ours: []string{"internal/testsum"}},
	{Dir: "internal/arch/cmd", Ours: []string{"internal/arch"}},
	{Dir: "internal/cast/cmd", Ours: []string{"internal/cast"}},
	{Dir: "internal/release/cmd", Ours: []string{"internal/release"}},
	{Dir: "internal/schema", Parts: []string{
		"github.com/google/jsonschema-go", "github.com/santhosh-tekuri/jsonschema/v6",
	}},
	{Dir: "internal/fit", Ours: []string{"internal/raw"}},
	{Dir: "internal/charset", Parts: []string{"golang.org/x/text"}},
	{Dir: "internal/pdf", Ours: []string{"internal/charset"}, Parts: []string{"golang.org/x/text"}},
	{Dir: "internal/*"},

	// The only places that know every adapter.
	{Dir: "cmd/...", Any: true},
	{Dir: "examples/...", Any: true},
}

// Conformance are the packages that test implementations of an interface. Any
// test may import them.
var Conformance = []string{"journal/journaltest", "tool/tooltest", "model/modeltest", "memory/memorytest"}

// TestParts are modules of others that any test may import.
var TestParts = []string{"go.uber.org/goleak", "github.com/rogpeppe/go-internal"}

// TestRules are what the tests of a folder may import besides: the loop and its
// sessions are tested on real stores and tools (docs/adr/0004-test-imports.md).
var TestRules = []Rule{
	{Dir: "agent", Ours: []string{"journal", "sqlite", "model/script", "tool", "policy"}},
	{Dir: "session", Ours: []string{"journal", "sqlite", "model/script", "tool", "policy"}},
	{Dir: "answer", Ours: []string{"journal", "model/script"}},
	// A conformance package is tried on an implementation.
	{Dir: "journal/journaltest", Ours: []string{"journal"}},
	{Dir: "tool/tooltest", Ours: []string{"tool"}},
	{Dir: "model/modeltest", Ours: []string{"model/script"}},
	// An adapter is tried in the loop that it is for.
	{Dir: "model/anthropic", Ours: []string{"agent", "journal", "tool"}},
	{Dir: "model/openai", Ours: []string{"agent", "journal", "tool"}},
	{Dir: "model/ollama", Ours: []string{"agent", "journal", "tool"}},
	// What reads a record is tried on real ones.
	{Dir: "tool/recall", Ours: []string{"journal", "sqlite"}},
	// What fits a provider is held against a validator.
	{Dir: "internal/fit", Parts: []string{"github.com/santhosh-tekuri/jsonschema/v6"}},
}

func match(pattern, dir string) bool {
	if below, ok := strings.CutSuffix(pattern, "/..."); ok {
		return dir == below || strings.HasPrefix(dir, below+"/")
	}
	if below, ok := strings.CutSuffix(pattern, "/*"); ok {
		return strings.HasPrefix(dir, below+"/")
	}
	return dir == pattern
}

func find(rules []Rule, dir string) (Rule, bool) {
	for _, r := range rules {
		if match(r.Dir, dir) {
			return r, true
		}
	}
	return Rule{}, false
}

// Imports returns the imports that break the rules. Modules of their own are
// free, as they are built for themselves.
func (t *Tree) Imports() []string {
	var faults []string
	for _, s := range t.Code {
		if s.Nested {
			continue
		}
		rule, ok := find(Rules, s.Dir)
		if !ok {
			faults = append(faults, fmt.Sprintf("%s: folder %s has no row in Rules of internal/arch; add it as the design has it", s.Path, s.Dir))
			continue
		}
		for _, spec := range s.AST.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil || t.mayImport(s, rule, name) {
				continue
			}
			faults = append(faults, fmt.Sprintf("%s:%d: package in %s may not import %s; see the table in internal/arch/imports.go",
				s.Path, t.line(spec.Pos()), s.Dir, name))
		}
	}
	return faults
}

func (t *Tree) mayImport(s *Source, rule Rule, name string) bool {
	if rule.Any {
		return true
	}
	first, _, _ := strings.Cut(name, "/")
	if !strings.Contains(first, ".") { // the standard library
		return name != "C" && name != "plugin"
	}
	rules := []Rule{rule}
	if s.Test {
		extra, _ := find(TestRules, s.Dir)
		rules = append(rules, extra, Rule{Ours: append([]string{s.Dir}, Conformance...), Parts: TestParts})
	}
	ours, mine := strings.CutPrefix(name, t.Module+"/")
	if name == t.Module {
		return !rule.Bare || s.Test
	}
	return slices.ContainsFunc(rules, func(r Rule) bool {
		if mine {
			return slices.ContainsFunc(r.Ours, func(p string) bool { return match(p, ours) })
		}
		return slices.ContainsFunc(r.Parts, func(p string) bool { return match(p+"/...", name) })
	})
}

// Dependencies returns the modules of others that code of the root module
// imports and that docs/dependencies.md does not name.
func (t *Tree) Dependencies() []string {
	const doc = "docs/dependencies.md"
	raw, err := t.read(doc)
	if err != nil {
		return []string{err.Error()}
	}
	missing := map[string]string{}
	for _, s := range t.Code {
		if s.Nested {
			continue
		}
		for _, spec := range s.AST.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			for _, m := range t.reqs {
				if match(m+"/...", name) && !strings.Contains(string(raw), "`"+m+"`") {
					missing[m] = s.Path
				}
			}
		}
	}
	var faults []string
	for m, file := range missing {
		faults = append(faults, fmt.Sprintf("%s does not name `%s`, which %s imports: say what it does for us, what writing it would cost, how well it is kept", doc, m, file))
	}
	slices.Sort(faults)
	return faults
}

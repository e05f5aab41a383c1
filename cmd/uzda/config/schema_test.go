package config_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/uzda-dev/uzda/cmd/uzda/config"
)

var update = flag.Bool("update", false, "write docs/uzda.schema.json and docs/configuration.md")

// TestDocs holds the written files against the table of keys.
func TestDocs(t *testing.T) {
	t.Parallel()
	schema, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]byte{"uzda.schema.json": schema, "configuration.md": []byte(config.Page())} {
		path := filepath.Join("..", "..", "..", "docs", name)
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the table of keys says; run go test ./cmd/uzda/config -update", path)
		}
	}
}

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	raw, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("uzda.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("uzda.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSchemaAgrees shows that an editor that has the schema and the program say
// the same of a file.
func TestSchemaAgrees(t *testing.T) {
	t.Parallel()
	schema := compiled(t)
	agree := func(t *testing.T, text string, good bool) {
		t.Helper()
		w := newWorld(t)
		w.put("uzda.yaml", text)
		_, loadErr := config.Load(w.options)
		raw, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		schemaErr := schema.Validate(doc)
		if (loadErr == nil) != good || (schemaErr == nil) != good {
			t.Errorf("%q: want good = %t; the program says %v, the schema %v", text, good, loadErr, schemaErr)
		}
	}
	for _, k := range config.Keys() {
		text, _ := sample(k, 1)
		agree(t, in(k, text), true)
		agree(t, strings.Replace(in(k, text), ":", "x:", 1), false)
	}
	for _, text := range []string{
		"limits:\n", "limits: {max_cost: $0.5}\n", "limits: {max_cost: 1}\n", "limits: {max_time: 1h30m}\n",
		"models: {fast: {id: a/b, temperature: 0.3, stops: [x], options: {y: {z: 1}}, max_tokens: 5, effort: low, tool_choice: any, parallel_calls: false, strict: true}}\n",
		"permissions: {deny: [\"Bash(a (b) c)\", mcp__x__*, Read]}\n",
	} {
		agree(t, text, true)
	}
	for _, text := range []string{
		"limits: {max_steps: abc}\n", "limits: {max_steps: 0}\n", "limits: {max_cost: 0}\n", "limits: {max_cost: a}\n", "limits: {max_time: 30}\n",
		"limits: 5\n", "durability: never\n", "verify: true\n", "model: [a]\n", "permissions: {deny: Bash}\n", "permissions: {deny: [\"(x)\"]}\n",
		"permissions: {deny: [7]}\n", "models: {fast: {id: a/b, temperature: 3}}\n", "models: {fast: {id: a/b, top: 3}}\n", "models: {fast: {id: a/b, strict: yes}}\n", "models: {fast: {id: a/b, tool_choice: true}}\n", "models: {a/b: {id: a/b}}\n", "permisions: {}\n",
	} {
		agree(t, text, false)
	}
}

// TestTemplate loads the template as it is, and with every line made to hold.
func TestTemplate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("uzda.yaml", config.Template(nil, ""))
	bare := w.load()
	w.put("uzda.yaml", "")
	if got, want := show(t, bare), show(t, w.load()); got != want {
		t.Errorf("the template changes a default:\n%s\nwant\n%s", got, want)
	}
	w.put("uzda.yaml", regexp.MustCompile(`(?m)^# `).ReplaceAllString(config.Template(nil, ""), ""))
	full := w.load()
	for _, i := range full.Items() {
		if !strings.HasPrefix(i.Origin, "uzda.yaml:") && i.Key != "trust" {
			t.Errorf("%s is not in the template", i.Key)
		}
	}
	if full.Limits.Steps != bare.Limits.Steps || full.Limits.Cost != bare.Limits.Cost || full.Models["fast"].ID == "" {
		t.Errorf("the template shows other defaults: %+v", full.Limits)
	}
}

// A template with a value holds it, whatever it is.
func TestTemplateWithValues(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"anthropic/claude-opus-5-5", "ollama/qwen3:8b", "script:a b.json", "x: y", "#a", "llama/\"q\"", "on", "openrouter/a/b:free"} {
		w := newWorld(t)
		w.put("uzda.yaml", config.Template(map[string]string{"model": model}, "It is there."))
		if c := w.load(); c.Model != model || c.Limits.Steps != 50 {
			t.Errorf("%q became %q", model, c.Model)
		}
	}
}

func show(t *testing.T, c *config.Config) string {
	t.Helper()
	raw, err := json.Marshal(c.Items())
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestTable checks the table itself: names that people type are said once.
func TestTable(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, k := range config.Keys() {
		for _, name := range []string{k.Name, k.Env, "--" + k.Flag} {
			if name == "" || name == "--" {
				continue
			}
			if other, ok := seen[name]; ok {
				t.Errorf("%s belongs to %s and %s", name, other, k.Name)
			}
			seen[name] = k.Name
		}
		if k.Doc == "" || k.Env == "" || k.Default == "" && k.Example == "" {
			t.Errorf("%s lacks a sentence, a variable, or a value to show", k.Name)
		}
	}
	for _, flag := range strings.Fields("agent model db dir max-steps max-tool-calls max-tokens max-cost timeout allow deny permission-mode verify system output-format") {
		if seen["--"+flag] == "" {
			t.Errorf("no key has the flag --%s, which the design names", flag)
		}
	}
}

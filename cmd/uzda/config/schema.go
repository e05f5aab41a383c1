package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// object is a JSON object with its keys in the order in which they were put.
type object struct {
	names  []string
	values map[string]any
}

func (o *object) put(name string, v any) *object {
	if o.values == nil {
		o.values = map[string]any{}
	}
	if _, ok := o.values[name]; !ok {
		o.names = append(o.names, name)
	}
	o.values[name] = v
	return o
}

// MarshalJSON keeps the order, so that the schema reads like the table.
func (o *object) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, name := range o.names {
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(o.values[name])
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, key...), ':'), value...)
	}
	return append(out, '}'), nil
}

// Schema returns the JSON Schema of uzda.yaml, for editors.
func Schema() ([]byte, error) {
	top, sections := &object{}, map[string]*object{}
	for _, k := range keys {
		section, leaf, nested := strings.Cut(k.Name, ".")
		if !nested {
			top.put(k.Name, k.schema())
			continue
		}
		if sections[section] == nil {
			sections[section] = &object{}
			top.put(section, closed(sections[section], "object", "null"))
		}
		sections[section].put(leaf, k.schema())
	}
	fields := &object{}
	for _, k := range modelKeys {
		fields.put(strings.TrimPrefix(k.Name, "models.NAME."), k.schema())
	}
	top.put("models", (&object{}).put("type", []string{"object", "null"}).
		put("description", "Models with parameters, under names of one's own.").
		put("propertyNames", (&object{}).put("pattern", nameForm.String())).
		put("additionalProperties", closed(fields, "object")))
	hooks, group := hookSchema()
	top.put("hooks", hooks)
	root := (&object{}).put("$schema", "https://json-schema.org/draft/2020-12/schema").put("title", "Settings of Uzda ("+FileName+")").
		put("$defs", (&object{}).put("hooks", group))
	for _, name := range []string{"type", "properties", "additionalProperties"} {
		root.put(name, closed(top, "object", "null").values[name])
	}
	raw, err := json.MarshalIndent(root, "", "  ")
	return append(raw, '\n'), err
}

func closed(properties *object, types ...string) *object {
	return (&object{}).put("type", types).put("properties", properties).put("additionalProperties", false)
}

func (k Key) schema() *object {
	o := &object{}
	switch k.Kind {
	case Text, Path:
		o.put("type", "string")
	case Choice:
		o.put("type", "string").put("enum", k.Choices)
	case Count:
		least := 1
		if k.Zero != "" {
			least = 0
		}
		o.put("type", "integer").put("minimum", least)
	case Number:
		o.put("type", "number").put("minimum", 0).put("maximum", 2)
	case Duration:
		o.put("type", "string").put("pattern", `^([0-9]+(\.[0-9]+)?(h|m|s|ms|us|ns))+$`)
	case Money:
		o.put("type", []string{"number", "string"}).put("exclusiveMinimum", 0).put("pattern", `^\$?[0-9]*\.?[0-9]+$`)
	case Rules:
		o.put("type", "array").put("items", (&object{}).put("type", "string").put("pattern", `^[A-Za-z*][A-Za-z0-9_.:*-]*(\([\s\S]*\))?$`))
	case Texts, Paths:
		o.put("type", "array").put("items", (&object{}).put("type", "string"))
	case Free:
		o.put("type", "object")
	case Whole:
		o.put("type", "integer").put("minimum", 0)
	case Switch:
		o.put("type", "boolean")
	case URL:
		o.put("type", "string").put("pattern", `^https?://[^/@]+(/.*)?$`)
	case Variable:
		o.put("type", "string").put("pattern", variableForm.String())
	case Headers:
		o.put("type", "object").put("propertyNames", (&object{}).put("pattern", headerForm.String())).
			put("additionalProperties", (&object{}).put("type", []string{"string", "number", "boolean"}))
	}
	return o.put("description", k.Doc)
}

// Template returns a file of settings with every key, commented out: what a new
// project begins with. Without the "# " in front, a line holds. Those at the top
// of the file that values has hold, with its values; why says where from.
func Template(values map[string]string, why string) string {
	var b strings.Builder
	b.WriteString(comment("", "Settings of Uzda. Take the \"# \" away from what you set; what stays as it is has its default.") +
		comment("", "A flag is stronger than the environment, that than uzda.local.yaml, that than this file, that than your own."))
	section := ""
	for _, k := range keys {
		if k.Name == "trust" { // a project cannot say it of itself
			continue
		}
		head, leaf, nested := strings.Cut(k.Name, ".")
		indent := ""
		if nested {
			indent = "  "
		} else {
			leaf = k.Name
		}
		if nested && head != section {
			fmt.Fprintf(&b, "\n# %s:\n", head)
		} else if !nested {
			b.WriteString("\n")
		}
		section = head
		if v, ok := values[k.Name]; ok && !nested {
			b.WriteString(comment("", k.Doc))
			if why != "" {
				b.WriteString(comment("", why))
			}
			fmt.Fprintf(&b, "%s: %s\n", leaf, scalarText(v))
			continue
		}
		b.WriteString(comment(indent, k.Doc))
		fmt.Fprintf(&b, "# %s%s: %s\n", indent, leaf, k.written())
	}
	b.WriteString("\n## Commands that run at set points of a session; they can only tighten.\n# hooks:\n")
	for _, k := range hookKeys() {
		b.WriteString(comment("  ", k.Doc))
		fmt.Fprintf(&b, "#   %s: %s\n", strings.TrimPrefix(k.Name, "hooks."), k.Example)
	}
	b.WriteString("\n## Models with parameters, under names of your own.\n# models:\n#   fast:\n")
	for _, k := range modelKeys {
		b.WriteString(comment("    ", k.Doc))
		fmt.Fprintf(&b, "#     %s: %s\n", strings.TrimPrefix(k.Name, "models.NAME."), k.written())
	}
	return b.String()
}

// comment writes a sentence as lines of a comment that stay one when "# " is taken
// away.
func comment(indent, text string) string {
	const width = 78
	var b strings.Builder
	line := "## " + indent
	empty := line
	for _, word := range strings.Fields(text) {
		if line != empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			b.WriteString(line + "\n")
			line = empty
		}
		if line != empty {
			line += " "
		}
		line += word
	}
	return b.String() + line + "\n"
}

// scalarText writes a text as YAML reads it back: in quotes, unless it is surely
// no other thing.
func scalarText(v string) string {
	if plainForm.MatchString(v) {
		return v
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return strconv.Quote(v)
	}
	return string(raw)
}

// written is a key's default or example as a line of YAML has it.
func (k Key) written() string {
	switch k.Kind {
	case Rules, Texts, Paths:
		return "[" + fmt.Sprintf("%q", k.sample()) + "]"
	}
	return k.sample()
}

// Page returns the page of settings for docs, in Markdown.
func Page() string {
	var b strings.Builder
	b.WriteString("# Settings\n\n<!-- Written by go test ./cmd/uzda/config -update from cmd/uzda/config/keys.go; edit that. -->\n\n" + pageHead)
	row := func(cells ...string) {
		for i, c := range cells {
			cells[i] = strings.ReplaceAll(c, "|", "\\|")
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	row("key", "value", "default", "variable", "flag", "needs trust", "what it does")
	b.WriteString("|---|---|---|---|---|---|---|\n")
	for _, k := range slices.Concat(keys, hookKeys(), modelKeys) {
		value := string(k.Kind)
		if k.Kind == Choice {
			value = strings.Join(k.Choices, ", ")
		}
		flag := ""
		if k.Flag != "" {
			flag = "--" + k.Flag
		}
		trust := ""
		if k.loosens != nil {
			trust = k.loosens.when
		}
		row(code(k.Name), value, code(k.Default), code(k.Env), code(flag), trust, k.Doc)
	}
	return b.String()
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

const pageHead = "`uzda config` prints every setting with its value and where that came from; `--output-format json` prints the same for programs.\n" + `
## Where a value comes from

The strongest first:

1. a flag
2. an environment variable; an empty one counts as not set
3. ` + "`uzda.local.yaml`" + `, beside the project's file: your own settings for this project, not committed
4. ` + "`uzda.yaml`" + ` of the project
5. your own ` + "`uzda.yaml`" + `: in ` + "`$UZDA_HOME`" + `, or in the folder for configuration (` + "`$XDG_CONFIG_HOME/uzda`, `~/.config/uzda`; on macOS `~/Library/Application Support/uzda`, on Windows `%APPDATA%\\uzda`" + `)
6. the default

The project's files are those of the nearest folder that has one, from the working directory upwards to the root of the repository or your home
folder. A folder above that everybody may write to is passed over, with a warning.

Rules of permission and hooks are the exception: those of all places hold together, so that a ban in your own file cannot be lifted by leaving it out in a project's.

A path is relative to the file that names it; in a variable or a flag it is relative to the working directory. ` + "`~/`" + ` is the home folder.

Sessions are kept in the data folder: ` + "`$UZDA_HOME`, `$XDG_DATA_HOME/uzda`, or `~/.local/share/uzda`" + ` (macOS and Windows as above, with ` + "`%LOCALAPPDATA%`" + `).

## Whom the files are from

A project's files (` + "`uzda.yaml`, `uzda.local.yaml`" + `) may have been written by anybody: one clones a repository and runs Uzda in it. They can always tighten:
deny and ask rules, the modes plan and deny, smaller budgets. What loosens, runs a command or reaches out of the project counts only if you trust the folder; the column "needs
trust" below says which keys those are. The same holds for the project's agents, its hooks and its AGENTS.md. What is left out is a warning that says where it stands. Read the file; then trust the folder,
and all below it, with a line in your own file (5 above):

` + "```yaml\ntrust: [~/src/shop]\n```" + `

or for once with ` + "`--trust .`" + ` or the variable ` + "`UZDA_TRUST`" + `. A project cannot say it of itself. A file that you name yourself in a flag is read as you say.

## Models, keys and the network

A model is named ` + "`PROVIDER/ID`" + `, by an id that the table of models knows (` + "`claude-opus-5-5`" + `), or by a name under ` + "`models`" + `, where it can have parameters, a window, fallbacks,
limits, and a service of its own. With no model named, the first of these services whose key is set answers with its default model, then Ollama, llama-server or vLLM on
this machine, if one answers. ` + "`uzda models`" + ` lists what is known and what can be reached, ` + "`uzda init`" + ` writes down what is found, ` + "`uzda doctor --model`" + ` asks a model for real.

| provider | its key | its place, if it is another |
|---|---|---|
| ` + "`anthropic`" + ` | ` + "`ANTHROPIC_API_KEY`, `ANTHROPIC_AUTH_TOKEN`" + ` | ` + "`ANTHROPIC_BASE_URL`" + ` |
| ` + "`openai`" + ` | ` + "`OPENAI_API_KEY`" + ` | ` + "`OPENAI_BASE_URL`" + ` |
| ` + "`gemini`" + ` | ` + "`GEMINI_API_KEY`, `GOOGLE_API_KEY`" + ` | ` + "`GEMINI_BASE_URL`" + ` |
| ` + "`openrouter`" + ` | ` + "`OPENROUTER_API_KEY`" + ` | ` + "`OPENROUTER_BASE_URL`" + ` |
| ` + "`mistral`" + ` | ` + "`MISTRAL_API_KEY`" + ` | ` + "`MISTRAL_BASE_URL`" + ` |
| ` + "`deepseek`" + ` | ` + "`DEEPSEEK_API_KEY`" + ` | ` + "`DEEPSEEK_BASE_URL`" + ` |
| ` + "`groq`" + ` | ` + "`GROQ_API_KEY`" + ` | ` + "`GROQ_BASE_URL`" + ` |
| ` + "`xai`" + ` | ` + "`XAI_API_KEY`" + ` | ` + "`XAI_BASE_URL`" + ` |
| ` + "`together`" + ` | ` + "`TOGETHER_API_KEY`" + ` | ` + "`TOGETHER_BASE_URL`" + ` |
| ` + "`perplexity`" + ` | ` + "`PERPLEXITY_API_KEY`, `PPLX_API_KEY`" + ` | ` + "`PERPLEXITY_BASE_URL`" + ` |
| ` + "`azure`" + ` (an id is the name of a deployment) | ` + "`AZURE_OPENAI_API_KEY`" + ` | ` + "`AZURE_OPENAI_ENDPOINT`" + `, always |
| ` + "`ollama`" + ` | ` + "`OLLAMA_API_KEY`" + `, at ollama.com only | ` + "`OLLAMA_HOST`" + ` |
| ` + "`llama`" + ` (llama-server) | ` + "`LLAMA_API_KEY`" + `, if it wants one | ` + "`LLAMA_BASE_URL`" + ` |
| ` + "`vllm`" + ` | ` + "`VLLM_API_KEY`" + `, if it wants one | ` + "`VLLM_BASE_URL`" + ` |

A key is read from the environment and stands in no file, journal or output; ` + "`uzda config`" + ` says which are set. A service of your own gets no key but the one that you name
for it:

` + "```yaml\nmodels:\n  work:\n    id: acme/llm-2\n    profile: openai\n    base: https://models.example.com/v1\n    key: $EXAMPLE_API_KEY\n    window: 200000\n    fallback: [anthropic/claude-haiku-5-5]\n```" + `

What you say of a window or a price is stronger than what the provider says (` + "`uzda models --refresh`" + `), and that is stronger than the built-in table.

Proxies are taken from ` + "`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`" + `, in capitals or not. Certificates of a company's own are added by ` + "`http.ca_file`" + ` (` + "`UZDA_CA_FILE`" + `),
` + "`SSL_CERT_FILE` or `SSL_CERT_DIR`" + `. Nothing turns the check of certificates off.

## Mistakes

A key that is not known, a value of the wrong kind, a repeated key or a fault of indentation stops the program with exit code 2, the place (` + "`uzda.yaml:3:1`" + `), what is
wanted and the nearest key. All mistakes are reported at once. Nothing runs, since the line may have been meant to forbid something. A variable that begins with
` + "`UZDA_`" + ` and is not known is a warning.

Editors complete and check the file with [uzda.schema.json](uzda.schema.json). Reading settings contacts nobody.

## Every setting

A list in a variable has one item a line. A flag for a list may be given several times. Durations have their unit (90s, 30m, 2h); money is dollars (5, 0.25).

`

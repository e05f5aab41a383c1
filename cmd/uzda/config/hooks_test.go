package config_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/uzda-dev/uzda/cmd/uzda/config"
	"github.com/uzda-dev/uzda/hook"
)

const someHooks = `hooks:
  PreToolUse:
    - matcher: Bash|Edit
      hooks:
        - type: command
          command: ./check.sh
          timeout: 10
        - command: ./guard
          args: [--strict, "two words"]
          timeout: 2m
          statusMessage: looking
    - hooks: [{type: command, command: ./all.sh}]
  Stop:
    - hooks:
        - {type: command, command: go vet ./...}
`

// P4: hooks in the shape that people have, with where they stand; those of all files
// hold together.
func TestHooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.putUser("hooks: {SessionEnd: [{hooks: [{command: date}]}]}\n")
	w.put("uzda.yaml", someHooks)
	w.put("uzda.local.yaml", "hooks:\n")
	got := w.load().Hooks
	got[0].Origin = got[0].Origin[strings.LastIndex(got[0].Origin, "/")+1:]
	want := []hook.Hook{
		{Event: hook.SessionEnd, Command: "date", Origin: "uzda.yaml:1"},
		{Event: hook.PreToolUse, Matcher: "Bash|Edit", Command: "./check.sh", Timeout: 10 * time.Second, Origin: "uzda.yaml:5"},
		{Event: hook.PreToolUse, Matcher: "Bash|Edit", Command: "./guard", Args: []string{"--strict", "two words"}, Timeout: 2 * time.Minute, Origin: "uzda.yaml:8"},
		{Event: hook.PreToolUse, Command: "./all.sh", Origin: "uzda.yaml:12"},
		{Event: hook.Stop, Command: "go vet ./...", Origin: "uzda.yaml:15"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if i := item(t, w.load(), "hooks.PreToolUse"); i.Value != "Bash|Edit: ./check.sh" || i.Origin != "uzda.yaml:5" {
		t.Errorf("it is shown as %+v", i)
	}
}

// case:U09: a slip in a hook, which may have been meant to forbid something, stops the
// program with its place and what was meant; editors say the same.
func TestWrongHooks(t *testing.T) {
	t.Parallel()
	schema := compiled(t)
	for _, c := range []struct{ text, where, want string }{
		{"hooks: {PreTooluse: []}", "uzda.yaml:1:9", `did you mean "hooks.PreToolUse"?`},
		{"hook: {}", "uzda.yaml:1:1", `did you mean "hooks"?`},
		{"hooks: {PermissionRequest: []}", "uzda.yaml:1:9", "this version has no such event"},
		{"hooks: {Stop: {}}", "uzda.yaml:1:15", "wants a list"},
		{"hooks: {Stop: [x]}", "uzda.yaml:1:16", "an item of hooks.Stop is not"},
		{"hooks:\n  Stop:\n    - matchr: Bash\n      hooks: []", "uzda.yaml:3:7", `did you mean "hooks.Stop.matcher"?`},
		{"hooks: {Stop: [{matcher: a}]}", "uzda.yaml:1:", "has no hooks"},
		{"hooks: {PreToolUse: [{matcher: 'a(', hooks: [{command: x}]}]}", "uzda.yaml:1:32", "neither names (Bash, Edit|Write) nor a regular expression"},
		{"hooks: {PreToolUse: [{matcher: 7, hooks: [{command: x}]}]}", "uzda.yaml:1:32", "wants text"},
		{"hooks: {Stop: [{hooks: [{type: command}]}]}", "uzda.yaml:1:", "command is missing"},
		{"hooks: {Stop: [{hooks: [{command: ' '}]}]}", "uzda.yaml:1:", "command is missing"},
		{"hooks: {Stop: [{hooks: [{type: http, url: x, command: y}]}]}", "uzda.yaml:1:32", "this version runs commands only"},
		{"hooks: {Stop: [{hooks: [{command: x, if: 'Bash(git *)'}]}]}", "uzda.yaml:1:38", "the hook would guard something else"},
		{"hooks: {Stop: [{hooks: [{comand: x}]}]}", "uzda.yaml:1:26", `did you mean "hooks.Stop.hooks.command"?`},
		{"hooks: {Stop: [{hooks: [{command: x, timeout: 0}]}]}", "uzda.yaml:1:47", "wants seconds"},
		{"hooks: {Stop: [{hooks: [{command: x, args: y}]}]}", "uzda.yaml:1:44", "a list of texts"},
		{"hooks: [x]", "uzda.yaml:1:8", "wants keys below it"},
	} {
		w := newWorld(t)
		w.put("uzda.yaml", c.text+"\n")
		all := w.faults().Error()
		if !strings.Contains(all, c.where) || !strings.Contains(all, c.want) {
			t.Errorf("%s:\n%s", c.text, all)
		}
		if !strings.Contains(c.text, "'a('") && !strings.Contains(c.text, "timeout: 0") && schema.Validate(document(t, c.text)) == nil {
			t.Errorf("an editor finds nothing wrong with %s", c.text)
		}
	}
	if err := schema.Validate(document(t, someHooks)); err != nil {
		t.Error(err)
	}
}

func document(t *testing.T, text string) any {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// S1: the hooks of a project run programs, so they count only where it is trusted.
func TestHooksOfAStranger(t *testing.T) {
	t.Parallel()
	w := stranger(t)
	w.put("uzda.yaml", someHooks)
	c := w.load()
	if len(c.Hooks) != 0 || !strings.Contains(strings.Join(c.Warnings, "\n"), "hooks.PreToolUse (uzda.yaml:2), hooks.Stop (uzda.yaml:13)") {
		t.Errorf("%+v, %q", c.Hooks, c.Warnings)
	}
	w.options.Flags = map[string][]string{"trust": {w.repo}}
	if c = w.load(); len(c.Hooks) != 4 {
		t.Errorf("trusted: %+v", c.Hooks)
	}
	if !c.Trusts(w.inside) || c.Trusts(w.home) || c.Own != w.home+"/.config/uzda" {
		t.Errorf("trusts, own %q", c.Own)
	}
}

func front(t *testing.T, text string) *config.Front {
	t.Helper()
	f, err := config.ReadFront("agents/x.md", text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// P4 case:U09: what an agent's file says of itself, in our words and in another
// host's; a slip stops the program.
func TestFront(t *testing.T) {
	t.Parallel()
	f := front(t, "name: reviewer\ndescription: |\n  Reads.\n  zażółć\ntools: Read, Grep, WebSearch\ndisallowedTools: [Bash]\nmodel: inherit\ncolor: red\ninstructions: off\n")
	if f.Description != "Reads.\nzażółć\n" || strings.Join(f.Tools, " ") != "Read Grep WebSearch" || f.Without[0] != "Bash" || f.Model != "" || f.Instructions != "off" ||
		len(f.Notes) != 1 || f.Notes[0] != "agents/x.md: name, color of other hosts' agents mean nothing here" {
		t.Errorf("%+v", f)
	}
	if f = front(t, ""); f.Instructions != "on" || f.Tools != nil {
		t.Errorf("an empty one: %+v", f)
	}
	for _, c := range []struct{ text, want string }{
		{"descripton: x", `agents/x.md:2:1: unknown key "descripton"; did you mean "description"?`},
		{"a: b\ntoolz: [Read]", `agents/x.md:3:1: unknown key "toolz"; did you mean "tools"?`},
		{"max_steps: 3", `agents/x.md:2:1: unknown key "max_steps"; did you mean "limits.max_steps"?`},
		{"deny: [Bash]", `did you mean "permissions.deny"?`},
		{"limits: {stepz: 3}", `agents/x.md:2:10: unknown key "limits.stepz"`},
		{"limits: {max_steps: many}", "want a whole number"},
		{"limits: {max_time: 30}", "want a time with its unit"},
		{"permisions: {deny: [Bash]}", `did you mean "permissions"?`},
		{"permissions: {denny: [Bash]}", `did you mean "permissions.deny"?`},
		{"permissions: {deny: ['(x)']}", "want a rule in the form"},
		{"permissionMode: yolo", "agents/x.md:2:17: permissionMode is \"yolo\""},
		{"hooks: {Stop: []}", "write them in uzda.yaml"},
		{"instructions: maybe", "want one of on, off"},
		{"tools: {a: b}", "a list of texts"},
		{"model: 7", "wants text"},
		{"store: {kind: files}", `unknown key "store"`},
		{"description: a: b", "agents/x.md:2:"},
		{"description:\n\tx", "a tab cannot indent"},
		{"- x", "want keys with values"},
	} {
		_, err := config.ReadFront("agents/x.md", c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.text, err)
		}
	}
}

// case:P07: an agent's own denials hold whatever the settings and the flags say; what
// loosens counts only from a file that is trusted, and never against a flag.
func TestWith(t *testing.T) {
	t.Parallel()
	agent := front(t, "limits: {max_steps: 9, max_time: 90m, max_cost: 50}\npermissions:\n  mode: bypass\n  allow: [Bash]\n  ask: [Edit]\n  deny: [Write]\n")
	strict := front(t, "maxTurns: 9\npermissionMode: plan\n")
	type want struct {
		steps int
		mode  string
		allow int
		left  string
	}
	for _, c := range []struct {
		name    string
		user    string
		flags   map[string][]string
		front   *config.Front
		trusted bool
		want    want
	}{
		{"trusted", "", nil, agent, true, want{9, "bypass", 1, ""}},
		{"not trusted", "", nil, agent, false, want{9, "ask", 0, "limits.max_time (agents/x.md:2) limits.max_cost (agents/x.md:2) permissions.mode (agents/x.md:4) permissions.allow (agents/x.md:5)"}},
		{"the user's file is stricter", "limits: {max_steps: 3}\npermissions: {mode: deny}", nil, agent, true, want{3, "deny", 1, ""}},
		{"the user's file is looser", "limits: {max_steps: 30}\npermissions: {mode: accept-edits}", nil, strict, false, want{9, "plan", 0, ""}},
		{"a flag", "", map[string][]string{"max-steps": {"70"}, "permission-mode": {"ask"}}, strict, true, want{70, "ask", 0, ""}},
		{"nothing", "", nil, front(t, "description: x"), false, want{50, "ask", 0, ""}},
	} {
		w := newWorld(t)
		w.putUser(c.user + "\n")
		w.options.Flags = c.flags
		base := w.load()
		before := show(t, base)
		got, left := base.With(c.front, c.trusted)
		if got.Limits.Steps != c.want.steps || got.Permissions.Mode != c.want.mode || len(got.Permissions.Allow) != c.want.allow || strings.Join(left, " ") != c.want.left {
			t.Errorf("%s: %d steps, mode %s, allow %v, left out %q", c.name, got.Limits.Steps, got.Permissions.Mode, got.Permissions.Allow, left)
		}
		if c.front == agent && (len(got.Permissions.Deny) != 1 || got.Permissions.Deny[0] != (config.Rule{Text: "Write", Origin: "agents/x.md:7"}) || len(got.Permissions.Ask) != 1) {
			t.Errorf("%s: its own rules are %+v", c.name, got.Permissions)
		}
		if again, _ := got.With(c.front, c.trusted); show(t, again) != show(t, got) {
			t.Errorf("%s: taken in twice it is\n%s\nnot\n%s", c.name, show(t, again), show(t, got))
		}
		if show(t, base) != before {
			t.Errorf("%s: the settings themselves changed", c.name)
		}
	}
}

// case:U09: no text of a front matter ends the program or loses its place.
func FuzzFront(f *testing.F) {
	for _, s := range []string{"", "tools: a, b", "limits: {max_steps: 3}", "permissionMode: plan", "a: &x [*x]", "hooks: {}", "\t", "description: a: b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		front, err := config.ReadFront("x.md", text)
		if err != nil && !strings.HasPrefix(err.Error(), "x.md") {
			t.Errorf("a fault that does not say where: %v", err)
		}
		if err == nil {
			if _, err := json.Marshal(front); err != nil {
				t.Error(err)
			}
		}
	})
}

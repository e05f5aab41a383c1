package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/uzda-dev/uzda/hook"
)

// hookDocs say what each event is for; the order is that of a session.
var hookDocs = map[hook.Event]string{
	hook.SessionStart:       "Commands that run when a session begins or gets a message in another process; what they print joins the message.",
	hook.UserPromptSubmit:   "Commands that run before a message is given to the agent: exit 2 blocks it, what they print joins it.",
	hook.PreToolUse:         "Commands that run before a tool: exit 2 denies the call. One that fails has a person asked.",
	hook.PostToolUse:        "Commands that run after a tool; with exit 2 the model reads what they say.",
	hook.PostToolUseFailure: "Commands that run after a tool whose result is an error.",
	hook.Stop:               "Commands that run when the model says that it is done: exit 2 sends it back to work.",
	hook.SessionEnd:         "Commands that run when the program leaves a session.",
}

const hookExample = `[{matcher: Bash, hooks: [{type: command, command: ./check.sh}]}]`

// hookKeys are the settings of hooks, a key an event, for pages and schemas.
func hookKeys() []Key {
	var out []Key
	for _, e := range hook.Events() {
		out = append(out, Key{Name: "hooks." + string(e), Kind: "hooks", Example: hookExample, Doc: hookDocs[e], loosens: always})
	}
	return out
}

// othersEvents are events of other hosts, which this program does not have.
var othersEvents = strings.Fields(`Setup InstructionsLoaded UserPromptExpansion PermissionRequest PermissionDenied PostToolBatch StopFailure SubagentStart
	SubagentStop TaskCreated TaskCompleted TeammateIdle PreCompact PostCompact Notification MessageDisplay ConfigChange CwdChanged FileChanged
	DirectoryAdded WorktreeCreate WorktreeRemove Elicitation ElicitationResult`)

// hooks reads the section of hooks, which has the shape that other hosts have.
func (f *file) hooks(m *ast.MappingNode) {
	var events []string
	for _, e := range hook.Events() {
		events = append(events, string(e))
	}
	f.entries("hooks.", m, func(name string, key, value ast.Node) {
		k := Key{Name: "hooks." + name, Kind: "hooks", loosens: always}
		switch {
		case slices.Contains(othersEvents, name):
			f.at(key, k.Name, "hooks.%s: this version has no such event, and a hook that does not run guards nothing; there are %s", name, strings.Join(events, ", "))
			return
		case !slices.Contains(events, name):
			f.at(key, k.Name, "%s", unknownIn("hooks.", name, events))
			return
		}
		before := len(f.faults)
		list := f.groups(hook.Event(name), value)
		if len(f.faults) == before && !f.leavesOut(k, list, f.origin(key)) {
			f.config.Hooks = append(f.config.Hooks, list...)
			f.config.origins[k.Name] = f.origin(key)
		}
	})
}

// unknownIn is unknown for a section that the table of keys does not have.
func unknownIn(within, name string, known []string) string {
	if n := near(name, known); n != "" {
		return fmt.Sprintf("unknown key %q; did you mean %q?", within+name, within+n)
	}
	return fmt.Sprintf("unknown key %q; known here: %s", within+name, strings.Join(known, ", "))
}

// groups reads the list of an event: matchers with their hooks.
func (f *file) groups(e hook.Event, n ast.Node) (out []hook.Hook) {
	within := "hooks." + string(e)
	f.items(within, n, "- matcher: Bash, with hooks: below", func(group *ast.MappingNode) {
		h := hook.Hook{Event: e}
		var handlers ast.Node
		f.entries(within+".", group, func(name string, key, value ast.Node) {
			switch name {
			case "matcher":
				h.Matcher, _ = f.word(within+".matcher", value)
				if err := hook.CheckMatcher(h.Matcher); err != nil {
					f.at(value, within+".matcher", "%v", err)
				}
			case "hooks":
				handlers = value
			default:
				f.at(key, within+"."+name, "%s", unknownIn(within+".", name, []string{"matcher", "hooks"}))
			}
		})
		if handlers == nil {
			f.at(group, within, "%s: an item has no hooks; want hooks: [{type: command, command: ./check.sh}]", within)
			return
		}
		f.items(within+".hooks", handlers, "- type: command, with command: below", func(m *ast.MappingNode) {
			out = append(out, f.handler(h, within+".hooks.", m))
		})
	})
	return out
}

// items goes through a list of maps.
func (f *file) items(key string, n ast.Node, want string, yield func(*ast.MappingNode)) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		f.at(n, key, "%s wants a list, each item %s", key, want)
		return
	}
	for _, item := range seq.Values {
		if m, ok := item.(*ast.MappingNode); ok {
			yield(m)
		} else {
			f.at(item, key, "an item of %s is not %s", key, want)
		}
	}
}

func (f *file) handler(h hook.Hook, within string, m *ast.MappingNode) hook.Hook {
	h.Origin = f.originOf(m)
	f.entries(within, m, func(name string, key, value ast.Node) {
		switch name {
		case "type":
			if kind, ok := f.word(within+name, value); ok && kind != "command" {
				f.at(value, within+name, "%s is %q; this version runs commands only: type: command", within+name, kind)
			}
		case "command":
			h.Command, _ = f.word(within+name, value)
		case "args":
			if v, ok := f.list(Key{Name: within + name, Kind: Texts}, value); ok {
				h.Args = v.([]string)
			}
		case "timeout":
			h.Timeout = f.seconds(within+name, value)
		case "statusMessage": // what another host shows meanwhile
		case "if", "async", "asyncRewake", "shell", "url", "headers", "prompt", "model", "server", "tool", "input":
			f.at(key, within+name, "%s: this version cannot do that, and the hook would guard something else than it says; leave it out", within+name)
		default:
			f.at(key, within+name, "%s", unknownIn(within, name, []string{"type", "command", "args", "timeout"}))
		}
	})
	if strings.TrimSpace(h.Command) == "" && !f.faulty(strings.TrimSuffix(within, ".")) {
		f.at(m, within+"command", "%scommand is missing; want command: ./check.sh", within)
	}
	return h
}

// originOf is where a map begins.
func (f *file) originOf(m *ast.MappingNode) string {
	if len(m.Values) > 0 {
		return f.origin(m.Values[0].Key)
	}
	return f.origin(m)
}

// word reads a text.
func (f *file) word(key string, n ast.Node) (string, bool) {
	text, isText, ok := scalar(n)
	if !ok || !isText {
		f.at(n, key, "%s wants text; write it in quotes", key)
		return "", false
	}
	return text, true
}

// seconds reads a time: a number of seconds, as other hosts have it, or with a unit.
func (f *file) seconds(key string, n ast.Node) time.Duration {
	text, _, ok := scalar(n)
	if ok {
		if s, err := strconv.ParseFloat(text, 64); err == nil && s > 0 && s <= 24*60*60 {
			return time.Duration(s * float64(time.Second))
		}
		if d, err := time.ParseDuration(text); err == nil && d > 0 {
			return d
		}
	}
	f.at(n, key, "%s wants seconds, such as 10, or a time with its unit, such as 2m", key)
	return 0
}

// hookItems lists hooks for display.
func (c *Config) hookItems() (items []Item) {
	for _, h := range c.Hooks {
		text := strings.Join(append([]string{h.Command}, h.Args...), " ")
		if h.Matcher != "" {
			text = h.Matcher + ": " + text
		}
		items = append(items, Item{"hooks." + string(h.Event), text, h.Origin})
	}
	return items
}

// hookSchema describes the section of hooks for editors, and one item of an event.
func hookSchema() (section, item *object) {
	text := func() *object { return (&object{}).put("type", "string") }
	handler := (&object{}).put("type", (&object{}).put("type", "string").put("enum", []string{"command"})).
		put("command", text().put("pattern", `\S`).put("description", "Run by the shell; with args it is a program.")).
		put("args", (&object{}).put("type", "array").put("items", text())).
		put("timeout", (&object{}).put("type", []string{"number", "string"}).put("exclusiveMinimum", 0).put("description", "Seconds, or a time with its unit; without it a minute.")).
		put("statusMessage", text())
	group := (&object{}).put("matcher", text().put("description", "Tools: a name, A|B, or a regular expression; without it all.")).
		put("hooks", (&object{}).put("type", "array").put("items", closed(handler, "object").put("required", []string{"command"})))
	events := &object{}
	for _, k := range hookKeys() {
		events.put(strings.TrimPrefix(k.Name, "hooks."), (&object{}).put("type", "array").
			put("items", (&object{}).put("$ref", "#/$defs/hooks")).put("description", k.Doc))
	}
	return closed(events, "object", "null").put("description", "Commands that run at set points of a session. They can only tighten."),
		closed(group, "object").put("required", []string{"hooks"})
}

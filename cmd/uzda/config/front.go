package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/uzda-dev/uzda"
)

// Front is the front matter of an agent's file: what it says of itself, and
// settings of its own.
type Front struct {
	Description  string
	Model        string   // "": the settings say
	Tools        []string // as they are written; none: all that there are
	Without      []string // tools that it does not get
	Instructions string   // on or off: whether it reads AGENTS.md; default on
	Notes        []string // for people: what it says that means nothing here

	places map[string]string // of the tools that it names
	own    *Config           // limits and permissions, with their origins
}

// Place is where the file names a tool.
func (f *Front) Place(tool string) string { return f.places[tool] }

// frontKeys are the names that a front matter knows, besides those of others.
var frontKeys = strings.Fields("description model tools instructions limits permissions")

// othersKeys are keys of other hosts' agents that change nothing here.
var othersKeys = strings.Fields("name color skills mcpServers memory background isolation effort initialPrompt version author license metadata tags")

// othersModes are the permission modes in another host's words.
var othersModes = map[string]string{"default": "ask", "plan": "plan", "acceptEdits": "accept-edits", "dontAsk": "deny", "bypassPermissions": "bypass"}

// ReadFront reads a front matter that begins in the second line of a file. Name is
// how the file is shown. The error is a [Faults].
func ReadFront(name, text string) (*Front, error) {
	own := &Config{origins: map[string]string{}, leftOut: map[string]string{}, Models: map[string]Model{}}
	l := &loader{config: own, named: map[string]string{}}
	f := &file{loader: l, name: name}
	front := &Front{own: own, Instructions: "on", places: map[string]string{}}
	if len(text) > maxFile {
		f.fault(name, "", "the front matter is over %d bytes", maxFile)
	} else {
		f.read([]byte("\n"+text), func(m *ast.MappingNode) { f.front(front, m) })
	}
	if len(l.faults) > 0 {
		return nil, l.faults
	}
	return front, nil
}

func (f *file) front(front *Front, m *ast.MappingNode) {
	var others []string
	f.entries("", m, func(name string, key, value ast.Node) {
		switch name {
		case "description":
			front.Description, _ = f.word(name, value)
		case "model":
			if front.Model, _ = f.word(name, value); front.Model == "inherit" {
				front.Model = ""
			}
		case "tools":
			front.Tools = f.words(name, value, front.places)
		case "disallowedTools":
			front.Without = f.words(name, value, front.places)
		case "instructions":
			if v, ok := f.value(Key{Name: name, Kind: Choice, Choices: []string{"on", "off"}}, value); ok {
				front.Instructions = v.(string)
			}
		case "limits", "permissions":
			if section, ok := f.mapping(name, value); ok {
				f.section(name+".", section)
			}
		case "maxTurns":
			f.one("limits.max_steps", key, value)
		case "permissionMode":
			f.mode(key, value)
		case "hooks":
			f.at(key, name, "hooks of an agent's file are not run, and a hook that does not run guards nothing; write them in %s", FileName)
		default:
			if slices.Contains(othersKeys, name) {
				others = append(others, name)
				return
			}
			f.at(key, name, "%s", f.unknownInFront(name))
		}
	})
	if len(others) > 0 {
		front.Notes = append(front.Notes, fmt.Sprintf("%s: %s of other hosts' agents mean nothing here", f.name, strings.Join(others, ", ")))
	}
}

// unknownInFront says which key was meant, also where it stands in a section.
func (f *file) unknownInFront(name string) string {
	for _, k := range keys {
		section, leaf, ok := strings.Cut(k.Name, ".")
		if ok && (leaf == name || leaf == "max_"+name) && (section == "limits" || section == "permissions") {
			return fmt.Sprintf("unknown key %q; did you mean %q?", name, k.Name)
		}
	}
	return unknownIn("", name, frontKeys)
}

// one reads the value of a key of the table that another name is for.
func (f *file) one(full string, key, value ast.Node) {
	k, _ := byName(full)
	if v, ok := f.value(k, value); ok {
		f.set(k, v, f.origin(key))
	}
}

func (f *file) mode(key, value ast.Node) {
	text, ok := f.word("permissionMode", value)
	if !ok {
		return
	}
	mode, known := othersModes[text]
	if !known && !slices.Contains(modes, text) {
		f.at(value, "permissionMode", "permissionMode is %q; want one of %s", text, strings.Join(slices.Sorted(maps.Keys(othersModes)), ", "))
		return
	}
	if !known {
		mode = text
	}
	k, _ := byName("permissions.mode")
	f.set(k, mode, f.origin(key))
}

// words reads a list of names, or a text with commas between them, and notes where
// each stands first.
func (f *file) words(key string, n ast.Node, places map[string]string) []string {
	note := func(name string, n ast.Node) {
		if _, known := places[name]; !known {
			places[name] = f.origin(n)
		}
	}
	if text, isText, ok := scalar(n); ok && isText {
		names := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
		for _, name := range names {
			note(name, n)
		}
		return names
	}
	v, ok := f.list(Key{Name: key, Kind: Texts}, n)
	if !ok {
		return nil
	}
	names := v.([]string)
	for i, item := range n.(*ast.SequenceNode).Values {
		note(names[i], item)
	}
	return names
}

// With returns the settings as they are for an agent, and what of its file is left
// out because nobody trusts it. A flag and a variable are stronger than the agent's
// file. Where your own files set the same limit or mode, the stricter one holds;
// rules of both hold together. A file that is not trusted only tightens.
func (c *Config) With(front *Front, trusted bool) (with *Config, left []string) {
	if c.plain != nil { // that of another agent, or of the turn before
		again := *c
		again.Limits, again.Permissions, again.origins, again.plain = c.plain.Limits, c.plain.Permissions, c.plain.origins, nil
		c = &again
	}
	out := *c
	out.origins, out.plain = maps.Clone(c.origins), c
	for _, k := range keys {
		origin, set := front.own.origins[k.Name]
		if !set {
			continue
		}
		v := held(k, front.own)
		if k.Kind == Rules {
			if k.Name == "permissions.allow" && !trusted {
				left = append(left, fmt.Sprintf("%s (%s)", k.Name, origin))
				continue
			}
			rules := k.field(&out).(*[]Rule)
			*rules = append(slices.Clone(*rules), v.([]Rule)...)
			continue
		}
		now, by := c.Origin(k.Name), looser
		if k.Name != "permissions.mode" {
			by = higher
		}
		loosens := by.is(&loader{config: c}, k, v)
		switch {
		case strings.HasPrefix(now, "flag ") || strings.HasPrefix(now, "env "):
		case loosens && now != "default":
		case loosens && !trusted:
			left = append(left, fmt.Sprintf("%s (%s)", k.Name, origin))
		default:
			k.store(k.field(&out), v)
			out.origins[k.Name] = origin
		}
	}
	return &out, left
}

// held is what a setting holds, as store takes it.
func held(k Key, c *Config) any {
	switch v := k.field(c).(type) {
	case *string:
		return *v
	case *int:
		return *v
	case *time.Duration:
		return *v
	case *uzda.Money:
		return *v
	case *[]Rule:
		return *v
	}
	panic("config: " + k.Name + " is none of an agent's settings")
}

// Trusts says whether the user trusts a folder, or one above it.
func (c *Config) Trusts(folder string) bool {
	return slices.ContainsFunc(c.Trust, func(t string) bool { return within(t, folder) })
}

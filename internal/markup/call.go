package markup

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// call makes a call of a name and its arguments, which may be anything.
func (f *finder) call(name, args string) Call {
	if bare, ok := strings.CutPrefix(name, "functions."); ok && (f.known == nil || !f.known(name)) {
		name = bare
	}
	if !isName(name) {
		return unclearCall("tool_call", args)
	}
	input, ok := object(args)
	if !ok {
		return unclearCall(name, args)
	}
	return Call{Name: name, Input: input}
}

func unclearCall(name, raw string) Call {
	return Call{Name: name, Input: json.RawMessage("{}"), Raw: orElse(strings.TrimSpace(raw), "null")}
}

// unclear makes a call of what stands from at to the closing, or to the end of
// the text; it returns where that is.
func (f *finder) unclear(name string, at int, closing string) int {
	raw, end := f.text[at:], len(f.text)
	if i := strings.Index(raw, closing); closing != "" && i >= 0 {
		raw, end = raw[:i], at+i
	}
	if m := nameInside().FindStringSubmatch(raw); m != nil && !isTool(name) {
		name = m[1]
	}
	f.calls = append(f.calls, unclearCall(name, raw))
	return end
}

var nameInside = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"name"\s*:\s*"([\w.:/-]{1,128})"`)
})

// jsonCalls reads the JSON of calls at at, one value or several, with semicolons,
// commas or white space between them. It returns where they end.
func (f *finder) jsonCalls(at int, name, closing string) int {
	for {
		n, ok := jsonLen(f.text[at:])
		if !ok {
			return f.unclear(name, at, closing)
		}
		f.calls = append(f.calls, f.values(name, f.text[at:at+n])...)
		at += n
		for next := at; ; {
			rest := strings.TrimLeft(f.text[next:], space)
			next = len(f.text) - len(rest)
			if rest == "" || !strings.ContainsAny(rest[:1], "{;,}]") {
				return at
			}
			if rest[0] == '{' {
				at = next
				break
			}
			next++
			if rest[0] == '}' || rest[0] == ']' { // one too many
				at = next
			}
		}
	}
}

// values makes calls of one JSON value: an object, or a list of them.
func (f *finder) values(name, raw string) []Call {
	raw = strings.TrimSpace(raw)
	var list []json.RawMessage
	if raw[0] != '[' || json.Unmarshal([]byte(raw), &list) != nil {
		list = []json.RawMessage{json.RawMessage(raw)}
	}
	var out []Call
	for _, one := range list {
		c, ok := parseCall(one)
		if !ok {
			out = append(out, unclearCall(name, string(one)))
			continue
		}
		out = append(out, f.call(c.name, c.args))
	}
	return out
}

type written struct{ name, args string }

// parseCall reads an object with a name and arguments, by any of their names.
func parseCall(raw json.RawMessage) (c written, ok bool) {
	var o map[string]json.RawMessage
	if json.Unmarshal(raw, &o) != nil {
		return c, false
	}
	if inner, ok := o["function"]; ok && o["name"] == nil {
		if json.Unmarshal(inner, &c.name) == nil {
			o["name"] = inner
		} else if o = nil; json.Unmarshal(inner, &o) != nil {
			return c, false
		}
	}
	if json.Unmarshal(o["name"], &c.name) != nil || c.name == "" {
		return c, false
	}
	for _, key := range []string{"arguments", "parameters"} {
		if args, ok := o[key]; ok {
			c.args = string(args)
			break
		}
	}
	return c, true
}

// whole reads a text that is nothing but the JSON of calls of tools that are
// known, bare or in one code fence. An object with anything more is an answer.
func whole(text string, known func(string) bool) ([]Call, bool) {
	t := strings.Trim(text, space)
	if rest, ok := strings.CutPrefix(t, "```"); ok {
		lang, body, _ := strings.Cut(rest, "\n")
		if t, ok = strings.CutSuffix(strings.TrimRight(body, space), "```"); !ok || !slices.Contains(fenceNames, strings.TrimRight(lang, space)) {
			return nil, false
		}
		t = strings.Trim(t, space)
	}
	if t == "" || t[0] != '{' && t[0] != '[' || known == nil || wholeBegins(t[:min(len(t), maxLead)]) == unlikely {
		return nil, false
	}
	var calls []Call
	f := finder{known: known}
	for t != "" {
		n, ok := jsonLen(t)
		if !ok {
			return nil, false
		}
		list, ok := f.strict(t[:n])
		if !ok {
			return nil, false
		}
		calls, t = append(calls, list...), strings.TrimLeft(t[n:], space)
	}
	return calls, len(calls) > 0
}

// strict reads one value of a text that is nothing else.
func (f *finder) strict(raw string) (calls []Call, ok bool) {
	var list []map[string]json.RawMessage
	if json.Unmarshal([]byte(raw), &list) != nil {
		var one map[string]json.RawMessage
		if json.Unmarshal([]byte(raw), &one) != nil {
			return nil, false
		}
		if inner, ok := one["tool_calls"]; ok && len(one) == 1 {
			return f.strict(string(inner))
		}
		list = append(list, one)
	}
	for _, o := range list {
		for key := range o {
			if !slices.Contains(callKeys, key) {
				return nil, false
			}
		}
		if o["arguments"] == nil && o["parameters"] == nil && o["function"] == nil {
			return nil, false
		}
		whole, _ := json.Marshal(o)
		c, ok := parseCall(whole)
		if !ok {
			return nil, false
		}
		call := f.call(c.name, c.args)
		if call.Raw != "" || !f.known(call.Name) {
			return nil, false
		}
		calls = append(calls, call)
	}
	return calls, true
}

// object reads arguments: an object, also inside a string; nothing is {}.
func object(args string) (json.RawMessage, bool) {
	args = strings.Trim(args, space)
	var text string
	if json.Unmarshal([]byte(args), &text) == nil {
		args = strings.Trim(text, space) // also for null, which leaves text empty
	}
	if args == "" {
		return json.RawMessage("{}"), true
	}
	return json.RawMessage(args), args[0] == '{' && json.Valid([]byte(args))
}

// jsonLen is the length of the object or list that s begins with, with the white
// space before it.
func jsonLen(s string) (int, bool) {
	t := strings.TrimLeft(s, space)
	if t == "" || t[0] != '{' && t[0] != '[' {
		return 0, false
	}
	d := json.NewDecoder(strings.NewReader(t))
	var raw json.RawMessage
	if d.Decode(&raw) != nil {
		return 0, false
	}
	return len(s) - len(t) + int(d.InputOffset()), true
}

// params are parameters in the order in which they came.
type params struct {
	keys   []string
	values map[string]string
}

func (p *params) set(key, value string) {
	if p.values == nil {
		p.values = map[string]string{}
	}
	if _, ok := p.values[key]; !ok {
		p.keys = append(p.keys, key)
	}
	p.values[key] = value
}

func (p *params) object() json.RawMessage {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	write := func(s string) {
		_ = enc.Encode(s)           // a string always encodes
		out.Truncate(out.Len() - 1) // the line break
	}
	out.WriteByte('{')
	for i, k := range p.keys {
		if i > 0 {
			out.WriteByte(',')
		}
		write(k)
		out.WriteByte(':')
		write(p.values[k])
	}
	out.WriteByte('}')
	return out.Bytes()
}

// isName says whether a text can be the name of a tool.
func isName(s string) bool {
	return s != "" && len(s) <= 256 && !strings.ContainsAny(s, " \t\r\n<>{}[]\"'`")
}

// isTool says whether name was read, and is not only that of the markup.
func isTool(name string) bool {
	return !slices.Contains([]string{"tool_call", "TOOL_CALLS", "python_tag"}, name)
}

func (f *finder) skipSpace(at int) int {
	return len(f.text) - len(strings.TrimLeft(f.text[at:], space))
}

// past is where the text goes on behind closing, if that stands at at.
func (f *finder) past(at int, closing string) int {
	next := f.skipSpace(at)
	if closing != "" && strings.HasPrefix(f.text[next:], closing) {
		return next + len(closing)
	}
	return at
}

func endsLine(text string, at int) bool {
	after := strings.TrimLeft(text[at:], " \t\r")
	return after == "" || after[0] == '\n'
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

package markup

import (
	"regexp"
	"strings"
	"sync"
)

// openings are what markup begins with.
var openings = []string{"<tool_call>", "<function=", "[TOOL_CALLS]", "<|python_tag|>", "<|channel|>", "<|start|>", dsCalls, dsCall}

const (
	maxOpening = 40  // bytes of the longest
	maxHeader  = 300 // bytes of what stands between an opening and its arguments
)

// opening returns the one that rest begins with, "" if none.
func opening(rest string) string {
	if rest == "" || rest[0] != '<' && rest[0] != '[' {
		return ""
	}
	for _, o := range openings {
		if strings.HasPrefix(rest, o) {
			return o
		}
	}
	return ""
}

// parse reads the markup that stands at start with an opening. It returns where it
// ends, and false where this is only talk.
func (f *finder) parse(start int, opening string) (end int, ok bool) {
	body := start + len(opening)
	switch opening {
	case "<tool_call>":
		return f.tagged(start, body)
	case "<function=":
		return f.function(body)
	case "[TOOL_CALLS]":
		return f.mistral(start, body)
	case "<|python_tag|>":
		return f.python(start, body)
	case dsCalls:
		return f.deepseekAll(body)
	case dsCall:
		return f.deepseek(body), true
	}
	return f.harmony(start, body)
}

// tagged reads <tool_call>…</tool_call>: JSON of calls, <function=…> or the form
// of GLM, NAME<arg_key>K</arg_key><arg_value>V</arg_value>.
func (f *finder) tagged(start, body int) (int, bool) {
	const closing = "</tool_call>"
	at := f.skipSpace(body)
	rest := f.text[at:]
	switch {
	case rest == "":
		return at, true
	case rest[0] == '{' || rest[0] == '[':
		end := f.jsonCalls(at, "tool_call", closing)
		return f.past(end, closing), true
	case strings.HasPrefix(rest, "<function="):
		end, ok := f.function(at + len("<function="))
		for more := f.skipSpace(end); ok && strings.HasPrefix(f.text[more:], "<function="); more = f.skipSpace(end) {
			if end, ok = f.function(more + len("<function=")); !ok {
				return more, true
			}
		}
		return f.past(end, closing), ok
	}
	if f.closing < at { // each text is searched once
		f.closing = indexFrom(f.text, at, closing)
	}
	end := f.closing + len(closing)
	if f.closing == len(f.text) || !startsLine(f.text, start) || !endsLine(f.text, end) {
		return 0, false // "the <tool_call> tag"
	}
	f.calls = append(f.calls, glm(f.text[at:f.closing]))
	return end, true
}

// indexFrom is where s stands in text, at or behind at; the end if nowhere.
func indexFrom(text string, at int, s string) int {
	if n := strings.Index(text[at:], s); n >= 0 {
		return at + n
	}
	return len(text)
}

var glmArg = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^\s*<arg_key>([^<]*)</arg_key>\s*<arg_value>(.*?)</arg_value>`)
})

func glm(inner string) Call {
	name, rest, _ := strings.Cut(strings.TrimSpace(inner), "<")
	if name = strings.TrimSpace(name); rest != "" {
		rest = "<" + rest
	}
	var args params
	for {
		m := glmArg().FindStringSubmatch(rest)
		if m == nil {
			break
		}
		args.set(strings.TrimSpace(m[1]), m[2])
		rest = rest[len(m[0]):]
	}
	if strings.TrimSpace(rest) != "" || !isName(name) {
		return unclearCall("tool_call", inner)
	}
	return Call{Name: name, Input: args.object()}
}

// function reads NAME>…</function>: an object, or parameters in tags.
func (f *finder) function(body int) (int, bool) {
	name, _, ok := strings.Cut(f.text[body:min(len(f.text), body+maxHeader)], ">")
	name = strings.Trim(name, `"' `)
	if !ok || !isName(name) {
		return 0, false
	}
	at := f.skipSpace(body + strings.IndexByte(f.text[body:], '>') + 1)
	rest := f.text[at:]
	switch {
	case strings.HasPrefix(rest, "{"):
		n, ok := jsonLen(rest)
		if !ok {
			return f.unclear(name, at, "</function>"), true
		}
		f.calls = append(f.calls, f.call(name, rest[:n]))
		return f.past(at+n, "</function>"), true
	case strings.HasPrefix(rest, "<parameter="), strings.HasPrefix(rest, "</function>"):
		args, end, ok := f.parameters(at)
		if !ok {
			return f.unclear(name, at, "</function>"), true
		}
		f.calls = append(f.calls, f.call(name, string(args.object())))
		return f.past(end, "</function>"), true
	}
	return 0, false
}

// parameters reads <parameter=K>V</parameter> as often as it stands at at. One line
// break on each side of a value belongs to the tags.
func (f *finder) parameters(at int) (args params, end int, ok bool) {
	const open, closing = "<parameter=", "</parameter>"
	var tried []int
	for {
		at = f.skipSpace(at)
		if !strings.HasPrefix(f.text[at:], open) {
			if ok = at == len(f.text) || strings.HasPrefix(f.text[at:], "</"); ok {
				return args, at, true
			}
			break
		}
		if f.failed[at] {
			break
		}
		tried = append(tried, at)
		at += len(open)
		key, _, found := strings.Cut(f.text[at:min(len(f.text), at+maxHeader)], ">")
		if !found {
			break
		}
		at += len(key) + 1
		if end = f.valueEnds(at, closing); end == len(f.text) {
			break
		}
		value := strings.TrimSuffix(strings.TrimPrefix(f.text[at:end], "\n"), "\n")
		args.set(strings.Trim(key, `"' `), value)
		at = end + len(closing)
	}
	if f.failed == nil {
		f.failed = map[int]bool{}
	}
	for _, p := range tried { // from none of them on it is any better
		f.failed[p] = true
	}
	return args, at, false
}

// valueEnds is where the closing tag stands that ends the value at at, the end of
// the text if none does. It does only where the markup goes on behind it, since a
// value may be markup itself.
func (f *finder) valueEnds(at int, closing string) int {
	if at >= f.value.from && at <= f.value.end { // looked for already
		return f.value.end
	}
	end := at
	for {
		if end = indexFrom(f.text, end, closing); end == len(f.text) {
			break
		}
		next := f.text[f.skipSpace(end+len(closing)):]
		if next == "" || strings.HasPrefix(next, "<parameter=") || strings.HasPrefix(next, "</function>") || strings.HasPrefix(next, "</tool_call>") {
			break
		}
		end += len(closing)
	}
	f.value.from, f.value.end = at, end
	return end
}

var mistralName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*([\w.:/-]{1,128})\s*(?:\[CALL_ID\][\w-]{0,64})?(?:\[ARGS\])?\s*\{`)
})

// mistral reads a list of calls, or NAME{…}.
func (f *finder) mistral(start, body int) (int, bool) {
	at := f.skipSpace(body)
	rest := f.text[at:]
	if strings.HasPrefix(rest, "[{") || strings.HasPrefix(rest, "{") || strings.HasPrefix(rest, "[") && startsLine(f.text, start) {
		return f.jsonCalls(at, "TOOL_CALLS", ""), true
	}
	m := mistralName().FindStringSubmatch(rest[:min(len(rest), maxHeader)])
	if m == nil {
		return 0, false
	}
	at += len(m[0]) - 1
	n, ok := jsonLen(f.text[at:])
	if !ok {
		return f.unclear(m[1], at, "[TOOL_CALLS]"), true
	}
	f.calls = append(f.calls, f.call(m[1], f.text[at:at+n]))
	return at + n, true
}

// python reads the JSON of calls, separated by semicolons; anything else is code
// for an interpreter that is not there.
func (f *finder) python(start, body int) (int, bool) {
	at := f.skipSpace(body)
	if !strings.HasPrefix(f.text[at:], "{") {
		if !startsLine(f.text, start) {
			return 0, false
		}
		return f.unclear("python_tag", at, "<|eom_id|>"), true
	}
	return f.jsonCalls(at, "python_tag", "<|eom_id|>"), true
}

var harmonyTo = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\bto=([^\s<]+)`)
})

// harmony reads one message of the format: its header says who it is for. What is
// for nobody is plain text, if it is no thought.
func (f *finder) harmony(start, body int) (int, bool) {
	header, _, ok := strings.Cut(f.text[start:min(len(f.text), start+maxHeader)], "<|message|>")
	if !ok || strings.Contains(header, "\n") {
		if start+maxHeader < len(f.text) || strings.TrimSpace(f.text[body:]) != "" {
			return 0, false
		}
		// the reply ended here
		return len(f.text), true
	}
	at := start + len(header) + len("<|message|>")
	to := harmonyTo().FindStringSubmatch(header)
	rest := f.text[at:]
	n := f.harmonyEnd(rest)
	if to != nil && strings.HasPrefix(strings.TrimLeft(rest, space), "{") {
		if m, ok := jsonLen(rest); ok {
			n = m + f.harmonyEnd(rest[m:])
		}
	}
	switch {
	case to != nil && to[1] == "assistant" || to == nil && strings.Contains(header, "<|channel|>analysis"):
	case to != nil:
		f.calls = append(f.calls, f.call(to[1], rest[:n]))
	default:
		f.said = rest[:n]
	}
	end := at + n
	for _, t := range []string{"<|end|>", "<|call|>", "<|return|>"} {
		end = f.past(end, t)
	}
	return end, true
}

var harmonyEnds = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`<\|(?:end|call|return|start|channel)\|>`)
})

func (f *finder) harmonyEnd(rest string) int {
	if at := harmonyEnds().FindStringIndex(rest); at != nil {
		return at[0]
	}
	return len(rest)
}

const (
	dsCalls = "<｜tool▁calls▁begin｜>"
	dsCall  = "<｜tool▁call▁begin｜>"
	dsSep   = "<｜tool▁sep｜>"
	dsEnd   = "<｜tool▁call▁end｜>"
)

func (f *finder) deepseekAll(body int) (int, bool) {
	at := f.skipSpace(body)
	if at < len(f.text) && !strings.HasPrefix(f.text[at:], dsCall) {
		return 0, false
	}
	return at, true
}

// deepseek reads NAME SEP {…}, or function SEP NAME and the object in a fence.
func (f *finder) deepseek(body int) int {
	head, _, ok := strings.Cut(f.text[body:min(len(f.text), body+maxHeader)], dsSep)
	if !ok {
		return f.unclear("tool_call", body, dsEnd)
	}
	name, at := strings.TrimSpace(head), body+len(head)+len(dsSep)
	if name == "function" {
		line, _, _ := strings.Cut(f.text[at:min(len(f.text), at+maxHeader)], "\n")
		name, at = strings.TrimSpace(line), at+len(line)
	}
	at = f.skipSpace(at)
	fenced := strings.HasPrefix(f.text[at:], "```json")
	if fenced {
		at = f.skipSpace(at + len("```json"))
	}
	n, ok := jsonLen(f.text[at:])
	if !ok || !isName(name) {
		return f.unclear(orElse(name, "tool_call"), at, dsEnd)
	}
	f.calls = append(f.calls, f.call(name, f.text[at:at+n]))
	at += n
	if fenced {
		at = f.past(at, "```")
	}
	return f.past(at, dsEnd)
}

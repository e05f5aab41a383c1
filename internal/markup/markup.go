// Package markup finds tool calls that a model wrote as text, because its server
// does not know the model's own form for them.
package markup

import (
	"encoding/json"
	"strings"
)

// A Call is a tool call that stood in a text. Input is a JSON object, as it was
// written; Raw is what stood there where that is not clear, and then Input is {}.
// Name is never empty: where none could be read, it is the name of the markup.
type Call struct {
	Name  string
	Input json.RawMessage
	Raw   string
}

// Find takes the calls out of a whole text. It knows the forms of
//
//   - Hermes and Qwen: <tool_call>{"name":…,"arguments":{…}}</tool_call>
//   - Qwen Coder and Llama: <function=NAME><parameter=K>V</parameter></function>,
//     <function=NAME>{…}</function>
//   - Mistral: [TOOL_CALLS][{…}], [TOOL_CALLS]NAME{…}, [TOOL_CALLS]NAME[ARGS]{…}
//   - Llama: <|python_tag|>{…}
//   - Harmony: <|channel|>commentary to=functions.NAME … <|message|>{…}<|call|>
//   - DeepSeek: <｜tool▁call▁begin｜>…<｜tool▁sep｜>…<｜tool▁call▁end｜>
//   - a text that is nothing but the JSON of calls, in a code fence or bare; only
//     there known decides, since such JSON may be an answer.
//
// Plain is the text without them. Ok says whether anything was found; if not,
// plain is the text. Markup inside a code fence, in backticks or in <think> tags
// is talk about markup, and so is a tag with no call behind it. A parameter that
// comes as text stays text: whoever knows the schema makes a number of it.
func Find(text string, known func(name string) bool) (plain string, calls []Call, ok bool) {
	if calls, ok = whole(text, known); ok {
		return "", calls, true
	}
	f := finder{text: text, known: known}
	f.run()
	if !f.found {
		return text, nil, false
	}
	return f.plain(), f.calls, true
}

type finder struct {
	text  string
	known func(string) bool
	parts []string // plain text between the markup
	from  int      // where the plain text that is open began
	calls []Call
	found bool
	said  string // plain text inside the markup that was parsed last

	thought int // where the last thought ends
	closing int // where the next </tool_call> stands, if it was looked for

	failed map[int]bool            // where parameters stand that don't end as they should
	value  struct{ from, end int } // a value that begins in between ends at the end
}

func (f *finder) run() {
	f.thought = strings.LastIndex(f.text, "</think>")
	for at := thought(f.text); at < len(f.text); {
		if n := f.skip(at); n > 0 {
			at += n
			continue
		}
		open := opening(f.text[at:])
		if open == "" {
			at++
			continue
		}
		end, ok := f.parse(at, open)
		if !ok {
			at += len(open)
			continue
		}
		f.parts, f.said, f.found = append(f.parts, f.text[f.from:at], f.said), "", true
		at += trailing(f.text[at:], end-at)
		f.from = at
	}
	f.parts = append(f.parts, f.text[f.from:])
}

// plain joins what is left. What stands before the first markup stays as it is,
// up to white space at its end, since it may have been shown already.
func (f *finder) plain() string {
	var out strings.Builder
	out.WriteString(strings.TrimRight(f.parts[0], space))
	for _, p := range f.parts[1:] {
		p = strings.Trim(p, space)
		if out.Len() > 0 && p != "" {
			out.WriteString("\n\n")
		}
		out.WriteString(p)
	}
	return out.String()
}

const space = " \t\r\n"

// thought is where the text begins if a thought stands before it whose opening
// tag is missing, as templates put it into the prompt.
func thought(text string) int {
	end := strings.Index(text, "</think>")
	if end < 0 || strings.Contains(text[:end], "<think>") {
		return 0
	}
	return end + len("</think>")
}

// skip says how many bytes from at are code or a thought, in which markup is only
// spoken of. An opening without its end is plain text, except that of a fence.
func (f *finder) skip(at int) int {
	rest := f.text[at:]
	switch rest[0] {
	case '<':
		if !strings.HasPrefix(rest, "<think>") {
			return 0
		}
		if at < f.thought {
			return strings.Index(rest, "</think>") + len("</think>")
		}
		return len("<think>")
	case '`', '~':
	default:
		return 0
	}
	run := len(rest) - len(strings.TrimLeft(rest, rest[:1]))
	if run >= 3 && startsLine(f.text, at) {
		return fence(rest, run)
	}
	if rest[0] == '~' {
		return run
	}
	const line = 2000 // no longer code than this stands inside a line
	near := rest[run:min(len(rest), run+line)]
	if end := strings.IndexByte(near, '\n'); end >= 0 {
		near = near[:end]
	}
	for i := 0; i < len(near); {
		if near[i] != '`' {
			i++
			continue
		}
		n := len(near[i:]) - len(strings.TrimLeft(near[i:], "`"))
		if n == run {
			return run + i + n
		}
		i += n
	}
	return run
}

func startsLine(text string, at int) bool {
	before := strings.TrimRight(text[:at], " ")
	return before == "" || before[len(before)-1] == '\n'
}

// fence is the length of the fenced block that begins with run marks.
func fence(rest string, run int) int {
	mark := rest[:run]
	for at := strings.IndexByte(rest, '\n'); at >= 0; {
		line := rest[at+1:]
		next := strings.IndexByte(line, '\n')
		if next >= 0 {
			line = line[:next]
		}
		if t := strings.Trim(line, space); strings.HasPrefix(t, mark) && strings.Trim(t, mark[:1]) == "" {
			return at + 1 + len(line)
		}
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return len(rest)
}

// trailing returns the length of markup of n bytes with what servers leave behind
// it: closing tags written twice and tokens that end a turn.
func trailing(text string, n int) int {
	for {
		rest := strings.TrimLeft(text[n:], space)
		was := n
		for _, t := range leftovers {
			if strings.HasPrefix(rest, t) {
				n = len(text) - len(rest) + len(t)
				break
			}
		}
		if n == was {
			return n
		}
	}
}

var leftovers = []string{
	"</tool_call>", "</function>", "</parameter>", "<|call|>", "<|eom_id|>", "<|eot_id|>", "<|im_end|>", "</s>",
	"<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>", "<｜end▁of▁sentence｜>",
}

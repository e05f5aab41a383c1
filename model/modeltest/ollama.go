package modeltest

import (
	"fmt"
	"strings"
	"time"
)

// ollama is Ollama's own wire: POST /api/chat.
type ollama struct{}

func (ollama) name() Wire { return WireOllama }

func (ollama) content(stream bool) string {
	if stream {
		return "application/x-ndjson"
	}
	return "application/json; charset=utf-8"
}

func (ollama) ping() []byte { return []byte("\n") }

func (ollama) failure(f failure) []byte {
	return fmt.Appendf(nil, `{"error":%s}`, quoted(f.message, false))
}

func (ollama) event(body []byte) []byte { return append(body, '\n') }

// line is one object of a reply; message are the members of its message.
func (ollama) line(a *answer, message, rest string) string {
	return fmt.Sprintf(`{"model":%s,"created_at":"%s","message":{"role":"assistant",%s},%s}`,
		quoted(a.model, false), time.Unix(a.now, 0).UTC().Format(time.RFC3339Nano), message, rest)
}

// end are the members of the last line.
func (ollama) end(a *answer) string {
	word := a.turn.Stop
	if word == "" {
		word = "stop" // also with calls
	}
	out := `"done":true`
	if !a.shape.NoFinish {
		out += `,"done_reason":` + quoted(word, false)
	}
	if a.turn.RawUsage != nil {
		out += membersOf(a.turn.RawUsage)
	} else if a.shape.Usage != UsageNone {
		out += fmt.Sprintf(`,"total_duration":1000000,"load_duration":1000,"prompt_eval_count":%d,"prompt_eval_duration":1000,"eval_count":%d,"eval_duration":1000`,
			a.usage.Context(), a.usage.Output)
	}
	if a.shape.Extra {
		out += `,"zz_new":{"deep":[1.50]}`
	}
	return out
}

func (ollama) call(a *answer, c *Call, n int) string {
	arguments := ""
	switch c.Form {
	case FormAbsent:
	case FormNull:
		arguments = `,"arguments":null`
	case FormEmpty:
		arguments = `,"arguments":""`
	default:
		input := c.input()
		if v, _, err := readJSON([]byte(input)); err != nil || v.kind == 0 {
			input = quoted(input, a.shape.ASCII)
		}
		arguments = `,"arguments":` + input
	}
	function := join(a.shape.index(n), `"name":`+quoted(c.Name, false)+arguments)
	return "{" + join(a.callID(n), `"function":{`+function+"}") + "}"
}

func (o ollama) whole(a *answer) []byte {
	text, thinking := "", ""
	var calls []string
	for i := range a.parts {
		p := &a.parts[i]
		switch {
		case p.Call != nil:
			calls = append(calls, o.call(a, p.Call, len(calls)))
		case p.Thinking != "":
			thinking += p.Thinking
		default:
			text += p.Text
		}
	}
	message := `"content":` + quoted(text, a.shape.ASCII)
	if thinking != "" {
		message += `,"thinking":` + quoted(thinking, a.shape.ASCII)
	}
	if len(calls) > 0 {
		message += `,"tool_calls":[` + strings.Join(calls, ",") + `]`
	}
	return []byte(o.line(a, message+membersOf(a.turn.Extra), o.end(a)))
}

func (o ollama) stream(a *answer) []frame {
	var out []frame
	said := make(saidSoFar, len(a.parts))
	add := func(message, rest string) {
		out = append(out, frame{[]byte(o.line(a, message, rest) + "\n"), said.total()})
	}
	call := 0
	for i := range a.parts {
		p := &a.parts[i]
		member, text := `"content":"`, p.Text
		if p.Thinking != "" {
			member, text = `"content":"","thinking":"`, p.Thinking
		}
		for _, one := range a.shape.pieces(text) {
			said[i] = one.said
			add(member+one.json+`"`, `"done":false`)
		}
		said[i] = p.size()
		if p.Call != nil {
			add(`"content":"","tool_calls":[`+o.call(a, p.Call, call)+`]`, `"done":false`)
			call++
		}
	}
	if more := membersOf(a.turn.Extra); more != "" {
		add(`"content":""`+more, `"done":false`)
	}
	if !a.shape.NoEnd {
		add(`"content":""`, o.end(a))
	}
	return out
}

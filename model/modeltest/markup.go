package modeltest

import (
	"fmt"
	"strings"
)

// marked writes the calls of a reply as text.
func marked(parts []Part, m Markup) []Part {
	var out []Part
	var mistral []string
	for _, p := range parts {
		switch {
		case p.Call == nil:
			out = append(out, p)
		case m == MarkupMistral:
			mistral = append(mistral, object(p.Call))
		default:
			out = append(out, Part{Text: p.Call.markup(m)})
		}
	}
	if len(mistral) > 0 {
		out = append(out, Part{Text: "[TOOL_CALLS][" + strings.Join(mistral, ", ") + "]"})
	}
	return out
}

// object is a call as Hermes and Mistral train models to write it.
func object(c *Call) string {
	return fmt.Sprintf(`{"name": %s, "arguments": %s}`, quoted(c.Name, false), c.input())
}

func (c *Call) markup(m Markup) string {
	switch m {
	case MarkupHermes:
		return "<tool_call>\n" + object(c) + "\n</tool_call>\n"
	case MarkupTwice:
		return "<tool_call>\n" + object(c) + "\n</tool_call>\n</tool_call>\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<tool_call>\n<function=%s>\n", c.Name)
	v, _, _ := readJSON([]byte(c.input())) // what is broken has no parameters
	for i, k := range v.keys {
		text := string(v.vals[i].raw)
		if v.vals[i].kind == '"' {
			text = v.vals[i].text
		}
		fmt.Fprintf(&b, "<parameter=%s>\n%s\n</parameter>\n", k, text)
	}
	b.WriteString("</function>\n</tool_call>\n")
	return b.String()
}

package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/fit"
	"github.com/uzda-dev/uzda/internal/raw"
)

// appendString appends a JSON string of valid UTF-8.
func appendString(dst []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return raw.AppendString(dst, s)
}

// blank says whether the provider would refuse a text as empty.
func blank(s string) bool { return strings.TrimSpace(s) == "" }

func appendText(dst []byte, s string) []byte {
	return append(appendString(append(dst, `{"type":"text","text":`...), s), '}')
}

func appendThinking(dst []byte, t uzda.Thinking) []byte {
	dst = appendString(append(dst, `{"type":"thinking","thinking":`...), t.Text)
	return append(appendString(append(dst, `,"signature":`...), t.Signature), '}')
}

func appendUse(dst []byte, id, name string, input json.RawMessage) []byte {
	dst = appendString(append(dst, `{"type":"tool_use","id":`...), id)
	dst = appendString(append(dst, `,"name":`...), name)
	if len(input) == 0 || input[0] != '{' {
		input = json.RawMessage("{}")
	}
	return append(append(append(dst, `,"input":`...), input...), '}')
}

// A writer writes blocks of the user. It returns nil for what is better left out.
type writer struct {
	blind  bool // pictures and documents are only named
	showed bool // one was written
}

func (writer) text(s string) []byte {
	if blank(s) {
		return nil
	}
	return appendText(make([]byte, 0, len(s)+len(s)/16+40), s)
}

// result writes the outcome of a use. Results of every kind have content, as
// some services refuse none.
func (w *writer) result(id string, r uzda.ToolResult) []byte {
	out := make([]byte, 0, 128+r.Blocks.Size())
	out = appendString(append(out, `{"type":"tool_result","tool_use_id":`...), id)
	out = append(out, `,"content":[`...)
	from := len(out)
	for _, b := range r.Blocks {
		var block []byte
		switch b := b.(type) {
		case uzda.Text:
			block = w.text(b.Text)
		case uzda.Media:
			if r.IsError { // whose content must be text
				block = w.text(remark(b, "it came with an error"))
			} else {
				block = w.media(b)
			}
		}
		if block != nil {
			if len(out) > from {
				out = append(out, ',')
			}
			out = append(out, block...)
		}
	}
	if len(out) == from {
		out = appendText(out, "(no output)")
	}
	out = append(out, ']')
	if r.IsError {
		out = append(out, `,"is_error":true`...)
	}
	return append(out, '}')
}

// media writes a picture or a document; of what the provider cannot read, or
// would refuse for ever, a remark.
func (w *writer) media(m uzda.Media) []byte {
	kind, mime, why := look(m)
	if why == "" && w.blind {
		why = "the provider refused it, or another before"
	}
	if why != "" {
		return w.text(remark(m, why))
	}
	out := make([]byte, 0, base64.StdEncoding.EncodedLen(len(m.Data))+128+len(m.Name))
	w.showed = true
	if kind == "text" {
		out = append(out, `{"type":"document","source":{"type":"text","media_type":"text/plain","data":`...)
		out = append(appendString(out, string(m.Data)), '}')
	} else {
		out = append(append(out, `{"type":"`...), kind...)
		out = appendString(append(out, `","source":{"type":"base64","media_type":`...), mime)
		out = base64.StdEncoding.AppendEncode(append(out, `,"data":"`...), m.Data)
		out = append(out, `"}`...)
	}
	if kind != "image" && m.Name != "" {
		out = appendString(append(out, `,"title":`...), uzda.Clip(m.Name, 200))
	}
	return append(out, '}')
}

// remark stands for media that the model does not see.
func remark(m uzda.Media, why string) string {
	name := m.Name
	if name == "" {
		name = "an attachment"
	}
	return fmt.Sprintf("[%s (%s, %d bytes) is not shown: %s]", uzda.Clip(name, 200), uzda.Clip(m.Type, 100), len(m.Data), why)
}

const maxName = 64 // characters of a tool's name, and of a call's id

// nameFits says whether the provider takes s as the name of a tool or of a call.
func nameFits(s string) bool {
	if s == "" || len(s) > maxName {
		return false
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// names maps the names of tools to what the provider takes, and back. Both are
// nil where all fit as they are.
type names struct{ to, from map[string]string }

// fitNames maps names in the order of tools: one that joins late changes no
// other's.
func fitNames(tools []uzda.ToolSpec) names {
	all := true
	for i := range tools {
		all = all && nameFits(tools[i].Name)
	}
	if all {
		return names{}
	}
	n := names{map[string]string{}, map[string]string{}}
	for i := range tools {
		name := tools[i].Name
		fitted := name
		if _, taken := n.from[name]; taken || !nameFits(name) {
			fitted = fit.Name(name, maxName, func(s string) bool { _, ok := n.from[s]; return ok })
		}
		n.to[name], n.from[fitted] = fitted, name
	}
	return n
}

// wire is the name of a tool on the wire, also of one that is gone by now.
func (n names) wire(name string) string {
	if s, ok := n.to[name]; ok {
		return s
	}
	if nameFits(name) {
		return name
	}
	return fit.Name(name, maxName, nil)
}

// back is the tool that the provider means.
func (n names) back(name string) string {
	if s, ok := n.from[name]; ok {
		return s
	}
	return name
}

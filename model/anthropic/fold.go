package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/raw"
)

// A block is the object that a block of a reply began with, and what its deltas
// add to it.
type block struct {
	at     int    // place in the reply
	index  string // as it came
	closed bool

	kind  string
	whole raw.Object // without what is in the fields below
	texts []*joined
	input raw.Text // partial_json
	cites []json.RawMessage
}

// joined is a member that comes in pieces.
type joined struct {
	key  string
	text raw.Text
}

// start takes the first object. A block without a type is as good as unknown.
func (b *block) start(object json.RawMessage) error {
	var err error
	if b.whole, err = raw.Parse(object); err != nil {
		return err
	}
	b.kind = word(b.whole.Get("type"))
	return nil
}

// piece returns the pieces of a member; what it began with is the first.
func (b *block) piece(key string) *raw.Text {
	for _, j := range b.texts {
		if j.key == key {
			return &j.text
		}
	}
	j := &joined{key: key}
	if v := b.whole.Get(key); len(v) > 2 && v[0] == '"' {
		_, _ = j.text.Add(v) // it is a string
	}
	b.texts = append(b.texts, j)
	return &j.text
}

// shown is the kind of the deltas that people see, "" for none.
func (b *block) shown() string {
	switch b.kind {
	case "text", "thinking":
		return b.kind
	case "tool_use":
		return "input"
	}
	return ""
}

// first is what can be shown when the block begins.
func (b *block) first() string {
	if b.kind == "text" || b.kind == "thinking" {
		t := b.piece(b.kind)
		return strings.TrimSuffix(t.String(), t.Rest())
	}
	return ""
}

// rest is what was held back of a text when the block ends.
func (b *block) rest() string {
	switch b.kind {
	case "text", "thinking":
		return b.piece(b.kind).Rest()
	case "tool_use":
		return b.input.Rest()
	}
	return ""
}

var errFit = errors.New("it does not fit the block")

// deltaKinds are the known deltas by the member that each brings.
var deltaKinds = []struct{ kind, member string }{
	{"text_delta", "text"}, {"thinking_delta", "thinking"}, {"signature_delta", "signature"},
	{"input_json_delta", "partial_json"}, {"citations_delta", "citation"},
}

// deltaKind is the type of a delta; without one, its member tells it.
func deltaKind(delta *raw.Object) string {
	if kind := delta.Get("type"); kind != nil {
		return word(kind)
	}
	for _, k := range deltaKinds {
		if delta.Get(k.member) != nil {
			return k.kind
		}
	}
	return ""
}

// add folds a delta in and returns what can be shown of it.
func (b *block) add(delta *raw.Object) (fresh string, err error) {
	kind := deltaKind(delta)
	switch kind {
	case "text_delta", "thinking_delta":
		if key := strings.TrimSuffix(kind, "_delta"); b.shown() == "" || key == b.kind {
			return addString(b.piece(key), delta.Get(key))
		}
	case "signature_delta":
		_, err = addString(b.piece("signature"), delta.Get("signature"))
		return "", err
	case "input_json_delta":
		if b.shown() == "" || b.kind == "tool_use" {
			return addString(&b.input, delta.Get("partial_json"))
		}
	case "citations_delta":
		if v := delta.Get("citation"); v != nil {
			b.cites = append(b.cites, bytes.Clone(v))
		}
		return "", nil
	default:
		return b.addUnknown(delta)
	}
	return "", fmt.Errorf("%s of a block of type %s: %w", kind, b.kind, errFit)
}

// addUnknown folds in a delta of a type that does not exist yet: strings are
// joined, all else is set.
func (b *block) addUnknown(delta *raw.Object) (fresh string, err error) {
	if len(b.texts)+b.whole.Len()+delta.Len() > maxBlocks { // each is looked for among all others
		return "", tooLong
	}
	for key, v := range delta.All() {
		switch {
		case key == "type":
		case v[0] == '"':
			more, err := b.piece(key).Add(v)
			if err != nil {
				return fresh, err
			}
			if key == b.kind {
				fresh = more
			}
		default:
			b.whole.Set(key, bytes.Clone(v))
		}
	}
	return fresh, nil
}

func addString(t *raw.Text, v json.RawMessage) (string, error) {
	if len(v) == 0 || v[0] == 'n' { // null
		return "", nil
	}
	return t.Add(v)
}

// plain is the item of a block that holds nothing else.
func plain() *uzda.Item { return &uzda.Item{Blocks: 1, Raw: json.RawMessage("null")} }

// fold returns the block and the item that it came as, which is plain if encoding
// the block gives the same bytes.
func (b *block) fold(profile string) (uzda.Block, *uzda.Item) {
	for _, j := range b.texts {
		b.whole.Set(j.key, j.text.Raw())
	}
	if len(b.cites) > 0 {
		b.cite()
	}
	var out uzda.Block
	var again []byte
	switch b.kind {
	case "text":
		t := uzda.Text{Text: b.piece("text").String()}
		out, again = t, appendText(nil, t.Text)
	case "thinking":
		t := uzda.Thinking{Text: b.piece("thinking").String(), Signature: b.piece("signature").String()}
		out, again = t, appendThinking(nil, t)
	case "tool_use":
		u := b.use()
		out, again = u, appendUse(nil, u.Wire, u.Name, u.Input)
	default:
		if text := b.input.String(); !blank(text) {
			if args, _ := arguments(text); args != nil {
				b.whole.Set("input", args)
			}
		}
		item := raw.Mend(b.whole.Append(nil))
		return uzda.Opaque{Origin: profile, Raw: item, Meta: uzda.Meta{Labels: labels(profile, b.kind)}}, plain()
	}
	if item := raw.Mend(b.whole.Append(nil)); !bytes.Equal(item, again) {
		return out, &uzda.Item{Blocks: 1, Raw: item}
	}
	return out, plain()
}

// labels mark what the provider's own tools brought in from outside.
func labels(profile, kind string) []uzda.Label {
	if strings.HasSuffix(kind, "_tool_result") {
		return []uzda.Label{{Kind: uzda.Untrusted, From: profile + "/" + kind}}
	}
	return nil
}

// cite appends the citations to those that the block began with.
func (b *block) cite() {
	all := []byte{'['}
	add := func(v json.RawMessage) {
		if len(all) > 1 {
			all = append(all, ',')
		}
		all = append(all, v...)
	}
	if list, err := raw.Elements(b.whole.Get("citations")); err == nil {
		for _, v := range list {
			add(v)
		}
	}
	for _, v := range b.cites {
		add(v)
	}
	b.whole.Set("citations", append(all, ']'))
}

// use is a call. Arguments in deltas stand for those in the first object, which
// some services fill in too.
func (b *block) use() uzda.ToolUse {
	u := uzda.ToolUse{Wire: str(b.whole.Get("id")), Name: str(b.whole.Get("name"))}
	if u.Name == "" {
		u.Name = "unnamed" // the loop tells the model which there are
	}
	text := b.input.String()
	if blank(text) {
		if text = string(b.whole.Get("input")); strings.HasPrefix(text, `"`) {
			text = str(json.RawMessage(text))
		}
	}
	args, broken := arguments(text)
	if args == nil {
		args, u.Raw = json.RawMessage("{}"), broken
	}
	b.whole.Set("input", args)
	u.Input = raw.Compact(args)
	return u
}

// arguments are the object that a text holds. Nothing and null are {}; of anything
// else the text is returned.
func arguments(text string) (args json.RawMessage, broken string) {
	switch trimmed := strings.TrimSpace(text); {
	case trimmed == "" || trimmed == "null":
		return json.RawMessage("{}"), ""
	case json.Valid([]byte(trimmed)) && trimmed[0] == '{':
		return raw.Mend([]byte(trimmed)), ""
	default:
		// Line breaks inside strings are a mistake that models make.
		if o, err := raw.Parse([]byte(trimmed)); err == nil {
			return raw.Mend(o.Append(nil)), ""
		}
		return nil, text
	}
}

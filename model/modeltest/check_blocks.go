package modeltest

import (
	"fmt"
	"slices"
	"strings"
)

// messagesBlocks are the blocks that each role may send, and their members.
// Everything else goes back only as this server sent it.
var messagesBlocks = map[string]map[string][]string{
	"user": {
		"text":             {"text", "citations"},
		"image":            {"source"},
		"document":         {"source", "title", "context", "citations"},
		"search_result":    {"source", "title", "content", "citations"},
		"tool_result":      {"tool_use_id", "content", "is_error"},
		"container_upload": {"file_id"},
	},
	"assistant": {
		"text":     {"text"},
		"thinking": {"thinking", "signature"},
		"tool_use": {"id", "name", "input", "caller", "toolset_name"},
	},
}

func (k *messagesCheck) message(i int, m *value, last bool) {
	where := fmt.Sprintf("message %d", i)
	role, content := m.get("role"), m.get("content")
	if role.text != "user" && role.text != "assistant" {
		k.fault("%s: the role is %s", where, role.raw)
	}
	if i == 0 && role.text != "user" {
		k.fault("the first message is not the user's")
	}
	k.members(where, m, "role", "content")
	if role.text == "assistant" {
		k.r.Assistant++
		k.settled(k.checker, where)
	}
	switch content.kind {
	case '"':
		k.prose(where, content)
		k.settled(k.checker, where)
		k.read.add("messages", i, -1, m.raw, len(m.raw), "")
		return
	case '[':
		if len(content.vals) == 0 && !(last && role.text == "assistant") {
			k.fault("%s: its content is empty", where)
		}
	default:
		k.fault("%s: its content is missing, or neither a string nor a list", where)
		return
	}
	k.read.message("messages", i, m, &content)
	results := true // only results so far
	for j := range content.vals {
		k.block(i, j, role.text, &content.vals[j], &results)
	}
	if role.text == "user" {
		k.settled(k.checker, where)
	}
}

func (k *messagesCheck) block(i, j int, role string, b *value, results *bool) {
	where := fmt.Sprintf("block %d of message %d", j, i)
	kind := b.get("type")
	raw := unmarked(b)
	size := len(raw)
	known, ok := messagesBlocks[role][kind.text]
	mark := k.marker(where, b)
	own := role == "assistant" && k.s.isIssued(k.r.Model, "block", exact(raw))
	switch {
	case own:
	case ok:
		k.members(where, b, append(slices.Clone(known), "type", "cache_control")...)
	default:
		k.fault("%s: a block of type %q of %s was not sent by this server like this", where, kind.text, role)
	}
	if kind.text != "tool_result" {
		*results = false
	}
	switch {
	case own || !ok:
	case kind.text == "text":
		k.prose(where, b.get("text"))
	case kind.text == "thinking":
		k.thought(where, b)
	case kind.text == "tool_use":
		k.toolUse(where, b)
	case kind.text == "tool_result":
		if !*results {
			k.fault("%s: a result stands after something else; results come first", where)
		}
		size = k.toolResult(where, b, size)
	case kind.text == "image" || kind.text == "document":
		k.source(where, b)
		size = mediaSize
	}
	if strings.HasSuffix(kind.text, "thinking") && mark != "" {
		k.fault("%s: thinking has a cache marker", where)
	}
	k.read.add("messages", i, j, raw, size, mark)
}

// unmarked is a block without cache markers, on it or in the content of a result.
func unmarked(b *value) []byte {
	content := b.get("content")
	if !hasMarker(content.vals) {
		return b.without("cache_control")
	}
	at := content.at - b.at
	raw := append([]byte{}, b.raw[:at]...)
	for i := range content.vals {
		raw = append(append(raw, "[,"[min(i, 1)]), content.vals[i].without("cache_control")...)
	}
	raw = append(append(raw, ']'), b.raw[at+len(content.raw):]...)
	again, _, _ := readJSON(raw) // it is as good as the block was
	return again.without("cache_control")
}

func hasMarker(list []value) bool {
	return slices.ContainsFunc(list, func(v value) bool { return v.has("cache_control") })
}

func (k *messagesCheck) thought(where string, b *value) {
	text, signature := b.get("thinking"), b.get("signature")
	if text.kind != '"' {
		k.fault("%s: its thinking is missing, or no string", where)
	}
	if !k.s.signed(k.r.Model, text.text, signature.text) {
		k.fault("%s: its signature is none that this server gave this thinking of %s", where, k.r.Model)
	}
}

func (k *messagesCheck) toolUse(where string, b *value) {
	id, name, input := b.get("id"), b.get("name"), b.get("input")
	if !anID.MatchString(id.text) {
		k.fault("%s: its id %q is none; ids match %s", where, id.text, anID)
	}
	k.use(k.checker, where, id.text)
	if !toolName.MatchString(name.text) {
		k.fault("%s: its name %q is none; names match %s", where, name.text, toolName)
	}
	if input.kind != '{' {
		k.fault("%s: its input is no object", where)
	}
}

// toolResult returns the size of what counts.
func (k *messagesCheck) toolResult(where string, b *value, size int) int {
	id := b.get("tool_use_id")
	k.result(k.checker, where, id.text)
	if e := b.get("is_error"); e.kind != 0 && e.kind != 't' {
		k.fault("%s: is_error is neither true nor false", where)
	}
	content := b.get("content")
	switch content.kind {
	case 0, '"':
	case '[':
		for n := range content.vals {
			one := &content.vals[n]
			in := fmt.Sprintf("part %d of %s", n, where)
			k.marker(in, one)
			switch kind := one.get("type"); kind.text {
			case "text":
				k.prose(in, one.get("text"))
			case "image", "document":
				k.source(in, one)
				size += mediaSize - len(one.raw)
			case "search_result", "tool_reference", "browser_state":
			default:
				k.fault("%s: its type is %q", in, kind.text)
			}
		}
	default:
		k.fault("%s: its content is neither a string nor a list", where)
	}
	return size
}

func (k *messagesCheck) source(where string, b *value) {
	source := b.get("source")
	kind, media, data := source.get("type"), source.get("media_type"), source.get("data")
	switch kind.text {
	case "base64":
		k.media(where, media.text, data.text)
	case "text":
		k.prose(where, data)
	case "url", "file", "content":
	default:
		k.fault("%s: its source is %.80s", where, source.raw)
	}
}

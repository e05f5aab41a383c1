package modeltest

import (
	"encoding/base64"
	"fmt"
	"slices"
)

var ollamaMembers = []string{
	"model", "messages", "tools", "format", "options", "stream", "keep_alive", "think", "truncate", "shift", "logprobs", "top_logprobs",
}

// An ollamaCheck follows one request to Ollama.
type ollamaCheck struct {
	*checker
	pairs
	began bool
	names []string // of the calls that wait, as results may name the tool instead of the call
}

func (ollama) read(c *checker, r *Request) {
	k := &ollamaCheck{checker: c}
	c.top(ollamaMembers)
	if !r.doc.has("stream") {
		r.Stream = true
	}
	list := r.doc.get("tools")
	if list.kind != 0 && list.kind != '[' {
		c.fault("tools is no list")
	}
	for i := range list.vals {
		t := &list.vals[i]
		c.read.add("tools", 0, i, t.raw, len(t.raw), "")
		kind, f := t.get("type"), t.get("function")
		if kind.text != "function" || f.kind != '{' {
			c.fault("tool %d is no function", i)
			continue
		}
		c.function(fmt.Sprintf("tool %d", i), &f)
	}
	k.options()
	messages := c.messages()
	for i := range messages {
		k.message(i, &messages[i])
	}
	k.answered("the end")
	if n := len(messages); n > 0 && !c.rules.Prefill {
		if role := messages[n-1].get("role"); role.text == "assistant" {
			c.fault("the last message is the assistant's")
		}
	}
	c.done()
}

func (k *ollamaCheck) options() {
	options := k.r.doc.get("options")
	if options.kind != 0 && options.kind != '{' && options.kind != 'n' {
		k.fault("options is no object")
	}
	for _, name := range []string{"num_ctx", "num_predict"} {
		v := options.get(name)
		if v.kind == 0 {
			continue
		}
		if n, ok := v.integer(); !ok || name == "num_ctx" && n < 1 {
			k.fault("options.%s is %s", name, v.raw)
		} else if name == "num_predict" {
			k.r.MaxTokens = max(n, 0)
		}
	}
	if f := k.r.doc.get("format"); f.kind != 0 && f.kind != '{' && f.text != "json" && f.text != "" {
		k.fault("format is neither a schema nor json")
	}
	if t := k.r.doc.get("think"); t.kind != 0 && t.kind != 't' && !slices.Contains([]string{"low", "medium", "high", "max"}, t.text) {
		k.fault("think is %s", t.raw)
	}
}

func (k *ollamaCheck) message(i int, m *value) {
	where := fmt.Sprintf("message %d", i)
	role, content := m.get("role"), m.get("content")
	if content.kind != 0 && content.kind != '"' {
		k.fault("%s: its content is no string", where)
	}
	k.members(where, m, "role", "content", "tool_calls", "tool_name", "tool_call_id", "images")
	size := len(m.raw)
	images := m.get("images")
	for j := range images.vals {
		if raw, err := base64.StdEncoding.DecodeString(images.vals[j].text); err != nil || len(raw) == 0 {
			k.fault("image %d of %s is not base64", j, where)
		}
		size += mediaSize - len(images.vals[j].raw)
	}
	if role.text != "tool" {
		k.answered(where)
	}
	switch role.text {
	case "system":
		if k.began {
			k.fault("%s is the system's and stands behind others", where)
		}
		k.prose(where, content)
	case "user":
		if len(images.vals) == 0 {
			k.prose(where, content)
		}
	case "assistant":
		k.r.Assistant++
		if !k.began {
			k.fault("%s: the first message behind the system's is not the user's", where)
		}
		k.assistant(where, m)
	case "tool":
		k.tool(where, m)
	default:
		k.fault("%s: the role is %s", where, role.raw)
	}
	part := "messages"
	if k.began = k.began || role.text != "system"; !k.began {
		part = "system"
	}
	k.read.add(part, i, -1, m.raw, size, "")
}

func (k *ollamaCheck) assistant(where string, m *value) {
	content, calls := m.get("content"), m.get("tool_calls")
	if content.text == "" && len(calls.vals) == 0 {
		k.fault("%s says nothing and calls nothing", where)
	}
	for j := range calls.vals {
		in := fmt.Sprintf("call %d of %s", j, where)
		v := &calls.vals[j]
		f, id := v.get("function"), v.get("id")
		name, arguments := f.get("name"), f.get("arguments")
		k.members(in, v, "id", "type", "function")
		k.members(in, &f, "index", "name", "arguments")
		if !toolName.MatchString(name.text) {
			k.fault("%s: its name %q is none; names match %s", in, name.text, toolName)
		}
		if arguments.kind != '{' {
			k.fault("%s: its arguments are no object", in)
		}
		if id.text != "" {
			k.use(k.checker, in, id.text)
		}
		k.names = append(k.names, name.text)
	}
}

// tool takes a result: by the id of its call, or by its name and its place.
func (k *ollamaCheck) tool(where string, m *value) {
	id, name := m.get("tool_call_id"), m.get("tool_name")
	if id.text != "" {
		k.result(k.checker, where, id.text)
	} else if name.text == "" {
		k.fault("%s says neither the name nor the id of the call that it answers", where)
	}
	if len(k.names) == 0 {
		k.fault("%s answers no call", where)
		return
	}
	if name.text != "" && id.text == "" && name.text != k.names[0] {
		k.fault("%s answers %q, but the next call is of %q", where, name.text, k.names[0])
	}
	if id.text == "" && len(k.left) > 0 {
		k.left = k.left[1:]
	}
	k.names = k.names[1:]
}

func (k *ollamaCheck) answered(where string) {
	if len(k.names) > 0 {
		k.fault("%s: the calls of %q have no results directly after them", where, k.names)
	}
	k.names, k.left = nil, nil
}

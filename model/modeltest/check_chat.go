package modeltest

import (
	"fmt"
	"slices"
	"strings"
)

// chatMembers are the members of a request for a chat completion, as OpenAI names
// them, and those that all compatible services know.
var chatMembers = []string{
	"model", "messages", "max_tokens", "max_completion_tokens", "stream", "stream_options", "tools", "tool_choice",
	"parallel_tool_calls", "response_format", "reasoning_effort", "temperature", "top_p", "stop", "seed", "n", "logprobs",
	"top_logprobs", "logit_bias", "presence_penalty", "frequency_penalty", "user", "safety_identifier", "metadata", "store",
	"service_tier", "modalities", "audio", "prediction", "verbosity", "web_search_options", "prompt_cache_key",
	"prompt_cache_retention", "prompt_cache_options",
}

// A chatCheck follows one request for a chat completion.
type chatCheck struct {
	*checker
	pairs
	began bool // a message other than the system's came
}

func (chat) read(c *checker, r *Request) {
	k := &chatCheck{checker: c}
	known := chatMembers
	if c.s.cfg.Local.Kind != "" {
		known = append(slices.Clone(known), localMembers...)
	}
	c.top(known)
	c.limit("max_tokens", "max_completion_tokens")
	if r.doc.has("stream_options") && !r.Stream {
		c.fault("stream_options stands without stream")
	}
	k.tools()
	k.format()
	list := c.messages()
	for i := range list {
		k.message(i, &list[i])
	}
	last := fmt.Sprintf("message %d, the last", len(list)-1)
	k.settled(c, last)
	if n := len(list); n > 0 && !c.rules.Prefill {
		if role := list[n-1].get("role"); role.text == "assistant" {
			c.fault("the last message is the assistant's")
		}
	}
	k.echoed(list)
	c.done()
}

// usageAsked says whether a stream is to tell its usage.
func (v *value) usageAsked() bool {
	options := v.get("stream_options")
	asked := options.get("include_usage")
	return asked.yes()
}

func (k *chatCheck) tools() {
	list := k.r.doc.get("tools")
	switch {
	case list.kind == 0:
		for _, word := range []string{"tool_choice", "parallel_tool_calls"} {
			if k.r.doc.has(word) {
				k.fault("%s stands without tools", word)
			}
		}
		return
	case list.kind != '[' || len(list.vals) == 0:
		k.fault("tools is empty, or no list")
	}
	for i := range list.vals {
		t := &list.vals[i]
		where := fmt.Sprintf("tool %d", i)
		kind, f := t.get("type"), t.get("function")
		k.read.add("tools", 0, i, t.raw, len(t.raw), "")
		if kind.text != "function" || f.kind != '{' {
			k.fault("%s is no function", where)
			continue
		}
		k.function(where, &f)
	}
	k.choice()
}

func (c *checker) function(where string, f *value) {
	name, parameters, strict := f.get("name"), f.get("parameters"), f.get("strict")
	c.toolName(where, name)
	c.r.Tools = append(c.r.Tools, name.text)
	c.members(where, f, "name", "description", "parameters", "strict")
	if d := f.get("description"); d.kind != 0 && d.kind != '"' {
		c.fault("%s: its description is no string", where)
	}
	s := schemaCheck{c: c, where: where + " " + name.text, gemini: c.rules.Gemini, strict: strict.yes(), chat: true}
	s.top(parameters, "parameters")
}

func (k *chatCheck) choice() {
	choice := k.r.doc.get("tool_choice")
	switch choice.kind {
	case 0:
	case '"':
		if !slices.Contains([]string{"auto", "none", "required", "any"}, choice.text) {
			k.fault("tool_choice is %q", choice.text)
		}
	default:
		f := choice.get("function")
		if name := f.get("name"); !slices.Contains(k.r.Tools, name.text) {
			k.fault("tool_choice names the tool %q, which is not there", name.text)
		}
	}
}

func (k *chatCheck) format() {
	f := k.r.doc.get("response_format")
	if f.kind == 0 {
		return
	}
	kind, schema := f.get("type"), f.get("json_schema")
	switch kind.text {
	case "text", "json_object":
		return
	case "json_schema":
	default:
		k.fault("response_format is %.80s", f.raw)
		return
	}
	name, strict := schema.get("name"), schema.get("strict")
	if !toolName.MatchString(name.text) {
		k.fault("response_format: its name %q is none; names match %s", name.text, toolName)
	}
	s := schemaCheck{c: k.checker, where: "response_format", gemini: k.rules.Gemini, strict: strict.yes(), chat: true}
	s.top(schema.get("schema"), "schema")
}

func (k *chatCheck) message(i int, m *value) {
	where := fmt.Sprintf("message %d", i)
	role, content := m.get("role"), m.get("content")
	if role.text != "tool" {
		k.settled(k.checker, where)
	}
	switch role.text {
	case "system", "developer":
		if k.began {
			k.fault("%s is the system's and stands behind others", where)
		}
		k.text(where, content, "text")
		k.members(where, m, "role", "content", "name")
	case "user":
		k.text(where, content, "text", "image_url", "input_audio", "file")
		k.members(where, m, "role", "content", "name")
	case "assistant":
		k.r.Assistant++
		if !k.began {
			k.fault("%s: the first message behind the system's is not the user's", where)
		}
		k.assistant(where, m)
	case "tool":
		id := m.get("tool_call_id")
		k.result(k.checker, where, id.text)
		if content.kind != '"' || content.text != "" { // an empty result is one
			k.text(where, content, "text")
		}
		k.members(where, m, "role", "content", "tool_call_id", "name")
	default:
		k.fault("%s: the role is %s", where, role.raw)
	}
	k.began = k.began || role.text != "system" && role.text != "developer"
	part := "messages"
	if !k.began {
		part = "system"
	}
	k.units(part, i, m, content)
}

// units takes a message apart into what the provider reads.
func (k *chatCheck) units(part string, i int, m *value, content value) {
	if content.kind != '[' {
		k.read.add(part, i, -1, m.raw, len(m.raw), "")
		return
	}
	k.read.message(part, i, m, &content)
	for j := range content.vals {
		p := &content.vals[j]
		size := len(p.raw)
		if kind := p.get("type"); kind.text != "text" {
			size = mediaSize
		}
		k.read.add(part, i, j, p.without("cache_control"), size, "")
	}
}

// text checks a content: a string, or a list of parts of these kinds.
func (k *chatCheck) text(where string, content value, kinds ...string) {
	switch content.kind {
	case '"':
		k.prose(where, content)
		return
	case '[':
		if len(content.vals) == 0 {
			k.fault("%s: its content is empty", where)
		}
	default:
		k.fault("%s: its content is %.80s", where, content.raw)
	}
	for j := range content.vals {
		p := &content.vals[j]
		in := fmt.Sprintf("part %d of %s", j, where)
		kind := p.get("type")
		switch {
		case !slices.Contains(kinds, kind.text):
			k.fault("%s: its type is %q", in, kind.text)
		case kind.text == "text":
			k.prose(in, p.get("text"))
			k.members(in, p, "type", "text")
		case kind.text == "image_url":
			image := p.get("image_url")
			k.url(in, image.get("url"))
		case kind.text == "refusal":
			k.prose(in, p.get("refusal"))
		case kind.text == "thinking":
			k.thinking(in, p)
		}
	}
}

// thinking checks Mistral's chunk of it.
func (k *chatCheck) thinking(where string, p *value) {
	list := p.get("thinking")
	for i := range list.vals {
		text := list.vals[i].get("text")
		if len(list.vals) == 1 && k.s.isIssued(k.r.Model, "chunk", string(text.raw)) {
			return
		}
	}
	k.fault("%s: its thinking is not as this server sent it", where)
}

func (k *chatCheck) url(where string, url value) {
	rest, ok := strings.CutPrefix(url.text, "data:")
	if !ok {
		if !strings.HasPrefix(url.text, "https://") && !strings.HasPrefix(url.text, "http://") {
			k.fault("%s: its url %.80q is none", where, url.text)
		}
		return
	}
	kind, data, ok := strings.Cut(rest, ";base64,")
	if !ok {
		k.fault("%s: its url is no data in base64", where)
		return
	}
	k.media(where, kind, data)
}

func (k *chatCheck) assistant(where string, m *value) {
	content, calls := m.get("content"), m.get("tool_calls")
	if k.r.Model == "" {
		return
	}
	k.members(where, m, "role", "content", "tool_calls", "name")
	switch {
	case content.kind == '[' || content.kind == '"' && content.text != "":
		k.text(where, content, "text", "refusal", "thinking")
	case content.kind == '"' && calls.kind == 0 && !m.has("refusal"):
		k.fault("%s says nothing and calls nothing", where)
	case content.kind == 0 || content.kind == 'n':
		if calls.kind == 0 && !m.has("refusal") {
			k.fault("%s: its content is null without tool_calls", where)
		}
	case content.kind != '"':
		k.fault("%s: its content is %.80s", where, content.raw)
	}
	if calls.kind != 0 && (calls.kind != '[' || len(calls.vals) == 0) {
		k.fault("%s: its tool_calls is empty, or no list", where)
	}
	for j := range calls.vals {
		k.call(fmt.Sprintf("call %d of %s", j, where), &calls.vals[j])
	}
}

func (k *chatCheck) call(where string, v *value) {
	id, kind, f := v.get("id"), v.get("type"), v.get("function")
	if kind.text != "function" {
		k.fault("%s: its type is %s", where, kind.raw)
	}
	k.members(where, v, "id", "type", "function")
	k.members(where, &f, "name", "arguments")
	switch {
	case id.kind != '"' || id.text == "":
		k.fault("%s: its id is missing", where)
	case k.rules.NineIDs && !nineID.MatchString(id.text):
		k.fault("%s: its id %q is none; ids match %s", where, id.text, nineID)
	case len(id.text) > 64:
		k.fault("%s: its id has %d bytes, over 64", where, len(id.text))
	}
	k.use(k.checker, where, id.text)
	name, arguments := f.get("name"), f.get("arguments")
	if !toolName.MatchString(name.text) {
		k.fault("%s: its name %q is none; names match %s", where, name.text, toolName)
	}
	if arguments.kind != '"' {
		k.fault("%s: its arguments are no string", where)
		return
	}
	in, faults, err := readJSON([]byte(arguments.text))
	if err != nil || in.kind != '{' {
		k.fault("%s: its arguments %.80q are no JSON object", where, arguments.text)
	}
	for _, one := range faults {
		k.fault("%s: its arguments: %s", where, one)
	}
}

// echoed checks that what the model thought before the calls of this turn came
// back with them, where the service wants that.
func (k *chatCheck) echoed(list []value) {
	if !k.rules.Echo {
		return
	}
	for i := len(list) - 1; i >= 0; i-- {
		if role := list[i].get("role"); role.text == "user" {
			return
		}
		calls := list[i].get("tool_calls")
		for j := range calls.vals {
			id := calls.vals[j].get("id")
			for _, e := range k.s.echoOf(id.text) {
				in := &calls.vals[j]
				if e.around {
					in = &list[i]
				}
				if got := in.get(e.name); string(got.raw) != e.raw {
					k.fault("message %d: the member %q that came with the call %q must go back with it", i, e.name, id.text)
				}
			}
		}
	}
}

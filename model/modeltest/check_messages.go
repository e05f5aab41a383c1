package modeltest

import (
	"fmt"
	"slices"
	"strings"
)

// messagesMembers are the members of a request to Messages, with those of betas.
var messagesMembers = []string{
	"model", "messages", "max_tokens", "system", "tools", "tool_choice", "thinking", "output_config", "stop_sequences",
	"stream", "metadata", "service_tier", "speed", "cache_control", "container", "inference_geo", "diagnostics",
	"temperature", "top_p", "top_k", "context_management", "compaction", "mcp_servers", "fallbacks",
	"fallback_credit_token", "thread", "billing_policy",
}

// countMembers are those of a request that only counts.
var countMembers = []string{
	"model", "messages", "system", "tools", "tool_choice", "thinking", "output_config", "cache_control", "speed", "context_management", "mcp_servers",
}

// A messagesCheck follows one request to Messages.
type messagesCheck struct {
	*checker
	pairs
	marks int  // cache markers so far
	short bool // one of them lives five minutes
}

func (m messages) read(c *checker, r *Request) {
	k := &messagesCheck{checker: c}
	if r.Header.Get("Anthropic-Version") == "" {
		c.fault("the header anthropic-version is missing")
	}
	known := messagesMembers
	if c.count {
		known = countMembers
	}
	c.top(known)
	if !c.limit("max_tokens") && !c.count {
		c.fault("max_tokens is missing")
	}
	if top := r.doc.get("cache_control"); top.kind != 0 {
		k.marker("the request", &r.doc)
		k.short = false // it stands on the last block, after all others
	}
	k.tools()
	k.format()
	k.system()
	list := c.messages()
	for i := range list {
		k.message(i, &list[i], i == len(list)-1)
	}
	k.thinking(list)
	k.last(list)
	if hasUse(list) && len(r.Tools) == 0 {
		c.fault("there are calls or results and no tools: Messages wants the tools that they are of")
	}
	if top := r.doc.get("cache_control"); top.kind != 0 && len(c.read.units) > 0 {
		c.read.units[len(c.read.units)-1].mark = ttl(&top)
	}
	c.done()
}

func hasUse(list []value) bool {
	return slices.ContainsFunc(list, func(m value) bool {
		content := m.get("content")
		return slices.ContainsFunc(content.vals, func(b value) bool {
			t := b.get("type")
			return t.text == "tool_use" || t.text == "tool_result"
		})
	})
}

// marker checks the cache marker of a block and returns its time to live, "" if
// there is none.
func (k *messagesCheck) marker(where string, v *value) string {
	m := v.get("cache_control")
	if m.kind == 0 || m.kind == 'n' {
		return ""
	}
	if k.marks++; k.marks == 5 {
		k.fault("%s has a fifth cache marker; four are the most", where)
	}
	kind, life := m.get("type"), ttl(&m)
	if kind.text != "ephemeral" || life == "" {
		k.fault("%s: the cache marker %s is unknown", where, m.raw)
	}
	if life == "1h" && k.short {
		k.fault("%s: a cache marker of 1h stands after one of 5m", where)
	}
	k.short = k.short || life == "5m"
	return life
}

func ttl(marker *value) string {
	switch t := marker.get("ttl"); {
	case t.kind == 0:
		return "5m"
	case t.text == "5m" || t.text == "1h":
		return t.text
	}
	return ""
}

func (k *messagesCheck) tools() {
	list := k.r.doc.get("tools")
	if list.kind != 0 && list.kind != '[' {
		k.fault("tools is no list")
	}
	for i := range list.vals {
		t := &list.vals[i]
		where := fmt.Sprintf("tool %d", i)
		name, kind := t.get("name"), t.get("type")
		if kind.kind == 0 || kind.text == "custom" {
			k.toolName(where, name)
			k.members(where, t, "type", "name", "description", "input_schema", "cache_control", "strict", "defer_loading",
				"allowed_callers", "input_examples", "eager_input_streaming")
			strict := t.get("strict")
			s := schemaCheck{c: k.checker, where: where + " " + name.text, strictMessages: strict.yes()}
			s.top(t.get("input_schema"), "input_schema")
			k.schemaTop(where, t.get("input_schema"))
		}
		k.r.Tools = append(k.r.Tools, name.text)
		mark := k.marker(where, t)
		raw := t.without("cache_control")
		k.read.add("tools", 0, i, raw, len(raw), mark)
	}
	k.choice()
}

// schemaTop checks what Messages wants of the top of a schema alone.
func (k *messagesCheck) schemaTop(where string, schema value) {
	for _, word := range []string{"oneOf", "anyOf", "allOf"} {
		if schema.has(word) {
			k.fault("%s: input_schema has %s at its top", where, word)
		}
	}
	properties := schema.get("properties")
	for _, name := range properties.keys {
		if !propertyName.MatchString(name) {
			k.fault("%s: the property %q has no name that is taken; names match %s", where, name, propertyName)
		}
	}
}

// toolName checks a name, which no tool before may have.
func (c *checker) toolName(where string, name value) {
	if !toolName.MatchString(name.text) {
		c.fault("%s: its name %q is none; names match %s", where, name.text, toolName)
	}
	if slices.Contains(c.r.Tools, name.text) {
		c.fault("%s: another one has the name %q", where, name.text)
	}
}

func (k *messagesCheck) choice() {
	choice := k.r.doc.get("tool_choice")
	if choice.kind == 0 {
		return
	}
	kind, name := choice.get("type"), choice.get("name")
	thinking := k.r.doc.get("thinking")
	thinks := thinking.get("type")
	switch kind.text {
	case "auto", "none":
	case "any", "tool":
		if kind.text == "tool" && !slices.Contains(k.r.Tools, name.text) {
			k.fault("tool_choice names the tool %q, which is not there", name.text)
		}
		if thinks.text == "enabled" {
			k.fault("tool_choice forces a tool while thinking is enabled")
		}
	default:
		k.fault("tool_choice is %s", choice.raw)
	}
	if len(k.r.Tools) == 0 && kind.text != "none" {
		k.fault("tool_choice stands without tools")
	}
}

// format checks the schema of the answer.
func (k *messagesCheck) format() {
	config := k.r.doc.get("output_config")
	f := config.get("format")
	if f.kind == 0 || f.kind == 'n' {
		return
	}
	if kind := f.get("type"); kind.text != "json_schema" {
		k.fault("the format of output_config is %.80s", f.raw)
		return
	}
	s := schemaCheck{c: k.checker, where: "output_config", strictMessages: true}
	s.top(f.get("schema"), "schema")
}

func (k *messagesCheck) system() {
	system := k.r.doc.get("system")
	switch system.kind {
	case 0:
	case '"':
		k.prose("system", system)
		k.read.add("system", 0, 0, system.raw, len(system.raw), "")
	case '[':
		for i := range system.vals {
			b := &system.vals[i]
			where := fmt.Sprintf("block %d of system", i)
			if kind := b.get("type"); kind.text != "text" {
				k.fault("%s is no text", where)
			}
			k.prose(where, b.get("text"))
			k.members(where, b, "type", "text", "cache_control", "citations")
			raw := b.without("cache_control")
			k.read.add("system", 0, i, raw, len(raw), k.marker(where, b))
		}
	default:
		k.fault("system is neither a string nor a list")
	}
}

// thinking checks the settings of thinking, and that a turn that goes on after
// its results begins with the thinking that it had.
func (k *messagesCheck) thinking(list []value) {
	v := k.r.doc.get("thinking")
	kind, budget := v.get("type"), v.get("budget_tokens")
	switch kind.text {
	case "enabled":
		n, ok := budget.integer()
		if !ok || n < 1024 || n >= k.r.MaxTokens && !k.count {
			k.fault("thinking has the budget %s; it must be at least 1024 and less than max_tokens", budget.raw)
		}
	case "adaptive", "disabled", "between_tools":
	default:
		if v.kind != 0 {
			k.fault("thinking is %.80s", v.raw)
		}
	}
	if kind.text != "enabled" || len(list) < 2 || !hasResult(&list[len(list)-1]) {
		return
	}
	for i := len(list) - 1; i >= 0; i-- {
		role, content := list[i].get("role"), list[i].get("content")
		if role.text != "assistant" {
			continue
		}
		if len(content.vals) > 0 {
			if first := content.vals[0].get("type"); !strings.HasSuffix(first.text, "thinking") {
				k.fault("message %d: thinking is enabled, and the message before the results begins with %s", i, first.text)
			}
		}
		return
	}
}

func hasResult(m *value) bool {
	content := m.get("content")
	return slices.ContainsFunc(content.vals, func(b value) bool {
		kind := b.get("type")
		return kind.text == "tool_result"
	})
}

// last checks that the last message is not the assistant's, unless it paused.
func (k *messagesCheck) last(list []value) {
	if len(list) == 0 {
		return
	}
	m := &list[len(list)-1]
	role, content := m.get("role"), m.get("content")
	if role.text != "assistant" || k.rules.Prefill {
		return
	}
	if n := len(content.vals); n > 0 {
		raw := content.vals[n-1].without("cache_control")
		if k.s.isIssued(k.r.Model, "pause", exact(raw)) {
			return
		}
	}
	k.settled(k.checker, fmt.Sprintf("message %d", len(list)-1))
	k.fault("the last message is the assistant's, and it did not pause")
}

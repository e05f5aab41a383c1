package cost

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
)

// maxListed bounds the models of one provider.
const maxListed = 20_000

// Listing reads what a provider's models endpoint answers: an array, or an object
// with one under "data" or "models". Services agree on little more than the id;
// what is known of their ways to give windows, longest replies, abilities and
// prices is read, and what has another form than expected is unknown, as if it
// were not there. The ids begin with the provider. Models that cannot chat are
// left out. Next is where the following page begins, "" after the last.
func Listing(provider string, raw []byte) (models []*Model, next string, err error) {
	rows, page, err := listed(raw)
	if err != nil {
		return nil, "", fmt.Errorf("read the models of %s: %w", provider, err)
	}
	if len(rows) > maxListed {
		return nil, "", fmt.Errorf("read the models of %s: %d are more than can be right", provider, len(rows))
	}
	taken := map[string]bool{}
	for _, r := range rows {
		if m := r.model(provider); m != nil && !taken[m.ID] {
			taken[m.ID] = true
			models = append(models, m)
		}
	}
	for _, m := range models {
		m.Aliases = slices.DeleteFunc(m.Aliases, func(a string) bool {
			again := taken[a]
			taken[a] = true
			return again
		})
	}
	if more, _ := page.value("has_more").(bool); more {
		next = page.text("last_id")
	}
	return models, next, nil
}

// said is an object of somebody else: each member may have any form.
type said map[string]json.RawMessage

func listed(raw []byte) (rows []said, page said, err error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && raw[0] == '{' {
		if err := json.Unmarshal(raw, &page); err != nil {
			return nil, nil, err
		}
		raw = page["data"]
		if raw == nil {
			raw = page["models"]
		}
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil || list == nil {
		return nil, nil, errors.New("the answer has no list of models")
	}
	for _, one := range list {
		var r said
		if json.Unmarshal(one, &r) == nil && r != nil {
			rows = append(rows, r)
		}
	}
	return rows, page, nil
}

func (s said) value(key string) (v any) {
	if json.Unmarshal(s[key], &v) != nil {
		return nil
	}
	return v
}

func (s said) text(key string) string {
	v, _ := s.value(key).(string)
	return v
}

func (s said) texts(key string) (out []string) {
	list, _ := s.value(key).([]any)
	for _, v := range list {
		if text, ok := v.(string); ok {
			out = append(out, text)
		}
	}
	return out
}

func (s said) object(key string) (o said) {
	if json.Unmarshal(s[key], &o) != nil {
		return nil
	}
	return o
}

// tokens is the first of the members that is a count of tokens.
func (s said) tokens(keys ...string) int {
	for _, key := range keys {
		if n, ok := s.value(key).(float64); ok && n >= 1 && n <= maxTokens && n == float64(int(n)) {
			return int(n)
		}
	}
	return 0
}

// yes says whether a member is true, or an object that says "supported".
func (s said) yes(key string) bool {
	if b, ok := s.value(key).(bool); ok {
		return b
	}
	b, _ := s.object(key).value("supported").(bool)
	return b
}

// noChat are parts of the ids of models that answer no messages, for services
// that list them beside the others and do not say so.
var noChat = []string{"embed", "whisper", "tts", "moderation", "transcribe", "dall-e", "realtime", "rerank"}

func (s said) model(provider string) *Model {
	id := s.text("id")
	if id == "" {
		id = s.text("name")
	}
	id = strings.TrimPrefix(id, "models/")
	if !goodID(id) || slices.ContainsFunc(noChat, func(w string) bool { return strings.Contains(id, w) }) {
		return nil
	}
	caps := s.object("capabilities")
	if kind := s.text("type"); kind == "embedding" || kind == "image" || kind == "audio" || kind == "rerank" || kind == "moderation" {
		return nil
	}
	if chats, ok := caps.value("completion_chat").(bool); ok && !chats || s.text("lifecycle") == "retired" {
		return nil
	}
	m := &Model{ID: provider + "/" + id, Retires: s.retires(), Tiers: s.tiers()}
	m.Window = s.tokens("max_input_tokens", "context_window", "context_length", "max_context_length", "max_model_len", "inputTokenLimit")
	m.MaxOutput = s.tokens("max_completion_tokens", "max_output_length", "outputTokenLimit")
	if m.MaxOutput == 0 {
		m.MaxOutput = s.object("top_provider").tokens("max_completion_tokens")
	}
	if m.MaxOutput == 0 && m.Window != s.tokens("max_tokens") {
		m.MaxOutput = s.tokens("max_tokens")
	}
	if m.MaxOutput > m.Window && m.Window > 0 {
		m.MaxOutput = 0 // the word is used for something else
	}
	for _, a := range s.texts("aliases") {
		if goodID(a) && a != id {
			m.Aliases = append(m.Aliases, provider+"/"+a)
		}
	}
	m.Can, m.Efforts = s.abilities(caps)
	return m
}

// goodID says whether a text can name a model.
func goodID(id string) bool {
	const longest = 200
	return id != "" && len(id) <= longest && utf8.ValidString(id) && !strings.ContainsFunc(id, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	})
}

func (s said) retires() string {
	for _, key := range []string{"retires_at", "expiration_date", "deprecation"} {
		if day := s.text(key); len(day) >= len(time.DateOnly) {
			if _, err := time.Parse(time.DateOnly, day[:len(time.DateOnly)]); err == nil {
				return day[:len(time.DateOnly)]
			}
		}
	}
	return ""
}

// abilities reads what a model can in the three ways that are known: a list of
// the parameters that it takes, a flag an ability, or an object an ability. It
// is nil where none is there.
func (s said) abilities(caps said) (can, efforts []string) {
	on := map[string]bool{}
	takes := append(s.texts("supported_parameters"), s.texts("supported_features")...)
	for _, p := range takes {
		for _, a := range map[string][]string{"tools": {Tools}, "reasoning": {Thinking, Effort}, "reasoning_effort": {Thinking, Effort},
			"include_reasoning": {Thinking}, "structured_outputs": {Schema}}[p] {
			on[a] = true
		}
	}
	for _, in := range append(s.texts("input_modalities"), s.object("architecture").texts("input_modalities")...) {
		if a, ok := map[string]string{"image": Images, "file": PDF, "audio": Audio}[in]; ok {
			on[a] = true
		}
	}
	for name, a := range map[string]string{"function_calling": Tools, "vision": Images, "reasoning": Thinking, "thinking": Thinking,
		"effort": Effort, "structured_outputs": Schema, "image_input": Images, "pdf_input": PDF, "audio": Audio} {
		if caps.yes(name) {
			on[a] = true
		}
	}
	if caps["structured_outputs"] != nil && caps["function_calling"] == nil { // Anthropic: what all its models can is not listed
		on[Tools], on[Caching] = true, true
	}
	if price, ok := perToken(s.object("pricing").value("input_cache_read")); ok && price > 0 {
		on[Caching] = true
	}
	if takes == nil && len(caps) == 0 {
		return nil, nil
	}
	can = []string{}
	for _, a := range Abilities() {
		if on[a] {
			can = append(can, a)
		}
	}
	for _, word := range []string{"low", "medium", "high", "xhigh", "max"} {
		if caps.object("effort").yes(word) {
			efforts = append(efforts, word)
		}
	}
	return can, efforts
}

// tiers reads prices: in dollars a token as texts (OpenRouter), or in dollars a
// million tokens as numbers (Together). A fee for each request, a price of less
// than nothing and half a price are prices that we cannot know. Where no price
// for the cache is given, or an impossible one, tokens in it cost what input does:
// no discount is known.
func (s said) tiers() []Tier {
	p := s.object("pricing")
	if p == nil {
		return nil
	}
	in, okIn := perToken(p.value("prompt"))
	out, okOut := perToken(p.value("completion"))
	read, _ := perToken(p.value("input_cache_read"))
	write, _ := perToken(p.value("input_cache_write"))
	if fee, ok := perToken(p.value("request")); !ok && p["request"] != nil || fee > 0 {
		return nil
	}
	if p["prompt"] == nil {
		in, okIn = perMillion(p.value("input"))
		out, okOut = perMillion(p.value("output"))
		read, _ = perMillion(p.value("cached_input"))
		okIn = okIn && in+out > 0 // here a zero is one that was not filled in
	}
	if !okIn || !okOut {
		return nil
	}
	if read <= 0 || read > in {
		read = in
	}
	write = max(write, in)
	return []Tier{{Price: uzda.Price{Input: in, Output: out, CacheRead: read, CacheWrite: write, CacheLong: max(write, in*2)}}}
}

// A price of a token over a dollar is a slip.
const maxPerToken = uzda.Dollar

// perToken returns a price of a token as the price of a million.
func perToken(v any) (uzda.Money, bool) {
	text, ok := v.(string)
	if f, isNumber := v.(float64); isNumber {
		text, ok = strconv.FormatFloat(f, 'g', -1, 64), true
	}
	if !ok {
		return 0, false
	}
	m, err := uzda.ParseMoney(text)
	if err != nil || m < 0 || m > maxPerToken {
		return 0, false
	}
	return m * 1_000_000, true
}

func perMillion(v any) (uzda.Money, bool) {
	f, ok := v.(float64)
	if !ok || f < 0 || f > maxPerToken.Dollars()*1e6 {
		return 0, false
	}
	m, err := uzda.ParseMoney(strconv.FormatFloat(f, 'f', -1, 64))
	return m, err == nil
}

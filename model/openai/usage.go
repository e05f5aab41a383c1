package openai

import (
	"fmt"
	"strconv"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/raw"
)

// usage is what a service says of the tokens, wherever it does; the last counts.
type usage struct{ said, timings []byte }

// read takes what a chunk or a choice has: usage, x_groq.usage and the timings of
// llama-server.
func (u *usage) read(o *raw.Object) {
	said := o.Get("usage")
	if !says(said) {
		if groq := o.Get("x_groq"); groq != nil {
			x, _ := raw.Parse(groq) // nothing is an empty object
			said = x.Get("usage")
		}
	}
	if says(said) {
		u.said = append(u.said[:0], said...)
	}
	if t := o.Get("timings"); says(t) {
		u.timings = append(u.timings[:0], t...)
	}
}

// count is the usage in our terms, and whether the service said all of it. A
// prompt has at least a token, so zeros are as good as nothing.
func (u *usage) count(p *Profile, r *room) (uzda.Usage, bool) {
	o, part := &r.chunk, &r.delta
	_ = o.Parse(u.said) // nothing is an empty object
	in, out := number(o, "prompt_tokens"), number(o, "completion_tokens")
	_ = part.Parse(o.Get("prompt_tokens_details"))
	cached := max(number(part, "cached_tokens"), number(o, "prompt_cache_hit_tokens"), number(o, "cached_tokens"))
	written := max(number(part, "cache_write_tokens"), number(o, "cache_creation_input_tokens"))
	_ = part.Parse(u.timings)
	if reused := number(part, "cache_n"); in == 0 {
		in, cached = reused+number(part, "prompt_n"), reused
	} else if cached == 0 {
		cached = reused
	}
	if out == 0 {
		out = number(part, "predicted_n")
	}
	_ = part.Parse(o.Get("completion_tokens_details"))
	reasoning, total := number(part, "reasoning_tokens"), number(o, "total_tokens")
	short := false
	switch over := total - in - out; {
	case p.Apart:
		out += max(reasoning, over, 0) // the total alone may hold the thoughts
	case over > 0 && over == reasoning:
		out += reasoning
	case reasoning > out:
		short = true // what it leaves out is not said
	}
	// The cached part may be more than the whole, where it is counted in blocks.
	cached = min(cached, in)
	written = min(written, in-cached)
	got := uzda.Usage{Input: in - cached - written, Output: out, CacheRead: cached, CacheWrite: written, AtLeast: short || in == 0 || out == 0}
	return got, in > 0 && out > 0
}

const maxTokens = 1 << 40 // no count is larger

// number is a count: what is none, or negative, is 0.
func number(o *raw.Object, key string) int {
	v := o.Get(key)
	if len(v) == 0 || string(v) == "null" {
		return 0
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || !(f > 0) {
		return 0
	}
	return int(min(f, maxTokens))
}

// promptCut warns of a local server that has counted far fewer tokens than it was
// sent: it cuts a prompt that does not fit its window, and says nothing.
func (r *reply) promptCut(u uzda.Usage) {
	got, sent := u.Context(), r.q.text/4
	if !r.Local || u.AtLeast || got == 0 || sent <= 1000 {
		return
	}
	cut := got < r.q.text/8
	for _, window := range []int{2048, 4096} {
		cut = cut || got <= window && got > window-window/8 && sent > window+window/4
	}
	if !cut {
		return
	}
	need := 4096
	for need < sent+max(r.q.max, 1024) {
		need *= 2
	}
	w := uzda.Warning{Code: "prompt_cut",
		Text: fmt.Sprintf("%s counted %d tokens of a prompt that has about %d: it has cut off its beginning, with the system prompt and the tools", r.client.Name, got, sent),
		Hint: fmt.Sprintf("give the server a window of %d tokens or more", need)}
	switch r.Profile.Window {
	case WindowOllama:
		w.Hint = fmt.Sprintf("start Ollama with OLLAMA_CONTEXT_LENGTH=%d, or use the model as ollama/%s with its own protocol, which sets the window", need, r.model)
	case WindowLlama:
		w.Hint = fmt.Sprintf("start llama-server with -c %d for each slot (-np)", need)
	}
	r.say(w)
}

package modeltest

import (
	"fmt"
	"strings"
)

// A messageStream collects the events of a reply.
type messageStream struct {
	a      *answer
	frames []frame
	said   saidSoFar
	call   int // calls so far
}

// saidSoFar is how many bytes of each part are said.
type saidSoFar []int

func (s saidSoFar) total() (n int) {
	for _, one := range s {
		n += one
	}
	return n
}

func (m messages) stream(a *answer) []frame {
	s := messageStream{a: a, said: make(saidSoFar, len(a.parts))}
	if !a.shape.NoStart {
		s.event("message_start", `"message":`+m.message(a, "", `"stop_reason":null,"stop_sequence":null,"stop_details":null`, messagesUsage(a, min(1, a.usage.Output))))
	}
	for i := 0; i < len(a.parts); i++ {
		if a.shape.Interleave && a.parts[i].Call != nil {
			i = s.interleaved(i)
			continue
		}
		s.start(i)
		for _, d := range s.deltas(i) {
			s.delta(i, d)
		}
		s.stop(i)
	}
	usage := ""
	switch {
	case a.shape.Usage == UsageNone:
	case a.turn.RawUsage != nil:
		usage = messagesUsage(a, 0)
	case a.shape.Usage == UsageStart:
		usage = fmt.Sprintf(`,"usage":{"output_tokens":%d}`, a.usage.Output)
	default:
		u := a.usage
		usage = fmt.Sprintf(`,"usage":{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":%d}`,
			u.Input, u.CacheWrite+u.CacheLong, u.CacheRead, u.Output)
	}
	s.event("message_delta", fmt.Sprintf(`"delta":{%s}%s`, m.stop(a), usage))
	if !a.shape.NoEnd {
		s.event("message_stop", "")
	}
	if a.shape.ExtraEnd {
		s.frames = append(s.frames, frame{[]byte("data: [DONE]\n\n"), s.said.total()})
	}
	return s.frames
}

// event adds an event; members may be empty.
func (s *messageStream) event(name, members string) {
	if members != "" {
		members = "," + members
	}
	pad := ""
	if s.a.shape.Extra {
		members += `,"zz_added":[null,1.50,"x"]`
	}
	if s.a.shape.Padded {
		pad = strings.Repeat(" ", 1+len(s.frames)%9)
	}
	s.frames = append(s.frames, frame{fmt.Appendf(nil, "event: %s\ndata: {\"type\":\"%s\"%s%s}\n\n", name, name, members, pad), s.said.total()})
}

// A delta is one of a block: its JSON, and how much of the block is said by then.
type delta struct {
	json string
	said int
}

func (s *messageStream) start(i int) {
	a, p := s.a, &s.a.parts[i]
	m := messages{}
	var block string
	switch {
	case p.Call != nil:
		input := "{}"
		switch p.Call.Form {
		case FormObject, FormBoth:
			input = p.Call.input()
		case FormNull:
			input = "null"
		case FormAbsent:
			input = ""
		}
		block = m.use(a, p.Call, s.call, input)
		s.call++
	case p.Raw != nil:
		block, _ = splitRaw(p.Raw, &a.shape)
	case p.Thinking != "" || p.Hidden != "":
		block = `{"type":"thinking","thinking":"","signature":""}`
	default:
		block = `{"type":"text","text":""` + m.extra(a) + `}`
	}
	s.event("content_block_start", join(s.a.shape.index(i), `"content_block":`+block))
	if i == 0 {
		s.frames = append(s.frames, frame{m.ping(), s.said.total()})
		if a.shape.Extra {
			s.event("zz_unknown_event", `"anything":{"x":1}`)
			s.frames = append(s.frames, frame{[]byte(": a comment\n\n"), s.said.total()})
		}
	}
}

// deltas are those of a block, in order.
func (s *messageStream) deltas(i int) []delta {
	p, sh := &s.a.parts[i], &s.a.shape
	var out []delta
	each := func(text, kind, member string) {
		for _, one := range sh.pieces(text) {
			out = append(out, delta{fmt.Sprintf(`{"type":"%s","%s":"%s"}`, kind, member, one.json), one.said})
		}
	}
	switch {
	case p.Call != nil:
		if p.Call.Form == FormAbsent || p.Call.Form == FormObject || p.Call.Form == FormNull {
			return nil
		}
		// The first delta of an input is empty, and the only one of an empty input.
		out = append(out, delta{`{"type":"input_json_delta","partial_json":""}`, 0})
		if input := p.Call.input(); input != "{}" || p.Call.Input != "" {
			each(input, "input_json_delta", "partial_json")
		}
	case p.Raw != nil:
		_, out = splitRaw(p.Raw, sh)
	case p.Thinking != "" || p.Hidden != "":
		each(p.Thinking, "thinking_delta", "thinking")
		out = append(out, delta{fmt.Sprintf(`{"type":"signature_delta","signature":%s}`, quoted(s.a.sign(p.Thinking, p.Thinking+p.Hidden), false)), p.size()})
	default:
		each(p.Text, "text_delta", "text")
	}
	return out
}

func (s *messageStream) delta(i int, d delta) {
	s.said[i] = d.said
	s.event("content_block_delta", join(s.a.shape.index(i), `"delta":`+d.json))
}

func (s *messageStream) stop(i int) {
	s.said[i] = s.a.parts[i].size()
	s.event("content_block_stop", s.a.shape.index(i))
}

// interleaved sends the calls from part i on with their deltas in turn, and
// returns the last part that it sent.
func (s *messageStream) interleaved(i int) int {
	var all [][]delta
	last := i
	for ; last < len(s.a.parts) && s.a.parts[last].Call != nil; last++ {
		s.start(last)
		all = append(all, s.deltas(last))
	}
	for more := true; more; {
		more = false
		for n := range all {
			if len(all[n]) == 0 {
				continue
			}
			s.delta(i+n, all[n][0])
			all[n], more = all[n][1:], true
		}
	}
	for n := i; n < last; n++ {
		s.stop(n)
	}
	return last - 1
}

// splitRaw cuts a block of the provider's own into its start and its deltas, such
// that folding them gives its bytes: text, citations, input and compactions come
// in deltas, everything else is in the start.
func splitRaw(raw []byte, sh *Shape) (start string, out []delta) {
	v, _, err := readJSON(raw)
	if err != nil || v.kind != '{' {
		return string(raw), nil
	}
	kind := v.get("type")
	with := func(key, empty string) string {
		at := -1
		for i, k := range v.keys {
			if k == key {
				at = i
			}
		}
		if at < 0 {
			return string(v.raw)
		}
		from := v.end(at) - len(v.vals[at].raw)
		return string(v.raw[:from]) + empty + string(v.raw[v.end(at):])
	}
	switch {
	case v.has("input"):
		input := v.get("input")
		for _, p := range sh.pieces(string(input.raw)) {
			out = append(out, delta{fmt.Sprintf(`{"type":"input_json_delta","partial_json":"%s"}`, p.json), len(raw)})
		}
		return with("input", "{}"), out
	case kind.text == "compaction":
		content := v.get("content")
		return with("content", "null"), []delta{{`{"type":"compaction_delta","content":` + string(content.raw) + `}`, len(raw)}}
	case kind.text == "text" && v.has("text"):
		text := v.get("text")
		start = with("text", `""`)
		if c := v.get("citations"); c.kind == '[' {
			for _, one := range c.vals {
				out = append(out, delta{`{"type":"citations_delta","citation":` + string(one.raw) + `}`, 0})
			}
			again, _, _ := readJSON([]byte(start))
			v = again
			start = with("citations", "[]")
		}
		for _, p := range sh.pieces(text.text) {
			out = append(out, delta{fmt.Sprintf(`{"type":"text_delta","text":"%s"}`, p.json), p.said})
		}
		return start, out
	}
	return string(raw), nil
}

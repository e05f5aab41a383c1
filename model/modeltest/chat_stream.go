package modeltest

import (
	"fmt"
	"strings"
)

// A chatStream collects the chunks of a reply.
type chatStream struct {
	a      *answer
	frames []frame
	said   saidSoFar
}

func (c chat) stream(a *answer) []frame {
	s := chatStream{a: a, said: make(saidSoFar, len(a.parts))}
	sh := &a.shape
	if sh.Extra {
		s.raw(": OPENROUTER PROCESSING\n\n")
		s.raw("data: " + c.head(a, "chat.completion.chunk") + `,"choices":[]}` + "\n\n")
	}
	if !sh.NoStart {
		s.chunk(`"role":"assistant","content":""`)
	}
	if sh.Mixed {
		s.mixed()
	} else {
		s.parts()
	}
	if a.turn.Refusal != "" {
		for _, p := range sh.pieces(a.turn.Refusal) {
			s.chunk(`"refusal":"` + p.json + `"`)
		}
	}
	if more := membersOf(a.turn.Extra); more != "" {
		s.chunk(more[1:])
	}
	usage := ""
	if sh.Usage == UsageLast {
		usage = `,"usage":` + chatUsage(a)
	}
	s.add("", c.finish(a), usage)
	if sh.Usage == UsageExtra || sh.Usage != UsageNone && sh.Usage != UsageLast && a.asked {
		s.raw("data: " + c.head(a, "chat.completion.chunk") + `,"choices":[],"usage":` + chatUsage(a) + "}\n\n")
	}
	if !sh.NoEnd {
		s.raw("data: [DONE]\n\n")
	}
	return s.frames
}

func (s *chatStream) raw(text string) {
	s.frames = append(s.frames, frame{[]byte(text), s.said.total()})
}

// chunk adds a chunk with a delta of these members.
func (s *chatStream) chunk(delta string) { s.add(delta, "null", "") }

func (s *chatStream) add(delta, finish, usage string) {
	pad := ""
	if s.a.shape.Padded {
		pad = strings.Repeat(" ", 1+len(s.frames)%9)
	}
	s.raw(fmt.Sprintf(`data: %s,"choices":[{"index":0,"delta":{%s},"logprobs":null,"finish_reason":%s}]%s%s}`+"\n\n",
		chat{}.head(s.a, "chat.completion.chunk"), delta, finish, usage, pad))
}

// parts sends part after part.
func (s *chatStream) parts() {
	call, thought := 0, 0
	for i := 0; i < len(s.a.parts); i++ {
		p := &s.a.parts[i]
		switch {
		case p.Call != nil && s.a.shape.Interleave:
			i = s.interleaved(i, call)
			call = len(s.a.ids)
			continue
		case p.Call != nil:
			s.start(i, call)
			for _, d := range s.arguments(p.Call, call) {
				s.said[i] = d.said
				s.chunk(d.json)
			}
			call++
		case p.Thinking != "":
			s.thought(i, thought)
			thought++
		default:
			for _, one := range s.a.shape.pieces(p.Text) {
				s.said[i] = one.said
				s.chunk(`"content":"` + one.json + `"`)
			}
		}
		s.said[i] = p.size()
	}
}

// first is the text of the arguments in a call's first delta.
func (s *chatStream) first(c *Call) string {
	if s.a.shape.Whole {
		return c.input()
	}
	return ""
}

func (s *chatStream) start(i, call int) {
	c := s.a.parts[i].Call
	s.said[i] = len(c.Name)
	s.chunk(`"tool_calls":[` + chat{}.call(s.a, c, call, false, s.first(c)) + `]`)
}

// arguments are the deltas after the first one.
func (s *chatStream) arguments(c *Call, call int) []delta {
	if c.Form != FormNormal || s.a.shape.Whole {
		return nil
	}
	var out []delta
	for _, p := range s.a.shape.pieces(c.input()) {
		m := join(s.a.shape.index(call), `"function":{"arguments":"`+p.json+`"}`)
		out = append(out, delta{`"tool_calls":[{` + m + `}]`, len(c.Name) + p.said})
	}
	return out
}

// interleaved sends the calls from part i on with their deltas in turn, and
// returns the last part that it sent.
func (s *chatStream) interleaved(i, call int) int {
	var all [][]delta
	last := i
	for ; last < len(s.a.parts) && s.a.parts[last].Call != nil; last++ {
		s.start(last, call+last-i)
		all = append(all, s.arguments(s.a.parts[last].Call, call+last-i))
	}
	for more := true; more; {
		more = false
		for n := range all {
			if len(all[n]) == 0 {
				continue
			}
			s.said[i+n] = all[n][0].said
			s.chunk(all[n][0].json)
			all[n], more = all[n][1:], true
		}
	}
	return last - 1
}

// mixed sends all calls whole in one delta, with all text in the same one.
func (s *chatStream) mixed() {
	var calls []string
	text := ""
	members, _ := s.a.thoughts()
	for i := range s.a.parts {
		p := &s.a.parts[i]
		s.said[i] = p.size()
		switch {
		case p.Call != nil:
			calls = append(calls, chat{}.call(s.a, p.Call, len(calls), false, p.Call.input()))
		case p.Thinking != "":
		default:
			text += p.Text
		}
	}
	if len(calls) > 0 {
		members += `,"tool_calls":[` + strings.Join(calls, ",") + `]`
	}
	s.chunk(`"content":` + quoted(text, s.a.shape.ASCII) + members)
}

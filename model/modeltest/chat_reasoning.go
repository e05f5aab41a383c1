package modeltest

import "fmt"

// Ways to send thinking in Chat Completions that are no plain member, for
// Shape.Reasoning.
const (
	// ReasoningDetails is OpenRouter's: a list of signed details, beside the plain
	// member reasoning.
	ReasoningDetails = "reasoning_details"
	// ReasoningContent is Mistral's: a chunk of the content, which is a list then.
	ReasoningContent = "content"
)

// reasoning is the member for thinking.
func (sh *Shape) reasoning() string {
	if sh.Reasoning != "" {
		return sh.Reasoning
	}
	return "reasoning_content"
}

// detail is one of OpenRouter's details, or a delta of one: rest are its members
// that vary.
func detail(rest string, n int) string {
	return fmt.Sprintf(`{"type":"reasoning.text",%s,"format":"anthropic-claude-v1","index":%d}`, rest, n)
}

// thoughts are the members of a whole message for its thinking, and of its content
// where it is a list.
func (a *answer) thoughts() (members, chunks string) {
	details, plain, n := "", "", 0
	for i := range a.parts {
		p := &a.parts[i]
		if p.Thinking == "" {
			continue
		}
		text := quoted(p.Thinking, a.shape.ASCII)
		plain += p.Thinking
		details = join(details, detail(fmt.Sprintf(`"text":%s,"signature":%s`, text, quoted(a.sign(p.Thinking, p.Thinking), false)), n))
		chunks += fmt.Sprintf(`{"type":"thinking","thinking":[{"type":"text","text":%s}],"closed":true},`, text)
		n++
	}
	if n == 0 {
		return "", ""
	}
	switch name := a.shape.reasoning(); name {
	case ReasoningContent:
		return "", chunks
	case ReasoningDetails:
		return fmt.Sprintf(`,"reasoning":%s,"reasoning_details":[%s]`, quoted(plain, a.shape.ASCII), details), ""
	default:
		return fmt.Sprintf(`,%s:%s`, quoted(name, false), quoted(plain, a.shape.ASCII)), ""
	}
}

// thought sends part i, the n-th thinking, in deltas.
func (s *chatStream) thought(i, n int) {
	p, name := &s.a.parts[i], s.a.shape.reasoning()
	for _, one := range s.a.shape.pieces(p.Thinking) {
		s.said[i] = one.said
		switch name {
		case ReasoningContent:
			s.chunk(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"` + one.json + `"}],"closed":true}]`)
		case ReasoningDetails:
			s.chunk(`"content":"","reasoning":"` + one.json + `","reasoning_details":[` + detail(`"text":"`+one.json+`"`, n) + `]`)
		default:
			s.chunk(quoted(name, false) + `:"` + one.json + `"`)
		}
	}
	if name == ReasoningDetails {
		s.chunk(`"content":"","reasoning_details":[` + detail(`"signature":`+quoted(s.a.sign(p.Thinking, p.Thinking), false), n) + `]`)
	}
}

package markup

import (
	"bytes"
	"slices"
	"strings"
)

// A Screen passes on text as it streams, and holds back what may be markup. What
// it passed on is always the beginning of what [Find] calls plain. White space
// is held too, until something follows it. The zero value is ready.
type Screen struct {
	held  []byte
	blank int  // bytes of white space that held begins with
	begun bool // something was passed on, so the text is more than JSON of calls
	shut  bool // markup began, and whatever follows waits for the end
}

// Add takes the next piece of the text and returns what may be shown now. A piece
// that is cut inside a character may be shown so.
func (s *Screen) Add(fresh string) (show string) {
	s.held = append(s.held, fresh...)
	if s.shut {
		return ""
	}
	s.blank = len(s.held) - len(bytes.TrimLeft(s.held[s.blank:], space))
	if !s.begun {
		switch wholeBegins(string(s.held[s.blank:min(len(s.held), s.blank+maxLead)])) {
		case likely:
			s.shut = true
			return ""
		case unclear:
			return ""
		}
	}
	at := len(s.held)
	for i := s.blank; i < len(s.held); i++ {
		if s.held[i] != '<' && s.held[i] != '[' {
			continue
		}
		near := string(s.held[i:min(len(s.held), i+maxOpening)])
		if opening(near) != "" {
			at, s.shut = i, true
			break
		}
		if slices.ContainsFunc(openings, func(o string) bool { return strings.HasPrefix(o, near) }) {
			at = i
			break
		}
	}
	at = len(bytes.TrimRight(s.held[:at], space))
	show = string(s.held[:at])
	s.held = append(s.held[:0], s.held[at:]...)
	s.begun = s.begun || show != ""
	if at > 0 {
		s.blank = 0
	}
	return show
}

// Held is what was not passed on.
func (s *Screen) Held() string { return string(s.held) }

// What wholeBegins says of the beginning of a text.
const (
	unclear = iota
	likely
	unlikely
)

const maxLead = 256 // by then it is clear whether a text is the JSON of calls

// wholeBegins says whether a text that begins with lead, which is not white space,
// may be the JSON of calls and nothing else.
func wholeBegins(lead string) int {
	t := lead
	if strings.HasPrefix(t, "`") || t == "" {
		if t == "" || t == "`" || t == "``" {
			return unclear
		}
		lang, body, ok := strings.Cut(strings.TrimPrefix(t, "```"), "\n")
		if !strings.HasPrefix(t, "```") || ok && !slices.Contains(fenceNames, strings.TrimRight(lang, space)) {
			return unlikely
		}
		if !ok {
			return unsure(lead, !slices.ContainsFunc(fenceNames, func(n string) bool { return strings.HasPrefix(n, strings.TrimRight(lang, space)) }))
		}
		t = body
	}
	t = strings.TrimLeft(t, space)
	if t != "" && t[0] == '[' {
		t = strings.TrimLeft(t[1:], space)
	}
	if t == "" {
		return unsure(lead, false)
	}
	if t[0] != '{' {
		return unlikely
	}
	if t = strings.TrimLeft(t[1:], space); t == "" {
		return unsure(lead, false)
	}
	if t[0] != '"' {
		return unlikely
	}
	key, _, ok := strings.Cut(t[1:], `"`)
	if ok {
		if slices.Contains(callKeys, key) {
			return likely
		}
		return unlikely
	}
	return unsure(lead, !slices.ContainsFunc(callKeys, func(k string) bool { return strings.HasPrefix(k, key) }))
}

// unsure is unclear, unless no more of the text will make it clear.
func unsure(lead string, never bool) int {
	if never || len(lead) >= maxLead {
		return unlikely
	}
	return unclear
}

var (
	fenceNames = []string{"", "json", "JSON", "tool_call", "tool_calls"}
	callKeys   = []string{"name", "arguments", "parameters", "function", "type", "id", "tool_calls"}
)

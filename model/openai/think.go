package openai

import "strings"

// think parts a thought from a text that begins with it, in tags: so it comes
// from servers that don't know how their model thinks. The zero value is ready.
type think struct {
	state int
	held  string // what may be a tag, or goes before one
}

// States of a think.
const (
	before  = iota // nothing but white space came
	inside         // of the tags
	behind         // them, where line breaks say nothing
	outside        // no thought comes any more
)

const opens, closes = "<think>", "</think>"

// add takes what is new of the text, and returns what is new of both.
func (t *think) add(fresh string) (thought, text string) {
	if t.state == outside || fresh == "" {
		return "", fresh
	}
	s := t.held + fresh
	t.held = ""
	if t.state == before {
		begin := strings.TrimLeft(s, " \t\r\n")
		switch {
		case strings.HasPrefix(begin, opens):
			t.state, s = inside, begin[len(opens):]
		case strings.HasPrefix(opens, begin):
			t.held = s
			return "", ""
		default:
			t.state = outside
			return "", s
		}
	}
	if t.state == inside {
		var ok bool
		if thought, s, ok = strings.Cut(s, closes); !ok {
			return t.part(thought), ""
		}
		t.state = behind
	}
	if s = strings.TrimLeft(s, "\r\n"); s != "" {
		t.state = outside
	}
	return thought, s
}

// part returns a thought up to what may be the tag that ends it.
func (t *think) part(s string) string {
	n := len(s)
	for i := max(0, n-len(closes)+1); i < len(s); i++ {
		if strings.HasPrefix(closes, s[i:]) {
			n = i
			break
		}
	}
	t.held = s[n:]
	return s[:n]
}

// rest is what was held back, at the end.
func (t *think) rest() (thought, text string) {
	if t.state == inside {
		return t.held, ""
	}
	return "", t.held
}

package window

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
)

// ours are the names of the tags by which data is set apart, here and in the system
// prompt.
var ours = [...]string{"transcript", "task", "part", "record", "pinned", "summary", "done", "facts", "instructions"}

// Marks by which the templates of models part messages, without what they begin
// with, in small letters. Others are written <|so|>.
var (
	angled  = [...]string{"start_of_turn>", "end_of_turn>", "bos>", "eos>", "s>", "/s>", "<sys>>", "</sys>>"}
	squared = [...]string{"inst]", "/inst]", "system_prompt]", "/system_prompt]", "available_tools]", "/available_tools]", "tool_calls]", "tool_results]", "/tool_results]"}
)

const longestMark = 60 // bytes that a tag or a mark is looked for in

// neutral takes the meaning from what looks like one of our tags inside data, or like
// a mark of a model's template, so that nothing in it can end the data. It also drops
// what no reader sees but a terminal or a model obeys.
func neutral(text string) string {
	text = visible(text)
	var b strings.Builder
	for {
		at := strings.IndexAny(text, "<[")
		if at < 0 {
			break
		}
		b.WriteString(text[:at])
		mark := text[at]
		if text = text[at+1:]; begins(mark, text) {
			b.WriteString("‹")
		} else {
			b.WriteByte(mark)
		}
	}
	if b.Len() == 0 {
		return text
	}
	b.WriteString(text)
	return b.String()
}

// visible drops control characters but line feed and tab, whole colours and moves of
// a terminal, and what turns the direction of text around.
func visible(text string) string {
	if parts := strings.Split(text, "\x1b["); len(parts) > 1 {
		for i, part := range parts[1:] {
			end := 0
			for end < len(part) && part[end] >= '0' && part[end] <= '?' {
				end++
			}
			if end < len(part) && part[end] >= '@' && part[end] <= '~' {
				end++
			}
			parts[i+1] = part[end:]
		}
		text = strings.Join(parts, "")
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case unicode.IsControl(r), r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069:
			return -1
		}
		return r
	}, text)
}

// begins says whether a tag or a mark goes on with text.
func begins(mark byte, text string) bool {
	text = strings.ToLower(strings.Map(seen, uzda.Before(text, longestMark)))
	starts := func(with string) bool { return strings.HasPrefix(text, with) }
	if mark == '[' {
		return slices.ContainsFunc(squared[:], starts)
	}
	return slices.ContainsFunc(angled[:], starts) || isPiped(text) || isTag(text)
}

// seen drops what has no width: it would hide a tag from us, and not from a model.
func seen(r rune) rune {
	if unicode.Is(unicode.Cf, r) {
		return -1
	}
	return r
}

func isTag(text string) bool {
	text = strings.TrimLeft(text, "/ \t\r\n")
	return slices.ContainsFunc(ours[:], func(tag string) bool {
		rest, ok := strings.CutPrefix(text, tag)
		return ok && (rest == "" || !(rest[0] >= 'a' && rest[0] <= 'z' || rest[0] == '_' || rest[0] == '-'))
	})
}

// isPiped says whether text goes on like <|im_start|>; some write a wide bar.
func isPiped(text string) bool {
	bar, n := utf8.DecodeRuneInString(text)
	if bar != '|' && bar != '｜' {
		return false
	}
	name, rest, ok := strings.Cut(text[n:], string(bar))
	return ok && name != "" && strings.HasPrefix(rest, ">") && !strings.ContainsFunc(name, unicode.IsSpace)
}

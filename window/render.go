package window

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
)

// A sort says what an item of the past is.
type sort int

const (
	asked  sort = iota // by people
	said               // by the model
	called             // by the model: a tool
	result             // of a tool
	noted              // by the program: a check that failed, an earlier summary
)

// An item is a piece of what happened, as it is told to whoever summarises it.
type item struct {
	sort sort
	seq  uzda.Seq
	use  uzda.UseID  // of a call or a result
	tool string      // of a call or a result
	text string      // of a call: its input
	code uzda.Code   // of a result
	did  uzda.Effect // of a result
	bad  bool        // a result that is an error
}

// source is where a fact of the item stood.
func (i item) source() string {
	if i.use != "" {
		return string(i.use)
	}
	return strconv.FormatInt(int64(i.seq), 10)
}

// levels are how much is shown of a result or an input, in characters: less where
// all of it would be too long.
var levels = [...]int{2000, 700, 200, 60}

// render tells an item in a few lines. Results and inputs are cut to most
// characters, and from the second level on what was said to four times as many.
func (i item) render(level int) string {
	most := levels[level]
	text := i.text
	switch {
	case i.sort == result || i.sort == called:
		text = shorten(text, most)
	case level > 0:
		text = shorten(text, 4*most)
	}
	text = neutral(text)
	switch i.sort {
	case asked:
		return fmt.Sprintf("[%d] people: %s\n", i.seq, text)
	case said:
		return fmt.Sprintf("[%d] agent: %s\n", i.seq, text)
	case called:
		return fmt.Sprintf("[%s] agent calls %s %s\n", i.use, i.tool, text)
	case result:
		return fmt.Sprintf("[%s] %s: %s\n", i.use, i.outcome(), text)
	}
	return fmt.Sprintf("[%d] program: %s\n", i.seq, text)
}

func (i item) outcome() string {
	out := "result"
	if i.bad {
		out = "error"
		if i.code != "" {
			out += " " + string(i.code)
		}
	}
	switch i.did {
	case uzda.EffectDone:
		out += " (took effect)"
	case uzda.EffectUnknown:
		out += " (nobody knows whether it took effect)"
	}
	return out
}

// itemsOf are the items of a message. names are the tools of uses, which are added
// to. Thinking is left out, media are named.
func itemsOf(e uzda.Entry, names map[uzda.UseID]string) []item {
	if text, ok := recordOf(e); ok {
		return []item{{sort: noted, seq: e.Seq, text: "an earlier record of the work says: " + text}}
	}
	var out []item
	who := said
	if e.Message.Role == uzda.User {
		if who = asked; len(e.Message.Results()) > 0 {
			who = noted
		}
	}
	var words []string
	flush := func() {
		if len(words) > 0 {
			out = append(out, item{sort: who, seq: e.Seq, text: strings.Join(words, "\n")})
		}
		words = nil
	}
	for _, b := range e.Message.Blocks {
		switch b := b.(type) {
		case uzda.ToolUse:
			flush()
			names[b.ID] = b.Name
			in := string(b.Input)
			if b.Raw != "" {
				in = b.Raw
			}
			out = append(out, item{sort: called, seq: e.Seq, use: b.ID, tool: b.Name, text: in})
		case uzda.ToolResult:
			flush()
			out = append(out, resultItem(e.Seq, b, names[b.Use]))
		default:
			if text := name(b); text != "" {
				words = append(words, text)
			}
		}
	}
	flush()
	return out
}

func resultItem(seq uzda.Seq, r uzda.ToolResult, tool string) item {
	var words []string
	for _, b := range r.Blocks {
		if text := name(b); text != "" {
			words = append(words, text)
		}
	}
	return item{sort: result, seq: seq, use: r.Use, tool: tool, text: strings.Join(words, "\n"), code: r.Code, did: r.Effect, bad: r.IsError}
}

// name is a block as text: itself, or what it is.
func name(b uzda.Block) string {
	switch b := b.(type) {
	case uzda.Text:
		return b.Text
	case uzda.Media:
		what := b.Type
		if b.Name != "" {
			what += " " + strconv.Quote(b.Name)
		}
		return fmt.Sprintf("[%s, %d bytes, not shown here]", strings.TrimSpace(what), len(b.Data))
	case uzda.Opaque:
		if hidesThinking(b.Raw) {
			return ""
		}
		return fmt.Sprintf("[a block of %s, not shown here]", b.Origin)
	}
	return ""
}

// shorten cuts text to about n characters, two thirds of its head and a third of
// its end, and says what it left out.
func shorten(text string, n int) string {
	if len(text) <= n || utf8.RuneCountInString(text) <= n {
		return text
	}
	head, tail := 0, len(text)
	for range n - n/3 {
		_, size := utf8.DecodeRuneInString(text[head:])
		head += size
	}
	for range n / 3 {
		_, size := utf8.DecodeLastRuneInString(text[:tail])
		tail -= size
	}
	return text[:head] + leftOut(tail-head) + text[tail:]
}

func leftOut(bytes int) string { return fmt.Sprintf("\n[… %d bytes are left out here …]\n", bytes) }

// within cuts text to at most tokens by our estimate, head and end.
func within(text string, tokens int) string {
	size := Estimate(text)
	if size <= tokens {
		return text
	}
	n := len(text)
	for n > 0 {
		n = min(n*tokens/max(size, 1), n-n/16-1)
		if n < 40 {
			return ""
		}
		head, end := uzda.Before(text, n*2/3), uzda.After(text, n/3)
		out := head + leftOut(len(text)-len(head)-len(end)) + end
		if size = Estimate(out); size <= tokens {
			return out
		}
	}
	return ""
}

// hidesThinking says whether what a provider sent is reasoning that only it reads.
func hidesThinking(raw json.RawMessage) bool {
	var it struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(raw, &it) == nil && (it.Type == "redacted_thinking" || it.Type == "thinking" || it.Type == "reasoning")
}

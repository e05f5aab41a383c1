package window

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/uzda-dev/uzda"
)

//go:embed summary.md
var summaryText string

const (
	summaryWords  = 500
	maxRequests   = 8      // for one summary
	usualWindow   = 32_000 // tokens, of a model of which nothing is known
	wordTokens    = 8      // room in the reply for a word, thinking included
	leastTold     = 200    // tokens of a transcript, under which no summary is asked for
	maxHalvings   = 2      // of a request that was refused as too long
	aroundRequest = 200    // tokens of what stands around a transcript
	leastSaid     = 3      // letters and digits of a summary
	longPast      = 1000   // tokens of a request that no few words of refusal can answer
	shortReply    = 200    // bytes of such a refusal, at most
)

// A summariser has a past told in short by a model, in as many requests as that
// takes, each of which fits its window.
type summariser struct {
	side   func(ctx context.Context, m uzda.Model, req *uzda.Request) (uzda.Reply, error)
	by     uzda.Model
	req    uzda.Request // what all requests have
	task   string
	words  int
	room   int // estimated tokens of a transcript in one request
	level  int // of rendering, see levels
	halved int
	count  int // requests so far
}

func (p Planner) summariser(d *draft, task string) *summariser {
	v := d.view
	info, factor := v.Model, max(d.factor, 1)
	if p.By != nil {
		info = uzda.ModelInfo{}
		if m, ok := p.By.(uzda.Describer); ok {
			info = m.Describe()
		}
	}
	window := info.Window
	if window <= 0 && p.By == nil {
		window = v.Budget
	}
	window = cmp.Or(window, usualWindow)
	s := &summariser{side: v.Side, by: p.By, words: p.Words}
	if s.words <= 0 {
		s.words = summaryWords
	}
	most := min(max(s.words*wordTokens, 1000), window/4)
	if info.MaxOutput > 0 {
		most = min(most, info.MaxOutput)
	}
	s.words = max(min(s.words, most/3), 1)
	system := strings.ReplaceAll(summaryText, "{words}", strconv.Itoa(s.words))
	s.room = int(float64(window-most)*0.85/factor) - Estimate(system) - aroundRequest
	s.task = within(neutral(task), max(min(s.room/8, 1000), 0))
	s.room -= Estimate(s.task)
	s.req = uzda.Request{Session: v.Session, Agent: "summary", Max: most, Ask: 1,
		Head: uzda.Head{Model: info.ID, System: system, Params: uzda.Params{MaxTokens: most}}}
	return s
}

// summarise tells the items in short. An error says why there is no summary that
// could take their place.
func (s *summariser) summarise(ctx context.Context, items []item) (string, error) {
	if s.side == nil {
		return "", errors.New("no model may be asked for a summary now")
	}
	var parts []string
	for len(items) > 0 {
		if s.room < leastTold {
			return "", fmt.Errorf("the window of the model that summarises is too small: %d tokens would be left for the transcript", max(s.room, 0))
		}
		left := maxRequests - s.count
		if left < 1 || left < 2 && len(parts) > 0 {
			return "", fmt.Errorf("no summary after %d requests", s.count)
		}
		c := s.pack(items, max(left-1, 1))
		text, err := s.one(ctx, s.telling(c.text, len(parts)+1, c.items == len(items) && len(parts) == 0))
		if s.halve(err) {
			continue
		}
		if err != nil {
			return "", err
		}
		parts, items = append(parts, text), items[c.items:]
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return s.join(ctx, parts)
}

// halve makes the next request half as long, if this one was refused as too long.
func (s *summariser) halve(err error) bool {
	var refused *uzda.ProviderError
	if !errors.As(err, &refused) || refused.Code != "context" || s.halved >= maxHalvings || s.count >= maxRequests {
		return false
	}
	s.halved, s.room = s.halved+1, s.room/2
	return true
}

func (s *summariser) telling(transcript string, part int, whole bool) string {
	what := "the whole transcript"
	if !whole {
		what = fmt.Sprintf("part %d of the transcript; the records of all parts are joined later", part)
	}
	return fmt.Sprintf("%sThis is %s:\n<transcript>\n%s</transcript>\nWrite the record, in at most %d words.", s.about(), what, transcript, s.words)
}

func (s *summariser) about() string {
	if s.task == "" {
		return ""
	}
	return "<task>\n" + s.task + "\n</task>\n"
}

// join makes one record of those of the parts.
func (s *summariser) join(ctx context.Context, parts []string) (string, error) {
	for {
		var b strings.Builder
		for i, text := range parts {
			fmt.Fprintf(&b, "<part number=\"%d\">\n%s\n</part>\n", i+1, neutral(within(text, max(s.room/len(parts)-16, 1))))
		}
		text, err := s.one(ctx, fmt.Sprintf("%sThese are records of parts of one transcript, the oldest first. What a later one says holds where they differ.\n<transcript>\n%s</transcript>\n"+
			"Write one record of all of them, in at most %d words.", s.about(), b.String(), s.words))
		if !s.halve(err) {
			return text, err
		}
	}
}

// one asks once and takes only a reply that can stand for a record.
func (s *summariser) one(ctx context.Context, prompt string) (string, error) {
	req := s.req
	req.View = []uzda.Entry{{Seq: 1, Message: uzda.Message{Role: uzda.User, Blocks: uzda.Say(prompt)}}}
	s.count++
	reply, err := s.side(ctx, s.by, &req)
	if err != nil {
		return "", fmt.Errorf("ask for a summary: %w", err)
	}
	text := answer(reply.Message.String())
	switch stop := reply.Stop.Reason; {
	case stop != uzda.StopEnd && stop != uzda.StopSequence:
		return "", fmt.Errorf("the summary did not come to its end: the reply stopped with %s", cmp.Or(stop, uzda.StopUnknown))
	case len(reply.Message.Uses()) > 0:
		return "", errors.New("the model called a tool instead of writing a summary")
	case !says(text, leastSaid):
		return "", errors.New("the summary is empty")
	case declines(text) && Estimate(prompt) >= longPast:
		return "", errors.New("the model declined to write a summary")
	case Estimate(text) > 2*s.words*wordTokens:
		return "", fmt.Errorf("the summary is far longer than the %d words that were asked for", s.words)
	}
	return text, nil
}

// answer is what a reply says of the past: without what the model thought aloud and
// without what only a terminal obeys.
func answer(text string) string {
	text = strings.TrimSpace(visible(text))
	for before := ""; before != text; { // one may follow another
		before = text
		for _, tag := range [...]string{"think", "thinking", "reasoning"} {
			text = strings.TrimSpace(without(text, "<"+tag+">", "</"+tag+">"))
		}
	}
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(text, "<summary>"), "</summary>"))
}

// without drops what stands between two tags, of which the first begins a line. Where
// the text begins with one that has no end, nothing else follows.
func without(text, begin, end string) string {
	for from := 0; ; {
		i := strings.Index(text[from:], begin)
		if i < 0 {
			return text
		}
		at := from + i
		_, rest, closed := strings.Cut(text[at:], end)
		switch line := text[strings.LastIndexByte(text[:at], '\n')+1 : at]; {
		case strings.TrimSpace(line) != "" || !closed && at > 0:
			from = at + len(begin)
		default:
			text, from = text[:at]+rest, at
		}
	}
}

// says tells whether a text has so many letters and digits.
func says(text string, least int) bool {
	n := 0
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n >= least
}

// Words with which a model refuses, in small letters.
var (
	sorries = [...]string{"i'm sorry", "i am sorry", "sorry", "i apologi", "my apologies", "unfortunately", "as an ai"}
	refuses = [...]string{"i can't", "i cannot", "i can not", "i'm unable to", "i am unable to", "i'm not able to", "i am not able to", "i won't", "i will not", "i must decline", "i have to decline"}
	favours = [...]string{"help", "assist", "comply", "fulfil", "with that", "with this", "that request", "this request", "your request", "do that", "do this", "summar"}
)

// declines tells whether a short text is no summary but a refusal in English. What
// only begins like one, such as "I can't reach the host", is a summary.
func declines(text string) bool {
	if len(text) >= shortReply {
		return false
	}
	text = strings.TrimLeft(strings.ReplaceAll(strings.ToLower(text), "’", "'"), "*_#> \"")
	begins := func(with string) bool { return strings.HasPrefix(text, with) }
	holds := func(part string) bool { return strings.Contains(text, part) }
	sorry := slices.ContainsFunc(sorries[:], begins)
	if !slices.ContainsFunc(refuses[:], begins) && !(sorry && slices.ContainsFunc(refuses[:], holds)) {
		return false
	}
	return len(text) < shortReply/4 && sorry || slices.ContainsFunc(favours[:], holds)
}

// A chunk is a part of a transcript that fits one request.
type chunk struct {
	text  string
	items int // that it tells, or leaves out
}

// pack gives the first chunk of items, so that most chunks hold all of them. Where
// that is too few results are cut harder, and in the end the oldest are left out.
func (s *summariser) pack(items []item, most int) chunk {
	for {
		chunks := chunked(items, s.room, s.level)
		if len(chunks) <= most {
			return chunks[0]
		}
		if s.level < len(levels)-1 {
			s.level++
			continue
		}
		skip := 0
		for _, c := range chunks[:len(chunks)-most] {
			skip += c.items
		}
		first := chunks[len(chunks)-most]
		return chunk{fmt.Sprintf("[the %d oldest pieces of the transcript are left out here]\n", skip) + first.text, skip + first.items}
	}
}

// chunked cuts only between items. One that is longer than a chunk is shortened.
func chunked(items []item, room, level int) []chunk {
	room -= 16 // for the note of what is left out
	var out []chunk
	var b strings.Builder
	n, size := 0, 0
	flush := func() {
		if n > 0 {
			out = append(out, chunk{b.String(), n})
		}
		b.Reset()
		n, size = 0, 0
	}
	for _, i := range items {
		text := i.render(level)
		more := Estimate(text)
		if more > room {
			text = within(text, room)
			more = room
		}
		if size+more > room {
			flush()
		}
		b.WriteString(text)
		n, size = n+1, size+more
	}
	flush()
	return out
}

package recall

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
)

const (
	pieceSize = 1200     // bytes of a piece of text that is weighed alone
	pieceMost = 1600     // and where no line ends
	showHit   = 500      // bytes that are shown of one
	showHits  = 8        // places in one answer
	kept      = 4096     // pieces that are remembered at once
	fullMost  = 8 << 20  // bytes of an output that was cut, to be read whole
	fullAll   = 64 << 20 // and of all of them
)

// A hit is a piece of a part that has some of the words.
type hit struct {
	part  part // without its text and blocks
	text  string
	at    int // of the piece in the part
	size  int // of the part
	tally tally
	score float64
}

func (h *hit) key() string { return fmt.Sprintf("%s %d %s", h.part.what, h.part.seq, h.part.use) }

// A hunt looks through the record once.
type hunt struct {
	query  *query
	corpus corpus
	hits   []hit
	all    bool // only pieces with all of the words count
	parts  int  // that have any of the words
	left   int64
}

// search answers with the places that fit the words best. A number that is none of
// the record's must be there as a whole.
func (r record) search(ctx context.Context, words string, number bool, a *answer) error {
	h := &hunt{query: newQuery(words), left: fullAll, all: number}
	if len(h.query.terms) == 0 {
		a.fail("%q has neither letters nor digits to look for. Give words, a number such as 12.1, or a range such as 12-20.", uzda.Clip(words, 100))
		return nil
	}
	var fault error
	err := r.walk(ctx, func(p part) bool {
		if p.what == edited || p.what == ended || p.what == erased || p.tool == Name {
			return true
		}
		fault = h.look(ctx, r, p)
		return fault == nil
	})
	if err == nil {
		err = fault
	}
	if err != nil {
		return err
	}
	h.rank(0)
	if h.say(a); number && !a.failed {
		a.text = fmt.Sprintf("The record before this call has no %s. %s", words, a.text)
	}
	return nil
}

// look weighs the pieces of a part.
func (h *hunt) look(ctx context.Context, r record, p part) error {
	text := p.text
	if p.full != nil && p.full.Size <= h.left {
		whole, ok, err := r.whole(ctx, p, fullMost)
		if err != nil {
			return err
		}
		if ok {
			text, h.left = whole, h.left-p.full.Size
		}
	}
	if p.tool != "" && p.what == called {
		text = p.tool + " " + text
	}
	bare, found := p, false
	bare.text, bare.blocks, bare.full = "", nil, nil
	for at := 0; at < len(text); {
		if err := ctx.Err(); err != nil {
			return err
		}
		end := at + pieceEnd(text[at:])
		piece := text[at:end]
		t := h.query.count(piece)
		h.corpus.add(&t)
		if t.any() && (!h.all || t.all(len(h.query.terms))) {
			found = true
			h.hits = append(h.hits, hit{part: bare, text: strings.Clone(piece), at: at, size: len(text), tally: t})
		}
		at = end
	}
	if found {
		h.parts++
	}
	if len(h.hits) > kept {
		h.rank(kept / 2)
	}
	return nil
}

// pieceEnd returns where the first piece of a text ends: at a line, else between
// words that make no number, else between runes.
func pieceEnd(text string) int {
	if len(text) <= pieceMost {
		return len(text)
	}
	if i := strings.IndexByte(text[pieceSize:pieceMost], '\n'); i >= 0 {
		return pieceSize + i + 1
	}
	for i := pieceMost - 1; i > pieceSize; i-- {
		digits := text[i-1] >= '0' && text[i-1] <= '9' && text[i+1] >= '0' && text[i+1] <= '9'
		if text[i] == ' ' && !digits {
			return i + 1
		}
	}
	end := pieceMost
	for end > pieceSize && !utf8.RuneStart(text[end]) {
		end--
	}
	return end
}

// rank puts the best first, of equals the newest, and keeps the first few; 0: all.
func (h *hunt) rank(keep int) {
	for i := range h.hits {
		h.hits[i].score = h.corpus.score(h.query, &h.hits[i].tally)
	}
	slices.SortStableFunc(h.hits, func(a, b hit) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return int(b.part.seq - a.part.seq)
	})
	if keep > 0 && len(h.hits) > keep {
		clear(h.hits[keep:])
		h.hits = h.hits[:keep]
	}
}

// say shows the best place of each part.
func (h *hunt) say(a *answer) {
	query := strings.TrimSpace(a.Query)
	if len(h.hits) == 0 {
		a.text = fmt.Sprintf("Nothing earlier in this session has %q. Try other words, fewer of them, or a range such as 1-40 for an overview.", uzda.Clip(query, 200))
		return
	}
	seen, shown, skip := map[string]bool{}, 0, a.Offset
	var b strings.Builder
	room := a.room(query)
	for i := range h.hits {
		hit := &h.hits[i]
		key := hit.key()
		if seen[key] {
			continue
		}
		seen[key] = true
		if skip > 0 {
			skip--
			continue
		}
		text := h.show(hit)
		if shown == showHits*max(1, a.Limit/Page) || b.Len()+len(text) > room && shown > 0 {
			break
		}
		b.WriteString(text)
		shown++
		a.labels = uzda.Union(a.labels, hit.part.labels...)
	}
	if shown == 0 {
		a.fail("There are %d places for %q, none after the first %d.", h.parts, uzda.Clip(query, 200), a.Offset)
		return
	}
	a.text = fmt.Sprintf("Places in the record of this session that fit %q best; ask for a number to read the whole:\n%s", uzda.Clip(query, 200), b.String())
	if more := h.parts - a.Offset - shown; more > 0 {
		a.text += fmt.Sprintf("\n[%d more have some of the words: recall {\"query\":%q,\"offset\":%d}]", more, query, a.Offset+shown)
	}
	a.text = strings.TrimRight(a.text, "\n")
}

// show is one place. Its lines are marked, so that none can pass for one of ours.
func (h *hunt) show(hit *hit) string {
	p := hit.part
	var head string
	switch p.what {
	case posted:
		head = fmt.Sprintf("[%d] message%s", p.seq, byText(p.by))
	case said:
		head = fmt.Sprintf("[%d] your reply", p.seq)
	case called:
		head = fmt.Sprintf("[%d] your call %s of %s", p.seq, p.use, p.tool)
	case checked:
		head = fmt.Sprintf("[%d] check of the answer", p.seq)
	default:
		const args = 120
		head = fmt.Sprintf("[%s] result", p.use)
		if p.tool != "" {
			head += " of " + p.tool + " " + uzda.OneLine(uzda.Clip(string(p.input), args), args)
		}
		if p.failed != "" {
			head += ", error " + string(p.failed)
		}
	}
	from, to := h.query.window(hit.text, &h.corpus, showHit)
	if len(hit.text) < hit.size || from > 0 || to < len(hit.text) {
		head += fmt.Sprintf(", from byte %d of %d", hit.at+from, hit.size)
	}
	snippet := strings.TrimRight(strings.ToValidUTF8(hit.text[from:to], "\uFFFD"), "\n")
	return head + ":\n> " + strings.ReplaceAll(snippet, "\n", "\n> ") + "\n"
}

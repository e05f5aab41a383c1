package recall

import (
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
)

const (
	pieceSize = 1200     // bytes of a piece of text that is weighed alone
	pieceMost = 1600     // and where no line ends
	showHit   = 500      // bytes that are shown of one
	showHits  = 8        // places in one answer
	showCall  = 120      // bytes of the input of a call, in the heading of its result
	kept      = 4096     // pieces that are remembered at once
	fullMost  = 8 << 20  // bytes of an output that was cut, to be read whole
	fullAll   = 64 << 20 // and of all of them
)

// A hit is a piece of a part that has some of the words, or of a result whose call
// has them.
type hit struct {
	part  part // without its text and blocks
	text  string
	at    int // of the piece in the part
	size  int // of the part
	tally tally
	alike uint64 // the same for pieces that say the same
	score float64
}

// place is the number under which a hit is found. A call and its result are one
// place.
func (p *part) place() string {
	if p.use != "" {
		return string(p.use)
	}
	return strconv.FormatInt(int64(p.seq), 10)
}

// A hunt looks through the record once.
type hunt struct {
	query  *query
	corpus corpus
	hits   []hit
	all    bool // only pieces with all of the words count
	cut    bool // some of the hits were too many
	left   int64
	seed   maphash.Seed
	alike  map[uint64][]string // the places that say the same, oldest first
	open   map[uzda.UseID]hit  // calls whose results tell of them, until these come
}

// search answers with the places that fit the words best. A number that is none of
// the record's must be there as a whole.
func (r record) search(ctx context.Context, words string, number bool, a *answer) error {
	h := &hunt{query: newQuery(words), left: fullAll, all: number, seed: maphash.MakeSeed(), alike: map[uint64][]string{}, open: map[uzda.UseID]hit{}}
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
	for _, id := range slices.Sorted(maps.Keys(h.open)) { // they have no result
		h.put(h.open[id])
	}
	h.rank(0)
	if h.say(a); number && !a.failed {
		a.text = fmt.Sprintf("The record before this call has no %s. %s", words, a.text)
	}
	return nil
}

// look weighs the pieces of a part.
func (h *hunt) look(ctx context.Context, r record, p part) error {
	text, err := h.textOf(ctx, r, p)
	if err != nil {
		return err
	}
	bare := p
	bare.text, bare.blocks, bare.full = "", nil, nil
	var call tally // of the call that a result answers
	if p.what == returned && p.tool != "" {
		call = h.query.count(callWords(p))
		if h.fits(&call) {
			delete(h.open, p.use)
		}
	}
	var first hit
	found := false
	for at := 0; at < len(text) || at == 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		end := at + pieceEnd(text[at:])
		t := h.query.count(text[at:end])
		h.corpus.add(&t)
		own := t.any()
		t.join(&call)
		one := hit{part: bare, text: text[at:end], at: at, size: len(text), tally: t}
		if at == 0 {
			first = one
		}
		if own && h.fits(&t) {
			found = true
			h.take(one)
		}
		if at = end; end == 0 {
			break
		}
	}
	if !found && len(p.input) <= showCall && h.fits(&call) { // a longer input is a place of its own
		h.take(first)
	}
	return nil
}

// textOf is what is looked through of a part: of an output that was cut, all of it.
func (h *hunt) textOf(ctx context.Context, r record, p part) (string, error) {
	if p.what == called {
		return p.tool + " " + p.text, nil
	}
	if p.full == nil || p.full.Size > h.left {
		return p.text, nil
	}
	whole, ok, err := r.whole(ctx, p, fullMost)
	if err != nil || !ok {
		return p.text, err
	}
	h.left -= p.full.Size
	return whole, nil
}

// callWords are the words of the call that a result answers: enough to tell it from
// others.
func callWords(p part) string { return p.tool + " " + uzda.Before(plain(p.input), pieceSize) }

// fits says whether what has these words is a place that is looked for.
func (h *hunt) fits(t *tally) bool {
	return t.any() && (!h.all || t.all(len(h.query.terms)))
}

// take keeps a hit; that of a short call only until its result comes, which shows
// the call too.
func (h *hunt) take(one hit) {
	one.text = strings.Clone(one.text)
	if one.part.what == called && len(one.part.input) <= showCall {
		h.open[one.part.use] = one
		return
	}
	h.put(one)
}

func (h *hunt) put(one hit) {
	one.alike = h.same(&one)
	if places, place := h.alike[one.alike], one.part.place(); len(places) == 0 || places[len(places)-1] != place {
		h.alike[one.alike] = append(places, place)
	}
	if h.hits = append(h.hits, one); len(h.hits) > kept {
		h.cut = true
		h.rank(kept / 2)
	}
}

// same is a number for what a hit says. Many calls answer in the same few words:
// those of a short answer are the same only if their inputs are.
func (h *hunt) same(one *hit) uint64 {
	const telling = 200 // bytes that no two things say by chance
	p := &one.part
	all := []string{p.what, p.tool, p.by, string(p.failed), string(p.effect), one.text, ""}
	if len(one.text) < telling {
		all[len(all)-1] = string(p.input)
	}
	return maphash.String(h.seed, strings.Join(all, "\x00"))
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

// places are the hits to show, the best first: one of each place, and one of those
// that say the same.
func (h *hunt) places() (out []*hit) {
	seen, said := map[string]bool{}, map[uint64]bool{}
	for i := range h.hits {
		one := &h.hits[i]
		if seen[one.part.place()] || said[one.alike] {
			continue
		}
		said[one.alike] = true
		for _, place := range h.alike[one.alike] {
			seen[place] = true
		}
		out = append(out, one)
	}
	return out
}

// say shows the best places.
func (h *hunt) say(a *answer) {
	query := strings.TrimSpace(a.Query)
	if len(h.hits) == 0 {
		a.text = fmt.Sprintf("Nothing earlier in this session has %q. Try other words, fewer of them, or a range such as 1-40 for an overview.", uzda.Clip(query, 200))
		return
	}
	places, shown := h.places(), 0
	var b strings.Builder
	room := a.room(query)
	for _, one := range places[min(a.Offset, len(places)):] {
		text := h.show(one)
		if shown == showHits*max(1, a.Limit/Page) || b.Len()+len(text) > room && shown > 0 {
			break
		}
		b.WriteString(text)
		shown++
		a.labels = uzda.Union(a.labels, one.part.labels...)
	}
	least := ""
	if h.cut {
		least = "at least "
	}
	if shown == 0 {
		a.fail("There are %s%d places for %q, none after the first %d.", least, len(places), uzda.Clip(query, 200), a.Offset)
		return
	}
	a.text = fmt.Sprintf("Places in the record of this session that fit %q best; ask for a number to read the whole:\n%s", uzda.Clip(query, 200), b.String())
	if more := len(places) - a.Offset - shown; more > 0 {
		a.text += fmt.Sprintf("\n[%s%d more have some of the words: recall {\"query\":%q,\"offset\":%d}]", least, more, query, a.Offset+shown)
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
		head = fmt.Sprintf("[%s] result", p.use)
		if p.tool != "" {
			head += " of " + p.tool + " " + h.inputText(string(p.input))
		}
		if p.failed != "" {
			head += ", error " + string(p.failed)
		}
	}
	head += h.others(hit)
	from, to := h.query.window(hit.text, &h.corpus, showHit)
	if len(hit.text) < hit.size || from > 0 || to < len(hit.text) {
		head += fmt.Sprintf(", from byte %d of %d", hit.at+from, hit.size)
	}
	snippet := strings.TrimRight(strings.ToValidUTF8(hit.text[from:to], "\uFFFD"), "\n")
	return head + ":\n> " + strings.ReplaceAll(snippet, "\n", "\n> ") + "\n"
}

// inputText is what is shown of an input: of a long one the part that has the words.
func (h *hunt) inputText(in string) string {
	from, to := h.query.window(in, &h.corpus, showCall)
	text := strings.ToValidUTF8(in[from:to], "\uFFFD")
	if from > 0 {
		text = "…" + text
	}
	if to < len(in) {
		text += "…"
	}
	return uzda.OneLine(text, showCall+2)
}

// others says where else the same stands.
func (h *hunt) others(one *hit) string {
	const most = 5
	all := h.alike[one.alike]
	if len(all) < 2 {
		return ""
	}
	var named []string
	for _, place := range slices.Backward(all) {
		if place != one.part.place() && len(named) < most {
			named = append(named, place)
		}
	}
	text := fmt.Sprintf(", %d times the same, also %s", len(all), strings.Join(named, ", "))
	if more := len(all) - 1 - len(named); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

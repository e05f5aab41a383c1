package recall

import (
	"bytes"
	"math"
	"slices"
	"unicode/utf8"
)

const maxTerms = 24 // of a query; what comes after them says little

// A term is a word of a query.
type term struct {
	word string
	stem string // what other forms of it begin with; "" for those found exactly only
	next int    // the term that stands right after it, -1 if none
}

// A query is what is looked for.
type query struct {
	terms []term
	exact map[string]int
	first [256]bool // bytes with which a match can begin
}

// newQuery reads the words that are looked for.
func newQuery(text string) *query {
	q := &query{exact: map[string]int{}}
	var at []int
	words(text, func(w word) {
		if _, dup := q.exact[string(w.text)]; dup || len(q.terms) == maxTerms {
			return
		}
		for i := range q.terms {
			if at[i] == w.pos-1 && q.terms[i].next < 0 {
				q.terms[i].next = len(q.terms)
			}
		}
		q.exact[string(w.text)] = len(q.terms)
		q.terms = append(q.terms, term{word: string(w.text), stem: stem(string(w.text)), next: -1})
		q.first[w.text[0]] = true
		at = append(at, w.pos)
	})
	return q
}

// stem is the beginning that forms of a word share: at least four letters. Words
// with digits, short ones and Chinese ones are found as they are.
func stem(w string) string {
	const shortest, ending = 4, 3
	var runes []rune
	for _, r := range w {
		if r >= '0' && r <= '9' || ideograph(r) {
			return ""
		}
		runes = append(runes, r)
	}
	n := len(runes)
	if n < shortest {
		return ""
	}
	return string(runes[:max(shortest, n-min(ending, n/3))])
}

// match returns the term that a word is or is a form of, and how well it fits: 2
// as it is, 1 as a form, 0 not at all.
func (q *query) match(w []byte) (i, fit int) {
	if !q.first[w[0]] {
		return 0, 0
	}
	if i, ok := q.exact[string(w)]; ok {
		return i, 2
	}
	for i := range q.terms {
		s := q.terms[i].stem
		if s != "" && len(w) >= len(s) && string(w[:len(s)]) == s && !bytes.ContainsAny(w, "0123456789") {
			return i, 1
		}
	}
	return 0, 0
}

// A tally is what of a query a piece of text has.
type tally struct {
	fits  [maxTerms]uint8 // twice the number of matches
	pairs uint32          // terms that stand right after the one they follow in the query
	size  int             // words
}

func (t *tally) any() bool { return t.fits != [maxTerms]uint8{} }

// all says whether each of the first n terms is there.
func (t *tally) all(n int) bool { return !slices.Contains(t.fits[:n], 0) }

// join adds what another text has, as if both were one.
func (t *tally) join(o *tally) {
	if !o.any() {
		return
	}
	for i, f := range o.fits {
		t.fits[i] = uint8(min(int(t.fits[i])+int(f), math.MaxUint8))
	}
	t.pairs |= o.pairs
	t.size += o.size
}

// count looks through a text.
func (q *query) count(text string) (t tally) {
	var before, here uint32 // the terms at the place before, and at this one
	at := 0
	words(text, func(w word) {
		if w.pos != at {
			if before, here = here, 0; w.pos != at+1 {
				before = 0
			}
			at = w.pos
			t.size++
		}
		i, fit := q.match(w.text)
		if fit == 0 {
			return
		}
		t.fits[i] = uint8(min(int(t.fits[i])+fit, math.MaxUint8))
		here |= 1 << i
		for j := range q.terms {
			if q.terms[j].next == i && before>>j&1 == 1 {
				t.pairs |= 1 << i
			}
		}
	})
	return t
}

// A corpus is what was looked through so far: how rare each term is in it.
type corpus struct {
	pieces, words int
	with          [maxTerms]int // pieces that have a term
}

func (c *corpus) add(t *tally) {
	c.pieces++
	c.words += t.size
	for i, f := range t.fits {
		if f > 0 {
			c.with[i]++
		}
	}
}

// rarity is BM25's weight of a term (Robertson and Zaragoza 2009), never negative.
func (c *corpus) rarity(i int) float64 {
	n := float64(c.with[i])
	return math.Log(1 + (float64(c.pieces)-n+0.5)/(n+0.5))
}

// score is BM25 with k1 = 1.2 and b = 0.5; words that stand together as in the
// query count more, and so does a piece with more of them.
func (c *corpus) score(q *query, t *tally) float64 {
	const k1, b, together = 1.2, 0.5, 0.8
	mean := float64(c.words) / float64(max(1, c.pieces))
	sum, got, all := 0.0, 0.0, 0.0
	for i := range q.terms {
		w := c.rarity(i)
		all += w
		if t.fits[i] == 0 {
			continue
		}
		got += w
		tf := float64(t.fits[i]) / 2
		sum += w * tf * (k1 + 1) / (tf + k1*(1-b+b*float64(t.size)/max(1, mean)))
		if t.pairs>>i&1 == 1 {
			sum += together * w
		}
	}
	return sum * (0.5 + got/max(all, 1e-9)/2)
}

// window returns the place in a text, of at most most bytes, that says most of
// what is looked for.
func (q *query) window(text string, c *corpus, most int) (from, to int) {
	if len(text) <= most {
		return 0, len(text)
	}
	type hit struct {
		start, end, term int
	}
	var hits []hit
	words(text, func(w word) {
		if i, fit := q.match(w.text); fit > 0 {
			hits = append(hits, hit{w.start, w.end, i})
		}
	})
	const slight = 100 // many of one are a little better than one
	best, middle := -1.0, 0
	for i := range hits {
		var seen uint32
		sum, end := 0.0, hits[i].end
		for _, h := range hits[i:] {
			if h.end-hits[i].start > most {
				break
			}
			if seen>>h.term&1 == 0 {
				sum += c.rarity(h.term)
			}
			seen |= 1 << h.term
			sum += c.rarity(h.term) / slight
			end = h.end
		}
		if sum > best {
			best, middle = sum, (hits[i].start+end)/2
		}
	}
	from = max(0, min(middle-most/2, len(text)-most))
	for from > 0 && from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	to = min(len(text), from+most)
	for to < len(text) && to > from && !utf8.RuneStart(text[to]) {
		to--
	}
	return from, to
}

package modeltest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"math/big"
	"time"

	"github.com/uzda-dev/uzda"
)

// A Cache is how the server pretends to keep prompts. What it pretends is in the
// usage of its replies and in the bill.
type Cache struct {
	Off bool
	// Min is the least length in tokens of a prefix that is kept; default 1,024.
	// Chat Completions keep whole steps of 128.
	Min int
	// Back is how many blocks before a marker a kept prefix may end; default 20.
	// Messages only.
	Back int
	// Keep is how long Chat Completions keep a prefix that is not used; default
	// five minutes.
	Keep time.Duration
}

func (c Cache) full() Cache {
	if c.Min == 0 {
		c.Min = 1024
	}
	if c.Back == 0 {
		c.Back = 20
	}
	if c.Keep == 0 {
		c.Keep = 5 * time.Minute
	}
	return c
}

// step is the length in tokens by which cached prefixes of Chat Completions grow.
const step = 128

// An entry is a prefix that is kept.
type entry struct {
	until time.Time
	long  bool
}

type cache struct{ written map[string]entry }

// tokens is how many a number of bytes counts as.
func tokens(size int) int { return (size + 3) / 4 }

// prompt is the length of a request in tokens, as the server counts them.
func (r *Request) prompt() int { return r.times * r.fours() }

// fours is the length of a request in four bytes each.
func (r *Request) fours() int {
	if len(r.Units) == 0 {
		return 0
	}
	return tokens(r.Units[len(r.Units)-1].size)
}

// count makes the usage of a reply to r: what the turn says, or the simulation's.
func (s *Server) count(r *Request, t *Turn) uzda.Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	var u uzda.Usage
	switch {
	case s.cfg.Cache.Off || r.Wire == WireOllama || s.cfg.Local.Kind == Ollama:
		u.Input = r.prompt() - r.Dropped
	case r.Wire == WireMessages:
		u = times(s.cache.marked(r, s.cfg.Cache.full(), s.cfg.Now()), r.times)
	default:
		u = times(s.cache.automatic(r, s.cfg.Cache.full(), s.cfg.Now()), r.times)
	}
	u.Output = r.times * tokens(said(t.parts()))
	if t.Usage != nil {
		u = *t.Usage
	}
	return u
}

func times(u uzda.Usage, n int) uzda.Usage {
	for _, part := range []*int{&u.Input, &u.CacheRead, &u.CacheWrite, &u.CacheLong} {
		*part *= n
	}
	return u
}

// marked is Anthropic's cache: a prefix is written where a marker stands, and the
// longest one that was written before is read, if it ends at a marker or at most
// a few blocks before one.
func (c *cache) marked(r *Request, o Cache, now time.Time) uzda.Usage {
	total := r.fours()
	key := func(u *Unit) string { return keyOf(r.Header) + " " + r.Model + " " + u.Hash }
	hit, last, lastLong := 0, 0, 0 // in tokens
	for i := len(r.Units) - 1; i >= 0; i-- {
		if r.Units[i].mark == "" || tokens(r.Units[i].size) < o.Min {
			continue
		}
		if last == 0 {
			last = tokens(r.Units[i].size)
		}
		for j, back := i, 0; hit == 0 && j >= 0 && back <= o.Back; j-- {
			if r.Units[j].around {
				continue // it ends with no block
			}
			back++
			e, ok := c.written[key(&r.Units[j])]
			if !ok || now.After(e.until) {
				continue
			}
			hit = tokens(r.Units[j].size)
			c.write(key(&r.Units[j]), e.long, now)
		}
		if r.Units[i].mark == "1h" && lastLong == 0 {
			lastLong = tokens(r.Units[i].size)
		}
	}
	for i := range r.Units {
		u := &r.Units[i]
		if u.mark == "" || tokens(u.size) < o.Min {
			continue
		}
		old := c.written[key(u)] // one that is still good keeps its longer life
		c.write(key(u), u.mark == "1h" || old.long && !now.After(old.until) && tokens(u.size) <= hit, now)
	}
	last, lastLong = max(last, hit), max(lastLong, hit)
	return uzda.Usage{Input: total - last, CacheRead: hit, CacheLong: lastLong - hit, CacheWrite: last - lastLong}
}

func (c *cache) write(key string, long bool, now time.Time) {
	until := now.Add(5 * time.Minute)
	if long {
		until = now.Add(time.Hour)
	}
	c.written[key] = entry{until, long}
}

// automatic is the cache of Chat Completions: of every prompt the longest prefix
// that was sent before is read, in whole steps.
func (c *cache) automatic(r *Request, o Cache, now time.Time) uzda.Usage {
	hit := 0
	for _, p := range r.steps() {
		key := keyOf(r.Header) + " " + r.Model + " " + p.hash
		if e, ok := c.written[key]; ok && !now.After(e.until) && p.tokens >= o.Min {
			hit = p.tokens
		}
		c.written[key] = entry{until: now.Add(o.Keep)}
	}
	return uzda.Usage{Input: r.fours() - hit, CacheRead: hit}
}

// A mark is where a cached prefix of Chat Completions may end.
type mark struct {
	hash   string
	tokens int
}

// steps are the marks of a request, of which each proves all before it.
func (r *Request) steps() []mark {
	var out []mark
	var sum [sha256.Size]byte
	h, room, before := sha256.New(), 4*step, 0
	write := func(data []byte) {
		for len(data) > 0 {
			n := min(room, len(data))
			h.Write(data[:n])
			data = data[n:]
			if room -= n; room == 0 {
				h.Sum(sum[:0])
				out = append(out, mark{hex.EncodeToString(sum[:16]), step * (len(out) + 1)})
				h.Reset()
				h.Write(sum[:])
				room = 4 * step
			}
		}
	}
	for i := range r.Units {
		u := &r.Units[i]
		size := u.size - before
		before = u.size
		if size == len(u.Raw) {
			write(u.Raw)
			continue
		}
		own := sha256.Sum256(u.Raw) // of a picture, which counts otherwise
		write(bytes.Repeat(own[:], size/len(own)+1)[:size])
	}
	return out
}

// bill keeps what the provider bills for a reply, as far as it went out.
func (s *Server) bill(r *Request, u uzda.Usage, to *sender) {
	all := 0
	if n := len(to.frames); n > 0 {
		all = to.frames[n-1].said
	}
	r.Billed, r.Usage = to.began, u
	switch {
	case !to.began:
		r.Usage = uzda.Usage{}
	case to.said < all:
		r.Usage.Output = (u.Output*to.said + all - 1) / all
	}
}

// Bill is what the provider would bill for all replies so far, at the prices of
// a model for the size of a context in tokens. A reply that was cut is billed
// with its whole input, and with the output that had gone out; an error is not.
func (s *Server) Bill(price func(model string, context int) uzda.Price) uzda.Money {
	sum := new(big.Int)
	for _, r := range s.Requests() {
		if !r.Billed {
			continue
		}
		p := price(r.Model, r.Usage.Context())
		for _, one := range []struct {
			tokens int
			price  uzda.Money // of a million
		}{
			{r.Usage.Input, p.Input}, {r.Usage.Output, p.Output}, {r.Usage.CacheRead, p.CacheRead},
			{r.Usage.CacheWrite, p.CacheWrite}, {r.Usage.CacheLong, p.CacheLong},
		} {
			sum.Add(sum, new(big.Int).Mul(big.NewInt(int64(one.tokens)), big.NewInt(int64(one.price))))
		}
	}
	// Half a picodollar and more counts as one.
	sum.Add(sum, big.NewInt(500_000))
	return uzda.Money(sum.Quo(sum, big.NewInt(1_000_000)).Int64())
}

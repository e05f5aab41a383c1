package anthropic

import (
	"encoding/json"
	"strconv"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/raw"
)

// A usage puts together what the events of a reply say of it: the first has the
// input, the last the output and, of newer ones, all again.
type usage struct {
	counts
	final  bool // the last event said something
	passes counts
	models []string // of the passes
}

// counts are tokens as the provider counts them: input is what was not kept.
type counts struct{ input, output, read, write, long int }

func (c counts) plus(d counts) counts {
	return counts{c.input + d.input, c.output + d.output, c.read + d.read, c.write + d.write, c.long + d.long}
}

// maxCount bounds a count, which may be anything a gateway makes up.
const maxCount = 1 << 40

// number is a count, 0 for what is none.
func number(v json.RawMessage) int {
	if len(v) == 0 || v[0] < '0' || v[0] > '9' {
		return 0
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil {
		return maxCount
	}
	return int(min(f, maxCount))
}

func readCounts(o *raw.Object) counts {
	c := counts{input: number(o.Get("input_tokens")), output: number(o.Get("output_tokens")),
		read: number(o.Get("cache_read_input_tokens")), write: number(o.Get("cache_creation_input_tokens"))}
	if split, err := raw.Parse(o.Get("cache_creation")); err == nil {
		c.long = number(split.Get("ephemeral_1h_input_tokens"))
		c.write = max(c.write, c.long+number(split.Get("ephemeral_5m_input_tokens")))
	}
	return c
}

// add takes the usage of an event. Counts only grow, so a later 0 says nothing:
// older services and gateways leave out there what the first event had, or the
// other way round.
func (u *usage) add(v json.RawMessage, final bool) {
	o, err := raw.Parse(v)
	if err != nil {
		return
	}
	c := readCounts(&o)
	later := func(old *int, n int) {
		if n > 0 {
			*old = n
		}
	}
	later(&u.input, c.input)
	later(&u.output, c.output)
	later(&u.read, c.read)
	later(&u.write, c.write)
	later(&u.long, c.long)
	u.final = u.final || final && c != (counts{})
	passes := o.Get("iterations")
	if passes == nil { // to say so in an error costs more than the rest
		return
	}
	list, err := raw.Elements(passes)
	if err != nil {
		return
	}
	u.passes, u.models = counts{}, nil
	for _, it := range list {
		if p, err := raw.Parse(it); err == nil {
			u.passes = u.passes.plus(readCounts(&p))
			if m := str(p.Get("model")); m != "" && len(u.models) < maxBlocks {
				u.models = append(u.models, m)
			}
		}
	}
}

// usage is what was used. A compaction and other models' passes stand only in the
// list of passes, which the counts at the top leave out.
func (u *usage) usage() uzda.Usage {
	c, p := u.counts, u.passes
	write, long := max(c.write, p.write), max(c.long, p.long)
	return uzda.Usage{Input: max(c.input, p.input), Output: max(c.output, p.output), CacheRead: max(c.read, p.read),
		CacheWrite: max(write-long, 0), CacheLong: long}
}

// total is the usage of a whole reply of said bytes. It is a lower bound where
// something was not said, or was used of another model, at another price.
func (u *usage) total(model string, said int) uzda.Usage {
	out := u.usage()
	out.AtLeast = !u.final || out.Context() == 0
	if out.Output == 0 && said > 0 || !u.final {
		out.Output, out.AtLeast = max(out.Output, (said+3)/4), true
	}
	for _, m := range u.models {
		out.AtLeast = out.AtLeast || m != model
	}
	return out
}

// broken is the least that was used by a reply that broke after said bytes.
func (u *usage) broken(said int) uzda.Usage {
	out := u.usage()
	out.Output = max(out.Output, (said+3)/4)
	return out
}

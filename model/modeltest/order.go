package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
)

// Order says what is wrong with the chunks of one whole stream, nil if nothing:
// deltas come before the block that they are of and add up to it, blocks are well
// formed, and the last chunk is the only stop.
func Order(chunks []uzda.Chunk) error {
	o := order{deltas: map[int]string{}, wires: map[string]bool{}}
	for i, c := range chunks {
		if o.stopped {
			return fmt.Errorf("chunk %d comes after the stop", i)
		}
		if err := o.chunk(c); err != nil {
			return fmt.Errorf("chunk %d: %w", i, err)
		}
	}
	if !o.stopped {
		return errors.New("the stream ended without a stop")
	}
	return nil
}

type order struct {
	deltas  map[int]string // by block, of one kind
	kinds   map[int]string
	blocks  int
	uses    int
	wires   map[string]bool
	stopped bool
}

func (o *order) chunk(c uzda.Chunk) error {
	switch c := c.(type) {
	case uzda.Delta:
		return o.delta(c)
	case uzda.Done:
		return o.done(c)
	case uzda.Warning:
		if c.Code == "" || c.Text == "" {
			return fmt.Errorf("the warning %+v has no code or no text", c)
		}
	case uzda.Attempt:
		if o.blocks > 0 {
			return errors.New("an attempt comes after a finished block")
		}
		o.deltas, o.kinds = map[int]string{}, nil
	case uzda.Stop:
		return o.stop(c)
	default:
		return fmt.Errorf("the type %T is no chunk of a stream", c)
	}
	return nil
}

func (o *order) delta(d uzda.Delta) error {
	if d.Block < o.blocks {
		return fmt.Errorf("a delta of block %d, which is done", d.Block)
	}
	if !utf8.ValidString(d.Text) {
		return fmt.Errorf("the delta %q is cut inside a character", d.Text)
	}
	if d.Kind != "text" && d.Kind != "thinking" && d.Kind != "input" {
		return fmt.Errorf("the kind of delta %q is unknown", d.Kind)
	}
	if k, ok := o.kinds[d.Block]; ok && k != d.Kind {
		return fmt.Errorf("block %d has deltas of %s and of %s", d.Block, k, d.Kind)
	}
	if o.kinds == nil {
		o.kinds = map[int]string{}
	}
	o.kinds[d.Block] = d.Kind
	o.deltas[d.Block] += d.Text
	return nil
}

func (o *order) done(d uzda.Done) error {
	at := o.blocks
	o.blocks++
	kind, whole := "", ""
	switch b := d.Block.(type) {
	case uzda.Text:
		kind, whole = "text", b.Text
	case uzda.Thinking:
		kind, whole = "thinking", b.Text
	case uzda.ToolUse:
		if err := o.use(b); err != nil {
			return err
		}
		kind = "input" // mended, perhaps: its deltas need not add up to it
	case uzda.Media, uzda.Opaque:
	default:
		return fmt.Errorf("a model does not say a %T", b)
	}
	if !utf8.ValidString(whole) {
		return fmt.Errorf("block %d is not UTF-8", at)
	}
	if d.Item != nil && !json.Valid(d.Item.Raw) {
		return fmt.Errorf("the item of block %d is no JSON: %s", at, d.Item.Raw)
	}
	seen, had := o.kinds[at]
	if !had {
		return nil
	}
	if seen != kind {
		return fmt.Errorf("block %d is %s, its deltas were %s", at, kind, seen)
	}
	if kind != "input" && o.deltas[at] != whole {
		return fmt.Errorf("block %d is %q, its deltas were %q", at, whole, o.deltas[at])
	}
	return nil
}

func (o *order) use(u uzda.ToolUse) error {
	o.uses++
	if u.ID != "" {
		return fmt.Errorf("the use has the id %q, which is the loop's to give", u.ID)
	}
	if u.Name == "" {
		return errors.New("the use has no name")
	}
	if u.Wire != "" && o.wires[u.Wire] {
		return fmt.Errorf("two uses have the wire id %q", u.Wire)
	}
	o.wires[u.Wire] = true
	if !strings.HasPrefix(string(u.Input), "{") || !json.Valid(u.Input) {
		return fmt.Errorf("the input of use %s is no JSON object: %q", u.Name, u.Input)
	}
	return nil
}

func (o *order) stop(s uzda.Stop) error {
	o.stopped = true
	switch s.Reason {
	case uzda.StopEnd, uzda.StopUse, uzda.StopLength, uzda.StopSequence, uzda.StopPause, uzda.StopRefusal, uzda.StopContext:
	case uzda.StopUnknown:
		if s.Raw == "" {
			return errors.New("an unknown stop does not say the provider's word")
		}
	default:
		return fmt.Errorf("the stop %q is not of the closed set", s.Reason)
	}
	if s.Reason == uzda.StopEnd && o.uses > 0 {
		return errors.New("a complete reply with calls must stop as tool_use")
	}
	for at := range o.kinds {
		if at >= o.blocks && s.Reason != uzda.StopLength && s.Reason != uzda.StopRefusal {
			return fmt.Errorf("block %d had deltas and was never done", at)
		}
	}
	u := s.Usage
	if min(u.Input, u.Output, u.CacheRead, u.CacheWrite, u.CacheLong) < 0 {
		return fmt.Errorf("the usage is negative: %+v", u)
	}
	return nil
}

package cost

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
)

// keysIn are the keys of an object by the key that it stands under: encoding/json
// would say that a key is unknown, but not where it stands.
var keysIn = map[string][]string{
	"":          {"version", "sources", "read", "providers", "models"},
	"read":      {"provider", "at", "from"},
	"providers": {"id", "name", "default", "free", "dated", "efforts"},
	"models":    {"id", "aliases", "window", "max_output", "can", "efforts", "effort", "retires", "paid", "tiers"},
	"tiers":     {"above_tokens", "in", "out", "cache_read", "cache_write_5m", "cache_write_1h"},
}

// level is an object or an array that is open.
type level struct {
	object bool
	under  string // the key that it stands under
	key    bool   // a key comes next
	last   string // the key before the value that comes next
	seen   []string
}

// checkKeys finds keys that are unknown, or stand twice in one object.
func checkKeys(name string, raw []byte) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var open []level
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) && len(open) == 0 {
			return nil
		}
		if err != nil {
			return located(name, raw, err)
		}
		top := len(open) - 1
		if s, ok := tok.(string); ok && top >= 0 && open[top].key {
			if err := open[top].knows(s); err != nil {
				return fmt.Errorf("read models %s: line %d: %w", name, line(raw, dec.InputOffset()), err)
			}
			open[top].seen, open[top].key, open[top].last = append(open[top].seen, s), false, s
			continue
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			l := level{object: tok == json.Delim('{'), key: tok == json.Delim('{')}
			if top >= 0 {
				if l.under = open[top].last; !open[top].object {
					l.under = open[top].under
				}
			}
			open = append(open, l)
			continue
		case json.Delim('}'), json.Delim(']'):
			open = open[:top]
		}
		if top = len(open) - 1; top >= 0 && open[top].object {
			open[top].key = true
		}
	}
}

func (l level) knows(key string) error {
	if slices.Contains(l.seen, key) {
		return fmt.Errorf("the key %q stands twice", key)
	}
	want := keysIn[l.under]
	switch {
	case want == nil:
		return fmt.Errorf("the key %q stands too deep: want models, then tiers, then prices", key)
	case slices.Contains(want, key):
		return nil
	}
	if near := uzda.Nearest(key, want, 1); len(near) > 0 {
		return fmt.Errorf("unknown key %q; did you mean %q?", key, near[0])
	}
	return fmt.Errorf("unknown key %q; the keys here are %s", key, strings.Join(want, ", "))
}

// located adds the line to an error of encoding/json where it has an offset.
func located(name string, raw []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("read models %s: line %d: %w", name, line(raw, syntax.Offset), err)
	case errors.As(err, &kind):
		return fmt.Errorf("read models %s: line %d: %w", name, line(raw, kind.Offset), err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("read models %s: line %d: the file ends too early: %w", name, line(raw, int64(len(raw))), err)
	}
	return fmt.Errorf("read models %s: %w", name, err)
}

func line(raw []byte, offset int64) int {
	return 1 + bytes.Count(raw[:min(max(offset, 0), int64(len(raw)))], []byte("\n"))
}

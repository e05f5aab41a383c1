package cost

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// keysAt are the keys of each level of a price file: encoding/json would say
// that a key is unknown, but not where it stands.
var keysAt = [][]string{
	{"version", "models"},
	{"id", "aliases", "window", "max_output", "tiers"},
	{"above_tokens", "in", "out", "cache_read", "cache_write_5m", "cache_write_1h"},
}

// checkKeys finds keys that are unknown, or stand twice in one object.
func checkKeys(name string, raw []byte) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	type level struct {
		object bool
		key    bool // a key comes next
		seen   []string
	}
	var open []level
	objects := 0
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
			if err := knownKey(s, objects, open[top].seen); err != nil {
				return fmt.Errorf("read prices %s: line %d: %w", name, line(raw, dec.InputOffset()), err)
			}
			open[top].seen, open[top].key = append(open[top].seen, s), false
			continue
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			open = append(open, level{object: tok == json.Delim('{'), key: tok == json.Delim('{')})
			if tok == json.Delim('{') {
				objects++
			}
			continue
		case json.Delim('}'):
			objects--
			open = open[:top]
		case json.Delim(']'):
			open = open[:top]
		}
		if top = len(open) - 1; top >= 0 && open[top].object {
			open[top].key = true
		}
	}
}

func knownKey(key string, depth int, seen []string) error {
	if slices.Contains(seen, key) {
		return fmt.Errorf("the key %q stands twice", key)
	}
	if depth > len(keysAt) {
		return fmt.Errorf("the key %q stands too deep: want models, then tiers, then prices", key)
	}
	if want := keysAt[depth-1]; !slices.Contains(want, key) {
		return fmt.Errorf("unknown key %q; the keys here are %s", key, strings.Join(want, ", "))
	}
	return nil
}

// located adds the line to an error of encoding/json where it has an offset.
func located(name string, raw []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("read prices %s: line %d: %w", name, line(raw, syntax.Offset), err)
	case errors.As(err, &kind):
		return fmt.Errorf("read prices %s: line %d: %w", name, line(raw, kind.Offset), err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("read prices %s: line %d: the file ends too early: %w", name, line(raw, int64(len(raw))), err)
	}
	return fmt.Errorf("read prices %s: %w", name, err)
}

func line(raw []byte, offset int64) int {
	return 1 + bytes.Count(raw[:min(max(offset, 0), int64(len(raw)))], []byte("\n"))
}

package script

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
)

// filePrefix begins the id of a model that was read from a file.
const filePrefix = "script:"

// Load reads a script from a file, JSON or YAML; its id is "script:" and the path.
func Load(path string) (Model, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Model{}, fmt.Errorf("read script: %w", err)
	}
	m, err := Parse(path, data)
	m.Name = filePrefix + path
	return m, err
}

// Parse reads a script, JSON or YAML. The name stands in the model's id and in
// front of errors, which give the line and the column.
func Parse(name string, data []byte) (Model, error) {
	m := Model{Name: name}
	n, err := parse(data)
	if err == nil {
		err = m.read(n)
	}
	if err == nil && len(m.Turns) == 0 && len(m.Agents) == 0 {
		err = &fault{n.at, `there are no turns; write {"turns":[{"text":"hello"}]}`}
	}
	if f := (*fault)(nil); errors.As(err, &f) {
		return Model{}, fmt.Errorf("%s:%d:%d: %s", name, f.at.line, f.at.col, f.what)
	}
	return m, err
}

// A field is a key of an object and what takes its value.
type field struct {
	key string
	set func(n *node) error
}

// members gives the members of n to the fields. Null is as good as nothing.
func members(n *node, what string, fields ...field) error {
	if n.kind != isObject {
		return &fault{n.at, fmt.Sprintf("%s must be an object, not %s", what, n.kind)}
	}
	for i, k := range n.keys {
		at := slices.IndexFunc(fields, func(f field) bool { return f.key == k.name })
		if at < 0 {
			var known []string
			for _, f := range fields {
				known = append(known, f.key)
			}
			return &fault{k.at, fmt.Sprintf("%s has no key %q%s; its keys are %s", what, k.name, nearest(k.name, known), strings.Join(known, ", "))}
		}
		if n.vals[i].kind == isNull {
			continue
		}
		if err := fields[at].set(n.vals[i]); err != nil {
			return err
		}
	}
	return nil
}

func (m *Model) read(n *node) error {
	return members(n, "the script",
		field{"turns", turnsOf(&m.Turns)},
		field{"loop", boolOf(&m.Loop, "loop")},
		field{"agents", m.agents},
		field{"by_view", boolOf(&m.ByView, "by_view")},
		field{"window", intOf(&m.Window, "window")},
	)
}

func (m *Model) agents(n *node) error {
	if n.kind != isObject {
		return &fault{n.at, fmt.Sprintf("agents must be an object of names, not %s", n.kind)}
	}
	m.Agents = map[string]Agent{}
	for i, k := range n.keys {
		var a Agent
		err := members(n.vals[i], "agent "+k.name, field{"turns", turnsOf(&a.Turns)}, field{"loop", boolOf(&a.Loop, "loop")})
		if err != nil {
			return err
		}
		m.Agents[k.name] = a
	}
	return nil
}

func turnsOf(to *[]Turn) func(*node) error {
	return func(n *node) error {
		if n.kind != isList {
			return &fault{n.at, fmt.Sprintf("turns must be a list, not %s", n.kind)}
		}
		for i, v := range n.vals {
			var t Turn
			if err := t.read(v, fmt.Sprintf("turn %d", i+1)); err != nil {
				return err
			}
			*to = append(*to, t)
		}
		return nil
	}
}

func (t *Turn) read(n *node, what string) error {
	var delay float64
	err := members(n, what,
		field{"text", templateOf(&t.Text, "text")},
		field{"calls", t.calls},
		field{"stop", stringOf(&t.Stop, "stop")},
		field{"thinking", templateOf(&t.Thinking, "thinking")},
		field{"usage", t.usage},
		field{"error", t.failure},
		field{"delay_ms", func(n *node) error {
			ms, err := strconv.ParseFloat(n.text, 64)
			if n.kind != isNumber || err != nil || ms < 0 || ms > math.MaxInt32 {
				return &fault{n.at, fmt.Sprintf("delay_ms must be milliseconds, a number from 0 to %d", math.MaxInt32)}
			}
			delay = ms
			return nil
		}},
		field{"cut", boolOf(&t.Cut, "cut")},
	)
	t.Delay = time.Duration(delay * float64(time.Millisecond))
	return err
}

func (t *Turn) calls(n *node) error {
	if n.kind != isList {
		return &fault{n.at, fmt.Sprintf("calls must be a list, not %s", n.kind)}
	}
	for i, v := range n.vals {
		var c Call
		what := fmt.Sprintf("call %d", i+1)
		err := members(v, what, field{"name", stringOf(&c.Name, "name")}, field{"input", c.input}, field{"id", stringOf(&c.ID, "id")})
		if err != nil {
			return err
		}
		if c.Name == "" {
			return &fault{v.at, what + ` has no name; write {"name":"shell","input":{"command":"ls"}}`}
		}
		t.Calls = append(t.Calls, c)
	}
	return nil
}

func (c *Call) input(n *node) (err error) {
	if n.kind == isString {
		c.Input = n.text
	} else if c.Input, err = n.json(); err != nil {
		return err
	}
	var all func(n *node) error
	all = func(n *node) error {
		if n.kind == isString {
			if err := wellFormed(n.text); err != nil {
				return &fault{n.at, err.Error()}
			}
		}
		for _, v := range n.vals {
			if err := all(v); err != nil {
				return err
			}
		}
		return nil
	}
	return all(n)
}

func (t *Turn) usage(n *node) error {
	t.Usage = &uzda.Usage{}
	u := t.Usage
	return members(n, "usage",
		field{"input", intOf(&u.Input, "input")}, field{"input_tokens", intOf(&u.Input, "input_tokens")},
		field{"output", intOf(&u.Output, "output")}, field{"output_tokens", intOf(&u.Output, "output_tokens")},
		field{"cache_read", intOf(&u.CacheRead, "cache_read")}, field{"cache_read_tokens", intOf(&u.CacheRead, "cache_read_tokens")},
		field{"cache_write", intOf(&u.CacheWrite, "cache_write")}, field{"cache_write_tokens", intOf(&u.CacheWrite, "cache_write_tokens")},
		field{"cache_write_1h", intOf(&u.CacheLong, "cache_write_1h")},
	)
}

func stringOf(to *string, what string) func(*node) error {
	return func(n *node) error {
		if n.kind != isString {
			return &fault{n.at, fmt.Sprintf("%s must be a string, not %s; put it in quotes", what, n.kind)}
		}
		*to = n.text
		return nil
	}
}

func templateOf(to *string, what string) func(*node) error {
	return func(n *node) error {
		if err := stringOf(to, what)(n); err != nil {
			return err
		}
		if err := wellFormed(n.text); err != nil {
			return &fault{n.at, err.Error()}
		}
		return nil
	}
}

func boolOf(to *bool, what string) func(*node) error {
	return func(n *node) error {
		if n.kind != isBool {
			return &fault{n.at, fmt.Sprintf("%s must be true or false, not %s", what, n.kind)}
		}
		*to = n.text == "true"
		return nil
	}
}

func intOf(to *int, what string) func(*node) error {
	return func(n *node) error {
		v, err := strconv.Atoi(n.text)
		if n.kind != isNumber || err != nil || v < 0 {
			return &fault{n.at, fmt.Sprintf("%s must be a whole number from 0", what)}
		}
		*to = v
		return nil
	}
}

// nearest suggests the known word that is closest to one that is not known.
func nearest(word string, known []string) string {
	near := uzda.Nearest(word, known, 1)
	if len(near) == 0 {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", near[0])
}

package cost

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
)

// Replace returns a file of the table in which models are all that is said of
// their provider; old is the file as it was, nil if there is none. What it says
// of other providers stays.
func Replace(old []byte, s Source, models []*Model) ([]byte, error) {
	var f file
	if old != nil {
		var err error
		if f, err = readFile("of the last refresh", old); err != nil {
			return nil, err
		}
	}
	f.Read = append(slices.DeleteFunc(f.Read, func(o Source) bool { return o.Provider == s.Provider }), s)
	f.Models = slices.DeleteFunc(f.Models, func(r row) bool { return strings.HasPrefix(r.ID, s.Provider+"/") })
	for _, m := range models {
		if !strings.HasPrefix(m.ID, s.Provider+"/") {
			return nil, fmt.Errorf("model %s is none of %s", m.ID, s.Provider)
		}
		f.Models = append(f.Models, written(m))
	}
	slices.SortFunc(f.Read, func(a, b Source) int { return cmp.Compare(a.Provider, b.Provider) })
	slices.SortFunc(f.Models, func(a, b row) int { return cmp.Compare(a.ID, b.ID) })
	return f.encode()
}

// written is a model as it stands in a file: without what was derived.
func written(m *Model) row {
	r := row{Model: *m}
	r.Model.Tiers = nil
	for _, t := range m.Tiers {
		given := func(name string, v uzda.Money) *uzda.Money {
			if slices.Contains(t.Derived, name) {
				return nil
			}
			return &v
		}
		r.Tiers = append(r.Tiers, prices{t.Above, &t.Input, &t.Output, given("cache_read", t.CacheRead),
			given("cache_write_5m", t.CacheWrite), given("cache_write_1h", t.CacheLong)})
	}
	return r
}

// encode writes a line a model, so that people can read and compare the file.
func (f file) encode() ([]byte, error) {
	var b bytes.Buffer
	list := func(name string, n int, at func(int) any) error {
		fmt.Fprintf(&b, "  %q: [", name)
		for i := range n {
			raw, err := json.Marshal(at(i))
			if err != nil {
				return fmt.Errorf("write models: %w", err)
			}
			fmt.Fprintf(&b, "\n    %s", raw)
			if i < n-1 {
				b.WriteByte(',')
			}
		}
		b.WriteString("\n  ]")
		return nil
	}
	b.WriteString("{\n")
	if err := list("read", len(f.Read), func(i int) any { return f.Read[i] }); err != nil {
		return nil, err
	}
	b.WriteString(",\n")
	if err := list("models", len(f.Models), func(i int) any { return f.Models[i] }); err != nil {
		return nil, err
	}
	b.WriteString("\n}\n")
	return b.Bytes(), nil
}

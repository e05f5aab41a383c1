// Package cost prices what models used, from a table that is data, and reports
// what sessions cost from their journals.
package cost

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/uzda-dev/uzda"
)

//go:embed prices.json
var embedded []byte

// A Table holds the prices of models. It does not change; [Table.Override]
// makes another. Safe for concurrent use.
type Table struct {
	Version string // of the embedded prices, a date
	models  map[string]*Model
	names   map[string]string // of ids and aliases to ids
	dearest uzda.Price
}

var _ uzda.Pricer = (*Table)(nil)

// A Model is a row of the table.
type Model struct {
	ID        string   `json:"id"` // "provider/name"
	Aliases   []string `json:"aliases,omitempty"`
	Window    int      `json:"window,omitempty"`     // tokens; 0 is unknown
	MaxOutput int      `json:"max_output,omitempty"` // tokens; 0 is unknown
	Tiers     []Tier   `json:"tiers"`                // the first holds from 0 on
}

// A Tier is a price from a size of the context on. Derived names the fields that
// the source does not give: a cache write of five minutes is 1.25 times the
// input price, of an hour twice, a cache read a tenth.
type Tier struct {
	uzda.Price
	Derived []string `json:"derived,omitempty"`
}

// file is the form of a price file, and of a user's.
type file struct {
	Version string `json:"version"`
	Models  []struct {
		ID        string   `json:"id"`
		Aliases   []string `json:"aliases"`
		Window    int      `json:"window"`
		MaxOutput int      `json:"max_output"`
		Tiers     []struct {
			Above     int         `json:"above_tokens"`
			Input     *uzda.Money `json:"in"`
			Output    *uzda.Money `json:"out"`
			CacheRead *uzda.Money `json:"cache_read"`
			Write     *uzda.Money `json:"cache_write_5m"`
			Long      *uzda.Money `json:"cache_write_1h"`
		} `json:"tiers"`
	} `json:"models"`
}

var standard = sync.OnceValue(func() *Table {
	t, err := Load("prices.json", embedded)
	if err != nil {
		panic(err) // the embedded file is wrong: any run of any test finds it
	}
	return t
})

// Default returns the table of the prices that this program was built with.
func Default() *Table { return standard() }

// Load reads a price file; name is for errors. Prices are dollars per million
// tokens. A key that is not known is an error with its line.
func Load(name string, raw []byte) (*Table, error) {
	return (&Table{}).Override(name, raw)
}

// Override returns t with the models of a file of the same form: one with an id
// that t has replaces it whole, others join, and a name that the file gives
// to a model is that model's.
func (t *Table) Override(name string, raw []byte) (*Table, error) {
	if err := checkKeys(name, raw); err != nil {
		return nil, err
	}
	var f file
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, located(name, raw, err)
	}
	models, err := f.rows()
	if err != nil {
		return nil, fmt.Errorf("read prices %s: %w", name, err)
	}
	out := &Table{Version: t.Version, models: maps.Clone(t.models), names: maps.Clone(t.names)}
	if f.Version != "" {
		out.Version = f.Version
	}
	if out.models == nil {
		out.models, out.names = map[string]*Model{}, map[string]string{}
	}
	for _, m := range models {
		if old := out.models[m.ID]; old != nil {
			maps.DeleteFunc(out.names, func(_, id string) bool { return id == m.ID })
		}
		out.models[m.ID] = m
		for _, n := range append([]string{m.ID}, m.Aliases...) {
			out.names[n] = m.ID
		}
	}
	for _, m := range out.models {
		for _, tier := range m.Tiers {
			out.dearest = dearer(out.dearest, tier.Price)
		}
	}
	return out, nil
}

func (f file) rows() ([]*Model, error) {
	var out []*Model
	seen := map[string]bool{}
	for i, m := range f.Models {
		if m.ID == "" {
			return nil, fmt.Errorf("model %d has no id; give it one such as \"provider/name\"", i+1)
		}
		for _, n := range append([]string{m.ID}, m.Aliases...) {
			if seen[n] {
				return nil, fmt.Errorf("model %s: the name %q stands twice; each name belongs to one model", m.ID, n)
			}
			seen[n] = true
		}
		row := &Model{ID: m.ID, Aliases: m.Aliases, Window: m.Window, MaxOutput: m.MaxOutput}
		for j, w := range m.Tiers {
			if w.Input == nil || w.Output == nil {
				return nil, fmt.Errorf("model %s: tier %d lacks \"in\" or \"out\"", m.ID, j+1)
			}
			if j == 0 && w.Above != 0 || j > 0 && w.Above <= m.Tiers[j-1].Above {
				return nil, fmt.Errorf("model %s: above_tokens of the tiers must begin with 0 and rise", m.ID)
			}
			tier := Tier{Price: uzda.Price{Above: w.Above, Input: *w.Input, Output: *w.Output}}
			tier.derive(&tier.CacheRead, w.CacheRead, "cache_read", tier.Input/10)
			tier.derive(&tier.CacheWrite, w.Write, "cache_write_5m", tier.Input/4*5)
			tier.derive(&tier.CacheLong, w.Long, "cache_write_1h", tier.Input*2)
			p := tier.Price
			if min(p.Input, p.Output, p.CacheRead, p.CacheWrite, p.CacheLong) < 0 {
				return nil, fmt.Errorf("model %s: tier %d has a negative price", m.ID, j+1)
			}
			row.Tiers = append(row.Tiers, tier)
		}
		if len(row.Tiers) == 0 {
			return nil, fmt.Errorf("model %s: no tiers; give at least {\"in\": …, \"out\": …}", m.ID)
		}
		out = append(out, row)
	}
	if len(out) == 0 {
		return nil, errors.New("no models: want {\"version\": …, \"models\": [{\"id\": …, \"tiers\": [{\"in\": …, \"out\": …}]}]}")
	}
	return out, nil
}

// derive takes a price from the file, or else from the input price.
func (t *Tier) derive(to, given *uzda.Money, name string, otherwise uzda.Money) {
	if given != nil {
		*to = *given
		return
	}
	*to, t.Derived = otherwise, append(t.Derived, name)
}

// dearer takes the higher of each part: no known model costs more in any.
func dearer(a, b uzda.Price) uzda.Price {
	return uzda.Price{
		Input: max(a.Input, b.Input), Output: max(a.Output, b.Output), CacheRead: max(a.CacheRead, b.CacheRead),
		CacheWrite: max(a.CacheWrite, b.CacheWrite), CacheLong: max(a.CacheLong, b.CacheLong),
	}
}

// Price returns what a model costs at a size of the context in tokens. A model
// that the table lacks gets the highest of each part of all prices, and false.
func (t *Table) Price(model string, context int) (uzda.Price, bool) {
	m := t.Model(model)
	if m == nil {
		return t.dearest, false
	}
	p := m.Tiers[0].Price
	for _, tier := range m.Tiers[1:] {
		if context > tier.Above {
			p = tier.Price
		}
	}
	return p, true
}

// Model returns a row by its id or one of its aliases, nil if there is none. It
// is not to be changed.
func (t *Table) Model(name string) *Model { return t.models[t.names[name]] }

// Info describes a model as far as the table knows it.
func (t *Table) Info(name string) (uzda.ModelInfo, bool) {
	m := t.Model(name)
	if m == nil {
		return uzda.ModelInfo{ID: name}, false
	}
	return uzda.ModelInfo{ID: m.ID, Window: m.Window, MaxOutput: m.MaxOutput}, true
}

// IDs returns the ids of all models, sorted.
func (t *Table) IDs() []string { return slices.Sorted(maps.Keys(t.models)) }

// Package cost prices what models used, from a table that is data, and reports
// what sessions cost from their journals.
package cost

import (
	_ "embed"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/uzda-dev/uzda"
)

//go:embed models.json
var embedded []byte

// A Table holds what is known of providers and their models: prices, windows,
// what each can. It does not change; [Table.Override] makes another. Safe for
// concurrent use.
type Table struct {
	Version   string // of the embedded file, a date
	providers []*Provider
	models    map[string]*Model
	names     map[string]string // of ids and aliases to ids
	read      []Source
	dearest   uzda.Price
}

var _ uzda.Pricer = (*Table)(nil)

// A Provider is a service, or a program that serves models.
type Provider struct {
	ID      string   `json:"id"` // before the first slash of a model's id
	Name    string   `json:"name,omitempty"`
	Default string   `json:"default,omitempty"` // id of its model, without the provider, for somebody who names none
	Free    bool     `json:"free,omitempty"`    // it runs on one's own machines: a model without a price costs nothing
	Dated   bool     `json:"dated,omitempty"`   // ID-YYYYMMDD is a snapshot of ID, at its price
	Efforts []string `json:"efforts,omitempty"` // the words that its interface has for how much a model thinks
}

// What a model can, in [Model.Can].
const (
	Tools    = "tools"
	Thinking = "thinking"
	Effort   = "effort" // how much it thinks can be set
	Schema   = "schema" // it holds its answer to a JSON Schema
	Images   = "images"
	PDF      = "pdf"
	Audio    = "audio"
	Caching  = "cache" // a prompt's beginning that was sent before costs less
)

// Abilities are the words of [Model.Can], in the order in which they are shown.
func Abilities() []string {
	return []string{Tools, Thinking, Effort, Schema, Images, PDF, Audio, Caching}
}

// A Model is a row of the table. Zero means unknown.
type Model struct {
	ID        string   `json:"id"` // "provider/name"
	Aliases   []string `json:"aliases,omitempty"`
	Window    int      `json:"window,omitempty"`     // tokens
	MaxOutput int      `json:"max_output,omitempty"` // tokens
	Can       []string `json:"can,omitzero"`         // nil: not known; else all that it can
	Efforts   []string `json:"efforts,omitempty"`    // the provider's words that this model takes
	Effort    string   `json:"effort,omitempty"`     // the one that it has without a word
	Retires   string   `json:"retires,omitempty"`    // date on which its provider takes it away
	Paid      bool     `json:"paid,omitempty"`       // it costs something, although its provider is free: it runs elsewhere
	Tiers     []Tier   `json:"tiers,omitempty"`      // the first holds from 0 on; none: no price is known
}

// Lacks says whether it is known that the model cannot do something.
func (m *Model) Lacks(ability string) bool {
	return m != nil && m.Can != nil && !slices.Contains(m.Can, ability)
}

// Provider is the part of the id before the first slash.
func (m *Model) Provider() string { return providerOf(m.ID) }

func providerOf(id string) string {
	before, _, _ := strings.Cut(id, "/")
	return before
}

// A Tier is a price from a size of the context on. Derived names the fields that
// the source does not give: a cache write of five minutes is 1.25 times the
// input price, of an hour twice, a cache read a tenth.
type Tier struct {
	uzda.Price
	Derived []string `json:"derived,omitempty"`
}

// A Source says what a provider was asked, and when.
type Source struct {
	Provider string `json:"provider"`
	At       string `json:"at"`   // RFC 3339
	From     string `json:"from"` // URL
}

var standard = sync.OnceValue(func() *Table {
	t, err := Load("models.json", embedded)
	if err != nil {
		panic(err) // the embedded file is wrong: any run of any test finds it
	}
	return t
})

// Default returns the table that this program was built with.
func Default() *Table { return standard() }

// Price returns what a model costs at a size of the context in tokens. One of a
// provider that is free costs nothing, unless it has a price. A model whose price
// is not known gets the highest of each part of all prices, and false.
func (t *Table) Price(model string, context int) (uzda.Price, bool) {
	m := t.Model(model)
	if m == nil || len(m.Tiers) == 0 {
		if t.Free(model) {
			return uzda.Price{}, true
		}
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

// Free says whether a model costs nothing: it is scripted or replayed, or its
// provider is free and nobody gave it a price.
func (t *Table) Free(model string) bool {
	if strings.HasPrefix(model, "script:") || strings.HasPrefix(model, "replay:") {
		return true
	}
	if m := t.Model(model); m != nil && (len(m.Tiers) > 0 || m.Paid) {
		return false
	}
	p := t.Provider(providerOf(model))
	return p != nil && p.Free
}

// date ends the id of a snapshot.
var date = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`-20[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])$`)
})

// Model returns a row by its id, by one of its aliases or, where the provider
// names snapshots so, by one with a date at its end; nil if there is none. It is
// not to be changed.
func (t *Table) Model(name string) *Model {
	if id, ok := t.names[name]; ok {
		return t.models[id]
	}
	family := date().ReplaceAllString(name, "")
	m := t.models[t.names[family]]
	if m == nil || family == name {
		return nil
	}
	if p := t.Provider(m.Provider()); p == nil || !p.Dated {
		return nil
	}
	return m
}

// Info describes a model as far as the table knows it.
func (t *Table) Info(name string) (uzda.ModelInfo, bool) {
	m := t.Model(name)
	if m == nil {
		return uzda.ModelInfo{ID: name, Free: t.Free(name)}, false
	}
	return uzda.ModelInfo{ID: m.ID, Window: m.Window, MaxOutput: m.MaxOutput, Free: t.Free(m.ID)}, true
}

// IDs returns the ids of all models, sorted.
func (t *Table) IDs() []string { return slices.Sorted(maps.Keys(t.models)) }

// Providers returns the providers in the order in which they are preferred. They
// are not to be changed.
func (t *Table) Providers() []*Provider { return t.providers }

// Provider returns a provider by its id, nil if there is none.
func (t *Table) Provider(id string) *Provider {
	if i := slices.IndexFunc(t.providers, func(p *Provider) bool { return p.ID == id }); i >= 0 {
		return t.providers[i]
	}
	return nil
}

// Sources returns which providers were asked, and when.
func (t *Table) Sources() []Source { return t.read }

// Efforts returns the words that a model takes for how much it thinks; none if
// they are not known.
func (t *Table) Efforts(name string) []string {
	if m := t.Model(name); m != nil {
		if len(m.Efforts) > 0 {
			return m.Efforts
		}
		name = m.ID
	}
	if p := t.Provider(providerOf(name)); p != nil {
		return p.Efforts
	}
	return nil
}

// Near is the model of a provider whose id is nearest to one that it does not have;
// "" if none is near, or the table knows the id.
func (t *Table) Near(provider, id string) string {
	var ids []string
	for _, full := range slices.Backward(t.IDs()) { // of those that are as near, the newest
		if t.models[full].Provider() == provider {
			if full == provider+"/"+id {
				return ""
			}
			ids = append(ids, full)
		}
	}
	if near := uzda.Nearest(provider+"/"+id, ids, 1); len(near) > 0 {
		return near[0]
	}
	return ""
}

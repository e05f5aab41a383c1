package cost

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
)

// file is the form of the table as a file: the embedded one, that of what
// providers said, and a user's.
type file struct {
	Version   string     `json:"version,omitempty"`
	Sources   []string   `json:"sources,omitempty"` // for people: where the values are from
	Read      []Source   `json:"read,omitempty"`
	Providers []Provider `json:"providers,omitempty"`
	Models    []row      `json:"models"`
}

type row struct {
	Model
	Tiers []prices `json:"tiers,omitempty"`
}

// prices are a tier as it is written: dollars per million tokens, each as given.
type prices struct {
	Above     int         `json:"above_tokens"`
	Input     *uzda.Money `json:"in"`
	Output    *uzda.Money `json:"out"`
	CacheRead *uzda.Money `json:"cache_read,omitempty"`
	Write     *uzda.Money `json:"cache_write_5m,omitempty"`
	Long      *uzda.Money `json:"cache_write_1h,omitempty"`
}

// maxTokens bounds windows and replies: what is larger is a slip.
const maxTokens = 1 << 30

// Load reads a table; name is for errors. Prices are dollars per million tokens.
// A key that is not known is an error with its line.
func Load(name string, raw []byte) (*Table, error) {
	return (&Table{}).Override(name, raw)
}

// Override returns t with a file of the same form laid over it: what the file
// says of a model or provider that t has replaces that part and nothing else,
// tiers as a whole; others join. A name that the file gives to a model is that
// model's.
func (t *Table) Override(name string, raw []byte) (*Table, error) {
	f, err := readFile(name, raw)
	if err != nil {
		return nil, err
	}
	models, err := f.rows()
	if err != nil {
		return nil, fmt.Errorf("read models %s: %w", name, err)
	}
	out := &Table{Version: t.Version, models: maps.Clone(t.models), names: maps.Clone(t.names),
		providers: slices.Clone(t.providers), read: slices.Clone(t.read)}
	if f.Version != "" {
		out.Version = f.Version
	}
	if out.models == nil {
		out.models, out.names = map[string]*Model{}, map[string]string{}
	}
	for _, p := range f.Providers {
		out.provider(p)
	}
	for _, s := range f.Read {
		out.read = append(slices.DeleteFunc(out.read, func(o Source) bool { return o.Provider == s.Provider }), s)
	}
	for _, m := range models {
		out.put(m)
	}
	for _, m := range out.models {
		for _, tier := range m.Tiers {
			out.dearest = dearer(out.dearest, tier.Price)
		}
	}
	return out, nil
}

func readFile(name string, raw []byte) (file, error) {
	var f file
	if err := checkKeys(name, raw); err != nil {
		return f, err
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return f, located(name, raw, err)
	}
	return f, nil
}

// put lays a row over the one with its id, or with its id as an alias. A snapshot
// that gets a row of its own begins with what its model has.
func (t *Table) put(m *Model) {
	names := append([]string{m.ID}, m.Aliases...)
	if old := t.models[m.ID]; old != nil {
		m = old.under(m)
	} else if old = t.models[t.names[m.ID]]; old != nil {
		m = old.under(m)
	} else if family := t.Model(m.ID); family != nil {
		snapshot := family.under(m)
		snapshot.ID, snapshot.Aliases = m.ID, m.Aliases
		m = snapshot
	}
	t.models[m.ID] = m
	for _, n := range append(names, m.ID) {
		t.names[n] = m.ID
	}
}

// under returns a model with what another row says of it.
func (m *Model) under(n *Model) *Model {
	out := *m
	for _, a := range n.Aliases {
		if !slices.Contains(out.Aliases, a) {
			out.Aliases = append(out.Aliases[:len(out.Aliases):len(out.Aliases)], a)
		}
	}
	set(&out.Window, n.Window)
	set(&out.MaxOutput, n.MaxOutput)
	set(&out.Effort, n.Effort)
	set(&out.Retires, n.Retires)
	set(&out.Paid, n.Paid)
	if n.Can != nil {
		out.Can = n.Can
	}
	if n.Efforts != nil {
		out.Efforts = n.Efforts
	}
	if n.Tiers != nil {
		out.Tiers = n.Tiers
	}
	return &out
}

func set[T comparable](to *T, v T) {
	var zero T
	if v != zero {
		*to = v
	}
}

func (t *Table) provider(p Provider) {
	i := slices.IndexFunc(t.providers, func(o *Provider) bool { return o.ID == p.ID })
	if i < 0 {
		t.providers = append(t.providers, &p)
		return
	}
	old := *t.providers[i]
	set(&old.Name, p.Name)
	set(&old.Default, p.Default)
	set(&old.Free, p.Free)
	set(&old.Dated, p.Dated)
	if p.Efforts != nil {
		old.Efforts = p.Efforts
	}
	t.providers[i] = &old
}

func (f file) rows() ([]*Model, error) {
	for i, p := range f.Providers {
		if p.ID == "" || strings.ContainsAny(p.ID, "/:") {
			return nil, fmt.Errorf("provider %d has the id %q; want the word before the slash of its models", i+1, p.ID)
		}
	}
	var out []*Model
	seen := map[string]bool{}
	for i, r := range f.Models {
		if r.ID == "" {
			return nil, fmt.Errorf("model %d has no id; give it one such as \"provider/name\"", i+1)
		}
		for _, n := range append([]string{r.ID}, r.Aliases...) {
			if seen[n] {
				return nil, fmt.Errorf("model %s: the name %q stands twice; each name belongs to one model", r.ID, n)
			}
			seen[n] = true
		}
		m, err := r.model()
		if err != nil {
			return nil, fmt.Errorf("model %s: %w", r.ID, err)
		}
		out = append(out, m)
	}
	if len(out)+len(f.Providers)+len(f.Read) == 0 {
		return nil, errors.New("no models: want {\"version\": …, \"models\": [{\"id\": …, \"tiers\": [{\"in\": …, \"out\": …}]}]}")
	}
	return out, nil
}

func (r row) model() (*Model, error) {
	m := r.Model
	for _, n := range []struct {
		name string
		n    int
	}{{"window", m.Window}, {"max_output", m.MaxOutput}} {
		if n.n < 0 || n.n > maxTokens {
			return nil, fmt.Errorf("%s is %d; want tokens, from 1 to %d", n.name, n.n, maxTokens)
		}
	}
	for _, c := range m.Can {
		if !slices.Contains(Abilities(), c) {
			return nil, fmt.Errorf("it cannot %q; the words are %s", c, strings.Join(Abilities(), ", "))
		}
	}
	if m.Retires != "" {
		if _, err := time.Parse(time.DateOnly, m.Retires); err != nil {
			return nil, fmt.Errorf("retires is %q; want a date such as 2027-01-31", m.Retires)
		}
	}
	for j, w := range r.Tiers {
		if w.Input == nil || w.Output == nil {
			return nil, fmt.Errorf("tier %d lacks \"in\" or \"out\"", j+1)
		}
		if j == 0 && w.Above != 0 || j > 0 && w.Above <= r.Tiers[j-1].Above {
			return nil, errors.New("above_tokens of the tiers must begin with 0 and rise")
		}
		tier := w.tier()
		if p := tier.Price; min(p.Input, p.Output, p.CacheRead, p.CacheWrite, p.CacheLong) < 0 {
			return nil, fmt.Errorf("tier %d has a negative price", j+1)
		}
		m.Tiers = append(m.Tiers, tier)
	}
	return &m, nil
}

func (w prices) tier() Tier {
	t := Tier{Price: uzda.Price{Above: w.Above, Input: *w.Input, Output: *w.Output}}
	t.derive(&t.CacheRead, w.CacheRead, "cache_read", t.Input/10)
	t.derive(&t.CacheWrite, w.Write, "cache_write_5m", t.Input/4*5)
	t.derive(&t.CacheLong, w.Long, "cache_write_1h", t.Input*2)
	return t
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

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/cmd/uzda/config"
	"github.com/uzda-dev/uzda/cost"
)

func (a *app) modelsCommand() *cobra.Command {
	refresh := false
	c := &cobra.Command{Use: "models [PROVIDER]", Short: "the models that are known: windows, prices, what each can",
		Long: `Models lists what is known of models: window, longest reply, prices in dollars
per million tokens, what each can, and whether it can be reached. Local servers
that answer are asked what they have.

The built-in table is data, with a date. --refresh asks the providers whose keys
are set, or the one that is named, and keeps what they say in the data folder.
That is stronger than the table; the file that "prices" names in uzda.yaml is
stronger than both, and what stands under models there than all.`,
		Example: "  uzda models anthropic\n  uzda models --refresh openrouter",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("models takes one provider; got %q", args)
			}
			return nil
		}}
	c.Flags().BoolVar(&refresh, "refresh", false, "ask providers what they have, and keep it")
	c.RunE = func(c *cobra.Command, args []string) error {
		cfg, err := a.config(c)
		if err != nil {
			return err
		}
		w := &work{app: a, cfg: cfg}
		defer w.close()
		if w.prices, err = w.table(); err != nil {
			return err
		}
		only := ""
		if len(args) > 0 {
			if only, err = w.providerNamed(args[0]); err != nil {
				return err
			}
		}
		if refresh {
			if err := w.refresh(c.Context(), only); err != nil {
				return err
			}
		}
		groups := w.catalog(c.Context(), only)
		if w.json() {
			writeJSON(a.out, rowsOf(groups))
			return nil
		}
		w.printCatalog(groups, only)
		return nil
	}
	return flags(c, lookFlags...)
}

// providerNamed finds a provider by what a person types.
func (w *work) providerNamed(name string) (string, error) {
	var known []string
	for _, p := range w.prices.Providers() {
		known = append(known, p.ID)
		if strings.EqualFold(p.ID, name) || strings.EqualFold(p.Name, name) {
			return p.ID, nil
		}
	}
	hint := "providers are " + strings.Join(known, ", ")
	if near := uzda.Nearest(name, known, 1); len(near) > 0 {
		hint = "did you mean " + near[0] + "? " + hint
	}
	return "", fail(uzda.ConfigError, hint, "models: there is no provider %q", name)
}

// A group is a provider with its models, as they are listed.
type group struct {
	*cost.Provider
	why  string // it cannot be reached; "" if it can
	how  string // how it can be
	rows []modelJSON
}

// modelJSON is a row of `uzda models --output-format json`.
type modelJSON struct {
	uzda.ModelInfo
	Provider  string       `json:"provider"`
	Default   bool         `json:"default"`
	Reachable bool         `json:"reachable"`
	Why       string       `json:"why,omitempty"` // it is not
	Can       []string     `json:"can"`           // null: not known
	Efforts   []string     `json:"efforts,omitempty"`
	Effort    string       `json:"effort,omitempty"`
	Retires   string       `json:"retires,omitempty"`
	Prices    []uzda.Price `json:"prices_per_million"` // none: not known
	Names     []string     `json:"names,omitempty"`    // that the settings give it
}

// catalog lists providers with their models; only is one of them, or all.
func (w *work) catalog(ctx context.Context, only string) []group {
	local := map[string]server{}
	if p := w.prices.Provider(only); only == "" || p.Free {
		for i, s := range w.servers(ctx) {
			local[locals[i]] = s
		}
	}
	var out []group
	for _, p := range w.prices.Providers() {
		if only != "" && p.ID != only {
			continue
		}
		g := group{Provider: p}
		s, isLocal := local[p.ID]
		switch {
		case isLocal && s.err != nil:
			g.why = s.reason()
			if only != "" {
				_, g.why, _ = trouble(s.err)
			}
		case isLocal:
			g.how = "answers at " + shownURL(s.base)
		case slices.Contains(config.Services(), p.ID):
			profile := profileOf(p.ID)
			if g.why = w.unset(profile); g.why == "" {
				variable, _ := w.firstSet(profile.KeyVars)
				g.how = variable + " is set"
			}
		default:
			g.why = "give its models names under models in uzda.yaml, with profile and base"
		}
		g.rows = w.rows(g, s.models)
		out = append(out, g)
	}
	return append(out, w.ownServices(only)...)
}

// ownServices are the services that only the settings know, with the models that
// have names there.
func (w *work) ownServices(only string) []group {
	var out []group
	for _, name := range slices.Sorted(maps.Keys(w.cfg.Models)) {
		t, err := w.target(name, "")
		if only != "" || err != nil || t.service == "" || w.prices.Provider(t.provider) != nil {
			continue
		}
		i := slices.IndexFunc(out, func(g group) bool { return g.ID == t.provider })
		if i >= 0 {
			continue
		}
		g := group{Provider: &cost.Provider{ID: t.provider, Name: t.provider}, how: "by the settings"}
		if _, err := w.build(t); err != nil {
			g.why = detail(err)
		}
		g.rows = w.rows(g, nil)
		out = append(out, g)
	}
	return out
}

// rows are the models of a provider: those of the table, and those that a local
// server has.
func (w *work) rows(g group, served []*cost.Model) []modelJSON {
	byID := map[string]*cost.Model{}
	for _, id := range w.prices.IDs() {
		if m := w.prices.Model(id); m.Provider() == g.ID {
			byID[id] = m
		}
	}
	for _, m := range served {
		if own := byID[m.ID]; own != nil { // of the user's file
			row := *m
			row.Window, row.MaxOutput, row.Tiers = cmp.Or(own.Window, m.Window), own.MaxOutput, own.Tiers
			m = &row
		}
		byID[m.ID] = m
	}
	names := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(w.cfg.Models)) {
		if t, err := w.target(name, ""); err == nil && t.provider == g.ID {
			names[t.ID] = append(names[t.ID], name)
			if byID[t.ID] == nil && t.ID != "" {
				byID[t.ID] = &cost.Model{ID: t.ID, Window: t.Window, MaxOutput: t.MaxOutput}
			}
		}
	}
	rows := []modelJSON{}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		m := byID[id]
		r := modelJSON{ModelInfo: uzda.ModelInfo{ID: id, Window: m.Window, MaxOutput: m.MaxOutput, Free: w.prices.Free(id) && !m.Paid},
			Provider: g.ID, Default: g.Default != "" && id == g.ID+"/"+g.Default, Reachable: g.why == "", Why: g.why,
			Can: m.Can, Efforts: m.Efforts, Effort: m.Effort, Retires: m.Retires, Prices: []uzda.Price{}, Names: names[id]}
		for _, t := range m.Tiers {
			r.Prices = append(r.Prices, t.Price)
		}
		rows = append(rows, r)
	}
	slices.SortStableFunc(rows, func(a, b modelJSON) int { // the default first
		switch {
		case a.Default == b.Default:
			return 0
		case a.Default:
			return -1
		}
		return 1
	})
	return rows
}

func rowsOf(groups []group) []modelJSON {
	rows := []modelJSON{}
	for _, g := range groups {
		rows = append(rows, g.rows...)
	}
	return rows
}

// mostShown is how many models of a provider are shown beside those of others.
const mostShown = 25

func (w *work) printCatalog(groups []group, only string) {
	for _, g := range groups {
		state := g.how
		if g.why != "" {
			state = "not reachable: " + g.why
		}
		fmt.Fprintf(w.out, "%s (%s) · %s\n", g.Name, g.ID, state)
		rows, left := g.rows, 0
		if only == "" && len(rows) > mostShown {
			rows, left = rows[:mostShown], len(rows)-mostShown
		}
		printRows(w.out, g, rows)
		if left > 0 {
			fmt.Fprintf(w.out, "  … and %s more: uzda models %s\n", thousands(left), g.ID)
		}
		fmt.Fprintln(w.out)
	}
	w.printNames(only)
	fmt.Fprintf(w.out, "* the provider's default. Prices: dollars per million tokens; ? is not known.\nCan: %s.\n", legend)
	fmt.Fprintf(w.out, "Built-in table of %s", w.prices.Version)
	for _, s := range w.prices.Sources() {
		at, err := time.Parse(time.RFC3339, s.At)
		if err == nil && (only == "" || s.Provider == only) {
			fmt.Fprintf(w.out, "; %s asked on %s", s.Provider, at.Format(time.DateOnly))
		}
	}
	fmt.Fprintln(w.out, ". `uzda models --refresh` asks the providers.")
}

// printNames lists the models that the settings name.
func (w *work) printNames(only string) {
	some := false
	for _, name := range slices.Sorted(maps.Keys(w.cfg.Models)) {
		t, err := w.target(name, "")
		if only != "" && t.provider != only {
			continue
		}
		state := ""
		if err != nil {
			state = ": " + detail(err)
		} else if _, err := w.build(t); err != nil {
			state = ": " + detail(err)
		}
		fmt.Fprintf(w.out, "%s = %s  (%s)%s\n", name, safe(w.cfg.Models[name].ID), w.cfg.Origin("models."+name+".id"), state)
		some = true
	}
	if some {
		fmt.Fprintln(w.out)
	}
}

// letters stand for what a model can, in the order of [cost.Abilities].
const (
	letters = "tkesipac"
	legend  = "t tools, k thinking, e effort, s schema, i images, p PDF, a audio, c cache"
)

func canShown(m modelJSON) string {
	if m.Can == nil {
		return "?"
	}
	out := ""
	for i, a := range cost.Abilities() {
		if slices.Contains(m.Can, a) {
			out += letters[i : i+1]
		} else {
			out += "-"
		}
	}
	return out
}

func printRows(out io.Writer, g group, rows []modelJSON) {
	if len(rows) == 0 {
		return
	}
	const least, most = 22, 34
	width := least
	for _, r := range rows {
		width = max(width, min(most, uzda.Columns(nameShown(g, r))))
	}
	line := func(name string, cells ...string) {
		text := "  " + name + strings.Repeat(" ", max(0, width-uzda.Columns(name)))
		for i, c := range cells[:len(cells)-1] {
			text += fmt.Sprintf(" %*s", []int{6, 6, 5, 5, 5, 5}[i], c)
		}
		fmt.Fprintln(out, strings.TrimRight(text+"  "+cells[len(cells)-1], " "))
	}
	line("", "window", "reply", "in", "out", "read", "write", "can")
	for _, r := range rows {
		cells := []string{tokensShown(r.Window), tokensShown(r.MaxOutput)}
		switch {
		case len(r.Prices) > 0:
			cells = append(cells, pricesShown(r.Prices[0])...)
		case r.Free:
			cells = append(cells, "free", "", "", "")
		default:
			cells = append(cells, "?", "?", "?", "?")
		}
		line(nameShown(g, r), append(cells, canShown(r))...)
		for _, p := range r.Prices[min(1, len(r.Prices)):] {
			line("  above "+tokensShown(p.Above), append(append([]string{"", ""}, pricesShown(p)...), "")...)
		}
		if r.Retires != "" {
			fmt.Fprintf(out, "      is taken away on %s\n", r.Retires)
		}
	}
}

func nameShown(g group, r modelJSON) string {
	name := safe(strings.TrimPrefix(r.ID, g.ID+"/"))
	if r.Default {
		name += " *"
	}
	return name
}

func pricesShown(p uzda.Price) []string {
	var out []string
	for _, m := range []uzda.Money{p.Input, p.Output, p.CacheRead, p.CacheWrite} {
		out = append(out, strings.TrimPrefix(m.String(), "$"))
	}
	return out
}

// tokensShown writes a number of tokens in at most six columns.
func tokensShown(n int) string {
	switch {
	case n == 0:
		return "?"
	case n < 10_000:
		return thousands(n)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", float64(n)/1e6), "0"), ".") + "M"
}

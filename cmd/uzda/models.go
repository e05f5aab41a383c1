package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/script"
)

// providers are the names before the slash that people know. They answer from a
// later version on; this one says so instead of guessing.
var providers = []string{"anthropic", "openai", "responses", "gemini", "ollama", "llama"}

// model finds the model that answers: that of the flag, that which the session
// had, that of the settings, the agent's own.
func (w *work) model(ofAgent, ofSession string) (uzda.Model, uzda.Params, error) {
	name, origin := w.cfg.Model, w.cfg.Origin("model")
	chosen := strings.HasPrefix(origin, "flag ")
	if name == "" {
		name, origin = ofAgent, "the agent's file"
	}
	var params uzda.Params
	if m, ok := w.cfg.Models[name]; ok {
		params = m.Params
		name, origin = m.ID, w.cfg.Origin("models."+name+".id")
	}
	if !chosen && name != ofSession && strings.HasPrefix(ofSession, "script:") {
		name, origin, params = ofSession, "of the session", uzda.Params{}
	}
	if name == "" {
		return nil, params, w.noModel()
	}
	if path, ok := strings.CutPrefix(name, "script:"); ok {
		if !isFile(path) {
			return nil, params, fail(uzda.ConfigError, "check the path, or name another model by --model", "model (%s): there is no file %q", origin, path)
		}
		m, err := script.Load(path)
		if err != nil {
			return nil, params, fail(uzda.ConfigError, "its form is in docs/scripted-models.md", "model (%s): %v", origin, err)
		}
		return m, params, nil
	}
	if strings.HasPrefix(name, "replay:") {
		return nil, params, fail(uzda.ConfigError, "use --model script:FILE", "model (%s): recorded models cannot be replayed by this version yet", origin)
	}
	before, _, ok := strings.Cut(name, "/")
	if ok && slices.Contains(providers, before) {
		return nil, params, fail(uzda.ConfigError, "use --model script:FILE, or see what works: uzda demo",
			"model (%s): this version cannot reach %s; it runs scripted models only", origin, name)
	}
	return nil, params, fail(uzda.ConfigError, "want PROVIDER/ID, a name from models in uzda.yaml ("+strings.Join(append(slices.Sorted(maps.Keys(w.cfg.Models)), "none there yet")[:max(1, len(w.cfg.Models))], ", ")+"), or script:FILE",
		"model (%s): %q is not known", origin, name)
}

// noModel says the ways to go on.
func (w *work) noModel() error {
	found := ""
	for _, key := range []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OLLAMA_HOST"} {
		if slices.ContainsFunc(w.env, func(e string) bool { return strings.HasPrefix(e, key+"=") && len(e) > len(key)+1 }) {
			found = " " + key + " is set, but this version cannot reach a provider yet."
			break
		}
	}
	return fail(uzda.ConfigError, "go on in one of three ways: --model script:FILE (a file of turns; see docs/scripted-models.md), model: in uzda.yaml or UZDA_MODEL, or `uzda demo` to see it work first",
		"no model is named.%s", found)
}

func (a *app) modelsCommand() *cobra.Command {
	c := &cobra.Command{Use: "models", Short: "the models that are known, their windows and prices", Args: none,
		Long: `Models lists the table of models: window, longest reply, and prices in dollars
per million tokens. Prices are data: the file that "prices" names in uzda.yaml
stands over the built-in ones.`}
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, err := a.config(c)
		if err != nil {
			return err
		}
		prices, err := pricesOf(cfg)
		if err != nil {
			return err
		}
		type row struct {
			uzda.ModelInfo
			Reachable bool         `json:"reachable"`
			Prices    []uzda.Price `json:"prices_per_million"`
		}
		rows := []row{}
		for _, id := range prices.IDs() {
			m := prices.Model(id)
			r := row{ModelInfo: uzda.ModelInfo{ID: m.ID, Window: m.Window, MaxOutput: m.MaxOutput}}
			for _, t := range m.Tiers {
				r.Prices = append(r.Prices, t.Price)
			}
			rows = append(rows, r)
		}
		if cfg.OutputFormat != "text" {
			writeJSON(a.out, rows)
			return nil
		}
		t := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "MODEL\tWINDOW\tREPLY\tIN\tOUT\tCACHE READ\tCACHE WRITE")
		for _, r := range rows {
			for i, p := range r.Prices {
				name := r.ID
				if i > 0 {
					name = fmt.Sprintf("  above %s tokens", thousands(p.Above))
				}
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, known(r.Window), known(r.MaxOutput), p.Input, p.Output, p.CacheRead, p.CacheWrite)
			}
		}
		if err := t.Flush(); err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(cfg.Models)) {
			fmt.Fprintf(a.out, "%s = %s  (%s)\n", name, cfg.Models[name].ID, cfg.Origin("models."+name+".id"))
		}
		fmt.Fprintf(a.out, "\nPrices of %s, in dollars per million tokens.\nThis version runs scripted models (--model script:FILE); it cannot reach the models above yet.\n", prices.Version)
		return nil
	}
	return flags(c, lookFlags...)
}

func known(n int) string {
	if n == 0 {
		return "?"
	}
	return thousands(n)
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/cmd/uzda/config"
	"github.com/uzda-dev/uzda/policy"
)

func (a *app) policyCommand() *cobra.Command {
	top := &cobra.Command{Use: "policy", Short: "what the rules say of a call, and said of those that were", Args: none,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	top.AddCommand(a.policyCheck(), a.policyExplain(), a.policySuggest())
	return top
}

func (a *app) policyCheck() *cobra.Command {
	check := &cobra.Command{Use: "check TOOL 'JSON'", Short: "the verdict on a call; it runs nothing and exits 0",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usage("policy check wants TOOL and its input as JSON; got %q", args)
			}
			if !json.Valid([]byte(args[1])) {
				return usage("policy check: the input is no JSON: %s", args[1])
			}
			return nil
		}}
	check.RunE = func(c *cobra.Command, args []string) error {
		cfg, err := a.config(c)
		if err != nil {
			return err
		}
		w := &work{app: a, cfg: cfg}
		defer w.close()
		gate, err := w.gate(nil)
		if err != nil {
			return err
		}
		spec, err := w.specOf(c.Context(), args[0])
		if err != nil {
			return err
		}
		out, err := policy.Check(c.Context(), gate, spec, json.RawMessage(args[1]), cfg.Dir)
		if err != nil {
			return usage("policy check: %v", err)
		}
		if cfg.OutputFormat != "text" {
			writeJSON(a.out, out)
			return nil
		}
		fmt.Fprintf(a.out, "%s: %s\n", out.Verdict, safe(out.Reason))
		if out.Rule != "" {
			fmt.Fprintf(a.out, "rule %s (%s)\n", safe(out.Rule), safe(out.Origin))
		}
		return nil
	}
	return flags(check, "output-format", "allow", "deny", "permission-mode", "dir", "add-dir", "trust")
}

// specOf describes a tool by name. One that this program does not have is
// judged as one that can do anything.
func (w *work) specOf(ctx context.Context, name string) (uzda.ToolSpec, error) {
	name = policy.ToolName(name)
	for _, n := range []string{"list_tables", "describe_table", "run_query", "read_file", "glob", "grep"} {
		if n == name {
			return uzda.ToolSpec{Name: name, Effects: uzda.Effects{ReadOnly: true, Idempotent: true}}, nil
		}
	}
	tools, err := w.tools(ctx, card{})
	if err != nil {
		return uzda.ToolSpec{}, err
	}
	for _, t := range tools {
		if t.Spec().Name == name {
			return t.Spec(), nil
		}
	}
	if name == "fetch" {
		return uzda.ToolSpec{Name: name, Effects: uzda.Effects{ReadOnly: true, OpenWorld: true}}, nil
	}
	return uzda.ToolSpec{Name: name}, nil
}

func (a *app) policyExplain() *cobra.Command {
	return a.looks("explain SESSION [USE]", "how each call of a session was judged, by which rule, and who answered", "", one(1),
		func(ctx context.Context, w *work, args []string) error {
			id, _, err := w.load(ctx, args[0])
			if err != nil {
				return err
			}
			uses, err := policy.Uses(w.store.Read(ctx, id, 0))
			if err != nil {
				return fail(uzda.StorageError, "`uzda doctor` looks at the store", "%v", err)
			}
			if len(args) > 1 {
				var ids []string
				for _, u := range uses {
					ids = append(ids, string(u.ID))
				}
				if uses = slices.DeleteFunc(uses, func(u policy.Use) bool { return string(u.ID) != args[1] }); len(uses) == 0 {
					return fail(uzda.ConfigError, "judged: "+strings.Join(ids, ", "), "no use %s was judged in session %s", args[1], id)
				}
			}
			if w.json() {
				writeJSON(w.out, map[string]any{"session": id, "uses": uses})
				return nil
			}
			if len(uses) == 0 {
				fmt.Fprintf(w.out, "No call was judged in session %s.\n", id)
			}
			for _, u := range uses {
				w.explain(u)
			}
			return nil
		})
}

// explain prints how one call was judged.
func (w *work) explain(u policy.Use) {
	const most = 400
	fmt.Fprintf(w.out, "%s  %s %s\n", u.ID, safe(u.Tool), safe(uzda.Clip(string(u.Input), most)))
	fmt.Fprintf(w.out, "    %s: %s\n", u.Verdict, safe(u.Reason))
	switch {
	case u.Rule != "":
		fmt.Fprintf(w.out, "    by the rule %s (%s)\n", safe(u.Rule), safe(u.Origin))
	case u.Origin != "":
		fmt.Fprintf(w.out, "    by no rule (%s)\n", safe(u.Origin))
	}
	if s := u.Answer; s != nil {
		text := fmt.Sprintf("answered: %s", s.Verdict)
		if s.By != "" {
			text += " by " + s.By
		}
		if s.Rule != "" {
			text += ", for the session: " + s.Rule
		}
		if s.Reason != "" {
			text += "; " + s.Reason
		}
		fmt.Fprintln(w.out, "    "+safe(text))
	}
	switch {
	case u.Failed && u.Started:
		fmt.Fprintf(w.out, "    it ran and failed (%s)\n", u.Code)
	case u.Failed:
		fmt.Fprintf(w.out, "    it did not run (%s)\n", u.Code)
	case u.Returned:
		fmt.Fprintln(w.out, "    it ran")
	case u.Started:
		fmt.Fprintln(w.out, "    it began; what came of it is not known yet")
	}
}

func (a *app) policySuggest() *cobra.Command {
	accept := ""
	c := a.looks("suggest", "rules that would spare questions, by what you answered so far", `Suggest counts what was asked in all sessions, by the rule that would have
allowed it. A rule is proposed after five approvals without a denial and with few
failures. --accept writes one, by its number or as it is printed, into your own
file of settings; comments and all else there stay as they are.`, none, func(ctx context.Context, w *work, _ []string) error {
		rows, err := w.tallies(ctx)
		if err != nil {
			return err
		}
		if accept != "" {
			return w.acceptRule(rows, accept)
		}
		return w.suggestions(rows)
	})
	c.Flags().StringVar(&accept, "accept", "", "the number of a proposed rule, or the rule itself")
	return c
}

// tallies counts the questions of all sessions.
func (w *work) tallies(ctx context.Context) ([]policy.Tally, error) {
	gate, err := w.gate(nil)
	if err != nil {
		return nil, err
	}
	ids, err := w.family(ctx, nil)
	if err != nil {
		return nil, err
	}
	var all []policy.Use
	for _, id := range ids {
		uses, err := policy.Uses(w.store.Read(ctx, id, 0))
		if err != nil {
			return nil, fail(uzda.StorageError, "`uzda doctor` looks at the store", "%v", err)
		}
		all = append(all, uses...)
	}
	rows := gate.Tallies(all)
	slices.SortStableFunc(rows, func(a, b policy.Tally) int { // what is proposed comes first, so that its number is short
		switch {
		case a.Looser() == b.Looser():
			return 0
		case a.Looser():
			return -1
		}
		return 1
	})
	return rows, nil
}

func (w *work) suggestions(rows []policy.Tally) error {
	if w.json() {
		type row struct {
			N int `json:"n,omitempty"` // of a proposed one
			policy.Tally
			Proposed bool `json:"proposed"`
		}
		out := []row{}
		for i, t := range rows {
			r := row{Tally: t, Proposed: t.Looser()}
			if r.Proposed {
				r.N = i + 1
			}
			out = append(out, r)
		}
		writeJSON(w.out, map[string]any{"rules": out})
		return nil
	}
	proposed := 0
	for i, t := range rows {
		name := "  -"
		if t.Looser() {
			proposed++
			name = fmt.Sprintf("%3d", i+1)
		}
		fmt.Fprintf(w.out, "%s  %s  asked %d, approved %d, denied %d, failed %d\n", name, safe(t.Rule), t.Asked, t.Approved, t.Denied, t.Failed)
	}
	switch {
	case len(rows) == 0:
		fmt.Fprintln(w.out, "Nothing was asked yet that a rule could spare.")
	case proposed == 0:
		fmt.Fprintln(w.out, "None is proposed: that takes five approvals, no denial and few failures.")
	default:
		fmt.Fprintln(w.out, "Those with a number are proposed: uzda policy suggest --accept N writes one into your settings.")
	}
	return nil
}

// acceptRule writes a proposed rule into the user's own file.
func (w *work) acceptRule(rows []policy.Tally, name string) error {
	var proposed []string
	for _, t := range rows {
		if t.Looser() {
			proposed = append(proposed, t.Rule)
		}
	}
	rule := name
	if n, err := strconv.Atoi(name); err == nil {
		if n < 1 || n > len(proposed) {
			return fail(uzda.ConfigError, "`uzda policy suggest` lists them", "--accept %d: %d rules are proposed", n, len(proposed))
		}
		rule = proposed[n-1]
	} else if !slices.Contains(proposed, rule) {
		return fail(uzda.ConfigError, "`uzda policy suggest` lists what is; any other rule you can write into your settings yourself",
			"--accept: the rule %s is not proposed", safe(rule))
	}
	file := config.UserFile(config.Options{Dir: w.dir, Env: w.env})
	if file == "" {
		return fail(uzda.ConfigError, "set UZDA_HOME", "there is no home folder for your settings")
	}
	line, err := config.AddRule(file, uzda.Allow, rule)
	if err != nil {
		return fail(uzda.ConfigError, "write the rule there yourself, below permissions: allow:", "%v", err)
	}
	if w.json() {
		writeJSON(w.out, map[string]any{"rule": rule, "file": file, "line": line})
		return nil
	}
	fmt.Fprintf(w.out, "%s:%d now allows %s\n", file, line, safe(rule))
	return nil
}

// ruleFolder is the folder of the file that a rule stands in, "" for one of a
// flag or a variable: paths such as /src in the rule are relative to it.
func (w *work) ruleFolder(origin string) string {
	file, line, ok := cutLast(origin, ":")
	if _, err := strconv.Atoi(line); !ok || err != nil {
		return ""
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(w.dir, filepath.FromSlash(file))
	}
	return filepath.Dir(file)
}

func cutLast(s, sep string) (before, after string, ok bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

package main

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/cmd/uzda/config"
	"github.com/uzda-dev/uzda/policy"
	"github.com/uzda-dev/uzda/tool/note"
	"github.com/uzda-dev/uzda/tool/query"
)

//go:embed agents/*.md
var embedded embed.FS

// card is an agent as a file describes it: front matter, then its instructions.
type card struct {
	Name        string   `yaml:"-"`
	Description string   `yaml:"description"`
	Model       string   `yaml:"model"`
	Tools       []string `yaml:"tools"` // names; none: all that there are
	System      string   `yaml:"-"`
}

// readCard reads an agent's file.
func readCard(name, file string, data []byte) (card, error) {
	c := card{Name: name}
	body := bytes.ReplaceAll(bytes.TrimPrefix(bytes.ToValidUTF8(data, []byte("\uFFFD")), []byte("\ufeff")), []byte("\r\n"), []byte("\n"))
	body = append(body, '\n')
	if rest, ok := bytes.CutPrefix(body, []byte("---\n")); ok {
		front, after, ok := bytes.Cut(rest, []byte("\n---\n"))
		if !ok {
			return c, fail(uzda.ConfigError, "end it by a line of three dashes", "%s: the front matter does not end", file)
		}
		if err := yaml.UnmarshalWithOptions(front, &c, yaml.Strict()); err != nil {
			return c, wrongFront(file, err)
		}
		body = after
	}
	c.System = strings.TrimSpace(string(body))
	return c, nil
}

var unknownField = regexp.MustCompile(`unknown field "([^"]*)"`)

// wrongFront says what is wrong in a front matter, where, and which key is nearest.
func wrongFront(file string, err error) error {
	text, line := strings.TrimSpace(err.Error()), 1
	var e yaml.Error
	if errors.As(err, &e) && e.GetToken() != nil {
		text, line = e.GetMessage(), e.GetToken().Position.Line
	}
	known := []string{"description", "model", "tools"}
	hint := "known keys: " + strings.Join(known, ", ")
	if m := unknownField.FindStringSubmatch(text); m != nil {
		text = fmt.Sprintf("unknown key %q", m[1])
		if n := uzda.Nearest(m[1], known, 1); len(n) > 0 {
			hint = fmt.Sprintf("did you mean %q?", n[0])
		}
	}
	return fail(uzda.ConfigError, hint, "%s:%d: %s", file, line+1, text)
}

// card finds an agent by name or file.
func (w *work) card(name string) (card, error) {
	if strings.HasSuffix(name, ".md") || strings.ContainsRune(name, filepath.Separator) {
		data, err := readFile(name, "agent ("+w.cfg.Origin("agent")+")")
		if err != nil {
			return card{}, err
		}
		return readCard(strings.TrimSuffix(filepath.Base(name), ".md"), name, data)
	}
	if w.cfg.Agents != "" {
		path := filepath.Join(w.cfg.Agents, name+".md")
		if data, err := os.ReadFile(path); err == nil {
			return readCard(name, path, data)
		}
	}
	data, err := embedded.ReadFile("agents/" + name + ".md")
	if err != nil {
		hint := "embedded agents: default, data; or name a file that ends in .md"
		if mine := filepath.Join(w.dir, "agents", name+".md"); w.cfg.Agents == "" && isFile(mine) {
			hint = fmt.Sprintf("%s is in a folder that you do not trust yet: name the file, or say --trust .", mine)
		}
		return card{}, fail(uzda.ConfigError, hint, "agent (%s): there is no agent %q", w.cfg.Origin("agent"), name)
	}
	return readCard(name, "the embedded agent "+name, data)
}

// chosen is the agent that works: that of the session, where it has one, else the
// one that the settings name.
func (w *work) chosen(ofSession string) (card, error) {
	if ofSession == "" {
		return w.card(w.agentName())
	}
	if !strings.HasPrefix(w.cfg.Origin("agent"), "flag ") {
		c, err := w.card(cmp.Or(w.agentFile, ofSession))
		if err != nil {
			return c, fail(uzda.ConfigError, "name its file: --agent FILE.md", "the session's agent %q is not among those here", ofSession)
		}
		return c, nil
	}
	c, err := w.card(w.cfg.Agent)
	if err == nil && c.Name != ofSession {
		return c, fail(uzda.ConfigError, "leave --agent out, or begin another session",
			"the session belongs to the agent %q and keeps it; --agent names %q", ofSession, c.Name)
	}
	return c, err
}

func (w *work) agentName() string {
	switch {
	case w.cfg.Agent != "":
		return w.cfg.Agent
	case w.cfg.DB != "":
		return "data"
	}
	return "default"
}

// What a session remembers of how it was begun, so that `uzda resume ID` is enough.
const (
	withDB    = "db"
	withAgent = "agent" // its file
	withModel = "model"
)

// recall takes over what a session was begun with, where the settings say nothing.
func (w *work) recall(with map[string]string) {
	if w.cfg.DB == "" {
		w.cfg.DB = with[withDB]
	}
	w.agentFile = with[withAgent]
}

// with is what a new session remembers.
func (r *runner) with() map[string]string {
	with := map[string]string{}
	if r.cfg.DB != "" {
		with[withDB] = r.cfg.DB
	}
	if a := r.cfg.Agent; isFile(a) {
		if path, err := filepath.Abs(a); err == nil {
			with[withAgent] = path
		}
	}
	if r.info.ID != "" {
		with[withModel] = r.info.ID
	}
	return with
}

// agents makes the agent that a run uses, and says its name.
func (w *work) agents(ctx context.Context, s *agent.State) (map[string]agent.Agent, string, error) {
	w.recall(s.Opened.With)
	c, err := w.chosen(s.Opened.Agent)
	if err != nil {
		return nil, "", err
	}
	model, params, err := w.model(ctx, c.Model, cmp.Or(s.Gear.Model.ID, s.Opened.With[withModel]))
	if err != nil {
		return nil, "", err
	}
	tools, err := w.tools(ctx, c)
	if err != nil {
		return nil, "", err
	}
	gate, err := w.gate(tools)
	if err != nil {
		return nil, "", err
	}
	a := agent.Agent{Model: model, Params: params, System: c.System, Tools: tools, Gates: []uzda.Gate{gate},
		Limits: w.cfg.Limits, Mode: w.cfg.Permissions.Mode}
	if w.cfg.System != "" {
		data, err := readFile(w.cfg.System, "system ("+w.cfg.Origin("system")+")")
		if err != nil {
			return nil, "", err
		}
		a.System = strings.TrimSpace(strings.ToValidUTF8(string(data), "\uFFFD"))
	}
	if w.cfg.Verify != "" {
		a.Verify = agent.Command{Line: w.cfg.Verify}
	}
	if a, err = w.fit(a, s); err != nil {
		return nil, "", err
	}
	if a.Mode == "bypass" {
		fmt.Fprintln(w.err, w.red("uzda: permission mode bypass: calls run without a question, except those that a rule denies"))
	}
	return map[string]agent.Agent{c.Name: a}, c.Name, nil
}

func (a *app) red(s string) string {
	if a.plain {
		return "!!! " + s
	}
	return "\x1b[1;37;41m " + s + " \x1b[0m"
}

// tools opens the tools that an agent may use.
func (w *work) tools(ctx context.Context, c card) ([]uzda.Tool, error) {
	all := []uzda.Tool{note.New(w.notes())}
	if w.cfg.DB != "" {
		db, err := w.database(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, db.Tools()...)
	}
	if len(c.Tools) == 0 {
		return all, nil
	}
	var chosen []uzda.Tool
	for _, name := range c.Tools {
		i := slices.IndexFunc(all, func(t uzda.Tool) bool { return t.Spec().Name == name })
		if i < 0 {
			return nil, w.missing(c, name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

func (w *work) missing(c card, name string) error {
	hint := "`uzda tools` lists what there is"
	if slices.Contains([]string{"list_tables", "describe_table", "run_query"}, name) && w.cfg.DB == "" {
		hint = "name a database: --db FILE"
	}
	return fail(uzda.ConfigError, hint, "agent %s: there is no tool %q", c.Name, name)
}

// notes is the folder of the agents' notes.
func (w *work) notes() string {
	if w.cfg.Notes != "" {
		return w.cfg.Notes
	}
	return filepath.Join(w.cfg.Data, "notes")
}

// queryBytes keeps a result of a query below what the loop cuts (Limits.Output),
// so that it stays whole JSON.
const queryBytes = 28_000

func (w *work) database(ctx context.Context) (*query.DB, error) {
	if strings.Contains(w.cfg.DB, "://") {
		return nil, fail(uzda.ConfigError, "name a SQLite file", "db (%s): servers of databases cannot be queried by this version yet", w.cfg.Origin("db"))
	}
	db, err := query.Open(ctx, w.cfg.DB, query.Options{MaxBytes: queryBytes})
	if err != nil {
		return nil, fail(uzda.ConfigError, "the database is set by "+w.cfg.Origin("db"), "%v", err)
	}
	w.closes = append(w.closes, db.Close)
	return db, nil
}

// gate holds the rules and the mode. With the tools of an agent it warns of rules
// that none of them is meant by, as a rule with a slip in its name.
func (w *work) gate(tools []uzda.Tool) (policy.Gate, error) {
	p := w.cfg.Permissions
	var rules policy.Rules
	for _, list := range []struct {
		decision uzda.Decision
		rules    []config.Rule
	}{{uzda.Deny, p.Deny}, {uzda.Ask, p.Ask}, {uzda.Allow, p.Allow}} {
		for _, r := range list.rules {
			warnings, err := rules.Add(list.decision, r.Origin, r.Text)
			if err != nil {
				return policy.Gate{}, fail(uzda.ConfigError, "rules have the form Tool or Tool(pattern)", "%v", err)
			}
			for _, warning := range warnings {
				fmt.Fprintln(w.err, "uzda: warning:", warning)
			}
		}
	}
	var specs []uzda.ToolSpec
	for _, t := range tools {
		specs = append(specs, t.Spec())
	}
	for _, r := range rules.Unused(specs) {
		if len(specs) > 0 && !slices.Contains(builtIn, policy.ToolName(r.Tool)) {
			fmt.Fprintf(w.err, "uzda: warning: the rule %s (%s) is for no tool that this agent has: %s\n", r, r.Origin, strings.Join(names(specs), ", "))
		}
	}
	return policy.Gate{Mode: p.Mode, Rules: rules}, nil
}

// builtIn are names that rules may be about before an agent has them.
var builtIn = strings.Fields("list_tables describe_table run_query read_file write_file edit_file glob grep shell fetch notes todo recall")

func names(specs []uzda.ToolSpec) []string {
	var out []string
	for _, s := range specs {
		out = append(out, s.Name)
	}
	return out
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

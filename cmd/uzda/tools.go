package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/cmd/uzda/config"
	"github.com/uzda-dev/uzda/policy"
	"github.com/uzda-dev/uzda/tool/fetch"
	"github.com/uzda-dev/uzda/tool/file"
	"github.com/uzda-dev/uzda/tool/note"
	"github.com/uzda-dev/uzda/tool/query"
	"github.com/uzda-dev/uzda/tool/recall"
	"github.com/uzda-dev/uzda/tool/shell"
	"github.com/uzda-dev/uzda/tool/todo"
)

// handNames are the tools that work on folders and the web.
var handNames = strings.Fields("read_file write_file edit_file delete_file glob grep shell fetch")

// hands are the tools that work on folders, made once for a command.
type hands struct {
	files *file.Files
	shell *shell.Shell // nil: it does not run on this system
	list  []uzda.Tool
}

// tools opens the tools that an agent may use.
func (w *work) tools(ctx context.Context, c card) ([]uzda.Tool, error) {
	all := []uzda.Tool{note.New(w.notes()), w.todo(), recall.New(w.store)}
	if w.cfg.DB != "" {
		db, err := w.database(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, db.Tools()...)
	}
	if len(c.Tools) == 0 || slices.ContainsFunc(c.Tools, func(name string) bool { return slices.Contains(handNames, policy.ToolName(name)) }) {
		h, err := w.folders()
		if err != nil {
			return nil, err
		}
		all = append(all, h.list...)
	}
	if len(c.Tools) == 0 {
		return w.dress(c, all), nil
	}
	var chosen []uzda.Tool
	for _, name := range c.Tools {
		i := slices.IndexFunc(all, func(t uzda.Tool) bool { return t.Spec().Name == name })
		if i < 0 {
			return nil, w.missing(c, name)
		}
		chosen = append(chosen, all[i])
	}
	return w.dress(c, chosen), nil
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
	return filepath.Join(w.data(), "notes")
}

func (w *work) todo() *todo.Todo { return todo.New(filepath.Join(w.data(), "todo")) }

// root is the folder that the agent works on: that of its session, where it has one.
func (w *work) root() string { return cmp.Or(w.dirOf, w.cfg.Dir) }

// roots are all folders that its files may be in.
func (w *work) roots() []string { return append([]string{w.root()}, w.cfg.Dirs...) }

// folders makes the tools for files, commands and the web.
func (w *work) folders() (*hands, error) {
	if w.hands != nil {
		return w.hands, nil
	}
	gate, err := w.rules()
	if err != nil {
		return nil, err
	}
	h := &hands{}
	if h.files, err = w.openFiles(gate); err != nil {
		return nil, err
	}
	h.shell, err = shell.New(shell.Config{State: w.outputs(), Roots: w.roots(), Env: w.harmless(), Time: w.cfg.Shell.Timeout,
		Max: max(w.cfg.Shell.Timeout, shell.DefaultMax), Keep: w.cfg.Shell.Background == "keep"})
	h.list = h.files.Tools()
	switch {
	case errors.Is(err, errors.ErrUnsupported): // files and the web are of use without it
		w.once("warning: the agent has no shell: " + err.Error())
	case err != nil:
		return nil, fail(uzda.ConfigError, "install a POSIX shell", "%v", err)
	default:
		w.aborts.add(h.shell.Abort)
		w.closes = append(w.closes, h.shell.Close)
		h.list = append(h.list, h.shell)
	}
	web, err := w.web(gate)
	if err != nil {
		return nil, err
	}
	h.list = append(h.list, web)
	w.hands = h
	return h, nil
}

// reap ends what commands of the session left running when their program was killed,
// before this program runs any.
func (r *runner) reap(ctx context.Context) {
	old := !r.reaped && r.head > 0
	if r.reaped = true; !old {
		return
	}
	epoch, err := r.store.Acquire(ctx, r.id, holder())
	if err != nil {
		return // whoever has it runs those commands; the run itself will say so
	}
	var left []string
	if r.hands != nil && r.hands.shell != nil {
		left = r.hands.shell.Reap(r.id)
	}
	if r.checks != nil {
		left = append(left, r.checks.Reap(r.id)...)
	}
	for _, l := range left {
		fmt.Fprintln(r.err, "uzda: ended, since a command of this session had left it running:", safe(l))
	}
	_ = r.store.Release(context.WithoutCancel(ctx), r.id, epoch) // a lease ends by itself too
}

// outputs is where the whole outputs of commands are kept.
func (w *work) outputs() string { return filepath.Join(w.data(), "shell") }

// outputsOf is where those of one session are, which may read them.
func (w *work) outputsOf(id uzda.SessionID) []string {
	return []string{filepath.Join(w.outputs(), id.Folder())}
}

// openFiles makes the tools for files. What may not be read is not found either.
func (w *work) openFiles(gate policy.Gate) (*file.Files, error) {
	hidden, skipped := gate.Hider(w.root())
	f, err := file.New(file.Config{Roots: w.roots(), ReadOnlyOf: w.outputsOf, State: filepath.Join(w.data(), "files"),
		Hide: hidden, Skip: skipped, Now: w.now})
	if err != nil {
		return nil, fail(uzda.ConfigError, "the folders are set by dir ("+w.cfg.Origin("dir")+") and dirs ("+w.cfg.Origin("dirs")+")", "%v", err)
	}
	return f, nil
}

// web makes the tool that fetches. The target of a redirect is held against the
// rules as the page itself was, and nobody is there to be asked.
func (w *work) web(gate policy.Gate) (*fetch.Fetch, error) {
	f := fetch.Config{UserAgent: "uzda", Allow: func(host string, _ netip.Addr) bool { return slices.Contains(w.cfg.Fetch.Private, host) }}
	spec := fetch.New(fetch.Config{}).Spec()
	f.Recheck = func(ctx context.Context, u *url.URL) error {
		input, err := json.Marshal(map[string]string{"url": u.String()})
		if err != nil {
			return err
		}
		v, err := gate.Check(ctx, uzda.Action{Use: uzda.Use{Name: spec.Name, Input: input}, Spec: spec, Dir: w.root()})
		if err == nil && v.Decision == uzda.Deny {
			err = errors.New(v.Reason)
		}
		return err
	}
	t, err := w.transport(w.cfg.CAFile)
	if err != nil {
		return nil, err
	}
	f.Proxy, f.TLS, f.Dial = t.Proxy, t.TLSClientConfig, t.DialContext
	return fetch.New(f), nil
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

// rules is the gate that the settings describe.
func (w *work) rules() (policy.Gate, error) {
	p := w.cfg.Permissions
	var rules policy.Rules
	for _, list := range []struct {
		decision uzda.Decision
		rules    []config.Rule
	}{{uzda.Deny, p.Deny}, {uzda.Ask, p.Ask}, {uzda.Allow, p.Allow}} {
		for _, r := range list.rules {
			warnings, err := rules.AddFrom(w.ruleFolder(r.Origin), list.decision, r.Origin, r.Text)
			if err != nil {
				return policy.Gate{}, fail(uzda.ConfigError, "rules have the form Tool or Tool(pattern)", "%v", err)
			}
			for _, warning := range warnings {
				w.once("warning: " + warning)
			}
		}
	}
	own := []string{w.cfg.Data}
	if w.cfg.Own != "" {
		own = append(own, w.cfg.Own)
	}
	sh, err := shell.Find("")
	if err != nil {
		sh = "" // the tool will say so
	}
	return policy.Gate{Mode: p.Mode, Bash: filepath.Base(sh) == "bash", Strict: p.Commands == "ask", Rules: rules, Roots: w.roots(), ReadRootsOf: w.outputsOf, Own: own, Hides: true, Skips: true}, nil
}

// gate is that of the settings. With the tools of an agent it warns of rules that
// none of them is meant by, as a rule with a slip in its name.
func (w *work) gate(tools []uzda.Tool) (policy.Gate, error) {
	gate, err := w.rules()
	if err != nil {
		return gate, err
	}
	var specs []uzda.ToolSpec
	for _, t := range tools {
		specs = append(specs, t.Spec())
	}
	for _, r := range gate.Rules.Unused(specs) {
		if len(specs) > 0 && !slices.Contains(builtIn, policy.ToolName(r.Tool)) {
			w.once(fmt.Sprintf("warning: the rule %s (%s) is for no tool that this agent has: %s", r, r.Origin, strings.Join(names(specs), ", ")))
		}
	}
	return gate, nil
}

// builtIn are names that rules may be about before an agent has them.
var builtIn = strings.Fields("list_tables describe_table run_query read_file write_file edit_file delete_file glob grep shell fetch notes todo recall")

func names(specs []uzda.ToolSpec) []string {
	var out []string
	for _, s := range specs {
		out = append(out, s.Name)
	}
	return out
}

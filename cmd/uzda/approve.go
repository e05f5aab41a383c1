package main

import (
	"cmp"
	"context"
	"fmt"
	"os/user"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/cmd/uzda/config"
)

func (a *app) approveCommand() *cobra.Command {
	return a.answerCommand("approve", "allow a call that waits for approval", `Approve records that a waiting call may run: with exactly the arguments that
were shown, and nothing else. If something has changed since, it is asked anew.
A runner that is alive goes on at once; otherwise --resume goes on here.`, uzda.Allow)
}

func (a *app) denyCommand() *cobra.Command {
	return a.answerCommand("deny", "refuse a call that waits for approval", `Deny records that a waiting call may not run. The model is told so, with the
reason, and goes on without it.`, uzda.Deny)
}

// A ruling is what a person said of waiting calls.
type ruling struct {
	decision uzda.Decision
	reason   string
	hash     string
	scope    string
	all      bool
	resume   bool
}

func (a *app) answerCommand(name, short, long string, d uzda.Decision) *cobra.Command {
	ans := ruling{decision: d}
	c := &cobra.Command{Use: name + " SESSION [USE...]", Short: short, Long: long, Args: one(64)}
	c.Flags().StringVar(&ans.reason, "reason", "", "why; the model is told")
	c.Flags().StringVar(&ans.hash, "hash", "", "hash of what was shown; the answer counts for nothing else")
	c.Flags().BoolVar(&ans.all, "all", false, "all calls that wait")
	c.Flags().BoolVar(&ans.resume, "resume", false, "go on with the session here")
	if d == uzda.Allow {
		c.Flags().StringVar(&ans.scope, "scope", "once", "once; session: also what the proposed rule covers, in this session; rule: for ever, as a rule in your settings")
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		w, err := a.open(c)
		if err != nil {
			return err
		}
		defer w.close()
		return w.answer(c.Context(), args[0], args[1:], ans)
	}
	return flags(c, append([]string{"output-format"}, runFlags...)...)
}

// answer records the answer, and goes on where that was asked for.
func (w *work) answer(ctx context.Context, name string, uses []string, ans ruling) error {
	if !slices.Contains([]string{"", "once", scopeSession, scopeRule}, ans.scope) {
		return usage("--scope is once, session or rule, not %q", ans.scope)
	}
	id, s, err := w.goes(ctx, name)
	if err != nil {
		return err
	}
	chosen, err := w.waitingUses(id, s, uses, ans)
	if err != nil {
		return err
	}
	h := w.host(nil)
	for _, u := range chosen {
		rule := w.ruleFor(id, s, u)
		if ans.scope == scopeRule {
			if err := w.learn(rule); err != nil {
				return err
			}
		}
		if _, err := h.Post(ctx, id, answered(u, ans, rule)); err != nil {
			return failed(id, err)
		}
		fmt.Fprintf(w.err, "%s: use %s, %s %s%s\n", said[ans.decision], u.ID, safe(u.Name), safe(uzda.Clip(string(u.Args()), 200)), reach(ans, rule))
	}
	root, err := w.rootOf(ctx, id, s)
	if err != nil {
		return err
	}
	if ans.resume {
		rs, err := agent.Load(ctx, w.store, root)
		if err != nil {
			return failed(root, err)
		}
		return w.resume(ctx, root, rs, "")
	}
	if w.json() {
		var ids []uzda.UseID
		for _, u := range chosen {
			ids = append(ids, u.ID)
		}
		writeJSON(w.out, map[string]any{"session": id, "uses": ids, "verdict": ans.decision})
	}
	fmt.Fprintf(w.err, "If no runner is at it, go on with: uzda resume %s\n", root)
	return nil
}

var said = map[uzda.Decision]string{uzda.Allow: "Approved", uzda.Deny: "Denied"}

// The scopes of an answer besides once. A rule counts in the session at once, and
// from then on in every session.
const (
	scopeSession = "session"
	scopeRule    = "rule"
)

// ruleFor is the rule that an approval of more than once would give, by the rules and
// folders of the settings; "" where each call must be looked at.
func (w *work) ruleFor(id uzda.SessionID, s *agent.State, u agent.Open) string {
	if u.Spec == nil {
		return ""
	}
	w.dirOf = cmp.Or(w.dirOf, s.Opened.Dir)
	gate, err := w.rules()
	if err != nil {
		return "" // whoever runs the session says what is wrong
	}
	dir := s.Opened.Dir
	if w.hands != nil && w.hands.shell != nil && u.Name == "shell" {
		dir = w.hands.shell.Place(id, dir)
	}
	return gate.Propose(uzda.Action{Session: id, Use: uzda.Use{Session: id, ID: u.ID, Name: u.Name, Input: u.Args(), Dir: dir},
		Spec: *u.Spec, Dir: s.Opened.Dir, Mode: s.Gear.Mode})
}

func answered(u agent.Open, ans ruling, rule string) uzda.Answered {
	b := uzda.Answered{Use: u.ID, Hash: u.Judged.Hash, Verdict: uzda.Verdict{Decision: ans.decision, Reason: ans.reason},
		Scope: uzda.ScopeOnce, By: person()}
	if ans.scope == scopeSession || ans.scope == scopeRule {
		b.Scope, b.Rule = uzda.ScopeSession, rule
	}
	return b
}

// reach says how far an answer reaches.
func reach(ans ruling, rule string) string {
	switch ans.scope {
	case scopeSession:
		return "; for this session: " + safe(rule)
	case scopeRule:
		return "; from now on: " + safe(rule)
	}
	return ""
}

// learn writes a rule into the user's own settings.
func (w *work) learn(rule string) error {
	path := config.UserFile(config.Options{Dir: w.dir, Env: w.env})
	if path == "" {
		return fail(uzda.ConfigError, "approve it once, or for the session", "there is no place for your own settings: HOME is not set")
	}
	at, err := config.AddRule(path, uzda.Allow, rule)
	if err != nil {
		return fail(uzda.ConfigError, "approve it once, or for the session", "%v", err)
	}
	fmt.Fprintf(w.err, "The rule %s stands in %s:%d\n", safe(rule), path, at)
	return nil
}

// waitingUses finds the calls that an answer is for.
func (w *work) waitingUses(id uzda.SessionID, s *agent.State, uses []string, ans ruling) ([]agent.Open, error) {
	waiting := s.Waits()
	if len(waiting) == 0 {
		return nil, fail(uzda.ConfigError, "`uzda show "+string(id)+"` shows where it is", "nothing waits for approval in session %s", id)
	}
	var names []string
	for _, u := range waiting {
		names = append(names, fmt.Sprintf("%s (%s)", u.ID, u.Name))
	}
	chosen := waiting
	if len(uses) > 0 {
		chosen = nil
		for _, want := range uses {
			i := slices.IndexFunc(waiting, func(u agent.Open) bool { return string(u.ID) == want })
			if i < 0 {
				return nil, fail(uzda.ConfigError, "waiting: "+strings.Join(names, ", "), "use %s does not wait for approval in session %s", want, id)
			}
			chosen = append(chosen, waiting[i])
		}
	} else if len(waiting) > 1 && !ans.all {
		return nil, fail(uzda.ConfigError, "waiting: "+strings.Join(names, ", "), "%d calls wait in session %s: name one, or say --all", len(waiting), id)
	}
	for _, u := range chosen {
		if ans.hash != "" && ans.hash != u.Judged.Hash {
			return nil, fail(uzda.ConfigError, "look at it again: uzda show "+string(id), "use %s is no longer what was shown: its hash is %s", u.ID, u.Judged.Hash)
		}
		if (ans.scope == scopeSession || ans.scope == scopeRule) && w.ruleFor(id, s, u) == "" {
			return nil, fail(uzda.ConfigError, "approve it once", "no rule fits use %s of %s: it is approved call by call", u.ID, u.Name)
		}
	}
	return chosen, nil
}

// rootOf follows the parents of a session up.
func (w *work) rootOf(ctx context.Context, id uzda.SessionID, s *agent.State) (uzda.SessionID, error) {
	for s.Opened.Parent != "" {
		id = s.Opened.Parent
		var err error
		if s, err = agent.Load(ctx, w.store, id); err != nil {
			return "", failed(id, err)
		}
	}
	return id, nil
}

func person() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "somebody"
}

func (a *app) resolveCommand() *cobra.Command {
	c := &cobra.Command{Use: "resolve SESSION USE yes|no", Short: "say whether a call whose outcome is unknown took effect",
		Long: `Resolve says what became of a call that had begun when its process died. Until
then a call like it is asked for, whatever the rules. Find out first.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 3 || args[2] != "yes" && args[2] != "no" {
				return usage("resolve wants SESSION USE and yes (it took effect) or no; got %q", args)
			}
			return nil
		}}
	c.RunE = func(c *cobra.Command, args []string) error {
		w, err := a.open(c)
		if err != nil {
			return err
		}
		defer w.close()
		id, s, err := w.goes(c.Context(), args[0])
		if err != nil {
			return err
		}
		use := uzda.UseID(args[1])
		d, ok := s.Unknown[use]
		if !ok {
			return fail(uzda.ConfigError, "`uzda show "+string(id)+"` shows what is", "use %s of session %s has no unknown outcome", use, id)
		}
		if _, err := w.host(nil).Post(c.Context(), id, uzda.Resolved{Use: use, Took: args[2] == "yes", By: person()}); err != nil {
			return failed(id, err)
		}
		if w.json() {
			writeJSON(w.out, map[string]any{"session": id, "use": use, "took": args[2] == "yes"})
		}
		fmt.Fprintf(w.err, "Resolved: use %s of %s took effect: %s\n", use, safe(d.Tool), args[2])
		return nil
	}
	return flags(c, lookFlags...)
}

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/policy"
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
		c.Flags().StringVar(&ans.scope, "scope", "once", "once, or session: further calls of this tool in this session too")
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
	if ans.scope != "" && ans.scope != "once" && ans.scope != "session" {
		return usage("--scope is once or session, not %q", ans.scope)
	}
	id, s, err := w.goes(ctx, name)
	if err != nil {
		return err
	}
	waiting := s.Waits()
	chosen, err := choose(id, waiting, uses, ans)
	if err != nil {
		return err
	}
	h := w.host(nil)
	for _, u := range chosen {
		if _, err := h.Post(ctx, id, answered(u, ans)); err != nil {
			return failed(id, err)
		}
		fmt.Fprintf(w.err, "%s: use %s, %s %s\n", said[ans.decision], u.ID, safe(u.Name), safe(uzda.Clip(string(u.Args()), 200)))
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

func answered(u agent.Open, ans ruling) uzda.Answered {
	b := uzda.Answered{Use: u.ID, Hash: u.Judged.Hash, Verdict: uzda.Verdict{Decision: ans.decision, Reason: ans.reason},
		Scope: uzda.ScopeOnce, By: person()}
	if ans.scope == "session" {
		b.Scope, b.Rule = uzda.ScopeSession, policy.Propose(uzda.Action{Use: uzda.Use{Name: u.Name, Input: u.Args()}, Spec: *u.Spec})
	}
	return b
}

// choose finds the calls that an answer is for.
func choose(id uzda.SessionID, waiting []agent.Open, uses []string, ans ruling) ([]agent.Open, error) {
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
		if ans.scope == "session" && u.Spec != nil && u.Spec.Effects.Irreversible {
			return nil, fail(uzda.ConfigError, "approve it once", "%s cannot be taken back, so it is approved call by call", u.Name)
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

// linesOf reads what a person types; the channel is closed at the end of input.
func linesOf(in io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(in); s.Scan(); {
			lines <- s.Text()
		}
	}()
	return lines
}

// askPerson shows what waits and takes the answers from the terminal; false if
// it was left waiting. End of input means no answer. An answer that comes from
// elsewhere meanwhile counts too.
func (r *runner) askPerson(ctx context.Context, s *agent.State) (bool, error) {
	answered := false
	for _, p := range pendingIn(ctx, r.store, r.id, "", s) {
		id := r.id
		if p.Session != "" {
			id = p.Session
		}
		u, err := r.waits(ctx, id, p.Use)
		if err != nil {
			return answered, err
		}
		if u == nil {
			continue
		}
		r.showUse(*u)
		d, err := r.answerTo(ctx, id, *u)
		if err != nil || d == left {
			return answered, err
		}
		answered = true
	}
	return answered, nil
}

// waits finds a use that waits for approval; nil if it does not any more.
func (r *runner) waits(ctx context.Context, id uzda.SessionID, use uzda.UseID) (*agent.Open, error) {
	s, err := agent.Load(ctx, r.store, id)
	if err != nil {
		return nil, err
	}
	for _, u := range s.Waits() {
		if u.ID == use {
			return &u, nil
		}
	}
	return nil, nil
}

// left says that a question was not answered.
const left uzda.Decision = "left"

// answerTo asks until there is an answer, here or from elsewhere.
func (r *runner) answerTo(ctx context.Context, id uzda.SessionID, u agent.Open) (uzda.Decision, error) {
	const question = "Allow it? [y]es once, yes for this [s]ession, [n]o, [l]eave it waiting: "
	look := time.NewTicker(250 * time.Millisecond)
	defer look.Stop()
	fmt.Fprint(r.err, question)
	for {
		select {
		case <-ctx.Done():
			fmt.Fprintln(r.err)
			return left, nil
		case <-look.C:
			if now, err := r.waits(ctx, id, u.ID); err != nil || now == nil || now.Judged.Hash != u.Judged.Hash {
				fmt.Fprintln(r.err, "\nIt was answered elsewhere.")
				return uzda.Allow, err
			}
		case line, ok := <-r.lines():
			ans, known := rulingOf(line)
			switch {
			case !ok:
				fmt.Fprintln(r.err)
				return left, nil
			case !known:
				fmt.Fprint(r.err, "Please type y, s, n or l. "+question)
			case ans.decision == left:
				return left, nil
			case ans.scope == "session" && u.Spec.Effects.Irreversible:
				fmt.Fprint(r.err, u.Name+" cannot be taken back, so it is allowed call by call: y, n or l. ")
			default:
				_, err := r.host.Post(ctx, id, answered(u, ans))
				return ans.decision, err
			}
		}
	}
}

// answerOf reads what a person typed.
func rulingOf(line string) (ruling, bool) {
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return ruling{decision: uzda.Allow}, true
	case "s", "session":
		return ruling{decision: uzda.Allow, scope: "session"}, true
	case "n", "no":
		return ruling{decision: uzda.Deny}, true
	case "l", "leave":
		return ruling{decision: left}, true
	}
	return ruling{}, false
}

// showUse shows exactly what would run.
func (r *runner) showUse(u agent.Open) {
	fmt.Fprintf(r.err, "\n%s wants to run (%s):\n", safe(u.Name), safe(u.Judged.Verdict.Reason))
	text := u.Judged.Preview
	if text == "" {
		var v any
		if json.Unmarshal(u.Args(), &v) == nil {
			if raw, err := json.MarshalIndent(v, "", "  "); err == nil {
				text = string(raw)
			}
		}
	}
	for line := range strings.Lines(safeLines(text)) {
		fmt.Fprintln(r.err, "  │ "+strings.TrimRight(line, "\n"))
	}
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

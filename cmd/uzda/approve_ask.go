package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/cmd/uzda/line"
)

// A question is a call that waits for a person, with what the answer may be.
type question struct {
	session uzda.SessionID
	child   string // the agent of the session, where it is a child
	use     agent.Open
	view    view
	rule    string // for more than this call; "": each call is looked at
}

// left says that a question was not answered.
const left uzda.Decision = "left"

// all and whole are what a person may say besides a decision: yes to all that
// wait, and show the whole of it.
const (
	all   uzda.Decision = "all"
	whole uzda.Decision = "whole"
)

// questions are the calls that wait in the session and in the children that it
// waits for.
func (r *runner) questions(ctx context.Context, s *agent.State) ([]question, error) {
	var out []question
	for _, p := range pendingIn(ctx, r.store, r.id, "", s) {
		q := question{session: r.id}
		if p.Session != "" {
			q.session = p.Session
		}
		of, err := agent.Load(ctx, r.store, q.session)
		if err != nil {
			return out, err
		}
		i := slices.IndexFunc(of.Waits(), func(u agent.Open) bool { return u.ID == p.Use })
		if i < 0 {
			continue
		}
		if p.Session != "" {
			q.child = of.Opened.Agent
		}
		q.use = of.Waits()[i]
		q.view, q.rule = viewOf(q.use), r.ruleFor(q.session, of, q.use)
		out = append(out, q)
	}
	return out, nil
}

// stillOpen says whether a question still waits for an answer.
func (r *runner) stillOpen(ctx context.Context, q question) (bool, error) {
	s, err := agent.Load(ctx, r.store, q.session)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(s.Waits(), func(u agent.Open) bool { return u.ID == q.use.ID && u.Judged.Hash == q.use.Judged.Hash }), nil
}

// talk is what goes on with a person at the terminal.
type talk struct {
	desk  line.Desk
	stop  func()   // cancels what goes on; called for an interrupt that the desk takes
	ended bool     // the person has ended the input
	early []string // what was typed before a question was shown, and is no answer to it
}

// askPerson shows what waits and takes the answers from the terminal; false if
// it was left waiting. End of input means no answer. An answer that comes from
// elsewhere meanwhile counts too.
func (r *runner) askPerson(ctx context.Context, s *agent.State) (bool, error) {
	qs, err := r.questions(ctx, s)
	if err != nil {
		return false, err
	}
	r.showList(qs)
	answered := false
	for i, q := range qs {
		if open, err := r.stillOpen(ctx, q); err != nil {
			return answered, err
		} else if !open {
			continue
		}
		r.showQuestion(q, i+1, len(qs))
		d, err := r.answerTo(ctx, q, len(qs)-i)
		switch {
		case err != nil || d == left:
			return answered, err
		case d == all:
			return r.answerAll(ctx, qs[i:])
		}
		answered = true
	}
	return answered, nil
}

// room is how many columns a line may take.
func (a *app) room() int {
	if a.width < 40 {
		return 80
	}
	return a.width
}

// showList lists what waits, where it is more than one call.
func (r *runner) showList(qs []question) {
	if len(qs) < 2 {
		return
	}
	p := paint{r.plain}
	fmt.Fprintf(r.err, "\n%s\n", p.bold(fmt.Sprintf("%d calls wait for your approval:", len(qs))))
	for i, q := range qs {
		mark := ""
		if len(q.view.doubts) > 0 {
			mark = p.warn("! ")
		}
		fmt.Fprintf(r.err, "  %d. %s%s\n", i+1, mark, glance(q.use.Name, q.use.Args(), r.room()-8))
	}
}

// showQuestion shows exactly what would run, and why a person is asked.
func (r *runner) showQuestion(q question, n, of int) {
	p := paint{r.plain}
	count, whom := "", ""
	if of > 1 {
		count = fmt.Sprintf("%d of %d: ", n, of)
	}
	if q.child != "" {
		whom = fmt.Sprintf(", for the agent %s", safe(q.child))
	}
	head := fmt.Sprintf("%s%s wants to run%s (%s):", count, safe(q.use.Name), whom, safe(q.use.Judged.Verdict.Reason))
	text, _ := q.view.show(p, r.room(), false)
	fmt.Fprintf(r.err, "\n%s\n%s", p.bold(strings.Join(wrap(head, r.room()), "\n")), text)
}

// choices is what a person may answer, and the letters for it.
func (r *runner) choices(q question, waiting int) (text, letters string) {
	_, cut := q.view.show(paint{true}, r.room(), false)
	list := []struct {
		on           bool
		letter, says string
	}{
		{true, "y", "[y]es once"},
		{q.rule != "", "s", "for this [s]ession: " + safe(q.rule)},
		{q.rule != "", "r", "[r]ule: always"},
		{waiting > 1, "a", fmt.Sprintf("[a]ll %d", waiting)},
		{cut > 0, "v", "[v]iew whole"},
		{true, "n", "[n]o, because …"},
		{true, "l", "[l]eave it waiting"},
	}
	var says, names []string
	for _, c := range list {
		if c.on {
			says, names = append(says, c.says), append(names, c.letter)
		}
	}
	return flowed(says, r.room()), strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// flowed joins parts by dots, in lines of at most n columns.
func flowed(parts []string, n int) string {
	var lines []string
	at := ""
	for _, p := range parts {
		switch {
		case at == "":
			at = p
		case uzda.Columns(at)+3+uzda.Columns(p) > n-2:
			lines, at = append(lines, at+" ·"), p
		default:
			at += " · " + p
		}
	}
	return strings.Join(append(lines, at), "\n")
}

// answerTo asks until there is an answer, here or from elsewhere.
func (r *runner) answerTo(ctx context.Context, q question, waiting int) (uzda.Decision, error) {
	options, letters := r.choices(q, waiting)
	fmt.Fprintln(r.err, paint{r.plain}.dim(options))
	return r.put(ctx, []question{q}, "Allow it? ", func(said string) (ruling, string) {
		ans, known := rulingOf(said)
		switch {
		case !known, ans.decision == all && waiting < 2:
			return ans, "Please type " + letters + ". "
		case ans.decision == whole:
			text, _ := q.view.show(paint{r.plain}, r.room(), true)
			fmt.Fprint(r.err, text)
			return ans, " "
		case ans.scope != "" && q.rule == "":
			return ans, "No rule fits it, so it is allowed call by call: " + letters + ". "
		case ans.scope == scopeRule:
			if err := r.learn(q.rule); err != nil {
				return ans, detail(err) + ". "
			}
		}
		return ans, ""
	})
}

// answerAll allows what waits, after all of it was shown.
func (r *runner) answerAll(ctx context.Context, qs []question) (bool, error) {
	for i, q := range qs[1:] {
		r.showQuestion(q, i+2, len(qs))
		if text, cut := q.view.show(paint{r.plain}, r.room(), true); cut > 0 {
			fmt.Fprint(r.err, text)
		}
	}
	d, err := r.put(ctx, qs, fmt.Sprintf("Allow these %d, once each? [y]es or [n]o: ", len(qs)), func(said string) (ruling, string) {
		ans, known := rulingOf(said)
		if !known || ans.scope != "" || ans.decision == all || ans.decision == whole {
			return ans, "Please type y, n or l. "
		}
		return ans, ""
	})
	return d != left, err
}

// put puts one question about calls. read takes what was typed for a ruling,
// or says what is wrong with it.
func (r *runner) put(ctx context.Context, qs []question, text string, read func(said string) (ruling, string)) (uzda.Decision, error) {
	desk := r.talk.desk
	look := time.NewTicker(250 * time.Millisecond)
	defer look.Stop()
	first := desk.Ask(text)
	defer desk.Prompt("", false)
	for {
		select {
		case <-ctx.Done():
			fmt.Fprintln(r.err)
			return left, nil
		case <-look.C:
			open, err := r.stillOpen(ctx, qs[0])
			if ctx.Err() == nil && (err != nil || !open) {
				fmt.Fprintln(r.err, "\nIt was answered elsewhere.")
				return uzda.Allow, err
			}
		case in := <-desk.Inputs():
			switch {
			case in.Kind == line.Interrupt:
				r.talk.stop()
				continue
			case in.Kind == line.End:
				r.talk.ended = true
				fmt.Fprintln(r.err)
				return left, nil
			case in.To < first: // typed before the question
				if _, answer := rulingOf(in.Text); !answer {
					r.talk.early = append(r.talk.early, in.Text)
				}
				fmt.Fprintf(r.err, "\n%s was typed before the question, and is no answer to it.\n", inQuotes(uzda.OneLine(in.Text, 40)))
				desk.Ask(text)
				continue
			}
			ans, wrong := read(in.Text)
			switch {
			case wrong != "":
				desk.Ask(strings.TrimLeft(wrong, " ") + text)
			case ans.decision == left || ans.decision == all:
				return ans.decision, nil
			default:
				return ans.decision, r.rule(ctx, qs, ans)
			}
		}
	}
}

// rule posts a ruling on calls.
func (r *runner) rule(ctx context.Context, qs []question, ans ruling) error {
	for _, q := range qs {
		if _, err := r.host.Post(ctx, q.session, answered(q.use, ans, q.rule)); err != nil {
			return err
		}
	}
	return nil
}

// rulingOf reads what a person typed. What follows a no is its reason.
func rulingOf(typed string) (ruling, bool) {
	word, rest, _ := strings.Cut(strings.TrimSpace(typed), " ")
	word, rest = strings.ToLower(strings.TrimRight(word, ",:;.")), strings.TrimSpace(rest)
	if word == "n" || word == "no" {
		return ruling{decision: uzda.Deny, reason: rest}, true
	}
	if rest != "" { // a sentence is no answer
		return ruling{}, false
	}
	switch word {
	case "y", "yes":
		return ruling{decision: uzda.Allow}, true
	case "s", "session":
		return ruling{decision: uzda.Allow, scope: scopeSession}, true
	case "r", "rule":
		return ruling{decision: uzda.Allow, scope: scopeRule}, true
	case "a", "all":
		return ruling{decision: all}, true
	case "v", "view":
		return ruling{decision: whole}, true
	case "l", "leave":
		return ruling{decision: left}, true
	}
	return ruling{}, false
}

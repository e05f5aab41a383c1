package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/cmd/uzda/attach"
	"github.com/uzda-dev/uzda/session"
	"github.com/uzda-dev/uzda/trace"
	"github.com/uzda-dev/uzda/window"
)

func (a *app) runCommand() *cobra.Command {
	var id string
	var piped bool
	files := attached()
	c := &cobra.Command{Use: `run [flags] "task"`, Short: "work on a task until it is done, or a fuse blows",
		Long: `Run works on a task until it is done, until a fuse blows, or until it needs a
person. The answer is all that it prints on standard output.

The task is the argument, or with "-" what is piped in. --stdin adds what is
piped in to the task of the argument; without an argument it is the task.`,
		Example: `  uzda run --db shop.db "How many orders came in this month?"
  git diff | uzda run --stdin "Review this."
  uzda run --attach chart.png --attach report.pdf "Do the two agree?"
  uzda run --model script:turns.json --output-format json "go"`,
		Args: func(_ *cobra.Command, args []string) error {
			switch len(args) {
			case 0:
				if piped {
					return nil
				}
				return fail(uzda.ConfigError, `for example: uzda run "Say hello."`, "run wants a task, in quotes, or - to read it from standard input")
			case 1:
				return nil
			}
			whole := uzda.OneLine(strings.Join(args, " "), 60)
			return fail(uzda.ConfigError, fmt.Sprintf("for example: uzda run %q", whole), "run takes one task; put it in quotes. Got %d arguments: %q", len(args), args)
		}}
	c.Flags().StringVar(&id, "session", "", "go on in that session; it is made if there is none")
	c.Flags().BoolVar(&piped, "stdin", false, "add what is piped in to the task")
	c.Flags().Var(files, "attach", attachDoc)
	c.RunE = func(c *cobra.Command, args []string) error {
		task, err := a.task(append(args, "-")[0], piped) // --stdin alone is the task
		if err != nil {
			return err
		}
		if id != "" {
			if err := uzda.SessionID(id).Check(); err != nil {
				return usage("--session: %v", err)
			}
		}
		along, err := a.attach(c.Context(), "--attach", files.values...)
		if err != nil {
			return err
		}
		if err := a.meet(c); err != nil {
			return err
		}
		w, err := a.open(c)
		if err != nil {
			return err
		}
		defer w.close()
		w.warnSize(c.Context())
		return w.do(c.Context(), uzda.SessionID(id), task, along)
	}
	return flags(c, append([]string{"output-format"}, runFlags...)...)
}

// do works on a task, in a session that there may be.
func (w *work) do(ctx context.Context, id uzda.SessionID, task string, along []attach.File) error {
	old := &agent.State{}
	if id != "" {
		var err error
		if old, err = agent.Load(ctx, w.store, id); err != nil {
			return fail(uzda.StorageError, "`uzda doctor` looks at the store", "%v", err)
		}
		if err := w.sound(ctx, id, old); err != nil {
			return err
		}
		if id == newest && old.Head == 0 {
			return fail(uzda.ConfigError, `to go on with the session that was changed last: uzda resume last "..."`, "--session last: no new session can have that name")
		}
	}
	w.warnPlace()
	r, err := w.runner(ctx, old)
	if err != nil {
		return err
	}
	if err := r.takes(along, "--attach"); err != nil {
		return err
	}
	if err := r.begin(ctx, id); err != nil {
		return err
	}
	r.tells(along)
	if err := r.post(ctx, task, along...); err != nil {
		return err
	}
	return r.drive(ctx)
}

// warnPlace says that a folder holds more than an agent is wanted for.
func (w *work) warnPlace() {
	dir := filepath.Clean(w.cfg.Dir)
	var what string
	switch home, err := os.UserHomeDir(); {
	case err == nil && dir == filepath.Clean(home):
		what = "your home folder"
	case dir == filepath.Dir(dir):
		what = "the root of the disk"
	default:
		return
	}
	w.once("warning: the agent works in " + what + " and may read all of it;\n      go to the folder of the task, or name it: --dir FOLDER")
}

// task is what to do: the argument, what is piped in, or both. Standard input is
// read only where that was asked for, since it may never end.
func (a *app) task(arg string, piped bool) (string, error) {
	if arg != "-" && !piped {
		if strings.TrimSpace(arg) == "" {
			return "", usage("the task is empty")
		}
		return arg, nil
	}
	const most = 8 << 20
	data, err := io.ReadAll(io.LimitReader(a.in, most+1))
	switch {
	case err != nil:
		return "", usage("read standard input: %v", err)
	case len(data) > most:
		return "", usage("standard input has more than %d bytes; name a file in the task instead", most)
	}
	text := strings.ToValidUTF8(string(data), "\uFFFD")
	if arg != "-" {
		text = arg + "\n\n<stdin>\n" + text + "\n</stdin>"
	}
	if strings.TrimSpace(text) == "" {
		return "", usage("standard input holds no task")
	}
	return text, nil
}

// runner runs one session of this command.
type runner struct {
	*work
	host   *session.Host
	agent  string
	info   uzda.ModelInfo
	sent   uzda.Model // whom requests go to
	id     uzda.SessionID
	head   uzda.Seq // what was there before
	began  time.Time
	show   bool   // results on the progress lines
	shown  string // the last reply that was shown as it came
	reaped bool   // what an earlier program left

	prefix   *window.Prefix // what the provider's cache may hold; nil: not looked at yet
	prefixOf uzda.SessionID
	// resentTold are the changes of the prefix that need not be told any more.
	resentTold int
}

// runner makes ready what a run needs, for a session as it is: a new one has no agent.
func (w *work) runner(ctx context.Context, s *agent.State) (*runner, error) {
	if info, err := os.Stat(w.cfg.Dir); err != nil || !info.IsDir() {
		return nil, fail(uzda.ConfigError, "name a folder that there is", "dir (%s): %s is no folder", w.cfg.Origin("dir"), w.cfg.Dir)
	}
	for _, d := range w.cfg.Dirs {
		if info, err := os.Stat(d); err != nil || !info.IsDir() {
			return nil, fail(uzda.ConfigError, "name folders that there are", "dirs (%s): %s is no folder", w.cfg.Origin("dirs"), d)
		}
	}
	agents, name, err := w.agents(ctx, s)
	if err != nil {
		return nil, err
	}
	r := &runner{work: w, host: w.host(agents), agent: name, sent: agents[name].Model, began: w.now()}
	if d, ok := agents[name].Model.(uzda.Describer); ok {
		r.info = d.Describe()
	}
	return r, nil
}

func (r *runner) begin(ctx context.Context, id uzda.SessionID) error {
	var err error
	r.id, err = r.host.Open(ctx, uzda.Opening{ID: id, Agent: r.agent, Dir: r.cfg.Dir, With: r.with()})
	if err != nil {
		return failed(id, err)
	}
	s, err := r.host.State(ctx, r.id)
	if err != nil {
		return failed(r.id, err)
	}
	r.head = s.Head
	return nil
}

// post gives the session a task, unless somebody else works on it: the task of a
// run that is refused must not be done by another.
func (r *runner) post(ctx context.Context, task string, along ...attach.File) error {
	epoch, err := r.store.Acquire(ctx, r.id, holder())
	if err == nil {
		err = r.store.Release(ctx, r.id, epoch)
	}
	if err != nil {
		return failed(r.id, err)
	}
	blocks, err := r.message(ctx, task, along...)
	if err != nil {
		return err
	}
	if _, err := r.host.PostAt(ctx, r.id, uzda.SomeHead, uzda.Posted{Blocks: blocks}); err != nil {
		return failed(r.id, err)
	}
	return nil
}

// drive runs the session, answers for it where a person is there, and reports.
func (r *runner) drive(ctx context.Context) error {
	r.reap(ctx)
	stop := r.follow()
	s, err := r.host.Run(ctx, r.id)
	for err == nil && ctx.Err() == nil && r.tty && len(pendingIn(ctx, r.store, r.id, "", s)) > 0 {
		stop()
		answered, askErr := r.askPerson(ctx, s)
		if askErr != nil || !answered {
			break
		}
		r.head = s.Head
		stop = r.follow()
		s, err = r.host.Run(ctx, r.id)
	}
	keep := context.WithoutCancel(ctx)
	if err == nil && ctx.Err() != nil && s.Parked != nil { // stopped at a question
		stop()
		stop = r.follow()
		if _, err = r.host.Post(keep, r.id, uzda.Cancelled{Why: context.Cause(ctx).Error(), By: person()}); err == nil {
			s, err = r.host.Run(keep, r.id)
		}
	}
	stop()
	if err != nil {
		return r.broken(keep, err)
	}
	o := s.Outcome(r.id)
	if o == nil {
		o = &uzda.Outcome{Session: r.id, Reason: uzda.InternalError, Detail: "the turn has neither ended nor parked", Hint: "`uzda doctor` looks at the store"}
	}
	r.mend(s, o)
	res := resultIn(keep, r.store, r.id, s, o, r.now().Sub(r.began))
	res.Answer = r.answerOf(o)
	res.Trace = r.trace(keep)
	return r.report(s, o, res)
}

// broken reports a run that could not record how it ended.
func (r *runner) broken(ctx context.Context, err error) error {
	o := session.Failure(r.id, err)
	res := resultOf(o, o.Reason.Exit())
	if s, err := agent.Load(ctx, r.store, r.id); err == nil && s.Head > 0 { // what was used up to then
		res = resultIn(ctx, r.store, r.id, s, o, 0)
	}
	res.Session, res.Duration = r.id, r.now().Sub(r.began).Milliseconds()
	if r.json() {
		writeJSON(r.out, res)
	}
	fmt.Fprintf(r.err, "uzda: %s: %s\n      %s\n", o.Reason, safeLines(o.Detail), onSession(o.Hint, r.id))
	return &exit{code: o.Reason.Exit()}
}

// onSession names the session in the command of a hint.
func onSession(hint string, id uzda.SessionID) string {
	return strings.NewReplacer("`uzda resume`", "`uzda resume "+string(id)+"`", "`uzda compact`", "`uzda compact "+string(id)+"`").Replace(hint)
}

// follow shows what happens in the session until the function that it returns
// is called; that one waits until all has been shown.
func (r *runner) follow() func() {
	p := newProgress(r.err, r.now, r.show, r.width)
	if r.out.tty && r.tty && !r.json() && r.form == nil { // where the answer is shown, it is shown as it comes
		p.streams(r.out, paint{r.plain})
	}
	if s, err := r.host.State(context.Background(), r.id); err == nil {
		p.prime(s)
	}
	done := make(chan struct{})
	go p.beat(done)
	stop := r.watch(func(e uzda.Event) {
		if r.cfg.OutputFormat == "stream-json" {
			if line, ok := jsonOf(e); ok {
				writeJSON(r.out, line)
			}
		}
		p.event(e)
		p.resent(r.resent(e))
	})
	return sync.OnceFunc(func() {
		close(done)
		stop()
		if p.flow != nil {
			p.flow.end()
			r.shown = p.flow.last
		}
	})
}

// watch gives the events of the session to take, until the function that it
// returns is called; that one waits until all has been taken.
func (r *runner) watch(take func(uzda.Event)) func() {
	ctx, cancel := context.WithCancel(context.Background())
	done, seen := make(chan struct{}), r.head
	note := func(e uzda.Event) {
		if e.Seq > 0 {
			seen = e.Seq
		}
		take(e)
	}
	go func() {
		defer close(done)
		for e, err := range r.host.Watch(ctx, r.id, r.head) {
			if err != nil {
				fmt.Fprintln(r.err, "uzda: warning:", err)
				return
			}
			note(e)
		}
	}()
	return sync.OnceFunc(func() {
		cancel()
		<-done
		for e, err := range r.store.Read(context.Background(), r.id, seen) {
			if err != nil {
				return
			}
			note(e)
		}
		r.head = seen
	})
}

// trace writes the spans of the session to a file and returns its path.
func (r *runner) trace(ctx context.Context) string {
	path := r.traceOf(r.id)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = writeTrace(ctx, r.store, r.id, path)
	}
	if err != nil {
		fmt.Fprintln(r.err, "uzda: warning: the trace could not be written:", err)
		return ""
	}
	return path
}

func writeTrace(ctx context.Context, j uzda.Journal, id uzda.SessionID, path string) error {
	spans, err := spansOf(ctx, j, id)
	if err != nil {
		return err
	}
	f, err := os.Create(path + ".new") // one name: what a kill leaves behind is written over
	if err != nil {
		return err
	}
	err = errors.Join(trace.WriteJSONL(f, spans), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// report prints the end of a run: the answer on standard output, the rest beside.
func (r *runner) report(s *agent.State, o *uzda.Outcome, res result) error {
	code := o.Reason.Exit()
	if r.json() {
		writeJSON(r.out, res)
	} else if o.Reason.Outcome() == uzda.Finished {
		if answer := r.answerOf(o); answer != r.shown || answer == "" {
			fmt.Fprintln(r.out, r.screen(answer))
		}
	} else if o.Answer != "" && o.Reason.Outcome() != uzda.Waiting {
		fmt.Fprintf(r.err, "\nNot an answer, but what was said last:\n%s\n\n", safeLines(uzda.Clip(o.Answer, 2000)))
	}
	for _, p := range res.Pending {
		fmt.Fprint(r.err, r.waiting(r.id, r.root(), p, false, paint{r.plain}))
	}
	for _, u := range res.Unknown {
		d := s.Unknown[u]
		fmt.Fprintf(r.err, "Unknown: nobody knows whether use %s of %s took effect. Find out, then: uzda resolve %s %s yes|no\n", u, safe(d.Tool), r.id, u)
	}
	fmt.Fprintln(r.err, summary(r.id, o, res, r.width))
	if o.Hint != "" && code != 0 {
		fmt.Fprintln(r.err, onSession(o.Hint, r.id))
	}
	if code == 0 {
		return nil
	}
	return &exit{code: code}
}

// summary is the last line of a run: how it ended, and what it took. On a terminal
// of some columns it breaks between its parts.
func summary(id uzda.SessionID, o *uzda.Outcome, res result, columns int) string {
	line := fmt.Sprintf("%s: %s", o.Reason.Outcome(), o.Reason)
	if o.Detail != "" {
		line += ": " + safe(o.Detail)
	}
	money := "cost unknown"
	if res.Cost != nil {
		money = short(*res.Cost)
		if res.Bound {
			money = "at least " + money
		}
	}
	tokens := res.Usage.Input + res.Usage.Output + res.Usage.CacheRead + res.Usage.CacheWrite
	parts := []string{line, plural(res.Steps, "step"), plural(res.Calls, "tool call"), thousands(tokens) + " tokens", money, "session " + string(id)}
	if columns < 40 {
		return strings.Join(parts, " · ")
	}
	return flowed(parts, columns)
}

// screen makes an answer safe for a terminal; elsewhere its bytes stay.
func (r *runner) screen(answer string) string {
	if r.out.tty {
		return safeLines(answer)
	}
	return answer
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return thousands(n) + " " + what + "s"
}

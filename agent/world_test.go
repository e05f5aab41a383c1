package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/model/script"
	"github.com/uzda-dev/uzda/sqlite"
)

const sid = uzda.SessionID("s")

// world is what tools act on. It outlives crashes of their runner.
type world struct {
	mu   sync.Mutex
	runs map[string]int // effects by tool and key
	logs []string       // +tool and -tool: begin and end of calls, in order
	file string         // effects are written here too, for child processes
	pre  string         // what a preview depends on
}

func (w *world) note(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.logs = append(w.logs, text)
}

func (w *world) effect(u uzda.Use) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.runs == nil {
		w.runs = map[string]int{}
	}
	w.runs[u.Name+" "+u.Key]++
	if w.file == "" {
		return
	}
	f, err := os.OpenFile(w.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(f, u.Name, u.Key)
	if err := f.Close(); err != nil {
		panic(err)
	}
}

// log is what ran, in order.
func (w *world) log() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.logs, " ")
}

// ran counts the effects of a tool.
func (w *world) ran(tool string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k, times := range w.runs {
		if strings.HasPrefix(k, tool+" ") {
			n += times
		}
	}
	return n
}

func (w *world) precondition(v string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pre = v
}

type call func(ctx context.Context, u uzda.Use) (uzda.Result, error)

// fake is a tool that notes its effect and then does what call says, if anything.
type fake struct {
	w    *world
	spec uzda.ToolSpec
	call call
}

func (t fake) Spec() uzda.ToolSpec { return t.spec }

func (t fake) Call(ctx context.Context, u uzda.Use) (uzda.Result, error) {
	t.w.note("+" + u.Name)
	defer t.w.note("-" + u.Name)
	t.w.effect(u)
	if t.call != nil {
		return t.call(ctx, u)
	}
	return text("ok " + string(u.Input)), nil
}

// Check refuses {"bad":…}.
func (t fake) Check(in json.RawMessage) (json.RawMessage, error) {
	if strings.Contains(string(in), `"bad"`) {
		return nil, errors.New("bad: no such field")
	}
	return in, nil
}

// shown is a fake with a preview.
type shown struct{ fake }

func (t shown) Preview(context.Context, uzda.Use) (string, string, error) {
	t.w.mu.Lock()
	defer t.w.mu.Unlock()
	return "will " + t.spec.Name, t.w.pre, nil
}

func text(s string) uzda.Result { return uzda.Result{Blocks: uzda.Say(s)} }

func (w *world) tool(name string, e uzda.Effects, do call) uzda.Tool {
	f := fake{w, uzda.ToolSpec{Name: name, Effects: e, Once: name == "pay", Final: name == "answer"}, do}
	if name == "send" {
		return shown{f}
	}
	return f
}

var reads = uzda.Effects{ReadOnly: true}

// tools are one of each kind.
func (w *world) tools() []uzda.Tool {
	return []uzda.Tool{
		w.tool("read", reads, nil),
		w.tool("look", reads, func(context.Context, uzda.Use) (uzda.Result, error) {
			time.Sleep(3 * time.Millisecond) // slow enough that others land before it
			return text("seen"), nil
		}),
		w.tool("put", uzda.Effects{Idempotent: true}, nil),
		w.tool("write", uzda.Effects{}, nil),
		w.tool("pay", uzda.Effects{}, nil),
		w.tool("send", uzda.Effects{Irreversible: true}, nil),
		w.tool("answer", reads, nil),
	}
}

// asks wants a person to be asked for these tools.
type asks string

func (a asks) Check(_ context.Context, x uzda.Action) (uzda.Verdict, error) {
	for _, g := range x.Grants {
		if g.Rule == x.Spec.Name {
			return uzda.Verdict{Decision: uzda.Allow, Rule: g.Rule}, nil
		}
	}
	if slices.Contains(strings.Fields(string(a)), x.Spec.Name) {
		return uzda.Verdict{Decision: uzda.Ask, Reason: "rule"}, nil
	}
	return uzda.Verdict{Decision: uzda.Allow}, nil
}

// denies denies these tools.
type denies string

func (d denies) Check(_ context.Context, x uzda.Action) (uzda.Verdict, error) {
	if slices.Contains(strings.Fields(string(d)), x.Spec.Name) {
		return uzda.Verdict{Decision: uzda.Deny, Reason: "rule"}, nil
	}
	return uzda.Verdict{Decision: uzda.Allow}, nil
}

// calls is a turn that calls tools, each with its place as the argument.
func calls(names ...string) script.Turn {
	var t script.Turn
	for i, n := range names {
		t.Calls = append(t.Calls, script.Call{Name: n, Input: fmt.Sprintf(`{"n":%d}`, i)})
	}
	return t
}

// same is a turn with one call whose arguments are given.
func same(name, input string) script.Turn {
	return script.Turn{Calls: []script.Call{{Name: name, Input: input}}}
}

var bye = script.Turn{Text: "done"}

// store is all that a session's store offers.
type store interface {
	uzda.Store
	uzda.Ledger
	uzda.Blobs
	uzda.Keeper
}

var errCrash = errors.New("crash")

// crasher is a store whose process dies at append At, before it is stored or
// after. Each append is first announced to Before.
type crasher struct {
	store
	At     int // 0: never
	After  bool
	Die    func() // default: every append fails from then on
	Before func(n int)

	mu   sync.Mutex
	n    int
	dead bool
}

func (c *crasher) Append(ctx context.Context, id uzda.SessionID, at uzda.At, b ...uzda.Body) ([]uzda.Event, error) {
	c.mu.Lock()
	if c.dead {
		c.mu.Unlock()
		return nil, errCrash
	}
	c.n++
	n := c.n
	dies := n == c.At
	c.dead = dies
	c.mu.Unlock()
	if c.Before != nil {
		c.Before(n)
	}
	if !dies {
		return c.store.Append(ctx, id, at, b...)
	}
	if c.After {
		if _, err := c.store.Append(ctx, id, at, b...); err != nil { // a conflict: it dies at the next one
			c.mu.Lock()
			defer c.mu.Unlock()
			c.dead, c.At = false, c.At+1
			return nil, err
		}
	}
	if c.Die != nil {
		c.Die()
	}
	return nil, errCrash
}

// count is how many appends there were.
func (c *crasher) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// Keep and Put of a dead process do nothing either.
func (c *crasher) Keep(ctx context.Context, id uzda.SessionID, data []byte) error {
	c.mu.Lock()
	dead := c.dead
	c.mu.Unlock()
	if dead {
		return errCrash
	}
	return c.store.Keep(ctx, id, data)
}

func post(t testing.TB, j uzda.Journal, b uzda.Body) uzda.Seq {
	t.Helper()
	evs, err := j.Append(context.Background(), sid, uzda.At{Head: uzda.AnyHead}, b)
	if err != nil {
		t.Fatal(err)
	}
	return evs[0].Seq
}

func hello(id string) uzda.Posted { return uzda.Posted{ID: id, Blocks: uzda.Say("go " + id)} }

func events(t testing.TB, j uzda.Journal) []uzda.Event { return eventsOf(t, j, sid) }

func eventsOf(t testing.TB, j uzda.Journal, id uzda.SessionID) (evs []uzda.Event) {
	t.Helper()
	for e, err := range j.Read(context.Background(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		evs = append(evs, e)
	}
	return evs
}

func kinds(t testing.TB, j uzda.Journal) string {
	t.Helper()
	var out []string
	for _, e := range events(t, j) {
		out = append(out, e.Body.Kind())
	}
	return strings.Join(out, " ")
}

// kept collects the bodies of one kind.
func kept[T uzda.Body](t testing.TB, j uzda.Journal) (out []T) {
	t.Helper()
	for _, e := range events(t, j) {
		if b, ok := e.Body.(T); ok {
			out = append(out, b)
		}
	}
	return out
}

// faithful checks after each append that the live state equals a reloaded one,
// that its JSON gives it again, and that both decide the same.
func faithful(t testing.TB, j uzda.Journal) func(*agent.State) {
	return func(live *agent.State) {
		t.Helper()
		s := &agent.State{}
		for _, e := range events(t, j) {
			if e.Seq <= live.Head {
				s.Fold(e)
			}
		}
		if !s.Equal(live) {
			a, _ := json.Marshal(live)
			b, _ := json.Marshal(s)
			t.Errorf("the live state differs from a reloaded one at %d:\n%s\n%s", live.Head, a, b)
		}
		roundTrips(t, s)
	}
}

// roundTrips checks that a state survives JSON, as it must as a checkpoint.
func roundTrips(t testing.TB, s *agent.State) {
	t.Helper()
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	again := &agent.State{}
	if err := json.Unmarshal(raw, again); err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	a, b := fmt.Sprintf("%+v", s.Next(now, agent.Hand{})), fmt.Sprintf("%+v", again.Next(now, agent.Hand{}))
	if !s.Equal(again) || a != b {
		t.Errorf("a state does not survive JSON at %d:\n%s\n%s\n%s", s.Head, raw, a, b)
	}
}

// answers answers all that has been asked; each question gets one answer.
func answers(t testing.TB, j uzda.Journal, d uzda.Decision) {
	t.Helper()
	for _, e := range events(t, j) {
		if b, ok := e.Body.(uzda.Judged); ok && b.Verdict.Decision == uzda.Ask {
			post(t, j, uzda.Answered{ID: fmt.Sprint("a", e.Seq), Use: b.Use, Hash: b.Hash, Verdict: uzda.Verdict{Decision: d}})
		}
	}
}

func runner(w *world, j uzda.Store, turns ...script.Turn) *agent.Runner {
	return &agent.Runner{
		Agent: agent.Agent{Model: script.Model{Turns: turns, ByView: true}, Tools: w.tools()},
		Store: j, Holder: "test", Poll: 2 * time.Millisecond, Grace: 50 * time.Millisecond,
	}
}

// run runs the session once and wants no error.
func run(t testing.TB, r *agent.Runner) *agent.State {
	t.Helper()
	s, err := r.Run(context.Background(), sid)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func reason(s *agent.State) uzda.Reason {
	if o := s.Outcome(sid); o != nil {
		return o.Reason
	}
	return ""
}

func mem() *journal.Mem { return journal.Memory() }

// results are all results in the view, in order.
func results(s *agent.State) (out []uzda.ToolResult) {
	for _, e := range s.View {
		out = append(out, e.Message.Results()...)
	}
	return out
}

func valid(t testing.TB, s *agent.State) {
	t.Helper()
	if err := uzda.Valid(s.View); err != nil {
		t.Errorf("the view is not valid: %v", err)
	}
}

// openStore opens a store as another process would.
func openStore(kind, dir string) (store, error) {
	if kind == "sqlite" {
		return sqlite.OpenWith(filepath.Join(dir, "s.uzda"), sqlite.Options{Durability: "process"})
	}
	return journal.OpenFiles(dir, journal.FilesOptions{Durability: "process", Warn: func(string) {}})
}

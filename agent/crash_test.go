package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/model/script"
)

// full says whether the long matrices are wanted.
func full() bool { return os.Getenv("UZDA_FULL") != "" && !testing.Short() }

// story uses every kind of tool.
var story = []script.Turn{calls("read", "look"), calls("write", "read", "pay"), calls("put"), calls("send"), bye}

// teller runs the story; send is asked for.
func teller(t testing.TB, w *world, j uzda.Store, turns []script.Turn) *agent.Runner {
	r := runner(w, j)
	r.Model = script.Model{Turns: append(slices.Clone(turns), bye, bye, bye, bye), ByView: true}
	r.Gates = []uzda.Gate{asks("send")}
	if t != nil {
		r.Folded = faithful(t, j)
	}
	return r
}

// settle runs a session to its end with fresh runners, answering what is asked.
func settle(t testing.TB, j uzda.Store, fresh func() *agent.Runner) *agent.State {
	t.Helper()
	for range 12 {
		s := run(t, fresh())
		if s.Parked == nil && s.Turn.Seq == 0 {
			return s
		}
		answers(t, j, uzda.Allow)
	}
	t.Fatalf("it does not come to an end: %s", kinds(t, j))
	return nil
}

// sound holds for every run of a story, however it was disturbed: the view is
// valid, the turn has ended, no effect happened twice, and what may have happened
// is said.
func sound(t testing.TB, w *world, s *agent.State, j uzda.Journal) {
	t.Helper()
	valid(t, s)
	if s.Ended == nil || s.Turn.Seq != 0 || s.Ended.Outcome == uzda.Failed {
		t.Errorf("ended %+v, turn %d", s.Ended, s.Turn.Seq)
	}
	told, known := map[uzda.UseID]uzda.ToolResult{}, map[uzda.UseID]bool{}
	for _, e := range events(t, j) {
		switch b := e.Body.(type) {
		case uzda.Resolved:
			known[b.Use] = true
		case uzda.Late:
			known[b.Result.Use] = true
		}
	}
	for _, r := range results(s) {
		told[r.Use] = r
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range kept[uzda.Started](t, j) {
		if b.Effects.Again() {
			continue
		}
		for k, n := range w.runs {
			if !strings.HasSuffix(k, " "+b.Key) {
				continue
			}
			if n > 1 {
				t.Errorf("%s ran %d times", k, n)
			}
			if r, ok := told[b.Use]; ok && r.Effect == uzda.EffectNone {
				t.Errorf("%s ran, and the model was told that nothing happened: %s", k, r.Blocks)
			}
		}
		if told[b.Use].Effect == uzda.EffectUnknown {
			if _, open := s.Unknown[b.Use]; !open && !known[b.Use] {
				t.Errorf("the unknown outcome of %s is not kept", b.Use)
			}
		}
	}
}

// A crash before and after every append. case:S06
func TestCrashAtEveryAppend(t *testing.T) {
	t.Parallel()
	crashes, unknown := 0, 0
	for n := 1; ; n++ {
		for _, after := range []bool{false, true} {
			j, w := mem(), &world{pre: "1"}
			post(t, j, hello("1"))
			c := &crasher{store: j, At: n, After: after}
			r := teller(t, w, c, story)
			var err error
			for range 3 {
				if _, err = r.Run(t.Context(), sid); err != nil {
					break
				}
				answers(t, j, uzda.Allow)
			}
			if err == nil {
				t.Logf("%d crashes, %d unknown outcomes", crashes, unknown)
				if crashes < 20 || unknown == 0 {
					t.Error("that proves little")
				}
				return
			}
			if !errors.Is(err, errCrash) || !r.Close() {
				t.Fatal(err)
			}
			crashes++
			s := settle(t, j, func() *agent.Runner { return teller(t, w, j, story) })
			sound(t, w, s, j)
			unknown += len(s.Unknown)
			if want := 1; w.ran("write") != want && w.ran("write") != 0 {
				t.Errorf("write ran %d times", w.ran("write"))
			}
			if t.Failed() {
				t.Fatalf("crash at append %d, after %v: %s", n, after, kinds(t, j))
			}
		}
	}
}

// Others post, answer or cancel before every append, and there is a crash at
// every append as well.
func TestOthersAtEveryAppend(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"post", "answer", "cancel"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stories, step := 0, 3
			if full() {
				step = 1
			}
			for n := 1; ; n++ {
				last := 0
				for crash := 0; crash <= last; crash += step {
					j, w := mem(), &world{pre: "1"}
					post(t, j, hello("1"))
					c := &crasher{store: j, At: crash, After: (n+crash)%2 == 0, Before: func(k int) {
						if k == n {
							disturb(t, j, name)
						}
					}}
					r := teller(t, w, c, story)
					for range 4 {
						if _, err := r.Run(t.Context(), sid); errors.Is(err, errCrash) {
							break
						} else if err != nil {
							t.Fatal(err)
						}
						answers(t, j, uzda.Allow)
					}
					if !r.Close() {
						t.Fatal("a tool still works")
					}
					if crash == 0 {
						last = c.count()
					}
					s := settle(t, j, func() *agent.Runner { return teller(t, w, j, story) })
					sound(t, w, s, j)
					if crash == 0 && name != "cancel" { // then nothing that happened may be lost
						all := kinds(t, j)
						if len(s.Unknown) > 0 || strings.Count(all, "asked") != strings.Count(all, "said") {
							t.Errorf("lost outcomes: unknown %v", s.Unknown)
						}
					}
					stories++
					if t.Failed() {
						t.Fatalf("at append %d, crash at %d: %s", n, crash, kinds(t, j))
					}
				}
				if n > last {
					break
				}
			}
			t.Logf("%d stories", stories)
		})
	}
}

func disturb(t testing.TB, j uzda.Journal, how string) {
	switch how {
	case "post":
		post(t, j, hello("2"))
	case "answer":
		answers(t, j, uzda.Allow)
	case "cancel":
		post(t, j, uzda.Cancelled{ID: "c"})
	}
}

// labelled asks for what is not read-only once something untrusted has come in.
type labelled struct{}

func (labelled) Check(_ context.Context, x uzda.Action) (uzda.Verdict, error) {
	if len(x.Labels) > 0 && !x.Spec.Effects.ReadOnly {
		return uzda.Verdict{Decision: uzda.Ask, Reason: fmt.Sprint("labels ", len(x.Labels))}, nil
	}
	return uzda.Verdict{Decision: uzda.Allow}, nil
}

// Random stories with crashes and inputs of others at random moments.
func TestRandomStories(t *testing.T) {
	t.Parallel()
	names := []string{"read", "look", "put", "write", "pay", "send", "nope", "child", "page", "answer"}
	seeds := 30
	if full() {
		seeds = 600
	}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 7))
			var turns []script.Turn
			for range 1 + rnd.IntN(5) {
				var step []string
				for range 1 + rnd.IntN(4) {
					step = append(step, names[rnd.IntN(len(names))])
				}
				turns = append(turns, calls(step...))
			}
			j, w := mem(), &world{pre: "1"}
			fresh := func(to uzda.Store) *agent.Runner {
				r := teller(t, w, to, turns)
				r.Gates = []uzda.Gate{asks("send"), labelled{}}
				if rnd.IntN(2) == 0 {
					r.Gates = append(r.Gates, slowGate{})
				}
				if rnd.IntN(2) == 0 {
					r.Planner, r.Budget = clearer{asks: rnd.IntN(2) == 0}, 1
				}
				r.Tools = append(r.Tools,
					w.tool("child", uzda.Effects{Idempotent: true}, func(_ context.Context, u uzda.Use) (uzda.Result, error) {
						return uzda.Result{Pending: &uzda.Pending{On: "child", Ref: u.Key}}, nil
					}),
					w.tool("page", reads, func(_ context.Context, u uzda.Use) (uzda.Result, error) {
						return uzda.Result{Blocks: uzda.Say("web"), Labels: []uzda.Label{{Kind: uzda.Untrusted, From: string(u.ID)}}}, nil
					}))
				return r
			}
			post(t, j, hello("first"))
			for range 9 {
				mess := &crasher{store: j, At: 1 + rnd.IntN(12), After: rnd.IntN(2) == 0, Before: func(int) {
					if rnd.IntN(4) == 0 {
						meddle(t, j, w, rnd)
					}
				}}
				r := fresh(mess)
				if _, err := r.Run(t.Context(), sid); err != nil && !errors.Is(err, errCrash) {
					t.Fatal(err)
				}
				if !r.Close() {
					t.Fatal("a tool still works")
				}
				meddle(t, j, w, rnd)
			}
			for range 40 { // now it may come to an end
				answers(t, j, uzda.Allow)
				deliver(t, j)
				run(t, fresh(j))
			}
			s, err := agent.Load(t.Context(), j, sid)
			if err != nil {
				t.Fatal(err)
			}
			sound(t, w, s, j)
			if t.Failed() {
				t.Log(kinds(t, j))
			}
		})
	}
}

// meddle is what somebody else may do at any time.
func meddle(t testing.TB, j uzda.Journal, w *world, rnd *rand.Rand) {
	switch evs := events(t, j); rnd.IntN(6) {
	case 0:
		post(t, j, hello(fmt.Sprint(len(evs))))
	case 1:
		post(t, j, uzda.Cancelled{ID: fmt.Sprint("c", len(evs))})
	case 2:
		answers(t, j, []uzda.Decision{uzda.Allow, uzda.Deny}[rnd.IntN(2)])
	case 3:
		for i, b := range kept[uzda.Started](t, j) {
			if rnd.IntN(3) == 0 {
				post(t, j, uzda.Resolved{ID: fmt.Sprint("r", len(evs), i), Use: b.Use, Took: rnd.IntN(2) == 0})
			}
		}
	case 4:
		deliver(t, j)
	case 5:
		w.precondition(fmt.Sprint(rnd.IntN(3)))
	}
}

// deliver answers for every child that is waited for.
func deliver(t testing.TB, j uzda.Journal) {
	t.Helper()
	for _, b := range kept[uzda.Returned](t, j) {
		if b.Pending != nil {
			post(t, j, uzda.Delivered{ID: "d" + string(b.Result.Use), Result: uzda.ToolResult{Use: b.Result.Use, Blocks: uzda.Say("child"), Effect: uzda.EffectDone}})
		}
	}
}

// clearer clears the results of all but the last step, or becomes a summary of them
// that a model has made beside the session.
type clearer struct{ asks bool }

func (c clearer) Plan(ctx context.Context, v uzda.View) (uzda.Plan, error) {
	var edits []uzda.Edited
	if c.asks {
		by := script.Model{Agents: map[string]script.Agent{"summary": {Turns: []script.Turn{{Text: "so far"}}}}}
		reply, err := v.Side(ctx, by, &uzda.Request{Agent: uzda.SummaryAgent, Max: 10, Ask: 1})
		if err != nil {
			return uzda.Plan{Missed: []uzda.Missed{{What: uzda.MoveCompact, Why: err.Error()}}}, nil //nolint:nilerr // it is what the plan says
		}
		if v.Fixed == 0 {
			return uzda.Plan{}, nil
		}
		return uzda.Plan{Edits: []uzda.Edited{{What: uzda.MoveCompact, From: v.Entries[0].Seq, To: v.Entries[v.Fixed-1].Seq,
			With: []uzda.Entry{{Seq: v.Entries[0].Seq, Message: uzda.Message{Role: uzda.User, Blocks: reply.Message.Blocks}}}}}}, nil
	}
	for _, e := range v.Entries[:max(0, len(v.Entries)-2)] {
		m := uzda.Message{Role: uzda.User}
		for _, r := range e.Message.Results() {
			if e.Edit == 0 {
				r.Blocks = uzda.Say("[cleared]")
				m.Blocks = append(m.Blocks, r)
			}
		}
		if m.Blocks != nil {
			edits = append(edits, uzda.Edited{What: "clear", From: e.Seq, To: e.Seq, With: []uzda.Entry{{Seq: e.Seq, Message: m}}})
		}
	}
	return uzda.Plan{Edits: edits}, nil
}

// The store fails in the middle, as with a full disk: Run says so, nothing that
// was durable is lost, and the next Run goes on.
func TestStoreFails(t *testing.T) {
	t.Parallel()
	disk := fmt.Errorf("no space left on device: %w", uzda.ErrStorage)
	for n := 1; n < 8; n++ {
		j, w := mem(), &world{pre: "1"}
		post(t, j, hello("1"))
		c := &failing{store: j, from: n, err: disk}
		r := teller(t, w, c, story)
		s, err := r.Run(t.Context(), sid)
		if !errors.Is(err, uzda.ErrStorage) || s == nil || !r.Close() {
			t.Fatalf("append %d: %v", n, err)
		}
		c.from = 0
		sound(t, w, settle(t, j, func() *agent.Runner { return teller(t, w, c, story) }), j)
	}
}

type failing struct {
	store
	from, n int
	err     error
}

func (f *failing) Append(ctx context.Context, id uzda.SessionID, at uzda.At, b ...uzda.Body) ([]uzda.Event, error) {
	if f.n++; f.from > 0 && f.n >= f.from {
		return nil, f.err
	}
	return f.store.Append(ctx, id, at, b...)
}

// A head that moves without showing anything is an error, not a loop for ever.
func TestBrokenHead(t *testing.T) {
	t.Parallel()
	j := mem()
	post(t, j, hello("1"))
	r := runner(&world{}, &failing{store: j, from: 1, err: uzda.ErrConflict}, bye)
	if _, err := r.Run(t.Context(), sid); !errors.Is(err, uzda.ErrConflict) {
		t.Error(err)
	}
}

// The result of a use that is not read-only is durable while others still run.
func TestSurvivesAlone(t *testing.T) {
	t.Parallel()
	j, w := mem(), &world{}
	post(t, j, hello("1"))
	stored := make(chan bool)
	c := &crasher{store: j, Before: func(n int) {
		if n == 3 { // after [equipped asked] and [said judged started]
			close(stored)
		}
	}}
	r := runner(w, c, calls("slow", "quick"), bye)
	r.Tools = []uzda.Tool{
		w.tool("slow", reads, func(context.Context, uzda.Use) (uzda.Result, error) { <-stored; return text("slow"), nil }),
		w.tool("quick", uzda.Effects{Independent: true}, nil),
	}
	s := run(t, r)
	if rs := results(s); reason(s) != uzda.EndTurn || rs[0].Blocks.String() != "slow" {
		t.Error(kinds(t, j))
	}
}

// Two appends a step, and one more where a result must survive alone.
func TestCommits(t *testing.T) {
	t.Parallel()
	j, w := mem(), &world{}
	post(t, j, hello("1"))
	c := &crasher{store: j}
	run(t, runner(w, c, calls("read"), calls("read", "look"), calls("write"), bye))
	// [equipped asked] [said judged started] [returned asked] [said …] [returned returned asked] [said …] [returned asked] [said ended]
	if c.count() != 8 {
		t.Errorf("%d appends: %s", c.count(), kinds(t, j))
	}
}

// A wrong checkpoint is dropped: of another shape, damaged, or of a journal that
// has lost its end since.
func TestCheckpoints(t *testing.T) { // rule 14
	t.Parallel()
	long := slices.Repeat([]script.Turn{calls("read", "look"), calls("look", "put")}, 4)
	build := func() (*world, store) {
		j, w := stored{mem()}, &world{}
		post(t, j, hello("1"))
		r := runner(w, j, append(long, bye)...)
		r.Limits.Repeat = 99
		run(t, r)
		return w, j
	}
	_, j := build()
	raw, err := j.Kept(t.Context(), sid)
	if err != nil || len(raw) == 0 {
		t.Fatal("no checkpoint at rest", err)
	}
	want, err := agent.Load(t.Context(), bare{j}, sid)
	if err != nil {
		t.Fatal(err)
	}
	good, err := agent.Load(t.Context(), j, sid)
	if err != nil || !good.Equal(want) {
		t.Fatalf("from the checkpoint: %v", err)
	}
	for i, bad := range [][]byte{nil, []byte("{}"), raw[:len(raw)/2], []byte(strings.Replace(string(raw), "seen", "sown", 1)), []byte(strings.Replace(string(raw), `"codec":`, `"codec":9`, 1))} {
		if err := j.Keep(t.Context(), sid, bad); err != nil {
			t.Fatal(err)
		}
		if s, err := agent.Load(t.Context(), j, sid); err != nil || !s.Equal(want) {
			t.Errorf("wrong checkpoint %d was taken: %v", i, err)
		}
	}
	other := mem() // the same session, but another history
	post(t, other, hello("other"))
	if err := other.Keep(t.Context(), sid, raw); err != nil {
		t.Fatal(err)
	}
	if s, err := agent.Load(t.Context(), other, sid); err != nil || s.Head != 1 {
		t.Errorf("a checkpoint of another history was taken: %+v, %v", s, err)
	}
}

// A store that has its events in memory gets no checkpoint.
func TestNoCheckpoint(t *testing.T) {
	t.Parallel()
	j := mem()
	post(t, j, hello("1"))
	r := runner(&world{}, j, append(slices.Repeat([]script.Turn{calls("read", "look")}, 8), bye)...)
	r.Limits.Repeat = 99
	if s := run(t, r); s.Head < 30 {
		t.Fatal(s.Head)
	}
	if raw, err := j.Kept(t.Context(), sid); raw != nil || err != nil {
		t.Errorf("%d bytes, %v", len(raw), err)
	}
}

// bare hides all but the journal.
type bare struct{ uzda.Journal }

// stored hides that a store has its events in memory.
type stored struct{ store }

// What a provider sent comes back byte for byte from a checkpoint, and the hash
// of the view is the same after an edit. M2
func TestCheckpointKeepsBytes(t *testing.T) {
	t.Parallel()
	item := `{ "type": "text",  "text": "a <b> & \u00e9", "n": 1.0 }`
	j, w := stored{mem()}, &world{}
	post(t, j, hello("1"))
	r := runner(w, j)
	r.Model = items{script.Model{Turns: append(slices.Repeat([]script.Turn{same("read", `{"q": "<a> & b",  "n": 1.50}`)}, 8), bye), ByView: true}, item}
	r.Limits.Repeat = 99
	described := json.RawMessage(`{"type":"object","properties":{"q":{"description":"a <b> & c"}}}`)
	r.Tools = []uzda.Tool{fake{w, uzda.ToolSpec{Name: "read", Effects: reads, Input: described}, nil}}
	run(t, r)
	if raw, _ := j.Kept(t.Context(), sid); raw == nil {
		t.Fatal("no checkpoint")
	}
	slow, err := agent.Load(t.Context(), bare{j}, sid)
	if err != nil {
		t.Fatal(err)
	}
	quick, err := agent.Load(t.Context(), j, sid)
	if err != nil {
		t.Fatal(err)
	}
	for i := range slow.View {
		a, b := slow.View[i].Message, quick.View[i].Message
		if len(a.Items) != len(b.Items) || len(a.Items) > 0 && (string(a.Items[0].Raw) != item || string(b.Items[0].Raw) != item) {
			t.Fatalf("items of message %d: %v, %v", i, a.Items, b.Items)
		}
		for k, u := range a.Uses() {
			if got := b.Uses()[k]; string(got.Input) != string(u.Input) {
				t.Fatalf("input %s became %s", u.Input, got.Input)
			}
		}
	}
	if got := quick.Gear.Tools[0].Input; !bytes.Equal(got, described) {
		t.Errorf("schema %s", got)
	}
	edit := uzda.Event{Seq: slow.Head + 1, Body: uzda.Edited{What: "compact", From: slow.View[0].Seq, To: slow.View[2].Seq,
		With: []uzda.Entry{{Seq: slow.View[0].Seq, Message: uzda.Message{Role: uzda.User, Blocks: uzda.Say("so far")}}}}}
	slow.Fold(edit)
	quick.Fold(edit)
	if slow.Hash != quick.Hash || slow.Gen != 1 {
		t.Error("the hash of the view depends on the checkpoint")
	}
}

// items adds an item that stands for no block to each reply.
type items struct {
	script.Model
	raw string
}

func (m items) Stream(ctx context.Context, req *uzda.Request) iter.Seq2[uzda.Chunk, error] {
	return func(yield func(uzda.Chunk, error) bool) {
		first := true
		for c, err := range m.Model.Stream(ctx, req) {
			if d, ok := c.(uzda.Done); ok && first {
				d.Item, first = &uzda.Item{Blocks: 1, Raw: []byte(m.raw)}, false
				c = d
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

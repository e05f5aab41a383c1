package agent_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
)

var update = flag.Bool("update", false, "record the journals in testdata/replay that are missing")

// Recorded journals must fold and resume for ever: each names the hash of the
// view, the reason and how it goes on. A file that is there is never written again.
func TestReplay(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("testdata", "replay")
	if *update {
		record(t, dir)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) < 5 {
		t.Fatalf("%d recorded journals, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(strings.TrimSuffix(file, ".jsonl") + ".want")
			if err != nil {
				t.Fatal(err)
			}
			if got := outcome(t, raw); got != string(want) {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

// outcome folds lines and goes on with them.
func outcome(t *testing.T, raw []byte) string {
	var out bytes.Buffer
	show := func(what string, s *agent.State) {
		closed := s.View
		if len(s.Uses) > 0 { // their results come last
			closed = closed[:len(closed)-1]
		}
		if err := uzda.Valid(closed); err != nil {
			t.Error(err)
		}
		facts := map[string]any{"at": what, "reason": reason(s), "unknown": len(s.Unknown), "waits": len(s.Waits()), "messages": len(s.View), "read_only": s.ReadOnly}
		if what == "recorded" { // what comes after it holds texts of ours, which may get better
			facts["head"], facts["hash"], facts["asks"], facts["tokens"] = s.Head, s.Hash, s.Asks, s.Usage.Total()
		}
		line, err := json.Marshal(facts)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(line, '\n'))
	}
	s := &agent.State{}
	var evs []uzda.Event
	for line := range bytes.Lines(raw) {
		l, ok := uzda.SplitLine(line)
		if !ok {
			t.Fatalf("no line: %q", line)
		}
		if err := l.Check(); err != nil {
			t.Fatal(err)
		}
		e, _, err := uzda.Open(l, nil)
		if err != nil {
			t.Fatal(err)
		}
		s.Fold(e)
		evs = append(evs, e)
	}
	roundTrips(t, s)
	show("recorded", s)
	j, w := mem(), &world{pre: "1"}
	for _, e := range evs { // the same events, in a store that can go on
		if _, unread := e.Body.(uzda.Unread); unread {
			e.Body = uzda.Noted{ID: e.Body.Kind(), Text: "stands for a kind that stores of today do not write"}
		}
		at := uzda.At{Head: uzda.AnyHead}
		if uzda.ClassOf(e.Body) != uzda.ClassInbox {
			epoch, err := j.Acquire(t.Context(), sid, "replay")
			if err != nil {
				t.Fatal(err)
			}
			at = uzda.At{Head: e.Seq - 1, Epoch: epoch}
		}
		if _, err := j.Append(t.Context(), sid, at, e.Body); err != nil {
			t.Fatal(err)
		}
		if err := j.Release(t.Context(), sid, at.Epoch); err != nil {
			t.Fatal(err)
		}
	}
	if s.ReadOnly != "" {
		return out.String()
	}
	s = settle(t, j, func() *agent.Runner { return teller(t, w, j, story) })
	sound(t, w, s, j)
	show("gone on", s)
	return out.String()
}

// record writes the journals that are missing.
func record(t *testing.T, dir string) {
	clock := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, build := range map[string]func(*world, store){
		"whole":  func(w *world, j store) { settle(t, j, func() *agent.Runner { return teller(t, w, j, story) }) },
		"parked": func(w *world, j store) { run(t, teller(t, w, j, story)) },
		"killed": func(w *world, j store) { dies(t, w, j, 7) },
		"lost":   func(w *world, j store) { dies(t, w, j, 2) },
		"cancelled": func(w *world, j store) {
			dies(t, w, j, 5)
			post(t, j, uzda.Cancelled{ID: "c"})
			run(t, teller(t, w, j, story))
		},
		"edited": func(w *world, j store) {
			r := teller(t, w, j, story)
			r.Planner, r.Budget = clearer{}, 1
			run(t, r)
		},
		"unknown":      func(w *world, j store) { run(t, teller(t, w, j, story)) },
		"unknown-need": func(w *world, j store) { run(t, teller(t, w, j, story)) },
	} {
		file := filepath.Join(dir, name)
		if _, err := os.Stat(file + ".jsonl"); err == nil {
			continue
		}
		j, w := mem(), &world{pre: "1"}
		j.Now = func() time.Time { clock = clock.Add(time.Millisecond); return clock }
		post(t, j, hello("1"))
		build(w, j)
		var raw []byte
		link := ""
		for _, e := range events(t, j) {
			l, err := uzda.Seal(&e, nil)
			if err != nil {
				t.Fatal(err)
			}
			raw, link = l.Append(raw), l.Link
		}
		if strings.HasPrefix(name, "unknown") {
			raw = append(raw, strange(len(events(t, j))+1, link, name == "unknown-need")...)
		}
		if err := os.WriteFile(file+".jsonl", raw, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file+".want", []byte(outcome(t, raw)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func dies(t *testing.T, w *world, j store, at int) {
	r := teller(t, w, &crasher{store: j, At: at}, story)
	if _, err := r.Run(t.Context(), sid); err == nil {
		t.Fatal("it did not die")
	}
	r.Close()
}

// strange is an event of a kind that a later program may write.
func strange(seq int, prev string, need bool) []byte {
	body := `{"loud":true}`
	head := map[string]any{"seq": seq, "at": "2026-01-02T03:04:06Z", "kind": "mooed", "v": 1, "need": need, "sum": uzda.Hash([]byte(body)), "prev": prev}
	raw, err := json.Marshal(head)
	if err != nil {
		panic(err)
	}
	return uzda.Line{Head: raw, Body: []byte(body)}.Append(nil)
}

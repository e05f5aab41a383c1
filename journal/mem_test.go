package journal_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/journal/journaltest"
)

func TestMemConformance(t *testing.T) {
	t.Parallel()
	journaltest.Run(t, func(_ *testing.T, now func() time.Time) func() uzda.Store {
		m := journal.Memory()
		m.Now = now
		return func() uzda.Store { return m }
	})
}

// Who changes a body after it was appended is found out.
func TestMemVerify(t *testing.T) {
	t.Parallel()
	m := journal.Memory()
	blocks := uzda.Say("pay 10")
	evs := post(t, m, note(1, "one"), uzda.Posted{ID: "p", Blocks: blocks})
	sound(t, m)
	evs[1].Body.(uzda.Posted).Blocks[0] = uzda.Text{Text: "pay 99"}
	found := uzda.Seq(0)
	if err := m.Verify(ctx, func(_ uzda.SessionID, seq uzda.Seq, _ error) { found = seq }); err != nil || found != 2 {
		t.Errorf("a changed body is found at %d, %v", found, err)
	}
}

// An append in memory stays cheap: the loop does two a step.
func TestMemAllocations(t *testing.T) {
	m := journal.Memory()
	epoch, err := m.Acquire(ctx, id, "test")
	if err != nil {
		t.Fatal(err)
	}
	said, returned := step(strings.Repeat("0123456789abcdef", 64))
	n := 0
	got := testing.AllocsPerRun(500, func() {
		at := uzda.At{Head: uzda.Seq(n), Epoch: epoch}
		if _, err := m.Append(ctx, id, at, said, returned); err != nil {
			t.Fatal(err)
		}
		n += 2
	})
	if got > 30 {
		t.Errorf("%v allocations for an append of two events, want at most 30", got)
	}
}

// step returns a reply with a call and its result, of a size.
func step(text string) (uzda.Said, uzda.Returned) {
	said := uzda.Said{
		Message: uzda.Message{
			Role: uzda.Assistant, Origin: &uzda.Origin{Profile: "script", Model: "m"},
			Blocks: uzda.Blocks{uzda.Text{Text: "Looking."}, uzda.ToolUse{ID: "1.1", Wire: "w", Name: "look", Input: []byte(`{"path":"a"}`)}},
		},
		Stop: uzda.StopUse, Usage: uzda.Usage{Input: 10, Output: 5},
	}
	return said, uzda.Returned{Result: uzda.ToolResult{Use: "1.1", Blocks: uzda.Say(text)}, Active: 5}
}

func BenchmarkAppend(b *testing.B) {
	said, returned := step(strings.Repeat("0123456789abcdef", 64))
	for _, name := range []string{"memory", "files", "files for the process"} {
		b.Run(name, func(b *testing.B) {
			var st uzda.Store = journal.Memory()
			if name != "memory" {
				o := journal.FilesOptions{}
				if name != "files" {
					o.Durability = "process"
				}
				f, err := journal.OpenFiles(b.TempDir(), o)
				if err != nil {
					b.Fatal(err)
				}
				defer f.Close()
				st = f
			}
			epoch, err := st.Acquire(ctx, id, "bench")
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for n := range b.N {
				if _, err := st.Append(ctx, id, uzda.At{Head: uzda.Seq(2 * n), Epoch: epoch}, said, returned); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOpen is the time until a new handle knows the end of a long session.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	f, err := journal.OpenFiles(dir, journal.FilesOptions{Durability: "process"})
	if err != nil {
		b.Fatal(err)
	}
	const many = 50_000
	for i := 0; i < many; i += 500 {
		var bodies []uzda.Body
		for j := range 500 {
			bodies = append(bodies, note(i+j, strings.Repeat("x", 1000)))
		}
		if _, err := f.Append(ctx, id, uzda.At{Head: uzda.AnyHead}, bodies...); err != nil {
			b.Fatal(err)
		}
	}
	for _, index := range []bool{false, true} {
		b.Run(fmt.Sprint("index ", index), func(b *testing.B) {
			if index {
				if err := f.Close(); err != nil { // saves it
					b.Fatal(err)
				}
			}
			for b.Loop() {
				g, err := journal.OpenFiles(dir, journal.FilesOptions{Durability: "process"})
				if err != nil {
					b.Fatal(err)
				}
				for e, err := range g.Read(ctx, id, many-1) {
					if err != nil || e.Seq != many {
						b.Fatal(e.Seq, err)
					}
				}
			}
		})
	}
}

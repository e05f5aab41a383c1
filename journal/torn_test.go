package journal_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/journal"
)

var ctx = context.Background()

const id = uzda.SessionID("s")

func note(n any, text string) uzda.Noted { return uzda.Noted{ID: fmt.Sprint(n), Text: text} }

func post(t *testing.T, st uzda.Journal, bodies ...uzda.Body) []uzda.Event {
	t.Helper()
	evs, err := st.Append(ctx, id, uzda.At{Head: uzda.AnyHead}, bodies...)
	if err != nil {
		t.Fatalf("append: %v", err)
	}
	return evs
}

func read(t *testing.T, st uzda.Journal, id uzda.SessionID) (evs []uzda.Event) {
	t.Helper()
	for e, err := range st.Read(ctx, id, 0) {
		if err != nil {
			t.Fatalf("read: %v", err)
		}
		evs = append(evs, e)
	}
	return evs
}

func sound(t *testing.T, st uzda.Verifier) {
	t.Helper()
	err := st.Verify(ctx, func(id uzda.SessionID, seq uzda.Seq, err error) { t.Errorf("session %s, event %d: %v", id, seq, err) })
	if err != nil {
		t.Errorf("verify: %v", err)
	}
}

// case:S01: a crash at every byte of an append loses the torn record, once and
// with a warning, and nothing else; a whole record without its newline is kept.
func TestTornAtEveryByte(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	st := open(t, dir, journal.FilesOptions{Durability: "process"})
	hard := "lines\nand\r\nmore\u2028\u2029 \xed\xa0\x80 \\ud800 \x00 ,\"body\":{} 🙂"
	post(t, st, note(1, hard), note(2, "second"))
	file := filepath.Join(dir, "s.jsonl")
	before := size(t, file)
	post(t, st, note(3, hard), note(4, hard))
	all := read(t, st, id)
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for cut := before; cut <= len(raw); cut++ {
		whole := bytes.Count(raw[:cut], []byte("\n"))
		if cut < len(raw) && raw[cut] == '\n' {
			whole++ // all but the newline
		}
		torn := cut > 0 && raw[cut-1] != '\n' && (cut == len(raw) || raw[cut] != '\n')
		tornAt(t, raw[:cut], all[:whole], torn)
	}
}

// tornAt opens a journal as a crash left it.
func tornAt(t *testing.T, raw []byte, want []uzda.Event, torn bool) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s.jsonl"), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	var warnings []string
	o := journal.FilesOptions{Durability: "process", Warn: func(text string) { warnings = append(warnings, text) }}
	st := open(t, dir, o)
	if len(raw)%2 == 0 { // half of the time the first thing is an append
		post(t, st, note("first", "after the crash"))
	}
	got := read(t, st, id)
	for i, e := range want {
		if i >= len(got) || got[i].Sum != e.Sum || got[i].Body != e.Body {
			t.Fatalf("cut at %d: event %d is lost or changed", len(raw), i+1)
		}
	}
	if torn != (len(warnings) == 1) || len(warnings) > 1 {
		t.Errorf("cut at %d: torn is %v, warnings %q", len(raw), torn, warnings)
	}
	post(t, st, note("again", "after the crash"))
	again := open(t, dir, journal.FilesOptions{Durability: "process"}) // it fails on a warning
	post(t, again, note("and again", "x"))
	if n, more := len(read(t, again, id)), 2+(len(raw)+1)%2; n != len(want)+more {
		t.Errorf("cut at %d: %d events, want %d", len(raw), n, len(want)+more)
	}
	sound(t, again)
}

// case:S01: pages that were not written before the power went read as zeros.
// They are cut away, but kept beside the journal; what else is wrong in a record
// is an error, and the file stays as it is.
func TestDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	st := open(t, dir, journal.FilesOptions{})
	post(t, st, note(1, "one"), note(2, "two"), note(3, "three"))
	file := filepath.Join(dir, "s.jsonl")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(raw, []byte("\n"))
	zeros := bytes.Join([][]byte{lines[0], make([]byte, len(lines[1])), lines[2]}, nil)
	for _, c := range []struct {
		name string
		raw  []byte
		want int    // events, -1: an error
		warn string // part of it
	}{
		{"zeros", zeros, 1, "tore"},
		{"zeros at the end", append(bytes.Clone(raw), make([]byte, 4096)...), 3, "tore"},
		{"a line that is gone", bytes.Join([][]byte{lines[0], lines[2]}, nil), -1, ""},
		{"a line twice", bytes.Join([][]byte{lines[0], lines[1], lines[1], lines[2]}, nil), -1, ""},
		{"text between", bytes.Join([][]byte{lines[0], []byte("hello\n"), lines[1]}, nil), -1, ""},
		{"an empty file", nil, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "s.jsonl")
			if err := os.WriteFile(file, c.raw, 0o600); err != nil {
				t.Fatal(err)
			}
			var warned strings.Builder
			st := open(t, dir, journal.FilesOptions{Warn: func(text string) { warned.WriteString(text) }})
			n := 0
			for _, err := range st.Read(ctx, id, 0) {
				if err != nil {
					n = -1
					break
				}
				n++
			}
			if n != c.want || (c.warn == "") != (warned.Len() == 0) || !strings.Contains(warned.String(), c.warn) {
				t.Errorf("%d events, want %d; warned %q, want %q", n, c.want, warned.String(), c.warn)
			}
			if c.want < 0 {
				if _, err := st.Append(ctx, id, uzda.At{Head: uzda.AnyHead}, note(9, "x")); err == nil {
					t.Error("append after damage: no error")
				}
				if now, _ := os.ReadFile(file); !bytes.Equal(now, c.raw) {
					t.Error("the damaged file was changed")
				}
				return
			}
			post(t, st, note(9, "x"))
			sound(t, st)
			if c.name == "zeros" {
				if kept, _ := os.ReadFile(filepath.Join(dir, "s.torn")); !bytes.Equal(kept, zeros[len(lines[0]):]) {
					t.Errorf("kept %d bytes of what was cut away", len(kept))
				}
			}
		})
	}
}

// A body that was changed on the disk is found by Verify, and one that was
// erased is not a fault.
func TestVerifyFinds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	st := open(t, dir, journal.FilesOptions{})
	post(t, st, note(1, "pay 10"), note(2, "secret"), note(3, strings.Repeat("long", uzda.LongString)), note(4, "x"))
	file := filepath.Join(dir, "s.jsonl")
	raw, _ := os.ReadFile(file)
	raw = bytes.Replace(raw, []byte("pay 10"), []byte("pay 99"), 1)
	raw = bytes.Replace(raw, []byte(`"body":{"id":"2","text":"secret"}`), []byte(`"body":null`), 1)
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	blobs, _ := filepath.Glob(filepath.Join(dir, "blobs", "*", "*"))
	if len(blobs) != 1 {
		t.Fatalf("%d blobs, want 1", len(blobs))
	}
	if err := os.WriteFile(blobs[0], []byte(strings.Repeat("LONG", uzda.LongString)), 0o600); err != nil {
		t.Fatal(err)
	}
	found := map[uzda.Seq]bool{}
	again := open(t, dir, journal.FilesOptions{})
	if err := again.Verify(ctx, func(_ uzda.SessionID, seq uzda.Seq, _ error) { found[seq] = true }); err != nil {
		t.Fatal(err)
	}
	if len(found) != 2 || !found[1] || !found[3] {
		t.Errorf("faults at %v, want 1 and 3", found)
	}
}

func size(t *testing.T, path string) int {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return int(info.Size())
}

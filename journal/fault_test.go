package journal_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/journal"
)

var acc = uzda.Account{Name: "acc", Limit: 100}

func asked(n int) uzda.Asked { return uzda.Asked{Ordinal: n, Model: "m", Hash: "h", Max: 1} }

// rich is an append that touches every file of a store.
func rich(n int, epoch int64) (uzda.At, []uzda.Body) {
	name := fmt.Sprint(n)
	return uzda.At{
		Head: uzda.AnyHead, Epoch: epoch,
		Reserve: []uzda.Hold{{ID: name, Amount: 1, Accounts: []uzda.Account{acc}}},
		Claim:   []uzda.Claim{{Key: name, By: uzda.Holder{Session: id, Use: uzda.UseID(name)}}},
	}, []uzda.Body{note(n, strings.Repeat(name, uzda.LongString+n)), uzda.Used{For: name}}
}

// case:S08: EIO at each write, fsync, rename and truncate, alone and for good
// from there on: the error wraps its cause, nothing was written, held or claimed,
// and when the disk is well again the same append works.
func TestDiskFaults(t *testing.T) {
	t.Parallel()
	for _, lasting := range []bool{false, true} {
		t.Run(fmt.Sprint("lasting ", lasting), func(t *testing.T) {
			t.Parallel()
			o := journal.FilesOptions{}
			if lasting { // what could not be taken back is mended later
				o.Warn = func(string) {}
			}
			st := open(t, t.TempDir(), o)
			epoch, err := st.Acquire(ctx, id, "test")
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			for n := 1; ; n++ {
				before := read(t, st, id)
				step := 0
				fault := ""
				st.SetFault(func(op, path string) (int, error) {
					if step++; step == n || lasting && step > n {
						fault += op + " " + filepath.Base(path) + ","
						return 100, fmt.Errorf("%s: %w", op, syscall.EIO)
					}
					return 0, nil
				})
				at, bodies := rich(n, epoch)
				_, err := st.Append(ctx, id, at, bodies...)
				st.SetFault(nil)
				if fault == "" {
					if err != nil {
						t.Fatal(err)
					}
					break
				}
				seen[strings.Split(fault, " ")[0]] = true
				if !errors.Is(err, syscall.EIO) {
					t.Errorf("fault at %s: error %v does not wrap its cause", fault, err)
				}
				if after := read(t, st, id); !reflect.DeepEqual(after, before) {
					t.Errorf("fault at %s: %d events, had %d", fault, len(after), len(before))
				}
				if _, held, _ := st.Spent(ctx, acc.Name); !lasting && held != uzda.Money(n-1) {
					t.Errorf("fault at %s: %s are held, want %d", fault, held, n-1)
				}
				at.Claim[0].By.Use = "another" // nobody has the key
				if lasting {
					at, bodies = rich(n, epoch)
				}
				if _, err := st.Append(ctx, id, at, bodies...); err != nil {
					t.Fatalf("after a fault at %s: %v", fault, err)
				}
			}
			if len(seen) < 3 {
				t.Errorf("faults at %v only", seen)
			}
			sound(t, st)
			left, _ := os.ReadDir(filepath.Join(st.Dir(), "tmp"))
			if len(left) != 0 {
				t.Errorf("%d temporary files are left", len(left))
			}
		})
	}
}

// A write that failed and could not be taken back is taken back later, but never
// what another process has appended since.
func TestLaterCut(t *testing.T) {
	t.Parallel()
	for _, others := range []bool{false, true} {
		dir := t.TempDir()
		a, b := open(t, dir, journal.FilesOptions{}), open(t, dir, journal.FilesOptions{Warn: func(string) {}})
		post(t, a, note(1, "one"))
		a.SetFault(func(op, path string) (int, error) {
			if strings.HasSuffix(path, "s.jsonl") {
				return 50, syscall.EIO
			}
			return 0, nil
		})
		if _, err := a.Append(ctx, id, uzda.At{Head: uzda.AnyHead}, note(2, strings.Repeat("x", 100))); !errors.Is(err, syscall.EIO) {
			t.Fatal(err)
		}
		a.SetFault(nil)
		want := 2
		if others {
			post(t, b, note(3, "by another process"))
			want = 3
		}
		post(t, a, note(4, "again"))
		for _, st := range []*journal.Files{a, b} {
			if got := read(t, st, id); len(got) != want {
				t.Errorf("others %v: %d events, want %d", others, len(got), want)
			}
			sound(t, st)
		}
	}
}

// A handle forgets sessions that nobody uses, and still knows their inputs.
func TestForgets(t *testing.T) {
	t.Parallel()
	st := open(t, t.TempDir(), journal.FilesOptions{Durability: "process"})
	const many = 2500
	first := map[int]uzda.Event{}
	for i := range many {
		evs, err := st.Append(ctx, uzda.SessionID(fmt.Sprint("s", i)), uzda.At{}, note("n", fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		first[i] = evs[0]
	}
	if n := st.Cached(); n > 1024 {
		t.Errorf("%d sessions are remembered", n)
	}
	for i := 0; i < many; i += 100 {
		evs, err := st.Append(ctx, uzda.SessionID(fmt.Sprint("s", i)), uzda.At{Head: uzda.AnyHead}, note("n", "again"))
		if err != nil || !reflect.DeepEqual(evs[0], first[i]) {
			t.Errorf("session %d: %v, %v", i, evs, err)
		}
	}
}

// The index is a cache: one that is old, wrong or of another file is not used.
func TestIndexIsACache(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	st := open(t, dir, journal.FilesOptions{Durability: "process"})
	var want []uzda.Event
	for i := range 200 {
		want = append(want, post(t, st, note(i, strings.Repeat("x", 500)))...)
	}
	if _, err := st.Rebuild(ctx); err != nil { // writes it
		t.Fatal(err)
	}
	index := filepath.Join(dir, "s.index")
	good, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, post(t, st, note("later", "after the index"))...)
	for name, raw := range map[string]string{
		"good": string(good), "cut": string(good[:len(good)/2]), "empty": "",
		"another head": strings.Replace(string(good), `"head":200`, `"head":199`, 1),
		"another end":  strings.Replace(string(good), `"end":`, `"end":1`, 1),
		"another link": strings.Replace(string(good), `"link":"`, `"link":"00`, 1),
		"another id":   strings.Replace(string(good), `"session":"s"`, `"session":"t"`, 1),
	} {
		if err := os.WriteFile(index, []byte(raw), 0o600); err != nil {
			t.Fatal(err)
		}
		again := open(t, dir, journal.FilesOptions{Durability: "process"})
		evs := post(t, again, note("7", "again"))
		if !reflect.DeepEqual(evs[0], want[7]) {
			t.Errorf("%s: the repeated input gives event %d", name, evs[0].Seq)
		}
		if got := read(t, again, id); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %d events, want %d", name, len(got), len(want))
		}
		for e, err := range again.Read(ctx, id, 150) {
			if err != nil || e.Seq != 151 {
				t.Errorf("%s: the event after 150 is %d, %v", name, e.Seq, err)
			}
			break
		}
		for info, err := range again.List(ctx) {
			if err != nil || info.Head != 201 || info.ID != id {
				t.Errorf("%s: listed %+v, %v", name, info, err)
			}
		}
	}
}

// Rebuild looks at the journals alone, whatever the index says.
func TestRebuildMendsIndexes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	st := open(t, dir, journal.FilesOptions{})
	post(t, st, uzda.Posted{ID: "p", Blocks: uzda.Say("the title")})
	if _, err := st.Rebuild(ctx); err != nil {
		t.Fatal(err)
	}
	index := filepath.Join(dir, "s.index")
	raw, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	raw = []byte(strings.Replace(string(raw), "the title", "a lie", 1))
	if err := os.WriteFile(index, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	titles := func() (out string) {
		for info, err := range open(t, dir, journal.FilesOptions{}).List(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			out += info.Title
		}
		return out
	}
	if got := titles(); got != "a lie" {
		t.Fatalf("listed %q: the test does not reach the index", got)
	}
	if n, err := open(t, dir, journal.FilesOptions{}).Rebuild(ctx); err != nil || n != 1 {
		t.Fatalf("rebuild: %d, %v", n, err)
	}
	if got := titles(); got != "the title" {
		t.Errorf("listed %q after the rebuild", got)
	}
}

// A file that was put back from a backup is read anew, with a warning.
func TestShorterFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	warned := ""
	st := open(t, dir, journal.FilesOptions{Warn: func(text string) { warned += text }})
	post(t, st, note(1, "one"))
	file := filepath.Join(dir, "s.jsonl")
	backup, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	post(t, st, note(2, "two"), note(3, "three"))
	if err := os.WriteFile(file, backup, 0o600); err != nil {
		t.Fatal(err)
	}
	post(t, st, note(2, "two again"))
	if evs := read(t, st, id); len(evs) != 2 || evs[1].Body.(uzda.Noted).Text != "two again" {
		t.Errorf("events %+v", evs)
	}
	if !strings.Contains(warned, "shorter") {
		t.Errorf("warned %q", warned)
	}
	sound(t, st)
}

// A handle that is closed gives up its leases at once.
func TestCloseFreesLeases(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := open(t, dir, journal.FilesOptions{TTL: time.Hour}), open(t, dir, journal.FilesOptions{TTL: time.Hour})
	first, err := a.Acquire(ctx, id, "a")
	if err != nil {
		t.Fatal(err)
	}
	var busy *uzda.Busy
	if _, err := b.Acquire(ctx, id, "b"); !errors.As(err, &busy) {
		t.Fatalf("acquire: %v", err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := b.Acquire(ctx, id, "b")
	if err != nil || second <= first {
		t.Fatalf("acquire after the holder has closed: %d, %v", second, err)
	}
}

// A record of a newer program is read as Unread and stays as it is.
func TestNewerRecords(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	st := open(t, dir, journal.FilesOptions{})
	post(t, st, note(1, "one"))
	file := filepath.Join(dir, "s.jsonl")
	raw, _ := os.ReadFile(file)
	l, _ := uzda.SplitLine(raw)
	body := `{"what":"nobody knows","big":{"$blob":"` + uzda.Hash([]byte("long")) + `","size":4}}`
	head := fmt.Sprintf(`{"seq":2,"at":"2040-01-01T00:00:00Z","kind":"dreamt","v":3,"need":true,"sum":"%s","prev":"%s","new":[1]}`,
		uzda.Hash([]byte(body)), uzda.Hash(l.Head))
	raw = uzda.Line{Head: []byte(head), Body: []byte(body)}.Append(raw)
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Put(ctx, []byte("long")); err != nil {
		t.Fatal(err)
	}
	evs := read(t, st, id)
	want := uzda.Unread{Name: "dreamt", V: 3, Need: true, Raw: []byte(`{"what":"nobody knows","big":"long"}`)}
	if len(evs) != 2 || !reflect.DeepEqual(evs[1].Body, want) {
		t.Fatalf("read %+v", evs)
	}
	post(t, st, note(2, "inbox"))
	sound(t, st)
	if now, _ := os.ReadFile(file); !strings.HasPrefix(string(now), string(raw)) {
		t.Error("the record was changed")
	}
}

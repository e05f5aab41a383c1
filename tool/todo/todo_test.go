package todo_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/tool/todo"
	"github.com/uzda-dev/uzda/tool/tooltest"
)

func call(t testing.TB, l *todo.Todo, id uzda.SessionID, items ...todo.Item) (string, uzda.Result) {
	t.Helper()
	if items == nil {
		items = []todo.Item{}
	}
	raw, err := json.Marshal(map[string]any{"items": items})
	if err != nil {
		t.Fatal(err)
	}
	if raw, err = l.Check(raw); err != nil {
		t.Fatalf("%.200s: %v", raw, err)
	}
	res, err := l.Call(context.Background(), uzda.Use{Session: id, ID: "1.1", Name: "todo", Input: raw})
	if err != nil {
		t.Fatal(err)
	}
	return res.Blocks.String(), res
}

func read(t testing.TB, l *todo.Todo, id uzda.SessionID) []todo.Item {
	t.Helper()
	items, err := l.Read(id)
	if err != nil {
		t.Fatal(err)
	}
	return items
}

// T2: what was written is the list, the answer is short, people see all of it.
func TestList(t *testing.T) {
	t.Parallel()
	l := todo.New(filepath.Join(t.TempDir(), "made", "when", "needed"))
	if got := read(t, l, "s"); got != nil {
		t.Errorf("before the first list: %v", got)
	}
	for _, s := range []struct {
		items []todo.Item
		want  string
	}{
		{[]todo.Item{{"Größe prüfen", "pending"}, {"漢字 🎉", "pending"}}, "Saved: 0 of 2 done. Next: 1. Größe prüfen"},
		{[]todo.Item{{"Größe prüfen", "done"}, {"漢字 🎉", "doing"}}, "Saved: 1 of 2 done. Doing: 2. 漢字 🎉"},
		{[]todo.Item{{"Größe prüfen", "done"}, {"漢字 🎉", "done"}}, "Saved: 2 of 2 done."},
		{nil, "The list is empty."},
		{nil, "The list is empty."}, // clearing twice is as good as once
		{[]todo.Item{{"a", "doing"}, {"b", "doing"}}, "Saved: 0 of 2 done. Doing: 1. a; 2. b\n2 items are doing at once"},
	} {
		got, res := call(t, l, "s", s.items...)
		if res.IsError || !strings.HasPrefix(got, s.want) {
			t.Errorf("%v: %q, want %q", s.items, got, s.want)
		}
		if got := read(t, l, "s"); !reflect.DeepEqual(got, s.items) {
			t.Errorf("read %v, want %v", got, s.items)
		}
		if want := todo.Markdown(s.items); res.People.String() != want {
			t.Errorf("people see %q, want %q", res.People.String(), want)
		}
	}
}

// T2: the list is there after a restart, as Markdown that a person can read.
func TestRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	call(t, todo.New(dir), "s", todo.Item{Text: "plan", Status: "done"}, todo.Item{Text: "write [it]", Status: "doing"}, todo.Item{Text: "- [x] odd", Status: "pending"})
	file, err := os.ReadFile(filepath.Join(dir, "s", "todo.md"))
	if want := "- [x] plan\n- [~] write [it]\n- [ ] - [x] odd\n"; err != nil || string(file) != want {
		t.Errorf("the file is %q, %v, want %q", file, err, want)
	}
	want := []todo.Item{{"plan", "done"}, {"write [it]", "doing"}, {"- [x] odd", "pending"}}
	if got := read(t, todo.New(dir), "s"); !reflect.DeepEqual(got, want) {
		t.Errorf("after a restart: %v", got)
	}
}

// T1: a bad list is refused whole, and the error says where and how to mend it.
func TestInput(t *testing.T) {
	t.Parallel()
	l := todo.New(t.TempDir())
	call(t, l, "s", todo.Item{Text: "old", Status: "pending"})
	many := strings.TrimSuffix(strings.Repeat(`{"text":"a","status":"done"},`, todo.MaxItems+1), ",")
	for in, want := range map[string]string{
		`{}`:              "/items is missing",
		`{"items":"x"}`:   "/items",
		`{"items":[{}]}`:  "/items/0/text is missing",
		`{"items":["a"]}`: "/items/0",
		`{"items":[{"text":"a","status":"later"}]}`:                                          `one of "pending", "doing", "done"`,
		`{"items":[{"text":"a"}]}`:                                                           "status is missing",
		`{"items":[{"text":" \n ","status":"done"}]}`:                                        "/items/0/text is empty",
		`{"items":[{"text":"` + strings.Repeat("ü", todo.MaxText+1) + `","status":"done"}]}`: "501 characters, at most 500",
		`{"items":[` + many + `]}`:                                                           "101 items, at most 100",
	} {
		if _, err := l.Check(json.RawMessage(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %q", in, err, want)
		}
	}
	full := make([]todo.Item, todo.MaxItems)
	for i := range full {
		full[i] = todo.Item{Text: strings.Repeat("🎉", todo.MaxText), Status: "pending"}
	}
	if got, res := call(t, l, "s", full...); res.IsError {
		t.Errorf("exactly at the limit: %s", got)
	}
	if got := read(t, l, "s"); !reflect.DeepEqual(got, full) {
		t.Errorf("a full list came back as %d items", len(got))
	}
}

// A line break or an escape code in a text makes no second item and moves no cursor. case:T15
func TestOneLine(t *testing.T) {
	t.Parallel()
	l := todo.New(t.TempDir())
	call(t, l, "s", todo.Item{Text: "a\r\n- [x] b\x1b[2J \u202ec", Status: "pending"})
	if got := read(t, l, "s"); len(got) != 1 || got[0].Text != "a - [x] b [2J c" {
		t.Errorf("read %q", got)
	}
}

// What a person left in the file never breaks the list. case:T12
func TestEditedByHand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := todo.New(dir)
	call(t, l, "s", todo.Item{Text: "x", Status: "pending"})
	file := filepath.Join(dir, "s", "todo.md")
	for text, want := range map[string]int{
		"": 0,
		"# my list\r\n\r\n- [X] one\r\n  - [-] two\r\n* no item\r\n- [ ]\r\n": 2,
		"- [ ] bad \xff byte\n": 1,
		strings.Repeat("- [ ] "+strings.Repeat("漢", 600)+"\n", 2000): todo.MaxItems,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := read(t, l, "s")
		if len(got) != want {
			t.Errorf("%.20q: %d items, want %d", text, len(got), want)
		}
		for _, it := range got {
			if !utf8.ValidString(it.Text) || utf8.RuneCountInString(it.Text) > todo.MaxText {
				t.Errorf("an item of %d bytes: %.40q", len(it.Text), it.Text)
			}
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(file, 0o700); err != nil { // a folder in the way
		t.Fatal(err)
	}
	if _, err := l.Read("s"); err == nil {
		t.Error("a folder is read as a list")
	}
	if got, res := call(t, l, "s", todo.Item{Text: "x", Status: "done"}); !res.IsError || res.Effect != uzda.EffectNone {
		t.Errorf("saved over a folder: %s", got)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "s", ".new-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// Each session has its own list, whatever its id looks like.
func TestSessions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := todo.New(filepath.Join(dir, "todo"))
	ids := []uzda.SessionID{"s1", "S1", "s1.2", "..", "../x", "a/b", `a\b`, "", "漢字"}
	for i, id := range ids {
		call(t, l, id, todo.Item{Text: fmt.Sprint("item ", i), Status: "doing"})
	}
	for i, id := range ids {
		if got := read(t, l, id); len(got) != 1 || got[0].Text != fmt.Sprint("item ", i) {
			t.Errorf("session %q reads %v", id, got)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("lists left their folder: %v %v", files, err)
	}
}

// A list is replaced, never written over, and what a killed writer left is cleared
// away when it is old. case:S08
func TestReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := todo.New(dir)
	call(t, l, "s", todo.Item{Text: "old", Status: "doing"})
	old, err := os.Open(filepath.Join(dir, "s", "todo.md"))
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	stale, young := filepath.Join(dir, "s", ".new-1"), filepath.Join(dir, "s", ".new-2")
	past := time.Now().Add(-2 * time.Hour)
	for _, f := range []string{stale, young} {
		if err := os.WriteFile(f, []byte("- [ ] ha"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(stale, past, past); err != nil {
		t.Fatal(err)
	}
	call(t, l, "s", todo.Item{Text: "new", Status: "doing"})
	if data, err := io.ReadAll(old); err != nil || string(data) != "- [~] old\n" {
		t.Errorf("the old file holds %q, %v", data, err)
	}
	if _, err := os.Stat(stale); !os.IsNotExist(err) {
		t.Errorf("an old leftover is still there: %v", err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("what another may be writing is gone: %v", err)
	}
}

// With many writers a reader always sees one whole list.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range 4 {
		l := todo.New(dir) // as in processes of their own
		wg.Go(func() {
			for range 10 {
				var items []todo.Item
				for range 20 {
					items = append(items, todo.Item{Text: strings.Repeat(fmt.Sprint(i), 100), Status: "pending"})
				}
				call(t, l, "s", items...)
				got := read(t, l, "s")
				for _, it := range got {
					if len(got) != 20 || it != got[0] {
						t.Errorf("a torn list of %d items", len(got))
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

// What a compaction pins: the list as it stands, in bounds, what is open first of
// all, and never a wait. C8 case:C02
func TestText(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := todo.New(dir)
	if text, err := l.Text("s"); text != "" || err != nil {
		t.Errorf("no list: %q, %v", text, err)
	}
	call(t, l, "other", todo.Item{Text: "of another session", Status: "doing"})
	call(t, l, "s", todo.Item{Text: "żółty", Status: "done"}, todo.Item{Text: "port 48213", Status: "doing"}, todo.Item{Text: "next", Status: "pending"})
	if text, err := todo.New(dir).Text("s"); err != nil || text != "- [x] żółty\n- [~] port 48213\n- [ ] next\n" {
		t.Errorf("%q, %v", text, err)
	}
	var items []todo.Item
	for i := range 60 {
		items = append(items, todo.Item{Text: fmt.Sprint(i, strings.Repeat(" 漢字", 100)), Status: "done"})
	}
	for i := range 40 {
		items = append(items, todo.Item{Text: fmt.Sprint("open ", i, strings.Repeat(" 漢字", 100)), Status: "pending"})
	}
	call(t, l, "s", items...)
	text, err := l.Text("s")
	if err != nil || len(text) > 8<<10 || !utf8.ValidString(text) || !strings.HasPrefix(text, "(60 items are done)\n- [ ] open 0 ") || !strings.Contains(text, "more items are in the list)") {
		t.Errorf("%d bytes, %v: %.200s", len(text), err, text)
	}
	file := filepath.Join(dir, "s", "todo.md")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(file, 0o700); err != nil {
		t.Fatal(err)
	}
	if text, err := l.Text("s"); text != "" || err == nil || !strings.Contains(err.Error(), "no plain file") {
		t.Errorf("a folder in its place: %q, %v", text, err)
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, todo.New(t.TempDir()),
		tooltest.Case{Input: `{"items":[]}`, Want: "empty"},
		tooltest.Case{Input: `{"items":[{"text":"a","status":"doing"}]}`, Want: "0 of 1 done"},
		tooltest.Case{Input: `{"items":[{"text":"","status":"doing"}]}`, Bad: true, Want: "/items/0/text"},
	)
}

func FuzzEdited(f *testing.F) { // T2
	f.Add("- [x] a\n- [ ] b\n", "c")
	f.Add("\ufeff- [~] \u202e", "- [ ] \r")
	dir := f.TempDir()
	l := todo.New(dir)
	call(f, l, "s", todo.Item{Text: "x", Status: "pending"})
	file := filepath.Join(dir, "s", "todo.md")
	f.Fuzz(func(t *testing.T, file1, text string) {
		if err := os.WriteFile(file, []byte(file1), 0o600); err != nil {
			t.Fatal(err)
		}
		items := read(t, l, "s")
		if err := os.WriteFile(file, []byte(todo.Markdown(items)), 0o600); err != nil {
			t.Fatal(err)
		}
		if again := read(t, l, "s"); !reflect.DeepEqual(again, items) {
			t.Errorf("%q became %q", items, again)
		}
	})
}

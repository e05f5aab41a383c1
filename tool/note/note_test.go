package note_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/tool/note"
	"github.com/uzda-dev/uzda/tool/tooltest"
)

// call checks and runs one input in session id.
func call(t testing.TB, n *note.Notes, id uzda.SessionID, in map[string]any) (string, uzda.Result) {
	t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if raw, err = n.Check(raw); err != nil {
		t.Fatalf("%v: %v", in, err)
	}
	res, err := n.Call(context.Background(), uzda.Use{Session: id, ID: "1.1", Name: "notes", Input: raw})
	if err != nil {
		t.Fatalf("%v: %v", in, err)
	}
	return res.Blocks.String(), res
}

type args = map[string]any

// C8: what was written is what is read, as a whole.
func TestNotes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := note.New(filepath.Join(dir, "made", "when", "needed"))
	for _, s := range []struct {
		in   args
		want string // the whole text, or a part of it after "…"
	}{
		{args{"op": "read"}, "…no notes yet"},
		{args{"op": "read", "key": "f-018"}, "…no notes yet"},
		{args{"op": "write", "text": "Ziel: Größe 漢字 🎉\n- port 48213"}, "…38 of 8192 bytes"},
		{args{"op": "read"}, "Ziel: Größe 漢字 🎉\n- port 48213"},
		{args{"op": "append", "text": "- id ORD-10422"}, "…is saved"},
		{args{"op": "append", "text": "- id ORD-10422"}, "…is saved"}, // a lost use runs again
		{args{"op": "read"}, "Ziel: Größe 漢字 🎉\n- port 48213\n- id ORD-10422"},
		{args{"op": "write", "text": "passes: no", "key": "f-018"}, `…"f-018" is saved`},
		{args{"op": "read", "key": "f-018"}, "passes: no"},
		{args{"op": "read"}, "Ziel: Größe 漢字 🎉\n- port 48213\n- id ORD-10422\n\n[f-018]\npasses: no"},
		{args{"op": "write", "text": "new"}, "…is saved"},
		{args{"op": "read"}, "new\n\n[f-018]\npasses: no"},
		{args{"op": "write", "text": "", "key": "f-018"}, "…is deleted"},
		{args{"op": "read"}, "new"},
		{args{"op": "list"}, "the main note: 3 bytes: new\nTogether 3 of 8192 bytes."},
		{args{"op": "delete", "key": "f-018"}, `…There is no note "f-018". There are: the main note (3 bytes)`}, // a lost use runs again
		{args{"op": "write", "text": "\n# Zadanie 漢字\nport 48213", "key": "b"}, "…is saved"},
		{args{"op": "append", "text": "passes: yes", "key": "a"}, "…is saved"},
		{args{"op": "list"}, "the main note: 3 bytes: new\n[a]: 11 bytes: passes: yes\n[b]: 28 bytes: # Zadanie 漢字\nTogether 42 of 8192 bytes."},
		{args{"op": "delete"}, "…The note is deleted. The notes have 39 of 8192 bytes."},
		{args{"op": "delete"}, "…There is no main note. There are: a (11 bytes), b (28 bytes)"},
		{args{"op": "delete", "key": "a"}, `…"a" is deleted`},
		{args{"op": "read"}, "[b]\n\n# Zadanie 漢字\nport 48213"},
		{args{"op": "write", "text": "", "key": "b"}, "…is deleted"},
		{args{"op": "read"}, "…no notes yet"},
		{args{"op": "list"}, "…no notes yet"},
	} {
		got, res := call(t, n, "s1", s.in)
		part, ok := strings.CutPrefix(s.want, "…")
		if res.IsError || ok && !strings.Contains(got, part) || !ok && got != s.want {
			t.Errorf("%v: got %q, want %q", s.in, got, s.want)
		}
	}
}

// C8: over the limit nothing is saved, and the error says how to condense.
func TestLimit(t *testing.T) {
	t.Parallel()
	n := note.New(t.TempDir())
	full := strings.Repeat("ü", note.Limit/2)
	if got, res := call(t, n, "s", args{"op": "write", "text": full}); res.IsError {
		t.Fatalf("exactly at the limit: %s", got)
	}
	for _, in := range []args{{"op": "append", "text": "x"}, {"op": "write", "text": full + "x"}, {"op": "write", "text": "x", "key": "k"}} {
		got, res := call(t, n, "s", in)
		if !res.IsError || res.Effect != uzda.EffectNone || !strings.Contains(got, "Condense") || !strings.Contains(got, "8192") {
			t.Errorf("over the limit: %+v", res)
		}
	}
	if got, _ := call(t, n, "s", args{"op": "read"}); got != full {
		t.Errorf("a refused write changed the note: %d bytes", len(got))
	}
}

// C8: there are not so many notes that their keys alone would fill the window.
func TestMany(t *testing.T) {
	t.Parallel()
	n := note.New(t.TempDir())
	long := strings.Repeat("k", 60)
	for i := range note.MaxNotes {
		if got, res := call(t, n, "s", args{"op": "write", "key": fmt.Sprintf("%s%03d", long, i), "text": strings.Repeat("x", 80)}); res.IsError {
			t.Fatal(got)
		}
	}
	got, res := call(t, n, "s", args{"op": "write", "key": "more", "text": "x"})
	if !res.IsError || res.Effect != uzda.EffectNone || !strings.Contains(got, "at most 100") {
		t.Errorf("one more: %+v", res)
	}
	if got, res := call(t, n, "s", args{"op": "write", "key": long + "007", "text": "y"}); res.IsError {
		t.Errorf("one that is there: %s", got)
	}
	text, err := n.Text("s")
	if err != nil || len(text) > 2*note.Limit || !strings.HasSuffix(text, long+"099]\n"+strings.Repeat("x", 80)) {
		t.Errorf("pinned: %d bytes, %v", len(text), err)
	}
	call(t, n, "s", args{"op": "delete", "key": long + "007"})
	if got, res := call(t, n, "s", args{"op": "write", "key": "more", "text": "x"}); res.IsError {
		t.Errorf("after one was deleted: %s", got)
	}
}

// C8: each session has its own notes, whatever its id looks like.
func TestSessions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := note.New(filepath.Join(dir, "notes"))
	long := strings.Repeat("a", 180)
	ids := []uzda.SessionID{"s1", "S1", "s1.2", "s1_2", "s1-2", "..", "../x", "a/b", "a\\b", "", uzda.SessionID(long), uzda.SessionID(long + "b"), "漢字"}
	for i, id := range ids {
		call(t, n, id, args{"op": "write", "text": fmt.Sprint("note ", i)})
	}
	for i, id := range ids {
		if got, _ := call(t, note.New(filepath.Join(dir, "notes")), id, args{"op": "read"}); got != fmt.Sprint("note ", i) {
			t.Errorf("session %q reads %q", id, got)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("notes left their folder: %v %v", files, err)
	}
}

// A writer that is killed leaves a file behind; the next one clears away what is
// old, and nothing that another may still be writing.
func TestLeftovers(t *testing.T) { // C8 case:S08
	t.Parallel()
	dir := t.TempDir()
	n := note.New(dir)
	call(t, n, "s", args{"op": "write", "text": "first"})
	old, young := filepath.Join(dir, "s", ".new-1"), filepath.Join(dir, "s", ".new-2")
	for _, f := range []string{old, young} {
		if err := os.WriteFile(f, []byte("half a no"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	call(t, n, "s", args{"op": "append", "text": "second"})
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("the old leftover is still there: %v", err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("what another may be writing is gone: %v", err)
	}
	if got, _ := call(t, n, "s", args{"op": "read"}); got != "first\nsecond" {
		t.Errorf("the notes are %q", got)
	}
}

// A person may edit the files; what they leave there never breaks a result. case:T12
func TestEditedByHand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := note.New(dir)
	call(t, n, "s", args{"op": "write", "text": "x"})
	name := filepath.Join(dir, "s", "notes.md")
	for _, text := range []string{"bad \xff byte", strings.Repeat("漢🎉", 10000), "\xef\xbb\xbfwith a mark"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, res := call(t, n, "s", args{"op": "read"})
		if res.IsError || !utf8.ValidString(got) || len(got) > 5*note.Limit {
			t.Errorf("%.10q: %v, %d bytes", text, res.IsError, len(got))
		}
		if utf8.ValidString(text) && strings.ContainsRune(got, utf8.RuneError) {
			t.Errorf("%.10q: cut inside a character", text)
		}
	}
	if err := os.WriteFile(name, []byte(strings.Repeat("x", 3*note.Limit)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, res := call(t, n, "s", args{"op": "write", "text": strings.Repeat("x", 2*note.Limit)}); res.IsError {
		t.Errorf("a note that is too long may shrink: %s", got)
	}
}

// What a compaction pins is what read gives, of this session alone; it is in
// bounds and never waits, whatever lies in the folder. C8
func TestText(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := note.New(dir)
	if text, err := n.Text("s"); text != "" || err != nil {
		t.Errorf("no notes: %q, %v", text, err)
	}
	call(t, n, "other", args{"op": "write", "text": "of another session"})
	call(t, n, "s", args{"op": "write", "text": "goal"})
	for i := range 60 { // up to the limit, with keys
		call(t, n, "s", args{"op": "write", "key": fmt.Sprintf("task-%02d", i), "text": strings.Repeat("ż", 65)})
	}
	want, _ := call(t, n, "s", args{"op": "read"})
	text, err := n.Text("s")
	if err != nil || text != want || !strings.HasPrefix(text, "goal\n\n[task-00]") {
		t.Errorf("pinned is not what is read: %v\n%s", err, text)
	}
	if text, err := note.New(dir).Text("s"); err != nil || text != want {
		t.Errorf("after a restart: %v\n%s", err, text)
	}
	files := filepath.Join(dir, "s")
	if err := os.Mkdir(filepath.Join(files, "key-folder.md"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(files, "key-huge.md"), []byte(strings.Repeat("漢", 1<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err = n.Text("s")
	if err != nil || len(text) > 2*note.Limit+200 || !utf8.ValidString(text) || !strings.Contains(text, "are left out") || !strings.HasPrefix(text, "goal") {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if err := os.RemoveAll(files); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files, nil, 0o600); err != nil { // a file where the folder should be
		t.Fatal(err)
	}
	if text, err := n.Text("s"); text != "" || err == nil {
		t.Errorf("a broken folder: %q, %v", text, err)
	}
}

// TestInput: only op is needed; the rest is said when it is missing. C8 T1
func TestInput(t *testing.T) {
	t.Parallel()
	n := note.New(t.TempDir())
	var s struct{ Required []string }
	if err := json.Unmarshal(n.Spec().Input, &s); err != nil || len(s.Required) != 1 || s.Required[0] != "op" {
		t.Errorf("required: %v %v", s.Required, err)
	}
	for in, want := range map[string]string{
		`{}`:                                    "/op is missing",
		`{"op":"forget"}`:                       `one of "read", "write", "append", "delete", "list"`,
		`{"op":"write"}`:                        "/text is missing",
		`{"op":"append","text":null}`:           "/text is missing",
		`{"op":"write","text":"x","key":"../"}`: "/key must be",
		`{"op":"read","key":"A"}`:               "/key must be",
	} {
		if _, err := n.Check(json.RawMessage(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, note.New(t.TempDir()),
		tooltest.Case{Input: `{"op":"read"}`},
		tooltest.Case{Input: `{"op":"write","text":"a"}`, Want: "saved"},
		tooltest.Case{Input: `{"op":"append","text":"a","key":"k"}`, Want: "saved"},
		tooltest.Case{Input: `{"op":"list"}`},
		tooltest.Case{Input: `{"op":"delete","key":"never-was"}`, Want: "There is no note"},
		tooltest.Case{Input: `{"op":"write"}`, Bad: true},
		tooltest.Case{Input: `{"op":"forget"}`, Bad: true},
	)
}

// C8: a note is replaced, never written over: who has it open keeps the old one
// whole, and nothing else is left in the folder.
func TestReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := note.New(dir)
	call(t, n, "s", args{"op": "write", "text": "the old note"})
	old, err := os.Open(filepath.Join(dir, "s", "notes.md"))
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	call(t, n, "s", args{"op": "write", "text": "new"})
	if data, err := io.ReadAll(old); err != nil || string(data) != "the old note" {
		t.Errorf("the old file holds %q, %v", data, err)
	}
	if files, err := os.ReadDir(filepath.Join(dir, "s")); err != nil || len(files) != 1 {
		t.Errorf("left in the folder: %v %v", files, err)
	}
}

// TestWriter is no test but what TestProcesses starts: it writes for ever.
func TestWriter(t *testing.T) {
	dir, letter := os.Getenv("NOTE_TEST_DIR"), os.Getenv("NOTE_TEST_LETTER")
	if dir == "" {
		t.Skip("only as a process of TestProcesses")
	}
	n := note.New(dir)
	fmt.Println("ready")
	for {
		call(t, n, "s", args{"op": "write", "text": strings.Repeat(letter, note.Limit)})
	}
}

// C8: with two processes writing, each killed without warning, a reader sees a
// whole note of one of them, always.
func TestProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := note.New(dir)
	call(t, n, "s", args{"op": "write", "text": strings.Repeat("z", note.Limit)})
	whole := func() {
		t.Helper()
		got, res := call(t, n, "s", args{"op": "read"})
		if res.IsError || len(got) != note.Limit || strings.Trim(got, got[:1]) != "" {
			t.Fatalf("a torn note: %d bytes, begins %.10q", len(got), got)
		}
	}
	for range 3 {
		var wg sync.WaitGroup
		for _, letter := range []string{"a", "b"} {
			cmd := exec.Command(os.Args[0], "-test.run=^TestWriter$")
			cmd.Env = append(os.Environ(), "NOTE_TEST_DIR="+dir, "NOTE_TEST_LETTER="+letter)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := out.Read(make([]byte, 64)); err != nil {
				t.Fatal(err)
			}
			defer cmd.Wait() //nolint:errcheck // it is killed
			wg.Add(1)
			go func() {
				defer wg.Done()
				for range 50 {
					if _, res := call(t, n, "s", args{"op": "read"}); res.IsError {
						t.Error(res.Blocks.String())
					}
				}
				_ = cmd.Process.Kill()
			}()
		}
		for range 50 {
			whole()
		}
		wg.Wait()
		whole()
	}
}

// Concurrent uses of one process do not lose an append. C8
func TestConcurrent(t *testing.T) {
	t.Parallel()
	n := note.New(t.TempDir())
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() { call(t, n, "s", args{"op": "append", "text": fmt.Sprintf("line %02d", i)}) })
	}
	wg.Wait()
	if got, _ := call(t, n, "s", args{"op": "read"}); len(strings.Split(got, "\n")) != 20 {
		t.Errorf("lines were lost:\n%s", got)
	}
}

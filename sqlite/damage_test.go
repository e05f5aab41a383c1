package sqlite_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/sqlite"
)

// TestBadPaths: what cannot be opened is named, with what to do, and left alone.
// case:S05
func TestBadPaths(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	foreign := filepath.Join(dir, "foreign.db")
	other, err := sql.Open("sqlite", foreign)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Exec("CREATE TABLE orders (id)"); err != nil {
		t.Fatal(err)
	}
	other.Close()
	plain := write("plain", strings.Repeat("no database\n", 500))
	for _, test := range []struct{ name, path, want string }{
		{"no folder", filepath.Join(dir, "none", "x"), "the folder " + filepath.Join(dir, "none") + " does not exist (make it first)"},
		{"a folder", dir, "it is no regular file"},
		{"below a file", filepath.Join(plain, "x"), "no"},
		{"text", plain, "the file is no SQLite database (name another file"},
		{"of another program", foreign, "database of another program (name another file; nothing was changed)"},
	} {
		before, _ := os.ReadFile(test.path)
		_, err := sqlite.Open(test.path)
		storage(t, err, "open store "+test.path, test.want)
		if after, _ := os.ReadFile(test.path); string(after) != string(before) {
			t.Errorf("%s: the file was changed", test.name)
		}
	}
	if _, err := sqlite.Open(""); err == nil || !strings.Contains(err.Error(), "path is empty") {
		t.Errorf("no path: %v", err)
	}
	if _, err := sqlite.OpenWith(filepath.Join(dir, "x"), sqlite.Options{Durability: "none"}); err == nil || !strings.Contains(err.Error(), "want power or process") {
		t.Errorf("bad durability: %v", err)
	}
	if runtime.GOOS == "linux" {
		_, err := sqlite.Open("/proc/x.uzda")
		storage(t, err, "cannot be opened or made", "may write the file and its folder")
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 2 {
		t.Errorf("files %v, want the two that were there", left)
	}
}

// TestStrangeNames: a path may have any character.
func TestStrangeNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a?mode=ro", "50%", "a#b", "ä b", "a&b=c", "%41"} {
		path := filepath.Join(t.TempDir(), name)
		db := open(t, path, sqlite.Options{})
		add(t, db, "one", note("x"))
		info, err := os.Stat(path)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %s: others may read the sessions", name, info.Mode())
		}
	}
}

// TestCorrupt: a page that was overwritten gives an error, and Verify finds it.
func TestCorrupt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.uzda")
	db, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		add(t, db, "one", uzda.Noted{ID: fmt.Sprint(i), Text: strings.Repeat("x", 1000)})
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 20 * 4096; i < len(raw); i++ {
		raw[i] = 0xff
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	db = open(t, path, sqlite.Options{})
	var last error
	for _, err := range db.Read(ctx, "one", 0) {
		last = err
	}
	storage(t, last, path, "corrupt", "backup")
	found := 0
	err = db.Verify(ctx, func(uzda.SessionID, uzda.Seq, error) { found++ })
	if found == 0 && err == nil {
		t.Error("Verify finds nothing")
	}
}

// TestVerify: each way to falsify a journal is found, at its event, and nothing
// else is.
func TestVerify(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", 10_000)
	for _, test := range []struct {
		name, sql string
		seq       uzda.Seq
		want      string
	}{
		{"nothing", `SELECT 1`, 0, ""},
		{"a body", `UPDATE event SET body = replace(body, 'note b', 'note x') WHERE seq = 2 AND session = 'one'`, 2, "is not the one that was recorded"},
		{"a body and its sum", `UPDATE event SET head = replace(head, '"sum":"', '"sum":"0') WHERE seq = 2 AND session = 'one'`, 3, "does not follow"},
		{"an event in the middle", `DELETE FROM event WHERE seq = 3 AND session = 'one'`, 3, "events 3 to 3 are missing"},
		{"the last event", `DELETE FROM event WHERE seq = 4 AND session = 'one'`, 4, "the journal ends at 3, the index knows 4"},
		{"the order", `UPDATE event SET seq = 10 - seq WHERE seq < 3 AND session = 'one'; UPDATE event SET seq = seq - 7 WHERE seq > 7`, 1, "says that it is 2"},
		{"the head of the last", `UPDATE event SET head = replace(head, '"at":"2', '"at":"1') WHERE seq = 4 AND session = 'one'`, 4, "not the event that the index knows"},
		{"a blob", `UPDATE blob SET data = zeroblob(length(data))`, 4, "another hash"},
		{"a blob that is gone", `DELETE FROM blob`, 4, "not found"},
		{"the index", `DELETE FROM session WHERE session = 'one'`, 4, "rebuild"},
		{"an erased body", `UPDATE event SET body = 'null' WHERE seq = 2 AND session = 'one'`, 0, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			db := open(t, filepath.Join(t.TempDir(), "store.uzda"), sqlite.Options{})
			add(t, db, "one", note("a"), note("b"), note("c"), uzda.Noted{ID: "d", Text: long})
			add(t, db, "two", note("a"), note("b"))
			if err := db.Exec(test.sql); err != nil {
				t.Fatal(err)
			}
			found := map[uzda.Seq]string{}
			if err := db.Verify(ctx, func(id uzda.SessionID, seq uzda.Seq, err error) {
				if id != "one" {
					t.Errorf("session %s: %v", id, err)
				}
				found[seq] += err.Error()
			}); err != nil {
				t.Fatal(err)
			}
			if test.seq == 0 && len(found) > 0 || test.seq > 0 && !strings.Contains(found[test.seq], test.want) {
				t.Errorf("found %v, want at %d %q", found, test.seq, test.want)
			}
			if n := len(read(t, db, "two")); n != 2 {
				t.Errorf("the other session has %d events", n)
			}
		})
	}
}

// TestRebuild: the indexes made again are those that appends made.
func TestRebuild(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.uzda")
	db := open(t, path, sqlite.Options{})
	epoch, err := db.Acquire(ctx, "one", "me")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Append(ctx, "one", uzda.At{Epoch: epoch}, uzda.Opened{Format: 1, Agent: "shop", Parent: "p"},
		uzda.Equipped{Model: uzda.ModelInfo{ID: "script/x"}}, uzda.Asked{Ordinal: 1, Model: "m", Hash: "h"},
		uzda.Said{Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Say("hi")}, Stop: uzda.StopEnd, Usage: uzda.Usage{Input: 7}, Cost: 9}); err != nil {
		t.Fatal(err)
	}
	first := add(t, db, "one", uzda.Posted{ID: "bad \xff id", Blocks: uzda.Say(strings.Repeat("title ", 50))})
	add(t, db, "two", note("x"), uzda.Noted{ID: "y", Text: strings.Repeat("long", 9000)})
	list := func() (out []uzda.SessionInfo) {
		for s, err := range db.List(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, s)
		}
		return out
	}
	before := list()
	if len(before) != 2 || before[1].Agent != "shop" || before[1].Model != "script/x" || before[1].Tokens != 7 || before[1].Cost != 9 {
		t.Errorf("list %+v", before)
	}
	if err := db.Exec(`DELETE FROM session WHERE session = 'two'; DELETE FROM input; UPDATE session SET title = 'wrong', head = 2;
		INSERT INTO session SELECT tenant, 'ghost', 7, link, agent, parent, model, title, status, reason, created, updated, steps, tokens, cost, bytes FROM session`); err != nil {
		t.Fatal(err)
	}
	if n, err := db.Rebuild(ctx); n != 3 || err != nil {
		t.Errorf("rebuilt %d sessions, %v", n, err)
	}
	if after := list(); !reflect.DeepEqual(after, before) {
		t.Errorf("after: %+v\nbefore: %+v", after, before)
	}
	if again := add(t, db, "one", uzda.Posted{ID: "bad \xff id", Blocks: uzda.Say("again")}); again[0].Seq != first[0].Seq {
		t.Errorf("the input is stored again, at %d", again[0].Seq)
	}
	add(t, db, "two", note("z"))
	sound(t, db)
}

// TestLostIndex: an append to a session whose index is gone fails and says what
// to do, instead of beginning anew.
func TestLostIndex(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "store.uzda"), sqlite.Options{})
	add(t, db, "one", note("a"))
	if err := db.Exec("DELETE FROM session"); err != nil {
		t.Fatal(err)
	}
	_, err := db.Append(ctx, "one", uzda.At{Head: uzda.AnyHead}, note("b"))
	storage(t, err, "the indexes do not fit the journals", "rebuild them")
	if _, err := db.Rebuild(ctx); err != nil {
		t.Fatal(err)
	}
	if evs := add(t, db, "one", note("b")); evs[0].Seq != 2 {
		t.Errorf("the next event is %d, want 2", evs[0].Seq)
	}
}

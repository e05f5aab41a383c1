//go:build unix

package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/sqlite"
)

// roleUpgrade opens a store as a later program whose migration takes long.
func roleUpgrade() error {
	db, err := sqlite.OpenLater(os.Getenv(pathVar), sqlite.Options{}, longStep)
	if err != nil {
		return err
	}
	return db.Close()
}

const longStep = `DROP TABLE kept; CREATE TABLE filler (n INTEGER, x BLOB);
	INSERT INTO filler WITH RECURSIVE up(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM up WHERE n < 100000000)
		SELECT n, zeroblob(500) FROM up;`

// TestKilledInUpgrade: a migration that is killed in the middle leaves the store
// as the older program made it, with the copy of before beside it.
// case:S05
func TestKilledInUpgrade(t *testing.T) {
	t.Parallel()
	path := upgraded(t)
	before := events(t, path)
	c := start(t, "upgrade", path, "")
	deadline := time.Now().Add(time.Minute)
	for { // its transaction has spilled into the log: it is in the middle
		if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 2<<20 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the migration has not begun")
		}
		time.Sleep(time.Millisecond)
	}
	c.kill(t)
	_ = c.Wait()
	same(t, events(t, path), before)
	same(t, events(t, backup(t, path, 2)), before)
	// The later program succeeds when it is let.
	db, err := sqlite.OpenLater(path, sqlite.Options{}, "DROP TABLE kept; CREATE TABLE kept (tenant, session, data, PRIMARY KEY (tenant, session))")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	sound(t, db)
}

// roleOpen opens a store, appends, and prints the errors.
func roleOpen() error {
	db, err := sqlite.Open(os.Getenv(pathVar))
	if err != nil {
		fmt.Println("open:", errors.Is(err, uzda.ErrStorage), err)
		return nil
	}
	defer db.Close()
	for e, err := range db.Read(ctx, "chat", 0) {
		fmt.Println("read:", e.Seq, err)
		break
	}
	_, err = db.Append(ctx, "one", uzda.At{Head: uzda.AnyHead}, note("x"))
	fmt.Println("append:", errors.Is(err, uzda.ErrStorage), err)
	_, err = db.Acquire(ctx, "one", "me")
	fmt.Println("acquire:", errors.Is(err, uzda.ErrStorage), err)
	return nil
}

// TestReadOnly: a file or a folder that may not be written gives an error that
// says so, to a user who is not root.
// case:S05 case:S08
func TestReadOnly(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	top, err := os.MkdirTemp("", "uzda-read-only")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(top) })
	exe = filepath.Join(top, "exe")
	if err := errors.Join(os.Chmod(top, 0o755), os.WriteFile(exe, raw, 0o755)); err != nil {
		t.Fatal(err)
	}
	run := func(path string) string {
		cmd := command(exe, "open", path, "")
		if os.Getuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	for _, test := range []struct {
		name         string
		folder, file os.FileMode
		want         []string
	}{
		{"file", 0o777, 0o444, []string{"append: true", "the file is read-only", "give this user the right"}},
		{"folder", 0o555, 0o444, []string{"open: true", "the file is read-only", "the file and its folder"}},
		{"new file", 0o555, 0, []string{"open: true", "cannot be opened", "may write the file and its folder"}},
	} {
		dir := filepath.Join(top, strings.ReplaceAll(test.name, " ", "-"))
		path := filepath.Join(dir, "store.uzda")
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if test.file != 0 {
			if err := errors.Join(os.Rename(upgraded(t), path), os.Chmod(path, test.file)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(dir, test.folder); err != nil {
			t.Fatal(err)
		}
		out := run(path)
		for _, want := range test.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: %s\nwant %q", test.name, out, want)
			}
		}
		_ = os.Chmod(dir, 0o777)
	}
}

// TestUpgrade: an older store is copied, then upgraded; nothing is lost, and the
// older program can open the copy.
// case:S05
func TestUpgrade(t *testing.T) {
	t.Parallel()
	path := recorded(t)
	before := events(t, recorded(t))
	var warned []string
	o := sqlite.Options{Warn: func(s string) { warned = append(warned, s) }}
	db, err := sqlite.OpenLater(path, o, "ALTER TABLE session ADD COLUMN color TEXT NOT NULL DEFAULT 'red'", "CREATE TABLE later (x)")
	if err != nil {
		t.Fatal(err)
	}
	same(t, read(t, db, "chat"), before)
	add(t, db, "chat", note("after the upgrade"))
	sound(t, db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	kept := backup(t, path, 1)
	old, err := sqlite.OpenEarlier(kept, sqlite.Options{}, 1)
	if err != nil {
		t.Fatalf("the older program does not open the copy: %v", err)
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	same(t, events(t, kept), before)
	if len(warned) != 1 || !strings.Contains(warned[0], kept) || !strings.Contains(warned[0], "from version 1 to 4") {
		t.Errorf("warned %q, want the versions and the path of the copy", warned)
	}
	_, err = sqlite.Open(path)
	storage(t, err, "newer program", "version 4, this program knows 2", "nothing was changed")
}

// TestFailedUpgrade: a step that fails is named with its cause, and leaves the
// store as it was.
// case:S05
func TestFailedUpgrade(t *testing.T) {
	t.Parallel()
	path := upgraded(t)
	before := events(t, path)
	_, err := sqlite.OpenLater(path, sqlite.Options{}, "DROP TABLE event; CREATE TABLE session (x)")
	storage(t, err, "0003_later", "table session already exists", "still at version 2")
	same(t, events(t, path), before)
}

// TestNewer: a store of a later program is refused and stays as it is, byte for
// byte, also where its version is only in the log.
// case:S05
func TestNewer(t *testing.T) {
	t.Parallel()
	path := upgraded(t)
	run(t, path, "PRAGMA user_version = 99")
	log := filepath.Join(t.TempDir(), "log.uzda")
	other := upgraded(t)
	db := open(t, other, sqlite.Options{})
	add(t, db, "chat", note("in the log"))
	if err := db.Pragma("user_version = 99"); err != nil {
		t.Fatal(err)
	}
	for _, ext := range []string{"", "-wal"} { // as a crash leaves it
		if err := os.WriteFile(log+ext, bytesOf(t, other+ext), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []string{path, log} {
		before, wal := bytesOf(t, p), len(bytesOf(t, p+"-wal"))
		_, err := sqlite.Open(p)
		storage(t, err, p, "newer program", "version 99, this program knows 2", "nothing was changed")
		if !bytes.Equal(bytesOf(t, p), before) || len(bytesOf(t, p+"-wal")) != wal {
			t.Errorf("%s was changed", p)
		}
	}
	if err := db.Pragma("user_version = 2"); err != nil {
		t.Fatal(err)
	}
}

// TestDrift: what is missing in a store is named, and a fault of one session
// leaves the others alone.
// case:S05
func TestDrift(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		make      func(testing.TB) string
		sql, want string
	}{
		{upgraded, "DROP TABLE kept", "version 2 but lacks kept ("},
		{upgraded, "ALTER TABLE event RENAME COLUMN body TO text", "version 2 but lacks event.body ("},
		{upgraded, "ALTER TABLE session DROP COLUMN title; DROP TABLE once; DROP TABLE blob", "version 2 but lacks blob, once, session.title ("},
		{recorded, "ALTER TABLE event RENAME COLUMN body TO text", "version 1 but lacks event.body ("}, // nothing is made of it
	} {
		path := test.make(t)
		run(t, path, test.sql)
		_, err := sqlite.Open(path)
		storage(t, err, path, test.want, "backup")
	}
	path := upgraded(t)
	run(t, path, `INSERT INTO event (tenant, session, seq, head, body) VALUES ('default', 'bad', 1, '{"seq":', 'x')`)
	db := open(t, path, sqlite.Options{})
	if n := len(read(t, db, "chat")); n == 0 {
		t.Error("a session is gone because another one is damaged")
	}
	for _, err := range db.Read(ctx, "bad", 0) {
		storage(t, err, "event 1 of session bad", "other sessions are not concerned")
	}
	if n, err := db.Rebuild(ctx); n != 2 || err == nil || !strings.Contains(err.Error(), "session bad") {
		t.Errorf("rebuild read %d sessions, %v; want 2 and a word on session bad", n, err)
	}
}

// TestRecorded: a store that was recorded at each older version opens, verifies
// and says what it said.
// case:S05
func TestRecorded(t *testing.T) {
	t.Parallel()
	for version := 1; version <= 2; version++ {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) {
			t.Parallel()
			testRecorded(t, recordedAt(t, version))
		})
	}
}

func testRecorded(t *testing.T, path string) {
	db := open(t, path, sqlite.Options{})
	sound(t, db)
	for s, err := range db.List(ctx) {
		if err != nil || s.Size < 100 {
			t.Errorf("session %s of %d bytes, %v: the upgrade did not count them", s.ID, s.Size, err)
		}
	}
	if _, err := sqlite.OpenEarlier(path, sqlite.Options{}, 1); err == nil {
		t.Error("an older program opens what was upgraded")
	} else {
		storage(t, err, "newer program", "version 2, this program knows 1", "use the newer program")
	}
	if evs := read(t, db, "chat"); len(evs) != 3 || evs[1].Body.(uzda.Posted).Blocks.String() != "Where is order ORD-10422?" {
		t.Errorf("recorded session: %v", evs)
	}
	var ids []uzda.SessionID
	for s, err := range db.List(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, s.ID)
	}
	if fmt.Sprint(ids) != "[other chat]" {
		t.Errorf("sessions %v, want [other chat]", ids)
	}
	if again := add(t, db, "chat", note("first")); again[0].Seq != 3 {
		t.Errorf("the input's id is not known any more: event %d", again[0].Seq)
	}
	if settled, held, err := db.Spent(ctx, "day"); settled != uzda.Dollar/4 || held != uzda.Dollar || err != nil {
		t.Errorf("account: %s settled, %s held, %v", settled, held, err)
	}
	if b, err := db.Get(ctx, uzda.Hash([]byte("a blob")), 2, 4); string(b) != "blob" || err != nil {
		t.Errorf("blob: %q, %v", b, err)
	}
	if b, err := db.Kept(ctx, "chat"); string(b) != "checkpoint" || err != nil {
		t.Errorf("checkpoint: %q, %v", b, err)
	}
	if epoch, err := db.Acquire(ctx, "chat", "me"); epoch != 2 || err != nil {
		t.Errorf("epoch %d, %v", epoch, err)
	}
	claim := uzda.At{Head: uzda.AnyHead, Claim: []uzda.Claim{{Key: "pay", By: uzda.Holder{Session: "x", Use: "1.0"}}}}
	var taken *uzda.Taken
	if _, err := db.Append(ctx, "chat", claim, note("n")); !errors.As(err, &taken) || taken.By.Use != "1.0" || taken.By.Session != "chat" {
		t.Errorf("once-key: %v", err)
	}
}

// recorded makes the store of the first version.
func recorded(t testing.TB) string { return recordedAt(t, 1) }

// recordedAt makes the store that is recorded as text.
func recordedAt(t testing.TB, version int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("testdata/v%d.sql", version))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "store.uzda")
	run(t, path, string(text))
	return path
}

// upgraded makes the same store as this program has it.
func upgraded(t testing.TB) string {
	t.Helper()
	path := recorded(t)
	db, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// run runs SQL on a file with another handle than ours.
func run(t testing.TB, path, text string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(text); err != nil {
		t.Fatal(err)
	}
}

// events reads a session with this program.
func events(t testing.TB, path string) []uzda.Event {
	t.Helper()
	db, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	return read(t, db, "chat")
}

func same(t testing.TB, got, want []uzda.Event) {
	t.Helper()
	if len(got) != len(want) || len(want) == 0 {
		t.Fatalf("%d events, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i].Sum != want[i].Sum || got[i].Prev != want[i].Prev {
			t.Errorf("event %d differs", i+1)
		}
	}
}

// backup returns the path of the copy that an upgrade made.
func backup(t testing.TB, path string, version int) string {
	t.Helper()
	found, err := filepath.Glob(fmt.Sprintf("%s.v%d-*.bak", path, version))
	if err != nil || len(found) != 1 {
		t.Fatalf("copies %v, %v: want one", found, err)
	}
	return found[0]
}

func bytesOf(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return b
}

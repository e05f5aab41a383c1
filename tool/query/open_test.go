package query_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/tool/query"
)

// Any path works, with what a URI would read otherwise. T2
func TestPaths(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"a b.db", "what?.db", "a#b.db", "100%.db", "%41.db", "Łódź Москва.db", "a&mode=rwc.db", "a;b'c\"d.db", "file:x.db",
		"a?mode=rwc&x.db", ":memory:", "+plus.db",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS == "windows" && strings.ContainsAny(name, `?":`) {
				t.Skip("SKIPPED: Windows has no such names")
			}
			dir := filepath.Join(t.TempDir(), "a ? # % Ż")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			db := open(t, build(t, filepath.Join(dir, name), fixture), query.Options{})
			if got := flat(rows(t, db, "SELECT count(*) FROM orders")); got != "3" {
				t.Errorf("count %s", got)
			}
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != 1 {
				t.Errorf("%v lies there (%v), want only %q", entries, err, name)
			}
		})
	}
}

// What is no database is said clearly, with what may have been meant. T2
func TestOpenErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good := build(t, filepath.Join(dir, "shop.db"), fixture)
	raw, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	text := write("notes.txt", []byte(strings.Repeat("this is no database\n", 100)))
	short := write("short.bin", []byte("SQLite"))
	empty := write("empty.bin", nil)
	cut := write("cut.bin", raw[:5000])
	for _, c := range []struct {
		path string
		want []string
	}{
		{filepath.Join(dir, "shpo.db"), []string{"file does not exist", "did you mean " + good + "?"}},
		{filepath.Join(dir, "nothing", "shop.db"), []string{"file does not exist", "folder does not exist"}},
		{dir, []string{"it is a folder", good}},
		{text, []string{"no SQLite database", "not encrypted"}},
		{short, []string{"no SQLite database"}},
		{empty, []string{"empty (0 bytes)"}},
		{cut, []string{"damaged", "backup"}},
	} {
		db, err := query.Open(t.Context(), c.path, query.Options{})
		if err == nil {
			db.Close()
			t.Errorf("%s opens", c.path)
			continue
		}
		contains(t, err.Error(), append(c.want, c.path)...)
	}
	if _, err := query.Open(t.Context(), filepath.Join(dir, "no"), query.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 5 {
		t.Errorf("%d files lie there (%v), want 5", len(entries), err)
	}
}

// A database in WAL mode that another program writes to is read with what was
// committed, before, during and after; and again when that program has gone. T2
func TestWriterBeside(t *testing.T) {
	t.Parallel()
	path := build(t, filepath.Join(t.TempDir(), "w.db"), "PRAGMA journal_mode = WAL; CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1)")
	db := open(t, path, query.Options{})
	read := func(want int) {
		t.Helper()
		if got := flat(rows(t, db, "SELECT max(n) FROM t")); got != fmt.Sprint(want) {
			t.Errorf("max %s, want %d", got, want)
		}
	}
	read(1)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "UZDA_TEST_ROLE=writer", "UZDA_TEST_DB="+path)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for n := 2; n < 20; n++ {
		if _, err := io.WriteString(stdin, "more\n"); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() {
			t.Fatal("the writer broke off")
		}
		read(n)
	}
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	read(19)
	if got := snapshot(t, path); strings.Contains(got, "-wal") || strings.Contains(got, "-shm") {
		t.Errorf("files of the log are left: %s", got)
	}
}

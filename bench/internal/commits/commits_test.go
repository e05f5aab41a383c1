package commits_test

import (
	"database/sql"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/bench/internal/commits"
	"github.com/uzda-dev/uzda/bench/internal/durable"
	"github.com/uzda-dev/uzda/bench/internal/provider"
	"github.com/uzda-dev/uzda/bench/internal/task"
)

// What is written by hand is what a durable run of Uzda commits: as many events
// of as many bytes, sealed and chained, all holds settled and charged, the index
// of sessions, the checkpoint.
func TestCommits(t *testing.T) {
	t.Parallel()
	const steps = 15
	s := httptest.NewServer(provider.New(steps))
	defer s.Close()
	dir := t.TempDir()
	for name, c := range map[string]task.Contestant{"hand": commits.Run, "ours": durable.Run} {
		one := task.Task{URL: s.URL + provider.Path(steps, name) + "/v1", Steps: steps, Dir: dir}
		if r, err := one.Run(t.Context(), c); err != nil || r.Answer != task.Answer {
			t.Fatalf("%s: %+v, %v", name, r, err)
		}
	}
	hand, durable := open(t, dir, "by-hand.db"), open(t, dir, "durable.uzda")
	for _, query := range []string{
		"SELECT count(*) FROM event",
		"SELECT sum(length(head)) / 100 FROM event", // times differ in length
		"SELECT count(*) FROM hold WHERE spent IS NOT NULL",
		"SELECT count(*) FROM hold",
		"SELECT sum(spent) FROM hold",
		"SELECT count(*) FROM kept",
		"SELECT count(*) FROM account",
		"SELECT sum(settled) FROM account",
		"SELECT 1 + sum(held) FROM account",
		"SELECT 1000000 * head + 1000 * steps + tokens / 100 FROM session WHERE status = 'done'",
		"SELECT cost FROM session",
		"SELECT bytes / 100 FROM session",
	} {
		if a, b := number(t, hand, query), number(t, durable, query); a != b || a == 0 {
			t.Errorf("%s: %d by hand, %d by Uzda", query, a, b)
		}
	}
	rows, err := hand.Query("SELECT seq, head, body FROM event ORDER BY seq")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	link, next := "", uzda.Seq(1)
	for rows.Next() {
		var seq uzda.Seq
		var l uzda.Line
		if err := rows.Scan(&seq, &l.Head, &l.Body); err != nil {
			t.Fatal(err)
		}
		e, sealed, err := uzda.Open(l, nil)
		if err != nil || l.Check() != nil || e.Seq != seq || seq != next || e.Prev != link {
			t.Fatalf("event %d after %d: %v, %v", seq, next-1, err, l.Check())
		}
		link, next = sealed, seq+1
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, dir, name string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func number(t *testing.T, db *sql.DB, query string) (n int64) {
	t.Helper()
	if err := db.QueryRow(query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

package query_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"testing"
	"time"

	"modernc.org/sqlite"

	"github.com/uzda-dev/uzda/tool/query"
)

// Exactly one statement that reads is admitted. T2
func TestCheckAdmits(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"SELECT 1":                        "SELECT 1",
		"select 1;":                       "select 1",
		" ;; SELECT 1 ; ; -- end":         "SELECT 1",
		"-- why\nSELECT /* ; */ 1 -- ;\n": "SELECT /* ; */ 1",
		"/* open":                         "",
		"SELECT ';' AS \"a;b\", [c;d], `e;f` FROM (SELECT 1 AS \"c;d\")":   "SELECT ';' AS \"a;b\", [c;d], `e;f` FROM (SELECT 1 AS \"c;d\")",
		"SELECT 'it''s; DROP TABLE x'":                                     "SELECT 'it''s; DROP TABLE x'",
		"VALUES (1), (2)":                                                  "VALUES (1), (2)",
		"WITH a AS (SELECT 1) SELECT replace('a', 'a', 'b') FROM a":        "WITH a AS (SELECT 1) SELECT replace('a', 'a', 'b') FROM a",
		"WITH RECURSIVE \"delete\" AS (SELECT 1) SELECT * FROM \"delete\"": "WITH RECURSIVE \"delete\" AS (SELECT 1) SELECT * FROM \"delete\"",
		"EXPLAIN SELECT 1":                                                 "EXPLAIN SELECT 1",
		"EXPLAIN QUERY PLAN SELECT 1":                                      "EXPLAIN QUERY PLAN SELECT 1",
		"PRAGMA table_info(orders)":                                        "PRAGMA table_info(orders)",
		"PRAGMA main.table_info('a b');":                                   "PRAGMA main.table_info('a b')",
		"PRAGMA foreign_key_list(\"x\")":                                   "PRAGMA foreign_key_list(\"x\")",
		"pragma User_Version":                                              "pragma User_Version",
		"\uFEFFSELECT 1":                                                   "SELECT 1",
		"SELECT\f1":                                                        "SELECT\f1",
		"SELECT '\u2028;' FROM t WHERE Łódź = 1":                           "SELECT '\u2028;' FROM t WHERE Łódź = 1",
	} {
		s, err := query.Check(in)
		if want == "" {
			if err == nil {
				t.Errorf("%q is admitted", in)
			}
			continue
		}
		if err != nil || s.Text != want {
			t.Errorf("%q: %q, %v", in, s.Text, err)
		}
	}
}

// refusals are statements that must not get through, with a word of the reason.
var refusals = []struct{ sql, why string }{
	{"", "no statement"},
	{" -- nothing\n;", "no statement"},
	{"SELECT 1; SELECT 2", "second statement"},
	{"SELECT 1;DROP TABLE orders", "second statement"},
	{"SELECT 1; -- x\n DELETE FROM orders", "second statement"},
	{"SELECT 1 /*/ ; */; DELETE FROM orders --*/", "second statement"},
	{"SELECT \"a\"\"\"; DELETE FROM orders --\"", "second statement"},
	{"SELECT [a\"]; DELETE FROM orders --\"]", "second statement"},
	{"SELECT '\\'; DELETE FROM orders; --'", "second statement"},
	{"INSERT INTO orders VALUES (1)", "reading only"},
	{"UPDATE orders SET status = 'paid'", "reading only"},
	{"DELETE FROM orders", "reading only"},
	{"REPLACE INTO orders VALUES (1)", "reading only"},
	{"WITH a AS (SELECT 1) DELETE FROM orders", "reading only"},
	{"WITH a (x) AS (SELECT 1), b AS (SELECT (2)) UPDATE orders SET status = 'x'", "reading only"},
	{"WITH a AS (SELECT 1) INSERT INTO orders SELECT * FROM a RETURNING *", "reading only"},
	{"CREATE TABLE x (a)", "reading only"},
	{"CREATE TEMP TABLE x AS SELECT 1", "reading only"},
	{"CREATE TEMP VIEW x AS SELECT 1", "reading only"},
	{"CREATE VIRTUAL TABLE x USING fts5(a)", "reading only"},
	{"DROP TABLE orders", "reading only"},
	{"ALTER TABLE orders ADD COLUMN x", "reading only"},
	{"VACUUM", "reading only"},
	{"VACUUM INTO '/tmp/copy.db'", "reading only"},
	{"REINDEX", "reading only"},
	{"ANALYZE", "reading only"},
	{"BEGIN", "reading only"},
	{"SAVEPOINT a", "reading only"},
	{"ATTACH 'other.db' AS other", "ATTACH is not allowed"},
	{"DETACH main", "DETACH is not allowed"},
	{"EXPLAIN DELETE FROM orders", "reading only"},
	{"EXPLAIN QUERY PLAN UPDATE orders SET id = 1", "reading only"},
	{"EXPLAIN", "needs a SELECT"},
	{"EXPLAIN PRAGMA table_info(x)", "explain a SELECT"},
	{"PRAGMA writable_schema = 1", "would set"},
	{"PRAGMA writable_schema(1)", "not allowed"},
	{"PRAGMA query_only = 0", "would set"},
	{"PRAGMA query_only(0)", "not allowed"},
	{"PRAGMA journal_mode = DELETE", "would set"},
	{"PRAGMA journal_mode(DELETE)", "not allowed"},
	{"PRAGMA user_version = 7", "would set"},
	{"PRAGMA user_version(7)", "not allowed"},
	{"PRAGMA main.user_version(7)", "not allowed"},
	{"PRAGMA temp.table_info(x)", "no database temp"},
	{"PRAGMA wal_checkpoint", "not allowed"},
	{"PRAGMA optimize", "not allowed"},
	{"PRAGMA incremental_vacuum(1)", "not allowed"},
	{"PRAGMA table_info = orders", "would set"},
	{"PRAGMA", "needs a name"},
	{"SELECT ?", "no value"},
	{"SELECT :id", "no value"},
	{"SELECT $a::b(;DROP TABLE orders)", ""},
	{"SELECT 'open", "never closed"},
	{"SELECT \"open", "never closed"},
	{"SELECT [open", "never closed"},
	{"SELECT 1\x00; DROP TABLE orders", "NUL"},
	{"(SELECT 1)", "without parentheses"},
	{"SHOW TABLES", "list_tables"},
	{"DESCRIBE orders", "describe_table"},
	{"hello", "cannot begin with"},
	{"WITH a AS (SELECT 1)", "needs a SELECT"},
	{"SELECT " + strings.Repeat("abs(", 1_001) + "1" + strings.Repeat(")", 1_001), "function calls"},
	{"SELECT '" + strings.Repeat("x", 70_000) + "'", "bytes"},
}

// What changes anything, or hides a second statement, is refused with the reason
// and the way out. T2
func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	db := shop(t)
	for _, c := range refusals {
		_, err := query.Check(c.sql)
		if err == nil {
			t.Errorf("%.80q is admitted", c.sql)
			continue
		}
		contains(t, err.Error(), c.why)
		if c.sql == "" {
			continue // the schema of the input refuses it
		}
		if r := run(t, db, c.sql); !r.IsError || r.Code != "invalid_input" {
			t.Errorf("%.80q: error %v, code %s", c.sql, r.IsError, r.Code)
		}
	}
}

// FuzzCheck runs what the tokenizer admits on a database that could be written:
// no other wall stands there. Nothing may change, and nothing may be attached.
func FuzzCheck(f *testing.F) {
	for _, c := range refusals {
		if len(c.sql) < 200 {
			f.Add(c.sql)
		}
	}
	for _, s := range []string{
		"SELECT * FROM t", "SELECT 1;", "WITH a AS (SELECT 1) SELECT * FROM a", "VALUES (1)", "EXPLAIN SELECT 1",
		"PRAGMA table_info(t)", "PRAGMA data_version", "SELECT * FROM pragma_table_info('t')", "SELECT load_extension('x')",
		"SELECT '--' ; --", "SELECT \"a''\"", "SELECT x'00'';'", "SELECT 1 /* */ -- \r; DELETE FROM t", "SELECT\v1;", "SELECT 1--\n;\n",
		"SELECT 1e;", "SELECT 0x;DELETE FROM t", "WITH x AS MATERIALIZED (VALUES(1)) SELECT 1 RETURNING 1", "PRAGMA \"table_info\"(t)",
	} {
		f.Add(s)
	}
	conn, err := new(sqlite.Driver).Open("file::memory:")
	if err != nil {
		f.Fatal(err)
	}
	pool := sql.OpenDB(one{conn})
	f.Cleanup(func() { pool.Close() })
	pool.SetMaxOpenConns(1)
	if _, err := pool.Exec("CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 'x'); CREATE INDEX ta ON t (a)"); err != nil {
		f.Fatal(err)
	}
	state := func() string {
		var s string
		const q = `SELECT total_changes() || '|' || (SELECT group_concat(type || name || sql) FROM sqlite_schema) || '|' ||
			(SELECT group_concat(a || b) FROM t) || '|' || (SELECT count(*) FROM temp.sqlite_schema) || '|' || (SELECT group_concat(name) FROM pragma_database_list)
			|| (SELECT user_version FROM pragma_user_version) || (SELECT application_id FROM pragma_application_id) || (SELECT foreign_keys FROM pragma_foreign_keys)`
		if err := pool.QueryRow(q).Scan(&s); err != nil {
			s = "unreadable: " + err.Error()
		}
		return s
	}
	before := state()
	f.Fuzz(func(t *testing.T, text string) {
		s, err := query.Check(text)
		if err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		defer cancel()
		drain(ctx, pool, s.Text)
		if after := state(); after != before {
			t.Fatalf("%q changed the database\nfrom %s\nto   %s", s.Text, before, after)
		}
	})
}

// drain runs a statement and reads some rows; an error is SQLite's business.
func drain(ctx context.Context, pool *sql.DB, text string) {
	res, err := pool.QueryContext(ctx, text)
	if err != nil {
		return
	}
	defer res.Close()
	const most = 50
	n := 0
	for n < most && res.Next() {
		n++
	}
	_ = res.Err()
}

// one is a connector with one connection, which an interrupt must not replace.
type one struct{ driver.Conn }

func (o one) Connect(context.Context) (driver.Conn, error) { return o.Conn, nil }
func (o one) Driver() driver.Driver                        { return nil }

// The tokenizer never cuts a statement where SQLite would not: what is admitted
// compiles to the end of its text, or not at all.
func TestCheckAgreesWithSQLite(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", "file::memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE TABLE t (a)"); err != nil {
		t.Fatal(err)
	}
	// pieces that begin or end comments, quotes and names, in all orders
	pieces := []string{"'", `"`, "`", "[", "]", "--", "/*", "*/", "\n", ";", "x'", "/", "*", "a"}
	admitted := 0
	for i := range len(pieces) * len(pieces) * len(pieces) {
		mid := pieces[i%14] + pieces[i/14%14] + pieces[i/196]
		text := fmt.Sprintf("SELECT 1 %s ; INSERT INTO t VALUES (1) %s", mid, mid)
		s, err := query.Check(text)
		if err != nil {
			continue
		}
		admitted++
		_, _ = db.Exec(s.Text) // a syntax error is fine
		var n int
		if err := db.QueryRow("SELECT count(*) FROM t").Scan(&n); err != nil || n != 0 {
			t.Fatalf("%q hid a second statement: %d rows, %v", text, n, err)
		}
	}
	if admitted == 0 {
		t.Error("nothing was admitted, so nothing was tried")
	}
}

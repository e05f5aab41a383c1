package query_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	_ "modernc.org/sqlite"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/tool/query"
)

// TestMain is also the other programs of these tests.
func TestMain(m *testing.M) {
	switch os.Getenv("UZDA_TEST_ROLE") {
	case "writer":
		writer(os.Getenv("UZDA_TEST_DB"))
		return
	case "reader":
		reader(os.Getenv("UZDA_TEST_DB"))
		return
	}
	goleak.VerifyTestMain(m)
}

// writer adds a row for each line that it reads and says so, the WAL open meanwhile.
func writer(path string) {
	db, err := sql.Open("sqlite", uri(path)+"?_pragma=busy_timeout(5000)")
	if err != nil {
		panic(err)
	}
	defer db.Close()
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		if _, err := db.Exec("INSERT INTO t (n) VALUES ((SELECT max(n) FROM t) + 1)"); err != nil {
			panic(err)
		}
		fmt.Println("written")
	}
}

// reader opens a database and prints the error.
func reader(path string) {
	db, err := query.Open(context.Background(), path, query.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("opened")
	db.Close()
}

func uri(path string) string {
	return "file://" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()
}

// build makes a database by a script.
func build(t testing.TB, path, script string) string {
	t.Helper()
	db, err := sql.Open("sqlite", uri(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(script); err != nil {
		t.Fatalf("build %s: %v", path, err)
	}
	return path
}

// fixture is a small shop.
const fixture = `
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT);
INSERT INTO customers VALUES (1, 'Łucja', 'Kraków'), (2, 'Иван', 'Москва'), (3, 'Jan', NULL);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers (id),
	placed DATE NOT NULL, status TEXT DEFAULT 'new', total INTEGER);
INSERT INTO orders VALUES (1, 1, '2026-11-01', 'paid', 9223372036854775807), (2, 1, '2026-11-02T10:00:00Z', 'new', 5), (3, 2, '2026-11-03 10:00', 'new', -5);
CREATE INDEX orders_customer ON orders (customer_id);
CREATE VIEW open_orders AS SELECT * FROM orders WHERE status = 'new';
`

func open(t testing.TB, path string, o query.Options) *query.DB {
	t.Helper()
	db, err := query.Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func shop(t testing.TB) *query.DB {
	t.Helper()
	return open(t, build(t, filepath.Join(t.TempDir(), "shop.db"), fixture), query.Options{})
}

// call runs a tool as the loop does: Check, then Call.
func call(t testing.TB, db *query.DB, name string, in any) uzda.Result {
	t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range db.Tools() {
		if tool.Spec().Name != name {
			continue
		}
		input, err := tool.(uzda.Checker).Check(raw)
		if err != nil {
			t.Fatalf("%s %s: %v", name, raw, err)
		}
		r, err := tool.Call(t.Context(), uzda.Use{Name: name, Input: input})
		if err != nil {
			t.Fatalf("%s %s stopped the turn: %v", name, raw, err)
		}
		return r
	}
	t.Fatalf("there is no tool %s", name)
	return uzda.Result{}
}

type in = map[string]any

func run(t testing.TB, db *query.DB, sql string) uzda.Result {
	t.Helper()
	return call(t, db, "run_query", in{"sql": sql})
}

// rows runs a statement that must succeed.
func rows(t testing.TB, db *query.DB, sql string) query.Table {
	t.Helper()
	r := run(t, db, sql)
	if r.IsError {
		t.Fatalf("%s: %s", sql, r.Blocks)
	}
	tab, err := query.Parse(r.Blocks.String())
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// flat writes the cells of a table in one line.
func flat(tab query.Table) string {
	var out []string
	for _, r := range tab.Rows {
		var cells []string
		for _, c := range r {
			cells = append(cells, string(c))
		}
		out = append(out, strings.Join(cells, ","))
	}
	return strings.Join(out, ";")
}

func contains(t testing.TB, got string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("%q is not in: %s", w, got)
		}
	}
}

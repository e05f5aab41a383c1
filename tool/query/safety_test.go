package query_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/tool/query"
	"github.com/uzda-dev/uzda/tool/tooltest"
)

// snapshot is the content and time of the file, and what lies beside it.
func snapshot(t testing.TB, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return fmt.Sprintf("%x %v %v", sha256.Sum256(raw), info.ModTime(), names)
}

// Whatever is tried, the file keeps its bytes and its time, and nothing appears
// beside it; also for a file in WAL mode that nobody has open. T2
func TestNothingChanges(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"DELETE", "WAL"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			path := build(t, filepath.Join(t.TempDir(), "shop.db"), "PRAGMA journal_mode = "+mode+";"+fixture)
			before := snapshot(t, path)
			db, err := query.Open(t.Context(), path, query.Options{})
			if err != nil {
				t.Fatal(err)
			}
			call(t, db, "list_tables", in{})
			call(t, db, "describe_table", in{"table": "orders"})
			for _, c := range refusals {
				if c.sql != "" {
					run(t, db, c.sql)
				}
			}
			if got := flat(rows(t, db, "SELECT count(*) FROM orders")); got != "3" {
				t.Errorf("count %s", got)
			}
			during := snapshot(t, path)
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			if after := snapshot(t, path); after != before || during != before {
				t.Errorf("before %s\nduring %s\nafter  %s", before, during, after)
			}
		})
	}
}

// The authorizer stands behind the tokenizer: functions and table functions that
// would do something are refused by SQLite itself. T2
func TestAuthorizer(t *testing.T) {
	t.Parallel()
	db := shop(t)
	for _, sql := range []string{
		"SELECT load_extension('x')",
		"SELECT LOAD_EXTENSION('x', 'y')",
		"SELECT fts3_tokenizer('simple')",
		"SELECT writefile('x', 'y')",
		"SELECT json_group_array(id) FROM orders",
		"SELECT jsonb_group_object(id, total) FROM orders",
		"SELECT * FROM pragma_integrity_check",
		"SELECT * FROM pragma_database_list",
		"SELECT * FROM other.orders",
	} {
		if r := run(t, db, sql); !r.IsError {
			t.Errorf("%s: %s", sql, r.Blocks)
		}
	}
	contains(t, run(t, db, "SELECT load_extension('x')").Blocks.String(), "load_extension", "reading only")
	contains(t, run(t, db, "SELECT * FROM pragma_database_list").Blocks.String(), "PRAGMA database_list")
}

// Virtual tables can be read, although some prepare statements that write.
func TestVirtualTables(t *testing.T) {
	t.Parallel()
	db := open(t, build(t, filepath.Join(t.TempDir(), "v.db"), `
		CREATE VIRTUAL TABLE f USING fts5(body); INSERT INTO f VALUES ('smok wawelski'), ('syrenka');
		CREATE VIRTUAL TABLE r USING rtree(id, x0, x1); INSERT INTO r VALUES (1, 0, 2), (2, 5, 6);`), query.Options{})
	for sql, want := range map[string]string{
		"SELECT body FROM f WHERE f MATCH 'smok'": `"smok wawelski"`,
		"SELECT id FROM r WHERE x0 < 1":           "1",
	} {
		if got := flat(rows(t, db, sql)); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
	list := call(t, db, "list_tables", in{}).Blocks.String()
	if strings.Contains(list, "f_data") || strings.Contains(list, "r_node") {
		t.Errorf("shadow tables are listed: %s", list)
	}
	contains(t, call(t, db, "describe_table", in{"table": "f"}).Blocks.String(), "USING fts5", `["body"`)
}

// endless statements of different kinds: in the first row, in a later one, in a
// sorter, in a join, with rows that are all different.
var endless = []string{
	"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
	"WITH RECURSIVE n (i) AS (SELECT 1 UNION SELECT i + 1 FROM n) SELECT max(i) FROM n",
	"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0",
	"SELECT 1 UNION ALL SELECT (WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n)",
	"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n ORDER BY i DESC",
	"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100000) SELECT count(*) FROM n a, n b, n c",
	"WITH RECURSIVE n (i, s) AS (SELECT 1, 'x' UNION ALL SELECT i + 1, s || s FROM n) SELECT sum(length(s)) FROM n WHERE i > 1000000000",
	"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT group_concat(i) FROM n WHERE i % 1000000 = 0",
}

// An endless statement ends with its time, and the next one works. The bound is
// far above the limit, so that only one that never ends fails. T2
func TestTimeLimit(t *testing.T) {
	t.Parallel()
	db := open(t, build(t, filepath.Join(t.TempDir(), "shop.db"), fixture), query.Options{Timeout: 300 * time.Millisecond})
	for _, sql := range endless {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		r := callCtx(ctx, t, db, sql)
		if ctx.Err() != nil {
			t.Errorf("%s was not stopped", sql)
		}
		cancel()
		if !r.IsError || r.Code != uzda.CodeTimeout && !strings.Contains(r.Blocks.String(), "too long") {
			t.Errorf("%s: code %s, %s", sql, r.Code, r.Blocks)
		}
		if got := flat(rows(t, db, "SELECT count(*) FROM orders")); got != "3" {
			t.Errorf("after %s: %s", sql, got)
		}
	}
	contains(t, run(t, db, endless[0]).Blocks.String(), "300ms", "filter")
}

func callCtx(ctx context.Context, t testing.TB, db *query.DB, sql string) uzda.Result {
	t.Helper()
	raw, err := json.Marshal(in{"sql": sql})
	if err != nil {
		t.Fatal(err)
	}
	r, err := db.Tools()[2].Call(ctx, uzda.Use{Input: raw})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The suite that every tool must pass. T1
func TestConformance(t *testing.T) {
	t.Parallel()
	tools := shop(t).Tools()
	tooltest.Run(t, tools[0],
		tooltest.Case{Input: `{}`, Want: "open_orders"},
		tooltest.Case{Input: `{"table":"orders"}`, Bad: true, Want: "table"},
	)
	tooltest.Run(t, tools[1],
		tooltest.Case{Input: `{"table":"orders"}`, Want: "customer_id"},
		tooltest.Case{Input: `{"table":"nothing"}`, IsError: true, Want: "The tables are"},
		tooltest.Case{Input: `{"tabel":"orders"}`, Bad: true, Want: "tabel"},
		tooltest.Case{Input: `{}`, Bad: true, Want: "table"},
	)
	tooltest.Run(t, tools[2],
		tooltest.Case{Input: `{"sql":"SELECT count(*) AS n FROM orders"}`, Want: `"rows":[[3]]`},
		tooltest.Case{Input: `{"sql":"DELETE FROM orders"}`, IsError: true, Want: "reading only"},
		tooltest.Case{Input: `{"sql":""}`, Bad: true, Want: "sql"},
		tooltest.Case{Input: `{"sql":"SELECT 1","limit":"many"}`, Bad: true, Want: "limit"},
		tooltest.Case{Input: `{"query":"SELECT 1"}`, Bad: true, Want: "query"},
	)
}

// A cancelled call comes back as such.
func TestCancel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := callCtx(ctx, t, shop(t), endless[0]); !r.IsError || r.Code != uzda.CodeCancelled {
		t.Errorf("code %s: %s", r.Code, r.Blocks)
	}
}

// Statements that would fill the memory are refused by SQLite's own limits. T2 case:C13
func TestMemory(t *testing.T) {
	db := open(t, build(t, filepath.Join(t.TempDir(), "shop.db"), fixture), query.Options{Timeout: time.Minute}) // the machine may be busy
	many := strings.TrimSuffix(strings.Repeat("hex(zeroblob(8000000)),", 500), ",")
	peak := watch(t)
	for _, sql := range []string{
		"SELECT zeroblob(1000000000)",
		"SELECT hex(zeroblob(500000000))",
		"SELECT randomblob(900000000)",
		"SELECT replace(hex(zeroblob(8000000)), '0', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx')",
		"SELECT printf('%900000000d', 1)",
		"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100000) SELECT group_concat(hex(zeroblob(10000))) FROM n",
		"SELECT " + many,
	} {
		r := run(t, db, sql)
		if !r.IsError {
			t.Errorf("%.80s gives %d bytes", sql, len(r.Blocks.String()))
			continue
		}
		contains(t, r.Blocks.String(), "too long")
	}
	if got, most := peak(), uint64(200<<20); got > most {
		t.Errorf("the process grew by %d MiB", got>>20)
	}
}

// watch returns a function that tells by how much the process's memory grew at most.
func watch(t *testing.T) func() uint64 {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: the memory of the process is read from /proc")
	}
	read := func() uint64 {
		raw, err := os.ReadFile("/proc/self/statm")
		if err != nil {
			t.Fatal(err)
		}
		var size, resident uint64
		if _, err := fmt.Sscan(string(raw), &size, &resident); err != nil {
			t.Fatal(err)
		}
		return resident * uint64(os.Getpagesize())
	}
	start := read()
	most := start
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				most = max(most, read())
			case <-stop:
				return
			}
		}
	})
	return func() uint64 {
		close(stop)
		wg.Wait()
		return most - start
	}
}

// Calls run beside each other.
func TestParallel(t *testing.T) {
	t.Parallel()
	db := shop(t)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if r := callCtx(context.Background(), t, db, "SELECT count(*) FROM orders"); r.IsError {
				t.Error(r.Blocks)
			}
		})
	}
	wg.Wait()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if r := callCtx(t.Context(), t, db, "SELECT 1"); !r.IsError {
		t.Error("a closed database answers")
	}
}

// The tools are what the design says, and tell the model when not to use them. T1
func TestSpecs(t *testing.T) {
	t.Parallel()
	var names []string
	for _, tool := range shop(t).Tools() {
		s := tool.Spec()
		names = append(names, s.Name)
		if s.Effects != (uzda.Effects{ReadOnly: true, Idempotent: true}) || s.Unchecked {
			t.Errorf("%s: %+v", s.Name, s)
		}
		contains(t, s.Description, "Use it", "not use it", "at most")
		if strings.ContainsAny(strings.ReplaceAll(s.Description, `{"`, ""), "{") {
			t.Errorf("%s: a limit is not filled in: %s", s.Name, s.Description)
		}
		var schema struct{ Required []string }
		if err := json.Unmarshal(s.Input, &schema); err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{`{"tabel":"x"}`, `{"sql":5}`, `[]`} {
			if _, err := tool.(uzda.Checker).Check(json.RawMessage(bad)); err == nil {
				t.Errorf("%s accepts %s", s.Name, bad)
			}
		}
	}
	if want := []string{"list_tables", "describe_table", "run_query"}; !slices.Equal(names, want) {
		t.Errorf("tools %v", names)
	}
}

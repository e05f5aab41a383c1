package query_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/tool/query"
)

// Values arrive exactly as they are stored. T2
func TestValues(t *testing.T) {
	t.Parallel()
	db := shop(t)
	for _, c := range []struct{ sql, want string }{
		{"SELECT 9223372036854775807, -9223372036854775808, 0", "9223372036854775807,-9223372036854775808,0"},
		{"SELECT 0.1, 0.1 + 0.2, 1.0, 1e300, -0.5", "0.1,0.30000000000000004,1.0,1e+300,-0.5"},
		{"SELECT 9e999, -9e999, 9e999 - 9e999", `"Infinity","-Infinity",null`},
		{"SELECT NULL, '', 'a''b', 'Łódź Москва', 'x < y & z'", `null,"","a'b","Łódź Москва","x < y & z"`},
		{"SELECT x'', x'00ff', zeroblob(1000)", `"<blob 0 bytes>","<blob 2 bytes>","<blob 1000 bytes>"`},
		{"SELECT placed FROM orders ORDER BY id", `"2026-11-01";"2026-11-02T10:00:00Z";"2026-11-03 10:00"`},
		{"SELECT max(placed), min(placed) FROM orders", `"2026-11-03 10:00","2026-11-01"`},
		{"SELECT total FROM orders WHERE id = 1", "9223372036854775807"},
		{"SELECT CAST(x'61ff62' AS TEXT)", "\"a\uFFFDb\""},
		{"SELECT 'a' || char(0) || char(10) || 'b'", `"a\u0000\nb"`},
		{"VALUES (1, 'a'), (2, 'b')", `1,"a";2,"b"`},
		{"SELECT 1 WHERE 0", ""},
		{"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n", "1;2;3"},
		{"SELECT id FROM orders ORDER BY id DESC", "3;2;1"},
		{"SELECT id, 1 AS id FROM orders UNION ALL SELECT id, 2 FROM customers ORDER BY 1 DESC, 2 LIMIT 2 OFFSET 1", "3,2;2,1"},
		{"SELECT status, count(*) FROM orders GROUP BY status HAVING count(*) > 0 ORDER BY 2 DESC", `"new",2;"paid",1`},
		{"SELECT id, row_number() OVER (ORDER BY id DESC) FROM orders ORDER BY 2", "3,1;2,2;1,3"},
		{"PRAGMA table_info(customers)", `0,"id","INTEGER",0,null,1;1,"name","TEXT",1,null,0;2,"city","TEXT",0,null,0`},
		{"PRAGMA main.user_version", "0"},
	} {
		if got := flat(rows(t, db, c.sql)); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.sql, got, c.want)
		}
	}
	tab := rows(t, db, `SELECT id AS "my id", count(*), id FROM orders`)
	if want := []string{"my id", "count(*)", "id"}; !slices.Equal(tab.Columns, want) {
		t.Errorf("columns %q, want %q", tab.Columns, want)
	}
	plan := rows(t, db, "EXPLAIN QUERY PLAN SELECT * FROM orders WHERE customer_id = 1")
	contains(t, flat(plan), "orders_customer")
}

// The number of rows is limited, one more is read to know that there are more,
// and a limit of 0 or over the maximum is the default. T2 T3
func TestRowLimit(t *testing.T) {
	t.Parallel()
	db := shop(t)
	const many = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600) SELECT i FROM n"
	for _, c := range []struct {
		limit     any
		want      int
		truncated bool
	}{{nil, 100, true}, {0, 100, true}, {501, 100, true}, {500, 500, true}, {"7", 7, true}, {1.0, 1, true}} {
		input := in{"sql": many}
		if c.limit != nil {
			input["limit"] = c.limit
		}
		tab, err := query.Parse(call(t, db, "run_query", input).Blocks.String())
		if err != nil {
			t.Fatal(err)
		}
		if tab.Count != c.want || len(tab.Rows) != c.want || tab.Truncated != c.truncated {
			t.Errorf("limit %v: %d rows (row_count %d), truncated %v", c.limit, len(tab.Rows), tab.Count, tab.Truncated)
		}
		contains(t, tab.Note, fmt.Sprintf("OFFSET %d", c.want))
	}
	exact := rows(t, db, "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) SELECT i FROM n")
	if exact.Truncated || exact.Count != 100 || exact.Note != "" {
		t.Errorf("exactly 100 rows: truncated %v, %d, %q", exact.Truncated, exact.Count, exact.Note)
	}
	small := open(t, build(t, filepath.Join(t.TempDir(), "s.db"), fixture), query.Options{MaxRows: 2})
	if tab := rows(t, small, "SELECT * FROM orders"); tab.Count != 2 || !tab.Truncated {
		t.Errorf("MaxRows 2 gave %d rows", tab.Count)
	}
}

// A long value keeps its head and tail at rune boundaries, says exactly how many
// bytes are gone and how to read them; the end of a log is visible. T3 case:C13
func TestLongValue(t *testing.T) {
	t.Parallel()
	db := shop(t)
	tab := rows(t, db, "SELECT 'начало' || replace(hex(zeroblob(500000)), '00', 'жъ') || 'FATAL: disk quota' AS log")
	var got string
	if err := json.Unmarshal(tab.Rows[0][0], &got); err != nil {
		t.Fatal(err)
	}
	if !utf8.ValidString(got) || strings.Contains(got, "\uFFFD") || len(got) > 2_100 {
		t.Errorf("%d bytes, valid %v", len(got), utf8.ValidString(got))
	}
	if !strings.HasPrefix(got, "начало") || !strings.HasSuffix(got, "FATAL: disk quota") {
		t.Errorf("head or tail is lost: %.40s … %s", got, got[len(got)-20:])
	}
	head, rest, _ := strings.Cut(got, "…[")
	var cut int
	if _, err := fmt.Sscanf(rest, "%d bytes cut]", &cut); err != nil {
		t.Fatal(err)
	}
	_, tail, _ := strings.Cut(rest, "]…")
	whole := len("начало") + 500_000*len("жъ") + len("FATAL: disk quota")
	if len(head)+cut+len(tail) != whole {
		t.Errorf("%d + %d cut + %d is not %d", len(head), cut, len(tail), whole)
	}
	contains(t, tab.Note, "substr(")
	part := rows(t, db, "SELECT substr('abc' || replace(hex(zeroblob(5000)), '00', 'ж') || 'end', 5001, 10)")
	if flat(part) != `"жжжend"` {
		t.Errorf("paging with substr: %s", flat(part))
	}
}

// Whatever the rows hold, a result stays within its size, and says from where
// to go on. T3 case:C13
func TestResultSize(t *testing.T) {
	t.Parallel()
	path := build(t, filepath.Join(t.TempDir(), "big.db"), `CREATE TABLE b (id INTEGER PRIMARY KEY, x TEXT);
		INSERT INTO b SELECT value, printf('%04d', value) || hex(zeroblob(4000)) FROM (
			WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 300) SELECT value FROM n)`)
	for _, size := range []int{1_000, 5_000, 40_000} {
		db := open(t, path, query.Options{MaxBytes: size})
		seen := 0
		for seen < 300 {
			r := run(t, db, fmt.Sprintf("SELECT id, x FROM b ORDER BY id LIMIT 100 OFFSET %d", seen))
			text := r.Blocks.String()
			tab, err := query.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if len(text) > size || tab.Count == 0 {
				t.Fatalf("MaxBytes %d: %d bytes, %d rows", size, len(text), tab.Count)
			}
			if first := string(tab.Rows[0][0]); first != fmt.Sprint(seen+1) {
				t.Fatalf("MaxBytes %d: page at %d begins with row %s", size, seen, first)
			}
			seen += tab.Count
			if tab.Truncated {
				contains(t, tab.Note, fmt.Sprintf("OFFSET %d", tab.Count))
			} else if tab.Count < 100 && seen < 300 {
				t.Fatalf("rows are missing and truncated is false: %s", text)
			}
			if size < 5_000 && seen > 20 {
				break
			}
		}
	}
	wide := "SELECT " + strings.TrimSuffix(strings.Repeat("'a value of some length', ", 1_500), ", ")
	if r := run(t, open(t, path, query.Options{}), wide); !r.IsError {
		t.Error("a row of 1,500 columns fits")
	} else {
		contains(t, r.Blocks.String(), "name the columns that you need")
	}
}

// People get a table that cannot steer their terminal. T3
func TestPeople(t *testing.T) {
	t.Parallel()
	r := run(t, shop(t), "SELECT id, name, city FROM customers ORDER BY id")
	want := "id  name   city\n──  ─────  ──────\n 1  Łucja  Kraków\n 2  Иван   Москва\n 3  Jan    NULL\n3 rows"
	if got := r.People.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	r = run(t, shop(t), "SELECT char(27) || '[2J' || char(8238) || 'x' AS a")
	for _, bad := range []string{"\x1b", "\u202e"} {
		if strings.Contains(r.People.String(), bad) {
			t.Errorf("%q is in %q", bad, r.People.String())
		}
	}
}

// Every result says where it came from, errors too. T2
func TestLabels(t *testing.T) {
	t.Parallel()
	db := open(t, build(t, filepath.Join(t.TempDir(), "shop.db"), fixture), query.Options{Name: "shop"})
	want := []uzda.Label{{Kind: uzda.Private, From: "db:shop"}, {Kind: uzda.Untrusted, From: "db:shop"}}
	for name, r := range map[string]uzda.Result{
		"list_tables":    call(t, db, "list_tables", in{}),
		"describe_table": call(t, db, "describe_table", in{"table": "orders"}),
		"no table":       call(t, db, "describe_table", in{"table": "nothing"}),
		"run_query":      run(t, db, "SELECT 1"),
		"an error":       run(t, db, "SELECT nothing FROM orders"),
		"refused":        run(t, db, "DROP TABLE orders"),
	} {
		if !slices.Equal(r.Labels, want) || !slices.Equal(r.Blocks[0].Marks(), want) {
			t.Errorf("%s: labels %v, of the block %v", name, r.Labels, r.Blocks[0].Marks())
		}
		if r.Effect != uzda.EffectNone {
			t.Errorf("%s: effect %q", name, r.Effect)
		}
	}
}

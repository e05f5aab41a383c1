package shop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/cmd/uzda/shop"
	"github.com/uzda-dev/uzda/tool/query"
)

func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shop.db")
	if err := shop.Build(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t *testing.T) *query.DB {
	t.Helper()
	db, err := query.Open(t.Context(), build(t), query.Options{Schema: shop.Schema})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func call(t *testing.T, db *query.DB, name string, input json.RawMessage) query.Table {
	t.Helper()
	for _, tool := range db.Tools() {
		if tool.Spec().Name != name {
			continue
		}
		checked, err := tool.(uzda.Checker).Check(input)
		if err != nil {
			t.Fatalf("%s %s: %v", name, input, err)
		}
		r, err := tool.Call(t.Context(), uzda.Use{Name: name, Input: checked})
		if err != nil || r.IsError {
			t.Fatalf("%s %s: %v %s", name, input, err, r.Blocks)
		}
		tab, err := query.Parse(r.Blocks.String())
		if err != nil {
			t.Fatal(err)
		}
		return tab
	}
	t.Fatalf("there is no tool %s", name)
	return query.Table{}
}

// all reads a whole table as texts, page by page.
func all(t *testing.T, db *query.DB, columns, table string) [][]string {
	t.Helper()
	var out [][]string
	for {
		in := fmt.Sprintf(`{"sql":"SELECT %s FROM %s ORDER BY id LIMIT 500 OFFSET %d","limit":500}`, columns, table, len(out))
		tab := call(t, db, "run_query", json.RawMessage(in))
		for _, r := range tab.Rows {
			row := make([]string, len(r))
			for i, c := range r {
				if err := json.Unmarshal(c, &row[i]); err != nil {
					row[i] = string(c)
				}
			}
			out = append(out, row)
		}
		if tab.Count == 0 {
			return out
		}
	}
}

// The shop is the same every time, byte by byte, and never replaces a file.
func TestBuild(t *testing.T) {
	t.Parallel()
	one, two := build(t), build(t)
	a, err := os.ReadFile(one)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(two)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(a, b) {
		t.Error("two shops differ")
	}
	if err := shop.Build(t.Context(), one); !errors.Is(err, os.ErrExist) {
		t.Errorf("built over a file: %v", err)
	}
	if c, err := os.ReadFile(one); err != nil || !slices.Equal(a, c) {
		t.Errorf("the file was touched: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	if err := shop.Build(ctx, filepath.Join(dir, "x.db")); err == nil {
		t.Error("built although cancelled")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// The data holds what the demo and its traps need, and agrees with itself.
func TestData(t *testing.T) {
	t.Parallel()
	db := open(t)
	customers := all(t, db, "id, name, city, country", "customers")
	products := all(t, db, "id, name", "products")
	orders := all(t, db, "id, customer_id, placed_at, status, currency, total, deleted_at", "orders")
	lines := all(t, db, "order_id, quantity, unit_price", "order_lines")
	if len(customers) != 400 || len(products) != 120 || len(orders) != 2500 || len(lines) < 5500 || len(lines) > 6500 {
		t.Errorf("%d customers, %d products, %d orders, %d lines", len(customers), len(products), len(orders), len(lines))
	}
	cities := map[string]int{}
	for _, c := range customers {
		cities[c[2]]++
	}
	for _, want := range []string{"Kraków", "Krakow", "Łódź", "Gdańsk", "Wrocław", "Москва", "Санкт-Петербург"} {
		if cities[want] == 0 {
			t.Errorf("nobody lives in %s", want)
		}
	}
	if cities["Krakow"] >= cities["Kraków"] {
		t.Errorf("%d write Krakow, %d Kraków", cities["Krakow"], cities["Kraków"])
	}
	bad := 0
	for _, p := range products {
		if strings.Contains(strings.ToLower(p[1]), "ignore previous instructions") {
			bad++
		}
	}
	if bad != 1 {
		t.Errorf("%d products carry an instruction, want 1", bad)
	}
	sums := map[string]int{}
	for _, l := range lines {
		sums[l[0]] += number(t, l[1]) * number(t, l[2])
	}
	now := shop.Now().Format("2006-01-02 15:04")
	statuses, deleted := map[string]int{}, 0
	for i, o := range orders {
		statuses[o[3]]++
		if o[6] != "" {
			deleted++
		}
		if sums[o[0]] != number(t, o[5]) {
			t.Errorf("order %s: total %s, lines %d", o[0], o[5], sums[o[0]])
		}
		if o[2] >= now || i > 0 && o[2] < orders[i-1][2] {
			t.Errorf("order %s was placed at %s, out of order or after %s", o[0], o[2], now)
		}
	}
	for _, s := range []string{"new", "paid", "sent", "delivered", "returned", "cancelled"} {
		if statuses[s] == 0 {
			t.Errorf("no order is %s", s)
		}
		if !strings.Contains(shop.Schema, s) {
			t.Errorf("the schema text does not tell what %s means", s)
		}
	}
	if deleted == 0 {
		t.Error("no order is deleted")
	}
	tab := call(t, db, "run_query", json.RawMessage(`{"sql":"SELECT * FROM pragma_foreign_key_list('orders')"}`))
	if tab.Count != 1 {
		t.Errorf("%d foreign keys of orders", tab.Count)
	}
	if got := shop.Now().Format(time.RFC3339); got != "2026-11-20T09:00:00+01:00" {
		t.Errorf("now is %s", got)
	}
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

type script struct {
	Turns []struct {
		Text  string
		Calls []struct {
			Name  string
			Input json.RawMessage
		}
	}
}

// The script asks what the demo shows, and the number of its answer, which comes
// out of the results, is the one that a count in Go gives.
func TestScript(t *testing.T) {
	t.Parallel()
	db := open(t)
	var s script
	if err := json.Unmarshal(shop.Script, &s); err != nil {
		t.Fatal(err)
	}
	var names []string
	var results []query.Table // result.1 is results[0]
	for _, turn := range s.Turns {
		for _, c := range turn.Calls {
			names = append(names, c.Name)
			if c.Name == "notes" {
				results = append(results, query.Table{})
				continue
			}
			results = append(results, call(t, db, c.Name, c.Input))
		}
	}
	want := []string{"list_tables", "describe_table", "describe_table", "run_query", "run_query", "notes"}
	if !slices.Equal(names, want) {
		t.Fatalf("calls %v, want %v", names, want)
	}
	last := s.Turns[len(s.Turns)-1]
	if len(last.Calls) != 0 || len(s.Turns) != 6 {
		t.Errorf("%d turns, %d calls in the last", len(s.Turns), len(last.Calls))
	}
	var filled []string
	for _, m := range regexp.MustCompile(`\{\{result\.(\d+)\.row\.0\.(\w+)\}\}`).FindAllStringSubmatch(last.Text, -1) {
		tab := results[number(t, m[1])-1]
		i := slices.Index(tab.Columns, m[2])
		if i < 0 || tab.Count != 1 {
			t.Fatalf("%s: columns %v, %d rows", m[0], tab.Columns, tab.Count)
		}
		filled = append(filled, string(tab.Rows[0][i]))
	}
	counted := count(t, db)
	if want := []string{counted["all"], counted["all"], counted["Kraków"], counted["Krakow"], counted["cancelled"]}; !slices.Equal(filled, want) {
		t.Errorf("the answer tells %v, counted %v", filled, want)
	}
	if strings.ContainsAny(regexp.MustCompile(`\{\{[^}]*\}\}|2026|20|1 to`).ReplaceAllString(last.Text, ""), "0123456789") {
		t.Errorf("the answer holds a number that comes from nowhere: %s", last.Text)
	}
	if number(t, counted["Krakow"]) == 0 || number(t, counted["cancelled"]) == 0 {
		t.Errorf("the traps catch nobody: %v", counted)
	}
}

// count counts in Go what the script asks SQLite for.
func count(t *testing.T, db *query.DB) map[string]string {
	t.Helper()
	city := map[string]string{}
	for _, c := range all(t, db, "id, city", "customers") {
		city[c[0]] = c[1]
	}
	n := map[string]int{}
	for _, o := range all(t, db, "id, customer_id, placed_at, status, deleted_at", "orders") {
		from := city[o[1]]
		if from != "Kraków" && from != "Krakow" || !strings.HasPrefix(o[2], "2026-11") || o[4] != "" {
			continue
		}
		if o[3] == "cancelled" {
			n["cancelled"]++
			continue
		}
		n["all"]++
		n[from]++
	}
	out := map[string]string{}
	for k, v := range n {
		out[k] = strconv.Itoa(v)
	}
	t.Logf("orders from Kraków this month: %v", out)
	return out
}

package query_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/uzda-dev/uzda/tool/query"
)

// An error of SQL says what is wrong and how to mend it. T2
func TestErrors(t *testing.T) {
	t.Parallel()
	db := shop(t)
	for _, c := range []struct {
		sql  string
		want []string
	}{
		{"SELECT citty FROM customers", []string{"No such column: citty", "Did you mean city?", "customers has the columns id, name, city."}},
		{"SELECT o.totl FROM orders o JOIN customers c ON c.id = o.customer_id", []string{"Did you mean total?", "orders has", "customers has"}},
		{"SELECT customer FROM orders", []string{"Did you mean customer_id?"}},
		{"SELECT id FROM customers WHERE city = \"Kraków\"", []string{"No such column", "single quotes: 'Kraków'"}},
		{"SELECT id FROM customers WHERE city = \"Moskwa\"", []string{"No such column", "single quotes"}},
		{"SELECT * FROM ordrs", []string{"No such table: ordrs", "Did you mean orders", "The tables are: customers, open_orders, orders."}},
		{"SELECT * FROM main.customer", []string{"Did you mean customers?"}},
		{"SELECT id FROM orders JOIN customers", []string{"Ambiguous column name: id", "orders.id"}},
		{"SELECT now()", []string{"No such function: now", "datetime('now')"}},
		{"SELECT TOP 5 * FROM orders", []string{"syntax error"}},
		{"SELECT * FROM customers WHERE name ILIKE 'x'", []string{"ILIKE", "LIKE ignores the case"}},
		{"SELECT id FROM orders WHERE count(*) > 1", []string{"Misuse of aggregate", "HAVING"}},
		{"SELECT FROM", []string{"Near \"FROM\"", "SQLite's dialect"}},
		{"SELECT (1", []string{"Incomplete input"}},
		{"SELECT 1) SELECT 2", []string{"Near \")\""}},
		{"SELECT 1), x AS (SELECT 2", []string{"Near \")\""}},
		{"SELECT abs(-9223372036854775808)", []string{"Integer overflow"}},
		{"SELECT * FROM sqlite_sequence_x", []string{"No such table"}},
		{"SELECT anything", []string{"No such column: anything", "FROM"}},
		{"SELECT extract(YEAR FROM placed) FROM orders", []string{"Near \"FROM\"", "strftime"}},
	} {
		r := run(t, db, c.sql)
		if !r.IsError || r.Code != "failed" {
			t.Errorf("%s: error %v, code %q: %s", c.sql, r.IsError, r.Code, r.Blocks)
			continue
		}
		contains(t, r.Blocks.String(), c.want...)
	}
}

// list_tables and describe_table show what the database and people know. T2
func TestCatalogue(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := build(t, filepath.Join(dir, "shop.db"), fixture)
	notes := `# shop

Orders of a shop. Amounts in grosze.

## orders

One row an order.
Cancelled ones do not count.

- ` + "`status`" + `: new or paid;
  paid means that the money is there
- total: in grosze: 1/100 PLN
- not a column

## Ghosts
gone
`
	if err := os.WriteFile(filepath.Join(dir, "shop.schema.md"), []byte(notes), 0o600); err != nil {
		t.Fatal(err)
	}
	db := open(t, path, query.Options{})
	list := call(t, db, "list_tables", in{})
	tab, err := query.Parse(list.Blocks.String())
	if err != nil {
		t.Fatal(err)
	}
	want := `"customers","table",3,3,null;"open_orders","view",null,5,null;"orders","table",3,5,"One row an order."`
	if got := flat(tab); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	contains(t, list.Blocks.String(), `"database":"shop.db"`, `"about":"Orders of a shop. Amounts in grosze."`, "database lacks: Ghosts")
	contains(t, list.People.String(), "open_orders  view")

	for _, name := range []string{"orders", "ORDERS", "main.orders", `"orders"`, " `orders` "} {
		r := call(t, db, "describe_table", in{"table": name})
		if r.IsError {
			t.Errorf("%q: %s", name, r.Blocks)
			continue
		}
		tab, err := query.Parse(r.Blocks.String())
		if err != nil {
			t.Fatal(err)
		}
		want := `"id","INTEGER",0,null,"primary",null;"customer_id","INTEGER",1,null,null,null;"placed","DATE",1,null,null,null;` +
			`"status","TEXT",0,"'new'",null,"new or paid; paid means that the money is there";"total","INTEGER",0,null,null,"in grosze: 1/100 PLN"`
		if got := flat(tab); got != want {
			t.Errorf("%q\n got %s\nwant %s", name, got, want)
		}
		contains(t, r.Blocks.String(), `"customer_id -> customers(id)"`, `"indexes":["(customer_id)"]`,
			`"about":"One row an order.\nCancelled ones do not count.\n\n- not a column"`)
	}
	contains(t, call(t, db, "describe_table", in{"table": "open_orders"}).Blocks.String(), "WHERE status = 'new'")
	r := call(t, db, "describe_table", in{"table": "order"})
	if !r.IsError {
		t.Error("a table that is not there is described")
	}
	contains(t, r.Blocks.String(), `no table or view "order"`, "Did you mean orders")
	given := open(t, path, query.Options{Schema: "## customers\nOne row a customer."})
	contains(t, call(t, given, "list_tables", in{}).Blocks.String(), "One row a customer.")
}

// Names that need quotes, and tables without anything, are described too.
func TestStrangeNames(t *testing.T) {
	t.Parallel()
	db := open(t, build(t, filepath.Join(t.TempDir(), "s.db"), `CREATE TABLE "a ""b'; DROP" ("x y" TEXT, "Łódź" INT, gen AS ("x y" || '!'));
		INSERT INTO "a ""b'; DROP" ("x y", "Łódź") VALUES ('v', 1); CREATE TABLE "select" (a)`), query.Options{})
	contains(t, call(t, db, "list_tables", in{}).Blocks.String(), `["a \"b'; DROP","table",1,3,null]`, `["select","table",0,1,null]`)
	contains(t, call(t, db, "describe_table", in{"table": `a "b'; DROP`}).Blocks.String(), `"x y"`, "Łódź", "generated")
	if got := flat(rows(t, db, `SELECT * FROM "a ""b'; DROP"`)); got != `"v",1,"v!"` {
		t.Error(got)
	}
}

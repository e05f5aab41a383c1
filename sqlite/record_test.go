package sqlite_test

import (
	"database/sql"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/sqlite"
)

var record = flag.Bool("record", false, "write the store of this version to testdata as SQL text")

// TestRecord writes testdata/v2.sql, when the schema gets a new version: then
// the name here changes, and the older recordings stay.
func TestRecord(t *testing.T) {
	if !*record {
		t.Skip("only with -record")
	}
	path := filepath.Join(t.TempDir(), "store.uzda")
	now := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	db, err := sqlite.OpenWith(path, sqlite.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	epoch, err := db.Acquire(ctx, "chat", "recorder")
	if err != nil {
		t.Fatal(err)
	}
	hold := func(id string) uzda.Hold {
		return uzda.Hold{ID: id, Amount: uzda.Dollar, Accounts: []uzda.Account{{Name: "day"}}}
	}
	at := uzda.At{Epoch: epoch, Reserve: []uzda.Hold{hold("a"), hold("b")}, Claim: []uzda.Claim{{Key: "pay", By: uzda.Holder{Session: "chat", Use: "1.0"}}}}
	if _, err := db.Append(ctx, "chat", at, uzda.Opened{Format: 1, Agent: "shop"}); err != nil {
		t.Fatal(err)
	}
	add(t, db, "chat", uzda.Posted{ID: "p", Blocks: uzda.Say("Where is order ORD-10422?")}, note("first"))
	now = now.Add(time.Minute)
	add(t, db, "other", note("x"))
	if _, err := db.Put(ctx, []byte("a blob")); err != nil {
		t.Fatal(err)
	}
	if err := db.Settle(ctx, uzda.Settlement{ID: "a", Spent: uzda.Dollar / 4}); err != nil {
		t.Fatal(err)
	}
	if err := db.Keep(ctx, "chat", []byte("checkpoint")); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("testdata/v2.sql", []byte(dump(t, path)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// dump writes a database as SQL that makes it again.
func dump(t *testing.T, path string) string {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	strs := func(query string) (out []string) {
		rows, err := db.Query(query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var s string
			if err := rows.Scan(&s); err != nil {
				t.Fatal(err)
			}
			out = append(out, s)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return out
	}
	var b strings.Builder
	b.WriteString("-- A store as version 2 made it: go test ./sqlite -run TestRecord -record\n")
	fmt.Fprintf(&b, "PRAGMA journal_mode = WAL;\nPRAGMA user_version = %s;\nPRAGMA application_id = %s;\n",
		strs("PRAGMA user_version")[0], strs("PRAGMA application_id")[0])
	for _, table := range strs("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name") {
		b.WriteString(strs("SELECT sql FROM sqlite_schema WHERE name = '" + table + "'")[0] + ";\n")
		var quoted []string
		for _, column := range strs("SELECT name FROM pragma_table_info('" + table + "')") {
			quoted = append(quoted, "quote("+column+")")
		}
		for _, row := range strs("SELECT " + strings.Join(quoted, " || ', ' || ") + " FROM " + table) {
			fmt.Fprintf(&b, "INSERT INTO %s VALUES (%s);\n", table, row)
		}
	}
	for _, index := range strs("SELECT sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY name") {
		b.WriteString(index + ";\n")
	}
	return b.String()
}

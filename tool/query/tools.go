package query

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/schema"
)

//go:embed list_tables.md
var listText string

//go:embed describe_table.md
var describeText string

//go:embed run_query.md
var runText string

// The inputs as models see them.
var (
	listInput     = lazily(`{"type":"object","properties":{},"additionalProperties":false}`)
	describeInput = lazily(`{"type":"object","properties":{"table":{"type":"string","minLength":1,"description":"name of a table or view, as list_tables shows it"}},"required":["table"],"additionalProperties":false}`)
	runInput      = lazily(`{"type":"object","properties":{"sql":{"type":"string","minLength":1,"description":"one SELECT in SQLite's dialect"},"limit":{"type":"integer","minimum":0,"description":"rows to return, at most 500; more or 0 means the default"}},"required":["sql"],"additionalProperties":false}`)
)

// lazily compiles a schema at its first use, since most runs of the program need none.
func lazily(raw string) func() *schema.Schema {
	return sync.OnceValue(func() *schema.Schema { return schema.MustCompile(json.RawMessage(raw)) })
}

type (
	listTables    struct{ db *DB }
	describeTable struct{ db *DB }
	runQuery      struct{ db *DB }
)

var (
	_ uzda.Tool    = listTables{}
	_ uzda.Checker = listTables{}
	_ uzda.Tool    = describeTable{}
	_ uzda.Checker = describeTable{}
	_ uzda.Tool    = runQuery{}
	_ uzda.Checker = runQuery{}
)

// spec fills the limits of the database into a description.
func (d *DB) spec(name, text string, in *schema.Schema) uzda.ToolSpec {
	text = strings.NewReplacer("{rows}", strconv.Itoa(d.opt.MaxRows), "{max}", strconv.Itoa(MaxRows),
		"{bytes}", strconv.Itoa(d.opt.MaxBytes), "{time}", d.opt.Timeout.String()).Replace(text)
	return uzda.ToolSpec{
		Name: name, Description: strings.TrimSpace(text), Input: in.JSON(), Source: "built-in",
		Effects: uzda.Effects{ReadOnly: true, Idempotent: true},
	}
}

func (t listTables) Spec() uzda.ToolSpec { return t.db.spec("list_tables", listText, listInput()) }
func (t describeTable) Spec() uzda.ToolSpec {
	return t.db.spec("describe_table", describeText, describeInput())
}
func (t runQuery) Spec() uzda.ToolSpec { return t.db.spec("run_query", runText, runInput()) }

func (listTables) Check(in json.RawMessage) (json.RawMessage, error) { return listInput().Coerce(in) }
func (describeTable) Check(in json.RawMessage) (json.RawMessage, error) {
	return describeInput().Coerce(in)
}
func (runQuery) Check(in json.RawMessage) (json.RawMessage, error) { return runInput().Coerce(in) }

func (t runQuery) Call(ctx context.Context, use uzda.Use) (uzda.Result, error) {
	var in struct {
		SQL   string `json:"sql"`
		Limit int    `json:"limit"`
	}
	if fault := read(use.Input, &in); fault != "" {
		return t.db.failure(uzda.CodeInvalidInput, fault, `send {"sql":"SELECT …"}`), nil
	}
	return t.db.query(ctx, in.SQL, in.Limit), nil
}

// read decodes input that Check may not have seen and says what is wrong with it.
func read(input json.RawMessage, into any) string {
	if err := json.Unmarshal(input, into); err != nil {
		return "the input cannot be read: " + err.Error()
	}
	return ""
}

func (d *DB) query(ctx context.Context, sql string, limit int) uzda.Result {
	st, err := Check(sql)
	if err != nil {
		what, hint, ok := strings.Cut(err.Error(), "; ")
		if !ok {
			hint = "send one SELECT"
		}
		return d.failure(uzda.CodeInvalidInput, what, hint)
	}
	if limit <= 0 || limit > MaxRows {
		limit = d.opt.MaxRows
	}
	ctx, cancel := context.WithTimeout(ctx, d.opt.Timeout)
	defer cancel()
	t, err := with(ctx, d, func(ctx context.Context, c *conn) (table, error) { return c.run(ctx, st, limit+1) })
	if err != nil {
		return d.explain(ctx, st, err)
	}
	p, err := fit(t, limit, d.opt.MaxBytes, d.opt.MaxCell)
	if err != nil {
		return d.failure(uzda.CodeFailed, "the result is too wide: "+err.Error(), "list the columns that you need")
	}
	out := Table{Columns: t.columns, Rows: orEmpty(p.cells), Count: len(p.cells), Truncated: p.more, Note: p.note()}
	return d.success(out, grid(t.columns, p.cells, p.more))
}

func orEmpty(rows [][]json.RawMessage) [][]json.RawMessage {
	if rows == nil {
		return [][]json.RawMessage{}
	}
	return rows
}

// note says what is not there and how to get it.
func (p page) note() string {
	var parts []string
	if p.more {
		why := ""
		if p.byBytes {
			why = " (these fill the size of a result; fewer columns leave room for more rows)"
		}
		n := len(p.cells)
		parts = append(parts, fmt.Sprintf("There are more rows%s. For the next ones send the statement with ORDER BY over a unique key and LIMIT %d OFFSET %d; better, aggregate or filter.", why, max(n, 1), n))
	}
	if p.cut > 0 {
		parts = append(parts, fmt.Sprintf("%d long values are cut in the middle; read one with substr(column, start, length) in characters, start from 1.", p.cut))
	}
	if p.mended {
		parts = append(parts, "Bytes that are no UTF-8 are shown as \uFFFD; hex(column) shows them.")
	}
	return strings.Join(parts, " ")
}

func (d *DB) success(v any, people string) uzda.Result {
	return uzda.Result{
		Blocks: uzda.Say(string(encode(v)), d.labels()...),
		People: uzda.Say(people, d.labels()...),
		Labels: d.labels(), Effect: uzda.EffectNone,
	}
}

func (t listTables) Call(ctx context.Context, _ uzda.Use) (uzda.Result, error) {
	return t.db.list(ctx), nil
}

func (t describeTable) Call(ctx context.Context, use uzda.Use) (uzda.Result, error) {
	var in struct {
		Table string `json:"table"`
	}
	if fault := read(use.Input, &in); fault != "" {
		return t.db.failure(uzda.CodeInvalidInput, fault, `send {"table":"NAME"}`), nil
	}
	return t.db.describe(ctx, in.Table), nil
}

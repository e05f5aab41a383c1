package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/cmd/uzda/shop"
	"github.com/uzda-dev/uzda/cost"
	"github.com/uzda-dev/uzda/model/script"
	"github.com/uzda-dev/uzda/policy"
	"github.com/uzda-dev/uzda/tool/note"
	"github.com/uzda-dev/uzda/tool/query"
	"github.com/uzda-dev/uzda/trace"
	"github.com/uzda-dev/uzda/window"
)

// shadow is the model whose prices the demo shows: what the tokens would have
// cost. It is a row of the price table.
const shadow = "anthropic/claude-sonnet-5-5"

func (a *app) demoCommand() *cobra.Command {
	c := &cobra.Command{Use: "demo", Short: "a real job, without a key or a network", Args: none,
		Long: `Demo builds the database of a small shop and lets an agent answer a question from
it. The model's words are scripted, since no model can be reached without a key;
everything else is real: the loop, the tools, the database, the journal, the
budget and the trace. The number in the answer comes from the query's result.`}
	c.RunE = func(c *cobra.Command, _ []string) error {
		w, err := a.open(c)
		if err != nil {
			return err
		}
		defer w.close()
		d := demo{work: w}
		return d.run(c.Context())
	}
	return flags(c, "output-format")
}

type demo struct {
	*work
	db string
}

func (d *demo) run(ctx context.Context) error {
	d.db = filepath.Join(d.cfg.Data, "demo", "shop.db")
	if err := os.MkdirAll(filepath.Dir(d.db), 0o700); err != nil {
		return fail(uzda.StorageError, "name another place by UZDA_HOME", "make the folder of the demo: %v", err)
	}
	d.say("The model in this demo is scripted: its words were written beforehand, no model is asked.")
	d.say("Everything else is real: loop, tools, database, journal, budget, trace.")
	d.say("")
	began := time.Now()
	if err := d.build(ctx); err != nil {
		return fail(uzda.StorageError, "name another place by UZDA_HOME", "build the demo's database: %v", err)
	}
	d.say("shop      %s (built in %s)", d.db, time.Since(began).Round(time.Millisecond))
	d.say("clock     fixed at %s", shop.Now().Format("Monday 2 January 2006, 15:04 MST"))
	d.say("question  %s", shop.Question)
	d.say("")
	r, err := d.runner(ctx)
	if err != nil {
		return err
	}
	if err := r.begin(ctx, ""); err != nil {
		return err
	}
	if err := r.post(ctx, fmt.Sprintf("Today is %s. %s", shop.Now().Format("2006-01-02"), shop.Question)); err != nil {
		return err
	}
	if d.cfg.OutputFormat == "stream-json" || d.cfg.OutputFormat == "json" {
		return r.drive(ctx)
	}
	end := r.drive(ctx)
	if end != nil {
		return end
	}
	return d.after(ctx, r.id)
}

// build makes the shop anew, with what its columns mean beside it.
func (d *demo) build(ctx context.Context) error {
	for _, end := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(d.db + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := shop.Build(ctx, d.db); err != nil {
		return err
	}
	return os.WriteFile(strings.TrimSuffix(d.db, ".db")+".schema.md", []byte(shop.Schema), 0o600)
}

// say prints a line for a person; a machine that reads standard output gets it beside.
func (d *demo) say(format string, args ...any) {
	var w io.Writer = d.out
	if d.json() {
		w = d.err
	}
	fmt.Fprintf(w, format+"\n", args...)
}

func (d *demo) runner(ctx context.Context) (*runner, error) {
	model, err := script.Parse("demo", shop.Script)
	if err != nil {
		return nil, fail(uzda.InternalError, "", "the demo's script: %v", err)
	}
	db, err := query.Open(ctx, d.db, query.Options{MaxBytes: queryBytes})
	if err != nil {
		return nil, fail(uzda.InternalError, "", "%v", err)
	}
	d.closes = append(d.closes, db.Close)
	c, err := d.card("data")
	if err != nil {
		return nil, err
	}
	// The rules and limits of the folder that it is typed in are for other work.
	ag := agent.Agent{Model: model, System: c.System, Tools: append(db.Tools(), note.New(d.notes())), Gates: []uzda.Gate{policy.Gate{}}, Mode: policy.ModeAsk}
	d.cfg.Dir = filepath.Dir(d.db)
	h := d.host(map[string]agent.Agent{"data": ag})
	return &runner{work: d.work, host: h, agent: "data", began: d.now(), show: true}, nil
}

// after shows what a run leaves behind, and the ways to go on.
func (d *demo) after(ctx context.Context, id uzda.SessionID) error {
	s, err := agent.Load(ctx, d.store, id)
	if err != nil {
		return err
	}
	d.say("\n── what ran, because of what ──")
	spans, err := spansOf(ctx, d.store, id)
	if err != nil {
		return err
	}
	if err := trace.Tree(d.out, spans, trace.Drawing{ASCII: d.plainOut()}); err != nil {
		return err
	}
	d.say("\n── what filled the model's window ──")
	b, err := d.filled(ctx, id, s)
	if err != nil {
		return err
	}
	if err := window.Draw(d.out, b.Weighed, window.Drawing{Width: d.width, ASCII: d.plainOut()}); err != nil {
		return err
	}
	d.say("\n── what it would have cost ──")
	if err := d.shadowCost(ctx, id); err != nil {
		return err
	}
	d.say("\n── go on ──")
	d.say("  uzda show %s          what was said and done", id)
	d.say("  uzda init                finds a model: a provider's key in its usual variable")
	d.say("                           (ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY ...), or Ollama or")
	d.say("                           llama-server on this machine; and makes one real request")
	d.say("  uzda run --db %s \"your question\"", quoted(d.db))
	return nil
}

// quoted is a path as a shell takes it for one word.
func quoted(path string) string {
	if !strings.ContainsAny(path, " \t\"'\\$`&|;<>()*?[]#~!{}") {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// shadowCost prices the session's tokens as those of a real model. The tokens
// are estimates of the scripted model, so this is one too.
func (d *demo) shadowCost(ctx context.Context, id uzda.SessionID) error {
	var plain, cached uzda.Money
	var total uzda.Usage
	before := 0
	for e, err := range d.store.Read(ctx, id, 0) {
		if err != nil {
			return err
		}
		b, ok := e.Body.(uzda.Said)
		if !ok {
			continue
		}
		p, _ := d.prices.Price(shadow, b.Usage.Context())
		total = total.Add(b.Usage)
		plain += p.Of(b.Usage)
		in := b.Usage.Context()
		old := min(before, in)
		cached += p.Of(uzda.Usage{CacheRead: old, CacheWrite: in - old, Output: b.Usage.Output})
		before = in
	}
	d.say("  %s tokens in, %s out (estimated: the scripted model counts four bytes as one)", thousands(total.Context()), thousands(total.Output))
	d.say("  with %s: %s, or %s with its prompt cache; prices of %s", shadow, short(plain), short(cached), cost.Default().Version)
	d.say("  this run: $0, since nothing was asked")
	return nil
}

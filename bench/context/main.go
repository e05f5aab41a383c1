// Command context measures what the moves of the context planner keep and save. It
// needs the public data that its arguments name, and no model:
//
//	cd bench && go run ./context -shared ../../shared -docs ../docs
//
// It prints the tables of docs/performance.md as Markdown and writes the plot.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/uzda-dev/uzda/cost"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "context:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	f := flag.NewFlagSet("context", flag.ContinueOnError)
	shared := f.String("shared", filepath.Join("..", "..", "shared"), "folder with bench/bfcl_memory, bench/tau2 and cassettes")
	docs := f.String("docs", "", "folder of the documents, for the plot; none: it is not drawn")
	if err := f.Parse(args); err != nil {
		return err
	}
	stories, err := memories(ctx, *shared)
	if err != nil {
		return err
	}
	for _, domain := range []string{"retail", "airline"} {
		more, err := days(ctx, *shared, domain)
		if err != nil {
			return err
		}
		stories = append(stories, more...)
	}
	cells, err := measure(ctx, stories)
	if err != nil {
		return err
	}
	if err := describe(out, stories); err != nil {
		return err
	}
	if err := table(out, cells); err != nil {
		return err
	}
	if *docs != "" {
		if err := draw(filepath.Join(*docs, "pictures", "context-retention.svg"), cells); err != nil {
			return err
		}
	}
	return savings(ctx, out, *shared, stories)
}

func draw(name string, cells []cell) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := panels(f, cells); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// describe says what was cut.
func describe(w io.Writer, stories []*story) error {
	type sum struct{ sessions, tokens, needs int }
	sums, sets := map[string]*sum{}, []string(nil)
	for _, s := range stories {
		x := sums[s.set]
		if x == nil {
			x = &sum{}
			sums[s.set], sets = x, append(sets, s.set)
		}
		x.sessions, x.tokens, x.needs = x.sessions+1, x.tokens+s.view(s.entries()).Tokens, x.needs+len(s.needs)
	}
	var b strings.Builder
	for _, set := range sets {
		x := sums[set]
		fmt.Fprintf(&b, "%s: %d sessions, %d tokens each on average, %d needed facts\n", set, x.sessions, x.tokens/x.sessions, x.needs)
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

// priced is the model at whose price all is played: most of the recorded ones have no
// price any more.
const priced = "anthropic/claude-sonnet-4-6"

// savings plays the recorded conversations and the longer sessions.
func savings(ctx context.Context, w io.Writer, shared string, stories []*story) error {
	price, known := cost.Default().Price(priced, 0)
	if !known {
		return fmt.Errorf("no price of %s is known: name another model", priced)
	}
	all, err := talks(shared, price)
	if err != nil {
		return err
	}
	sixty, err := papers(ctx, 60)
	if err != nil {
		return err
	}
	for _, s := range append(stories, sixty) {
		all = append(all, talkOf(s, price))
	}
	rows, err := save(ctx, all)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return saved(w, rows)
}

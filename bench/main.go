// Command bench runs Uzda and a hand-written loop on the same work and says
// whether Uzda keeps its bars. Run it by bench.sh in the folder above.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/uzda-dev/uzda/bench/internal/commits"
	"github.com/uzda-dev/uzda/bench/internal/crowd"
	"github.com/uzda-dev/uzda/bench/internal/durable"
	"github.com/uzda-dev/uzda/bench/internal/floor"
	"github.com/uzda-dev/uzda/bench/internal/ours"
	"github.com/uzda-dev/uzda/bench/internal/provider"
	"github.com/uzda-dev/uzda/bench/internal/report"
	"github.com/uzda-dev/uzda/bench/internal/service"
	"github.com/uzda-dev/uzda/bench/internal/task"
)

// entry is a contestant with the lengths of its runs. One that is a program of its
// own, since its parts should not share a build with ours, is a command here that
// takes what [child] takes and prints what it prints.
type entry struct {
	name    string
	run     task.Contestant
	command string // instead of run
	steps   []int
	windows bool // also the runs in which a window is measured
}

// entries are the contestants of this program, and with a folder of programs those of
// others.
func entries(peers string) []entry {
	all := []int{20, 100, report.Full}
	out := []entry{
		{name: report.Floor, run: floor.Run, steps: all, windows: true},
		{name: report.Memory, run: ours.Memory, steps: all, windows: true},
		{name: report.Durable, run: durable.Run, steps: all},
		{name: report.ByHand, run: commits.Run, steps: all},
		{name: report.FloorMessages, run: floor.Messages, steps: all},
		{name: report.Messages, run: ours.Messages, steps: all},
	}
	if peers == "" {
		return out
	}
	for _, p := range report.Peers() {
		out = append(out, entry{name: p.Name, command: program(peers, p.Name), steps: all})
	}
	return out
}

// program is where the program of a contestant is.
func program(dir, name string) string {
	return filepath.Join(dir, strings.ReplaceAll(name, " ", ""))
}

// What the command exits with, besides 0.
const (
	exitFailed = 1
	exitUsage  = 2
	exitMissed = 13
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code, err := run(ctx, os.Args[1:], os.Stdin, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	os.Exit(code)
}

func run(ctx context.Context, args []string, in io.Reader, out io.Writer) (int, error) {
	if len(args) > 0 && args[0] == "provider" {
		return failed(service.Serve(ctx, in, out, provider.New(report.Long)))
	}
	if len(args) > 0 && args[0] == "crowd" {
		return failed(service.Serve(ctx, in, out, &crowd.Server{}))
	}
	if len(args) == 3 && args[0] == "whole" {
		return failed(wholeChild(ctx, args[1], args[2], out))
	}
	if len(args) == 3 && args[0] == "as" {
		return failed(child(ctx, args[1], args[2], out))
	}
	return compare(ctx, args, out)
}

func failed(err error) (int, error) {
	if err != nil {
		return exitFailed, err
	}
	return 0, nil
}

// compare runs rounds until the bars are sure, and says what came of them.
func compare(ctx context.Context, args []string, out io.Writer) (int, error) {
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	quick := f.Bool("quick", false, "few rounds: a first look, less sure")
	rounds := f.Int("rounds", 0, "how many rounds; default 9, and up to 18 where a bar is in doubt")
	file := f.String("json", "", "write all figures to this file")
	dir := f.String("dir", "", "where durable runs store; default the folder for temporary files")
	profiles := f.String("profile", "", "write profiles of each run of ours to this folder, and measure nothing")
	var others others
	others.flags(f)
	var asked asked
	asked.flags(f)
	f.SetOutput(out)
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0, nil
	case err != nil:
		return exitUsage, err
	case f.NArg() > 0:
		return exitUsage, fmt.Errorf("unknown argument %q", f.Arg(0))
	}
	if err := asked.check(); err != nil {
		return exitUsage, err
	}
	least, most := 9, 18
	switch {
	case *rounds > 0:
		least, most = *rounds, *rounds
	case *quick:
		least, most = 3, 3
	}
	b, err := start(ctx, *dir)
	if err != nil {
		return exitFailed, err
	}
	defer b.close()
	m, err := facts(b.dir)
	if err != nil {
		return exitFailed, err
	}
	fmt.Fprintln(out, m)
	if *profiles != "" {
		return failed(b.profile(ctx, *profiles))
	}
	if asked.only != alone {
		if b.peers, err = others.build(ctx, asked.source, b.dir, out); err != nil {
			return exitFailed, err
		}
	}
	c, err := b.contest(ctx, asked, least, most, out)
	if err != nil {
		return exitFailed, err
	}
	more, err := b.whole(ctx, asked, least, out)
	if err != nil {
		return exitFailed, err
	}
	c.bars = append(c.bars, more...)
	if err := write(*file, m, c); err != nil {
		return exitFailed, err
	}
	if missed := report.Missed(c.bars); len(missed) > 0 {
		return exitMissed, fmt.Errorf("%d of the bars do not hold", len(missed))
	}
	return 0, nil
}

// write writes all figures as JSON to a file, if one is named.
func write(name string, m machine, c contest) error {
	if name == "" {
		return nil
	}
	raw, err := json.MarshalIndent(struct {
		Machine machine        `json:"machine"`
		Bars    []report.Bar   `json:"bars"`
		Rows    []report.Row   `json:"rows"`
		Rounds  []report.Round `json:"rounds"`
	}{m, c.bars, c.rows, c.rounds}, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(raw, '\n'), 0o644)
}

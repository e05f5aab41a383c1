// Command soak runs many sessions in one process, and looks whether anything grows
// with them: memory, descriptors, goroutines, processes, files.
//
//	cd bench && go run ./soak -docs ../docs
//
// It exits 0 if all stays flat, 13 if not, 1 if a session went wrong, 2 if the
// arguments are wrong.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/uzda-dev/uzda/bench/internal/crowd"
	"github.com/uzda-dev/uzda/bench/internal/page"
	"github.com/uzda-dev/uzda/bench/internal/proc"
	"github.com/uzda-dev/uzda/bench/internal/service"
	"github.com/uzda-dev/uzda/bench/internal/startup"
)

// config is what is asked for.
type config struct {
	atOnce     int
	inSequence int
	runs       int
	every      time.Duration
	docs       string
	source     string
	dir        string
}

// The stages of sessions.
const (
	atOnce     = "at once"
	inSequence = "in sequence"
)

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
		fmt.Fprintln(os.Stderr, "soak:", err)
	}
	os.Exit(code)
}

func run(ctx context.Context, args []string, in io.Reader, out io.Writer) (int, error) {
	if len(args) > 0 && args[0] == "provider" {
		if err := service.Serve(ctx, in, out, &crowd.Server{}); err != nil {
			return exitFailed, err
		}
		return 0, nil
	}
	var c config
	f := flag.NewFlagSet("soak", flag.ContinueOnError)
	f.IntVar(&c.atOnce, "at-once", 1000, "sessions at the same time")
	f.IntVar(&c.inSequence, "in-sequence", 10_000, "sessions one after the other, after those")
	f.IntVar(&c.runs, "runs", 200, "runs of the program itself, after those")
	f.DurationVar(&c.every, "every", time.Second, "how often to look")
	f.StringVar(&c.docs, "docs", "", "folder of the documents: write the curves to its pictures, and the figures into performance.md")
	f.StringVar(&c.source, "source", ".", "folder of Uzda's sources, or one below it, to build the program")
	f.StringVar(&c.dir, "dir", "", "where the stores lie; default the folder for temporary files")
	f.SetOutput(out)
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0, nil
	case err != nil:
		return exitUsage, err
	case f.NArg() > 0:
		return exitUsage, fmt.Errorf("unknown argument %q", f.Arg(0))
	case c.atOnce < 1 || c.inSequence < 1 || c.runs < 0 || c.every <= 0:
		return exitUsage, errors.New("-at-once and -in-sequence want at least 1, -runs at least 0, -every some time")
	}
	checks, err := soak(ctx, c, out)
	if err != nil {
		return exitFailed, err
	}
	tell(out, checks)
	if c.docs != "" {
		var table strings.Builder
		markdown(&table, checks)
		if err := page.Replace(filepath.Join(c.docs, "performance.md"), "soak", table.String()); err != nil {
			return exitFailed, err
		}
	}
	if n := missed(checks); n > 0 {
		return exitMissed, fmt.Errorf("%d of the figures are not flat", n)
	}
	return 0, nil
}

// soak runs all stages in a folder of its own.
func soak(ctx context.Context, c config, out io.Writer) ([]check, error) {
	dir, err := os.MkdirTemp(c.dir, "soak")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var uzda string
	if c.runs > 0 {
		source, err := startup.Find(c.source)
		if err != nil {
			return nil, err
		}
		if uzda, err = startup.Build(ctx, source, dir); err != nil {
			return nil, err
		}
	}
	// Whatever this process starts has the mark, even when its parent has ended.
	mark := fmt.Sprintf("SOAK_MARK=%d", os.Getpid())
	name, value, _ := strings.Cut(mark, "=")
	if err := errors.Join(setTemp(dir), os.Setenv(name, value)); err != nil {
		return nil, err
	}
	if !proc.Told() {
		fmt.Fprintln(out, "this system has no /proc: RSS, descriptors and processes are not known, all else is measured")
	}
	all, checks, err := manySessions(ctx, c, dir, mark, out)
	if err != nil || c.runs == 0 {
		return checks, err
	}
	fmt.Fprintf(out, "%d runs of the program\n", c.runs)
	p := program{name: uzda, dir: filepath.Join(dir, "program"), full: filepath.Join(dir, "sessions", "sessions.uzda"), mark: mark}
	t, err := p.run(ctx, c.runs)
	if err != nil {
		return nil, err
	}
	if c.docs != "" {
		if err := draw(c.docs, c, all, t); err != nil {
			return nil, err
		}
	}
	return append(checks, t.checks()...), nil
}

// manySessions runs the sessions of this process.
func manySessions(ctx context.Context, c config, dir, mark string, out io.Writer) ([]sample, []check, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	start, err := rehearse(ctx, self, filepath.Join(dir, "rehearsal"), mark)
	if err != nil {
		return nil, nil, fmt.Errorf("before the soak: %w", err)
	}
	provider, err := service.Start(service.Command(ctx, self, "provider"))
	if err != nil {
		return nil, nil, err
	}
	defer provider.Close()
	l, err := begin(filepath.Join(dir, "sessions"), provider.URL)
	if err != nil {
		return nil, nil, err
	}
	s := watch(l, mark, c.every)
	fmt.Fprintf(out, "%d sessions at once\n", c.atOnce)
	s.enter(atOnce)
	err = l.atOnce(ctx, 0, c.atOnce)
	if err == nil {
		fmt.Fprintf(out, "%d sessions in sequence\n", c.inSequence)
		s.enter(inSequence)
		err = l.inSequence(ctx, c.atOnce, c.inSequence, out)
	}
	s.enter("")
	all := s.stop()
	if err = errors.Join(err, l.close()); err != nil {
		return nil, nil, err
	}
	provider.Close()
	return all, flat(all, start, settled(mark, l, &start)), nil
}

// rehearse does a little of everything, from opening to closing, and says what the
// process holds after it: what it makes once and keeps is no leak.
func rehearse(ctx context.Context, self, dir, mark string) (sample, error) {
	provider, err := service.Start(service.Command(ctx, self, "provider"))
	if err != nil {
		return sample{}, err
	}
	defer provider.Close()
	l, err := begin(dir, provider.URL)
	if err != nil {
		return sample{}, err
	}
	if err := errors.Join(l.atOnce(ctx, 0, 40), l.close()); err != nil {
		return sample{}, err
	}
	provider.Close()
	time.Sleep(200 * time.Millisecond) // connections notice that
	return settled(mark, l, nil), nil
}

// Command uzda runs agents: bounded, recorded, resumable.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/uzda-dev/uzda"
)

// app is one invocation of the program.
type app struct {
	in       io.Reader
	out, err io.Writer
	env      []string
	dir      string // working directory
	tty      bool   // a person can be asked
	plain    bool   // no colour, no cursor
	now      func() time.Time
	signals  context.Context
}

func main() {
	ctx, stop := context.WithCancelCause(context.Background())
	calls := make(chan os.Signal, 2)
	signal.Notify(calls, os.Interrupt, syscall.SIGTERM)
	go func() {
		s := <-calls
		stop(fmt.Errorf("stopped by %s", s))
		<-calls
		os.Exit(uzda.CancelledByUser.Exit()) // a second one: at once
	}()
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, "uzda: the working directory cannot be read:", err)
		os.Exit(uzda.ConfigError.Exit())
	}
	a := &app{in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Environ(), dir: dir, now: time.Now, signals: ctx,
		tty:   terminal(os.Stdin) && terminal(os.Stderr),
		plain: os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || !terminal(os.Stderr)}
	os.Exit(a.run(os.Args[1:]))
}

func terminal(f *os.File) bool { return isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()) }

// exit is an error that knows what the program exits with.
type exit struct {
	code    int
	outcome *uzda.Outcome // nil: it has been said already
}

func (e *exit) Error() string {
	if e.outcome == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.outcome.Error()
}

// fail ends a command with an outcome.
func fail(why uzda.Reason, hint, format string, args ...any) error {
	return &exit{why.Exit(), &uzda.Outcome{Reason: why, Detail: fmt.Sprintf(format, args...), Hint: hint}}
}

// usage ends a command because of how it was called.
func usage(format string, args ...any) error {
	return fail(uzda.ConfigError, "see `uzda --help`", format, args...)
}

// notGood is the exit of a check that found something.
const notGood = 13

// run runs one command line and returns the exit code.
func (a *app) run(args []string) int {
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(a.signals)
	if err == nil {
		return 0
	}
	var e *exit
	if !errors.As(err, &e) { // of the command line's parser
		e = &exit{uzda.ConfigError.Exit(), &uzda.Outcome{Reason: uzda.ConfigError, Detail: err.Error(), Hint: "see `uzda --help`"}}
	}
	if e.outcome == nil {
		return e.code
	}
	if wantsJSON(args) {
		writeJSON(a.out, resultOf(e.outcome, e.code))
	}
	fmt.Fprintf(a.err, "uzda: %s: %s\n", e.outcome.Reason, e.outcome.Detail)
	if e.outcome.Hint != "" {
		fmt.Fprintln(a.err, "      "+e.outcome.Hint)
	}
	return e.code
}

// wantsJSON says whether standard output is promised to a machine, even if the
// command line could not be read.
func wantsJSON(args []string) bool {
	for i, arg := range args {
		if arg == "--" {
			return false
		}
		v, ok := strings.CutPrefix(arg, "--output-format=")
		if !ok && arg == "--output-format" && i+1 < len(args) {
			v = args[i+1]
		}
		if slices.Contains([]string{"json", "stream-json"}, v) {
			return true
		}
	}
	return false
}

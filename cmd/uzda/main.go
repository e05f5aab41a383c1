// Command uzda runs agents: bounded, recorded, resumable.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/cmd/uzda/config"
	"github.com/uzda-dev/uzda/cmd/uzda/line"
)

// app is one invocation of the program.
type app struct {
	in       io.Reader
	out      *output
	err      io.Writer
	env      []string
	args     []string
	dir      string         // working directory
	tty      bool           // a person can be asked
	plain    bool           // no colour, no cursor
	width    int            // columns of the terminal that progress goes to
	settings *config.Config // once they have been read
	talk     *talk          // with the person at the terminal
	now      func() time.Time
	signals  context.Context
	catch    atomic.Pointer[catch] // nil: a signal ends the program
	aborts   aborts
}

// catch is what a command does with signals that it takes itself.
type catch struct {
	interrupt func() // for each Ctrl-C
	restore   func() // before the program ends at once
}

func main() {
	// A reader that goes away must not end the program in the middle of a step:
	// the write fails instead, and the turn is cancelled and recorded.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := context.WithCancelCause(context.Background())
	calls := make(chan os.Signal, 2)
	signal.Notify(calls, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signal.Notify(calls, syscall.SIGHUP)
	}
	a := &app{in: os.Stdin, err: os.Stderr, env: os.Environ(), args: os.Args[1:], now: time.Now, signals: ctx,
		tty:   terminal(os.Stdin) && terminal(os.Stderr),
		plain: os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || !terminal(os.Stderr),
		width: columns(os.Stderr)}
	a.out = &output{w: os.Stdout, tty: terminal(os.Stdout), gone: func() { stop(errGone) }}
	a.talk = &talk{desk: line.NewPlain(a.in, a.err, true), stop: func() {}}
	go a.listen(calls, stop)
	os.Exit(a.run())
}

// listen cancels what runs for the first signal, and ends the program for the second.
func (a *app) listen(calls <-chan os.Signal, stop context.CancelCauseFunc) {
	for again := false; ; {
		s := <-calls
		c := a.catch.Load()
		switch {
		case c != nil && s == os.Interrupt:
			c.interrupt()
			continue
		case again && s == syscall.SIGHUP: // of a terminal that closes: the shell and the system send one each
			continue
		case again:
			if c != nil {
				c.restore()
			}
			a.abort()
			os.Exit(uzda.CancelledByUser.Exit())
		}
		again = true
		stop(fmt.Errorf("stopped by %s", s))
	}
}

// abort leaves nothing behind that runs, and no machine without an answer, when the
// program ends at once.
func (a *app) abort() {
	for _, f := range a.aborts.all() {
		f()
	}
	if a.wantsJSON() && a.out.began.CompareAndSwap(false, true) {
		o := &uzda.Outcome{Reason: uzda.CancelledByUser, Detail: "stopped twice, before the end was recorded", Hint: "`uzda sessions` lists what there is; `uzda resume` goes on"}
		raw, err := json.Marshal(resultOf(o, o.Reason.Exit()))
		if err == nil {
			fmt.Fprintf(a.out.w, "%s\n", raw)
		}
	}
}

// aborts are what ends running programs.
type aborts struct {
	mu   sync.Mutex
	list []func()
}

func (l *aborts) add(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, f)
}

func (l *aborts) all() []func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list)
}

var errGone = errors.New("whoever read the output has gone")

// output is standard output. It remembers that a write failed.
type output struct {
	w    io.Writer
	tty  bool
	gone func() // the reader has closed its end
	err  error
	// began says that something was written, so that nothing else may be.
	began atomic.Bool
}

func (o *output) Write(p []byte) (int, error) {
	o.began.Store(true)
	n, err := o.w.Write(p)
	if err != nil && o.err == nil {
		if o.err = err; errors.Is(err, syscall.EPIPE) {
			o.gone()
		}
	}
	return n, err
}

// lost says why output did not arrive; a reader that went away wants no more.
func (o *output) lost() error {
	if errors.Is(o.err, syscall.EPIPE) {
		return nil
	}
	return o.err
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
	return fail(uzda.ConfigError, seeHelp, format, args...)
}

// pointed lets the hint about how a command is called name that command.
func pointed(c *cobra.Command, err error) error {
	var e *exit
	if c != nil && errors.As(err, &e) && e.outcome != nil && e.outcome.Hint == seeHelp {
		e.outcome.Hint = "see `" + c.CommandPath() + " --help`"
	}
	return err
}

const seeHelp = "see `uzda --help`"

// notGood is the exit of a check that found something.
const notGood = 13

// run runs the command line and returns the exit code.
func (a *app) run() int {
	var err error
	if a.dir, err = os.Getwd(); err != nil {
		err = fail(uzda.ConfigError, "go to a folder that there is", "the working directory cannot be read: %v", err)
	} else {
		root := a.root()
		root.SetArgs(a.args)
		if err = stray(root, a.args); err == nil {
			var c *cobra.Command
			c, err = root.ExecuteContextC(a.signals)
			err = pointed(c, err)
		}
	}
	code := a.end(err)
	if lost := a.out.lost(); lost != nil {
		fmt.Fprintf(a.err, "uzda: standard output could not be written: %v\n      what was recorded is in the store: `uzda sessions`, `uzda show`\n", lost)
		if code == 0 {
			code = uzda.StorageError.Exit()
		}
	}
	return code
}

// end reports the error of a command and returns the exit code.
func (a *app) end(err error) int {
	if err == nil {
		return 0
	}
	if a.out.err != nil && errors.Is(err, a.out.err) { // it is said by run
		return 0
	}
	var e *exit
	if !errors.As(err, &e) { // of the command line's parser
		e = &exit{uzda.ConfigError.Exit(), &uzda.Outcome{Reason: uzda.ConfigError, Detail: err.Error(), Hint: "see `uzda --help`"}}
	}
	if e.outcome == nil {
		return e.code
	}
	if a.signals.Err() != nil && strings.Contains(e.outcome.Detail, context.Canceled.Error()) {
		e = &exit{uzda.CancelledByUser.Exit(), &uzda.Outcome{Reason: uzda.CancelledByUser, Detail: context.Cause(a.signals).Error(), Session: e.outcome.Session}}
	}
	if a.wantsJSON() {
		writeJSON(a.out, resultOf(e.outcome, e.code))
	}
	fmt.Fprintf(a.err, "uzda: %s: %s\n", e.outcome.Reason, safeLines(e.outcome.Detail))
	if e.outcome.Hint != "" {
		fmt.Fprintln(a.err, "      "+safeLines(e.outcome.Hint))
	}
	return e.code
}

// wantsJSON says whether standard output is promised to a machine, even if the
// command line or the settings could not be read.
func (a *app) wantsJSON() bool {
	if a.settings != nil {
		return a.settings.OutputFormat != "text"
	}
	format := ""
	for _, e := range a.env {
		if v, ok := strings.CutPrefix(e, "UZDA_OUTPUT_FORMAT="); ok {
			format = v
		}
	}
	for i, arg := range a.args {
		if arg == "--" {
			break
		}
		if v, ok := strings.CutPrefix(arg, "--output-format="); ok {
			format = v
		} else if arg == "--output-format" && i+1 < len(a.args) {
			format = a.args[i+1]
		}
	}
	return format == "json" || format == "stream-json"
}

// Package shell is the tool by which a model runs commands.
package shell

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/schema"
)

//go:embed shell.md
var description string

// The limits where a Config has none.
const (
	DefaultTime  = 120 * time.Second
	DefaultMax   = 600 * time.Second
	DefaultText  = 16 << 20
	DefaultSpill = 64 << 20
	DefaultKept  = 256 << 20
)

// longest is what a command line may have in bytes; systems take 128 KiB of one
// argument.
const longest = 100 << 10

// Config says how commands run. State is needed; the rest has defaults.
type Config struct {
	// State is the folder that keeps, one folder a session, its working directory and
	// the raw outputs of its commands. It is made when it is needed.
	State string
	// Roots are the folders that a session's working directory may be in; none: any.
	Roots []string
	// Shell is the path of the shell; default bash if there is one, else sh.
	Shell string
	// Env is the environment of commands; nil: that of this process.
	Env []string
	// Hide says which variables commands do not get; nil: none are hidden.
	Hide func(name string) bool
	// Time is how long a command may run that does not say it, Max the most it may say.
	Time, Max time.Duration
	// Text is how many bytes of a command's output are returned, as text; of more, the
	// beginning and the end. Where more came than Spill, that is 1 MiB of each at most.
	Text int
	// Spill is how many raw bytes of one output are kept in a file, Kept how many of
	// all outputs of a session: the oldest go first.
	Spill, Kept int64
	// Keep lets background processes go on after their command, until Reap or Close.
	// Otherwise they are ended.
	Keep bool
}

type input struct {
	Command string `json:"command" doc:"the command line, for example: go test ./... 2>&1 | tail -40"`
	Timeout int    `json:"timeout,omitempty" doc:"seconds that it may run, for long builds and tests"`
}

// Shell is the tool `shell`. It is safe for concurrent use; the commands of one
// session run one after the other, or share its working directory as they come.
type Shell struct {
	c    Config
	spec uzda.ToolSpec
	in   *schema.Schema

	mu   sync.Mutex
	seen visits                      // sessions that were looked at for leftovers
	told map[uzda.SessionID][]string // what Reap ended before that
	dirs map[uzda.SessionID]string   // working directories that could not be stored
	runs map[string]bool             // marks of the commands that run now
	jobs map[*job]bool               // the same that this tool has started
	kept map[uzda.SessionID][]*job   // with processes in the background
}

var (
	_ uzda.Tool      = (*Shell)(nil)
	_ uzda.Checker   = (*Shell)(nil)
	_ uzda.Previewer = (*Shell)(nil)
	_ uzda.Placer    = (*Shell)(nil)
)

// New returns the tool. The error says that there is no shell, or what is missing; on
// a system that it does not run on, it is errors.ErrUnsupported.
func New(c Config) (*Shell, error) {
	if !supported {
		return nil, fmt.Errorf("it does not run on this system yet (%w); on Windows, run the program in WSL", errors.ErrUnsupported)
	}
	if c.State == "" {
		return nil, errors.New("shell: Config.State is empty: name a folder for what sessions keep")
	}
	var err error
	if c.State, err = filepath.Abs(c.State); err != nil {
		return nil, fmt.Errorf("shell: the folder %s: %w", c.State, err)
	}
	if c.Shell, err = Find(c.Shell); err != nil {
		return nil, err
	}
	if c.Env == nil {
		c.Env = os.Environ()
	}
	c.Time, c.Max = or(c.Time, DefaultTime), or(c.Max, DefaultMax)
	c.Max = max(c.Max, c.Time)
	c.Text, c.Spill, c.Kept = or(c.Text, DefaultText), or(c.Spill, DefaultSpill), or(c.Kept, DefaultKept)
	in, err := schema.For[input]()
	if err != nil {
		panic(err)
	}
	text := strings.NewReplacer("120 seconds", seconds(c.Time), "600)", fmt.Sprintf("%d)", int(c.Max.Seconds()))).Replace(strings.TrimSpace(description))
	runs := map[string]bool{}
	for _, kv := range c.Env { // this program may itself run in a command of another one
		if marks, ok := strings.CutPrefix(kv, markName+"="); ok {
			for _, m := range strings.Fields(marks) {
				runs[m] = true
			}
		}
	}
	return &Shell{
		c: c, in: in, told: map[uzda.SessionID][]string{}, dirs: map[uzda.SessionID]string{}, runs: runs, jobs: map[*job]bool{}, kept: map[uzda.SessionID][]*job{},
		// No effect is declared: a command may do anything, and gates judge it by its text.
		spec: uzda.ToolSpec{Name: "shell", Description: text, Input: in.JSON(), Source: "built-in"},
	}, nil
}

// plainly are the shells that can be used, each with the options that keep it from
// reading start-up files.
var plainly = map[string][]string{
	"bash": {"--noprofile", "--norc"}, "zsh": {"-f"}, "sh": nil, "dash": nil, "ash": nil, "ksh": nil, "mksh": nil,
}

// Find returns the path of a shell: of the one named, else of bash where there is
// one, else of sh.
func Find(shell string) (string, error) {
	if shell != "" {
		path, err := exec.LookPath(shell)
		if err != nil {
			return "", fmt.Errorf("the shell %s: %w", shell, err)
		}
		if _, ok := plainly[filepath.Base(path)]; !ok {
			return "", fmt.Errorf("the shell %s: commands are written for a POSIX shell; name one of %s", shell, strings.Join(slices.Sorted(maps.Keys(plainly)), ", "))
		}
		return path, nil
	}
	for _, name := range []string{"bash", "/bin/bash", "sh", "/bin/sh"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("there is no shell here: neither bash nor sh is found; name one in Config.Shell")
}

func or[T comparable](a, b T) T {
	if a == *new(T) {
		return b
	}
	return a
}

// Spec says what the tool is.
func (s *Shell) Spec() uzda.ToolSpec { return s.spec }

// Check validates the input.
func (s *Shell) Check(raw json.RawMessage) (json.RawMessage, error) {
	out, err := s.in.Coerce(raw)
	if err != nil {
		return nil, err
	}
	_, err = s.parse(out)
	return out, err
}

func (s *Shell) parse(raw json.RawMessage) (input, error) {
	var in input
	if err := json.Unmarshal(raw, &in); err != nil {
		return in, fmt.Errorf("the input cannot be read: %w", err)
	}
	most := int(s.c.Max.Seconds())
	switch {
	case strings.TrimSpace(in.Command) == "":
		return in, errors.New("/command is empty: want a command line, for example \"ls -l\"")
	case strings.ContainsRune(in.Command, 0):
		return in, errors.New("/command has a NUL byte, which no command line can hold; write it as \\0 for a program that takes that")
	case len(in.Command) > longest:
		return in, fmt.Errorf("/command has %d bytes, at most %d fit a command line: write the text to a file first, then use the file", len(in.Command), longest)
	case in.Timeout < 0 || in.Timeout > most:
		return in, fmt.Errorf("/timeout is %d: want 1 to %d, in seconds", in.Timeout, most)
	}
	return in, nil
}

func (s *Shell) limit(in input) time.Duration {
	if in.Timeout > 0 {
		return time.Duration(in.Timeout) * time.Second
	}
	return s.c.Time
}

// Preview shows the command, where it runs and how long it may. What a terminal
// would act on or not show is written out.
func (s *Shell) Preview(_ context.Context, use uzda.Use) (text, preconditions string, err error) {
	in, err := s.parse(use.Input)
	if err != nil {
		return "", "", err
	}
	command := strings.ReplaceAll(visible(in.Command), "\n", "\n  ")
	return fmt.Sprintf("$ %s\nin %s, for at most %s", command, visible(use.Dir), seconds(s.limit(in))), "", nil
}

// Call runs the command. It returns when the shell has ended, whatever it left
// running; when ctx ends everything is ended within a second.
func (s *Shell) Call(ctx context.Context, use uzda.Use) (uzda.Result, error) {
	in, err := s.parse(use.Input)
	if err != nil {
		return refuse(uzda.CodeInvalidInput, err.Error()), nil
	}
	select {
	case <-ctx.Done():
		return refuse(uzda.CodeCancelled, "The command was cancelled before it began."), nil
	default:
	}
	r := &report{limit: s.limit(in), command: in.Command}
	r.note(s.leftovers(use.Session)...)
	dir, note, err := s.begin(use)
	if err != nil {
		return unstarted(err), nil
	}
	r.note(note)
	j, err := s.start(in.Command, dir, use)
	if err != nil {
		return unstarted(err), nil
	}
	s.wait(ctx, j, r)
	if r.ended == exited {
		r.dir, note = s.moved(use.Session, dir, j.where())
		r.note(note)
	}
	j.close()
	return s.result(j, r), nil
}

func refuse(code uzda.Code, text string) uzda.Result {
	return uzda.Result{Blocks: uzda.Say(text), IsError: true, Code: code, Effect: uzda.EffectNone}
}

func unstarted(err error) uzda.Result {
	return refuse(uzda.CodeNotStarted, "The command did not start: "+err.Error())
}

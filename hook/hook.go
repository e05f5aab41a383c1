// Package hook runs commands of the user's at set points of a session, in the
// protocol that other hosts speak: they may forbid and add, and loosen nothing.
package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/uzda-dev/uzda"
)

// Event is a point of a session at which hooks run.
type Event string

// The events. Before a tool and before a prompt hooks guard: one that fails there
// forbids, or has a person asked. At the others they watch: a failure is a warning.
const (
	SessionStart       Event = "SessionStart"
	UserPromptSubmit   Event = "UserPromptSubmit"
	PreToolUse         Event = "PreToolUse"
	PostToolUse        Event = "PostToolUse"
	PostToolUseFailure Event = "PostToolUseFailure"
	Stop               Event = "Stop"
	SessionEnd         Event = "SessionEnd"
)

// Events returns all events, in the order of a session.
func Events() []Event {
	return []Event{SessionStart, UserPromptSubmit, PreToolUse, PostToolUse, PostToolUseFailure, Stop, SessionEnd}
}

// Guards says whether a hook of this event decides about something.
func (e Event) Guards() bool { return e == PreToolUse || e == UserPromptSubmit }

// A Hook is a command that runs at an event.
type Hook struct {
	Event Event
	// Matcher says for which tools (at SessionStart: for which source; at
	// SessionEnd: for which reason) it runs: a name, A|B, or a regular expression;
	// "" and "*" are for all.
	Matcher string
	Command string        // run by the shell; with Args it is a program
	Args    []string      // nil: there is a shell
	Timeout time.Duration // default a minute, and 5 seconds at SessionEnd
	Origin  string        // where it is written down, for people
}

// String names the hook for people and models.
func (h Hook) String() string {
	line := strings.Join(append([]string{h.Command}, h.Args...), " ")
	text := "hook `" + uzda.Clip(strings.Join(strings.Fields(line), " "), 80) + "`"
	if h.Origin != "" {
		text += " (" + h.Origin + ")"
	}
	return text
}

func (h Hook) timeout() time.Duration {
	switch {
	case h.Timeout > 0:
		return h.Timeout
	case h.Event == SessionEnd: // nobody waits a minute for a program to end
		return 5 * time.Second
	}
	return time.Minute
}

// A Set is the hooks of a program; safe for concurrent use once it is filled.
// Fields but Hooks may be left out.
type Set struct {
	Hooks []Hook
	Dir   string   // of the project, for the hooks' environment
	Env   []string // of the hooks, in the form of os.Environ; without secrets
	Mode  string   // permission mode, where the session says none

	// Names returns the names of a tool, ours first and then those of other hosts.
	// A hook that is for one of those is told of the use in the words of that host.
	Names func(tool string) []string
	// Input is the input of a use in the words of the host that calls its tool name.
	Input func(name string, use uzda.Use) json.RawMessage
	// Redact hides secrets from hooks and from models.
	Redact uzda.Redactor
	// Warn gets what people should read: a hook that failed, a message of one. Its
	// calls do not overlap.
	Warn func(text string)
	// Halt ends the turn of a session, as a hook wants that says "continue": false.
	Halt func(id uzda.SessionID, why string)

	mu      sync.Mutex
	remarks map[string][]string // of PreToolUse for the model, by use, until it has run
}

// Check says which hook can never run as it is written.
func (s *Set) Check() error {
	for _, h := range s.Hooks {
		if !slices.Contains(Events(), h.Event) {
			return fmt.Errorf("%s: there is no event %q", h, h.Event)
		}
		if strings.TrimSpace(h.Command) == "" {
			return fmt.Errorf("%s: it has no command", h)
		}
		if err := CheckMatcher(h.Matcher); err != nil {
			return fmt.Errorf("%s: %w", h, err)
		}
	}
	return nil
}

// Has says whether there is a hook for one of these events.
func (s *Set) Has(events ...Event) bool {
	return slices.ContainsFunc(s.Hooks, func(h Hook) bool { return slices.Contains(events, h.Event) })
}

// At is where something happens.
type At struct {
	Session uzda.SessionID
	Dir     string // of the session
	Mode    string // permission mode; default that of the set
}

// A call is one event as hooks are told of it.
type call struct {
	At
	event  Event
	names  []string // what matchers are held against; none: every hook of the event runs
	fields func(name string) map[string]any
}

// An outcome is what one hook came to.
type outcome struct {
	hook Hook
	answer
	failed string // why there is no answer
}

// run runs the hooks that an event is for, side by side and identical ones once. The
// outcomes are in the order of the set.
func (s *Set) run(ctx context.Context, c call) []outcome {
	type job struct {
		hook Hook
		name string
	}
	var jobs []job
	seen := map[string]bool{}
	for _, h := range s.Hooks {
		if h.Event != c.event {
			continue
		}
		name, ok := matched(h.Matcher, c.names)
		key := strings.Join(append([]string{h.Command}, h.Args...), "\x00")
		if !ok || seen[key] {
			continue
		}
		seen[key] = true
		jobs = append(jobs, job{h, name})
	}
	out := make([]outcome, len(jobs))
	var wg sync.WaitGroup
	for i, j := range jobs {
		wg.Go(func() { out[i] = s.ask(ctx, j.hook, c, j.name) })
	}
	wg.Wait()
	for _, o := range out {
		if o.Message != "" {
			s.warn("%s says: %s", o.hook, s.clean(o.Message))
		}
		if o.failed != "" && ctx.Err() == nil {
			s.warn("%s on %s: %s", o.hook, c.event, o.failed)
		}
	}
	return out
}

func (s *Set) warn(format string, args ...any) {
	if s.Warn == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Warn(fmt.Sprintf(format, args...))
}

// maxText is the most of what a hook says that a model reads, in bytes.
const maxText = 32 << 10

// clean makes a hook's words fit for a model and for a journal.
func (s *Set) clean(text string) string {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	if s.Redact != nil {
		text, _ = s.Redact.Redact(text, false)
	}
	return uzda.Clip(text, maxText)
}

// halt ends the turn if a hook wants that, and says why.
func (s *Set) halt(id uzda.SessionID, outs []outcome) (why string, halted bool) {
	for _, o := range outs {
		if o.Continue == nil || *o.Continue {
			continue
		}
		why = o.hook.String() + " ends the turn"
		if r := s.clean(o.StopReason); r != "" {
			why += ": " + r
		}
		if s.Halt != nil {
			s.Halt(id, why)
		}
		return why, true
	}
	return "", false
}

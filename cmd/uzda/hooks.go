package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/cmd/uzda/attach"
	"github.com/uzda-dev/uzda/hook"
	"github.com/uzda-dev/uzda/policy"
	"github.com/uzda-dev/uzda/session"
)

// hooks are the commands of the settings that run at set points of a session.
type hooks struct {
	*hook.Set
	at hook.At // of the session that this program has given a message; its ID is "" before
}

// hook makes the hooks of the settings ready, once.
func (w *work) hook() error {
	if len(w.cfg.Hooks) == 0 {
		return nil
	}
	if w.hooks != nil {
		w.hooks.Mode = w.cfg.Permissions.Mode
		return nil
	}
	project := w.cfg.Project
	if project == "" {
		project = w.cfg.Dir
	}
	s := &hook.Set{Hooks: w.cfg.Hooks, Dir: project, Env: w.harmless(), Mode: w.cfg.Permissions.Mode, Names: toolNames, Input: inWordsOf, Redact: w.secrets(),
		Warn: func(text string) { fmt.Fprintln(w.err, "uzda:", safeLines(text)) }, Halt: w.halt}
	if err := s.Check(); err != nil {
		return fail(uzda.ConfigError, "docs/hooks.md says how a hook is written", "%v", err)
	}
	w.strays(w.cfg.Hooks)
	w.hooks = &hooks{Set: s}
	w.closes = append(w.closes, w.leave)
	return nil
}

// harmless is the environment without the variables that hold secrets.
func (w *work) harmless() []string {
	secrets, ok := w.secrets().(*policy.Secrets)
	if !ok {
		return nil
	}
	names := secrets.Names()
	return slices.DeleteFunc(slices.Clone(w.env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(names, name) || slices.Contains(names, name+"_PASSWORD") // one of a URL
	})
}

// oursToo are names of other hosts for tools that this program has.
var oursToo = strings.Fields("Bash Read Edit MultiEdit Write Glob Grep WebFetch TodoWrite")

// strays warns of matchers that name nothing that there is: a guard with a slip in
// its name guards nothing.
func (w *work) strays(list []hook.Hook) {
	tools := slices.Concat(builtIn, oursToo, othersTools, []string{"read_output"})
	for _, h := range list {
		known := tools
		switch h.Event {
		case hook.PreToolUse, hook.PostToolUse, hook.PostToolUseFailure:
		case hook.SessionStart:
			known = []string{"startup", "resume", "clear", "compact"}
		default:
			continue
		}
		for _, name := range hook.Strays(h.Matcher, known) {
			if strings.Contains(name, "mcp") { // of a server, which may have any
				continue
			}
			text := fmt.Sprintf("warning: %s: the matcher %q matches nothing that there is, so the hook does not run for it", h.Origin, name)
			if near := uzda.Nearest(name, known, 1); len(near) > 0 {
				text += fmt.Sprintf("; did you mean %q?", near[0])
			}
			w.once(text)
		}
	}
}

// toolNames are the names of a tool: ours, and those of other hosts.
func toolNames(tool string) []string {
	out := []string{tool}
	for _, other := range oursToo {
		if policy.ToolName(other) == tool {
			out = append(out, other)
		}
	}
	return out
}

// inWordsOf is the input of a use as hooks for a tool of another host read it:
// their names for the same things stand beside ours.
func inWordsOf(name string, use uzda.Use) json.RawMessage {
	var in map[string]any
	if name == use.Name || json.Unmarshal(use.Input, &in) != nil {
		return use.Input
	}
	for ours, theirs := range map[string]string{"path": "file_path", "old": "old_string", "new": "new_string", "items": "todos"} {
		v, ok := in[ours]
		if _, taken := in[theirs]; !ok || taken {
			continue
		}
		if path, isText := v.(string); isText && ours == "path" && !filepath.IsAbs(path) {
			v = filepath.Join(use.Dir, path) // theirs are always absolute
		}
		in[theirs] = v
	}
	raw, err := json.Marshal(in)
	if err != nil {
		return use.Input
	}
	return raw
}

// halt ends the turn that runs in a session.
func (w *work) halt(id uzda.SessionID, why string) {
	c := uzda.Cancelled{ID: "hook-" + string(session.NewID(w.now())), Why: why, By: "hook"}
	if _, err := w.store.Append(context.Background(), id, uzda.At{Head: uzda.SomeHead}, c); err != nil {
		fmt.Fprintln(w.err, "uzda: warning: a hook's end of the turn could not be recorded:", err)
	}
}

// hooked gives an agent the gate and the check that hooks are.
func (w *work) hooked(a agent.Agent) agent.Agent {
	if w.hooks == nil {
		return a
	}
	if w.hooks.Has(hook.PreToolUse) {
		a.Gates = append(a.Gates, w.hooks.Gate())
	}
	if w.hooks.Has(hook.Stop) {
		a.Verify = stopCheck{w, a.Verify}
	}
	return a
}

// stopCheck asks the hooks of Stop once the check of the settings is content.
type stopCheck struct {
	w     *work
	first agent.Verifier // nil: there is none
}

var _ agent.Verifier = stopCheck{}

// String says what checks.
func (c stopCheck) String() string {
	if c.first == nil {
		return c.w.hooks.Stops()
	}
	return c.first.String() + "; " + c.w.hooks.Stops()
}

// Verify checks.
func (c stopCheck) Verify(ctx context.Context, work agent.Work) (bool, string, error) {
	if c.first != nil {
		if ok, text, err := c.first.Verify(ctx, work); !ok || err != nil {
			return ok, text, err
		}
	}
	s, err := agent.Load(ctx, c.w.store, work.Session)
	if err != nil {
		return false, "", err
	}
	return c.w.hooks.Stop(ctx, hook.At{Session: work.Session, Dir: work.Dir, Mode: s.Gear.Mode}, work.Answer, s.Turn.Rejected > 0)
}

// message is what a session is given: the task, and what hooks add to it. It is
// recorded as one message, so that a session that goes on is what it was. What has
// changed of the instructions is read anew.
// What is attached stands before the task: models read a question better after what
// it is about.
func (r *runner) message(ctx context.Context, task string, along ...attach.File) (uzda.Blocks, error) {
	s, err := r.host.State(ctx, r.id)
	if err != nil {
		return nil, failed(r.id, err)
	}
	if s.Turn.Seq == 0 { // a turn goes on with what it began with
		if err := r.refreshGuide(ctx, s); err != nil {
			return nil, err
		}
	}
	blocks := append(attach.Blocks(along...), uzda.Say(task)...)
	if r.hooks == nil {
		return blocks, nil
	}
	at := hook.At{Session: r.id, Dir: s.Opened.Dir, Mode: r.cfg.Permissions.Mode}
	if r.hooks.at.Session != r.id {
		source := "startup"
		if s.Asks > 0 {
			source = "resume"
		}
		text, err := r.hooks.Start(ctx, at, source)
		if err != nil {
			return nil, blocked(ctx, err)
		}
		if text != "" {
			blocks = append(blocks, uzda.Say(text)...)
		}
		r.hooks.at = at
	}
	text, err := r.hooks.Prompt(ctx, at, task)
	if err != nil {
		return nil, blocked(ctx, err)
	}
	if text != "" {
		blocks = append(blocks, uzda.Say(text)...)
	}
	return blocks, nil
}

// blocked ends a command whose message a hook does not let through.
func blocked(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fail(uzda.CancelledByUser, "", "%v", context.Cause(ctx))
	}
	return fail(uzda.ConfigError, "nothing was given to the agent; `uzda config` lists the hooks and where they stand", "%v", err)
}

// leave runs the hooks of SessionEnd for the session that was given a message here.
func (w *work) leave() error {
	if w.hooks.at.Session == "" || !w.hooks.Has(hook.SessionEnd) {
		return nil
	}
	ctx, reason := context.Background(), "other"
	if s, err := agent.Load(ctx, w.store, w.hooks.at.Session); err == nil {
		switch {
		case s.Turn.Seq != 0 && s.Parked != nil:
			reason = string(s.Parked.On)
		case s.Ended != nil:
			reason = string(s.Ended.Reason)
		}
	}
	w.hooks.End(ctx, w.hooks.at, reason)
	return nil
}

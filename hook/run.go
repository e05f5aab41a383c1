package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

const (
	maxOut   = 1 << 20 // bytes that a hook may print
	maxIn    = 4 << 20 // bytes of one text that a hook is told
	lastWait = time.Second
)

// ask runs one hook and reads its answer.
func (s *Set) ask(ctx context.Context, h Hook, c call, name string) outcome {
	o := outcome{hook: h}
	in, err := s.input(h, c, name)
	if err != nil {
		o.failed = err.Error()
		return o
	}
	stdout, stderr, code, err := s.execute(ctx, h, c.At, in)
	switch {
	case err != nil:
		o.failed = err.Error()
	case code == 2:
		o.Decision, o.Reason = "block", orElse(stderr, "it gives no reason")
	case code != 0:
		o.failed = fmt.Sprintf("it exits %d", code)
		if said := s.clean(stderr); said != "" {
			o.failed += ": " + lastLine(said)
		}
	default:
		if o.answer, err = read(stdout); err != nil {
			o.failed = err.Error()
		}
	}
	return o
}

// lastLine is where a program that breaks says why.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// modes are the permission modes in the words of the protocol.
var modes = map[string]string{"ask": "default", "plan": "plan", "accept-edits": "acceptEdits", "deny": "dontAsk", "bypass": "bypassPermissions"}

// input is what a hook reads. Secrets are hidden, as a tool's result may hold some.
func (s *Set) input(h Hook, c call, name string) (string, error) {
	mode := orElse(c.Mode, s.Mode)
	in := map[string]any{
		"session_id": c.Session, "cwd": c.Dir, "permission_mode": orElse(modes[mode], "default"), "hook_event_name": h.Event,
	}
	if c.fields != nil {
		for k, v := range c.fields(name) {
			in[k] = v
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(in); err != nil {
		return "", fmt.Errorf("tell it what happens: %w", err)
	}
	text := b.String()
	if s.Redact != nil {
		text, _ = s.Redact.Redact(text, false)
	}
	return text, nil
}

// execute runs a hook's command in a process group of its own, which is gone when
// execute returns. The error says why it has no exit code.
func (s *Set) execute(ctx context.Context, h Hook, at At, in string) (stdout, stderr string, code int, err error) {
	limited, cancel := context.WithTimeout(ctx, h.timeout())
	defer cancel()
	cmd := command(limited, h)
	project := orElse(s.Dir, at.Dir)
	cmd.Dir, cmd.WaitDelay, cmd.Stdin = at.Dir, lastWait, strings.NewReader(in)
	cmd.Env = append(append([]string{}, s.Env...), "UZDA_PROJECT_DIR="+project, "CLAUDE_PROJECT_DIR="+project, "UZDA_SESSION="+string(at.Session))
	out, errs := &bounded{}, &bounded{}
	cmd.Stdout, cmd.Stderr = out, errs
	ownGroup(cmd)
	if err = cmd.Run(); cmd.Process != nil {
		endGroup(cmd)
	}
	if errors.Is(err, exec.ErrWaitDelay) { // it left something behind that held its output
		err = nil
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case limited.Err() != nil:
		err = fmt.Errorf("it did not end within %s", h.timeout())
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		code, err = exit.ExitCode(), nil
	case errors.As(err, &exit):
		err = fmt.Errorf("it was ended: %w", exit)
	case err != nil:
		err = fmt.Errorf("it could not be run: %w", err)
	}
	if err == nil && code == 0 && out.over {
		err = errTooMuch
	}
	return out.String(), errs.String(), code, err
}

func command(ctx context.Context, h Hook) *exec.Cmd {
	switch {
	case h.Args != nil:
		return exec.CommandContext(ctx, h.Command, h.Args...)
	case runtime.GOOS == "windows":
		return exec.CommandContext(ctx, "cmd", "/C", h.Command)
	}
	return exec.CommandContext(ctx, "/bin/sh", "-c", h.Command)
}

// bounded keeps the beginning of what is written to it.
type bounded struct {
	kept bytes.Buffer // not embedded: it would read past the bound by itself
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	keep := min(len(p), maxOut-b.kept.Len())
	b.over = b.over || keep < len(p)
	b.kept.Write(p[:keep])
	return len(p), nil
}

func (b *bounded) String() string { return b.kept.String() }

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/tool/shell"
)

// checkTime is the most that a check may take.
const checkTime = 10 * time.Minute

// check is a command that decides whether a turn is done. It runs as commands of the
// agent do, so that nothing of it stays behind.
type check struct {
	line  string
	shell *shell.Shell
}

var _ agent.Verifier = check{}

// check makes the check of the settings.
func (w *work) check(line string) (agent.Verifier, error) {
	sh, err := shell.New(shell.Config{State: filepath.Join(w.data(), "verify"), Env: w.harmless()})
	if err != nil {
		return nil, fail(uzda.ConfigError, "install a POSIX shell", "verify (%s): %v", w.cfg.Origin("verify"), err)
	}
	w.checks = sh
	w.aborts.add(sh.Abort)
	w.closes = append(w.closes, sh.Close)
	return check{line, sh}, nil
}

// String returns the command line.
func (c check) String() string { return c.line }

// Verify runs the command in the session's directory.
func (c check) Verify(ctx context.Context, work agent.Work) (bool, string, error) {
	ok, text := c.shell.Try(ctx, work.Session, work.Dir, c.line, checkTime)
	if ok {
		return true, "", nil
	}
	const most = 2000
	return false, fmt.Sprintf("The check `%s` failed. The end of its output:\n%s\nFix what it says and finish again.", c.line, uzda.After(text, most)), nil
}

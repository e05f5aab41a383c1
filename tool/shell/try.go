package shell

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/uzda-dev/uzda"
)

// Try runs a command that is no use of a session but belongs to it, such as a check
// of its work, in dir, and says whether it exited 0. Text is what a use of the tool
// would tell. The session stays where it is, and nothing of the command goes on.
func (s *Shell) Try(ctx context.Context, id uzda.SessionID, dir, command string, limit time.Duration) (ok bool, text string) {
	r := &report{limit: limit, command: command}
	j, err := s.start(command, dir, uzda.Use{Session: id, ID: "check"})
	if err != nil {
		return false, "The command did not start: " + err.Error()
	}
	s.wait(ctx, j, r)
	j.close()
	res := s.result(j, r)
	return r.ended == exited && r.code == 0 && r.signal == "", res.Blocks.String()
}

// Abort ends at once whatever runs, for a program that is about to exit: the calls
// need not return.
func (s *Shell) Abort() {
	s.mu.Lock()
	jobs := slices.Collect(maps.Keys(s.jobs))
	for _, kept := range s.kept {
		jobs = append(jobs, kept...)
	}
	s.mu.Unlock()
	for _, j := range jobs {
		j.signal(true)
	}
}

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/cmd/uzda/attach"
)

func (a *app) resumeCommand() *cobra.Command {
	files := attached()
	c := &cobra.Command{Use: `resume SESSION ["message"]`, Short: "go on with a session: after a crash, a limit, an answer",
		Long: `Resume goes on with a session where its journal ends. After a crash that is in
the middle of a turn; after an answer, with what was allowed. With a message it
says that first. A turn that a fuse has ended is taken up by a new one.`,
		Args: one(1)}
	c.Flags().Var(files, "attach", attachDoc)
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(files.values) > 0 && len(args) < 2 {
			return fail(uzda.ConfigError, `say what to do with it: uzda resume `+args[0]+` --attach `+files.values[0]+` "..."`, "resume: --attach comes with a message")
		}
		along, err := a.attach(c.Context(), "--attach", files.values...)
		if err != nil {
			return err
		}
		if err := a.meet(c); err != nil {
			return err
		}
		w, err := a.open(c)
		if err != nil {
			return err
		}
		defer w.close()
		id, s, err := w.goes(c.Context(), args[0])
		if err != nil {
			return err
		}
		message := ""
		if len(args) > 1 {
			if message, err = a.task(args[1], false); err != nil {
				return err
			}
		}
		return w.resume(c.Context(), id, s, message, along...)
	}
	return flags(c, append([]string{"output-format"}, runFlags...)...)
}

// resume goes on with a session that there is.
func (w *work) resume(ctx context.Context, id uzda.SessionID, s *agent.State, message string, along ...attach.File) error {
	w.goesOn = true
	r, err := w.runner(ctx, s)
	if err != nil {
		return err
	}
	r.id, r.head = id, s.Head
	atRest := s.Turn.Seq == 0
	if message == "" && atRest {
		if s.Ended == nil || s.Ended.Reason.Outcome() == uzda.Finished {
			fmt.Fprintf(w.err, "Session %s has nothing left to do. To say more: uzda resume %s \"...\"\n", id, id)
			o := s.Outcome(id)
			if o == nil {
				return fail(uzda.ConfigError, "give it a task: uzda resume "+string(id)+" \"...\"", "session %s has had no task yet", id)
			}
			res := resultIn(ctx, w.store, id, s, o, 0)
			res.Trace = r.trace(ctx)
			return r.report(s, o, res)
		}
		message = "Go on with the task from where you were."
	}
	if message != "" {
		if err := r.takes(along, "--attach"); err != nil {
			return err
		}
		r.tells(along)
		if err := r.post(ctx, message, along...); err != nil {
			return err
		}
	}
	return r.drive(ctx)
}

package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/uzda-dev/uzda"
)

func (a *app) sessionsCommand() *cobra.Command {
	most := 50
	c := a.looks("sessions", "the sessions of the store, the last changed first", "", none, func(ctx context.Context, w *work, _ []string) error {
		l, ok := w.store.(uzda.Lister)
		if !ok {
			return fail(uzda.ConfigError, "", "this store cannot list its sessions")
		}
		rows, more := []uzda.SessionInfo{}, 0
		for info, err := range l.List(ctx) {
			switch {
			case err != nil:
				return fail(uzda.StorageError, "`uzda doctor` looks at the store", "%v", err)
			case most > 0 && len(rows) == most:
				more++
			default:
				rows = append(rows, info)
			}
		}
		if w.json() {
			writeJSON(w.out, rows)
			return nil
		}
		if len(rows) == 0 {
			fmt.Fprintln(w.out, "There are no sessions yet. Begin with: uzda demo")
			return nil
		}
		if err := w.list(rows); err != nil {
			return err
		}
		if more > 0 {
			fmt.Fprintf(w.out, "and %d more; --most 0 shows all\n", more)
		}
		return nil
	})
	c.Flags().Var(count{&most}, "most", "how many to show; 0 for all")
	return c
}

// list prints sessions, a line each, with less of them on a narrow terminal.
func (w *work) list(rows []uzda.SessionInfo) error {
	narrow, room := false, 60 // columns of the task: what the others leave
	if w.out.tty && w.width > 0 {
		if narrow = w.width < 100; narrow {
			room = max(8, w.width-56)
		} else {
			room = max(20, w.width-80)
		}
	}
	t := tabwriter.NewWriter(w.out, 0, 0, 2, ' ', 0)
	if narrow {
		fmt.Fprintln(t, "SESSION\tSTATUS\tCHANGED\tTASK")
	} else {
		fmt.Fprintln(t, "SESSION\tSTATUS\tAGENT\tSTEPS\tTOKENS\tCOST\tCHANGED\tTASK")
	}
	for _, r := range rows {
		status := r.Status
		if r.Reason != "" && string(r.Reason) != status {
			status += ": " + string(r.Reason)
		}
		changed, task := ago(w.now(), r.Updated), uzda.OneLine(r.Title, room)
		if narrow {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", r.ID, status, changed, task)
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\n", r.ID, status, safe(r.Agent), r.Steps, thousands(r.Tokens), short(r.Cost), changed, task)
	}
	return t.Flush()
}

func ago(now, then time.Time) string {
	switch d := now.Sub(then); {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	default:
		return then.Local().Format("2006-01-02")
	}
}

package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/uzda-dev/uzda"
)

func (a *app) sessionsCommand() *cobra.Command {
	most := 50
	c := a.looks("sessions", "the sessions of the store, the last changed first", `Sessions lists what has run, the last changed first. "uzda show ID" shows what was
said and done in one. Two commands remove them for good: "rm" those that you name,
"prune" the old ones.`, none, func(ctx context.Context, w *work, _ []string) error {
		all, err := w.infos(ctx)
		if err != nil {
			return err
		}
		rows := all
		if most > 0 && len(rows) > most {
			rows = rows[:most]
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
		if more := len(all) - len(rows); more > 0 {
			fmt.Fprintf(w.out, "and %d more; --most 0 shows all\n", more)
		}
		for _, l := range large(all) {
			fmt.Fprintln(w.err, "uzda: "+l)
		}
		return nil
	})
	c.Example = "  uzda sessions\n  uzda sessions prune --older 30d --dry-run\n  uzda sessions rm ID"
	c.Flags().Var(count{&most}, "most", "how many to show; 0 for all")
	c.AddCommand(a.removeCommand(), a.pruneCommand())
	return c
}

// strayOfSessions is the hint for a word after "uzda sessions" that is none of its
// commands: most likely an id, or a command that stands elsewhere.
func strayOfSessions(root *cobra.Command, rest []string) string {
	word := rest[0]
	switch word {
	case "remove", "delete", "del":
		return "did you mean `uzda sessions rm`?"
	case "clean", "clear", "gc":
		return "did you mean `uzda sessions prune`?"
	case "list", "ls":
		return "`uzda sessions` alone lists them"
	}
	for _, c := range root.Commands() {
		if c.Name() == word {
			return strings.Join(append([]string{"did you mean `uzda", word}, rest[1:]...), " ") + "`?"
		}
	}
	if n := uzda.Nearest(word, []string{"rm", "prune"}, 1); len(n) > 0 {
		return "did you mean `uzda sessions " + n[0] + "`?"
	}
	return "to see a session: uzda show " + word + "; to remove it: uzda sessions rm " + word
}

// damagedStatus is the status of a session that cannot be read.
const damagedStatus = "damaged"

// infos are all sessions of the store, the last changed first. One that cannot be read
// does not hide the others.
func (w *work) infos(ctx context.Context) ([]uzda.SessionInfo, error) {
	l, ok := w.store.(uzda.Lister)
	if !ok {
		return nil, fail(uzda.ConfigError, "", "this store cannot list its sessions")
	}
	rows := []uzda.SessionInfo{}
	for info, err := range l.List(ctx) {
		if err != nil && (info.ID == "" || ctx.Err() != nil) {
			return nil, fail(uzda.StorageError, "`uzda doctor` looks at the store", "%v", err)
		}
		if err != nil {
			w.once("warning: " + err.Error())
			info.Status = damagedStatus
		}
		rows = append(rows, info)
	}
	return rows, nil
}

// list prints sessions, a line each, with less of them on a narrow terminal.
func (w *work) list(rows []uzda.SessionInfo) error {
	narrow, room := false, 60 // columns of the task: what the others leave
	if w.out.tty && w.width > 0 {
		if narrow = w.width < 100; narrow {
			room = max(8, w.width-56)
		} else {
			room = max(20, w.width-90)
		}
	}
	t := tabwriter.NewWriter(w.out, 0, 0, 2, ' ', 0)
	if narrow {
		fmt.Fprintln(t, "SESSION\tSTATUS\tCHANGED\tTASK")
	} else {
		fmt.Fprintln(t, "SESSION\tSTATUS\tAGENT\tSTEPS\tTOKENS\tCOST\tSIZE\tCHANGED\tTASK")
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
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\n", r.ID, status, safe(r.Agent), r.Steps, thousands(r.Tokens), short(r.Cost), bulk(r.Size), changed, task)
	}
	return t.Flush()
}

func ago(now, then time.Time) string {
	switch d := now.Sub(then); {
	case then.IsZero():
		return "-" // nobody knows
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

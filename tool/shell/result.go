package shell

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
)

// A report is what is known of a command once it has ended.
type report struct {
	command string
	limit   time.Duration
	took    time.Duration
	ended   ending
	turn    bool // it was the time of the turn that ran out
	code    int
	signal  string // that ended the shell
	dir     string // where the session is now, if it moved
	left    []proc // what still ran
	kept    *job   // it goes on
	stuck   []proc // could not be ended
	notes   []string
}

func (r *report) note(notes ...string) {
	for _, n := range notes {
		if n != "" {
			r.notes = append(r.notes, n)
		}
	}
}

// exit notes the status of a shell that ended by itself.
func (r *report) exit(err error) {
	if r.ended == exited {
		r.code, r.signal = ended(err)
	}
}

// result tells the model what came of a command. One that exits with a code is an
// error, which gates and hooks count, unless the code answers what was asked. It did
// what it did all the same, so its outcome is known.
func (s *Shell) result(j *job, r *report) uzda.Result {
	got, total := s.reading(j, r)
	if j.head != "" { // a shell shows it with the line that it cannot read
		got.head = strings.Replace(got.head, j.head, "", 1)
	}
	text, omitted, at := got.within(s.c.Text)
	text = strings.TrimRight(text, " \n\t")
	if strings.TrimSpace(text) == "" {
		text = "(no output)"
	}
	r.note(got.note)
	if omitted > 0 { // said here too: the middle may be cut once more
		r.note(fmt.Sprintf("%d bytes of output are left out, after the first %d", omitted, at))
	}
	if got.raw || omitted > 0 || r.kept != nil {
		path, missing := j.out.keep()
		if path != "" {
			r.note(fmt.Sprintf("raw output, %d bytes: %s", total, path))
		}
		r.note(missing)
	} else {
		j.out.drop()
	}
	j.out.finish()
	if r.kept != nil {
		s.keep(j)
	}
	r.note(demand(r.command, text, r.code))
	r.background()
	if last := r.last(); last != "" {
		r.note(last)
	}
	notes := ""
	for _, n := range r.notes {
		notes += "\n[" + visible(n) + "]"
	}
	res := uzda.Result{Blocks: uzda.Say(text + notes)}
	switch {
	case r.ended == timeout:
		res.IsError, res.Code, res.Effect = true, uzda.CodeTimeout, uzda.EffectUnknown
	case r.ended == cancelled:
		res.IsError, res.Code, res.Effect = true, uzda.CodeCancelled, uzda.EffectUnknown
	case r.signal != "":
		res.IsError, res.Code, res.Effect = true, uzda.CodeFailed, uzda.EffectUnknown
	case r.code != 0 && !answered(r.command, r.code):
		res.IsError, res.Code, res.Effect = true, uzda.CodeFailed, uzda.EffectDone
	}
	return res
}

// reading makes text of the output. All of it is read where it lies in a file; a
// command that was cancelled has no time for that.
func (s *Shell) reading(j *job, r *report) (got reading, total int64) {
	most := half
	if r.ended == cancelled {
		most = hastily
	}
	head, tail, gap, total := j.out.parts(most)
	if gap > 0 && r.ended != cancelled {
		if f, size, ok := j.out.whole(); ok {
			defer f.Close() // it was only read
			if got, err := stream(head, io.LimitReader(f, size), size, s.c.Text); err == nil {
				return got, size
			}
		}
	}
	return read(head, tail, gap, total), total
}

// background says what still ran and what became of it.
func (r *report) background() {
	names := strings.Join(lines(r.left), "; ")
	switch {
	case len(r.left) == 0:
	case r.kept != nil:
		r.note("still running in the background: " + names + "; later output goes to the file with the raw output")
	default:
		r.note("ended, since it still ran in the background: " + names)
	}
	if len(r.stuck) > 0 {
		r.note("could not be ended: " + strings.Join(lines(r.stuck), "; "))
	}
}

// last is the line on how the command ended, where that tells something.
func (r *report) last() string {
	var parts []string
	switch {
	case r.ended == timeout && r.turn:
		parts = append(parts, "the time of the turn ran out, and the command was ended; what it did until then stays done")
	case r.ended == timeout:
		parts = append(parts, fmt.Sprintf("timeout: the command was ended after %s; what it did until then stays done. If it needs longer, set timeout", seconds(r.limit)))
	case r.ended == cancelled:
		parts = append(parts, "cancelled: the command was ended; what it did until then stays done")
	case r.signal != "":
		parts = append(parts, "the shell was ended by "+r.signal)
	case r.code != 0:
		parts = append(parts, fmt.Sprintf("exit %d", r.code)+meaning(r.code))
	}
	if r.ended == exited && (len(parts) > 0 && r.took >= time.Second || r.took >= 10*time.Second) {
		parts = append(parts, fmt.Sprintf("%.1f s", r.took.Seconds()))
	}
	if r.dir != "" {
		parts = append(parts, "now in "+r.dir)
	}
	return strings.Join(parts, " · ")
}

// meaning explains the codes that shells give.
func meaning(code int) string {
	switch {
	case code == 126:
		return ": it cannot be executed"
	case code == 127:
		return ": there is no such command"
	case code == 129: // for git it means that it was called wrongly
	case code > 128 && code <= 128+31:
		why := ""
		if code == 128+9 {
			why = ", often for lack of memory"
		}
		return ": a program was ended by " + signalName(code-128) + why
	}
	return ""
}

func signalName(n int) string {
	// The numbers that all systems share.
	if name, ok := map[int]string{1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 8: "SIGFPE", 9: "SIGKILL",
		11: "SIGSEGV", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM"}[n]; ok {
		return name
	}
	return fmt.Sprintf("signal %d", n)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%g s", d.Seconds()) }

// lines names processes, one text each.
func lines(procs []proc) []string {
	var out []string
	const most = 20
	for i, p := range procs {
		if i == most {
			out = append(out, fmt.Sprintf("and %d more", len(procs)-most))
			break
		}
		out = append(out, fmt.Sprintf("pid %d %s", p.pid, uzda.OneLine(p.name, 100)))
	}
	return out
}

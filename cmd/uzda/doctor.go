package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uzda-dev/uzda"
)

// finding is one line of doctor.
type finding struct {
	What string `json:"what"`
	Good bool   `json:"good"`
	Text string `json:"text"`
	Mend string `json:"mend,omitempty"`
}

// findings are what an examination found.
type findings []finding

func (f *findings) good(what, format string, args ...any) {
	*f = append(*f, finding{what, true, fmt.Sprintf(format, args...), ""})
}

func (f *findings) bad(what, text, mend string) { *f = append(*f, finding{what, false, text, mend}) }

// note is good, and could be better.
func (f *findings) note(what, text, mend string) { *f = append(*f, finding{what, true, text, mend}) }

// broken notes what an error of a provider or a command says.
func (f *findings) broken(what string, err error) {
	_, text, hint := trouble(err)
	*f = append(*f, finding{what, false, text, hint})
}

func (a *app) doctorCommand() *cobra.Command {
	rebuild := false
	model := &text{kind: "bool"} // so that it needs no value
	c := &cobra.Command{Use: "doctor", Short: "is everything in order? exits 0 or 13",
		Long: `Doctor looks at the settings, the data folder, the store and every journal in it:
whether each body is the one that was recorded and the chain is whole. --rebuild
makes the indexes of the store again from its journals.

--model asks a model for real, the one that a run would use or the one that is
named: can it be reached, does it take the key, does it answer in pieces, call
tools, hold to a schema; is its window what we believe. That is four short
requests, which count against the budgets.`,
		Example: "  uzda doctor\n  uzda doctor --model\n  uzda doctor --model ollama/qwen3:8b",
		Args: func(_ *cobra.Command, args []string) error {
			if bare := len(model.values) == 1 && model.values[0] == "true"; len(args) > 1 || len(args) == 1 && !bare {
				return usage("doctor takes no arguments; got %q", args)
			}
			return nil
		}}
	c.Flags().BoolVar(&rebuild, "rebuild", false, "make the indexes again from the journals")
	flag := c.Flags().VarPF(model, "model", "", "ask the model for real, or the model `NAME`")
	flag.NoOptDefVal = "true"
	c.RunE = func(c *cobra.Command, args []string) error {
		asks := flag.Changed
		if asks && model.values[0] == "true" { // no name, or one that stands apart
			model.values, flag.Changed = args, len(args) > 0
		}
		found := findings{}
		cfg, err := a.config(c)
		switch {
		case err != nil:
			found.bad("settings", detail(err), "mend what is named")
		case asks:
			found = a.examineModel(c.Context(), cfg)
			if err := interrupted(c.Context()); err != nil {
				return err
			}
		default:
			found.good("settings", "read from %s", plural(len(cfg.Files), "file"))
			a.examine(c, rebuild, &found)
		}
		return a.diagnosed(found)
	}
	var others []string
	for _, name := range runFlags {
		if name != "model" {
			others = append(others, name)
		}
	}
	return flags(c, append([]string{"output-format"}, others...)...)
}

// diagnosed prints findings, and is an error if one of them is bad.
func (a *app) diagnosed(found findings) error {
	good := true
	for _, f := range found {
		good = good && f.Good
	}
	if a.wantsJSON() {
		writeJSON(a.out, map[string]any{"good": good, "findings": found})
	} else {
		for _, f := range found {
			mark := "ok "
			if !f.Good {
				mark = "BAD"
			}
			head := fmt.Sprintf("%s  %-10s ", mark, f.What)
			indent := strings.Repeat(" ", len(head))
			for _, line := range a.wrapped(safeLines(f.Text), 80-len(head)) {
				fmt.Fprintln(a.out, strings.TrimRight(head+line, " "))
				head = indent
			}
			if f.Mend == "" {
				continue
			}
			arrow := "→ "
			for _, line := range a.wrapped(safeLines(f.Mend), 80-len(indent)-2) {
				fmt.Fprintln(a.out, indent+arrow+line)
				arrow = "  "
			}
		}
	}
	if !good {
		return &exit{code: notGood}
	}
	return nil
}

// wrapped breaks text for a terminal into lines of at most width columns, at
// spaces. A longer word stays whole, so that it can be copied.
func (a *app) wrapped(text string, width int) []string {
	if !a.out.tty {
		return strings.Split(text, "\n")
	}
	return wrap(text, width)
}

// wrap breaks text into lines of at most so many columns, between words.
func wrap(text string, width int) []string {
	var out []string
	for line := range strings.Lines(text + "\n") {
		at := ""
		for _, word := range strings.Fields(line) {
			switch {
			case at == "":
				at = word
			case uzda.Columns(at)+1+uzda.Columns(word) > width:
				out, at = append(out, at), word
			default:
				at += " " + word
			}
		}
		out = append(out, at)
	}
	return out
}

// examine looks at the data folder and the store.
func (a *app) examine(c *cobra.Command, rebuild bool, found *findings) {
	w, err := a.open(c)
	if err != nil {
		found.bad("store", detail(err), "free the disk, mend the permissions, or name another place by UZDA_HOME")
		return
	}
	defer w.close()
	probe := filepath.Join(w.cfg.Data, ".doctor")
	if err := os.WriteFile(probe, []byte("uzda"), 0o600); err != nil {
		found.bad("data", err.Error(), "make the folder writable, or name another one by UZDA_HOME")
	} else {
		found.good("data", "%s can be written", w.cfg.Data)
	}
	os.Remove(probe)
	found.good("store", "%s opens", storePath(w.cfg))
	w.examineSize(c.Context(), found)
	if r, ok := w.store.(uzda.Rebuilder); ok && rebuild {
		if n, err := r.Rebuild(c.Context()); err != nil {
			found.bad("rebuild", err.Error(), "restore the store from a backup")
		} else {
			found.good("rebuild", "the indexes of %s were made again", plural(n, "session"))
		}
	}
	if v, ok := w.store.(uzda.Verifier); ok {
		faults := 0
		err := v.Verify(c.Context(), func(id uzda.SessionID, seq uzda.Seq, err error) {
			if faults++; faults <= 10 {
				found.bad("journal", fmt.Sprintf("session %s, event %d: %v", id, seq, err), "")
			}
		})
		switch {
		case err != nil:
			found.bad("journals", err.Error(), "restore the store from a backup")
		case faults > 0:
			found.bad("journals", plural(faults, "fault"), "what they say can still be read; do not trust these sessions, and restore them from a backup")
		default:
			found.good("journals", "every body and every chain is as it was recorded")
		}
	}
	t, err := w.pick(c.Context(), "", "")
	if err == nil {
		_, err = w.build(t)
	}
	if err != nil {
		*found = append(*found, finding{"model", true, "none is set up: " + detail(err), "`uzda demo` needs none"})
		return
	}
	*found = append(*found, finding{"model", true, fmt.Sprintf("%s (%s)", t.ID, t.origin), "`uzda doctor --model` asks it for real"})
}

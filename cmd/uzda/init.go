package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/cmd/uzda/config"
)

func (a *app) initCommand() *cobra.Command {
	force, quiet := false, false
	c := &cobra.Command{Use: "init", Short: "write an uzda.yaml for what is found here, and try the model", Args: none,
		Long: `Init looks for keys in the environment and for local servers. It writes an
uzda.yaml with the model that it found and every other setting as a comment, and
makes one real request to see that the model answers. It asks nothing, and writes
no key into any file.`,
		Example: "  uzda init\n  uzda init --model ollama/qwen3:8b\n  uzda init --dir ~/src/shop --no-request"}
	c.Flags().BoolVar(&force, "force", false, "write over an uzda.yaml that is there")
	c.Flags().BoolVar(&quiet, "no-request", false, "do not ask the model")
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, err := a.config(c)
		if err != nil {
			return err
		}
		w := &work{app: a, cfg: cfg}
		defer w.close()
		if w.prices, err = w.table(); err != nil {
			return err
		}
		return w.init(c.Context(), force, !quiet)
	}
	return flags(c, "output-format", "model", "dir", "trust")
}

// initJSON is what `uzda init --output-format json` prints.
type initJSON struct {
	File    string       `json:"file"`
	Model   string       `json:"model"` // "" if none was found
	Why     string       `json:"why"`
	Request *requestJSON `json:"request"` // null: none was made
	Exit    int          `json:"exit"`
	Error   *errorJSON   `json:"error"`
}

type requestJSON struct {
	Answer   string      `json:"answer"`
	Duration int64       `json:"duration_ms"`
	Usage    usageJSON   `json:"usage"`
	Cost     *uzda.Money `json:"cost_usd"`
}

// init writes the file and tries the model. The file is written whatever the
// model says.
func (w *work) init(ctx context.Context, force, request bool) error {
	path := filepath.Join(w.cfg.Dir, config.FileName)
	if info, err := os.Stat(w.cfg.Dir); err != nil || !info.IsDir() {
		return fail(uzda.ConfigError, "name a folder that there is", "dir (%s): %s is no folder", w.cfg.Origin("dir"), w.cfg.Dir)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) && !force {
		return fail(uzda.ConfigError, "--force writes over it; `uzda config` shows what it says", "init: %s is already there", path)
	}
	t, trouble := w.pick(ctx, "", "")
	values, why := map[string]string{}, ""
	if trouble == nil {
		values["model"], why = cmp.Or(t.named, t.ID), w.whyOf(t)
	}
	if err := writeFile(path, []byte(config.Template(values, t.found)), 0o644); err != nil {
		return fail(uzda.StorageError, "check the folder and its permissions", "init: write %s: %v", path, err)
	}
	out := initJSON{File: path, Model: values["model"], Why: why}
	if !w.json() {
		fmt.Fprintf(w.out, "Wrote %s.\n", path)
		w.aboutGit()
	}
	if trouble == nil && !w.json() {
		fmt.Fprintf(w.out, "Model: %s. %s\n", values["model"], why)
	}
	if trouble == nil && request {
		trouble = w.tryModel(ctx, t, &out)
	}
	return w.ended(out, trouble)
}

// ended reports the end of init: the trouble, or what one does next.
func (w *work) ended(out initJSON, trouble error) error {
	var x *exit
	if trouble != nil && (!errors.As(trouble, &x) || x.outcome == nil) {
		return trouble
	}
	if x != nil {
		out.Exit, out.Error = x.code, &errorJSON{x.outcome.Reason, x.outcome.Detail, x.outcome.Hint}
	}
	switch {
	case w.json():
		writeJSON(w.out, out)
	case x == nil:
		fmt.Fprintf(w.out, "\nNext:\n  uzda run \"Say hello\"          a first task\n  uzda demo                     a whole job, without any model\n  uzda models                   other models; model: in the file names one\n")
		return nil
	}
	if x == nil {
		return nil
	}
	if w.json() {
		fmt.Fprintf(w.err, "uzda: %s: %s\n      %s\n", x.outcome.Reason, safeLines(x.outcome.Detail), safeLines(x.outcome.Hint))
		return &exit{code: x.code}
	}
	return trouble
}

// whyOf says in a sentence why a model was taken.
func (w *work) whyOf(t target) string {
	if t.found != "" {
		return t.found + "."
	}
	return fmt.Sprintf("It was named (%s).", w.cfg.Origin("model"))
}

// tryModel makes one real request.
func (w *work) tryModel(ctx context.Context, t target, out *initJSON) error {
	m, err := w.ready(ctx, t)
	if err != nil {
		return err
	}
	a, err := w.ask(ctx, m, w.say(t, "Say: ready"))
	if err != nil {
		var x *exit
		if errors.As(err, &x) {
			return err
		}
		return readable("the model does not answer", err)
	}
	out.Request = &requestJSON{Answer: a.reply.Message.String(), Duration: a.took.Milliseconds(), Usage: usageOf(a.reply.Stop.Usage)}
	if a.known {
		out.Request.Cost = &a.cost
	}
	if !w.json() {
		fmt.Fprintf(w.out, "It answers: %s  (%s)\n", safe(uzda.OneLine(a.reply.Message.String(), 40)), a.bill())
		for _, warning := range a.warnings {
			fmt.Fprintf(w.err, "uzda: warning: %s\n      %s\n", safeLines(warning.Text), safeLines(warning.Hint))
		}
	}
	return nil
}

// aboutGit says which of the files belong into a repository.
func (w *work) aboutGit() {
	for dir := w.cfg.Dir; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			ignored, err := os.ReadFile(filepath.Join(dir, ".gitignore"))
			if err == nil && strings.Contains(string(ignored), config.LocalName) {
				return
			}
			fmt.Fprintf(w.out, "It holds no secret and can be committed. What is yours alone goes into\n%s beside it; put that name into .gitignore. Keys stay in the environment.\n", config.LocalName)
			return
		}
		if dir == filepath.Dir(dir) {
			return
		}
	}
}

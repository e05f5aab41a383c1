package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/uzda-dev/uzda/bench/internal/crowd"
	"github.com/uzda-dev/uzda/bench/internal/proc"
	"github.com/uzda-dev/uzda/bench/internal/report"
)

// program is `uzda run` as processes, one after the other, on a store that begins
// empty, and now and then on the store in which all sessions of the soak lie.
type program struct {
	name string // of the executable
	dir  string
	full string // the store of the soak
	mark string
}

// times is how long runs took, in milliseconds.
type times struct {
	fresh []float64 // by number of the run
	full  []float64 // each beside the run of fresh with number at
	at    []float64
	files int64 // in the data folder when all was done
	temp  int64 // temporary files that are left
	left  int64 // processes that are left
}

func (p program) data() string { return filepath.Join(p.dir, "home") }
func (p program) temp() string { return filepath.Join(p.dir, "temp") }

// script is what the model says in each run.
const script = `{"turns":[{"text":"I look.","calls":[{"name":"shell","input":{"command":%q}}]},{"text":"All pages are read."}]}`

// run makes n runs, about a tenth of them also on the full store.
func (p program) run(ctx context.Context, n int) (*times, error) {
	for _, dir := range []string{p.data(), p.temp(), filepath.Join(p.dir, "work")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(filepath.Join(p.dir, "script.json"), fmt.Appendf(nil, script, crowd.Leaves), 0o600); err != nil {
		return nil, err
	}
	before := proc.Marked(p.mark)
	t := &times{}
	for i := range n {
		took, err := p.once(ctx, "")
		if err != nil {
			return nil, fmt.Errorf("run %d of %d: %w", i+1, n, err)
		}
		t.fresh = append(t.fresh, took)
		if i%10 != 9 {
			continue
		}
		if took, err = p.once(ctx, p.full); err != nil {
			return nil, fmt.Errorf("a run on the store of the soak: %w", err)
		}
		t.full, t.at = append(t.full, took), append(t.at, float64(i+1))
	}
	t.files, _ = proc.Files(p.data())
	t.temp, _ = proc.Files(p.temp())
	if t.left = proc.Marked(p.mark); t.left != proc.Unknown {
		t.left -= before
	}
	return t, nil
}

// once runs the program on a store; "": on its own.
func (p program) once(ctx context.Context, store string) (ms float64, err error) {
	c := exec.CommandContext(ctx, p.name, "run", "--model", "script:"+filepath.Join(p.dir, "script.json"), "--permission-mode", "bypass", "--dir", filepath.Join(p.dir, "work"), "Read the pages.")
	c.Dir = filepath.Join(p.dir, "work")
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.data(), "UZDA_HOME=" + p.data(), "TMPDIR=" + p.temp(), p.mark}
	if store != "" {
		c.Env = append(c.Env, "UZDA_STORE_PATH="+store)
	}
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	began := time.Now()
	err = c.Run()
	took := time.Since(began)
	if err == nil && strings.TrimSpace(out.String()) != crowd.Answer {
		err = errors.New("it did not answer")
	}
	if err != nil {
		return 0, fmt.Errorf("%w\n%s%s", err, out.Bytes(), errs.Bytes())
	}
	return float64(took) / float64(time.Millisecond), nil
}

// checks are that runs leave nothing, and do not become slower.
func (t *times) checks() []check {
	n := len(t.fresh)
	runs := float64(n + len(t.full))
	ratio := func(what string, a, b []float64) check {
		c := check{what: what, form: "%.2f x", most: 1.25}
		if len(a) == 0 || len(b) == 0 {
			c.lacks = "too few runs"
			return c
		}
		c.value = report.Median(a) / report.Median(b)
		return c
	}
	var beside []float64
	for _, i := range t.at {
		beside = append(beside, t.fresh[int(i)-1])
	}
	left := check{what: "`uzda run`, processes left", form: "%.0f", value: float64(t.left)}
	if t.left == proc.Unknown {
		left.lacks = unknown
	}
	return []check{
		ratio("`uzda run`, the last quarter of the runs against the first", t.fresh[n-n/4:], t.fresh[:n/4]),
		ratio("`uzda run`, the store of the soak against one of few sessions", t.full, beside),
		left,
		{what: "`uzda run`, temporary files left", form: "%.0f", value: float64(t.temp)},
		// Each session has a file of its trace; the store and its locks are a few more.
		{what: "`uzda run`, files in the data folder for each run", form: "%.2f", value: float64(t.files-5) / runs, most: 1},
		{what: "`uzda run`, ms", form: "%.0f", value: report.Median(t.fresh), told: true},
	}
}

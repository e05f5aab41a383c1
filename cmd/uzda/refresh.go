package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/cmd/uzda/config"
	"github.com/uzda-dev/uzda/cost"
)

// refreshed is the file of what providers said of their models.
func refreshed(cfg *config.Config) string { return filepath.Join(cfg.Data, "models.json") }

// table is the built-in table of models, under what providers said, under the
// user's own file. What providers said can be asked for again, so that a damaged
// file of it stops nothing.
func (w *work) table() (*cost.Table, error) {
	t := cost.Default()
	path := refreshed(w.cfg)
	if raw, err := os.ReadFile(path); err == nil {
		over, err := t.Override(path, raw)
		if err != nil {
			fmt.Fprintf(w.err, "uzda: warning: what providers said of their models is not used: %v\n      `uzda models --refresh` asks them again\n", err)
		} else {
			t = over
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintln(w.err, "uzda: warning: what providers said of their models is not used:", err)
	}
	if w.cfg.Prices == "" {
		return t, nil
	}
	raw, err := os.ReadFile(w.cfg.Prices)
	if err == nil {
		if t, err = t.Override(w.cfg.Prices, raw); err == nil {
			return t, nil
		}
	}
	return nil, fail(uzda.ConfigError, "mend the file, or leave it out: the built-in prices are enough", "prices (%s): %v", w.cfg.Origin("prices"), err)
}

// unlisted are services without a list of their models.
var unlisted = []string{"azure", "perplexity"}

// refreshTime is how long a provider may take to list its models.
const refreshTime = time.Minute

// refresh asks providers for their models, one or all whose keys are set, and
// keeps what they say.
func (w *work) refresh(ctx context.Context, only string) error {
	var asked []string
	for _, p := range w.prices.Providers() {
		able := slices.Contains(config.Services(), p.ID) && !p.Free && !slices.Contains(unlisted, p.ID)
		why := "its models are asked for each time that they are listed"
		if able {
			why = w.unset(profileOf(p.ID))
		} else if !p.Free {
			why = "it has no list that can be asked for"
		}
		switch {
		case only == p.ID && why != "":
			return fail(uzda.ConfigError, "name another provider, or none for all whose keys are set", "models: %s cannot be asked: %s", p.Name, why)
		case only == p.ID || only == "" && why == "":
			asked = append(asked, p.ID)
		}
	}
	if len(asked) == 0 {
		return fail(uzda.ConfigError, "set a key, such as ANTHROPIC_API_KEY, or name a provider", "models: no provider can be asked, since no key is set")
	}
	var first error
	for _, id := range asked {
		if err := w.refreshOne(ctx, w.prices.Provider(id)); err != nil {
			if first == nil {
				first = err
			} else {
				fmt.Fprintln(w.err, "uzda: warning:", safeLines(detail(err)))
			}
		}
	}
	if t, err := w.table(); err == nil {
		w.prices = t
	}
	return first
}

func (w *work) refreshOne(ctx context.Context, p *cost.Provider) error {
	short, cancel := context.WithTimeout(ctx, refreshTime)
	defer cancel()
	a, err := w.usual(p.ID)
	if err != nil {
		return err
	}
	models, from, err := w.listing(short, a)
	if err != nil {
		if stopped := interrupted(ctx); stopped != nil {
			return stopped
		}
		if short.Err() != nil {
			err = fmt.Errorf("no list came within %s", refreshTime)
		}
		return readable("models: ask "+p.Name, err)
	}
	path := refreshed(w.cfg)
	old, err := os.ReadFile(path)
	if err != nil {
		old = nil
	}
	src := cost.Source{Provider: p.ID, At: w.now().UTC().Format(time.RFC3339), From: shownURL(from)}
	raw, err := cost.Replace(old, src, models)
	if err != nil { // the old file is damaged
		raw, err = cost.Replace(nil, src, models)
	}
	if err == nil {
		err = writeFile(path, raw, 0o600)
	}
	if err != nil {
		return fail(uzda.StorageError, "the data folder is set by UZDA_HOME or XDG_DATA_HOME", "models: keep what %s said: %v", p.Name, err)
	}
	fmt.Fprintf(w.err, "uzda: %s lists %s (%s)\n", p.Name, plural(len(models), "model"), src.From)
	return nil
}

// writeFile writes a file whole or not at all, and makes its folder.
func writeFile(path string, data []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // it is gone once it has its name
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

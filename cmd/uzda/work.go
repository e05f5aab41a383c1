package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/answer"
	"github.com/uzda-dev/uzda/cmd/uzda/config"
	"github.com/uzda-dev/uzda/cost"
	"github.com/uzda-dev/uzda/guide"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/policy"
	"github.com/uzda-dev/uzda/session"
	"github.com/uzda-dev/uzda/sqlite"
	"github.com/uzda-dev/uzda/tool/shell"
)

// work is what a command works with: settings and the store.
type work struct {
	*app
	cfg     *config.Config
	store   uzda.Store
	prices  *cost.Table
	clients map[string]*http.Client // by file of certificates
	tap     *tap                    // notes how replies come; nil: nobody wants to know
	purse   string                  // account of the requests that belong to no session
	form    *answer.Form            // what the answer must fit, if it must
	// agentFile is where the agent of the session comes from, if from a file.
	agentFile string
	uses      target          // what the session's model is
	summarist string          // where the model for summaries was named, if not in the settings
	goesOn    bool            // with what the session was at, rather than with a new task
	hooks     *hooks          // nil: there are none
	guides    *guide.Nested   // instructions of folders; nil: the agent reads none
	guided    string          // those in the system prompt
	told      map[string]bool // what people were told once
	dirOf     string          // the folder of the session; "": it has none yet
	hands     *hands          // tools for folders
	checks    *shell.Shell    // of the command that verifies; nil: there is none
	closes    []func() error
}

// open reads the settings and opens the store.
func (a *app) open(c *cobra.Command) (*work, error) {
	cfg, err := a.config(c)
	if err != nil {
		return nil, err
	}
	w := &work{app: a, cfg: cfg}
	if err := w.openStore(); err != nil {
		return nil, err
	}
	if w.prices, err = w.table(); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// storePath is where sessions are kept.
func storePath(cfg *config.Config) string {
	if cfg.Store.Path != "" {
		return cfg.Store.Path
	}
	if cfg.Store.Kind == "files" {
		return filepath.Join(cfg.Data, "sessions")
	}
	return filepath.Join(cfg.Data, "sessions.uzda")
}

// data is the folder of what is kept for sessions beside the store. Each store but
// the default one has its own: two stores may have sessions of one id.
func (w *work) data() string {
	path := unlinked(storePath(w.cfg))
	if path == unlinked(filepath.Join(w.cfg.Data, "sessions.uzda")) {
		return w.cfg.Data
	}
	return filepath.Join(w.cfg.Data, "stores", uzda.Hash([]byte(path))[:16])
}

// unlinked is a path without links in it, as far as it is there.
func unlinked(path string) string {
	if found, err := filepath.EvalSymlinks(path); err == nil {
		return found
	}
	if found, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(found, filepath.Base(path))
	}
	return path
}

func (w *work) openStore() error {
	path := storePath(w.cfg)
	wrong := func(err error) error {
		return fail(uzda.StorageError, "the store is set by store.path ("+w.cfg.Origin("store.path")+"), UZDA_STORE_PATH or UZDA_HOME", "%v", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return wrong(fmt.Errorf("make the folder of the store: %w", err))
	}
	warn := func(s string) { fmt.Fprintln(w.err, "uzda: warning:", s) }
	if w.cfg.Store.Kind == "files" {
		j, err := journal.OpenFiles(path, journal.FilesOptions{Durability: w.cfg.Durability, Warn: warn})
		if err != nil {
			return wrong(err)
		}
		w.store = j
	} else {
		db, err := sqlite.OpenWith(path, sqlite.Options{Durability: w.cfg.Durability, Warn: warn})
		if err != nil {
			return wrong(err)
		}
		w.store = db
	}
	w.closes = append(w.closes, func() error { return uzda.CloseStore(w.store) })
	return nil
}

func (w *work) close() {
	for _, c := range slices.Backward(w.closes) {
		if err := c(); err != nil {
			fmt.Fprintln(w.err, "uzda: warning: on closing:", err)
		}
	}
	w.closes = nil
}

// json says whether a machine reads standard output.
func (w *work) json() bool { return w.cfg.OutputFormat != "text" }

// host is a door to the sessions of this store, with agents to run or without.
func (w *work) host(agents map[string]agent.Agent) *session.Host {
	h := session.New(session.Config{Store: w.store, Agents: agents, Prices: w.prices, Redact: w.secrets(), Manual: true,
		Holder: holder(), Program: "github.com/uzda-dev/uzda " + this().Version, Now: w.now})
	w.closes = append(w.closes, h.Close)
	return h
}

// failed ends a command because of what a store or a host says.
func failed(id uzda.SessionID, err error) error {
	o := session.Failure(id, err)
	return &exit{o.Reason.Exit(), o}
}

func holder() string {
	name, err := os.Hostname()
	if err != nil {
		name = "this machine"
	}
	return fmt.Sprintf("uzda, process %d on %s", os.Getpid(), name)
}

// secrets hides the values of keys in the environment from models and journals,
// also of those that only the settings name.
func (w *work) secrets() uzda.Redactor {
	var named []string
	for _, m := range w.cfg.Models {
		named = append(named, m.Key)
		for header, value := range m.Headers {
			if v, ok := variableOf(value); ok && secretHeader().MatchString(header) {
				named = append(named, v)
			}
		}
	}
	return policy.FromEnv(w.env, named...)
}

// goes loads a session that is to go on, and refuses one that must not: an event
// of a newer program, or one that is not what was recorded.
func (w *work) goes(ctx context.Context, name string) (uzda.SessionID, *agent.State, error) {
	id, s, err := w.load(ctx, name)
	if err != nil {
		return "", nil, err
	}
	return id, s, w.sound(ctx, id, s)
}

// sound says what keeps a session from going on.
func (w *work) sound(ctx context.Context, id uzda.SessionID, s *agent.State) error {
	if s.ReadOnly != "" {
		return fail(uzda.ConfigError, "it can be read here: `uzda show "+string(id)+"`; to go on, use a newer version of uzda", "session %s: %s", id, s.ReadOnly)
	}
	const recent = 1000 // doctor looks at all
	bad, err := damaged(ctx, w.store, id, max(0, s.Head-recent))
	if err != nil {
		return fail(uzda.StorageError, "`uzda doctor` looks at the store", "%v", err)
	}
	if len(bad) > 0 {
		return fail(uzda.StorageError, "restore the store from a backup, or begin a session anew; `uzda doctor` looks at all sessions",
			"event %d of session %s is not the one that was recorded: the session does not go on", bad[0], id)
	}
	return nil
}

// damaged finds events whose body is not the one that was recorded, by making
// its stored form again.
func damaged(ctx context.Context, j uzda.Journal, id uzda.SessionID, after uzda.Seq) ([]uzda.Seq, error) {
	var bad []uzda.Seq
	for e, err := range j.Read(ctx, id, after) {
		if err != nil {
			return nil, err
		}
		again := e
		if uzda.Kinds()[e.Body.Kind()] != 1 { // one that was brought up has no such form
			continue
		}
		switch e.Body.(type) {
		case uzda.Unread, uzda.Erased:
			continue
		}
		if _, err := uzda.Seal(&again, func(data []byte) (string, error) { return uzda.Hash(data), nil }); err != nil || again.Sum != e.Sum {
			bad = append(bad, e.Seq)
		}
	}
	return bad, nil
}

// readFile reads a file that a person named.
func readFile(path, what string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fail(uzda.ConfigError, "check the path", "%s: there is no file %s", what, path)
	}
	if err != nil {
		return nil, fail(uzda.ConfigError, "check the path and its permissions", "%s: %v", what, err)
	}
	return data, nil
}

// Package file is the tools by which a model reads, searches and changes files.
package file

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/schema"
)

// Config says which files may be used and where the state lies.
type Config struct {
	Roots    []string // folders that may be used; default: the session's directory alone
	ReadOnly []string // more folders that may only be read
	// ReadOnlyOf names more folders that only this session may read, such as what its
	// own commands printed.
	ReadOnlyOf func(uzda.SessionID) []string
	// State is the folder for what the tools remember, one subfolder a session:
	// which versions were seen, and the old bytes of what was changed. Required.
	State string
	// Hide says that a path (absolute, links resolved) must not be seen: it is
	// neither read nor changed nor listed. Whatever lies in a hidden folder is
	// hidden too. It must be quick and safe for concurrent use.
	Hide func(path string) bool
	// Skip says that a path is left out of searches by glob and grep, as one that a
	// person is asked about before it is read. As quick and safe as Hide.
	Skip func(path string) bool
	// Protect says that a path may be read but not changed, such as the settings
	// that decide what tools may do.
	Protect  func(path string) bool
	MaxEdit  int64 // largest file that is edited or searched as a whole, in bytes; default 128 MiB
	MaxMedia int64 // largest picture that is shown to the model, in bytes; default 2 MiB
	Keep     int64 // old bytes kept for undo, in bytes a session; default 1 GiB. The newest copy is always kept
	Now      func() time.Time
}

// Limits of what one result holds.
const (
	maxLines   = 2000     // of read_file
	maxBytes   = 30 << 10 // of read_file
	maxLine    = 2000     // bytes of one line of read_file
	maxEntries = 500      // of a folder that is listed
	maxTree    = 10000    // entries of a folder that is deleted
)

// Files are the tools and what they remember. It is safe for concurrent use;
// changes are made one at a time.
type Files struct {
	cfg      Config
	changing chan struct{} // holds a token while something is changed
	mu       sync.Mutex
	sessions map[uzda.SessionID]*memory
	state    func() string // the folder for the state, without links
}

// New returns the tools. It touches no file.
func New(cfg Config) (*Files, error) {
	if cfg.State == "" {
		return nil, errors.New("file tools need a folder for their state")
	}
	if cfg.MaxEdit <= 0 {
		cfg.MaxEdit = 128 << 20
	}
	if cfg.MaxMedia <= 0 {
		cfg.MaxMedia = 2 << 20
	}
	if cfg.Keep <= 0 {
		cfg.Keep = 1 << 30
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	var err error
	if cfg.State, err = filepath.Abs(cfg.State); err != nil {
		return nil, fmt.Errorf("find the folder for the state of file tools: %w", err)
	}
	f := &Files{cfg: cfg, changing: make(chan struct{}, 1), sessions: map[uzda.SessionID]*memory{}}
	f.state = sync.OnceValue(func() string {
		if own, err := filepath.EvalSymlinks(cfg.State); err == nil {
			return own
		}
		return cfg.State
	})
	return f, nil
}

// Tools returns read_file, glob and grep, which only look, and write_file,
// edit_file and delete_file, which can be undone.
func (f *Files) Tools() []uzda.Tool {
	return []uzda.Tool{f.readTool(), f.globTool(), f.grepTool(), f.writeTool(), f.editTool(), f.deleteTool()}
}

// lock waits until nothing else is being changed.
func (f *Files) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case f.changing <- struct{}{}:
		return func() { <-f.changing }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A looker is a tool that changes nothing.
type looker struct {
	spec func() uzda.ToolSpec
	in   func() *schema.Schema
	call func(context.Context, uzda.Use) (uzda.Result, error)
}

func (t *looker) Spec() uzda.ToolSpec                                { return t.spec() }
func (t *looker) Check(raw json.RawMessage) (json.RawMessage, error) { return t.in().Coerce(raw) }

func (t *looker) Call(ctx context.Context, use uzda.Use) (uzda.Result, error) {
	if err := ctx.Err(); err != nil {
		return uzda.Result{}, err
	}
	res, err := t.call(ctx, use)
	if ended := ctx.Err(); ended != nil && err != nil {
		return uzda.Result{}, ended
	}
	if err != nil {
		return failure(err), nil
	}
	return res, nil
}

// A changer is a tool that changes a file. What it begins is recorded by the
// use's key, so that a use that was lost in a crash simply runs again.
type changer struct {
	looker
	files *Files
	plan  func(context.Context, uzda.Use, *memory) (*change, error)
}

var (
	_ uzda.Tool      = (*changer)(nil)
	_ uzda.Checker   = (*changer)(nil)
	_ uzda.Previewer = (*changer)(nil)
	_ uzda.Prober    = (*changer)(nil)
	_ uzda.Checker   = (*looker)(nil)
)

// Resumes says that a lost use runs again whatever its effects.
func (t *changer) Resumes() {}

// Probe says whether the change of a use took effect.
func (t *changer) Probe(ctx context.Context, key string) (bool, error) {
	return t.files.probe(ctx, key)
}

// Preview returns the unified diff of the change and the version of the file that
// it is made to.
func (t *changer) Preview(ctx context.Context, use uzda.Use) (text, preconditions string, err error) {
	unlock, err := t.files.lock(ctx)
	if err != nil {
		return "", "", err
	}
	defer unlock()
	m, err := t.files.memory(use.Session)
	if err != nil {
		return "", "", err
	}
	c, err := t.plan(ctx, use, m)
	if err != nil {
		return "", "", err
	}
	defer c.close()
	return c.preview(), strings.Join([]string{c.at.abs, c.before.version, c.after, c.told}, "\n"), nil
}

func (t *changer) run(ctx context.Context, use uzda.Use) (uzda.Result, error) {
	unlock, err := t.files.lock(ctx)
	if err != nil {
		return uzda.Result{}, err
	}
	defer unlock()
	m, err := t.files.memory(use.Session)
	if err != nil {
		return uzda.Result{}, err
	}
	if res, done, err := t.files.again(ctx, use, m); done || err != nil {
		return res, err
	}
	c, err := t.plan(ctx, use, m)
	if err != nil {
		return uzda.Result{}, err
	}
	defer c.close()
	return t.files.apply(ctx, use, m, c)
}

// lazily compiles a schema at its first use, since most runs of the program need none.
func lazily(raw string) func() *schema.Schema {
	return sync.OnceValue(func() *schema.Schema { return schema.MustCompile(json.RawMessage(raw)) })
}

// decode reads an input that Check may not have seen.
func decode(use uzda.Use, into any) error {
	if err := json.Unmarshal(use.Input, into); err != nil {
		return &fault{code: uzda.CodeInvalidInput, text: "the input cannot be read: " + err.Error()}
	}
	return nil
}

// A fault is something that the model can react to.
type fault struct {
	code   uzda.Code
	text   string
	effect uzda.Effect
}

func (e *fault) Error() string { return e.text }

func refuse(format string, args ...any) error {
	return &fault{text: fmt.Sprintf(format, args...)}
}

func failure(err error) uzda.Result {
	res := uzda.Result{Blocks: uzda.Say(clean(err.Error())), IsError: true, Code: uzda.CodeFailed, Effect: uzda.EffectNone}
	var ft *fault
	if errors.As(err, &ft) {
		if ft.code != "" {
			res.Code = ft.code
		}
		if ft.effect != "" {
			res.Effect = ft.effect
		}
	}
	return res
}

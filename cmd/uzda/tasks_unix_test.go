//go:build unix

package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/uzda-dev/uzda/cmd/uzda/shop"
	"github.com/uzda-dev/uzda/model/modeltest"
)

// A task is work for an embedded agent: what it starts from, what the model says,
// and what must come of it. docs/agents.md says how one is written.
type task struct {
	Agent string            `yaml:"agent"`
	Words string            `yaml:"words"` // of the first run
	Flags []string          `yaml:"flags"` // of every run and resume
	Env   map[string]string `yaml:"env"`
	Shop  bool              `yaml:"shop"`  // the demo's database is queried
	Wire  bool              `yaml:"wire"`  // a strict fake provider says the turns
	Bytes map[string]string `yaml:"bytes"` // files whose bytes a section could not hold
	Story []taskStage       `yaml:"story"`
	Want  want              `yaml:"want"`

	files map[string]string // what the folder holds, and what it must hold
	turns []byte
	page  string // that a server serves, $PAGE
	sql   string // what the database holds besides
}

// A taskStage is one command that is typed, or something that somebody else does
// meanwhile, and how things are after it. All files that it does not name are as
// they were.
type taskStage struct {
	Uzda   string             `yaml:"uzda"` // "run" and "resume" get the flags of the task
	Words  string             `yaml:"words"`
	Write  map[string]string  `yaml:"write"` // by somebody else
	Exit   int                `yaml:"exit"`
	Reason string             `yaml:"reason"`
	Answer string             `yaml:"answer"` // /regular expression/, or exactly this
	Files  map[string]*string `yaml:"files"`  // that are new or other now; null: gone
	Out    []string           `yaml:"out"`    // regular expressions: what was printed
}

// A want is what the journal, and with a wire the provider, must tell at the end.
type want struct {
	// Calls are all of the session: NAME VERDICT RESULT, and after ~ a regular
	// expression for what the model read.
	Calls   []string       `yaml:"calls"`
	Asks    int            `yaml:"asks"`   // of the model; default all turns, -1: none
	Tokens  int            `yaml:"tokens"` // at most, in all requests and replies
	Cost    float64        `yaml:"cost"`   // dollars, at most
	Events  map[string]int `yaml:"events"` // how many there are of a kind
	Tails   []string       `yaml:"tails"`  // of the requests that had one
	System  []string       `yaml:"system"` // regular expressions: what stands after the agent's text
	Request map[int]string `yaml:"request"`
	Notes   string         `yaml:"notes"`  // /regular expression/: the notes at the end
	Labels  string         `yaml:"labels"` // kinds of labels on results
}

func readTask(t *testing.T, path string) task {
	t.Helper()
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(bytes.TrimSpace(a.Comment)) < 40 {
		t.Errorf("%s does not say what it guards", path)
	}
	k := task{Agent: "default", files: map[string]string{}}
	for _, f := range a.Files {
		name, inside := strings.CutPrefix(f.Name, "files/")
		switch {
		case inside:
			k.files[name] = string(f.Data)
		case name == "task.yaml":
			if err := yaml.UnmarshalWithOptions(f.Data, &k, yaml.Strict()); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
		case name == "turns.yaml":
			k.turns = f.Data
		case name == "page.html":
			k.page = string(f.Data)
		case name == "db.sql":
			k.sql = string(f.Data)
		default:
			t.Fatalf("%s: there is no use for %s", path, name)
		}
	}
	maps.Copy(k.files, k.Bytes)
	if len(k.Story) == 0 {
		t.Fatalf("%s has no story", path)
	}
	return k
}

// The embedded agents keep what they promise: their texts, tools and limits, the
// loop and the rules, on real files and databases, with models that are scripted.
func TestTasks(t *testing.T) { // case:S06 G4 P4
	t.Parallel()
	paths, err := filepath.Glob(filepath.Join("testdata", "tasks", "*.txtar"))
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d tasks, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			readTask(t, path).play(t)
		})
	}
}

// session is what tasks call the one that they work in.
const taskSession = "task"

// A play is a task that is tried: the program, its folder, and what must stand there.
type play struct {
	task
	*program
	dir    string            // that the agent works on
	holds  map[string]string // what its files must be
	db     string
	dbWas  string
	model  string
	server *modeltest.Server
	turns  int
	names  *strings.Replacer // what stands for places that differ each time
}

func (k task) play(t *testing.T) {
	t.Helper()
	p := &play{task: k, program: newProgram(t), holds: maps.Clone(k.files)}
	p.dir = filepath.Join(p.program.dir, "work")
	if _, ok := k.files["go.mod"]; ok {
		p.envs = append(p.envs, goCaches(t)...)
	}
	for name, value := range k.Env {
		p.envs = append(p.envs, name+"="+value)
	}
	names := []string{"$WORK", p.dir, "$HOME", p.program.dir}
	if k.page != "" {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(k.page)) }))
		t.Cleanup(s.Close)
		names = append(names, "$PAGE", s.URL)
	}
	p.names = strings.NewReplacer(names...)
	p.lay(t)
	p.fill(t)
	p.speak(t)
	for i, s := range k.Story {
		p.stage(t, i, s)
	}
	p.check(t)
}

// lay writes the files.
func (p *play) lay(t *testing.T) {
	t.Helper()
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range p.holds {
		p.write(t, name, text)
	}
}

func (p *play) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(p.dir, name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// fill makes the database, and remembers its bytes.
func (p *play) fill(t *testing.T) {
	t.Helper()
	if !p.Shop && p.sql == "" {
		return
	}
	p.db = filepath.Join(p.program.dir, "shop.db")
	if p.Shop {
		if err := shop.Build(t.Context(), p.db); err != nil {
			t.Fatal(err)
		}
		p.file("shop.schema.md", shop.Schema)
	}
	if p.sql != "" {
		db, err := sql.Open("sqlite", p.db)
		if err == nil {
			_, err = db.ExecContext(t.Context(), p.sql)
			db.Close() // its bytes are read below
		}
		if err != nil {
			t.Fatalf("db.sql: %v", err)
		}
	}
	p.dbWas = readText(t, p.db)
}

// speak sets up the model.
func (p *play) speak(t *testing.T) {
	t.Helper()
	var script struct {
		Turns []struct {
			Text  string
			Stop  string
			Calls []struct {
				Name  string
				Input any
			}
		}
	}
	text := p.names.Replace(string(p.task.turns))
	if err := yaml.Unmarshal([]byte(text), &script); err != nil {
		t.Fatalf("turns.yaml: %v", err)
	}
	p.turns = len(script.Turns)
	if !p.Wire {
		p.model = "script:" + p.file("turns.yaml", text)
		return
	}
	var turns []modeltest.Turn
	for _, s := range script.Turns {
		turn := modeltest.Turn{Text: s.Text, Stop: s.Stop}
		for _, c := range s.Calls {
			input, err := json.Marshal(c.Input)
			if err != nil {
				t.Fatal(err)
			}
			turn.Calls = append(turn.Calls, modeltest.Call{Name: c.Name, Input: string(input)})
		}
		turns = append(turns, turn)
	}
	p.server = modeltest.Serve(t, modeltest.Config{Turns: turns})
	p.model = "anthropic/claude-opus-5-5"
	p.envs = append(p.envs, "ANTHROPIC_BASE_URL="+p.server.URL, "ANTHROPIC_API_KEY=key-of-the-task")
}

// flags are those of a run or a resume.
func (p *play) flags() []string {
	out := []string{"--model", p.model, "--dir", p.dir, "--output-format", "json"}
	if p.db != "" && !slices.Contains(p.Flags, "--db") {
		out = append(out, "--db", p.db)
	}
	for _, f := range p.Flags {
		out = append(out, p.names.Replace(f))
	}
	return out
}

func (p *play) stage(t *testing.T, n int, s taskStage) {
	t.Helper()
	for name, text := range s.Write {
		p.write(t, name, text)
		p.holds[name] = text
	}
	if s.Uzda == "" {
		return
	}
	args := strings.Fields(s.Uzda)
	switch args[0] {
	case "run":
		args = append([]string{"run", "--session", taskSession}, p.flags()...)
		if p.Agent != "data" && p.Agent != "default" { // these two are found without being named
			args = append(args, "--agent", p.Agent)
		}
		words := s.Words
		if words == "" {
			words = p.Words
		}
		args = append(args, p.names.Replace(words))
	case "resume":
		args = append(append([]string{"resume", taskSession}, p.flags()...), args[1:]...)
		if s.Words != "" {
			args = append(args, s.Words)
		}
	}
	c := p.command(args...)
	var out, errs bytes.Buffer
	c.Dir, c.Stdout, c.Stderr = p.dir, &out, &errs
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	c.Wait() //nolint:errcheck // the code is looked at
	what := func() string {
		return strings.Join([]string{"stage", string(rune('1' + n)), s.Uzda, "\n", out.String(), errs.String()}, " ")
	}
	if code := c.ProcessState.ExitCode(); code != s.Exit {
		t.Fatalf("exit %d, want %d: %s", code, s.Exit, what())
	}
	var r result
	if args[0] == "run" || args[0] == "resume" {
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatalf("no single object: %v: %s", err, what())
		}
		if string(r.Reason) != s.Reason {
			t.Errorf("reason %q, want %q: %s", r.Reason, s.Reason, what())
		}
		if !fits(s.Answer, r.Answer) {
			t.Errorf("the answer is %q, want %q", r.Answer, s.Answer)
		}
	}
	for _, re := range s.Out {
		if !fits("/"+re+"/", out.String()+errs.String()) {
			t.Errorf("nothing that fits %q was printed: %s", re, what())
		}
	}
	p.look(t, s, what)
}

// look holds the folder and the database against what they must be.
func (p *play) look(t *testing.T, s taskStage, what func() string) {
	t.Helper()
	for name, text := range s.Files {
		if text == nil {
			delete(p.holds, name)
		} else {
			p.holds[name] = *text
		}
	}
	now := map[string]string{}
	err := filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(p.dir, path)
		if err == nil {
			now[filepath.ToSlash(name)] = readText(t, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(now))
	for _, name := range names {
		if was, ok := p.holds[name]; !ok || was != now[name] {
			t.Errorf("%s is\n%q, want\n%q (there: %v): %s", name, now[name], was, ok, what())
		}
	}
	for name := range p.holds {
		if _, ok := now[name]; !ok {
			t.Errorf("%s is gone: %s", name, what())
		}
	}
	if p.db != "" && readText(t, p.db) != p.dbWas {
		t.Errorf("the bytes of the database are not what they were: %s", what())
	}
	for _, side := range []string{"-journal", "-wal", "-shm"} {
		if _, err := os.Stat(p.db + side); p.db != "" && err == nil {
			t.Errorf("%s lies beside the database: %s", side, what())
		}
	}
}

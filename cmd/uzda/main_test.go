package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/model/script"
	"github.com/uzda-dev/uzda/session"
	"github.com/uzda-dev/uzda/sqlite"
)

func TestMain(m *testing.M) {
	testscript.Main(leavesNothing{m}, map[string]func(){"uzda": main, "dies": dies})
}

// leavesNothing takes away what the tests have built.
type leavesNothing struct{ *testing.M }

func (m leavesNothing) Run() int {
	code := m.M.Run()
	if built != "" {
		os.RemoveAll(built)
	}
	return code
}

// built is the folder of the program that tests start as a process.
var built string

// mutating stands for a tool that changes the world, and whose program dies
// before anybody hears what came of it.
type mutating struct{}

func (mutating) Spec() uzda.ToolSpec {
	return uzda.ToolSpec{Name: "notes", Input: json.RawMessage(`{"type":"object"}`), Unchecked: true}
}

func (mutating) Call(context.Context, uzda.Use) (uzda.Result, error) {
	os.Exit(9)
	return uzda.Result{}, nil
}

// dies runs the session s of the agent default until its first call ends the program.
func dies() {
	store, err := sqlite.Open(filepath.Join(os.Getenv("UZDA_HOME"), "sessions.uzda"))
	if err != nil {
		panic(err)
	}
	model, err := script.Load("turns.json")
	if err != nil {
		panic(err)
	}
	h := session.New(session.Config{Store: store, Manual: true, Agents: map[string]agent.Agent{"default": {Model: model, Tools: []uzda.Tool{mutating{}}}}})
	ctx := context.Background()
	if _, err := h.Open(ctx, uzda.Opening{ID: "s", Agent: "default", Dir: "."}); err != nil {
		panic(err)
	}
	_, err = h.Say(ctx, "s", "go")
	panic(err)
}

// Each script is a story in which the real program is typed in a shell of its
// own; the prose on top says which fault it guards.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			e.Setenv("HOME", home)
			e.Setenv("UZDA_HOME", filepath.Join(home, "uzda"))
			e.Setenv("NO_COLOR", "1")
			for _, kv := range nobody() {
				name, value, _ := strings.Cut(kv, "=")
				e.Setenv(name, value)
			}
			return os.MkdirAll(filepath.Join(home, "uzda"), 0o755)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits, "result": resultHas, "save": save, "serve": serve, "asked": asked, "sent": sent, "envsubst": envsubst, "longtext": longText, "ledger": ledger,
		},
	})
}

// exits CODE uzda ARGS...: the program ends with exactly this code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE command...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

// result PATH VALUE...: standard output is exactly one JSON object, with these
// values. A path has dots; a value is JSON, or a text.
func resultHas(ts *testscript.TestScript, neg bool, args []string) {
	out := ts.ReadFile("stdout")
	d := json.NewDecoder(strings.NewReader(out))
	var doc any
	if err := d.Decode(&doc); err != nil {
		ts.Fatalf("standard output is no JSON: %v\n%s", err, out)
	}
	if rest := strings.TrimSpace(out[d.InputOffset():]); rest != "" {
		ts.Fatalf("standard output holds more than one value: %s", rest)
	}
	for i := 0; i+1 < len(args); i += 2 {
		got, _ := json.Marshal(lookUp(doc, args[i]))
		want := args[i+1]
		if !json.Valid([]byte(want)) {
			raw, _ := json.Marshal(want)
			want = string(raw)
		}
		if (string(got) == want) == neg {
			ts.Fatalf("%s is %s, want %s (negated: %v)\n%s", args[i], got, want, neg, out)
		}
	}
}

// save NAME PATH: puts a value of the JSON on standard output into a variable.
func save(ts *testscript.TestScript, _ bool, args []string) {
	var doc any
	if err := json.Unmarshal([]byte(ts.ReadFile("stdout")), &doc); err != nil {
		ts.Fatalf("standard output is no JSON: %v", err)
	}
	v := lookUp(doc, args[1])
	if v == nil {
		ts.Fatalf("there is no %s", args[1])
	}
	ts.Setenv(args[0], fmt.Sprint(v))
}

func lookUp(v any, path string) any {
	for _, key := range strings.Split(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[key]
		case []any:
			if key == "len" {
				return len(at)
			}
			i := slices.Index([]string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}, key)
			if i < 0 || i >= len(at) {
				return nil
			}
			v = at[i]
		default:
			return nil
		}
	}
	return v
}

package command_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/policy/command"
)

// A vector is a command of shared/bench/shell_safety with what a harness should
// do under the rules in force.
type vector struct {
	Context string   `json:"context"`
	Expect  string   `json:"expect"`
	Command string   `json:"command"`
	Argv    []string `json:"argv"`
	Why     string   `json:"why"`
}

func (v vector) String() string {
	if v.Command != "" {
		return v.Command
	}
	return strings.Join(v.Argv, " ")
}

func (v vector) read(o command.Options) command.Report {
	if v.Command != "" {
		return command.Read(v.Command, o)
	}
	return command.ReadArgs(v.Argv, o)
}

// prefixes are the allow rules of a context, as the words that they spell.
func prefixes(context string) []string {
	if _, rest, ok := strings.Cut(context, "allow: "); ok {
		var out []string
		for p := range strings.SplitSeq(rest, " / ") {
			out = append(out, strings.TrimRight(p, " *"))
		}
		return out
	}
	var out []string
	for i, p := range strings.Split(context, `"`) {
		if i%2 == 1 {
			out = append(out, p)
		}
	}
	return out
}

// covers says whether a rule that allows a prefix allows the part.
func covers(prefix string, p command.Part) bool {
	if p.Line != prefix && !strings.HasPrefix(p.Line, prefix+" ") {
		return false
	}
	return p.Line == prefix || p.Spell != command.All && len(strings.Fields(prefix)) >= p.Spell
}

// stops says why a gate that takes the report at its word would not let the
// command run by itself; empty: it would. The codex vectors have a list of
// harmless commands in force, those of gemini-cli only their rules.
func stops(r command.Report, v vector, dir string) string {
	if len(r.Unsure) > 0 {
		return "unsure: " + strings.Join(r.Unsure, "; ")
	}
	list := !strings.HasPrefix(v.Context, "allow rule")
	for _, p := range r.Parts {
		covered := false
		for _, rule := range prefixes(v.Context) {
			covered = covered || covers(rule, p)
		}
		deny, denied := strings.CutPrefix(v.Context, "deny: ")
		switch {
		case denied && strings.HasPrefix(p.Line, strings.TrimRight(deny, "*")):
			return "denied: " + p.Line
		case len(p.Writes) > 0:
			return "writes " + p.Writes[0].Text
		case !covered && (p.Level != command.Harmless || !list) && !p.Wraps:
			return p.Line + ": " + p.Why
		}
		for _, f := range p.Reads {
			if f.Abs == "" || !strings.HasPrefix(f.Abs, dir) {
				return "reads " + f.Text
			}
		}
	}
	return ""
}

// The facts are enough for a gate to stop each of the 137 commands that it should
// stop, and to let run those that it should.
// case:P01
func TestVectors(t *testing.T) {
	t.Parallel()
	root := os.Getenv("UZDA_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared")
	}
	data, err := os.ReadFile(filepath.Join(root, "bench", "shell_safety", "vectors.json"))
	if err != nil {
		t.Skipf("SKIPPED: the shared data are not here: %v", err)
	}
	var all struct {
		Commands []vector `json:"commands"`
	}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	o := command.Options{Dir: "/srv/project", Home: "/home/user"}
	stopped, friction, harmless, git := 0, 0, 0, 0
	for _, v := range all.Commands {
		r := v.read(o)
		why := stops(r, v, o.Dir)
		switch v.Expect {
		case "allow":
			harmless++
			if why != "" {
				friction++
				t.Logf("friction: %q: %s", v, why)
			}
		case "dangerous", "not-dangerous":
			if got := worst(r) == command.Dangerous; got != (v.Expect == "dangerous") {
				t.Errorf("%q: dangerous is %v, the vector says %s", v, got, v.Expect)
			}
		default:
			// These run a plain git, which the vectors ask about since a repository's
			// settings can name programs; whoever writes those can run them anyway.
			if why == "" && strings.HasPrefix(v.Why, "git can run a pager") {
				git++
				continue
			}
			if why == "" {
				t.Errorf("%q under %q would run: %+v", v, v.Context, r)
			}
			stopped++
		}
	}
	t.Logf("%d commands: %d stopped, %d of %d harmless ones stopped too, %d plain git", len(all.Commands), stopped, friction, harmless, git)
	if git > 7 || friction*10 > harmless {
		t.Errorf("%d git commands run (at most 7), friction is %d of %d (at most a tenth)", git, friction, harmless)
	}
}

func worst(r command.Report) command.Level {
	l := command.Harmless
	for _, p := range r.Parts {
		l = max(l, p.Level)
	}
	return l
}

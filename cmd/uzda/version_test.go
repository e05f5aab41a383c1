package main

import (
	"bytes"
	"encoding/json"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/model/script"
	"github.com/uzda-dev/uzda/session"
)

// The program knows what it is in each of the ways that it can be built in.
func TestIdentify(t *testing.T) { // G6
	t.Parallel()
	const commit, at = "92ac55e3ed739f2c1f605daf503e57524c2e64ee", "2026-12-01T03:20:38Z"
	vcs := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: commit}, {Key: "vcs.time", Value: at}, {Key: "vcs.modified", Value: modified}}
	}
	main := func(version, sum string, settings []debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Path: "github.com/uzda-dev/uzda", Version: version, Sum: sum}, Settings: settings}
	}
	const pseudo = "v0.0.0-20261201032038-92ac55e3ed73"
	for _, c := range []struct {
		name, stamped string
		info          *debug.BuildInfo
		want          string // version, source
	}{
		{"release.sh at a tag", "v0.1.0", main("v0.1.0", "", vcs("false")), "v0.1.0|commit 92ac55e3ed73, " + at},
		{"release.sh with another name", "v0.2.0", main(pseudo, "", vcs("false")), "v0.2.0|commit 92ac55e3ed73, " + at},
		{"release.sh --dirty", pseudo + "+dirty", main(pseudo+"+dirty", "", vcs("true")), pseudo + "+dirty|commit 92ac55e3ed73, " + at + ", modified"},
		{"go install of a tag", "", main("v0.1.0", "h1:x", nil), "v0.1.0|commit not known to this build"},
		{"go install of a commit", "", main(pseudo, "h1:x", nil), pseudo + "|commit 92ac55e3ed73, " + at},
		{"go install of a commit after a tag", "", main("v0.1.1-0.20261201032038-92ac55e3ed73", "h1:x", nil), "v0.1.1-0.20261201032038-92ac55e3ed73|commit 92ac55e3ed73, " + at},
		{"go build in a clone", "", main(pseudo, "", vcs("false")), pseudo + "|commit 92ac55e3ed73, " + at},
		{"go build in a clone with changes", "", main(pseudo+"+dirty", "", vcs("true")), pseudo + "+dirty|commit 92ac55e3ed73, " + at + ", modified"},
		{"go run, tests", "", main("(devel)", "", nil), "(devel)|commit not known to this build"},
		{"a test of go 1.23", "", main("", "", nil), "(devel)|commit not known to this build"},
		{"no build information", "", nil, "(devel)|commit not known to this build"},
		{"a commit that is no number", "", main("v0.0.0-20269901032038-92ac55e3ed73", "", nil), "v0.0.0-20269901032038-92ac55e3ed73|commit not known to this build"},
	} {
		me := identify(c.info, c.stamped)
		if got := me.Version + "|" + me.source(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if raw, err := json.Marshal(me); err != nil || strings.Contains(string(raw), "null") {
			t.Errorf("%s: %s, %v", c.name, raw, err)
		}
	}
}

// A part that was put in the place of another is named as what it is.
func TestIdentifyParts(t *testing.T) { // G6
	t.Parallel()
	me := identify(&debug.BuildInfo{Main: debug.Module{Path: "m", Version: "v1.0.0"}, Deps: []*debug.Module{
		{Path: "a", Version: "v1.2.3", Sum: "h1:a"},
		{Path: "b", Version: "v0.1.0", Replace: &debug.Module{Path: "fork/b", Version: "v0.1.1", Sum: "h1:f"}},
	}}, "")
	want := []part{{"m", "v1.0.0", ""}, {"a", "v1.2.3", "h1:a"}, {"fork/b", "v0.1.1", "h1:f"}}
	if !reflect.DeepEqual(me.Parts, want) {
		t.Errorf("%v, want %v", me.Parts, want)
	}
}

// The format of journals that the version tells is the one that a session begins with.
func TestVersionFormat(t *testing.T) { // G6
	t.Parallel()
	store := journal.Memory()
	model, err := script.Parse("turns.json", []byte(`{"turns":[{"text":"ok"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	h := session.New(session.Config{Store: store, Manual: true, Agents: map[string]agent.Agent{"a": {Model: model}}})
	defer h.Close()
	if _, err := h.Open(t.Context(), uzda.Opening{ID: "s", Agent: "a", Dir: "."}); err != nil {
		t.Fatal(err)
	}
	for e, err := range store.Read(t.Context(), "s", 0) {
		if o, ok := e.Body.(uzda.Opened); err != nil || !ok || o.Format != journalFormat {
			t.Errorf("%+v, %v: want format %d", e.Body, err, journalFormat)
		}
	}
}

// Nothing of a help text is a command for man, and the page tells of every command.
func TestManual(t *testing.T) { // G6
	t.Parallel()
	a := &app{}
	root := a.root()
	root.Commands()[0].Long = ".SH no section\n'no request\n\\fBnot bold -x"
	var out bytes.Buffer
	writeManual(&out, root, "v0.1.0")
	page := out.String()
	for _, want := range []string{"\n\\&.SH no section\n", "\n\\&'no request\n", "\n\\efBnot bold \\-x\n", `.SS "uzda policy check TOOL 'JSON' [flags]"`, "v0.1.0"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" && !strings.Contains(page, `.SS "uzda `+c.Name()) {
			t.Errorf("the page does not tell of %s", c.Name())
		}
	}
	if strings.Contains(page, "uzda manual") {
		t.Error("the page tells of what is hidden")
	}
}

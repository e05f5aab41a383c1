package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/cmd/uzda/config"
)

// TestMistakes checks place, wish and nearest key of what people mistype.
// case:U09
func TestMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, file string
		want       []string // one a fault
	}{
		{"a security key", "model: a/b\npermisions:\n  deny: [Bash]\n", []string{`uzda.yaml:2:1: unknown key "permisions"; did you mean "permissions"?`}},
		{"a key in permissions", "permissions:\n  denny: [Bash]\n", []string{`uzda.yaml:2:3: unknown key "permissions.denny"; did you mean "permissions.deny"? (a rule that is not read forbids nothing`}},
		{"a key of another tool", "permissions:\n  defaultMode: x\n", []string{`uzda.yaml:2:3: unknown key "permissions.defaultMode"; did you mean "permissions.mode"?`}},
		{"in the wrong place", "max_steps: 4\n", []string{`uzda.yaml:1:1: unknown key "max_steps"; did you mean "limits.max_steps"?`}},
		{"as the flag has it", "permission-mode: deny\n", []string{`uzda.yaml:1:1: unknown key "permission-mode"; did you mean "permissions.mode"?`}},
		{"dashes", "output-format: json\n", []string{`did you mean "output_format"?`}},
		{"a section in a section", "limits:\n  budget:\n    day: 3\n", []string{`uzda.yaml:2:3: unknown key "limits.budget"; budget stands at the top of the file`}},
		{"a key of a model", "models:\n  m:\n    id: a/b\n    temprature: 1\n", []string{`uzda.yaml:4:5: unknown key "models.m.temprature"; did you mean "models.m.temperature"?`}},
		{"text for a number", "limits:\n  max_steps: abc\n", []string{`uzda.yaml:2:14: limits.max_steps is "abc"; want a whole number, such as 50`}},
		{"a number in quotes", "limits:\n  max_steps: \"50\"\n", []string{`uzda.yaml:2:14: limits.max_steps is the text "50"; want a number, without quotes`}},
		{"zero", "limits:\n  max_steps: 0\n", []string{`uzda.yaml:2:14: limits.max_steps is 0; want 1 or more: a limit can be raised, but not switched off`}},
		{"negative", "limits: {max_cost: -1}\n", []string{`uzda.yaml:1:20: limits.max_cost is "-1"; want more than 0`}},
		{"a fraction of a count", "limits: {max_steps: 1.5}\n", []string{`is "1.5"; want a whole number`}},
		{"too large", "limits: {max_steps: 99999999999999999999}\n", []string{`which is too large`}},
		{"a time without unit", "limits:\n  max_time: 30\n", []string{`uzda.yaml:2:13: limits.max_time is "30"; want a time with its unit, such as 90s, 30m or 2h`}},
		{"money in words", "budget:\n  day: five\n", []string{`uzda.yaml:2:8: budget.day is "five"; want dollars, such as 5 or 0.25`}},
		{"money without end", "budget:\n  day: .inf\n", []string{`uzda.yaml:2:8: budget.day is ".inf"; want dollars`}},
		{"a choice", "durability: proces\n", []string{`uzda.yaml:1:13: durability is "proces"; want one of power, process; did you mean "process"?`}},
		{"no text", "verify: true\n", []string{`uzda.yaml:1:9: verify is true, which YAML reads as no text; want text; write it in quotes`}},
		{"no value", "model:\nagent: x\n", []string{`uzda.yaml:1:7: model has no value; want text; write it in quotes, or remove the line`}},
		{"text for a list", "permissions:\n  allow: Bash\n", []string{`uzda.yaml:2:10: permissions.allow wants a list of rules, each on a line: - Tool(pattern)`}},
		{"a rule without its end", "permissions:\n  deny:\n    - Read\n    - Bash(rm *\n", []string{`uzda.yaml:4:7: permissions.deny has "Bash(rm *"; want a rule in the form Tool or Tool(pattern)`}},
		{"a rule that is a map", "permissions:\n  deny:\n    - Bash: rm\n", []string{`uzda.yaml:3:7: an item of permissions.deny is no text`}},
		{"a value for a section", "limits: 50\n", []string{`uzda.yaml:1:9: limits wants keys below it, indented by two spaces`}},
		{"a section for a value", "model:\n  id: a/b\n", []string{`uzda.yaml:2:3: model wants text`}},
		{"twice", "model: a/b\nagent: x\nmodel: c/d\n", []string{`uzda.yaml:3:1: model is already set in line 1; keep one of them`}},
		{"a section twice", "limits:\n  max_steps: 3\nlimits:\n  repeat: 2\n", []string{`uzda.yaml:3:1: limits is already set in line 1`}},
		{"a model without id", "models:\n  m:\n    effort: low\n", []string{`uzda.yaml:2: models.m has no id; add id: PROVIDER/ID`}},
		{"an empty model", "models:\n  m:\n", []string{`uzda.yaml:2:3: models.m is empty`}},
		{"a model's name", "models:\n  a/b: {id: c/d}\n", []string{`uzda.yaml:2:3: "a/b" cannot name a model`}},
		{"a tab", "limits:\n\tmax_steps: 3\n", []string{`uzda.yaml:2:1: a tab cannot indent in YAML; indent with spaces`}},
		{"too little indentation", "limits:\n  max_steps: 3\n max_tokens: 4\n", []string{`uzda.yaml:3:2: the indentation fits no line above`}},
		{"too much indentation", "limits:\n  max_steps: 3\n   max_tokens: 4\n", []string{`uzda.yaml:3:1: this line is indented deeper than the one above`}},
		{"two colons", "model: a: b\n", []string{`uzda.yaml:1:8: there is a second ': ' in this value; write the value in quotes`}},
		{"no colon", "model a/b\nagent: x\n", []string{`uzda.yaml:1:1: want key: value on this line`}},
		{"an open bracket", "permissions: {deny: [Bash\n", []string{`uzda.yaml:1:`}},
		{"an open quote", "model: 'x\nagent: y\n", []string{`uzda.yaml:1:8: `}},
		{"a list", "- model\n", []string{`uzda.yaml:1:1: want keys with values`}},
		{"a text", "model\n", []string{`uzda.yaml:1:1: want keys with values`}},
		{"two documents", "model: a/b\n---\nmodel: c/d\n", []string{`uzda.yaml:3:1: a second document begins here`}},
		{"an alias", "model: &m a/b\nagent: *m\n", []string{`uzda.yaml:1:8: anchors, aliases and tags are not read`, `uzda.yaml:2:8: anchors`}},
		{"a merge", "<<: {model: a/b}\n", []string{`uzda.yaml:1:1: << is not read in settings`}},
		{"not settings at all", strings.Repeat("[", 20_000), []string{`uzda.yaml: it has 20000 words and signs, over 10000`}},
		{"larger still", strings.Repeat("# x\n", 40_000), []string{`uzda.yaml: over 131072 bytes`}},
		{"another encoding", "model: a/b\nagent: caf\xe9\n", []string{`uzda.yaml:2: this is not UTF-8`}},
		{"all at once", "modle: a/b\nlimits:\n  max_steps: x\n  max_tokens: y\npermissions:\n  mode: no\n", []string{
			`uzda.yaml:1:1: unknown key "modle"; did you mean "model"?`, `uzda.yaml:3:14: limits.max_steps is "x"`,
			`uzda.yaml:4:15: limits.max_tokens is "y"`, `uzda.yaml:6:9: permissions.mode is "no"; want one of ask, plan`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.put("uzda.yaml", c.file)
			got := w.faults()
			if len(got) != len(c.want) {
				t.Errorf("%d faults, want %d: %v", len(got), len(c.want), got)
			}
			for i := range min(len(got), len(c.want)) {
				if !strings.Contains(got[i].Error(), c.want[i]) {
					t.Errorf("got  %s\nwant %s", got[i], c.want[i])
				}
			}
		})
	}
}

// TestAllPlacesReport shows that one load tells the mistakes of every place.
// case:U09
func TestAllPlacesReport(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	user := w.putUser("modell: x\n")
	w.put("uzda.yaml", "agnet: x\n")
	w.put("uzda.local.yaml", "durability: none\n")
	w.options.Env = append(w.options.Env, "UZDA_MAX_STEPS=many", "UZDA_DENY=Read\n(x)")
	w.options.Flags = map[string][]string{"timeout": {"5"}, "no-such": {"x"}, "allow": {"Bash(", "Read"}}
	got := w.faults().Error()
	for _, want := range []string{
		user + `:1:1: unknown key "modell"; did you mean "model"?`,
		`uzda.yaml:1:1: unknown key "agnet"; did you mean "agent"?`,
		`uzda.local.yaml:1:13: durability is "none"; want one of power, process`,
		`env UZDA_MAX_STEPS: limits.max_steps is "many"; want a whole number`,
		`env UZDA_DENY: permissions.deny has "(x)"; want a rule`,
		`flag --timeout: limits.max_time is "5"; want a time with its unit`,
		`flag --allow: permissions.allow has "Bash("; want a rule`,
		`flag --no-such: no setting has this flag`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if n := strings.Count(got, "\n") + 1; n != 8 {
		t.Errorf("%d faults, want 8:\n%s", n, got)
	}
}

// TestFound checks where settings are looked for.
// case:U09
func TestFound(t *testing.T) {
	t.Parallel()
	t.Run("from a folder inside", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.put("uzda.yaml", "model: up/here\nsystem: s.md\n")
		w.options.Dir = w.inside
		c := w.load()
		if c.Model != "up/here" || c.System != filepath.Join(w.repo, "s.md") || c.Project != w.repo || c.Dir != w.inside {
			t.Errorf("got %+v", c)
		}
	})
	t.Run("the nearest", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.put("uzda.yaml", "model: far/off\nagent: far\n")
		w.put("a/uzda.local.yaml", "model: close/by\n")
		w.options.Dir = w.inside
		if c := w.load(); c.Model != "close/by" || c.Agent != "" || c.Origin("model") != "../uzda.local.yaml:1" {
			t.Errorf("got model %q agent %q from %s", c.Model, c.Agent, c.Origin("model"))
		}
	})
	t.Run("not beyond the repository", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.put("../uzda.yaml", "model: other/s\n")
		w.options.Dir = w.inside
		if c := w.load(); c.Model != "" {
			t.Errorf("got %q from %s", c.Model, c.Origin("model"))
		}
	})
	t.Run("outside a repository, up to home", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.put("../../uzda.yaml", "model: at/home\n")
		w.options.Dir = filepath.Dir(w.repo)
		if c := w.load(); c.Model != "at/home" {
			t.Errorf("got %q", c.Model)
		}
	})
	t.Run("not from a folder of everybody", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.put("a/uzda.yaml", "model: ev/il\n")
		if err := os.Chmod(filepath.Join(w.repo, "a"), 0o777); err != nil {
			t.Fatal(err)
		}
		w.options.Dir = w.inside
		if c := w.load(); c.Model != "" || len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "everybody may write") {
			t.Errorf("got %q, warnings %q", c.Model, c.Warnings)
		}
	})
	t.Run("a folder where the file should be", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.put("uzda.yaml/x", "")
		if f := w.faults(); !strings.Contains(f.Error(), "uzda.yaml: ") {
			t.Errorf("got %v", f)
		}
	})
}

// TestWarnings checks what is told although it stops nothing.
// case:U09
func TestWarnings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("uzda.yml", "model: a/b\n")
	w.options.Env = append(w.options.Env, "UZDA_MAX_STEP=5", "UZDA_HOME=", "UZDA_WHOLLY_UNLIKE_ANYTHING=1")
	got := strings.Join(w.load().Warnings, "\n")
	for _, want := range []string{
		"uzda.yml is not read; its name must be uzda.yaml",
		"env UZDA_MAX_STEP is not read; did you mean UZDA_MAX_STEPS?",
		"env UZDA_WHOLLY_UNLIKE_ANYTHING is not read; no setting is called so",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
}

// TestFolders checks the places of each system.
func TestFolders(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for _, c := range []struct {
		name, os string
		env      []string
		data     string
		user     string
	}{
		{"linux", "linux", nil, ".local/share/uzda", ".config/uzda/uzda.yaml"},
		{"XDG", "linux", []string{"XDG_DATA_HOME=" + home + "/d", "XDG_CONFIG_HOME=" + home + "/c"}, "d/uzda", "c/uzda/uzda.yaml"},
		{"UZDA_HOME", "linux", []string{"UZDA_HOME=" + home + "/u", "XDG_DATA_HOME=" + home + "/d"}, "u", "u/uzda.yaml"},
		{"macOS", "darwin", nil, "Library/Application Support/uzda", "Library/Application Support/uzda/uzda.yaml"},
		{"Windows", "windows", []string{"LOCALAPPDATA=" + home + "/l", "APPDATA=" + home + "/r"}, "l/uzda", "r/uzda/uzda.yaml"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(home, filepath.FromSlash(c.user))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("agent: mine\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			defer os.Remove(path)
			got, err := config.Load(config.Options{Dir: t.TempDir(), Env: append(c.env, "HOME="+home), OS: c.os})
			if err != nil {
				t.Fatal(err)
			}
			if want := filepath.Join(home, filepath.FromSlash(c.data)); got.Data != want || got.Agent != "mine" {
				t.Errorf("data folder %s, want %s; agent %q from %q", got.Data, want, got.Agent, got.Files)
			}
		})
	}
	if _, err := config.Load(config.Options{Dir: t.TempDir(), OS: "linux"}); err == nil || !strings.Contains(err.Error(), "set UZDA_HOME") {
		t.Errorf("without a home: %v", err)
	}
	if c, err := config.Load(config.Options{Dir: t.TempDir(), OS: "linux", Env: []string{"UZDA_STORE_PATH=x.uzda"}}); err != nil || !filepath.IsAbs(c.Store.Path) {
		t.Errorf("without a home, with a store: %v", err)
	}
}

func FuzzLoad(f *testing.F) {
	for _, s := range []string{"", "model: a/b\n", "limits: {max_steps: 3}\n", "models:\n  m:\n    options: {a: [1, {b: c}]}\n", "permissions:\n  deny:\n  - Bash(x)\n", "a: &x [*x]\n", "? [a]\n: 1\n", "\t", "a: |\n  b\n\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "uzda.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		c, err := config.Load(config.Options{Dir: dir, Env: []string{"HOME=" + dir}})
		if err != nil {
			if !strings.HasPrefix(err.Error(), "uzda.yaml") {
				t.Errorf("a fault that does not say where: %v", err)
			}
			return
		}
		if c.Limits.Steps < 1 || c.Limits.Cost <= 0 || c.Limits.Time <= 0 {
			t.Errorf("a limit is switched off: %+v", c.Limits)
		}
	})
}

package config_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/cmd/uzda/config"
)

// S1: an accepted rule joins the settings, and comments, order, line ends and all
// else there stay as they are.
func TestAddRule(t *testing.T) {
	t.Parallel()
	const rule = `shell(go test "*")`
	const quoted = `"shell(go test \"*\")"`
	for _, c := range []struct {
		name, old, want string
		line            int
	}{
		{"nothing", "", "permissions:\n  allow:\n    - " + quoted + "\n", 3},
		{"blank lines", "\n\n  \r\n", "permissions:\n  allow:\n    - " + quoted + "\n", 3},
		{"only a comment", "# mine\n", "# mine\npermissions:\n  allow:\n    - " + quoted + "\n", 4},
		{"no last line end", "model: a/b", "model: a/b\npermissions:\n  allow:\n    - " + quoted + "\n", 4},
		{"other keys", "# żółw\nmodel: a/b # one\n\nlimits:\n  max_steps: 5\n", "# żółw\nmodel: a/b # one\n\nlimits:\n  max_steps: 5\npermissions:\n  allow:\n    - " + quoted + "\n", 8},
		{"another list", "permissions: # rules\n  deny: [Bash]\nmodel: a/b\n", "permissions: # rules\n  allow:\n    - " + quoted + "\n  deny: [Bash]\nmodel: a/b\n", 3},
		{"empty section", "permissions:\nmodel: a/b\n", "permissions:\n  allow:\n    - " + quoted + "\nmodel: a/b\n", 3},
		{"empty list", "permissions:\n  allow:\n", "permissions:\n  allow:\n    - " + quoted + "\n", 3},
		{"a list", "permissions:\n    allow:\n    # reads\n    - Read # all\n    - \"Bash(ls *)\"\n    # end\n    deny: [x]\n", "permissions:\n    allow:\n    # reads\n    - Read # all\n    - \"Bash(ls *)\"\n    - " + quoted + "\n    # end\n    deny: [x]\n", 6},
		{"a list at the end", "permissions:\n  allow:\n    - Read", "permissions:\n  allow:\n    - Read\n    - " + quoted + "\n", 4},
		{"an item of two lines", "permissions:\n  allow:\n    - \"Bash(a\n       b)\"\nmodel: a/b\n", "permissions:\n  allow:\n    - \"Bash(a\n       b)\"\n    - " + quoted + "\nmodel: a/b\n", 5},
		{"brackets", "permissions:\n  allow: [Read, 'Bash(x)'] # ok\n", "permissions:\n  allow: [" + quoted + ", Read, 'Bash(x)'] # ok\n", 2},
		{"empty brackets", "permissions:\n  allow: []\n", "permissions:\n  allow: [" + quoted + "]\n", 2},
		{"braces", "permissions: {deny: [Bash]}\n", "permissions: {allow: [" + quoted + "], deny: [Bash]}\n", 1},
		{"CRLF", "model: a/b # x\r\npermissions:\r\n  allow:\r\n    - Read\r\n", "model: a/b # x\r\npermissions:\r\n  allow:\r\n    - Read\r\n    - " + quoted + "\r\n", 5},
		{"a mark of the byte order", "\ufeffmodel: a/b\n", "\ufeffmodel: a/b\npermissions:\n  allow:\n    - " + quoted + "\n", 4},
		{"it is there", "permissions:\n  allow:\n    - Read\n    - 'shell(go test \"*\")'\n", "permissions:\n  allow:\n    - Read\n    - 'shell(go test \"*\")'\n", 4},
	} {
		path := filepath.Join(t.TempDir(), "below", "uzda.yaml")
		if c.old != "" {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(c.old), 0o640); err != nil {
				t.Fatal(err)
			}
		}
		line, err := config.AddRule(path, uzda.Allow, rule)
		got, _ := os.ReadFile(path)
		if err != nil || string(got) != c.want || line != c.line {
			t.Errorf("%s: line %d (%v)\n%q, not line %d\n%q", c.name, line, err, got, c.line, c.want)
			continue
		}
		if again, err := config.AddRule(path, uzda.Allow, rule); err != nil || again != line {
			t.Errorf("%s, once more: line %d (%v)", c.name, again, err)
		}
		if info, err := os.Stat(path); err == nil && runtime.GOOS != "windows" && c.old != "" && info.Mode().Perm() != 0o640 {
			t.Errorf("%s: the rights are now %v", c.name, info.Mode())
		}
		// The loader finds it, and finds nothing wrong.
		cfg, err := config.Load(config.Options{Dir: t.TempDir(), Env: []string{"UZDA_HOME=" + filepath.Dir(path)}})
		if err != nil || !slices.ContainsFunc(cfg.Permissions.Allow, func(r config.Rule) bool { return r.Text == rule }) {
			t.Errorf("%s: it is not among the settings: %v", c.name, err)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".uzda-*")); len(left) > 0 {
			t.Errorf("%s: left behind: %v", c.name, left)
		}
	}
}

// What cannot be added to stays as it is, and is said; a link stays a link.
func TestAddRuleRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a: [":                          "it is no YAML that can be read",
		"{model: a/b}\n":                "it is written in { }",
		"permissions: [x]\n":            "permissions holds no keys",
		"permissions:\n  allow: Read\n": "permissions holds what is no list of rules",
		"- a\n":                         "it holds no keys",
		"a: b\n---\nc: d\n":             "more than one document",
		"a: \xff\n":                     "it is not UTF-8",
	} {
		path := filepath.Join(t.TempDir(), "uzda.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := config.AddRule(path, uzda.Allow, "Read")
		if got, _ := os.ReadFile(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) || string(got) != text {
			t.Errorf("%q: %v, left as %q", text, err, got)
		}
	}
	dir := t.TempDir()
	link, file := filepath.Join(dir, "uzda.yaml"), filepath.Join(dir, "dotfiles.yaml")
	if err := os.WriteFile(file, []byte("model: a/b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Skip("no links here")
	}
	if _, err := config.AddRule(link, uzda.Deny, "Bash(rm *)"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(link)
	got, _ := os.ReadFile(file)
	if err != nil || info.Mode()&os.ModeSymlink == 0 || string(got) != "model: a/b\npermissions:\n  deny:\n    - \"Bash(rm *)\"\n" {
		t.Errorf("%v %q (%v)", info.Mode(), got, err)
	}
	if _, err := config.AddRule(link, uzda.Allow, "no rule"); err == nil || !strings.Contains(err.Error(), "want a rule in the form") {
		t.Errorf("what is no rule gives %v", err)
	}
}

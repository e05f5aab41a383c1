package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/cmd/uzda/config"
)

// P4: a folder joins those that the user trusts, and nothing else changes.
func TestAddTrust(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "sklep żółty")
	const item = `"FOLDER"`
	for _, c := range []struct{ name, old, want string }{
		{"nothing", "", "trust:\n  - " + item + "\n"},
		{"other keys", "model: a/b\n", "model: a/b\ntrust:\n  - " + item + "\n"},
		{"a list", "trust:\n  - /a # mine\nmodel: a/b\n", "trust:\n  - /a # mine\n  - " + item + "\nmodel: a/b\n"},
		{"brackets", "trust: [/a]\n", "trust: [" + item + ", /a]\n"},
		{"empty", "trust:\n", "trust:\n  - " + item + "\n"},
	} {
		home := t.TempDir()
		path := filepath.Join(home, "uzda.yaml")
		if c.old != "" {
			if err := os.WriteFile(path, []byte(c.old), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		line, err := config.AddTrust(path, folder)
		got, _ := os.ReadFile(path)
		if want := strings.ReplaceAll(c.want, "FOLDER", folder); err != nil || string(got) != want {
			t.Errorf("%s: line %d (%v)\n%q, not\n%q", c.name, line, err, got, want)
		}
		cfg, err := config.Load(config.Options{Dir: t.TempDir(), Env: []string{"UZDA_HOME=" + home}})
		if err != nil || !cfg.Trusts(filepath.Join(folder, "below")) {
			t.Errorf("%s: the folder is not trusted: %v", c.name, err)
		}
	}
}

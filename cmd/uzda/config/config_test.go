package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/cmd/uzda/config"
)

// world is a home, a repository in it and a folder deep in that.
type world struct {
	t                  *testing.T
	home, repo, inside string
	options            config.Options
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, home: t.TempDir()}
	w.repo = filepath.Join(w.home, "src", "shop")
	w.inside = filepath.Join(w.repo, "a", "b")
	for _, dir := range []string{w.inside, filepath.Join(w.repo, ".git")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.options = config.Options{Dir: w.repo, Env: []string{"HOME=" + w.home, "UZDA_TRUST=" + w.home}, OS: "linux"}
	return w
}

// put writes a file, its path relative to the repository.
func (w *world) put(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.repo, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func (w *world) putUser(text string) string { return w.put("../../.config/uzda/uzda.yaml", text) }

func (w *world) load() *config.Config {
	w.t.Helper()
	c, err := config.Load(w.options)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// faults loads what must be refused.
func (w *world) faults() config.Faults {
	w.t.Helper()
	_, err := config.Load(w.options)
	var f config.Faults
	if !errors.As(err, &f) {
		w.t.Fatalf("want faults in the settings, got %v", err)
	}
	return f
}

func item(t *testing.T, c *config.Config, key string) config.Item {
	t.Helper()
	for _, i := range c.Items() {
		if i.Key == key {
			return i
		}
	}
	t.Fatalf("no item %s", key)
	return config.Item{}
}

// sample returns a value for a key that no other n gives, as it is written in a
// file and outside, and as it is shown.
func sample(k config.Key, n int) (text, shown string) {
	switch k.Kind {
	case config.Choice:
		text = k.Choices[n%len(k.Choices)]
	case config.Count:
		text = fmt.Sprint(100 + n)
	case config.Duration:
		text = fmt.Sprintf("%dm", n+1)
	case config.Money:
		return fmt.Sprintf("%d.5", n+1), fmt.Sprintf("$%d.5", n+1)
	case config.Path:
		text = fmt.Sprintf("/at/file%d", n)
	case config.Rules:
		text = fmt.Sprintf("Tool%d(x *)", n)
	case config.Paths:
		text = fmt.Sprintf("/at/folder%d", n)
		return text, "[" + text + "]"
	case config.Texts:
		text = fmt.Sprintf("value%d", n)
		return text, "[" + text + "]"
	default:
		text = fmt.Sprintf("value%d", n)
	}
	return text, text
}

// in writes one key as a file has it.
func in(k config.Key, text string) string {
	if k.Kind == config.Rules || k.Kind == config.Paths || k.Kind == config.Texts {
		text = fmt.Sprintf("[%q]", text)
	}
	if section, leaf, ok := strings.Cut(k.Name, "."); ok {
		return section + ":\n  " + leaf + ": " + text + "\n"
	}
	return k.Name + ": " + text + "\n"
}

// TestPrecedence tries every key in all subsets of the places that can set it.
// case:U08
func TestPrecedence(t *testing.T) { // case:U08 L12
	t.Parallel()
	layers := []string{"user", "project", "local", "env", "flag"} // the weakest first
	for _, k := range config.Keys() {
		if k.Name == "trust" { // TestTrust
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for subset := range 1 << len(layers) {
				set := func(i int) bool { return subset&(1<<i) != 0 }
				if set(3) && k.Env == "" || set(4) && k.Flag == "" {
					continue
				}
				want, origin, rules := "", "default", []string{}
				w.options.Env = []string{"HOME=" + w.home, "UZDA_TRUST=" + w.repo}
				w.options.Flags = nil
				for i, layer := range layers {
					text, shown := sample(k, i)
					if !set(i) {
						text = "" // an empty file
					}
					var from string
					switch layer {
					case "user":
						from = w.putUser(in2(k, text)) + ":" + line(k)
					case "project":
						w.put("uzda.yaml", in2(k, text))
						from = "uzda.yaml:" + line(k)
					case "local":
						w.put("uzda.local.yaml", in2(k, text))
						from = "uzda.local.yaml:" + line(k)
					case "env":
						w.options.Env = append(w.options.Env, k.Env+"="+text)
						from = "env " + k.Env
					case "flag":
						from = "flag --" + k.Flag
						if set(i) {
							w.options.Flags = map[string][]string{k.Flag: {text}}
						}
					}
					if set(i) {
						if k.Kind == config.Paths && want != "" { // they add up
							shown = strings.TrimSuffix(want, "]") + " " + strings.TrimPrefix(shown, "[")
						}
						want, origin = shown, from
						rules = append(rules, shown+" "+from)
					}
				}
				check(t, w.load(), k, subset, want, origin, rules)
			}
		})
	}
}

func in2(k config.Key, text string) string {
	if text == "" {
		return ""
	}
	return in(k, text)
}

// line is that of the key in what in writes.
func line(k config.Key) string {
	if strings.Contains(k.Name, ".") {
		return "2"
	}
	return "1"
}

func check(t *testing.T, c *config.Config, k config.Key, subset int, want, origin string, rules []string) {
	t.Helper()
	if k.Kind == config.Rules { // all of them hold
		var got []string
		for _, i := range c.Items() {
			if i.Key == k.Name && i.Value != nil {
				got = append(got, fmt.Sprint(i.Value, " ", i.Origin))
			}
		}
		if !slices.Equal(got, rules) && len(got)+len(rules) > 0 {
			t.Errorf("set %05b: rules %q, want %q", subset, got, rules)
		}
		return
	}
	i := item(t, c, k.Name)
	if i.Origin != origin || c.Origin(k.Name) != origin {
		t.Errorf("set %05b: origin %q, want %q", subset, i.Origin, origin)
	}
	if origin != "default" && fmt.Sprint(i.Value) != want {
		t.Errorf("set %05b: value %v, want %s", subset, i.Value, want)
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.load()
	if got, want := c.Limits, (uzda.Limits{}).OrDefault(); got != want {
		t.Errorf("default limits %+v, want those of package uzda, %+v", got, want)
	}
	data := filepath.Join(w.home, ".local", "share", "uzda")
	for _, x := range [][2]string{
		{c.Permissions.Mode, "ask"}, {c.Durability, "power"}, {c.OutputFormat, "text"}, {c.Store.Kind, "sqlite"},
		{c.Data, data}, {c.Store.Path, filepath.Join(data, "sessions.uzda")},
		{c.Dir, w.repo}, {c.Agents, filepath.Join(w.repo, "agents")}, {c.Model, ""}, {c.Project, ""},
	} {
		if x[0] != x[1] {
			t.Errorf("got %q, want %q", x[0], x[1])
		}
	}
	if len(c.Files)+len(c.Warnings) > 0 {
		t.Errorf("files %q, warnings %q", c.Files, c.Warnings)
	}
}

// TestValues reads one file with everything in it.
func TestValues(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("uzda.yaml", "\ufeff# ours\r\nmodel: fast\r\ndir: ~/data\r\ndb: postgres://me:secret@db.test/shop\r\nsystem: prompts/s.md\r\n"+
		"verify: |\r\n  go vet ./...\r\n  go test ./...\r\nlimits:\r\n  max_time: 1h30m\r\n  max_tokens: 3_000_000\r\nbudget: {session: $2.25, day: 7}\r\n"+
		"permissions:\r\n  allow:\r\n    - Read(./**)\r\n    - \"Bash(git log *)\"\r\n  deny: [Write, mcp__mail__*]\r\n"+
		"models:\r\n  fast:\r\n    id: anthropic/small\r\n    max_tokens: 800\r\n    temperature: 0.5\r\n    effort: low\r\n    stops: [END, '#']\r\n"+
		"    options:\r\n      top_k: 5\r\n      deep: {a: [1, true, x]}\r\n")
	w.put("uzda.local.yaml", "models:\n  fast:\n    effort: high\n")
	w.options.Dir = w.inside
	c := w.load()
	for _, x := range [][2]any{
		{c.Model, "fast"}, {c.Dir, filepath.Join(w.home, "data")}, {c.DB, "postgres://me:secret@db.test/shop"},
		{c.System, filepath.Join(w.repo, "prompts", "s.md")}, {c.Agents, filepath.Join(w.repo, "agents")},
		{c.Limits.Time, 90 * time.Minute}, {c.Limits.Tokens, 3_000_000},
		{c.Limits.SessionCost, 9 * uzda.Dollar / 4}, {c.Limits.DayCost, 7 * uzda.Dollar},
		{c.Project, w.repo}, {c.Models["fast"].ID, "anthropic/small"}, {c.Models["fast"].Params.MaxTokens, 800},
		{*c.Models["fast"].Params.Temperature, 0.5}, {c.Models["fast"].Params.Effort, "high"},
		{strings.Join(c.Models["fast"].Params.Stops, ","), "END,#"},
		{string(c.Models["fast"].Params.Options["deep"]), `{"a":[1,true,"x"]}`},
		{string(c.Models["fast"].Params.Options["top_k"]), "5"},
		{c.Origin("models.fast.effort"), "../../uzda.local.yaml:3"},
		{c.Origin("models.fast.id"), "../../uzda.yaml:20"},
		{c.Permissions.Allow[1], config.Rule{Text: "Bash(git log *)", Origin: "../../uzda.yaml:16"}},
		{c.Permissions.Deny[1], config.Rule{Text: "mcp__mail__*", Origin: "../../uzda.yaml:17"}},
	} {
		if x[0] != x[1] {
			t.Errorf("got %v, want %v", x[0], x[1])
		}
	}
	if got, want := c.Verify, "go vet ./...\ngo test ./...\n"; got != want {
		t.Errorf("verify is %q, want %q", got, want)
	}
	var text, raw bytes.Buffer
	if err := errors.Join(c.WriteText(&text), c.WriteJSON(&raw)); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{text.String(), raw.String()} {
		if strings.Contains(out, "secret") || !strings.Contains(out, "db.test/shop") {
			t.Errorf("the password of a URL must be hidden, the rest shown:\n%s", out)
		}
	}
	var items []struct {
		Key, Origin string
		Value       any
	}
	if err := json.Unmarshal(raw.Bytes(), &items); err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(items, func(i struct {
		Key, Origin string
		Value       any
	}) bool {
		return i.Key == "budget.session"
	}); i < 0 || items[i].Value != 2.25 || items[i].Origin != "../../uzda.yaml:12" {
		t.Errorf("budget.session is not a number with its origin in:\n%s", raw.String())
	}
	if want := "limits.max_time 1h30m ../../uzda.yaml:10"; !strings.Contains(strings.Join(strings.Fields(text.String()), " "), want) {
		t.Errorf("no %q in:\n%s", want, text.String())
	}
}

// TestNoNetwork shows that nothing that reads settings can open a connection.
func TestNoNetwork(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dep := range strings.Fields(string(out)) {
		if dep == "net" || strings.HasPrefix(dep, "net/http") {
			t.Errorf("the package depends on %s", dep)
		}
	}
}

// TestOneLoadLeavesTheOther shows that nothing is shared between two loads.
// case:U08
func TestOneLoadLeavesTheOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("uzda.yaml", "model: a/b\nmodels: {m: {id: x/y}}\npermissions: {allow: [Read]}\n")
	first := w.load()
	w.options.Flags = map[string][]string{"model": {"c/d"}, "allow": {"Write", "Bash(ls)"}}
	second := w.load()
	second.Models["m"] = config.Model{ID: "gone"}
	second.Permissions.Allow[0].Text = "gone"
	if first.Model != "a/b" || first.Models["m"].ID != "x/y" || len(first.Permissions.Allow) != 1 || first.Permissions.Allow[0].Text != "Read" {
		t.Errorf("the first load changed: %+v", first)
	}
	if second.Model != "c/d" || len(second.Permissions.Allow) != 3 {
		t.Errorf("the second load: %+v", second)
	}
}

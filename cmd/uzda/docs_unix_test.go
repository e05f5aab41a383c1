//go:build unix

package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
)

// A fence is a block of a page.
type fence struct{ page, kind, text string }

// fences reads the blocks of the pages beside go.mod and in docs.
func fences(t *testing.T) []fence {
	t.Helper()
	root := filepath.Join("..", "..")
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	above, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	var out []fence
	for _, page := range append(pages, above...) {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split("\n"+string(data), "\n```")[1:]
		if len(parts)%2 == 1 {
			t.Fatalf("%s opens a block that nothing closes", page)
		}
		for i := 0; i < len(parts); i += 2 { // every second one is the text between two blocks
			kind, text, _ := strings.Cut(parts[i], "\n")
			out = append(out, fence{filepath.Base(page), kind, text})
		}
	}
	return out
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// Each block of Go stands, line for line, in a test or an example, which are
// compiled and run; the pages about what others write are type-checked.
func TestDocsGo(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	var code strings.Builder
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || !strings.HasSuffix(path, "_test.go") && !strings.Contains(path, "examples") {
			return err
		}
		data, err := os.ReadFile(path)
		code.WriteString(squeeze(string(data)) + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var journal []string
	n := 0
	for _, f := range fences(t) {
		switch {
		case f.kind != "go":
			continue
		case f.page == "adding-a-journal.md":
			journal = append(journal, f.text)
		case !strings.Contains(code.String(), squeeze(f.text)):
			t.Errorf("%s shows code that nothing runs:\n%s", f.page, f.text)
		}
		n++
	}
	if n < 6 || len(journal) != 2 {
		t.Fatalf("%d blocks of Go, %d of them about journals", n, len(journal))
	}
	journalPage(t, root, journal[0], journal[1])
}

var signature = regexp.MustCompile(`(?m)^(func .*\))$|^(func .*\) [^{\n]*)$`)

// journalPage type-checks the store that a reader writes, and its test, as if they
// were files in docs.
func journalPage(t *testing.T, root, store, test string) {
	t.Helper()
	store = signature.ReplaceAllString(strings.ReplaceAll(store, "{ … }", "{}"), "$1$2 { panic(`yours`) }")
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	there := func(name string) string {
		path, err := filepath.Abs(filepath.Join(root, "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		there("mine.go"): write("mine.go", "package mine\n\nimport (\n\t\"context\"\n\t\"iter\"\n\t\"time\"\n\n\t\"github.com/uzda-dev/uzda\"\n)\n\n"+
			"type Options struct{ Now func() time.Time }\n\nfunc Open(string, Options) (*DB, error) { panic(`yours`) }\n\nfunc (*DB) Close() error { return nil }\n\n"+store),
		there("mine_test.go"): write("mine_test.go", "package mine_test\n\nimport (\n\t\"testing\"\n\t\"time\"\n\n\t\"github.com/uzda-dev/uzda\"\n\tmine \"github.com/uzda-dev/uzda/docs\"\n\t\"github.com/uzda-dev/uzda/journal/journaltest\"\n)\n\n"+test),
	}})
	if err != nil {
		t.Fatal(err)
	}
	vet := exec.Command("go", "vet", "-overlay", write("overlay.json", string(overlay)), "./docs")
	vet.Dir = root
	if out, err := vet.CombinedOutput(); err != nil {
		t.Errorf("adding-a-journal.md does not compile: %v\n%s", err, out)
	}
}

var seconds = regexp.MustCompile(`\d+\.\d\d s`)

// What the README shows of the demo is what the demo prints, but for the times.
func TestDocsDemo(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	out, err := p.command("demo").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	printed := seconds.ReplaceAllString(string(out), "0.00 s")
	n := 0
	for _, f := range fences(t) {
		if f.page != "README.md" || f.kind != "" {
			continue
		}
		for line := range strings.Lines(f.text) {
			n++
			if line = seconds.ReplaceAllString(strings.TrimSpace(line), "0.00 s"); !strings.Contains(printed, line) {
				t.Errorf("the demo does not print %q", line)
			}
		}
	}
	if n < 10 {
		t.Errorf("only %d lines", n)
	}
}

// The object that the page shows has the keys of the one that the program prints.
func TestDocsObject(t *testing.T) { // case:U01
	t.Parallel()
	real, err := json.Marshal(result{Pending: []pendingJSON{{}}, Error: &errorJSON{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fences(t) {
		if f.page != "exit-codes.md" || f.kind != "json" {
			continue
		}
		var shown, printed map[string]any
		if err := json.Unmarshal([]byte(f.text), &shown); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(real, &printed); err != nil {
			t.Fatal(err)
		}
		for k := range printed {
			if _, ok := shown[k]; !ok {
				t.Errorf("the page does not show %s", k)
			}
		}
		if len(shown) != len(printed) {
			t.Errorf("the page shows %d keys, there are %d", len(shown), len(printed))
		}
		return
	}
	t.Error("the page shows no object")
}

var (
	exitRow   = regexp.MustCompile(`(?m)^\| (\d+) \| ([a-z]*) ?\| (.*) \|$`)
	constants = regexp.MustCompile(`Reason = "([a-z_]+)"`)
	inCode    = regexp.MustCompile("`([a-z_]+)`")
)

// The table of exit codes says of every reason what the program does.
func TestDocsExitCodes(t *testing.T) { // case:U01
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "exit-codes.md"))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join("..", "..", "outcome.go"))
	if err != nil {
		t.Fatal(err)
	}
	told := map[uzda.Reason]bool{}
	for _, row := range exitRow.FindAllStringSubmatch(string(page), -1) {
		for _, m := range inCode.FindAllStringSubmatch(row[3], -1) {
			r := uzda.Reason(m[1])
			if !r.Known() {
				continue
			}
			told[r] = true
			if row[1] != strconv.Itoa(r.Exit()) || row[2] != r.Outcome() {
				t.Errorf("%s: the page says %s and %s, the program %d and %s", r, row[1], row[2], r.Exit(), r.Outcome())
			}
		}
	}
	all := constants.FindAllStringSubmatch(string(source), -1)
	for _, m := range all {
		if !told[uzda.Reason(m[1])] {
			t.Errorf("the page does not tell of %s", m[1])
		}
	}
	if len(all) < 20 {
		t.Errorf("only %d reasons", len(all))
	}
}

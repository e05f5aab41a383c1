package arch_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/internal/arch"
)

var checks = map[string]func(*arch.Tree) []string{
	"imports":      (*arch.Tree).Imports,
	"dependencies": (*arch.Tree).Dependencies,
	"sizes":        (*arch.Tree).Sizes,
	"names":        (*arch.Tree).Names,
	"comments":     (*arch.Tree).Comments,
	"paths":        (*arch.Tree).Paths,
	"spec":         (*arch.Tree).Spec,
	"machine":      (*arch.Tree).Machine,
}

// TestRepository holds the repository against its own rules.
func TestRepository(t *testing.T) {
	t.Parallel()
	tree, err := arch.Open("../..")
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.Code) < 10 {
		t.Fatalf("found only %d Go files in %s", len(tree.Code), tree.Root)
	}
	for name, check := range checks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "spec" && !slices.Contains(tree.Files, arch.SpecFile) {
				t.Skipf("SKIPPED: there is no %s yet", arch.SpecFile)
			}
			for _, fault := range check(tree) {
				t.Error(fault)
			}
		})
	}
}

// clean is a small repository without a fault; each test plants one in it.
func clean() map[string]string {
	return map[string]string{
		"go.mod":                   "module x.test/u\n\nrequire go.uber.org/goleak v1.3.0\n\nrequire (\n\tgithub.com/gofrs/flock v0.13.2 // indirect\n)\n",
		"doc.go":                   "// Package u is.\npackage u\n\nimport \"context\"\n\n// A is.\ntype A = context.Context\n",
		"u_test.go":                "package u_test\n\nimport _ \"x.test/u\"\n\n// L1, case:L01: so it is.\n",
		"journal/mem.go":           "// Package journal keeps.\npackage journal\n\nimport (\n\t_ \"x.test/u\"\n\t_ \"github.com/gofrs/flock\"\n)\n",
		"journal/mem_test.go":      "package journal_test\n\nimport (\n\t_ \"x.test/u/journal\"\n\t_ \"x.test/u/journal/journaltest\"\n\t_ \"go.uber.org/goleak\"\n)\n",
		"journal/journaltest/j.go": "// Package journaltest tries.\npackage journaltest\n",
		"agent/a.go":               "// Package agent acts.\npackage agent\n\nimport _ \"x.test/u\"\n",
		"agent/a_test.go":          "package agent_test\n\nimport _ \"x.test/u/sqlite\"\n",
		"sqlite/s.go":              "// Package sqlite stores.\npackage sqlite\n\nimport _ \"x.test/u/internal/wire\"\n",
		"internal/wire/w.go":       "// Package wire is shared.\npackage wire\n",
		"cmd/u/main.go":            "// Command u runs.\npackage main\n\nimport _ \"any.where/at/all\"\n",
		"bench/go.mod":             "module x.test/u/bench\n",
		"bench/b.go":               "// Package bench is its own module.\npackage bench\n\nimport _ \"peers.test/one\"\n",
		"docs/dependencies.md":     "`github.com/gofrs/flock` and `go.uber.org/goleak`\n",
		"docs/spec.md":             "# X\n\n| id | what | state |\n|---|---|---|\n| L1 | loop | done |\n| L2 | stops | open |\n| M8 | batch | later: 5 |\n| case:L01 | repeats | done |\n",
		"README.md": "See `journal/mem.go`, `doc.go`, `mem.go`, `journal/`, [the spec](docs/spec.md#x) and\n[a site](https://x.test/gone).\n" +
			"Not paths: `anthropic/claude`, `application/json`, `uzda.yaml`, `a b/c`, `1/2`, `github.com/x/y`.\n```\ncat gone/too.go\n```\n",
	}
}

func write(t *testing.T, files map[string]string) *arch.Tree {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		full := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := arch.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestClean(t *testing.T) {
	t.Parallel()
	tree := write(t, clean())
	for name, check := range checks {
		for _, fault := range check(tree) {
			t.Errorf("%s: %s", name, fault)
		}
	}
}

func TestPlanted(t *testing.T) {
	t.Parallel()
	const head = "// Package p is.\npackage p\n"
	for _, c := range []struct {
		name, check, file, text, want string
	}{
		{"a sibling", "imports", "policy/p.go", head + "import _ \"x.test/u/journal\"\n", "policy/p.go:3: package in policy may not import x.test/u/journal"},
		{"internal from a lone adapter", "imports", "policy/p.go", head + "import _ \"x.test/u/internal/wire\"\n", "may not import x.test/u/internal/wire"},
		{"a part of another", "imports", "policy/p.go", head + "import _ \"github.com/gofrs/flock\"\n", "may not import github.com/gofrs/flock"},
		{"the root imports", "imports", "bad.go", "package u\nimport _ \"x.test/u/journal\"\n", "package in . may not import"},
		{"a store in the loop", "imports", "agent/b.go", "package agent\nimport _ \"x.test/u/sqlite\"\n", "package in agent may not import x.test/u/sqlite"},
		{"a session in the loop's test", "imports", "agent/b_test.go", "package agent_test\nimport _ \"x.test/u/session\"\n", "may not import x.test/u/session"},
		{"a part in a name that begins like it", "imports", "journal/b.go", "package journal\nimport _ \"github.com/gofrs/flocks\"\n", "may not import github.com/gofrs/flocks"},
		{"goleak outside a test", "imports", "journal/b.go", "package journal\nimport _ \"go.uber.org/goleak\"\n", "may not import go.uber.org/goleak"},
		{"C", "imports", "sqlite/c.go", "package sqlite\nimport \"C\"\n", "may not import C"},
		{"a new folder", "imports", "brand/new.go", head, "folder brand has no row"},
		{"a part without a reason", "dependencies", "docs/dependencies.md", "`go.uber.org/goleak`\n", "does not name `github.com/gofrs/flock`"},
		{"a long file", "sizes", "long.go", "package u\n" + strings.Repeat("\n", 800), "long.go: 801 lines"},
		{"a long function", "sizes", "long.go", "package u\nfunc f() {\n" + strings.Repeat("\n", 99) + "}\n", "long.go:2: function f has 101 lines"},
		{"an init", "names", "i.go", "package u\nfunc init() {}\n", "i.go:2: no init functions"},
		{"an empty name", "names", "internal/util/x.go", "// Package util is.\npackage util\n", "a package called util says nothing"},
		{"no package comment", "names", "policy/x.go", "package policy\n", "policy: the package has no comment"},
		{"no comment on a type", "comments", "t.go", "package u\ntype T struct{}\n", "t.go:2: T has no comment"},
		{"no comment in a group", "comments", "t.go", "package u\n// All.\ntype (\n\tT struct{}\n)\n", "t.go:4: T has no comment"},
		{"no comment on a method", "comments", "t.go", "package u\n// T is.\ntype T struct{}\nfunc (t *T) Do() {}\nfunc (t *T) Error() string { return \"\" }\n", "t.go:4: Do has no comment"},
		{"no comment on a variable", "comments", "t.go", "package u\nvar V = 1\n", "t.go:2: V has no comment"},
		{"a folder that is gone", "paths", "docs/x.md", "\nIt is in `window/plan.go`.\n", "docs/x.md:2: there is no window/plan.go"},
		{"a file that is gone", "paths", "docs/x.md", "`gone.go`", "there is no gone.go"},
		{"a dead anchor", "paths", "docs/x.md", "# A b, `c`\n## A b c\n[1](#a-b-c) [2](#a-b-c-1) [3](spec.md#x) [4](spec.md#y)", "docs/x.md:3: the link leads to #y, and docs/spec.md has no such heading; it has x"},
		{"a dead link", "paths", "docs/x.md", "[x](../nowhere.md)", "leads to ../nowhere.md"},
		{"a requirement without a test", "spec", "docs/spec.md", "| L7 | pairs | done |\n", "docs/spec.md:1: L7 is \"done\""},
		{"a case without a test", "spec", "docs/spec.md", "| case:L1 | x | done |\n", "case:L1 is"},
		{"a path of a machine", "machine", "x.sh", "cd /" + "work/main\n", "x.sh:1:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			files := clean()
			files[c.file] = c.text
			got := checks[c.check](write(t, files))
			if !slices.ContainsFunc(got, func(f string) bool { return strings.Contains(f, c.want) }) {
				t.Errorf("want a fault with %q, got %q", c.want, got)
			}
			if len(got) != 1 {
				t.Errorf("want one fault, got %d: %q", len(got), got)
			}
		})
	}
}

func TestFigures(t *testing.T) {
	t.Parallel()
	files := clean()
	files["agent/a.go"] = "// Package agent is.\npackage agent\n\n// A is said.\nconst A = 1\n\nvar B = 2\n\nfunc one() {}\n\nfunc three() {\n\t_ = A\n}\n"
	files["agent/a_test.go"] = "package agent_test\n\nfunc long() {\n\n\n\n}\n"
	files["agent/made.go"] = "// Code generated by x. DO NOT EDIT.\n\npackage agent\n\nfunc made() {\n\n\n\n\n\n}\n"
	got := write(t, files).Figures("agent")
	want := arch.Figures{Files: 1, Lines: 13, TestFiles: 1, TestLines: 7, Functions: 2, Median: 3, P95: 3, Packages: 1, Exported: 2, Said: 1,
		LongFile: arch.Function{Where: "agent/a.go", Lines: 13}, LongTest: arch.Function{Where: "agent/a_test.go", Lines: 7},
		LongFunction: arch.Function{Name: "three", Where: "agent/a.go:11", Lines: 3}}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	var text strings.Builder
	if err := got.Print(&text); err != nil || !strings.Contains(text.String(), "0.54 for each line") || !strings.Contains(text.String(), "50.0 % with a comment") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

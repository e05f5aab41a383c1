package policy_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/policy"
)

// What a check costs: of a command that only reads, of a file, and of a search
// over a folder.
func BenchmarkCheck(b *testing.B) {
	dir := b.TempDir()
	for i := range 1000 {
		if err := os.WriteFile(filepath.Join(dir, "f"+strconv.Itoa(i)), nil, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	var rs policy.Rules
	for d, text := range map[uzda.Decision][]string{uzda.Deny: {"Bash(rm *)", "Read(secrets/**)", "Read(*.key)"}, uzda.Allow: {"Bash(go test *)", "Edit(src/**)"}} {
		if _, err := rs.Add(d, "flag", text...); err != nil {
			b.Fatal(err)
		}
	}
	g := policy.Gate{Rules: rs}
	for _, c := range []struct{ name, tool, value string }{
		{"harmless", "shell", "ls -la src | head -20"}, {"rule", "shell", "go test ./..."}, {"file", "read_file", "src/a/b/c.go"}, {"search", "grep", "."},
	} {
		a := in(dir, c.tool, c.value)
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if v, err := g.Check(b.Context(), a); err != nil || v.Decision != uzda.Allow {
					b.Fatal(v, err)
				}
			}
		})
	}
}

package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/bench/internal/report"
)

// All that is measured of the program as a whole, in small, lands in the table, in
// the JSON and in the page; the exit code is what the bars say.
func TestWhole(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program")
	}
	t.Parallel()
	docs := t.TempDir()
	file, pages := filepath.Join(docs, "bench.json"), filepath.Join(docs, "performance.md")
	if err := os.WriteFile(pages, []byte("# A\n<!-- figures:whole -->\n<!-- end:whole -->\nB\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := run(t, build(t), "--only", "whole", "--small", "--rounds", "1", "--docs", docs, "--json", file, "--dir", t.TempDir())
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("exit %d\n%s\n%s", code, out, errs)
	}
	var all struct{ Bars []report.Bar }
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	want := 0
	if len(report.Missed(all.Bars)) > 0 {
		want = 13
	}
	if code != want || len(all.Bars) < 20 {
		t.Errorf("exit %d, want %d, with %d bars\n%s\n%s", code, want, len(all.Bars), out, errs)
	}
	page, err := os.ReadFile(pages)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range all.Bars {
		if b.Value <= 0 || !strings.Contains(out, b.What) || !strings.Contains(string(page), b.What) {
			t.Errorf("%+v is not in\n%s%s", b, out, page)
		}
	}
	for line := range strings.Lines(out) {
		if len([]rune(line)) > 81 {
			t.Errorf("a line of over 80 columns: %s", line)
		}
	}
}

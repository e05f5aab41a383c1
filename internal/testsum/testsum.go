// Package testsum reads what "go test -json" prints and tells it to people:
// what failed with its output, what was skipped and why, what was slow.
package testsum

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// A Summary counts the leaves of a run: a test with subtests counts through
// them, and for itself only if it failed beside them. A package that failed
// without a failed test (it did not build, or panicked) counts as one failure.
type Summary struct {
	Passed, Failed, Skipped int
}

// String is the closing line.
func (s Summary) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", s.Passed, s.Failed, s.Skipped)
}

// event is one line of "go test -json" (go doc test2json).
type event struct {
	Action     string
	Package    string
	ImportPath string // of a build
	Test       string
	Elapsed    float64 // seconds
	Output     string
}

type key struct{ pkg, test string }

type result struct {
	key
	action  string // pass, fail or skip
	elapsed time.Duration
	output  []string
	parent  bool // it has subtests
	broken  bool // one of its subtests failed
}

type run struct {
	w        io.Writer
	tests    map[key]*result
	order    []*result
	packages map[string]*result
	builds   map[string][]string // output of builds by import path
	broken   []*result           // packages that failed
	exits    []string            // modules where go test failed
}

// Read reads events from r, writes the progress and the report to w and returns
// the counts. Lines that are no events are written as they are.
func Read(r io.Reader, w io.Writer, slowest int) (Summary, error) {
	t := &run{w: w, tests: map[key]*result{}, packages: map[string]*result{}, builds: map[string][]string{}}
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if line[0] != '{' || json.Unmarshal(line, &e) != nil {
				fmt.Fprint(w, string(line))
			} else {
				t.take(e)
			}
		}
		if err == io.EOF {
			return t.report(slowest), nil
		}
		if err != nil {
			return t.report(slowest), fmt.Errorf("read the events of go test: %w", err)
		}
	}
}

func (t *run) take(e event) {
	switch {
	case e.Action == "build-output":
		t.builds[e.ImportPath] = append(t.builds[e.ImportPath], e.Output)
	case strings.HasPrefix(e.Action, "build-"):
	case e.Action == "exit": // by test.sh: go test failed in this module
		t.exits = append(t.exits, e.Package)
	case e.Test == "":
		t.takePackage(e)
	default:
		t.takeTest(e)
	}
}

func (t *run) takePackage(e event) {
	p := t.packages[e.Package]
	if p == nil {
		p = &result{key: key{pkg: e.Package}}
		t.packages[e.Package] = p
	}
	switch e.Action {
	case "output":
		p.output = append(p.output, e.Output)
	case "pass", "fail", "skip":
		p.action, p.elapsed = e.Action, seconds(e.Elapsed)
		if e.Action == "fail" {
			t.broken = append(t.broken, p)
		}
		if e.Action != "skip" { // without test files
			fmt.Fprintf(t.w, "%-4s %s %.1fs\n", map[string]string{"pass": "ok", "fail": "FAIL"}[e.Action], e.Package, e.Elapsed)
		}
	}
}

func (t *run) takeTest(e event) {
	k := key{e.Package, e.Test}
	r := t.tests[k]
	if r == nil {
		r = &result{key: k}
		t.tests[k] = r
		t.order = append(t.order, r)
		if p := t.above(r); p != nil {
			p.parent = true
		}
	}
	switch e.Action {
	case "output":
		r.output = append(r.output, e.Output)
	case "pass", "fail", "skip":
		r.action, r.elapsed = e.Action, seconds(e.Elapsed)
		if e.Action == "fail" {
			if p := t.above(r); p != nil {
				p.broken = true
			}
		}
		if e.Action == "pass" {
			r.output = nil // nobody reads it, and it may be large
		}
	}
}

func (t *run) above(r *result) *result {
	i := strings.LastIndexByte(r.test, '/')
	if i < 0 {
		return nil
	}
	return t.tests[key{r.pkg, r.test[:i]}]
}

func (t *run) report(slowest int) Summary {
	var s Summary
	skips := map[string]int{}
	failing := map[string]bool{}
	for _, r := range t.order {
		switch {
		case r.action == "": // it was cut off: a panic or a time-out
			if r.parent {
				continue
			}
			r.action = "cut off"
			fallthrough
		case r.action == "fail":
			failing[r.pkg] = true
			if !r.broken {
				s.Failed++
			}
			t.tellFailure(r)
		case r.parent:
		case r.action == "skip":
			s.Skipped++
			skips[reason(r.output)]++
		default:
			s.Passed++
		}
	}
	for _, p := range t.broken {
		if !failing[p.pkg] {
			s.Failed++
			t.tellPackage(p)
		}
	}
	if s.Failed == 0 && len(t.exits) > 0 {
		s.Failed = len(t.exits)
		fmt.Fprintf(t.w, "\n--- FAIL: go test ended with an error in %s\n", strings.Join(t.exits, ", "))
	}
	t.tellSkips(skips)
	t.tellSlow(slowest)
	return s
}

func (t *run) tellFailure(r *result) {
	fmt.Fprintf(t.w, "\n--- %s: %s %s (%.2fs)\n", strings.ToUpper(r.action), r.pkg, r.test, r.elapsed.Seconds())
	t.tell(r.output)
}

func (t *run) tellPackage(p *result) {
	fmt.Fprintf(t.w, "\n--- FAIL: %s, outside its tests\n", p.pkg)
	for path, lines := range t.builds {
		if path == p.pkg || strings.HasPrefix(path, p.pkg+" [") || strings.HasPrefix(path, p.pkg+"_test") {
			t.tell(lines)
			delete(t.builds, path)
		}
	}
	t.tell(p.output)
	if len(t.builds) > 0 && strings.Contains(strings.Join(p.output, ""), "[build failed]") {
		for path, lines := range t.builds { // of a package that it imports
			t.tell(lines)
			delete(t.builds, path)
		}
	}
}

// tell writes output without the frame that go test puts around it.
func (t *run) tell(lines []string) {
	for _, l := range lines {
		text := strings.TrimSpace(l)
		if strings.HasPrefix(text, "=== ") || strings.HasPrefix(text, "--- PASS") || text == "" {
			continue
		}
		fmt.Fprint(t.w, "    ", strings.TrimRight(l, "\n"), "\n")
	}
}

// reason finds why a test was skipped in its output.
func reason(output []string) string {
	for i := len(output) - 1; i >= 0; i-- {
		l := strings.TrimSpace(output[i])
		if l == "" || strings.HasPrefix(l, "--- ") || strings.HasPrefix(l, "=== ") {
			continue
		}
		if _, after, ok := strings.Cut(l, ".go:"); ok { // file.go:12: why
			if _, why, ok := strings.Cut(after, ": "); ok {
				return why
			}
		}
		return l
	}
	return "no reason given"
}

func (t *run) tellSkips(skips map[string]int) {
	if len(skips) == 0 {
		return
	}
	why := make([]string, 0, len(skips))
	for r := range skips {
		why = append(why, r)
	}
	slices.Sort(why)
	fmt.Fprint(t.w, "\nskipped:\n")
	for _, r := range why {
		fmt.Fprintf(t.w, "  %4d  %s\n", skips[r], r)
	}
}

func (t *run) tellSlow(n int) {
	var top []*result
	for _, r := range t.order {
		if !strings.Contains(r.test, "/") {
			top = append(top, r)
		}
	}
	slices.SortStableFunc(top, func(a, b *result) int { return cmp.Compare(b.elapsed, a.elapsed) })
	if len(top) == 0 || n <= 0 {
		return
	}
	fmt.Fprintf(t.w, "\nthe slowest tests:\n")
	for _, r := range top[:min(n, len(top))] {
		fmt.Fprintf(t.w, "  %7.2fs  %s %s\n", r.elapsed.Seconds(), r.pkg, r.test)
	}
	fmt.Fprintln(t.w)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

package arch

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// A Function is a function or a method of a file.
type Function struct {
	Name  string
	Where string // file:line
	Lines int    // from "func" to the closing brace, without its comment
}

// functions lists the functions of a file.
func (t *Tree) functions(s *Source) []Function {
	var all []Function
	for _, d := range s.AST.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			from := t.line(f.Pos())
			all = append(all, Function{f.Name.Name, fmt.Sprintf("%s:%d", s.Path, from), t.line(f.End()) - from + 1})
		}
	}
	return all
}

// Figures say how big the code is and how it is cut. Generated files are not
// counted; lines are all lines, empty ones and comments too.
type Figures struct {
	Files, Lines         int // of production code
	TestFiles, TestLines int
	Functions            int // of production code
	Median, P95          int // lines of a function of production code
	LongFile, LongTest   Function
	LongFunction         Function
	Packages             int
	Exported, Said       int // exported names, and those with a comment
}

// Figures counts the code below prefixes of paths; with none, all of it.
func (t *Tree) Figures(below ...string) Figures {
	var f Figures
	var sizes []int
	packages := map[string]bool{}
	counts := func(s *Source) bool {
		return !s.Generated && (len(below) == 0 || slices.ContainsFunc(below, func(p string) bool {
			return s.Dir == p || strings.HasPrefix(s.Dir, strings.TrimSuffix(p, "/")+"/")
		}))
	}
	for _, s := range t.Code {
		if !counts(s) {
			continue
		}
		file := Function{Where: s.Path, Lines: s.Lines}
		if s.Test {
			f.TestFiles, f.TestLines = f.TestFiles+1, f.TestLines+s.Lines
			f.LongTest = longer(f.LongTest, file)
			continue
		}
		packages[s.Dir] = true
		f.Files, f.Lines = f.Files+1, f.Lines+s.Lines
		f.LongFile = longer(f.LongFile, file)
		for _, fn := range t.functions(s) {
			sizes = append(sizes, fn.Lines)
			f.LongFunction = longer(f.LongFunction, fn)
		}
	}
	slices.Sort(sizes)
	if f.Functions, f.Packages = len(sizes), len(packages); len(sizes) > 0 {
		f.Median, f.P95 = sizes[len(sizes)/2], sizes[len(sizes)*95/100]
	}
	t.exported(func(s *Source, _ token.Pos, _ string, said bool) {
		if counts(s) {
			f.Exported++
			if said {
				f.Said++
			}
		}
	})
	return f
}

// longer is the longer one; the first of two that are equal.
func longer(a, b Function) Function {
	if cmp.Compare(b.Lines, a.Lines) > 0 {
		return b
	}
	return a
}

// Print writes the figures, a line each.
func (f Figures) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(what, format string, args ...any) { fmt.Fprintf(t, "%s\t%s\n", what, fmt.Sprintf(format, args...)) }
	row("packages", "%d", f.Packages)
	row("production", "%d lines in %d files", f.Lines, f.Files)
	row("tests", "%d lines in %d files, %.2f for each line of production", f.TestLines, f.TestFiles, float64(f.TestLines)/float64(max(1, f.Lines)))
	row("functions", "%d; median %d lines, 95th percentile %d", f.Functions, f.Median, f.P95)
	row("longest function", "%d lines: %s, %s", f.LongFunction.Lines, f.LongFunction.Name, f.LongFunction.Where)
	row("longest file", "%d lines: %s", f.LongFile.Lines, f.LongFile.Where)
	row("longest test file", "%d lines: %s", f.LongTest.Lines, f.LongTest.Where)
	row("exported names", "%d, %.1f %% with a comment", f.Exported, 100*float64(f.Said)/float64(max(1, f.Exported)))
	return t.Flush()
}

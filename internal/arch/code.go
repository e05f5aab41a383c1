package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
)

const (
	maxFile     = 800 // lines
	maxFunction = 100
)

// forbidden names say nothing of what a package adapts or does.
var forbidden = []string{"util", "utils", "common", "helper", "helpers", "types", "models", "manager", "shared", "misc", "base"}

// obvious are methods whose names say all: they implement an interface that
// everybody knows, or close a sum.
var obvious = []string{
	"Error", "Unwrap", "Is", "As", "String", "Kind", "Format", "Len", "Less", "Swap",
	"MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText", "LogValue",
}

// Sizes returns the files and functions that are too long to be read.
func (t *Tree) Sizes() []string {
	var faults []string
	for _, s := range t.Code {
		if s.Generated {
			continue
		}
		if s.Lines > maxFile {
			faults = append(faults, fmt.Sprintf("%s: %d lines, want at most %d; split it by noun", s.Path, s.Lines, maxFile))
		}
		for _, d := range s.AST.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			from, to := t.line(f.Pos()), t.line(f.End())
			if n := to - from + 1; n > maxFunction {
				faults = append(faults, fmt.Sprintf("%s:%d: function %s has %d lines, want at most %d", s.Path, from, f.Name.Name, n, maxFunction))
			}
		}
	}
	return faults
}

// Names returns packages with names that say nothing or without a comment, and
// init functions outside tests.
func (t *Tree) Names() []string {
	var faults []string
	said := map[string]bool{}
	for _, s := range t.Code {
		name := s.AST.Name.Name
		if slices.Contains(forbidden, name) || slices.Contains(forbidden, path.Base(s.Dir)) {
			faults = append(faults, fmt.Sprintf("%s: a package called %s says nothing; name it after what it does", s.Path, name))
		}
		for _, d := range s.AST.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" && !s.Test {
				faults = append(faults, fmt.Sprintf("%s:%d: no init functions; wire it where it is used", s.Path, t.line(f.Pos())))
			}
		}
		if !s.Test {
			said[s.Dir] = said[s.Dir] || s.AST.Doc != nil
		}
	}
	for dir, ok := range said {
		if !ok {
			faults = append(faults, fmt.Sprintf("%s: the package has no comment; say in one sentence what it is for", dir))
		}
	}
	slices.Sort(faults)
	return faults
}

// Comments returns the exported names without a comment.
func (t *Tree) Comments() []string {
	var faults []string
	for _, s := range t.Code {
		if s.Test || s.Generated || s.AST.Name.Name == "main" {
			continue
		}
		fault := func(pos token.Pos, name string) {
			faults = append(faults, fmt.Sprintf("%s:%d: %s has no comment; say its shape, units and errors", s.Path, t.line(pos), name))
		}
		for _, d := range s.AST.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Doc == nil && d.Name.IsExported() && !slices.Contains(obvious, d.Name.Name) && exportedReceiver(d) {
					fault(d.Pos(), d.Name.Name)
				}
			case *ast.GenDecl:
				undocumented(d, fault)
			}
		}
	}
	return faults
}

// undocumented reports names that neither their group nor they have a comment.
// A type of a group needs its own.
func undocumented(d *ast.GenDecl, fault func(token.Pos, string)) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if spec.Name.IsExported() && spec.Doc == nil && spec.Comment == nil && (d.Doc == nil || d.Lparen.IsValid()) {
				fault(spec.Pos(), spec.Name.Name)
			}
		case *ast.ValueSpec:
			for _, n := range spec.Names {
				if n.IsExported() && d.Doc == nil && spec.Doc == nil && spec.Comment == nil {
					fault(n.Pos(), n.Name)
				}
			}
		}
	}
}

func exportedReceiver(f *ast.FuncDecl) bool {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return true
	}
	typ := f.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.IndexListExpr:
			typ = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return true
		}
	}
}

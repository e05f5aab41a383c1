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
		for _, f := range t.functions(s) {
			if f.Lines > maxFunction {
				faults = append(faults, fmt.Sprintf("%s: function %s has %d lines, want at most %d", f.Where, f.Name, f.Lines, maxFunction))
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
	t.exported(func(s *Source, pos token.Pos, name string, said bool) {
		if !said {
			faults = append(faults, fmt.Sprintf("%s:%d: %s has no comment; say its shape, units and errors", s.Path, t.line(pos), name))
		}
	})
	return faults
}

// exported visits the names that other packages see, and tells whether a comment
// stands with each. Methods that are [obvious] are left out unless they have one.
func (t *Tree) exported(visit func(s *Source, pos token.Pos, name string, said bool)) {
	for _, s := range t.Code {
		if s.Test || s.Generated || s.AST.Name.Name == "main" {
			continue
		}
		for _, d := range s.AST.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && exportedReceiver(d) && (d.Doc != nil || !slices.Contains(obvious, d.Name.Name)) {
					visit(s, d.Pos(), d.Name.Name, d.Doc != nil)
				}
			case *ast.GenDecl:
				declared(d, func(pos token.Pos, name string, said bool) { visit(s, pos, name, said) })
			}
		}
	}
}

// declared visits the exported names of a declaration. The comment of a group is
// enough for its values, not for its types.
func declared(d *ast.GenDecl, visit func(pos token.Pos, name string, said bool)) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if spec.Name.IsExported() {
				visit(spec.Pos(), spec.Name.Name, spec.Doc != nil || spec.Comment != nil || d.Doc != nil && !d.Lparen.IsValid())
			}
		case *ast.ValueSpec:
			for _, n := range spec.Names {
				if n.IsExported() {
					visit(n.Pos(), n.Name, d.Doc != nil || spec.Doc != nil || spec.Comment != nil)
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

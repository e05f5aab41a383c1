package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
)

// A loosening says when a key may come from a project's file only if the user
// trusts that folder: whoever wrote the file is perhaps nobody that the user
// knows. Keys without one tighten, or harm nobody.
type loosening struct {
	when string // for the page
	is   func(l *loader, k Key, v any) bool
}

var (
	always = &loosening{"always", func(*loader, Key, any) bool { return true }}
	higher = &loosening{"if higher", func(l *loader, k Key, v any) bool {
		return above(v, k.field(l.config))
	}}
	looser = &loosening{"if looser", func(l *loader, k Key, v any) bool {
		order := k.Choices // strict ones first
		if k.Name == "permissions.mode" {
			order = []string{"plan", "deny", "ask", "accept-edits", "bypass"}
		}
		return slices.Index(order, v.(string)) > slices.Index(order, *k.field(l.config).(*string))
	}}
	outside = &loosening{"if outside of it", func(l *loader, _ Key, v any) bool {
		return !within(l.config.Project, v.(string))
	}}
	// A project that changes what a model of the user's own is would have that
	// model's key sent where it was never meant to go.
	takesOver = &loosening{"if it changes a model of your own with a base or a key", func(l *loader, k Key, _ any) bool {
		name := strings.TrimPrefix(k.Name[:strings.LastIndex(k.Name, ".")], "models.")
		m := l.config.Models[name]
		return m.Base != "" || m.Key != ""
	}}
	asFile = &loosening{"if it is a file", func(_ *loader, _ Key, v any) bool {
		name := v.(string)
		return strings.HasSuffix(name, ".md") || strings.ContainsAny(name, `/\`)
	}}
)

// above says whether a limit is higher than the one that holds; one that is not
// set holds nothing.
func above(v, field any) bool {
	switch old := field.(type) {
	case *int:
		return *old > 0 && v.(int) > *old
	case *time.Duration:
		return *old > 0 && v.(time.Duration) > *old
	case *uzda.Money:
		return *old > 0 && v.(uzda.Money) > *old
	}
	return true
}

// within says whether a path is a folder or in it, links followed.
func within(folder, path string) bool {
	if strings.Contains(path, "://") {
		return false
	}
	rel, err := filepath.Rel(followed(folder), followed(path))
	return err == nil && filepath.IsLocal(rel)
}

// followed follows the links of a path as far as it exists.
func followed(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	if up := filepath.Dir(path); up != path {
		return filepath.Join(followed(up), filepath.Base(path))
	}
	return path
}

// trusts says whether the user trusts a folder, or one above it, by the user's
// own file, UZDA_TRUST or --trust. A project cannot say so of itself.
func (l *loader) trusts(folder string) bool {
	list := slices.Clone(l.config.Trust)
	for _, text := range append(strings.Split(l.env["UZDA_TRUST"], "\n"), l.Flags["trust"]...) {
		if text = strings.TrimSpace(text); text != "" {
			list = append(list, resolve(text, l.Dir, l.home))
		}
	}
	return slices.ContainsFunc(list, func(t string) bool { return within(t, folder) })
}

// leavesOut says whether the value of a project's file must not count, and notes it.
func (f *file) leavesOut(k Key, v any, origin string) bool {
	if !f.project || k.loosens == nil || f.config.Trusted && k.Name != "trust" || !k.loosens.is(f.loader, k, v) {
		return false
	}
	f.leftOut = append(f.leftOut, fmt.Sprintf("%s (%s)", k.Name, origin))
	f.config.leftOut[k.Name] = origin
	return true
}

// warnOfTrust tells what was left out, and how to change that.
func (l *loader) warnOfTrust() {
	l.config.Left = l.leftOut
	if len(l.leftOut) == 0 {
		return
	}
	own := l.userFile()
	if own == "" {
		own = "your own " + FileName
	}
	how := fmt.Sprintf("If you have read the file and trust it: --trust %q for once, or add to %s the line trust: [%q]", l.config.Project, own, l.config.Project)
	if l.config.Trusted {
		how = "Only your own file can say which folders you trust: " + own
	}
	l.warn("a project that you do not trust cannot loosen anything, so this is left out: %s\n      %s", strings.Join(l.leftOut, ", "), how)
}

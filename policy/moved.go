package policy

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// What is moved or copied becomes something else by its new name: docs/a.md is a text,
// agents/a.md tells an agent what to do.

// carries says whether a part gives files a name elsewhere.
func (p part) carries() bool {
	return len(p.Words) > 0 && len(p.Writes) > 0 && slices.Contains([]string{"mv", "cp", "ln", "install"}, p.Words[0].Text)
}

// deepen marks the folders that mv takes away: all that lies below goes with them. Of
// the folder that cp copies to, only what it would make counts, see brought; alone says
// that no other part of the command can change what is copied.
func (p part) deepen(alone bool) {
	if !p.carries() {
		return
	}
	known := !slices.ContainsFunc(p.touches, func(t touch) bool {
		return t.maybe || !t.write && !slices.ContainsFunc(t.ends, exists)
	})
	for i, t := range p.touches {
		switch p.Words[0].Text {
		case "mv":
			p.touches[i].deep = t.deep || p.source(t) && slices.ContainsFunc(t.ends, isDir)
		case "cp":
			p.touches[i].deep = t.deep && !(alone && known && t.write && !p.source(t))
		}
	}
}

// source says whether a path is one that a part takes from, not where it puts it.
func (p part) source(t touch) bool {
	return !t.write || slices.ContainsFunc(p.touches, func(r touch) bool { return !r.write && slices.Equal(r.names, t.names) })
}

// brought says what a part would make of the files that it moves, copies or links,
// where that is protected; also where it is not there yet.
func (u *subject) brought(p part) string {
	if !p.carries() {
		return ""
	}
	for _, to := range p.touches {
		if !to.write || p.source(to) {
			continue
		}
		for _, from := range p.touches {
			if from.write || from.maybe || to.maybe {
				continue
			}
			for _, end := range to.ends {
				if why := u.becomes(from, end); why != "" {
					return why
				}
			}
		}
	}
	return ""
}

// becomes says what is delicate about the names that a source would have at a place.
func (u *subject) becomes(from touch, place string) string {
	names := []string{place}
	if base := filepath.Base(filepath.Clean(from.text)); base != "." && base != ".." {
		names = append(names, filepath.Join(place, base))
	}
	check := func(name string) string {
		t := u.at.touch(name, name, true)
		if t.trap != "" || u.outside(t) {
			return fmt.Sprintf("it would write %s, which leads outside of the roots", show(name))
		}
		for _, r := range u.pathRules(true) {
			if ok, _ := u.at.covers(r, t, strict); ok {
				return fmt.Sprintf("it would make %s, and the rule %s (%s) is about it", show(name), r, r.Origin)
			}
		}
		if why := u.at.protected(t); why != "" && !u.named(t) {
			return fmt.Sprintf("it would make %s: %s", show(name), why)
		}
		return ""
	}
	for i, name := range names {
		if i > 0 && !isDir(place) && !strings.HasSuffix(from.text, "/") && exists(place) {
			continue
		}
		if i > 0 {
			if why := check(name); why != "" {
				return why
			}
		}
		if !slices.ContainsFunc(from.ends, isFile) && slices.ContainsFunc(steeringPairs, func(p [2]string) bool { return p[0] == folded(filepath.Base(name)) }) {
			return fmt.Sprintf("it would make the folder %s, whose files change what runs or what an agent is told", show(name))
		}
	}
	for _, end := range from.ends {
		if !isDir(end) {
			continue
		}
		why := ""
		_, all := below(end, func(b touch) bool {
			rel := strings.TrimPrefix(b.text, end)
			for _, name := range names {
				if why = check(name + rel); why != "" {
					return true
				}
			}
			return false
		})
		if why != "" {
			return why
		}
		if !all {
			return show(from.text) + " holds too much to see what it would become"
		}
	}
	return ""
}

package hook

import "github.com/uzda-dev/uzda"

// Matched is matched.
var Matched = matched

// Judge is what a guard's output means that went well.
func Judge(stdout string) (v uzda.Verdict, blocked bool, err error) {
	a, err := read(stdout)
	o := outcome{hook: Hook{Command: "x"}, answer: a}
	if err != nil {
		o.failed = err.Error()
	}
	_, blocked = a.blocks()
	return (&Set{}).verdict(o), blocked, err
}

package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
)

// mend adds to the hint of a turn whose model did not answer what only this program
// knows: where the key came from, which model may have been meant, how to go on.
func (r *runner) mend(s *agent.State, o *uzda.Outcome) {
	if o.Reason.Outcome() != uzda.Failed || s.Last.Broke.Error == "" || o.Detail != s.Last.Broke.Error {
		return
	}
	var more []string
	if o.Hint != "" {
		more = append(more, o.Hint)
	}
	then := "`uzda resume " + string(r.id) + "`"
	switch s.Last.Broke.Code {
	case "auth":
		variable, _ := r.firstSet(profileOf(r.uses.service).KeyVars)
		if variable = cmp.Or(r.uses.Key, variable); variable != "" {
			more = append(more, "the key is that of "+variable)
		}
	case "not_found":
		if near := r.prices.Near(r.uses.provider, r.uses.id); near != "" {
			more = append(more, "did you mean "+near+"?")
			then = "`uzda resume " + string(r.id) + " --model " + near + "`"
		}
		if r.uses.provider != "" {
			more = append(more, fmt.Sprintf("`uzda models %s` lists those that are known", r.uses.provider))
		}
	}
	if !strings.Contains(o.Hint, "uzda resume") {
		more = append(more, "nothing is lost: "+then+" goes on")
	}
	o.Hint = strings.Join(more, "\n")
}

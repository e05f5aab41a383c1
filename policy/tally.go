package policy

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
)

// A Tally counts what people said to the uses that one rule would allow.
type Tally struct {
	Rule     string `json:"rule"`
	Asked    int    `json:"asked"`
	Approved int    `json:"approved"`
	Denied   int    `json:"denied"`
	Failed   int    `json:"failed"` // of the approved
}

// When a rule is proposed: so many approvals, no denial, and at most one failure
// in so many.
const (
	manyApprovals = 5
	rareFailures  = 5
)

// longRule is how many characters a rule that is proposed has at most: nobody reads
// more, and a command of that length does not come again.
const longRule = 200

// Looser says whether the counts speak for the rule.
func (t Tally) Looser() bool {
	return t.Approved >= manyApprovals && t.Denied == 0 && t.Failed*rareFailures <= t.Approved
}

// A Use is what became of one use that was judged.
type Use struct {
	ID       uzda.UseID      `json:"use"`
	Tool     string          `json:"tool"`
	Input    json.RawMessage `json:"input"`
	Verdict  uzda.Decision   `json:"verdict"`
	Reason   string          `json:"reason"`
	Rule     string          `json:"rule"`
	Origin   string          `json:"origin"`
	Gate     string          `json:"gate,omitempty"` // that gave the verdict
	Answer   *Said           `json:"answer,omitempty"`
	Started  bool            `json:"started"`
	Returned bool            `json:"returned"`
	Failed   bool            `json:"failed"`
	Code     uzda.Code       `json:"code,omitempty"`

	spec uzda.ToolSpec
	dir  string
	asks bool // it was asked at some time
	hash string
}

// Said is how a person answered.
type Said struct {
	Verdict uzda.Decision `json:"verdict"`
	Reason  string        `json:"reason,omitempty"`
	Scope   uzda.Scope    `json:"scope,omitempty"`
	Rule    string        `json:"rule,omitempty"` // what was granted for the session
	By      string        `json:"by,omitempty"`
}

// Uses reads what was judged in a session, in the order of the calls.
func Uses(events iter.Seq2[uzda.Event, error]) ([]Use, error) {
	var out []*Use
	byID := map[uzda.UseID]*Use{}
	specs := map[string]uzda.ToolSpec{}
	dir := ""
	for e, err := range events {
		if err != nil {
			return nil, err
		}
		switch b := e.Body.(type) {
		case uzda.Opened:
			dir = b.Dir
		case uzda.Equipped:
			for _, s := range b.Tools {
				specs[s.Name] = s
			}
		case uzda.Said:
			n := 0
			for _, block := range b.Message.Blocks {
				if u, ok := block.(uzda.ToolUse); ok {
					if n++; u.ID == "" { // the loop names it when the message joins the view
						u.ID = uzda.UseID(fmt.Sprintf("%d.%d", e.Seq, n))
					}
					x := &Use{ID: u.ID, Tool: u.Name, Input: u.Input, spec: specs[u.Name], dir: dir}
					out = append(out, x)
					byID[u.ID] = x
				}
			}
		case uzda.Judged:
			if u := byID[b.Use]; u != nil {
				u.judged(b)
			}
		case uzda.Answered:
			if u := byID[b.Use]; u != nil && b.Hash == u.hash {
				u.Answer = &Said{b.Verdict.Decision, b.Verdict.Reason, b.Scope, b.Rule, b.By}
			}
		case uzda.Started:
			if u := byID[b.Use]; u != nil {
				u.Started = true
			}
		case uzda.Returned:
			if u := byID[b.Result.Use]; u != nil && b.Pending == nil {
				u.Returned, u.Failed, u.Code = true, b.Result.IsError, b.Result.Code
			}
		}
	}
	uses := make([]Use, 0, len(out))
	for _, u := range out {
		if u.Verdict != "" {
			uses = append(uses, *u)
		}
	}
	return uses, nil
}

// judged takes over a verdict. An answer holds for what it was given to.
func (u *Use) judged(b uzda.Judged) {
	v := b.Verdict
	if v.Decision == uzda.Ask && (b.Hash != u.hash || v.Decision != u.Verdict || v.Reason != u.Reason) {
		u.Answer = nil
	}
	u.Verdict, u.Reason, u.Rule, u.Origin, u.Gate, u.hash = v.Decision, v.Reason, v.Rule, v.Origin, b.By, b.Hash
	u.asks = u.asks || v.Decision == uzda.Ask
	if b.Input != nil {
		u.Input = b.Input
	}
}

// Tallies counts what was asked, by the rule that the gate would propose for it, and
// leaves out what its rules allow by now. A path is written whole, so that the rule
// means the same in the settings.
func (g Gate) Tallies(uses []Use) []Tally {
	counts := map[string]*Tally{}
	for _, u := range uses {
		if !u.asks {
			continue
		}
		a := uzda.Action{Use: uzda.Use{Name: u.Tool, Input: u.Input, Dir: u.dir}, Spec: u.spec, Dir: u.dir, Mode: ModeAsk}
		rule := anywhere(g.Propose(a), u.dir)
		if v, err := g.Check(context.Background(), a); rule == "" || err != nil || v.Decision == uzda.Allow || utf8.RuneCountInString(rule) > longRule {
			continue // nothing would be asked any more, or hardly this again
		}
		t := counts[rule]
		if t == nil {
			t = &Tally{Rule: rule}
			counts[rule] = t
		}
		t.Asked++
		switch {
		case u.Answer == nil:
		case u.Answer.Verdict == uzda.Allow:
			t.Approved++
			if u.Started && u.Failed {
				t.Failed++
			}
		default:
			t.Denied++
		}
	}
	out := []Tally{}
	for _, t := range counts {
		out = append(out, *t)
	}
	slices.SortFunc(out, func(a, b Tally) int {
		return cmp.Or(cmp.Compare(b.Approved, a.Approved), cmp.Compare(b.Asked, a.Asked), cmp.Compare(a.Rule, b.Rule))
	})
	return out
}

// anywhere writes a rule about ./x as one about the whole path.
func anywhere(rule, dir string) string {
	tool, rest, ok := strings.Cut(rule, "(./")
	if !ok || dir == "" || strings.ContainsAny(dir, "*?[\\") {
		return rule
	}
	if r, err := Parse(uzda.Allow, rule, ""); err != nil || r.kind() != ofPaths {
		return rule
	}
	return tool + "(/" + strings.TrimSuffix(filepath.ToSlash(dir), "/") + "/" + rest
}

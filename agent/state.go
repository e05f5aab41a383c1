// Package agent advances one session: it folds the journal, decides moves, makes
// them and records what came of them.
package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/uzda-dev/uzda"
)

// State is what a session's events add up to, and nothing else. It holds the
// view and the open step, and what outlives steps; what is done is only counted.
type State struct {
	Head     uzda.Seq      `json:"head"`
	ReadOnly string        `json:"read_only,omitempty"` // why the session can't go on here
	Opened   uzda.Opened   `json:"opened"`
	Gear     uzda.Equipped `json:"gear"`
	GearGen  int           `json:"gear_gen"`
	GearHash string        `json:"gear_hash,omitempty"`

	View   []uzda.Entry `json:"view,omitempty"`
	Gen    int          `json:"gen"`            // counts edits
	Hash   string       `json:"hash,omitempty"` // rolling hash of the view
	Inbox  []Mail       `json:"inbox,omitempty"`
	Labels []uzda.Label `json:"labels,omitempty"`
	Grants []uzda.Grant `json:"grants,omitempty"`
	Asks   int          `json:"asks"`           // in the session
	Size   int          `json:"size"`           // tokens of the context after the last reply, as counted by the provider
	Grown  int          `json:"grown"`          // bytes that joined the view since
	Rate   int          `json:"rate,omitempty"` // tokens that the provider counted for 1,000 bytes; 0: not yet known
	Most   int          `json:"most,omitempty"` // tokens that the model takes, as a refusal has shown; 0: none has
	Used   uzda.Usage   `json:"used,omitzero"`  // of the last reply; zero where head or view were changed since

	// Weighed is the size of the request after the last edit, as the planner weighed
	// it, and WeighedAt is what Grown was then with what was to join; 0: see Size.
	Weighed   int `json:"weighed,omitempty"`
	WeighedAt int `json:"weighed_at,omitempty"`

	Compacted int `json:"compacted,omitempty"` // compactions since the last handover
	Missed    int `json:"missed,omitempty"`    // moves in a row that came to nothing

	Turn   Turn            `json:"turn"`
	Ask    *uzda.Asked     `json:"ask,omitempty"`
	Uses   []Open          `json:"uses,omitempty"` // of the open step, in call order
	Stop   uzda.StopReason `json:"stop,omitempty"` // of the last reply, where it opened no use
	Raw    string          `json:"raw,omitempty"`  // the provider's word for Stop, and its detail
	Cancel uzda.Seq        `json:"cancel,omitempty"`
	Why    string          `json:"why,omitempty"` // of the cancel, where it was no person's
	Parked *uzda.Parked    `json:"parked,omitempty"`
	Ended  *uzda.Ended     `json:"ended,omitempty"` // how the last turn ended
	Last   Turn            `json:"last"`            // the counters of the last turn that ended

	Unknown map[uzda.UseID]Doubt `json:"unknown,omitempty"` // outcomes that nobody has resolved
	Once    map[string]Claim     `json:"once,omitempty"`    // keys that are taken

	Usage uzda.Usage `json:"usage"` // of the session
	Cost  uzda.Money `json:"cost"`
	Guess bool       `json:"guess,omitempty"` // Cost or Usage is only a lower bound
	// Unpriced: a part of Cost is at the dearest known price, since nobody knows it.
	Unpriced bool `json:"unpriced,omitempty"`
}

// byHook is who cancels for a hook: its reason is for the model and for people.
const byHook = "hook"

// Mail is a message that waits to join the view.
type Mail struct {
	uzda.Entry
	Turn bool `json:"turn,omitempty"` // only when the turn that runs has ended
}

// Turn holds a turn's counters; Seq is the Posted that began it, 0 at rest.
type Turn struct {
	Seq      uzda.Seq      `json:"seq,omitempty"`
	Steps    int           `json:"steps,omitempty"`
	Calls    int           `json:"calls,omitempty"`
	Tokens   int           `json:"tokens,omitempty"` // used, or held by asks that were lost
	Cost     uzda.Money    `json:"cost,omitempty"`
	Lost     uzda.Money    `json:"lost,omitempty"` // held by asks that were lost; the budget counts it as spent
	Active   time.Duration `json:"active,omitempty"`
	Held     uzda.Spend    `json:"held,omitzero"`      // by children that still work
	Usage    uzda.Usage    `json:"usage,omitzero"`     // of the replies
	Unpriced bool          `json:"unpriced,omitempty"` // as in State
	Model    string        `json:"model,omitempty"`    // that answered last
	Broke    uzda.Broken   `json:"broke,omitzero"`     // the last reply, where it did not come
	Cuts     int           `json:"cuts,omitempty"`     // replies in a row that broke
	Refusals int           `json:"refusals,omitempty"` // requests in a row that were too long
	Refused  string        `json:"refused,omitempty"`  // hash of the last of them, where it must get shorter
	Short    int           `json:"short,omitempty"`    // replies in a row that were cut inside a call
	Mute     int           `json:"mute,omitempty"`     // empty replies in a row
	Pauses   int           `json:"pauses,omitempty"`   // replies in a row that paused
	Rejected int           `json:"rejected,omitempty"` // verifications that failed
	Task     []string      `json:"task,omitempty"`     // what was posted; an edit may take it out of the view
	Verified bool          `json:"verified,omitempty"`
	Reject   string        `json:"reject,omitempty"` // the end of what the last check said
	Children int           `json:"children,omitempty"`
	Denied   int           `json:"denied,omitempty"`
	Failed   int           `json:"failed,omitempty"` // uses that failed in a row, as in uzda.Action
	Over     bool          `json:"over,omitempty"`   // a call was not started: no time, or no calls left
	Nobody   int           `json:"nobody,omitempty"` // of Denied: nobody could be asked
	Past     string        `json:"past,omitempty"`   // digests of the last steps
	Fatal    string        `json:"fatal,omitempty"`
	Answer   string        `json:"answer,omitempty"` // what was said or given last
	Final    bool          `json:"final,omitempty"`  // Answer is the input of a final tool
}

// Open is a use of the open step.
type Open struct {
	ID      uzda.UseID       `json:"id"`
	Name    string           `json:"name"`
	Input   json.RawMessage  `json:"input"`
	Raw     string           `json:"raw,omitempty"`
	Spec    *uzda.ToolSpec   `json:"spec,omitempty"` // nil: no such tool
	Judged  *uzda.Judged     `json:"judged,omitempty"`
	Answer  *uzda.Answered   `json:"answer,omitempty"`
	Started *uzda.Started    `json:"started,omitempty"`
	Pending *uzda.Pending    `json:"pending,omitempty"`
	Result  *uzda.ToolResult `json:"result,omitempty"`
}

// Args is the input as coerced.
func (o Open) Args() json.RawMessage {
	if o.Judged != nil && o.Judged.Input != nil {
		return o.Judged.Input
	}
	return o.Input
}

func (o Open) alone() bool {
	return o.Spec != nil && !o.Spec.Effects.ReadOnly && !o.Spec.Effects.Independent
}

// A Doubt is a use whose outcome is unknown.
type Doubt struct {
	Tool string `json:"tool"`
	Args string `json:"args"` // hash of the canonical input
}

// A Claim is who took a once-key, and what came of it: Result, or no more than
// that it took effect, or neither as long as that is unknown.
type Claim struct {
	Use    uzda.UseID       `json:"use"`
	Result *uzda.ToolResult `json:"result,omitempty"`
	Took   bool             `json:"took,omitempty"`
}

// Fork copies what Fold may change, so that moves can be tried before they
// count. It costs the open step, not the view: appends of the fork land behind
// the view's end, where only the next Fold of s writes.
func (s *State) Fork() *State {
	f := *s
	f.Uses = slices.Clone(s.Uses)
	return &f
}

// Fold applies one event. It is deterministic, does no I/O and mends nothing.
func (s *State) Fold(e uzda.Event) {
	s.Head = e.Seq
	switch b := e.Body.(type) {
	case uzda.Posted:
		s.Inbox = append(s.Inbox[:len(s.Inbox):len(s.Inbox)],
			Mail{uzda.Entry{Seq: e.Seq, Message: uzda.Message{Role: uzda.User, Blocks: b.Blocks}}, b.Turn})
		if s.Turn.Seq == 0 {
			s.Turn = Turn{Seq: e.Seq}
		}
	case uzda.Answered:
		s.answered(b)
	case uzda.Cancelled:
		if s.Turn.Seq != 0 && (b.Turn == 0 || b.Turn == s.Turn.Seq) {
			s.Cancel, s.Parked = e.Seq, nil
			if b.By == byHook && s.Why == "" {
				s.Why = b.Why
			}
		}
	case uzda.Delivered:
		if u := s.use(b.Result.Use); u != nil && u.Started != nil && u.Result == nil {
			s.spend(b.Spent)
			s.close(e.Seq, u, b.Result)
		}
	case uzda.Resolved:
		s.resolve(b.Use, b.Took, nil)
	case uzda.Late:
		if b.Result.Effect == uzda.EffectDone { // it did happen: that much is known now
			s.resolve(b.Result.Use, true, &b.Result)
		}
	case uzda.Opened:
		s.Opened = b
	case uzda.Equipped:
		s.equip(b)
	case uzda.Asked:
		s.asked(b)
	case uzda.Edited:
		if s.CanEdit(b) == nil {
			s.edit(e.Seq, b)
		}
	case uzda.Missed:
		s.Missed++
	case uzda.Parked:
		s.Parked = &b
	case uzda.Ended:
		s.end(b)
	case uzda.Unread:
		if b.Need {
			s.ReadOnly = fmt.Sprintf("event %d has the kind %q (version %d), which this program does not know", e.Seq, b.Name, b.V)
		}
	default:
		s.foldStep(e.Seq, e.Body)
	}
}

func (s *State) use(id uzda.UseID) *Open {
	for i := range s.Uses {
		if s.Uses[i].ID == id {
			return &s.Uses[i]
		}
	}
	return nil
}

func (s *State) spec(name string) *uzda.ToolSpec {
	for i := range s.Gear.Tools {
		if s.Gear.Tools[i].Name == name {
			return &s.Gear.Tools[i]
		}
	}
	return nil
}

// Equal says whether two states are the same, by their JSON.
func (s *State) Equal(o *State) bool {
	a, err := json.Marshal(s)
	b, err2 := json.Marshal(o)
	return err == nil && err2 == nil && bytes.Equal(a, b)
}

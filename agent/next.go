package agent

import (
	"fmt"
	"strconv"
	"time"

	"github.com/uzda-dev/uzda"
)

// Act is what the loop can do.
type Act int

// The acts.
const (
	AskModel  Act = iota
	JudgeUse      // coerce, preview, hash, gates
	StartUse      // preview again where a person approved, then run
	RefuseUse     // give it the error result Code
	FireUse       // its timer is due
	Verify        // check what the model takes for its end
	Park
	End
)

// A Move is one thing to do next.
type Move struct {
	Act  Act
	Use  uzda.UseID
	Code uzda.Code
	Why  string // of a refusal
	Tail string // of an ask
	Body uzda.Body
}

// A Hand is what this runner has in flight. It is empty after a crash, which is
// all that tells a running use from a lost one.
type Hand struct {
	Asking  bool
	Beside  bool // a plan or a verification
	Uses    map[uzda.UseID]bool
	Judging map[uzda.UseID]bool // being judged, or checked again before the start
}

const (
	parallel   = 8   // uses in flight
	digest     = 16  // characters of a step's digest
	rejectSize = 500 // bytes of what a check said that the end tells
	retries    = 2   // of empty replies, and of replies cut inside a call
)

// What the model is told in the tail of an ask.
const (
	tailLoop  = "You have made the same calls with the same results several times now. They will not change. Read the last result again, do something else, or finish with what you know."
	tailMute  = "Your last reply was empty. Answer in words, or call a tool."
	tailShort = "Your last reply was cut off by the output limit in the middle of a tool call, so the call was not run. Make it smaller: fewer or shorter arguments, or several calls one after the other."
)

// Next decides the next moves from the state, the time and the hand. It does no
// I/O. No move means: wait for what is in flight, or rest.
func (s *State) Next(now time.Time, h Hand) []Move {
	switch {
	case s.ReadOnly != "" || s.Turn.Seq == 0:
		return nil
	case s.Cancel != 0:
		return s.closing(h)
	case s.Ask != nil && h.Asking, h.Beside:
		return nil
	case len(s.Uses) > 0:
		return s.step(now, h)
	}
	if m, ok := s.stopped(); ok {
		return m
	}
	m := Move{Act: AskModel}
	switch {
	case s.Turn.Short > 0:
		m.Tail = tailShort
	case s.Turn.Mute > 0:
		m.Tail = tailMute
	case s.warn():
		m.Tail = tailLoop
	}
	return []Move{m}
}

// stopped says how the turn goes to its end, if it does.
func (s *State) stopped() ([]Move, bool) {
	t, l := &s.Turn, s.Gear.Limits
	switch {
	case t.Fatal != "":
		return ending(uzda.ToolError, t.Fatal, "the tool reported an error that the model could not mend"), true
	case s.Gear.Verify != "" && t.Rejected >= l.Rejections:
		return ending(uzda.Unverified, fmt.Sprintf("the check %q failed %d times; at last: %s", s.Gear.Verify, t.Rejected, t.Reject),
			"see what it wants, or raise the limit of rejections"), true
	case t.Final:
		return s.finish(uzda.FinalTool), true
	}
	if why, detail := s.over(); why != "" {
		return ending(why, detail, hintOver[why]), true
	}
	if t.Cuts > 0 || t.Refusals > 0 {
		if why, ok := s.broke(); ok {
			return ending(why, t.Broke.Error, t.Broke.Hint), true
		}
	}
	switch s.Stop {
	case "":
		return nil, false
	case uzda.StopEnd, uzda.StopUse:
		switch {
		case t.Mute == 0, s.Gear.MayBeMute:
			return s.finish(uzda.EndTurn), true
		case t.Mute > retries:
			return ending(uzda.EmptyResponse, fmt.Sprintf("%d replies in a row had neither text nor calls", t.Mute), ""), true
		}
		return nil, false
	case uzda.StopSequence:
		return s.finish(uzda.EndSequence), true
	case uzda.StopLength:
		if t.Short > 0 && t.Short <= retries {
			return nil, false
		}
		return ending(uzda.OutputTruncated, "the reply was cut at its output limit; what it said is not whole", "raise the model's max_tokens, or ask for less at once"), true
	case uzda.StopPause:
		if t.Pauses <= l.Continuations {
			return nil, false
		}
		return ending(uzda.MaxContinuations, fmt.Sprintf("the provider paused %d times in a row", t.Pauses), ""), true
	case uzda.StopRefusal:
		return ending(uzda.Refusal, orElse(s.Raw, "the model refused"), ""), true
	case uzda.StopContext:
		return ending(uzda.ContextExhausted, "the request no longer fits the model's window", "begin a new session, or use a model with a larger window"), true
	}
	return ending(uzda.ProviderFailed, fmt.Sprintf("the provider stopped for a reason that is not known here: %q", s.Raw), ""), true
}

// finish ends a turn that is done, once it has been verified where that is asked for.
func (s *State) finish(why uzda.Reason) []Move {
	if s.Gear.Verify != "" && !s.Turn.Verified {
		return []Move{{Act: Verify}}
	}
	if why == uzda.EndTurn && s.Turn.Nobody > 0 {
		return ending(uzda.EndTurnDenied, fmt.Sprintf("calls that were denied because nobody could be asked: %d", s.Turn.Nobody),
			"allow them by a rule, or run where somebody can answer")
	}
	return ending(why, "", "")
}

// broke says whether a reply that did not come ends the turn. One that was cut
// is asked for once more; what a retry below has given up on is not.
func (s *State) broke() (uzda.Reason, bool) {
	switch s.Turn.Broke.Code {
	case "cut":
		return uzda.ProviderFailed, s.Turn.Cuts > 1
	case "overloaded", "rate_limit":
		return uzda.Overloaded, true
	case "auth", "not_found", "config":
		return uzda.ConfigError, true
	case codeContext: // shortened once, it is asked again
		return uzda.ContextExhausted, s.Gear.Budget == 0 || s.Turn.Refusals > 1
	case codeBudget:
		return uzda.MaxCost, true
	case codeCrash:
		return uzda.InternalError, true
	}
	return uzda.ProviderFailed, true
}

func ending(why uzda.Reason, detail, hint string) []Move {
	return []Move{{Act: End, Body: uzda.Ended{Outcome: why.Outcome(), Reason: why, Detail: detail, Hint: hint}}}
}

var hintOver = map[uzda.Reason]string{
	uzda.MaxSteps:     "raise --max-steps, or ask for less at once; `uzda resume` goes on",
	uzda.MaxCalls:     "raise --max-tool-calls, or ask for less at once; `uzda resume` goes on",
	uzda.MaxTokens:    "raise --max-tokens, or ask for less at once; `uzda resume` goes on",
	uzda.MaxTime:      "raise --timeout, or ask for less at once; `uzda resume` goes on",
	uzda.MaxCost:      "raise --max-cost, or ask for less at once; `uzda resume` goes on",
	uzda.LoopDetected: "look at the result that the repeated call gets: a wrong tool points at its description, an error at its text",
}

// over names the fuse that has blown. A reply that ends the turn by itself still
// counts, as an answer or as what it is.
func (s *State) over() (uzda.Reason, string) {
	t, l := &s.Turn, s.Gear.Limits
	if s.Stop != "" && s.Stop != uzda.StopPause && t.Mute == 0 && t.Short == 0 {
		return "", ""
	}
	after := func(what string) string { return what + " after " + steps(t.Steps) }
	switch {
	case repeated(t.Past) > l.Repeat:
		return uzda.LoopDetected, after("the same calls had the same results again and again")
	case t.Steps+t.Held.Steps >= l.Steps:
		return uzda.MaxSteps, after(fmt.Sprintf("the limit of %d steps was reached", l.Steps))
	case t.Calls+t.Held.Calls >= l.Calls && t.Over: // at the limit it may still answer
		return uzda.MaxCalls, after(fmt.Sprintf("the limit of %d tool calls was reached", l.Calls))
	case t.Tokens+t.Held.Tokens >= l.Tokens:
		return uzda.MaxTokens, after(fmt.Sprintf("%d of %d tokens were used", t.Tokens, l.Tokens))
	case t.Active >= l.Time:
		return uzda.MaxTime, after(fmt.Sprintf("%s of %s were used", t.Active.Round(time.Millisecond), l.Time))
	case t.Cost+t.Lost+t.Held.Cost >= l.Cost:
		return uzda.MaxCost, after(fmt.Sprintf("%s of %s were used", t.Cost+t.Lost, l.Cost))
	}
	return "", ""
}

func steps(n int) string {
	if n == 1 {
		return "1 step"
	}
	return strconv.Itoa(n) + " steps"
}

// repeated counts how often the last step, or the last two or three in turn,
// were made with the same results. Longer circles count one more, so that two
// calls in turn are told after three rounds where one call is after four.
func repeated(past string) int {
	most := 0
	for period := 1; period <= 3; period++ {
		n := len(past) / digest
		same := 0
		for i := n - 1; i-period >= 0 && past[i*digest:][:digest] == past[(i-period)*digest:][:digest]; i-- {
			same++
		}
		rounds := (same + period) / period
		if period > 1 {
			rounds++
		}
		if same >= period {
			most = max(most, rounds)
		}
	}
	return most
}

// warn says whether the model is to be told now that it repeats itself: once,
// when the last step made it too often.
func (s *State) warn() bool {
	past, most := s.Turn.Past, s.Gear.Limits.Repeat
	return len(past) >= digest && repeated(past) == most && repeated(past[:len(past)-digest]) < most
}

// closing gives every open use a result and ends the turn. What is in flight is
// cancelled by the runner, which answers for it, and the turn ends after that.
func (s *State) closing(h Hand) []Move {
	var moves []Move
	wait := h.Asking || h.Beside || len(h.Uses)+len(h.Judging) > 0
	for _, u := range s.Uses {
		switch {
		case u.Result != nil, h.Uses[u.ID]:
		case u.Started != nil && u.Pending == nil && !u.Started.Effects.ReadOnly:
			moves = append(moves, Move{Act: RefuseUse, Use: u.ID, Code: uzda.CodeOutcomeUnknown})
		default:
			m := Move{Act: RefuseUse, Use: u.ID, Code: uzda.CodeCancelled}
			if s.Why != "" {
				m.Why = "Cancelled: " + s.Why
			}
			moves = append(moves, m)
		}
	}
	if len(moves) > 0 || wait {
		return moves
	}
	return ending(uzda.CancelledByUser, s.Why, "`uzda resume` goes on")
}

// halted says why no further use of the step may start, if none may.
func (s *State) halted() string {
	switch {
	case s.Turn.Fatal != "":
		return "Not started: another call of this reply failed in a way that ends the turn."
	case s.Turn.Active >= s.Gear.Limits.Time:
		return "Not started: the time for this turn is used up."
	}
	return ""
}

// walk is what step knows while it goes through the uses in call order.
type walk struct {
	moves   []Move
	waits   []uzda.UseID
	on      uzda.Reason
	until   time.Time
	flying  int  // in flight
	running int  // of those before: open and not finished
	shut    bool // nothing further may start
	asked   bool // one of those before waits for approval
	left    int  // calls until the fuse
}

func (w *walk) wait(id uzda.UseID, on uzda.Reason, until time.Time) {
	w.waits = append(w.waits, id)
	if w.on == "" {
		w.on = on
	}
	if !until.IsZero() && (w.until.IsZero() || until.Before(w.until)) {
		w.until = until
	}
}

func (w *walk) busy(u Open) { w.running, w.shut = w.running+1, w.shut || u.alone() }

// step decides about the uses of the open step, in call order.
func (s *State) step(now time.Time, h Hand) []Move {
	w := &walk{flying: len(h.Uses) + len(h.Judging), left: s.Gear.Limits.Calls - s.Turn.Calls - s.Turn.Held.Calls}
	halted := s.halted()
	for _, u := range s.Uses {
		switch {
		case u.Result != nil:
		case u.Pending != nil && !u.Pending.Until.IsZero() && !now.Before(u.Pending.Until):
			w.moves = append(w.moves, Move{Act: FireUse, Use: u.ID})
		case u.Pending != nil && halted == "":
			w.wait(u.ID, uzda.Reason(u.Pending.On), u.Pending.Until)
			w.busy(u)
		case u.Pending != nil:
			w.moves = append(w.moves, Move{Act: RefuseUse, Use: u.ID, Code: uzda.CodeCancelled})
		case h.Uses[u.ID], h.Judging[u.ID]:
			w.busy(u)
		case u.Started != nil && !u.Started.Effects.Again():
			w.moves = append(w.moves, Move{Act: RefuseUse, Use: u.ID, Code: uzda.CodeOutcomeUnknown})
		case halted != "" && u.Started == nil:
			w.moves = append(w.moves, Move{Act: RefuseUse, Use: u.ID, Code: uzda.CodeNotStarted, Why: halted})
		case w.left <= 0 && u.Started == nil:
			w.moves = append(w.moves, Move{Act: RefuseUse, Use: u.ID, Code: uzda.CodeNotStarted,
				Why: "Not started: the limit of " + strconv.Itoa(s.Gear.Limits.Calls) + " tool calls for this turn is reached."})
		case u.Spec == nil || u.Raw != "":
			w.left--
			w.moves = append(w.moves, Move{Act: JudgeUse, Use: u.ID})
		case w.shut:
		case u.alone() && w.running > 0:
			w.shut = true // it waits for those before it and holds those after it
		default:
			s.nextUse(w, u)
		}
	}
	if len(w.moves) == 0 && w.flying == 0 && len(w.waits) > 0 && s.Parked == nil {
		w.moves = append(w.moves, Move{Act: Park, Body: uzda.Parked{On: w.on, Uses: w.waits, Until: w.until}})
	}
	return w.moves
}

// nextUse decides about a use that nothing before it holds.
func (s *State) nextUse(w *walk, u Open) {
	stale := u.Judged != nil && u.Started == nil && (u.Judged.Labels < len(s.Labels) ||
		u.Judged.Grants < len(s.Grants) && u.Judged.Verdict.Decision == uzda.Ask && u.Answer == nil)
	switch {
	case u.Judged == nil || stale:
		if w.flying < parallel {
			w.moves = append(w.moves, Move{Act: JudgeUse, Use: u.ID})
			w.flying++
			w.left--
		}
		w.busy(u)
	case u.Judged.Verdict.Decision == uzda.Deny, u.Answer != nil && u.Answer.Verdict.Decision != uzda.Allow:
		w.moves = append(w.moves, Move{Act: RefuseUse, Use: u.ID, Code: uzda.CodeDenied})
	case u.Judged.Verdict.Decision == uzda.Ask && u.Answer == nil:
		w.wait(u.ID, uzda.WaitApproval, time.Time{})
		w.asked = true
	case u.alone() && w.asked: // it is judged, so that all are shown together, but held
	default:
		if w.flying < parallel {
			w.moves = append(w.moves, Move{Act: StartUse, Use: u.ID})
			w.flying++
			if u.Started == nil {
				w.left--
			}
		}
		w.busy(u)
	}
}

func orElse(s, or string) string {
	if s == "" {
		return or
	}
	return s
}

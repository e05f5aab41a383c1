package agent

import "github.com/uzda-dev/uzda"

// Outcome says how the last turn ended, or what the session waits for; nil if it
// has had no turn, or one is still to go on.
func (s *State) Outcome(id uzda.SessionID) *uzda.Outcome {
	switch {
	case s.ReadOnly != "":
		return &uzda.Outcome{Session: id, Reason: uzda.ConfigError, Detail: s.ReadOnly, Hint: "use a newer version of uzda for this session"}
	case s.Parked != nil:
		return &uzda.Outcome{Session: id, Reason: s.Parked.On, Answer: s.Turn.Answer, Steps: s.Turn.Steps}
	case s.Turn.Seq != 0 || s.Ended == nil:
		return nil
	}
	return &uzda.Outcome{Session: id, Reason: s.Ended.Reason, Detail: s.Ended.Detail, Hint: s.Ended.Hint,
		Answer: s.Last.Answer, Steps: s.Last.Steps}
}

// Waits returns the uses that wait for an answer of a person.
func (s *State) Waits() []Open {
	var out []Open
	for _, u := range s.Uses {
		if u.Result == nil && u.Started == nil && u.Judged != nil && u.Judged.Verdict.Decision == uzda.Ask && u.Answer == nil {
			out = append(out, u)
		}
	}
	return out
}

// Spent is what the last turn used of its fuses.
func (t Turn) Spent() uzda.Spend {
	return uzda.Spend{Steps: t.Steps, Calls: t.Calls, Tokens: t.Tokens, Cost: t.Cost + t.Lost}
}

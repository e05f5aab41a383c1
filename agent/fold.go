package agent

import (
	"maps"
	"slices"
	"strconv"

	"github.com/uzda-dev/uzda"
)

// foldStep applies what belongs to an open step.
func (s *State) foldStep(seq uzda.Seq, body uzda.Body) {
	switch b := body.(type) {
	case uzda.Used:
		s.pay(b.Usage, b.Cost, b.Unknown)
		s.Turn.Active += b.Active
	case uzda.Broken:
		s.pay(b.Usage, b.Cost, b.Unknown)
		s.Turn.Active += b.Active
		if b.Code == codeContext && s.Ask != nil {
			s.tooLong(b)
		}
		s.Ask, s.Turn.Broke = nil, b
		if b.Code != codeContext {
			s.Turn.Cuts++
		}
	case uzda.Said:
		s.said(seq, b)
	case uzda.Judged:
		if u := s.use(b.Use); u != nil {
			s.Parked = nil
			// An answer holds for what was shown: the same hash, for the same reason.
			if u.Answer != nil && (u.Answer.Hash != b.Hash || u.Judged == nil || u.Judged.Verdict != b.Verdict) {
				u.Answer = nil
			}
			u.Judged = &b
		}
	case uzda.Started:
		if u := s.use(b.Use); u != nil {
			u.Started, s.Parked = &b, nil
			if b.Attempt == 1 {
				s.Turn.Calls++
			}
			if u.Answer != nil { // a person has looked
				s.Turn.Failed = 0
			}
			if b.Once {
				s.claim(b.Key, &Claim{Use: b.Use})
			}
		}
	case uzda.Returned:
		s.returned(seq, b)
	case uzda.Verified:
		s.pay(b.Usage, b.Cost, false)
		s.Turn.Active += b.Active
		if s.Turn.Verified = b.OK; !b.OK {
			s.Turn.Rejected, s.Turn.Final, s.Stop = s.Turn.Rejected+1, false, ""
			s.Turn.Reject = uzda.Clip(b.Blocks.String(), rejectSize)
			s.join(uzda.Entry{Seq: seq, Message: uzda.Message{Role: uzda.User, Blocks: b.Blocks}})
		}
	}
}

func (s *State) answered(b uzda.Answered) {
	u := s.use(b.Use)
	if u == nil || u.Judged == nil || u.Judged.Hash != b.Hash || u.Started != nil || u.Result != nil {
		return // it answers something that was not asked, or no longer is
	}
	u.Answer, s.Parked = &b, nil
	if b.Scope == uzda.ScopeSession && b.Verdict.Decision == uzda.Allow && b.Rule != "" {
		s.Grants = append(s.Grants[:len(s.Grants):len(s.Grants)], uzda.Grant{Rule: b.Rule, Use: b.Use, By: b.By})
	}
}

func (s *State) equip(b uzda.Equipped) {
	if b.Model.ID != s.Gear.Model.ID { // what it takes is another matter
		s.Most = 0
	}
	s.Gear, s.GearGen, s.Used = b, s.GearGen+1, uzda.Usage{}
	h := newSum()
	h.put(b.Model.ID, b.System)
	for _, t := range b.Tools {
		h.put(t.Name, t.Description, string(t.Input))
	}
	s.GearHash = h.hex()
}

func (s *State) asked(b uzda.Asked) {
	if s.Ask != nil { // the earlier one was lost: charged at its hold
		s.lost()
	}
	s.Ask, s.Parked, s.Stop, s.Raw = &b, nil, "", ""
	s.Turn.Steps, s.Asks = s.Turn.Steps+1, s.Asks+1
	var rest []Mail
	for _, m := range s.Inbox {
		if m.Turn && m.Seq != s.Turn.Seq {
			rest = append(rest, m)
		} else {
			s.join(m.Entry)
			s.Turn.Task = append(s.Turn.Task[:len(s.Turn.Task):len(s.Turn.Task)], m.Message.String())
		}
	}
	s.Inbox = rest
}

func (s *State) lost() {
	s.Turn.Tokens += s.Ask.Tokens
	s.Turn.Lost += s.Ask.Hold.Amount
	s.Guess = true // what it cost, nobody knows: at most the hold
}

func (s *State) pay(u uzda.Usage, cost uzda.Money, unpriced bool) {
	s.Turn.Tokens += u.Total()
	s.Turn.Cost += cost
	s.Turn.Usage = s.Turn.Usage.Add(u)
	s.Usage, s.Cost, s.Guess = s.Usage.Add(u), s.Cost+cost, s.Guess || u.AtLeast
	s.Turn.Unpriced, s.Unpriced = s.Turn.Unpriced || unpriced, s.Unpriced || unpriced
}

func (s *State) spend(p uzda.Spend) {
	s.Turn.Steps, s.Turn.Calls = s.Turn.Steps+p.Steps, s.Turn.Calls+p.Calls
	s.Turn.Tokens, s.Turn.Cost = s.Turn.Tokens+p.Tokens, s.Turn.Cost+p.Cost
}

// said lets a reply join the view and opens its uses.
func (s *State) said(seq uzda.Seq, b uzda.Said) {
	total := b.Usage.Total()
	if a := s.Ask; a != nil {
		s.Turn.Model = or(b.Model, a.Model)
		if b.Usage.AtLeast && b.Usage.Context() == 0 { // nobody counted what was read
			total = a.Tokens - a.Max + b.Usage.Output
		}
	}
	s.Ask, s.Turn.Cuts, s.Turn.Refusals, s.Turn.Refused, s.Used = nil, 0, 0, "", b.Usage
	s.pay(b.Usage, b.Cost, b.Unknown)
	s.Turn.Active += b.Active
	s.calibrate(b.Usage)
	counted := b.Usage.Context() > 0 // else nobody has counted, and what is known stays
	if counted {
		s.Size, s.Grown, s.Weighed = total, 0, 0
		if s.Most > 0 { // it takes what it took
			s.Most = max(s.Most, b.Usage.Context())
		}
	}
	t := &s.Turn
	next := func(n *int, on bool) {
		if on {
			*n++
		} else {
			*n = 0
		}
	}
	mute := len(b.Message.Blocks) == 0
	next(&t.Short, b.Stop == uzda.StopLength && dropped(b.Message))
	next(&t.Mute, mute && b.Stop == uzda.StopEnd)
	next(&t.Pauses, b.Stop == uzda.StopPause)
	s.Stop, s.Raw = b.Stop, b.Raw
	if b.Detail != "" {
		s.Raw = b.Detail
	}
	if mute || b.Stop == uzda.StopRefusal || t.Short > 0 {
		return // no part of the transcript
	}
	m := b.Message
	m.Blocks = slices.Clone(m.Blocks)
	n := 0
	for i, k := range m.Blocks {
		if u, ok := k.(uzda.ToolUse); ok {
			n++
			u.ID = uzda.UseID(strconv.FormatInt(int64(seq), 10) + "." + strconv.Itoa(n))
			m.Blocks[i] = u
			s.Uses = append(s.Uses, Open{ID: u.ID, Name: u.Name, Input: u.Input, Raw: u.Raw, Spec: s.spec(u.Name)})
		}
	}
	if n > 0 {
		s.Stop, s.Raw = "", ""
	}
	if text := m.String(); text != "" {
		t.Answer = text
	}
	s.join(uzda.Entry{Seq: seq, Message: m})
	if counted {
		s.Grown = 0 // the reply is counted in Size
	}
}

func dropped(m uzda.Message) bool {
	return slices.ContainsFunc(m.Repairs, func(r uzda.Repair) bool { return r.Block == -1 })
}

func (s *State) returned(seq uzda.Seq, b uzda.Returned) {
	s.Turn.Active += b.Active
	if b.Fatal != "" {
		s.Turn.Fatal = b.Fatal
	}
	u := s.use(b.Result.Use)
	switch {
	case u == nil || u.Result != nil: // delivered, or closed by a cancel
	case b.Pending != nil:
		u.Pending = b.Pending
		s.Turn.Held = s.Turn.Held.Add(b.Pending.Hold)
		if b.Pending.On == string(uzda.WaitChild) {
			s.Turn.Children++
		}
	default:
		s.close(seq, u, b.Result)
	}
}

// close gives a use its result; the last one lets the message of results join.
func (s *State) close(seq uzda.Seq, u *Open, r uzda.ToolResult) {
	u.Result, s.Parked = &r, nil
	s.Labels = uzda.Union(s.Labels, r.Labels...)
	if u.Pending != nil {
		h := u.Pending.Hold
		s.Turn.Held = s.Turn.Held.Add(uzda.Spend{Steps: -h.Steps, Calls: -h.Calls, Tokens: -h.Tokens, Cost: -h.Cost})
	}
	if u.Started == nil && r.Code != uzda.CodeNotStarted {
		s.Turn.Calls++ // refused is tried
	}
	s.Turn.Over = s.Turn.Over || r.Code == uzda.CodeNotStarted
	switch {
	case !r.IsError, u.Answer != nil && r.Code == uzda.CodeDenied:
		s.Turn.Failed = 0
	case r.Code != uzda.CodeNotStarted && r.Code != uzda.CodeCancelled:
		s.Turn.Failed++
	}
	if r.Code == uzda.CodeDenied {
		s.Turn.Denied++
		if u.Judged != nil && u.Judged.Verdict.Unattended {
			s.Turn.Nobody++
		}
	}
	if u.Spec != nil && u.Spec.Final && !r.IsError {
		s.Turn.Final, s.Turn.Answer = true, string(u.Args())
	}
	s.closeStarted(u, r)
	for _, o := range s.Uses {
		if o.Result == nil {
			return
		}
	}
	m, did := uzda.Message{Role: uzda.User}, newSum()
	for _, o := range s.Uses {
		m.Blocks = append(m.Blocks, *o.Result)
		did.put(o.Name, string(uzda.Canonical(o.Args())), strconv.FormatBool(o.Result.IsError))
		did.blocks(o.Result.Blocks)
	}
	s.join(uzda.Entry{Seq: seq, Message: m})
	s.Uses = nil
	s.Turn.Past += did.hex()[:digest]
	if over := len(s.Turn.Past) - digest*3*(s.Gear.Limits.Repeat+1); over > 0 { // circles of three, at most
		s.Turn.Past = s.Turn.Past[over:]
	}
}

// closeStarted settles the once-key and the doubt of a use that had begun.
func (s *State) closeStarted(u *Open, r uzda.ToolResult) {
	if u.Started == nil {
		return
	}
	if u.Started.Once && r.Effect != uzda.EffectUnknown {
		if r.Effect == uzda.EffectNone {
			s.claim(u.Started.Key, nil)
		} else {
			s.claim(u.Started.Key, &Claim{Use: u.ID, Result: &r})
		}
	}
	if r.Effect == uzda.EffectUnknown {
		s.Unknown = maps.Clone(s.Unknown)
		if s.Unknown == nil {
			s.Unknown = map[uzda.UseID]Doubt{}
		}
		s.Unknown[u.ID] = Doubt{u.Name, u.Started.Args}
	}
}

func (s *State) claim(key string, c *Claim) {
	s.Once = maps.Clone(s.Once)
	if s.Once == nil {
		s.Once = map[string]Claim{}
	}
	if delete(s.Once, key); c != nil {
		s.Once[key] = *c
	}
}

// resolve says what became of a use whose outcome was unknown. A claim of a use
// that took effect stays, with the result if that came late; one that didn't is
// free again.
func (s *State) resolve(id uzda.UseID, took bool, late *uzda.ToolResult) {
	if _, ok := s.Unknown[id]; !ok {
		return
	}
	s.Unknown = maps.Clone(s.Unknown)
	delete(s.Unknown, id)
	for key, c := range s.Once {
		switch {
		case c.Use != id:
		case took:
			s.claim(key, &Claim{Use: id, Took: true, Result: late})
		default:
			s.claim(key, nil)
		}
	}
}

func (s *State) end(b uzda.Ended) {
	if s.Ask != nil {
		s.lost()
	}
	until, cancelled := s.Cancel, s.Cancel != 0
	if until == 0 && s.Turn.Steps == 0 { // it ended before it asked: what began it is spent, or it would begin for ever
		until = s.Head
	}
	s.Last = s.Turn
	s.Last.Task = nil
	s.Ended, s.Ask, s.Parked, s.Cancel, s.Why, s.Stop, s.Raw = &b, nil, nil, 0, "", "", ""
	s.Turn = Turn{}
	// What was posted before the cancel is part of what was cancelled: it is
	// seen, but begins no turn. What came later, or joined no step, does.
	var rest []Mail
	for _, m := range s.Inbox {
		if m.Seq >= until || !cancelled && m.Turn && m.Seq != s.Last.Seq {
			rest = append(rest, m)
		} else {
			s.join(m.Entry)
		}
	}
	if s.Inbox = rest; len(s.Inbox) > 0 {
		s.Turn = Turn{Seq: s.Inbox[0].Seq}
	} else {
		s.Inbox = nil
	}
}

package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/uzda-dev/uzda"
)

// basis is what a judgement stands on; none of it changes under a job.
type basis struct {
	labels  []uzda.Label
	grants  []uzda.Grant
	unknown map[uzda.UseID]Doubt
	once    map[string]Claim
	dir     string
	scope   uzda.SessionID
	mode    string
	failed  int
}

func (r *run) basis(f *State) basis {
	return basis{f.Labels, f.Grants, f.Unknown, f.Once, f.Opened.Dir, or(f.Opened.Scope, r.id), f.Gear.Mode, f.Turn.Failed}
}

// ruling is what a job made of a use: bodies to record, if the session is still
// the one that they stand on.
type ruling struct {
	bodies         []uzda.Body
	labels, grants int
	start          bool // the check before a start; no bodies: as it was approved
}

func (g ruling) fits(f *State) bool { return g.labels == len(f.Labels) && g.grants == len(f.Grants) }

// judged rules on a use, here or by a job.
func (r *run) judged(ctx context.Context, f *State, u Open) []uzda.Body {
	if g, ok := r.ruled[u.ID]; ok {
		delete(r.ruled, u.ID)
		if g.fits(f) && !g.start {
			return g.bodies
		}
	}
	b := r.basis(f)
	if r.quick(u) {
		return r.judge(ctx, u, b)
	}
	r.judging(ctx, u.ID, b, func(ctx context.Context) []uzda.Body { return r.judge(ctx, u, b) }, false)
	return nil
}

// started checks once more what was approved, or judged of a tool that was
// another one then, takes the once-key and announces the effect.
func (r *run) started(ctx context.Context, f *State, u Open) ([]uzda.Body, error) {
	tool := r.tools[u.Name]
	if tool == nil { // it was there when the use was judged
		return []uzda.Body{uzda.Returned{Result: r.unknownTool(u)}}, nil
	}
	if u.Started == nil && (u.Answer != nil || !sameSpec(*u.Spec, r.specs[u.Name])) {
		b := r.basis(f)
		g, ok := r.ruled[u.ID]
		switch delete(r.ruled, u.ID); {
		case ok && g.start && g.fits(f) && len(g.bodies) > 0:
			return g.bodies, nil // it is not what was approved: ask anew
		case ok && g.start && g.fits(f):
		case r.quick(u):
			if again := r.recheck(ctx, u, b); len(again) > 0 {
				return again, nil
			}
		default:
			r.judging(ctx, u.ID, b, func(ctx context.Context) []uzda.Body { return r.recheck(ctx, u, b) }, true)
			return nil, nil
		}
	}
	return r.announce(ctx, f, u)
}

func (r *run) announce(ctx context.Context, f *State, u Open) ([]uzda.Body, error) {
	spec := r.specs[u.Name]
	s := uzda.Started{Use: u.ID, Attempt: 1, Args: hashArgs(u.Args()), Effects: spec.Effects, Once: spec.Once,
		Spec: r.hashes[u.Name], Key: key(string(r.id), string(u.ID))}
	if _, ok := r.tools[u.Name].(Resumer); ok {
		s.Effects.Idempotent = true
	}
	if u.Started != nil {
		s.Attempt = u.Started.Attempt + 1
	}
	if !s.Once {
		return []uzda.Body{s}, nil
	}
	s.Key = r.onceKey(u, or(f.Opened.Scope, r.id))
	if res, taken := r.onceTaken(u, s.Key, f.Once); taken {
		return []uzda.Body{uzda.Returned{Result: res}}, nil
	}
	if by, ok := r.taken[s.Key]; ok { // another session has it, or this one had it and is free again
		res, free, err := r.elsewhere(ctx, u, s.Key, by)
		if err != nil {
			return nil, err
		}
		if !free {
			return []uzda.Body{uzda.Returned{Result: res}}, nil
		}
	}
	return []uzda.Body{s}, nil
}

// quick says whether a use can be judged without I/O.
func (r *run) quick(u Open) bool {
	if r.slow {
		return false
	}
	_, previews := r.tools[u.Name].(uzda.Previewer)
	return !previews
}

// use is a use with the directory that it would run in.
func (r *run) use(u Open, input json.RawMessage, dir string) uzda.Use {
	if p, ok := r.tools[u.Name].(uzda.Placer); ok {
		dir = p.Place(r.id, dir)
	}
	return uzda.Use{Session: r.id, ID: u.ID, Name: u.Name, Input: input, Dir: dir}
}

// recheck is the look right before an approved start: nil if it is still what was
// approved, else the new judgement. The gates are asked once more, in the mode of
// now, since a ban may have come after the question, or another reason to ask. That
// they would ask for the same reason, or that nobody is there now to be asked, does
// not undo the answer.
func (r *run) recheck(ctx context.Context, u Open, b basis) []uzda.Body {
	use := r.use(u, u.Args(), b.dir)
	if _, hash, err := r.preview(ctx, use); err != nil || hash != u.Judged.Hash {
		return r.judge(ctx, u, b)
	}
	if u.Answer == nil {
		return nil
	}
	j := uzda.Judged{Use: u.ID, Hash: u.Judged.Hash, Preview: u.Judged.Preview, Labels: len(b.labels), Grants: len(b.grants), Verdict: uzda.Verdict{Decision: uzda.Allow}}
	if !bytes.Equal(u.Args(), u.Input) {
		j.Input = u.Args()
	}
	b.mode = or(r.Mode, b.mode)
	r.rule(ctx, &j, u, use, b)
	switch v, old := j.Verdict, u.Judged.Verdict; {
	case v.Decision == uzda.Deny && !v.Unattended:
		return []uzda.Body{j}
	case v.Decision == uzda.Ask && (v.Reason != old.Reason || v.Rule != old.Rule):
		return []uzda.Body{j}
	}
	return nil
}

// judge coerces, previews, hashes and asks the gates, in this order.
func (r *run) judge(ctx context.Context, u Open, b basis) []uzda.Body {
	tool, spec, input := r.tools[u.Name], r.specs[u.Name], u.Input
	if tool == nil || u.Spec == nil {
		return []uzda.Body{uzda.Returned{Result: r.unknownTool(u)}}
	}
	invalid := func(text string) []uzda.Body {
		res := refusal(u, uzda.CodeInvalidInput)
		res.Blocks = uzda.Say(r.brief(text))
		return []uzda.Body{uzda.Returned{Result: res}}
	}
	if u.Raw != "" {
		return invalid(fmt.Sprintf("The arguments of %s were no JSON object, so it was not run. Call it again with an object. What came began with: %s", u.Name, uzda.Clip(u.Raw, 200)))
	}
	if c, ok := tool.(uzda.Checker); ok {
		var err error
		if input, err = checkInput(c, u.Input); err != nil {
			return invalid(fmt.Sprintf("Invalid input for %s, so it was not run: %v", u.Name, err))
		}
	}
	j := uzda.Judged{Use: u.ID, Labels: len(b.labels), Grants: len(b.grants), Verdict: uzda.Verdict{Decision: uzda.Allow}}
	if !bytes.Equal(input, u.Input) {
		if input = compact(input); input == nil {
			return invalid(fmt.Sprintf("%s can't be run: its check made no JSON of the input.", u.Name))
		}
		j.Input = input
	}
	if spec.Once {
		if res, taken := r.onceTaken(Open{ID: u.ID, Name: u.Name, Input: input, Spec: u.Spec}, "", b.once); taken {
			return []uzda.Body{uzda.Returned{Result: res}}
		}
	}
	use := r.use(u, input, b.dir)
	var err error
	if j.Preview, j.Hash, err = r.preview(ctx, use); err != nil {
		res := refusal(u, uzda.CodeFailed)
		res.Blocks = uzda.Say(r.brief(fmt.Sprintf("%s can't be run: %v", u.Name, err)))
		return []uzda.Body{uzda.Returned{Result: res}}
	}
	r.rule(ctx, &j, u, use, b)
	return []uzda.Body{j}
}

// rule asks the gates; then what is unknown, and who could be asked, count.
func (r *run) rule(ctx context.Context, j *uzda.Judged, u Open, use uzda.Use, b basis) {
	raise := func(v uzda.Verdict, by string) {
		v.Reason = strings.ToValidUTF8(v.Reason, "\uFFFD") // as it will be read again
		surer := v.Decision == uzda.Deny && j.Verdict.Unattended && !v.Unattended
		if v.Decision.Stricter(j.Verdict.Decision) || j.By == "" || surer {
			j.Verdict, j.By = v, by
		}
	}
	spec := r.specs[u.Name]
	for _, g := range r.Gates {
		v, err := checkGate(ctx, g, uzda.Action{Session: r.id, Use: use, Spec: spec, Dir: b.dir, Mode: b.mode, Failed: b.failed, Labels: b.labels, Grants: b.grants})
		if err != nil {
			v = uzda.Verdict{Decision: uzda.Deny, Reason: r.brief("the gate failed: " + err.Error())}
		}
		raise(v, fmt.Sprintf("%T", g))
	}
	for _, id := range sortedKeys(b.unknown) {
		d := b.unknown[id]
		if d.Tool == u.Name && (spec.Effects.Irreversible || d.Args == hashArgs(use.Input)) {
			raise(uzda.Verdict{Decision: uzda.Ask, Reason: "the outcome of use " + string(id) + " of " + d.Tool + " is unknown"}, "unknown outcome")
			break
		}
	}
	if !spec.Effects.ReadOnly && r.strays.working(r.id, u.Name) {
		raise(uzda.Verdict{Decision: uzda.Ask, Reason: "an earlier call of " + u.Name + " was stopped but still works"}, "unknown outcome")
	}
	if r.Unattended && j.Verdict.Decision == uzda.Ask {
		j.Verdict.Decision, j.Verdict.Unattended = uzda.Deny, true
		j.Verdict.Reason = strings.TrimPrefix(j.Verdict.Reason+"; nobody can be asked here", "; ")
	}
}

// checkInput checks an input; a check that panics finds it wrong.
func checkInput(c uzda.Checker, in json.RawMessage) (out json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("its check crashed: %v", p)
		}
	}()
	return c.Check(in)
}

// checkGate asks a gate; one that panics errs, and so denies.
func checkGate(ctx context.Context, g uzda.Gate, a uzda.Action) (v uzda.Verdict, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it crashed: %v", p)
		}
	}()
	return g.Check(ctx, a)
}

// previewSize is the most of a preview that is kept, in bytes: nobody reads more.
const previewSize = 256 << 10

// preview is what a person approves; its hash covers all that the effect
// depends on: tool and spec, canonical input, directory and preconditions.
func (r *run) preview(ctx context.Context, use uzda.Use) (text, hash string, err error) {
	pre := ""
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("its preview crashed: %v", p)
		}
	}()
	if p, ok := r.tools[use.Name].(uzda.Previewer); ok {
		if text, pre, err = p.Preview(ctx, use); err != nil {
			return "", "", err
		}
	}
	return uzda.Clip(CleanText(r.Redact, uzda.Before(text, previewSize)), previewSize), uzda.Hash([]byte(r.hashes[use.Name]), uzda.Canonical(use.Input), []byte(use.Dir), []byte(pre)), nil
}

func hashArgs(raw json.RawMessage) string { return uzda.Hash(uzda.Canonical(raw)) }

// hashSpec covers all that the model and the gates were told of a tool.
func hashSpec(s uzda.ToolSpec) string {
	return uzda.Hash([]byte(s.Name), []byte(s.Description), s.Input, rawJSON(s.Effects), rawJSON(s.Once), rawJSON(s.Final))
}

func sameSpec(a, b uzda.ToolSpec) bool {
	return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Input, b.Input) &&
		a.Effects == b.Effects && a.Once == b.Once && a.Final == b.Final
}

// key joins its parts by NUL and takes the first 16 bytes of their SHA-256.
func key(parts ...string) string {
	bs := make([][]byte, len(parts))
	for i, p := range parts {
		bs[i] = []byte(p)
	}
	return uzda.Hash(bs...)[:32]
}

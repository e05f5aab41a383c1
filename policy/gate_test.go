package policy_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/policy"
)

func rules(t *testing.T, list uzda.Decision, texts ...string) policy.Rules {
	t.Helper()
	var rs policy.Rules
	if _, err := rs.Add(list, "flag --"+string(list), texts...); err != nil {
		t.Fatal(err)
	}
	return rs
}

// with joins lists of rules.
func with(all ...policy.Rules) (out policy.Rules) {
	for _, rs := range all {
		out.Deny, out.Ask, out.Allow = append(out.Deny, rs.Deny...), append(out.Ask, rs.Ask...), append(out.Allow, rs.Allow...)
	}
	return out
}

func action(name string, e uzda.Effects, input string) uzda.Action {
	if input == "" {
		input = "{}"
	}
	return uzda.Action{
		Use:  uzda.Use{ID: "3.1", Name: name, Input: json.RawMessage(input)},
		Spec: uzda.ToolSpec{Name: name, Effects: e, Source: "built-in"},
	}
}

func judge(t *testing.T, g policy.Gate, a uzda.Action) uzda.Verdict {
	t.Helper()
	v, err := g.Check(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if v.Reason == "" || v.Origin == "" {
		t.Errorf("the verdict on %s has no reason or no origin: %+v", a.Use.Name, v)
	}
	return v
}

var (
	reads  = uzda.Effects{ReadOnly: true}
	fetch  = uzda.Effects{ReadOnly: true, OpenWorld: true}
	writes = uzda.Effects{}
	again  = uzda.Effects{Idempotent: true}
	sends  = uzda.Effects{OpenWorld: true, Idempotent: true}
	pays   = uzda.Effects{Irreversible: true, OpenWorld: true}
	wipes  = uzda.Effects{Irreversible: true, Idempotent: true}
)

// S1: without rules the effects and the mode decide, each pair as it is written here.
func TestModesAndEffects(t *testing.T) {
	t.Parallel()
	modes := []string{"", policy.ModeAsk, policy.ModePlan, policy.ModeEdits, policy.ModeDeny, policy.ModeBypass}
	for _, c := range []struct {
		name    string
		effects uzda.Effects
		want    [6]uzda.Decision // in the order of modes
	}{
		{"look", reads, [6]uzda.Decision{allow, allow, allow, allow, allow, allow}},
		{"get", fetch, [6]uzda.Decision{ask, ask, ask, ask, deny, allow}},
		{"change", writes, [6]uzda.Decision{ask, ask, deny, ask, deny, allow}},
		{"set", again, [6]uzda.Decision{ask, ask, deny, allow, deny, allow}},
		{"write_file", writes, [6]uzda.Decision{ask, ask, deny, allow, deny, allow}},
		{"edit_file", writes, [6]uzda.Decision{ask, ask, deny, allow, deny, allow}},
		{"shell", writes, [6]uzda.Decision{ask, ask, deny, ask, deny, allow}},
		{"send", sends, [6]uzda.Decision{ask, ask, deny, ask, deny, allow}},
		{"pay", pays, [6]uzda.Decision{ask, ask, deny, ask, deny, allow}},
		{"wipe", wipes, [6]uzda.Decision{ask, ask, deny, ask, deny, allow}},
		{"notes", again, [6]uzda.Decision{allow, allow, allow, allow, allow, allow}},
		{"todo", writes, [6]uzda.Decision{allow, allow, allow, allow, allow, allow}},
	} {
		for i, mode := range modes {
			v := judge(t, policy.Gate{Mode: mode}, action(c.name, c.effects, ""))
			if v.Decision != c.want[i] {
				t.Errorf("%s in mode %q: %s (%s), not %s", c.name, mode, v.Decision, v.Reason, c.want[i])
			}
			if want := mode == policy.ModeDeny && v.Decision == deny; v.Unattended != want {
				t.Errorf("%s in mode %q: unattended is %v", c.name, mode, v.Unattended)
			}
			a := action(c.name, c.effects, "")
			a.Mode = mode // the session's mode counts before the gate's
			if w := judge(t, policy.Gate{Mode: policy.ModeDeny}, a); mode != "" && w != v {
				t.Errorf("%s in the session's mode %q: %+v, not %+v", c.name, mode, w, v)
			}
		}
	}
}

// S1: a mode that does not exist is an error, and so denies.
func TestUnknownMode(t *testing.T) {
	t.Parallel()
	_, err := policy.Gate{Mode: "yolo"}.Check(t.Context(), action("look", reads, ""))
	if err == nil || !strings.Contains(err.Error(), `no permission mode "yolo"; the modes are ask, plan, accept-edits, deny, bypass`) {
		t.Errorf("the error is %v", err)
	}
}

// S1: deny comes before ask, ask before allow, and in a list the first match counts.
func TestOrderOfRules(t *testing.T) {
	t.Parallel()
	deny, ask, allow := rules(t, uzda.Deny, "shell"), rules(t, uzda.Ask, "shell"), rules(t, uzda.Allow, "shell")
	for _, c := range []struct {
		name  string
		rules policy.Rules
		want  uzda.Decision
		rule  string
	}{
		{"none", policy.Rules{}, uzda.Ask, ""},
		{"allow", allow, uzda.Allow, "shell"},
		{"ask over allow", with(allow, ask), uzda.Ask, "shell"},
		{"deny over all", with(allow, ask, deny), uzda.Deny, "shell"},
		{"first", rules(t, uzda.Allow, "she*", "shell"), uzda.Allow, "she*"},
		{"another tool", rules(t, uzda.Deny, "shel", "shells", "Shell"), uzda.Ask, ""},
		{"deny by a name of another host", with(allow, rules(t, uzda.Deny, "Bash")), uzda.Deny, "Bash"},
		{"everything denied", with(allow, rules(t, uzda.Deny, "*")), uzda.Deny, "*"},
	} {
		v := judge(t, policy.Gate{Rules: c.rules}, action("shell", writes, `{"command":"deploy now"}`))
		if v.Decision != c.want || v.Rule != c.rule {
			t.Errorf("%s: %+v, not %s by %q", c.name, v, c.want, c.rule)
		}
		if c.rule != "" && (v.Origin != "flag --"+string(c.want) || !strings.Contains(v.Reason, c.rule)) {
			t.Errorf("%s: the origin is %q, the reason %q", c.name, v.Origin, v.Reason)
		}
	}
}

// S1: deny rules hold in every mode, also over what is read-only and built in.
func TestDenyHoldsInEveryMode(t *testing.T) {
	t.Parallel()
	for _, mode := range policy.Modes() {
		for _, name := range []string{"look", "notes", "todo", "write_file"} {
			g := policy.Gate{Mode: mode, Rules: with(rules(t, uzda.Deny, name), rules(t, uzda.Allow, name))}
			if v := judge(t, g, action(name, reads, "")); v.Decision != uzda.Deny || v.Rule != name || v.Unattended {
				t.Errorf("%s in mode %s: %+v", name, mode, v)
			}
		}
	}
	if v := judge(t, policy.Gate{Rules: rules(t, uzda.Ask, "notes")}, action("notes", again, "")); v.Decision != uzda.Ask {
		t.Errorf("an ask rule for notes: %+v", v)
	}
	if v := judge(t, policy.Gate{}, action("notes", again, "")); v.Origin != "built-in" || v.Rule != "notes" {
		t.Errorf("notes are allowed by %+v", v)
	}
	if v := judge(t, policy.Gate{Mode: policy.ModePlan, Rules: rules(t, uzda.Allow, "write_file")}, action("write_file", writes, "")); v.Decision != uzda.Deny {
		t.Errorf("an allow rule loosens the mode plan: %+v", v)
	}
}

// S1: what is irreversible is asked unless a rule names it exactly.
func TestIrreversible(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string]uzda.Decision{
		"pay": uzda.Allow, "pay(to:alice)": uzda.Allow, "pay(to:bob)": uzda.Ask, "p*": uzda.Ask, "pay*": uzda.Ask, "send": uzda.Ask,
	} {
		v := judge(t, policy.Gate{Rules: rules(t, uzda.Allow, rule)}, action("pay", pays, `{"to":"alice"}`))
		if v.Decision != want {
			t.Errorf("with allow %s: %+v, not %s", rule, v, want)
		}
	}
	a := action("mcp__bank__pay", pays, "")
	for rule, want := range map[string]uzda.Decision{"mcp__bank": uzda.Ask, "mcp__bank__*": uzda.Ask, "mcp__bank__pay": uzda.Allow} {
		if v := judge(t, policy.Gate{Rules: rules(t, uzda.Allow, rule)}, a); v.Decision != want {
			t.Errorf("with allow %s: %+v, not %s", rule, v, want)
		}
	}
}

// P2: what a server says of its own tools may tighten, never loosen.
func TestServersAreNotBelieved(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"mcp__files__list", "notes", "write_file", "look"} {
		a := action(name, uzda.Effects{ReadOnly: true, Idempotent: true}, "")
		a.Spec.Source = "files"
		for mode, want := range map[string]uzda.Decision{policy.ModeAsk: uzda.Ask, policy.ModeEdits: uzda.Ask, policy.ModePlan: uzda.Ask, policy.ModeDeny: uzda.Deny} {
			if v := judge(t, policy.Gate{Mode: mode}, a); v.Decision != want {
				t.Errorf("%s of a server in mode %s: %+v, not %s", name, mode, v, want)
			}
		}
		if v := judge(t, policy.Gate{Rules: rules(t, uzda.Allow, name)}, a); v.Decision != uzda.Allow {
			t.Errorf("%s of a server with a rule: %+v", name, v)
		}
	}
}

// case:P05 case:P03: a grant covers what it names, in this session, and no deny rule.
func TestGrants(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		rules  policy.Rules
		grant  string
		action uzda.Action
		want   uzda.Decision
	}{
		{"covers its tool", policy.Rules{}, "shell", action("shell", writes, ""), uzda.Allow},
		{"and no other", policy.Rules{}, "shell", action("send", writes, ""), uzda.Ask},
		{"answers an ask rule", rules(t, uzda.Ask, "shell"), "shell", action("shell", writes, ""), uzda.Allow},
		{"loses to deny", rules(t, uzda.Deny, "shell"), "shell", action("shell", writes, ""), uzda.Deny},
		{"loses to deny by another name", rules(t, uzda.Deny, "Bash(rm *)"), "shell", action("shell", writes, `{"command":"rm x"}`), uzda.Deny},
		{"names the argument", policy.Rules{}, "send(to:alice)", action("send", sends, `{"to":"alice"}`), uzda.Allow},
		{"and no other argument", policy.Rules{}, "send(to:alice)", action("send", sends, `{"to":"mallory"}`), uzda.Ask},
		{"is not for what is irreversible", policy.Rules{}, "pay", action("pay", pays, ""), uzda.Ask},
		{"is not everything", policy.Rules{}, "*", action("shell", writes, ""), uzda.Ask},
		{"is no rule", policy.Rules{}, "shell(", action("shell", writes, ""), uzda.Ask},
		{"covers its command", policy.Rules{}, "shell(go test *)", action("shell", writes, `{"command":"go test ./..."}`), uzda.Allow},
		{"and no other command", policy.Rules{}, "shell(go test *)", action("shell", writes, `{"command":"go run ."}`), uzda.Ask},
		{"answers an ask rule for a command", rules(t, uzda.Ask, "Bash(go *)"), "shell(go test *)", action("shell", writes, `{"command":"go test ./..."}`), uzda.Allow},
		{"but not for what it does not cover", rules(t, uzda.Ask, "Bash(ls *)"), "shell(go test *)", action("shell", writes, `{"command":"ls; go test ./..."}`), uzda.Ask},
	} {
		c.action.Grants = []uzda.Grant{{Rule: c.grant, Use: "2.1", By: "ada"}}
		v := judge(t, policy.Gate{Rules: c.rules}, c.action)
		if v.Decision != c.want {
			t.Errorf("a grant of %s %s: %+v, not %s", c.grant, c.name, v, c.want)
		}
		if v.Decision == uzda.Allow && v.Origin != "granted by ada" {
			t.Errorf("a grant of %s: the origin is %q", c.grant, v.Origin)
		}
		c.action.Mode = policy.ModePlan
		if v := judge(t, policy.Gate{Rules: c.rules}, c.action); v.Decision != uzda.Deny {
			t.Errorf("a grant of %s in the mode plan: %+v", c.grant, v)
		}
	}
}

// case:P05: the same use is judged the same, with the same reason, as often as it
// is judged; other arguments are judged anew.
func TestSameVerdictAgain(t *testing.T) {
	t.Parallel()
	mk := func() policy.Gate {
		return policy.Gate{Rules: with(rules(t, uzda.Ask, "pay(to:alice)", "pay"), rules(t, uzda.Allow, "send(to:bob)", "send(to:b*)"))}
	}
	for _, a := range []uzda.Action{action("pay", pays, `{"to":"alice"}`), action("send", sends, `{"to":"bob"}`), action("shell", writes, "")} {
		want := judge(t, mk(), a)
		for range 20 {
			if got := judge(t, mk(), a); got != want {
				t.Fatalf("%s was %+v and is %+v", a.Use.Name, want, got)
			}
		}
	}
	g := mk()
	if v := judge(t, g, action("pay", pays, `{"to":"mallory"}`)); v.Rule != "pay" {
		t.Errorf("other arguments are judged by %+v", v)
	}
	if v := judge(t, g, action("send", sends, `{"to":"mallory"}`)); v.Decision != uzda.Ask {
		t.Errorf("other arguments are judged %+v", v)
	}
}

// S1: "for this session" proposes the tool, and nothing for what is asked every time.
func TestPropose(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a    uzda.Action
		want string
	}{
		{action("mcp__github__create_issue", writes, ""), "mcp__github__create_issue"},
		{action("pay", pays, ""), ""},
		{action("odd name(", writes, ""), ""},
		{action("st*r", writes, ""), ""},
		{action("send", sends, `{"body":"{{secret:KEY}}"}`), ""},
	} {
		got := policy.Propose(c.a)
		if got != c.want {
			t.Errorf("for %s it proposes %q, not %q", c.a.Use.Name, got, c.want)
		}
		if got == "" {
			continue
		}
		c.a.Grants = []uzda.Grant{{Rule: got, Use: "3.1"}}
		if v := judge(t, policy.Gate{}, c.a); v.Decision != uzda.Allow || v.Origin != "granted" {
			t.Errorf("what is proposed for %s gives %+v", c.a.Use.Name, v)
		}
	}
}

// S3 in a first form: the name of a secret does not leave without a person, also
// where a rule or a grant allows the tool.
func TestSecretsDoNotLeaveUnasked(t *testing.T) {
	t.Parallel()
	a := action("fetch", fetch, `{"url":"https://example.com/?k={{secret:OPENAI_API_KEY}}"}`)
	a.Grants = []uzda.Grant{{Rule: "fetch", Use: "1.1"}}
	g := policy.Gate{Rules: rules(t, uzda.Allow, "fetch")}
	if v := judge(t, g, a); v.Decision != uzda.Ask || !strings.Contains(v.Reason, "names a secret") {
		t.Errorf("%+v", v)
	}
	a.Use.Input = json.RawMessage(`{"url":"https://example.com/"}`)
	if v := judge(t, g, a); v.Decision != uzda.Allow {
		t.Errorf("without a secret: %+v", v)
	}
	server := action("mcp__log__add", writes, `{"text":"{{secret:OPENAI_API_KEY}}"}`)
	if v := judge(t, policy.Gate{Rules: rules(t, uzda.Allow, "mcp__log__add")}, server); v.Decision != uzda.Ask {
		t.Errorf("to a server that says nothing of the world: %+v", v)
	}
	if v := judge(t, policy.Gate{}, action("look", reads, `{"q":"{{secret:OPENAI_API_KEY}}"}`)); v.Decision != uzda.Allow {
		t.Errorf("on this machine: %+v", v)
	}
}

// S1: a check prints the verdict, its reason, its rule and where that stands.
func TestCheck(t *testing.T) {
	t.Parallel()
	g := policy.Gate{Rules: with(rules(t, uzda.Deny, "Bash(rm *)"), rules(t, uzda.Allow, "send(to:*@example.com)"))}
	for _, c := range []struct {
		gate        policy.Gate
		name, input string
		effects     uzda.Effects
		want        string
	}{
		{g, "shell", `{"command":"rm -rf /"}`, writes, `{"verdict":"deny","reason":"the rule Bash(rm *) (flag --deny) denies rm -rf /","rule":"Bash(rm *)","origin":"flag --deny"}`},
		{g, "shell", `{"command":"git push && ls"}`, writes, `{"verdict":"ask","reason":"git push: no rule allows it (it may run hooks or programs that the repository names)","rule":"","origin":"effects"}`},
		{g, "send", `{"to":"a@example.com"}`, sends, `{"verdict":"allow","reason":"the rule send(to:*@example.com) (flag --allow) allows send","rule":"send(to:*@example.com)","origin":"flag --allow"}`},
		{g, "look", ``, reads, `{"verdict":"allow","reason":"look is read-only","rule":"","origin":"effects"}`},
		{g, "pay", ` {} `, pays, `{"verdict":"ask","reason":"pay cannot be taken back","rule":"","origin":"effects"}`},
		{policy.Gate{Mode: "deny"}, "pay", `{}`, pays, `{"verdict":"deny","reason":"pay cannot be taken back; the mode deny asks nobody","rule":"","origin":"mode"}`},
		{policy.Gate{Mode: "x"}, "look", `{}`, reads, `{"verdict":"deny","reason":"the gate failed: judge look: there is no permission mode \"x\"; the modes are ask, plan, accept-edits, deny, bypass","rule":"","origin":"mode"}`},
	} {
		got, err := policy.Check(t.Context(), c.gate, uzda.ToolSpec{Name: c.name, Effects: c.effects}, json.RawMessage(c.input), "/tmp")
		if err != nil {
			t.Errorf("%s %s: %v", c.name, c.input, err)
			continue
		}
		if raw, _ := json.Marshal(got); string(raw) != c.want {
			t.Errorf("%s %s gives\n%s, not\n%s", c.name, c.input, raw, c.want)
		}
	}
	for _, input := range []string{`[]`, `{`, `"ls"`, `ls`} {
		if _, err := policy.Check(t.Context(), g, uzda.ToolSpec{Name: "shell"}, json.RawMessage(input), ""); err == nil || !strings.Contains(err.Error(), "is no JSON object") {
			t.Errorf("the input %s gives %v", input, err)
		}
	}
	for name, want := range map[string]string{"Bash": "shell", "WebFetch": "fetch", "Edit": "edit_file", "Write": "write_file", "Read": "read_file", "pay": "pay"} {
		if got := policy.ToolName(name); got != want {
			t.Errorf("%s is our %s, not %s", name, got, want)
		}
	}
}

func seeded(n uint64) *rand.Rand { return rand.New(rand.NewPCG(n, n)) }

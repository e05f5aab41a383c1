package policy_test

import (
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/policy"
)

// S1: a rule that is wrong says what is wrong, where it stands and how to write it.
func TestWrongRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		list       uzda.Decision
		text, want string
	}{
		{uzda.Deny, "", `deny rule "" (uzda.yaml:3): it is empty; a rule is Tool or Tool(pattern), for example shell`},
		{uzda.Deny, "(ls)", "the name of the tool is missing"},
		{uzda.Deny, "Bash (ls)", "there is a space after Bash; write Bash(…)"},
		{uzda.Deny, "Bash(ls", "the rule must end with )"},
		{uzda.Deny, "Bash(ls) x", "the rule must end with )"},
		{uzda.Deny, "Bash)", "a ) stands without a ("},
		{uzda.Deny, "Bash()", "the parentheses are empty; write Bash for every use"},
		{uzda.Deny, "Bash( )", "the parentheses are empty"},
		{uzda.Deny, "git status", `"git status" is no name of a tool`},
		{uzda.Deny, "Bash,Read", "is no name of a tool"},
		{uzda.Deny, "pay(to:)", "there is no value after to:; write pay(to:*) for any value"},
		{uzda.Deny, "Bash(a\nb)", "it holds a control character"},
		{uzda.Deny, "Bash(\xff)", "it is not UTF-8"},
		{uzda.Deny, "Read(!x)", "a pattern of a rule cannot begin with !"},
		{uzda.Deny, "Read(../x)", "cannot hold .."},
		{uzda.Deny, "Read(a[b)", "a [ is not closed"},
		{uzda.Deny, "pay(amount:>ten)", `"ten" is no number`},
		{uzda.Deny, "pay(amount:><10)", "compare by >, >=, < or <="},
		{uzda.Deny, "pay(amount:9..1)", "the range 9..1 is empty"},
		{uzda.Deny, "pay(to:alice, amount:)", "there is no value after amount:"},
		{uzda.Deny, "WebFetch(example.com)", "it names neither domain nor url; write WebFetch(domain:example.com)"},
		{uzda.Deny, "WebFetch(domain:ex*mple.com)", "a domain is a host such as example.com"},
		{uzda.Allow, "fetch(url:https://example.com*)", "a * in the host would mean other hosts too"},
		{uzda.Allow, "fetch(url:https://*example.com/*)", "a * in the host would mean other hosts too"},
		{uzda.Allow, "fetch(url:*example.com/*)", "begins with its scheme"},
		{uzda.Allow, "*", "it would allow tools of any name; put the beginning of the name before *"},
		{uzda.Allow, "*_file", "it would allow tools of any name"},
		{uzda.Allow, "mcp__*", "it would allow tools of any server; name the server"},
		{uzda.Allow, "mcp*", "it would allow tools of any server"},
		{uzda.Allow, "m*", "it would allow tools of any server"},
		{uzda.Allow, "mcp__git*", "it would allow tools of any server"},
	} {
		_, err := policy.Parse(c.list, c.text, "uzda.yaml:3")
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "uzda.yaml:3") {
			t.Errorf("%s %q: the error is %v, not %q", c.list, c.text, err, c.want)
		}
	}
	for _, fine := range []string{"mcp__github__*", "get_*", "mcp__github", "Bash(*)", "Read(//etc/**)", "Read([!a-z]*.go)", "Read(src/\\[x\\])", "pay(/order/amount:<=50, to:a*)",
		"pay(to:a, b)", "fetch(domain:*.example.com)", "fetch(url:https://*.example.com/*)", "fetch(url:*)", "fetch(domain:localhost:8080)", "fetch(domain:[::1])"} {
		if _, err := policy.Parse(uzda.Allow, fine, ""); err != nil {
			t.Errorf("%q: %v", fine, err)
		}
	}
	var rs policy.Rules
	if _, err := rs.Add("forbid", "x", "shell"); err == nil {
		t.Error("a list that does not exist takes rules")
	}
	if _, err := rs.Add(uzda.Deny, "x", "shell", "("); err == nil || len(rs.Deny) != 1 {
		t.Errorf("a wrong rule gave %v and left %v", err, rs.Deny)
	}
}

// S1: which rule matches which use. What cannot be judged holds for every use where
// it denies, and for none where it allows.
func TestMatching(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule, tool, input string
		denies, allows    bool
	}{
		{"shell", "shell", `{"command":"deploy"}`, true, true},
		{"Bash", "shell", `{"command":"deploy"}`, true, true},
		{"Bash(*)", "shell", `{"command":"deploy"}`, true, true},
		{"Bash", "Bash", `{}`, true, true},
		{"bash", "shell", `{}`, false, false},
		{"Bash", "shell", `{"command":["ls"]}`, true, false},
		{"Bash(rm *)", "shell", `{"command":["rm","x"]}`, true, false},
		{"Bash(rm *)", "shell", `{"command":"deploy","Command":"deploy"}`, true, false},
		{"Read", "read_file", `{}`, true, true},
		{"Read", "grep", `{}`, true, false},
		{"Edit", "write_file", `{}`, true, true},
		{"Edit", "edit_file", `{}`, true, true},
		{"Edit", "delete_file", `{}`, true, true},
		{"Write", "edit_file", `{}`, false, false},
		{"WebFetch", "fetch", `{}`, true, true},
		{"Glob", "glob", `{}`, true, true},
		{"Grep", "grep", `{}`, true, true},
		{"Grep(pattern:TODO*)", "grep", `{"pattern":"TODO: x"}`, true, true},
		{"Grep(pattern:TODO*)", "grep", `{"pattern":"key"}`, false, false},
		{"Agent(reader)", "Agent", `{}`, true, false},
		{"mcp__git", "mcp__git__push", `{}`, true, true},
		{"mcp__git", "mcp__github__push", `{}`, false, false},
		{"mcp__git__*", "mcp__git__push", `{}`, true, true},
		{"get_*", "get_", `{}`, true, true},
		{"get_*", "forget_x", `{}`, false, false},

		{"pay(to:alice)", "pay", `{"to":"alice"}`, true, true},
		{"pay(to:alice)", "pay", `{"to":"alice2"}`, false, false},
		{"pay(to:alice)", "pay", `{"to":"Alice"}`, false, false},
		{"pay(to:al*e)", "pay", `{"to":"al and anyone else"}`, true, true},
		{"pay(to:*@example.com)", "pay", `{"to":"x@example.com"}`, true, true},
		{"pay(to:*@example.com)", "pay", `{"to":"x@example.com.evil"}`, false, false},
		{"pay(to:**)", "pay", `{"to":""}`, true, true},
		{"pay(to:a:b)", "pay", `{"to":"a:b"}`, true, true},
		{"pay(to:alice)", "pay", `{"to":"\u0061lice"}`, true, true},
		{"pay(n:100)", "pay", `{"n":100}`, true, true},
		{"pay(yes:true)", "pay", `{"yes":true}`, true, true},
		// Numbers, the length of lists, and places inside.
		{"pay(amount:>100)", "pay", `{"amount":101}`, true, true},
		{"pay(amount:>100)", "pay", `{"amount":100}`, false, false},
		{"pay(amount:>=100)", "pay", `{"amount":1e2}`, true, true},
		{"pay(amount:<100)", "pay", `{"amount":99.99}`, true, true},
		{"pay(amount:<100)", "pay", `{"amount":100}`, false, false},
		{"pay(amount:<= 100)", "pay", `{"amount":100.000000000000000000001}`, false, false},
		{"pay(amount:-5..5)", "pay", `{"amount":-5}`, true, true},
		{"pay(amount:-5..5)", "pay", `{"amount":5.5}`, false, false},
		{"pay(amount:>100)", "pay", `{"amount":"101"}`, true, false},
		{"pay(amount:>100)", "pay", `{"amount":"99"}`, false, false},
		{"pay(amount:>100)", "pay", `{"amount":"much"}`, true, false},
		{"pay(amount:>100)", "pay", `{"amount":null}`, true, false},
		{"pay(amount:>100)", "pay", `{"amount":{"cents":1}}`, true, false},
		{"pay(amount:<100)", "pay", `{"amount":1e999999999}`, true, false},
		{"pay(rows:<=2)", "pay", `{"rows":[1,2]}`, true, true},
		{"pay(rows:<=2)", "pay", `{"rows":[1,2,3]}`, false, false},
		{"pay(/order/amount:>100)", "pay", `{"order":{"amount":101}}`, true, true},
		{"pay(/order/amount:>100)", "pay", `{"order":{"amount":1}}`, false, false},
		{"pay(/order/amount:>100)", "pay", `{"Order":{"AMOUNT":101}}`, true, false},
		{"pay(/order/amount:>100)", "pay", `{"order":7}`, true, false},
		{"pay(/items/*/price:<10)", "pay", `{"items":[{"price":1},{"price":20}]}`, true, false},
		{"pay(/items/*/price:<10)", "pay", `{"items":[{"price":1},{"price":2}]}`, true, true},
		{"pay(/items/*/price:<10)", "pay", `{"items":[]}`, false, false},
		{"pay(/items/1/price:<10)", "pay", `{"items":[{"price":99},{"price":2}]}`, true, true},
		{"pay(to:alice*, amount:<=50)", "pay", `{"to":"alice b","amount":50}`, true, true},
		{"pay(to:alice*, amount:<=50)", "pay", `{"to":"alice b","amount":51}`, false, false},
		{"pay(to:alice*, amount:<=50)", "pay", `{"to":"bob","amount":5}`, false, false},
		{"pay(to:a, b)", "pay", `{"to":"a, b"}`, true, true},
		// What no rule foresaw.
		{"pay(to:alice)", "pay", `{}`, false, false},
		{"pay(to:alice)", "pay", `{"cc":"alice"}`, false, false},
		{"pay(to:alice)", "pay", `{"to":["alice"]}`, true, false},
		{"pay(to:*)", "pay", `{"to":{"name":"alice"}}`, true, false},
		{"pay(to:alice)", "pay", `{"to":"alice","to":"bob"}`, true, false},
		{"pay(to:bob)", "pay", `{"to":"alice","to":"bob"}`, true, false},
		{"pay(to:alice)", "pay", `{"TO":"alice"}`, true, false},
		{"pay(to:alice)", "pay", `{"to":"alice","TO":"bob"}`, true, false},
		{"pay(to:alice)", "pay", `not JSON`, true, false},
		{"pay(to:alice)", "pay", `{"to":`, true, false},
		{"pay(to:alice)", "pay", `[]`, true, false},
	} {
		a := action(c.tool, pays, c.input)
		d := judge(t, policy.Gate{Rules: rules(t, uzda.Deny, c.rule)}, a).Decision == uzda.Deny
		v := judge(t, policy.Gate{Mode: policy.ModeDeny, Rules: rules(t, uzda.Ask, c.rule)}, a)
		q := v.Rule != "" || strings.Contains(v.Reason, "its input does not name one")
		if d != c.denies || q != c.denies {
			t.Errorf("%s on %s %s: denies %v, asks %v, not %v", c.rule, c.tool, c.input, d, q, c.denies)
		}
		a.Spec.Effects = writes // so that a name with * may allow
		w := judge(t, policy.Gate{Rules: rules(t, uzda.Allow, c.rule)}, a).Decision == uzda.Allow
		if w != c.allows {
			t.Errorf("%s on %s %s: allows %v, not %v", c.rule, c.tool, c.input, w, c.allows)
		}
	}
}

// S1: a pattern that nothing can judge, or that allows nothing, is told, not
// silently dropped; what is judged needs no warning.
func TestWarnings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		list       uzda.Decision
		text, want string
	}{
		{uzda.Deny, "Agent(reader)", "deny rule Agent(reader): the pattern is of no form that is known for Agent, so it holds for every use"},
		{uzda.Allow, "Agent(reader)", "so it allows nothing; write Agent(ARGUMENT:PATTERN), or allow Agent"},
		{uzda.Allow, "Bash(* --help)", "it spells out no word of a command before the *, so it allows nothing"},
		{uzda.Deny, "Bash(* --force)", ""},
		{uzda.Deny, "Bash(rm *)", ""},
		{uzda.Ask, "Read(~/.ssh/**)", ""},
		{uzda.Allow, "Bash(git *)", ""},
		{uzda.Allow, "shell(command:ls)", ""},
		{uzda.Allow, "pay(to:a*)", ""},
		{uzda.Deny, "shell", ""},
		{uzda.Allow, "Bash(*)", ""},
	} {
		var rs policy.Rules
		got, err := rs.Add(c.list, "flag", c.text)
		if err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(got, "\n"); c.want == "" && all != "" || !strings.Contains(all, c.want) {
			t.Errorf("%s %s warns %q, not %q", c.list, c.text, all, c.want)
		}
	}
}

// S1: a rule whose name no tool has is found.
func TestUnused(t *testing.T) {
	t.Parallel()
	rs := with(rules(t, uzda.Deny, "Bash", "bash", "Read"), rules(t, uzda.Allow, "fetc", "get_*"))
	tools := []uzda.ToolSpec{{Name: "shell"}, {Name: "grep"}, {Name: "get_order"}}
	var got []string
	for _, r := range rs.Unused(tools) {
		got = append(got, r.String())
	}
	if strings.Join(got, " ") != "bash fetc" {
		t.Errorf("unused are %v", got)
	}
}

// Whatever is written, Parse ends with a rule or an error; a rule reads back as
// itself, matches without a panic, and no rule with a name of only * allows.
func FuzzRule(f *testing.F) {
	for _, s := range []string{"shell", "Bash(git diff:*)", "pay(to: a*b )", "mcp__x__*", "*", "a(())", "Bash(", "read_file(path:/**)", "é(ü:*)", "pay(a:>1, /b/c:2..3)", "Read(~/[!x]*/)", "fetch(domain:[::1]:80)"} {
		f.Add(s, `{"to":"x","path":1}`)
	}
	f.Fuzz(func(t *testing.T, text, input string) {
		for _, list := range []uzda.Decision{uzda.Deny, uzda.Ask, uzda.Allow} {
			r, err := policy.Parse(list, text, "o")
			if err != nil {
				continue
			}
			back, err := policy.Parse(list, r.String(), "o")
			if err != nil || back != r {
				t.Fatalf("%q reads as %#v, and %q as %#v (%v)", text, r, r.String(), back, err)
			}
			rs := policy.Rules{Allow: []policy.Rule{r}}
			v, err := policy.Gate{Rules: rs}.Check(t.Context(), action("unheard_of_tool", pays, input))
			if err != nil {
				t.Fatal(err)
			}
			if list == uzda.Allow && v.Decision == uzda.Allow && r.Tool != "unheard_of_tool" {
				t.Fatalf("%q allows a tool that it does not name", text)
			}
			for _, tool := range []string{"shell", "pay", "read_file", "mcp__x__y"} {
				if _, err := (policy.Gate{Rules: policy.Rules{Deny: []policy.Rule{r}}}).Check(t.Context(), action(tool, writes, input)); err != nil {
					t.Fatal(err)
				}
			}
			_ = r.Warning(list)
		}
	})
}

package hook_test

import (
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/hook"
)

// P4: whatever a guard prints, it never comes out looser than what it says for
// certain: what is read as an object either decides by a known word, or fails.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{"", "fine", "{}", `{"decision":"block"}`, `{"hookSpecificOutput":{"permissionDecision":"deny"}}`, "\ufeff{", `{"continue":false}`, "\xff{", `{"decision":null}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, blocked, err := hook.Judge(text)
		if err != nil && v.Decision != uzda.Ask || err == nil && blocked != (v.Decision == uzda.Deny) {
			t.Errorf("%q: %+v, %v", text, v, err)
		}
	})
}

// P4: a matcher that is refused matches everything, so that no guard is lost.
func FuzzMatcher(f *testing.F) {
	for _, seed := range []string{"", "*", "Bash", "Edit|Write", "a(", "mcp__.*", "|", "a||b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, ok := hook.Matched(text, []string{"shell", "Bash"})
		if hook.CheckMatcher(text) != nil && !ok {
			t.Errorf("%q is refused, and lost", text)
		}
	})
}

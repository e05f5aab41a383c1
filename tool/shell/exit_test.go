package shell_test

import (
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/tool/shell"
)

// A command that exits with a code is a failure that gates and hooks see, with a known
// outcome; a code that answers what was asked is none.
func TestFailed(t *testing.T) { // S1 L11
	t.Parallel()
	s := open(t, shell.Config{})
	s.run("echo a > a; echo b > b; mkdir d; cp a d")
	for _, c := range []struct {
		command string
		failed  bool
	}{
		{"exit 1", true}, {"false", true}, {"(exit 5)", true}, {"no_such_command_here", true}, {"echo )", true}, {"ls no_such_file", true},
		{"sh -c 'exit 1'", true}, {"echo x; false", true}, {"grep x a; false", true}, {"grep x no_such_file", true}, {"false | false", true},
		{"grep x a || exit 1", true}, {"grep -q a a && false", true}, {"grep x a | false", true}, {"set -e; false; grep x a", true},
		{"echo 'grep x a'; false", true}, {"false # grep", true}, {"cat <<X; false\ngrep x a\nX", true}, {"diff no such", true}, {"[ a -lt b ]", true},
		{"if ! test -e gone; then exit 1; fi", true}, {"timeout 5 false", true}, {"env A=1 false", true}, {"x=grep; false", true}, {"echo $(grep x a); false", true},

		{"true", false}, {"exit 0", false}, {"false; true", false}, {"false || true", false}, {"false | cat", false},
		{"grep x a", false}, {"/bin/grep x a", false}, {"! grep a a", false}, {"cat a | grep x", false}, {"cd d && grep x a", false}, {"cat a |\n  grep -c x", false},
		{"echo 'false; x'; egrep x a 2>/dev/null", false}, {"LC_ALL=C grep x a", false}, {"command grep x a", false}, {"timeout -k 1 5 grep x a", false}, {"env A=1 nice -n 5 grep x a", false}, {"time grep x a", false},
		{"(grep x a)", false}, {"{ cat a; grep x a; }", false}, {"for f in a b; do grep x $f; done", false}, {"if test -e a; then grep x a; fi", false},
		{"case a in a) grep x a;; esac", false}, {"while read l; do grep x a; done < a", false},
		{"grep -q x a && echo there", false}, {"test -e gone && echo there", false}, {"[ -e gone ] && printf yes", false}, {"[[ -e gone ]]", false}, {"(( 0 ))", false}, {"test -e gone", false}, {"[ -e gone ]", false},
		{"diff a b", false}, {"diff -r d . > /dev/null", false}, {"cmp a b", false}, {"expr 1 - 1", false}, {"let 0", false}, {"type no_such_command", false}, {"command -v no_such_command", false},
		{"cat <<X | grep y\nx\nX", false}, {"echo x; # a comment\ngrep x a # more", false},
	} {
		got, res := s.run("cd " + s.dir + "; " + c.command)
		switch {
		case res.IsError != c.failed:
			t.Errorf("%s: error %v: %s", c.command, res.IsError, got)
		case c.failed && (res.Code != uzda.CodeFailed || res.Effect != uzda.EffectDone):
			t.Errorf("%s: %s, %s", c.command, res.Code, res.Effect)
		}
	}
	s.run("cd " + s.dir)
	need(t, "git", "git")
	s.has("git init -q . && git add a b && git -c user.name=a -c user.email=a@b commit -qm x && echo c > a && echo made", "made")
	for command, failed := range map[string]bool{
		"git diff --quiet": false, "git -C . diff --exit-code": false, "git grep zzz": false, "git check-ignore a": false, "git config --get no.such": false, "git rev-parse -q --verify nothing": false,
		"git --no-pager grep zzz": false, "git no-such-command": true, "git -c user.name=a -c user.email=a@b commit -m x": true, "git show-ref --verify --quiet refs/heads/none": false,
	} {
		if got, res := s.run(command); res.IsError != failed {
			t.Errorf("%s: error %v: %s", command, res.IsError, got)
		}
	}
}

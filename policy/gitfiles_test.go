package policy_test

import (
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/policy"
)

// Rules about files hold for git too: what it shows from its history, and what it
// changes. Without such a rule its plain commands are not asked about, though a .env
// that it does not know lies there.
// S1 case:P01
func TestGitKnowsFiles(t *testing.T) {
	t.Parallel()
	dir := site(t, "proj/.env", "proj/a.txt", "proj/docs/a.md", "proj/sub/x", "proj/.git/HEAD", "proj/.git/config")
	plain := []string{
		"git diff", "git log -p", "git log -p -3", "git show", "git show HEAD", "git show --stat HEAD", "git stash show -p", "git diff HEAD~1 -- docs", "git diff -- '*.md'",
		"git show HEAD:a.txt", "git log --oneline -- .env", "git diff-tree -p HEAD", "git log -L1,2:a.txt", "git grep -n foo", "git -C sub log -p", "cd sub; git diff", "git cat-file -p HEAD",
	}
	for _, line := range plain {
		if got := judge(t, policy.Gate{Bash: true}, in(dir, "shell", line)); got.Decision != uzda.Allow {
			t.Errorf("%q: %s (%s)", line, got.Decision, got.Reason)
		}
	}
	for _, c := range []struct {
		line string
		want uzda.Decision
		rule []string
	}{
		{"git log -p -- .env", ask, nil},
		{"git show HEAD -- .env", ask, nil},
		{"git show HEAD .env", ask, nil},
		{"git diff -- '*.env'", ask, nil},
		{"git diff -- ':(icase).ENV'", ask, nil},
		{"cd sub && git show HEAD:.env", ask, nil},
		{"git log -p -- .env", deny, []string{"deny: Read(./.env)"}},
		{"git show HEAD -- .env", deny, []string{"deny: Read(./.env)"}},
		{"git show HEAD .env", deny, []string{"deny: Read(./.env)"}},
		{"git log -L1,2:a.txt", deny, []string{"deny: Read(a.txt)"}},
		{"cd sub && git show HEAD:docs/a.md", deny, []string{"deny: Read(./docs/a.md)"}},
		{"git diff-tree -p HEAD", ask, []string{"deny: Read(./docs/a.md)"}},
		{"git stash show -p", ask, []string{"deny: Read(./docs/a.md)"}},
		{"git diff", ask, []string{"deny: Read(./docs/a.md)"}},
		{"git log -p", ask, []string{"deny: Read(./docs/a.md)"}},
		{"cd sub && git log -p", ask, []string{"deny: Read(./docs/a.md)"}},
		{"git log --oneline", allow, []string{"deny: Read(./docs/a.md)"}},
		{"git diff -- a.txt", allow, []string{"deny: Read(./docs/a.md)"}},
		{"git show HEAD:a.txt", allow, []string{"deny: Read(./docs/a.md)"}},
		{"git checkout a.txt", deny, []string{"deny: Edit(a.txt)", "allow: Bash(git *)"}},
		{"git stash", ask, []string{"deny: Edit(a.txt)", "allow: Bash(git *)"}},
		{"git switch main", ask, []string{"deny: Edit(a.txt)", "allow: Bash(git *)"}},
		{"git rm -r --cached .", ask, []string{"deny: Edit(a.txt)", "allow: Bash(git *)"}},
		{"git restore a.txt", deny, []string{"deny: Edit(a.txt)", "allow: Bash(git *)"}},
		{"git mv docs x", ask, []string{"deny: Edit(docs/a.md)", "allow: Bash(git *)"}},
		{"git switch main", allow, []string{"allow: Bash(git *)"}},
		{"git stash", allow, []string{"allow: Bash(git *)"}},
		{"git checkout main", allow, []string{"allow: Bash(git checkout *)"}},
		{"git add a.txt", allow, []string{"deny: Edit(a.txt)", "allow: Bash(git add *)"}},
	} {
		g := policy.Gate{Bash: true, Rules: rulesOf(t, c.rule...)}
		if got := judge(t, g, in(dir, "shell", c.line)); got.Decision != c.want {
			t.Errorf("%q with %q: %s, want %s (%s)", c.line, c.rule, got.Decision, c.want, got.Reason)
		}
	}
}

package shell_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/uzda-dev/uzda/tool/shell"
)

// No program that a repository names is started by git commands that only read, where
// settings can keep it from that; daily work with bare repositories goes on.
func TestGitPrograms(t *testing.T) { // S1 case:P01
	t.Parallel()
	need(t, "git", "git")
	s := open(t, shell.Config{})
	pwn := filepath.Join(t.TempDir(), "pwn")
	started := func(what string) {
		t.Helper()
		if _, err := os.Stat(pwn); err == nil {
			t.Errorf("%s started a program", what)
			_ = os.Remove(pwn)
		}
	}
	if err := os.WriteFile(filepath.Join(s.dir, "program"), []byte("#!/bin/sh\ntouch "+pwn+"\n"), 0o700); err != nil { //nolint:gosec // it is to be started
		t.Fatal(err)
	}
	s.has(`export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q -b main repo && cd repo && echo one > a.txt && git add . && git commit -qm x && echo two > a.txt
git config core.fsmonitor "$PWD/../program"; git config core.pager ../program; git config pager.log ../program
git config gpg.program "$PWD/../program"; git config log.showSignature true
git config protocol.ext.allow always; git config remote.e.url "ext::`+pwn+`.sh"
c=$(git cat-file commit HEAD | awk '{print} /^committer/ {print "gpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----"}' | git hash-object -w -t commit --stdin)
git update-ref HEAD $c && echo made`, "made")
	_ = os.Remove(pwn)                                                                           // from making it
	if err := os.WriteFile(pwn+".sh", []byte("#!/bin/sh\ntouch "+pwn+"\n"), 0o700); err != nil { //nolint:gosec // it is to be started
		t.Fatal(err)
	}
	for _, command := range []string{"git status", "git diff", "git log", "git log -p", "git show", "git log --oneline --stat", "git ls-remote e", "git branch -a"} {
		s.run(command)
		started(command)
	}
	// A folder of a clone that looks like a repository.
	var major, minor int
	version, _ := s.run("git version")
	if _, err := fmt.Sscanf(version, "git version %d.%d", &major, &minor); err != nil {
		t.Fatalf("%s: %v", version, err)
	}
	if major == 2 && minor < 38 {
		t.Skip("SKIPPED: this git takes any folder for a repository")
	}
	s.has(`git config log.showSignature false; mkdir -p docs/b && cp -r .git/HEAD .git/objects .git/refs docs/b/ && echo '* diff=x' > docs/.gitattributes && echo x > docs/a.txt
printf '[core]\nrepositoryformatversion=0\nbare=false\nworktree=..\n[diff "x"]\ntextconv=touch `+pwn+`; cat\n' > docs/b/config; echo made`, "made")
	for _, command := range []string{"git -C docs/b log -p", "cd docs/b && git log -p; cd ../..", "git -C docs/b show", "git -C docs/b status"} {
		s.has(command, "cannot use bare repository")
		started(command)
	}
	// Bare repositories that are named, and work trees of one, are daily work.
	s.has("git init -q -b main --bare ../bare.git && git remote add o ../bare.git && git push -q o HEAD:main && git clone -q -b main ../bare.git ../two && git fetch -q o && git --git-dir=../bare.git log --format=%s && echo fine", "x\nfine")
	s.has("mkdir ../three && cd ../three && git clone -q --bare ../repo .bare && echo 'gitdir: ./.bare' > .git && git log --format=%s && git worktree add -q w HEAD && cd w && git status -s && echo fine", "x\nfine")
}

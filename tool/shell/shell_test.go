package shell_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/tool/shell"
	"github.com/uzda-dev/uzda/tool/tooltest"
)

func TestConformance(t *testing.T) { // T2
	t.Parallel()
	s := open(t, shell.Config{})
	tooltest.Run(t, s.tool,
		tooltest.Case{Input: `{"command":"echo Größe 漢字 🎉"}`, Want: "Größe 漢字 🎉", Dir: s.dir},
		tooltest.Case{Input: `{"command":"pwd","timeout":"20"}`, Want: s.dir, Dir: s.dir},
		tooltest.Case{Input: `{"command":"exit 3","timeout":20}`, Want: "[exit 3]", IsError: true, Dir: s.dir},
		tooltest.Case{Input: `{"command":"kill -9 $$"}`, Want: "SIGKILL", IsError: true, Dir: s.dir},
		tooltest.Case{Input: `{"command":"true"}`, Want: "(no output)"},
		tooltest.Case{Input: `{"command":"pwd"}`, Want: "is gone", IsError: true, Dir: filepath.Join(s.dir, "gone")},
		tooltest.Case{Input: `{"command":" \n"}`, Bad: true, Want: "/command is empty"},
		tooltest.Case{Input: `{"command":"a\u0000b"}`, Bad: true, Want: "NUL"},
		tooltest.Case{Input: `{"command":"ls","timeout":120000}`, Bad: true, Want: "1 to 600, in seconds"},
		tooltest.Case{Input: `{"command":"ls","timeout":-1}`, Bad: true, Want: "1 to 600"},
		tooltest.Case{Input: `{"command":"` + strings.Repeat("x", 110<<10) + `"}`, Bad: true, Want: "write the text to a file"},
	)
}

// What a result says, whole. T2
func TestResults(t *testing.T) {
	t.Parallel()
	s := open(t, shell.Config{})
	for command, want := range map[string]string{
		"echo out; echo err >&2; echo out":     "out\nerr\nout",
		"true":                                 "(no output)",
		"exit 3":                               "(no output)\n[exit 3]",
		"echo x; false":                        "x\n[exit 1]",
		"grep nothing /dev/null":               "(no output)\n[exit 1]",
		"# a comment\necho 1\necho $((1+1)) #": "1\n2",
		"cat <<'X'\nhere\nX":                   "here",
		"set -e; false; echo no":               "(no output)\n[exit 1]",
		"(exit 5)":                             "(no output)\n[exit 5]",
		"exit 129":                             "(no output)\n[exit 129]",
		"exit 143":                             "(no output)\n[exit 143: a program was ended by SIGTERM]",
		"printf 'no newline'":                  "no newline",
		"printf '\\n\\n  a\\n\\n'":             "\n\n  a",
		"yes | head -2":                        "y\ny",
		"trap 'echo bye' EXIT; echo hi":        "hi\nbye",
		"exec echo replaced":                   "replaced",
		"sh -c 'kill -9 $$'; exit $?":          "(no output)\n[exit 137: a program was ended by SIGKILL, often for lack of memory]",
	} {
		got, res := s.run(command)
		if command == "sh -c 'kill -9 $$'; exit $?" { // the shell may say it too
			got = "(no output)\n" + got[strings.LastIndex(got, "[exit"):]
		}
		if fault := strings.Contains(want, "[exit") && !strings.HasPrefix(command, "grep"); got != want || res.IsError != fault {
			t.Errorf("%q: error %v, got\n%s\nwant\n%s", command, res.IsError, got, want)
		}
	}
	s.has("no_such_command_here", "no_such_command_here", "[exit 127: there is no such command]")
	if got := s.has("echo )", "yntax error", "[exit 2]"); strings.Contains(got, "trap") {
		t.Errorf("what stands before the command is shown:\n%s", got)
	}
	got, res := s.run("echo begun; kill -TERM $$; sleep 5")
	if !res.IsError || res.Effect != uzda.EffectUnknown || !strings.Contains(got, "begun") || !strings.Contains(got, "SIGTERM") {
		t.Errorf("a shell that was killed: %+v", res)
	}
}

// The session keeps a directory, also over a restart; one that is lost is said. T2
func TestDirectory(t *testing.T) {
	t.Parallel()
	state, root := t.TempDir(), t.TempDir()
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		t.Fatal(err)
	}
	outside, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := shell.Config{State: state, Roots: []string{root}}
	s := open(t, c)
	s.dir = root
	odd := filepath.Join(root, "a b'ü\n漢 ")
	for _, dir := range []string{odd, filepath.Join(root, "sub", "deep"), filepath.Join(root, "gone")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	s.wants("cd sub; pwd", root+"/sub\n[now in "+root+"/sub]")
	s.wants("pwd", root+"/sub")
	s.wants("cd deep && exit 4", "(no output)\n[exit 4 · now in "+root+"/sub/deep]")
	s.wants("(cd /; pwd)", "/")
	s.wants("pwd", root+"/sub/deep")

	next := open(t, c) // a restart
	next.dir = root
	next.wants("pwd", root+"/sub/deep")
	other := *next
	other.id = "S"
	other.wants("pwd", root)

	next.has("cd "+outside, outside+" is outside the folders that commands may work in: the next command begins in the session's own directory")
	next.wants("pwd", root)
	next.has("cd link", "is outside the folders")
	next.wants("pwd", root)
	next.wants("cd 'a b'\\''ü\n漢 '", "(no output)\n[now in "+odd+"]")
	next.wants("pwd -P", strings.TrimRight(odd, " "))
	next.run("cd ../gone")
	if err := os.Remove(filepath.Join(root, "gone")); err != nil {
		t.Fatal(err)
	}
	next.wants("pwd", root+"\n[the working directory "+root+"/gone is gone; this ran in "+root+"]")
	next.wants("pwd", root)
	next.has("mkdir x; cd x; rmdir ../x", "the directory that the command ended in is gone")
	next.wants("pwd", root)

	// A folder becomes a link that leads out.
	next.run("cd sub/deep")
	if err := os.Remove(filepath.Join(root, "sub", "deep")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(root, "sub", "deep")); err != nil {
		t.Fatal(err)
	}
	next.has("pwd", root+"\n[the working directory "+root+"/sub/deep is outside")

	left, err := filepath.Glob(filepath.Join(state, "*", ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
}

// Programs are told not to ask, page or paint, and get no secrets; what would make a
// shell run something else than the command is gone. T2
func TestEnvironment(t *testing.T) {
	t.Parallel()
	rc := filepath.Join(t.TempDir(), "rc")
	if err := os.WriteFile(rc, []byte("echo sourced\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "BASH_ENV="+rc, "ENV="+rc, "BASH_FUNC_ls%%=() { echo forged; }", "CDPATH=/", "PS4=$(echo run)", "FORCE_COLOR=1",
		"MY_TOKEN=secret", "KEPT=yes", "EDITOR=vim", "TERM=xterm", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=a.b", "GIT_CONFIG_VALUE_0=c")
	s := open(t, shell.Config{Env: env, Hide: func(name string) bool { return strings.HasSuffix(name, "_TOKEN") }})
	got := s.has("env; ls -d /", "KEPT=yes", "TERM=dumb", "PAGER=cat", "EDITOR=false", "GIT_TERMINAL_PROMPT=0", "NO_COLOR=1", "PWD="+s.dir,
		"GIT_CONFIG_COUNT=6", "GIT_CONFIG_KEY_0=a.b", "GIT_CONFIG_KEY_1=core.fsmonitor", "GIT_CONFIG_VALUE_1=false", "GIT_CONFIG_KEY_2=core.pager", "GIT_CONFIG_KEY_5=safe.bareRepository")
	for _, bad := range []string{"secret", "sourced", "forged", "vim", "xterm", "FORCE_COLOR", "CDPATH", "BASH_ENV"} {
		if strings.Contains(got, bad) {
			t.Errorf("the environment has %q:\n%s", bad, got)
		}
	}
	if n := strings.Count("\n"+got, "\nTERM="); n != 1 {
		t.Errorf("TERM is there %d times", n)
	}
}

// What a person approves: the whole command, nothing hidden. S1
func TestPreview(t *testing.T) {
	t.Parallel()
	s := open(t, shell.Config{})
	in, err := json.Marshal(map[string]any{"command": "echo a\nrm x\x1b[1A\x1b[2K # \u202egpj\u202c \u200b\u009b漢\te\u0301", "timeout": 5})
	if err != nil {
		t.Fatal(err)
	}
	text, pre, err := s.tool.Preview(t.Context(), uzda.Use{Input: in, Dir: "/a\rb"})
	want := "$ echo a\n  rm x\\x1b[1A\\x1b[2K # \\u202egpj\\u202c \\u200b\\x9b漢\te\u0301\nin /a\\x0db, for at most 5 s"
	if err != nil || text != want || pre != "" {
		t.Errorf("%q, %q, %v", text, pre, err)
	}
}

// Two sessions at once, and one after a mistake in the settings. T2
func TestTogether(t *testing.T) {
	t.Parallel()
	s := open(t, shell.Config{})
	var wg sync.WaitGroup
	for i := range 8 {
		one := *s
		one.id = uzda.SessionID(fmt.Sprint("s", i))
		wg.Go(func() {
			dir := filepath.Join(s.dir, fmt.Sprint(i))
			one.wants("mkdir "+dir+"; cd "+dir, "(no output)\n[now in "+dir+"]")
			for n := range 5 {
				one.wants(fmt.Sprintf("sleep 0.0%d; pwd; echo %d", n, i), fmt.Sprintf("%s\n%d", dir, i))
			}
		})
	}
	wg.Wait()
	for _, c := range []shell.Config{{}, {State: "x", Shell: "/no/such/shell"}, {State: "x", Shell: "cat"}} {
		if _, err := shell.New(c); err == nil {
			t.Errorf("%+v passes", c)
		}
	}
}

// The plain shell of the system does the same. T2
func TestPlainShell(t *testing.T) {
	t.Parallel()
	s := open(t, shell.Config{Shell: "sh"})
	s.wants("mkdir d; cd d; echo hi; exit 3", "hi\n[exit 3 · now in "+s.dir+"/d]")
	s.wants("pwd", s.dir+"/d")
	n := unique()
	s.has("sleep "+n+" & echo hi", "hi\n[ended, since it still ran in the background: pid ", "sleep "+n)
	if left := alive(t, n); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// The loop's own time ends a command too. L11
func TestDeadline(t *testing.T) {
	t.Parallel()
	s := open(t, shell.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, res := s.call(ctx, map[string]any{"command": "touch made"}); !res.IsError || res.Effect != uzda.EffectNone || res.Code != uzda.CodeCancelled {
		t.Errorf("%s: %+v", got, res)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "made")); err == nil {
		t.Error("a cancelled command ran")
	}
}

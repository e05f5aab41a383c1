package shell_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/tool/shell"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("SHELL_TEST_CRASH"); dir != "" {
		crash(dir)
	}
	goleak.VerifyTestMain(m)
}

// crash runs a command that stays in the background, and ends without a word.
func crash(dir string) {
	s, err := shell.New(shell.Config{State: dir, Keep: os.Getenv("SHELL_TEST_KEEP") != ""})
	if err != nil {
		panic(err)
	}
	in, _ := json.Marshal(map[string]any{"command": os.Getenv("SHELL_TEST_COMMAND")})
	res, err := s.Call(context.Background(), uzda.Use{Session: "s", ID: "1.1", Input: in, Dir: dir})
	fmt.Println(res.Blocks, err)
	os.Exit(7)
}

var serial atomic.Int64

// unique is a number for sleep, of about ten minutes, that no other process has.
func unique() string { return fmt.Sprintf("600.%d%d", os.Getpid(), serial.Add(1)) }

// alive lists the processes whose command line or environment has a text.
func alive(t testing.TB, text string) []string {
	t.Helper()
	if runtime.GOOS != "linux" {
		return nil
	}
	var out []string
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		cmd, _ := os.ReadFile(dir + "/cmdline")
		env, _ := os.ReadFile(dir + "/environ")
		if strings.Contains(string(cmd)+string(env), text) && filepath.Base(dir) != strconv.Itoa(os.Getpid()) {
			out = append(out, filepath.Base(dir)+" "+strings.ReplaceAll(string(cmd), "\x00", " "))
		}
	}
	return out
}

// A session is a tool with one session, and where that is.
type session struct {
	t    testing.TB
	tool *shell.Shell
	dir  string // of the session
	id   uzda.SessionID
	use  int
}

func open(t testing.TB, c shell.Config) *session {
	t.Helper()
	if c.State == "" {
		c.State = filepath.Join(t.TempDir(), "made", "when", "needed")
	}
	s, err := shell.New(c)
	if err != nil {
		t.Skip("SKIPPED: no shell here: ", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &session{t: t, tool: s, dir: dir, id: "s"}
}

// run calls the tool as the loop does.
func (s *session) run(command string) (string, uzda.Result) {
	s.t.Helper()
	return s.call(s.t.Context(), map[string]any{"command": command})
}

func (s *session) call(ctx context.Context, in map[string]any) (string, uzda.Result) {
	s.t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		s.t.Fatal(err)
	}
	if raw, err = s.tool.Check(raw); err != nil {
		s.t.Fatalf("%v: %v", in, err)
	}
	s.use++
	use := uzda.Use{Session: s.id, ID: uzda.UseID(fmt.Sprintf("%d.1", s.use)), Name: "shell", Input: raw, Attempt: 1, Dir: s.tool.Place(s.id, s.dir)}
	res, err := s.tool.Call(ctx, use)
	if err != nil {
		s.t.Fatalf("%v: %v", in, err)
	}
	return res.Blocks.String(), res
}

// wants runs a command and checks the whole text of its result.
func (s *session) wants(command, want string) {
	s.t.Helper()
	if got, _ := s.run(command); got != want {
		s.t.Errorf("%s: got\n%s\nwant\n%s", command, uzda.Clip(got, 2000), want)
	}
}

// has runs a command and checks parts of the text of its result.
func (s *session) has(command string, parts ...string) string {
	s.t.Helper()
	got, _ := s.run(command)
	for _, p := range parts {
		if !strings.Contains(got, p) {
			shown := got
			if len(shown) > 1000 {
				shown = "…" + uzda.After(shown, 500)
			}
			s.t.Errorf("%s: without %q:\n%s", command, p, strings.ReplaceAll(shown, "\ny\ny", ""))
		}
	}
	return got
}

// rawFile returns what the file holds that a result names.
func rawFile(t testing.TB, result string) []byte {
	t.Helper()
	at := strings.LastIndex(result, "[raw output, ")
	if at < 0 {
		t.Fatalf("no raw output is named:\n%s", uzda.After(result, 1000))
	}
	line, _, _ := strings.Cut(result[at:], "]\n")
	_, path, _ := strings.Cut(strings.TrimSuffix(line, "]"), ": ")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// within fails if it took longer than anybody would wait.
func within(t testing.TB, from time.Time, most time.Duration, what string) {
	t.Helper()
	if took := time.Since(from); took > most {
		t.Errorf("%s took %v, more than %v", what, took, most)
	}
}

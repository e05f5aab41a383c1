//go:build unix

package hook_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/hook"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// said collects what people are told.
type said struct {
	mu   sync.Mutex
	text []string
}

func (s *said) add(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = append(s.text, text)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.text, "\n")
}

// words are the names that another host has for our tools.
func words(tool string) []string {
	if tool == "shell" {
		return []string{"shell", "Bash"}
	}
	return []string{tool}
}

func set(t *testing.T, hooks ...hook.Hook) (*hook.Set, *said) {
	t.Helper()
	told := &said{}
	return &hook.Set{Hooks: hooks, Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")}, Names: words, Warn: told.add}, told
}

func before(command string) hook.Hook {
	return hook.Hook{Event: hook.PreToolUse, Command: command, Timeout: 30 * time.Second, Origin: "uzda.yaml:3"}
}

func use(dir, tool, input string) uzda.Action {
	u := uzda.Use{Session: "s", ID: "3.1", Name: tool, Input: json.RawMessage(input), Dir: dir}
	return uzda.Action{Session: "s", Use: u, Spec: uzda.ToolSpec{Name: tool}, Dir: dir}
}

// P4: what a hook says before a tool becomes a verdict. It never loosens: allow, an
// input of its own and plain words decide nothing, and a hook without an answer has
// a person asked.
func TestGate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, command string
		want          uzda.Decision
		reason        string
	}{
		{"silent", "true", uzda.Allow, ""},
		{"words", "echo fine", uzda.Allow, ""},
		{"exit 2", "echo 'not on a Friday' >&2; exit 2", uzda.Deny, "denies it: not on a Friday"},
		{"exit 2 without words", "exit 2", uzda.Deny, "it gives no reason"},
		{"deny", `echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"zażółć 你好"}}'`, uzda.Deny, "zażółć 你好"},
		{"ask", `echo '{"hookSpecificOutput":{"permissionDecision":"ask","permissionDecisionReason":"look twice"}}'`, uzda.Ask, "look twice"},
		{"defer", `echo '{"hookSpecificOutput":{"permissionDecision":"defer"}}'`, uzda.Ask, ""},
		{"allow", `echo '{"hookSpecificOutput":{"permissionDecision":"allow"}}'`, uzda.Allow, ""},
		{"the older form", `echo '{"decision":"block","reason":"old"}'`, uzda.Deny, "old"},
		{"the older yes", `echo '{"decision":"approve"}'`, uzda.Allow, ""},
		{"another input", `echo '{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"command":"ls"}}}'`, uzda.Ask, "another input"},
		{"stop", `echo '{"continue":false,"stopReason":"enough"}'`, uzda.Deny, "enough"},
		{"crash", "echo Traceback >&2; echo 'KeyError: x' >&2; exit 1", uzda.Ask, "it exits 1: KeyError: x"},
		{"not there", "/nonexistent/guard", uzda.Ask, "could not judge this"},
		{"killed", "kill -9 $$", uzda.Ask, "it was ended"},
		{"cut JSON", `echo '{"decision":'`, uzda.Ask, "not the JSON"},
		{"words before it", `echo hi; echo '{"decision":"block"}'`, uzda.Ask, "not the JSON"},
		{"words before it, in lines", `printf 'hi\n{\n  "hookSpecificOutput" : {\n    "permissionDecision":"deny"}}\n'`, uzda.Ask, "not the JSON"},
		{"words right before it", `printf 'hi {"continue": false}'`, uzda.Ask, "not the JSON"},
		{"words about a decision", `echo 'the decision: block nothing'`, uzda.Allow, ""},
		{"two values", `echo '{}{"decision":"block"}'`, uzda.Ask, "not the JSON"},
		{"wrong type", `echo '{"decision":7}'`, uzda.Ask, "not the JSON"},
		{"wrong word", `echo '{"hookSpecificOutput":{"permissionDecision":"Deny"}}'`, uzda.Ask, "want allow, deny or ask"},
		{"wrong old word", `echo '{"decision":"deny"}'`, uzda.Ask, `want "block"`},
		{"too much", "head -c 3000000 /dev/zero", uzda.Ask, "more than a megabyte"},
		{"does not read", "exec <&-; echo no >&2; exit 2", uzda.Deny, "no"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, told := set(t, before(c.command))
			dir := t.TempDir()
			v, err := s.Gate().Check(t.Context(), use(dir, "shell", `{"command":"`+strings.Repeat("x", 1<<17)+`"}`))
			if err != nil || v.Decision != c.want || !strings.Contains(v.Reason, c.reason) {
				t.Fatalf("%+v, %v", v, err)
			}
			if c.want != uzda.Allow && c.name != "stop" && (v.Origin != "uzda.yaml:3" || !strings.Contains(v.Reason, "hook `")) {
				t.Errorf("it does not say which hook: %+v", v)
			}
			if failed := strings.Contains(v.Reason, "could not judge"); failed && !strings.Contains(told.String(), "PreToolUse") {
				t.Errorf("people are not told: %q", told)
			}
		})
	}
}

// P4: a hook that hangs is ended with all that it started, and the guard fails closed.
func TestTimeout(t *testing.T) {
	t.Parallel()
	h := before("sleep 300 & echo $! > pid; wait")
	h.Timeout = 2 * time.Second
	s, _ := set(t, h)
	dir := t.TempDir()
	v, err := s.Gate().Check(t.Context(), use(dir, "shell", "{}"))
	if err != nil || v.Decision != uzda.Ask || !strings.Contains(v.Reason, "did not end within 2s") {
		t.Fatalf("%+v, %v", v, err)
	}
	gone(t, filepath.Join(dir, "pid"))
}

// P4: what a hook leaves running in the background with its output open goes with it.
func TestLeftBehind(t *testing.T) {
	t.Parallel()
	s, _ := set(t, before("sleep 300 & echo $! > pid; echo no >&2; exit 2"), before("sleep 300 & echo $! > pid2"))
	dir := t.TempDir()
	v, err := s.Gate().Check(t.Context(), use(dir, "shell", "{}"))
	if err != nil || v.Decision != uzda.Deny {
		t.Fatalf("%+v, %v", v, err)
	}
	gone(t, filepath.Join(dir, "pid"))
	gone(t, filepath.Join(dir, "pid2"))
}

func gone(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || strings.Contains(string(stat), ") Z ") { // nobody may reap it here
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("process %d is still there", pid)
}

// L11: a cancelled turn ends its hooks, and the gate denies by its error.
func TestCancel(t *testing.T) {
	t.Parallel()
	s, _ := set(t, before("touch began; sleep 300"))
	dir := t.TempDir()
	ctx, stop := context.WithCancelCause(t.Context())
	go func() {
		for range 400 {
			if _, err := os.Stat(filepath.Join(dir, "began")); err == nil {
				break
			}
			time.Sleep(25 * time.Millisecond)
		}
		stop(errors.New("that is enough"))
	}()
	if _, err := s.Gate().Check(ctx, use(dir, "shell", "{}")); err == nil || err.Error() != "that is enough" {
		t.Fatal(err)
	}
}

// P4: a hook reads what the protocol promises, in the words of the host whose name
// for the tool it goes by, and without the values of secrets.
func TestInput(t *testing.T) {
	t.Parallel()
	bash := before("cat > told; env > env; pwd > where")
	bash.Matcher = "Bash"
	s, _ := set(t, bash)
	s.Redact, s.Mode = hide{}, "accept-edits"
	s.Input = func(name string, u uzda.Use) json.RawMessage {
		if name == "Bash" {
			return json.RawMessage(`{"command":"echo hunter2","from":"Bash"}`)
		}
		return u.Input
	}
	dir := t.TempDir()
	if _, err := s.Gate().Check(t.Context(), use(dir, "shell", "{}")); err != nil {
		t.Fatal(err)
	}
	var in map[string]any
	told, err := os.ReadFile(filepath.Join(dir, "told"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(told, &in); err != nil {
		t.Fatal(err)
	}
	for k, want := range map[string]string{"session_id": "s", "cwd": dir, "permission_mode": "acceptEdits", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": "3.1"} {
		if in[k] != want {
			t.Errorf("%s is %v, want %s", k, in[k], want)
		}
	}
	if cmd := in["tool_input"].(map[string]any)["command"]; cmd != "echo ****" {
		t.Errorf("the command is %v", cmd)
	}
	env, _ := os.ReadFile(filepath.Join(dir, "env"))
	for _, want := range []string{"UZDA_PROJECT_DIR=" + s.Dir, "CLAUDE_PROJECT_DIR=" + s.Dir, "UZDA_SESSION=s"} {
		if !strings.Contains(string(env), want+"\n") {
			t.Errorf("the environment lacks %s:\n%s", want, env)
		}
	}
	if strings.Contains(string(env), "HOME=") {
		t.Errorf("the environment is not the one that was given:\n%s", env)
	}
}

type hide struct{}

func (hide) Redact(text string, _ bool) (string, int) {
	return strings.ReplaceAll(text, "hunter2", "****"), strings.Count(text, "hunter2")
}
func (hide) Reveal(in []byte) []byte { return in }

// P4: a matcher is a name, a list, a regular expression, or for all.
func TestMatcher(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		matcher, tool string
		want          bool
	}{
		{"", "shell", true}, {"*", "shell", true}, {"shell", "shell", true}, {"Bash", "shell", true}, {"Bash|Edit", "shell", true},
		{"Edit | Bash", "shell", true}, {"bash", "shell", false}, {"Bas", "shell", false}, {"shell", "shell_x", false}, {"Edit|Write", "shell", false},
		{"sh.*", "shell", true}, {"^Ba", "shell", true}, {"ell$", "shell", true}, {"^ell", "shell", false},
		{"mcp__.*__write.*", "mcp__files__write_all", true}, {"mcp__files__read", "mcp__files__read", true}, {"mcp__a.b__read", "mcp__a.b__read", true}, {"mcp__a.b", "mcp__a.b__read", true},
		{"Notebook.*", "shell", false},
	} {
		h := before("exit 2")
		h.Matcher = c.matcher
		s, _ := set(t, h)
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		v, err := s.Gate().Check(t.Context(), use(t.TempDir(), c.tool, "{}"))
		if err != nil || (v.Decision == uzda.Deny) != c.want {
			t.Errorf("%q for %s: %+v, %v", c.matcher, c.tool, v, err)
		}
	}
	for _, bad := range []hook.Hook{{Event: "PreTooluse", Command: "x"}, {Event: hook.Stop, Command: " "}, {Event: hook.Stop, Command: "x", Matcher: "a("}} {
		s, _ := set(t, bad)
		if s.Check() == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// P4: hooks of an event run beside one another, the same one once, and the
// strictest counts wherever it stands.
func TestSeveral(t *testing.T) {
	t.Parallel()
	// Each waits for the other: one after the other they would never end.
	a := before("touch a; until [ -e b ]; do sleep 0.05; done; echo x >> count")
	b := before("touch b; until [ -e a ]; do sleep 0.05; done; echo 'no' >&2; exit 2")
	ask := before(`echo '{"hookSpecificOutput":{"permissionDecision":"ask"}}'`)
	again := a
	again.Matcher = "Bash"
	s, _ := set(t, a, ask, b, again)
	dir := t.TempDir()
	v, err := s.Gate().Check(t.Context(), use(dir, "shell", "{}"))
	if err != nil || v.Decision != uzda.Deny {
		t.Fatalf("%+v, %v", v, err)
	}
	if n, _ := os.ReadFile(filepath.Join(dir, "count")); string(n) != "x\n" {
		t.Errorf("the same hook ran %q times", n)
	}
}

// S1: what a hook would ask is denied where nobody is asked.
func TestDenyMode(t *testing.T) {
	t.Parallel()
	s, _ := set(t, before(`echo '{"hookSpecificOutput":{"permissionDecision":"ask"}}'`))
	a := use(t.TempDir(), "shell", "{}")
	a.Mode = "deny"
	v, err := s.Gate().Check(t.Context(), a)
	if err != nil || v.Decision != uzda.Deny || !v.Unattended {
		t.Errorf("%+v, %v", v, err)
	}
	a.Mode = "bypass"
	if v, err = s.Gate().Check(t.Context(), a); err != nil || v.Decision != uzda.Ask {
		t.Errorf("in bypass: %+v, %v", v, err)
	}
}

// echo is a tool that answers with its input, or with an error.
type echo struct{ wrong bool }

func (echo) Spec() uzda.ToolSpec {
	return uzda.ToolSpec{Name: "shell", Input: json.RawMessage(`{"type":"object"}`), Unchecked: true}
}

func (e echo) Call(_ context.Context, u uzda.Use) (uzda.Result, error) {
	return uzda.Result{Blocks: uzda.Say("result of " + string(u.Input)), IsError: e.wrong}, nil
}

// P4: hooks after a tool add to its result; they don't take it away, and a failure
// is a warning.
func TestAfter(t *testing.T) {
	t.Parallel()
	post := func(event hook.Event, command string) hook.Hook {
		return hook.Hook{Event: event, Command: command, Timeout: 30 * time.Second}
	}
	for _, c := range []struct {
		name  string
		tool  echo
		hook  hook.Hook
		want  string // of the last block
		warns string
	}{
		{"context", echo{}, post(hook.PostToolUse, `echo '{"hookSpecificOutput":{"additionalContext":"two lints"}}'`), "after this call:\ntwo lints", ""},
		{"block", echo{}, post(hook.PostToolUse, `echo '{"decision":"block","reason":"format it"}'`), "found a fault after this call; its effect stays:\nformat it", ""},
		{"exit 2", echo{}, post(hook.PostToolUse, `echo 'format it' >&2; exit 2`), "format it", ""},
		{"words", echo{}, post(hook.PostToolUse, `echo fine`), `result of {"a":1}`, ""},
		{"broken", echo{}, post(hook.PostToolUse, `exit 7`), `result of {"a":1}`, "it exits 7"},
		{"another result", echo{}, post(hook.PostToolUse, `echo '{"hookSpecificOutput":{"updatedToolOutput":"x"}}'`), `result of {"a":1}`, "another result"},
		{"message", echo{}, post(hook.PostToolUse, `echo '{"systemMessage":"for people"}'`), `result of {"a":1}`, "says: for people"},
		{"not for errors", echo{true}, post(hook.PostToolUse, `exit 2`), `result of {"a":1}`, ""},
		{"for errors", echo{true}, post(hook.PostToolUseFailure, `grep -o 'result of' >&2; exit 2`), "result of", ""},
		{"reads the result", echo{}, post(hook.PostToolUse, `cat >&2; exit 2`), `"tool_response":{"is_error":false,"text":"result of {\"a\":1}"}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, told := set(t, c.hook)
			a := use(t.TempDir(), "shell", `{"a":1}`)
			res, err := s.Wrap(c.tool).Call(t.Context(), a.Use)
			if err != nil || res.IsError != c.tool.wrong || res.Blocks[0].(uzda.Text).Text != `result of {"a":1}` {
				t.Fatalf("%+v, %v", res, err)
			}
			if last := res.Blocks[len(res.Blocks)-1].(uzda.Text).Text; !strings.Contains(last, c.want) {
				t.Errorf("it ends with %q", last)
			}
			if !strings.Contains(told.String(), c.warns) || c.warns == "" && told.String() != "" {
				t.Errorf("people read %q", told)
			}
		})
	}
	s, _ := set(t, post(hook.Stop, "true"))
	if _, same := s.Wrap(echo{}).(echo); !same {
		t.Error("a tool that no hook is for is wrapped")
	}
}

// P4: what a hook adds before a use joins its result, once.
func TestContextBefore(t *testing.T) {
	t.Parallel()
	s, _ := set(t, before(`echo '{"hookSpecificOutput":{"additionalContext":"use tabs"}}'`))
	a := use(t.TempDir(), "shell", `{}`)
	if v, err := s.Gate().Check(t.Context(), a); err != nil || v.Decision != uzda.Allow {
		t.Fatalf("%+v, %v", v, err)
	}
	for i, want := range []int{2, 1} {
		res, err := s.Wrap(echo{}).Call(t.Context(), a.Use)
		if err != nil || len(res.Blocks) != want || want == 2 && !strings.HasSuffix(res.Blocks[1].(uzda.Text).Text, "use tabs") {
			t.Errorf("call %d: %v, %v", i, res.Blocks, err)
		}
	}
}

// P4: a message is blocked by a hook's word and by its failure; what it prints joins
// the message.
func TestPrompt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ command, context, fault string }{
		{"echo it is Monday", "it is Monday", ""},
		{`echo '{"hookSpecificOutput":{"additionalContext":"it is Tuesday"}}'`, "it is Tuesday", ""},
		{`grep -q '"prompt":"drop it"' || exit 2`, "", ""},
		{"echo no secrets >&2; exit 2", "", "blocks the message: no secrets"},
		{`echo '{"decision":"block","reason":"too short"}'`, "", "too short"},
		{`echo '{"continue":false,"stopReason":"closed"}'`, "", "closed"},
		{"exit 1", "", "could not judge the message: it exits 1"},
		{"echo '{'", "", "could not judge"},
	} {
		s, _ := set(t, hook.Hook{Event: hook.UserPromptSubmit, Command: c.command, Timeout: 30 * time.Second})
		text, err := s.Prompt(t.Context(), hook.At{Session: "s", Dir: t.TempDir()}, "drop it")
		if !strings.HasSuffix(text, c.context) || (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s: %q, %v", c.command, text, err)
		}
	}
}

// P4: a hook at the end sends the turn back, knows that it has, and cannot hang it by
// failing.
func TestStop(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command string
		again   bool
		done    bool
		text    string
	}{
		{"true", false, true, ""},
		{"echo run the tests >&2; exit 2", false, false, "you are not done:\nrun the tests"},
		{`echo '{"decision":"block","reason":"tests"}'`, false, false, "tests"},
		{`grep -q '"stop_hook_active":true' || exit 2`, false, false, ""},
		{`grep -q '"stop_hook_active":true' || exit 2`, true, true, ""},
		{`grep -q '"last_assistant_message":"forty-two"' || exit 2`, false, true, ""},
		{"exit 1", false, true, ""},
		{"/nonexistent", false, true, ""},
		{`echo '{"continue":false}'`, false, true, ""},
	} {
		s, _ := set(t, hook.Hook{Event: hook.Stop, Command: c.command, Timeout: 30 * time.Second})
		done, text, err := s.Stop(t.Context(), hook.At{Session: "s", Dir: t.TempDir()}, "forty-two", c.again)
		if err != nil || done != c.done || !strings.Contains(text, c.text) {
			t.Errorf("%s: %v %q, %v", c.command, done, text, err)
		}
	}
}

// P4: at the beginning and at the end hooks watch.
func TestStartAndEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start := func(matcher, command string) hook.Hook {
		return hook.Hook{Event: hook.SessionStart, Matcher: matcher, Command: command, Timeout: 30 * time.Second}
	}
	s, told := set(t, start("startup", "echo branch main"), start("resume", "echo never"), start("", "exit 3"), start("", "echo shown >&2; exit 2"),
		hook.Hook{Event: hook.SessionEnd, Command: "cat > end"})
	text, err := s.Start(t.Context(), hook.At{Session: "s", Dir: dir}, "startup")
	if err != nil || !strings.HasSuffix(text, "branch main") || strings.Contains(text, "never") {
		t.Errorf("%q, %v", text, err)
	}
	if !strings.Contains(told.String(), "it exits 3") || !strings.Contains(told.String(), "shown") {
		t.Errorf("people read %q", told)
	}
	s.End(t.Context(), hook.At{Session: "s", Dir: dir}, "end_turn")
	if end, _ := os.ReadFile(filepath.Join(dir, "end")); !strings.Contains(string(end), `"reason":"end_turn"`) {
		t.Errorf("the end: %s", end)
	}
	stops, _ := set(t, start("", `echo '{"continue":false,"stopReason":"closed"}'`))
	if _, err := stops.Start(t.Context(), hook.At{Dir: dir}, "startup"); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Error(err)
	}
}

// P4: "continue": false ends the turn wherever it is said.
func TestHalt(t *testing.T) {
	t.Parallel()
	var ended []string
	s, _ := set(t, hook.Hook{Event: hook.PostToolUse, Command: `echo '{"continue":false,"stopReason":"enough"}'`})
	s.Halt = func(id uzda.SessionID, why string) { ended = append(ended, string(id)+" "+why) }
	res, err := s.Wrap(echo{}).Call(t.Context(), use(t.TempDir(), "shell", "{}").Use)
	if err != nil {
		t.Fatal(err)
	}
	if last := res.Blocks[len(res.Blocks)-1].(uzda.Text).Text; !strings.HasSuffix(last, "ends the turn: enough.") { // the model is to know why
		t.Errorf("the result ends with %q", last)
	}
	if len(ended) != 1 || !strings.HasSuffix(ended[0], "ends the turn: enough") {
		t.Errorf("%q", ended)
	}
}

// P4: what a matcher names in vain is found, also beside names that are known.
func TestStrays(t *testing.T) {
	t.Parallel()
	known := []string{"shell", "Bash", "read_file", "Read"}
	for matcher, want := range map[string]string{
		"": "", "*": "", "Bash": "", "shell|Read": "", "bash": "bash", "Bash|Raed": "Raed", "bash | Read": "bash",
		"B.*": "", "b.*|Nope.*": "b.*|Nope.*", "read": "read", "^shell$": "", "mcp__.*": "mcp__.*", "(": "",
	} {
		if got := strings.Join(hook.Strays(matcher, known), " "); got != want {
			t.Errorf("%q: %q, not %q", matcher, got, want)
		}
	}
}

// P4: with args there is no shell in between.
func TestArgs(t *testing.T) {
	t.Parallel()
	h := before("/bin/sh")
	h.Args = []string{"-c", `echo "$1" >&2; exit 2`, "sh", "$HOME; `id`"}
	s, _ := set(t, h)
	v, err := s.Gate().Check(t.Context(), use(t.TempDir(), "shell", "{}"))
	if err != nil || !strings.Contains(v.Reason, "denies it: $HOME; `id`") {
		t.Errorf("%+v, %v", v, err)
	}
	if !slices.Contains(hook.Events(), h.Event) || !h.Event.Guards() || hook.Stop.Guards() {
		t.Error("events")
	}
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/uzda-dev/uzda/cmd/uzda/shop"
)

// chats starts a chat in a terminal with a scripted model.
func (p *program) chats(turns string, args ...string) *screen {
	p.t.Helper()
	if !slices.Contains(p.envs, "TERM=dumb") {
		p.envs = append(p.envs, "TERM=xterm")
	}
	s := p.inTerminal(append([]string{"chat", "--model", "script:" + p.file("turns.json", turns)}, args...)...)
	s.sees("> ", 1)
	return s
}

// slowly types a text byte by byte, so that its letters come in parts.
func (s *screen) slowly(text string) {
	s.t.Helper()
	for i := range len(text) {
		s.types(text[i : i+1])
	}
}

// cooked says whether the terminal is as a shell wants it.
func (s *screen) cooked() bool {
	s.t.Helper()
	var mode syscall.Termios
	if _, _, fault := syscall.Syscall(syscall.SYS_IOCTL, s.master.Fd(), syscall.TCGETS, uintptr(unsafe.Pointer(&mode))); fault != 0 {
		s.t.Fatal(fault)
	}
	const want = syscall.ICANON | syscall.ECHO | syscall.ISIG
	return mode.Lflag&want == want && mode.Oflag&syscall.OPOST != 0
}

// recorded waits until the journal of a session has so many events of a kind.
func (p *program) recorded(id, kind string, n int) {
	p.t.Helper()
	waitFor(p.t, func() bool {
		out, _ := p.command("show", id, "--events").Output()
		return strings.Count(string(out), `"kind":"`+kind+`"`) >= n
	})
}

// kills ends the program as a crash does.
func (s *screen) kills() {
	s.t.Helper()
	if err := s.c.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	s.c.Wait() //nolint:errcheck // it was killed
}

// shop is a database to ask.
func (p *program) shop() string {
	p.t.Helper()
	path := filepath.Join(p.dir, "shop.db")
	if err := shop.Build(p.t.Context(), path); err != nil {
		p.t.Fatal(err)
	}
	return path
}

// A conversation at a terminal: what is typed in any alphabet reaches the agent
// whole, its reply is shown as it comes and harmless, and so is each call; commands
// are answered here; the terminal is given back.
func TestChat(t *testing.T) { // L10 case:T12 case:T15
	t.Parallel()
	p := newProgram(t)
	s := p.chats(`{"turns":[
		{"delay_ms":300,"thinking":"I greet.","text":"Dzień dobry, 你好 👋🏽\n\u001b]52;c;ZXZpbA==\u0007\u001b[2J\u009b31m \u202egnp.exe"},
		{"text":"I note it.","calls":[{"name":"notes","input":{"op":"write","text":"\u001b[31mred"}},{"name":"nosuch","input":{"path":"/tmp/x"}}]},
		{"text":"Noted."}]}`, "--session", "s")
	s.slowly("Zażółć gęślą jaźń, 世界! 👨\u200d👩\u200d👧\r")
	s.sees("1 step", 1)
	s.types("note it\r")
	s.sees("Noted.", 1)
	s.sees("2 steps · 2 calls", 1)
	s.types("/contxt\r")
	s.sees("did you mean /context?", 1)
	s.types("/con\t\r/cost\r/help\r")
	s.sees("window", 2)
	s.sees("PURPOSE", 1)
	s.sees("ends the chat", 3)
	s.types("/quit\r")
	s.ends(0, "I greet.", "Dzień dobry, 你好 👋🏽", `\x1b]52;c;ZXZpbA==\x07\x1b[2J\u009b31m \u202egnp.exe`, `notes: write: \x1b[31mred`, "nosuch: /tmp/x",
		"uzda chat --session s")
	text := s.text()
	for _, bad := range []string{"\x1b]", "\x1b[2J", "\x1b[31m", "\u009b", "\u202e", "\uFFFD"} {
		if strings.Contains(text, bad) {
			t.Errorf("the terminal gets %q", bad)
		}
	}
	if !utf8.ValidString(text) || !s.cooked() {
		t.Errorf("the terminal is left as it was not, or got what is no text: %q", text)
	}
	p.says(0, []string{"show", "s"}, "user  Zażółć gęślą jaźń, 世界! 👨\u200d👩\u200d👧")
}

// In a chat a person makes what the model sees shorter, and is told what it replaced;
// the grid shows it. Nothing to do is said too.
func TestChatCompact(t *testing.T) { // C2 C1
	t.Parallel()
	p := newProgram(t)
	p.envs = append(p.envs, "UZDA_CONTEXT_BUDGET=30000")
	p.file("long.txt", strings.Repeat("A line of the file that is read, with 4,821 in it.\n", 900))
	read := ""
	for i := range 8 {
		read += fmt.Sprintf(`{"calls":[{"name":"read_file","input":{"path":"long.txt","offset":%d,"limit":100}}]},`, 1+100*i)
	}
	s := p.chats(`{"agents":{"summary":{"loop":true,"turns":[{"text":"The file was read several times."}]}},"turns":[`+read+`{"text":"All is read."},{"text":"Nothing more."}]}`, "--session", "s")
	s.types("/compact\r")
	s.sees("Nothing was said yet", 1)
	s.types("read it\r")
	s.sees("9 steps", 1)
	s.types("/compact\r")
	s.sees("to take it back: uzda compact s --undo", 1)
	s.types("/compact focus on numbers\r")
	s.sees("/compact takes no more words", 1)
	s.types("and now?\r")
	s.sees("Nothing more.", 1)
	s.sees("1 step ", 1)
	if text := s.text(); strings.Contains(text, "clear: ") || strings.Contains(text, "compact: ") {
		t.Errorf("what was told at once is told again:\n%s", text)
	}
	s.types("/context\r")
	s.sees("Edits", 1)
	s.types("/compact\r/quit\r")
	s.ends(0, "tokens")
	p.says(0, []string{"compact", "s", "--undo"}, "is taken back")
}

// What waits is shown with what is not what it seems, first as a list; a no carries
// its reason, a yes may reach further, and all may be allowed after all was seen.
func TestChatApprovals(t *testing.T) { // S1
	t.Parallel()
	p := newProgram(t)
	p.envs = append(p.envs, "UZDA_ASK=notes")
	long := strings.Repeat("a line\\n", 60)
	call := func(text string) string {
		return `{"name":"notes","input":{"op":"append","text":"` + text + `"}}`
	}
	s := p.chats(`{"turns":[{"calls":[`+call(`сat \u202e /etc/pass\u200bwd`)+`,`+call(long+"last line")+`,`+call("third")+`]},{"text":"Done."},
		{"calls":[`+call("fourth")+`]},{"calls":[`+call("fifth")+`]},{"text":"Again."}]}`, "--session", "s")
	s.types("go\r")
	s.sees("3 calls wait for your approval", 1)
	s.sees(`"сat" is not "cat": с is Cyrillic U+0441`, 1)
	s.sees(`сat \u202e /etc/pass\u200bwd`, 2)
	s.sees("U+202E (turns the", 1)
	s.sees("Allow it? ", 1)
	s.types("yes please\r")
	s.sees("Please type", 1)
	s.types("n because it is odd\r")
	s.sees("2 of 3", 1)
	s.sees("rows more: v shows all", 1)
	if strings.Contains(s.text(), "last line") {
		t.Error("a long call is shown whole unasked")
	}
	s.types("v\r")
	s.sees("last line", 1)
	s.types("a\r")
	s.sees("Allow these 2", 1)
	s.types("y\r")
	s.sees("Done.", 1)
	s.types("again\r")
	s.sees("for this [s]ession: notes", 3)
	s.types("s\r")
	s.sees("Again.", 1)
	s.types("\x04")
	s.ends(0, "denied")
	p.says(0, []string{"show", "s"}, "because it is odd")
}

// Ctrl-C in the middle of a reply and in the middle of a call cancels the turn, and
// the next message goes on in the same session.
func TestChatInterrupt(t *testing.T) { // L11
	t.Parallel()
	p := newProgram(t)
	s := p.chats(`{"turns":[{"text":"never","delay_ms":60000},
		{"calls":[{"name":"run_query","input":{"sql":"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT max(x) FROM c"}}]},
		{"text":"Going on."}]}`, "--session", "s", "--db", p.shop())
	s.types("first\r")
	p.recorded("s", "asked", 1)
	began := time.Now()
	s.types("\x03")
	s.sees("cancelled; your next message goes on", 1)
	s.types("second\r")
	s.sees("run_query: WITH RECURSIVE", 1)
	p.recorded("s", "started", 1)
	s.types("\x03")
	s.sees("cancelled; your next message goes on", 2)
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("two cancels took %s", took)
	}
	s.types("third\r")
	s.sees("Going on.", 1)
	s.sees("1 step", 3)
	s.types("\x03")
	s.sees("ends the chat", 2)
	s.types("\x03")
	s.ends(0)
	if !s.cooked() {
		t.Error("the terminal is not given back")
	}
	p.says(0, []string{"doctor"})
}

// What is typed while the agent works joins at its next step, and is shown as such.
func TestChatQueue(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	s := p.chats(`{"turns":[{"calls":[{"name":"notes","input":{"op":"read"}}],"delay_ms":1500},{"text":"I have both."}]}`, "--session", "s")
	s.types("one\r")
	p.recorded("s", "asked", 1)
	s.types("and two\r")
	s.sees("queued: the agent gets it", 1)
	s.sees("the agent has it now: and two", 1)
	s.sees("I have both.", 1)
	s.sees("2 steps", 1)
	s.types("/quit\r")
	s.ends(0)
	p.says(0, []string{"show", "s"}, "user  and two\n\n    model  I have both.")
}

// A chat that is killed goes on where it was: in the middle of a reply, or with a
// call that waits. // L11
func TestChatKilled(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.envs = append(p.envs, "UZDA_ASK=notes")
	turns := `{"by_view":true,"turns":[{"text":"First.","delay_ms":%d},{"calls":[{"name":"notes","input":{"op":"write","text":"x"}}]},{"text":"Noted."}]}`
	s := p.chats(fmt.Sprintf(turns, 60000), "--session", "s")
	s.types("hello\r")
	p.recorded("s", "asked", 1)
	s.kills()
	s = p.chats(fmt.Sprintf(turns, 0), "--session", "s")
	s.sees("The last turn is not done; it goes on.", 1)
	s.sees("First.", 1)
	s.sees("2 steps", 1)
	s.types("note\r")
	s.sees("Allow it?", 1)
	s.kills()
	s = p.inTerminal("chat", "--model", "script:"+p.dir+"/turns.json", "--session", "s")
	s.sees("Allow it?", 1) // asked at once
	s.types("y\r")
	s.sees("Noted.", 1)
	s.types("\x04")
	s.ends(0, "> hello", "First.", "> note")
}

// Signals end the chat with the terminal as it was; one that is no key cancels the
// turn like the key.
func TestChatSignals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		signal syscall.Signal
		code   int
	}{{syscall.SIGTERM, 130}, {syscall.SIGHUP, 130}, {syscall.SIGQUIT, 2}} {
		p := newProgram(t)
		s := p.chats(`{"turns":[{"text":"never","delay_ms":60000}]}`, "--session", "s")
		if s.cooked() {
			t.Error("the editor has not taken the terminal")
		}
		s.types("go\r")
		p.recorded("s", "asked", 1)
		s.c.Process.Signal(os.Interrupt) //nolint:errcheck // its effect is looked at
		s.sees("cancelled; your next message", 1)
		s.sees("> ", 2)
		s.c.Process.Signal(c.signal) //nolint:errcheck // its effect is looked at
		s.ends(c.code)
		if !s.cooked() {
			t.Errorf("after %s the terminal is not given back", c.signal)
		}
	}
}

// A terminal that can do nothing gets no control sequence, and asks all the same.
func TestChatDumb(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.envs = append(p.envs, "TERM=dumb", "UZDA_ASK=notes")
	s := p.chats(`{"turns":[{"text":"Cześć."},{"calls":[{"name":"notes","input":{"op":"write","text":"x"}}]},{"text":"Noted."},{"text":"never","delay_ms":60000}]}`, "--session", "s")
	s.types("hej\n")
	s.sees("Cześć.", 1)
	s.sees("> ", 2)
	s.types("note\n")
	s.sees("Allow it?", 1)
	s.types("y\n")
	s.sees("Noted.", 1)
	s.sees("> ", 3)
	s.types("wait\n")
	p.recorded("s", "asked", 4)
	s.types("\x03")
	s.sees("cancelled; your next message goes on", 1)
	s.sees("> ", 4)
	s.types("\x03")
	s.sees("ends the chat", 2)
	s.types("\x03")
	s.ends(0)
	if strings.Contains(s.text(), "\x1b") {
		t.Errorf("%q", s.text())
	}
}

// A line that was typed before a question is no answer to it.
func TestTypedAhead(t *testing.T) { // S1
	t.Parallel()
	p := newProgram(t)
	p.envs = append(p.envs, "UZDA_ASK=notes")
	s := p.chats(`{"turns":[{"calls":[{"name":"notes","input":{"op":"write","text":"x"}}],"delay_ms":1500},{"text":"Noted."}]}`, "--session", "s")
	s.types("note\r")
	p.recorded("s", "asked", 1)
	s.types("y")
	s.sees("Allow it? ", 1)
	time.Sleep(500 * time.Millisecond)
	if strings.Contains(s.text(), "Noted.") {
		t.Error("what was typed before the question was taken for an answer")
	}
	s.types("l\r")
	s.sees("1 call left waiting", 1)
	s.sees("> y", 1) // it came back
	s.types("\x15/quit\r")
	s.ends(0)
}

// At a terminal the answer of a run is shown as it comes, and once.
func TestRunStreams(t *testing.T) { // L10
	t.Parallel()
	p := newProgram(t)
	s := p.inTerminal("run", "--model", "script:"+p.file("turns.json", `{"turns":[{"text":"I look.","calls":[{"name":"notes","input":{"op":"read"}}]},{"text":"The answer\nis 42."}]}`), "go")
	s.ends(0, "done: end_turn", "notes")
	for _, text := range []string{"I look.", "The answer", "is 42."} {
		if n := strings.Count(s.text(), text); n != 1 {
			t.Errorf("%q is shown %d times:\n%s", text, n, s.text())
		}
	}
	for line := range strings.Lines(s.text()) {
		if n := len([]rune(strings.TrimRight(line, "\r\n"))); n > 80 {
			t.Errorf("a line has %d columns: %s", n, line)
		}
	}
}

// What the page about chat shows is what a person sees.
func TestDocsChat(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.envs = append(p.envs, "UZDA_ASK=notes")
	s := p.chats(`{"turns":[{"text":"I note it.","calls":[{"name":"notes","input":{"op":"write","text":"Release: Friday"}}]},{"text":"It is noted."}]}`)
	s.types("Note that the release is on Friday.\r")
	s.sees("Allow it? ", 1)
	s.types("y\r")
	s.sees("It is noted.", 1)
	s.types("\x04")
	s.ends(0)
	shown := strings.ReplaceAll(s.text(), "\r", "")
	n := 0
	for _, f := range fences(t) {
		if f.page != "chat.md" || f.kind != "" {
			continue
		}
		for line := range strings.Lines(f.text) {
			line, n = strings.TrimSpace(lastingTime.ReplaceAllString(line, "")), n+1
			if !strings.Contains(lastingTime.ReplaceAllString(shown, ""), line) {
				t.Errorf("the chat does not show %q:\n%s", line, shown)
			}
		}
	}
	if n < 8 {
		t.Errorf("only %d lines", n)
	}
}

var lastingTime = regexp.MustCompile(`\d+\.\d s`)

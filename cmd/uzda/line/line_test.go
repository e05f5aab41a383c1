package line_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/cmd/uzda/line"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// glass is what a terminal of some columns would show: letters, line ends, and the
// control sequences that the console uses. An unknown one fails the test.
type glass struct {
	t       *testing.T
	columns int
	mu      sync.Mutex
	rows    [][]string // cells; "" is the right half of a wide letter
	row, at int
	rest    string
}

func (g *glass) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.rest + string(p)
	for s != "" {
		if strings.HasPrefix(s, "\x1b") {
			at := strings.IndexFunc(s[2:], func(r rune) bool { return r >= 0x40 && r <= 0x7e })
			g.sequence(s[2 : 2+at+1])
			s = s[2+at+1:]
			continue
		}
		r := []rune(s)[0]
		s = s[len(string(r)):]
		g.put(r)
	}
	return len(p), nil
}

func (g *glass) sequence(seq string) {
	n, err := strconv.Atoi(seq[:len(seq)-1])
	if err != nil {
		n = 1
	}
	switch seq[len(seq)-1] {
	case 'A':
		g.row = max(0, g.row-n)
	case 'C':
		g.at += n
	case 'K':
		g.grow()
		g.rows[g.row] = g.rows[g.row][:min(g.at, len(g.rows[g.row]))]
	case 'J':
		g.grow()
		g.rows[g.row] = g.rows[g.row][:min(g.at, len(g.rows[g.row]))]
		g.rows = g.rows[:g.row+1]
	case 'm', 'h', 'l', 'H':
	default:
		g.t.Errorf("the console uses %q", seq)
	}
}

func (g *glass) grow() {
	for len(g.rows) <= g.row {
		g.rows = append(g.rows, nil)
	}
}

func (g *glass) put(r rune) {
	g.grow()
	switch w := uzda.Columns(string(r)); {
	case r == '\r':
		g.at = 0
	case r == '\n':
		g.row++
		g.grow()
	case r < ' ':
		g.t.Errorf("the console writes %q", r)
	case w == 0:
		if g.at > 0 {
			at := g.at - 1
			for at > 0 && g.rows[g.row][at] == "" {
				at--
			}
			g.rows[g.row][at] += string(r)
		}
	default:
		if g.at+w > g.columns {
			g.row, g.at = g.row+1, 0
			g.grow()
		}
		for len(g.rows[g.row]) < g.at+w {
			g.rows[g.row] = append(g.rows[g.row], " ")
		}
		g.rows[g.row][g.at] = string(r)
		if w == 2 {
			g.rows[g.row][g.at+1] = ""
		}
		g.at += w
	}
}

// shows is the text on the screen, with | where the cursor stands.
func (g *glass) shows() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []string
	for i, row := range g.rows {
		line := ""
		for j := 0; j < max(len(row), g.at+1); j++ {
			if i == g.row && j == g.at {
				line += "|"
			}
			if j < len(row) {
				line += row[j]
			}
		}
		out = append(out, strings.TrimRight(line, " "))
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n")
}

// seat is a console with somebody who types.
type seat struct {
	*glass
	*line.Console
	keys io.WriteCloser
}

func sit(t *testing.T, columns int, o line.Options) *seat {
	in, keys := io.Pipe()
	g := &glass{t: t, columns: columns}
	o.In, o.Out, o.Size = in, g, func() (int, int) { return columns, 12 }
	s := &seat{g, line.New(o), keys}
	t.Cleanup(func() {
		keys.Close()
		for in := range s.Inputs() {
			if in.Kind == line.End {
				break
			}
		}
	})
	return s
}

// types sends keys byte by byte, so that runes and sequences are split.
func (s *seat) types(t *testing.T, keys string) {
	t.Helper()
	for i := range len(keys) {
		if _, err := s.keys.Write([]byte{keys[i]}); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *seat) tells(text string) { fmt.Fprint(s.Console, text) }

func (s *seat) sees(t *testing.T, want string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		got := s.shows()
		if got == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the screen shows\n%s\nwant\n%s", got, want)
		}
	}
}

func (s *seat) gets(t *testing.T) line.Input {
	t.Helper()
	select {
	case in := <-s.Inputs():
		return in
	case <-time.After(10 * time.Second):
		t.Fatalf("nothing came; the screen shows\n%s", s.shows())
		return line.Input{}
	}
}

const esc = "\x1b"

// What is typed byte by byte in any alphabet arrives whole, and is edited by
// letters, not by bytes or columns. // T12
func TestTyped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, keys, want string }{
		{"plain", "hello", "hello"},
		{"polish", "zażółć gęślą jaźń", "zażółć gęślą jaźń"},
		{"russian, back", "привет\x7f\x7f", "прив"},
		{"chinese, back", "你好吗\x7f", "你好"},
		{"emoji, back", "a👍b\x7f\x7f", "a"},
		{"family is one", "x👨\u200d👩\u200d👧\x7f", "x"},
		{"marks are one", "e\u0301e\u0301\x7f", "e\u0301"},
		{"insert", "ac" + esc + "[Db", "abc"},
		{"wide insert", "你吗" + esc + "[D好", "你好吗"},
		{"home end", "b\x01a\x05c", "abc"},
		{"other home end", "b" + esc + "OHa" + esc + "[4~c", "abc"},
		{"words", "one two three" + esc + "b" + esc + "bX" + esc + "fY", "one XtwoY three"},
		{"kill word", "one 世界\x17two", "one two"},
		{"kill and yank", "abc\x15x\x19", "xabc"},
		{"kill after", "abc\x01\x06\x0b", "a"},
		{"delete", "abc\x01" + esc + "[3~\x04", "c"},
		{"escape alone", esc + "a", "a"},
		{"unknown keys", "a" + esc + "[24~" + esc + "[1;9Q" + esc + "Oz\x00\x1cb", "ab"},
		{"bytes that are no text", "a\xff\xfeb\xe4\xbdc", "abc"},
		{"goes on", "one\\\rtwo", "one\ntwo"},
		{"two backslashes", `C:\\` + "\r", `C:\\`},
		{"block", "do:\\\r```\ra\rb\r```", "do:\n```\na\nb\n```"},
		{"line end", "a\nb", "a\nb"},
		{"pasted", esc + "[200~one\r\ntwo\rthree\x07\x1b[31m\tz" + esc + "[201~!", "one\ntwo\nthree[31m\tz!"},
		{"pasted much", "x" + esc + "[200~" + strings.Repeat("ab\n", 100) + esc + "[201~y", "x" + strings.Repeat("ab\n", 100) + "y"},
		{"pasted much, back", "x" + esc + "[200~" + strings.Repeat("ab\n", 100) + esc + "[201~\x7fy", "xy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := sit(t, 40, line.Options{})
			s.Prompt("> ", true)
			s.types(t, c.keys)
			if !strings.HasSuffix(c.keys, "\r") {
				s.types(t, "\r")
			}
			if in := s.gets(t); in.Text != c.want || in.Kind != line.Said {
				t.Errorf("got %+v, want %q\n%s", in, c.want, s.shows())
			}
		})
	}
}

// The screen while one types: long and wide text breaks into rows, and a change in
// the middle draws all of it anew.
func TestScreen(t *testing.T) {
	t.Parallel()
	s := sit(t, 20, line.Options{})
	s.Prompt("> ", true)
	s.sees(t, "> |")
	s.types(t, "你好世界你好世界你")
	s.sees(t, "> 你好世界你好世界\n你|")
	s.types(t, "\x01好")
	s.sees(t, "> 好|你好世界你好世\n界你")
	s.tells("above\n")
	s.sees(t, "above\n> 好|你好世界你好世\n界你")
	s.types(t, "\x05!\nsecond")
	s.sees(t, "above\n> 好你好世界你好世\n界你!\n  second|")
	s.types(t, "\r")
	s.gets(t)
	s.tells("answer\n")
	s.sees(t, "above\n> 好你好世界你好世\n界你!\n  second\nanswer\n|")
	s.Prompt("> ", true)
	s.types(t, esc+"[200~"+strings.Repeat("line\n", 30)+esc+"[201~")
	s.sees(t, "above\n> 好你好世界你好世\n界你!\n  second\nanswer\n> [pasted: 31 lines\n, 150 bytes]|")
}

// Text that streams is shown as it comes until somebody types; then its last line
// waits, and nothing of both is mixed or lost. // L10
func TestStreamAndType(t *testing.T) {
	t.Parallel()
	s := sit(t, 40, line.Options{})
	s.Prompt("+ ", false)
	s.tells("The answer ")
	s.tells("is co")
	s.sees(t, "The answer is co|")
	s.types(t, "wa")
	s.sees(t, "+ wa|")
	s.tells("ming.\nAnd")
	s.sees(t, "The answer is coming.\n+ wa|")
	s.types(t, "it\r")
	if in := s.gets(t); in.Text != "wait" {
		t.Errorf("got %+v", in)
	}
	s.tells(" more\n")
	s.sees(t, "The answer is coming.\n+ wait\nAnd more\n|")
	s.types(t, "\r") // nothing is typed: nothing happens
	s.types(t, "x\x7f")
	s.tells("end\n")
	s.sees(t, "The answer is coming.\n+ wait\nAnd more\nend\n|")
}

// A line that is longer than the terminal cannot be taken off the screen: it ends,
// and the rest comes below.
func TestLongStream(t *testing.T) {
	t.Parallel()
	s := sit(t, 20, line.Options{})
	s.Prompt("+ ", false)
	s.tells(strings.Repeat("世", 14))
	s.types(t, "q")
	s.sees(t, strings.Repeat("世", 10)+"\n"+strings.Repeat("世", 4)+"\n+ q|")
	s.types(t, "\x7f")
	s.tells("end\n")
	s.sees(t, strings.Repeat("世", 10)+"\n"+strings.Repeat("世", 4)+"\nend\n|")
}

// A question puts away what was being typed, and what was typed before it is known
// from an answer. // S1
func TestQuestion(t *testing.T) {
	t.Parallel()
	s := sit(t, 40, line.Options{})
	s.Prompt("> ", true)
	s.types(t, "yes, but")
	s.sees(t, "> yes, but|")
	n := s.Ask("Allow it? ")
	s.sees(t, "Allow it? |")
	s.types(t, "n\r")
	if in := s.gets(t); in.Text != "n" || in.To < n {
		t.Errorf("got %+v to question %d", in, n)
	}
	s.Prompt("> ", true)
	s.sees(t, "Allow it? n\n> yes, but|")
	s.types(t, "\r")
	s.sees(t, "Allow it? n\n> yes, but\n|")
	n = s.Ask("Allow it? ")
	if in := s.gets(t); in.Text != "yes, but" || in.To >= n {
		t.Errorf("%+v passes for an answer to question %d", in, n)
	}
}

// Interrupts and the end of input.
func TestEnds(t *testing.T) { // L11
	t.Parallel()
	s := sit(t, 40, line.Options{})
	s.Prompt("> ", true)
	s.types(t, "half\x03")
	s.sees(t, "> half^C\n> |")
	s.types(t, "\x03")
	if in := s.gets(t); in.Kind != line.Interrupt {
		t.Errorf("got %+v", in)
	}
	s.Prompt("+ ", false)
	s.types(t, "half")
	s.types(t, "\x03")
	if in := s.gets(t); in.Kind != line.Interrupt {
		t.Errorf("while it works: got %+v", in)
	}
	s.types(t, "\x15\x04")
	if in := s.gets(t); in.Kind != line.End {
		t.Errorf("got %+v", in)
	}
}

// The history goes back and forth, keeps what is half typed, is there for the next
// program, is private, and holds no answers to questions.
func TestHistory(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "history")
	hide := func(s string) string { return strings.ReplaceAll(s, "s3cret", "…") }
	say := func(s *seat, keys string) string {
		s.Prompt("> ", true)
		s.types(t, keys+"\r")
		return s.gets(t).Text
	}
	s := sit(t, 40, line.Options{History: line.OpenHistory(path, hide)})
	say(s, "первое")
	say(s, "two\\\rlines")
	say(s, "two\\\rlines")
	say(s, " not kept")
	say(s, "it is s3cret")
	s.Ask("Allow it? ")
	s.types(t, "y\r")
	s.gets(t)
	again := sit(t, 40, line.Options{History: line.OpenHistory(path, hide)})
	for _, c := range []struct{ keys, want string }{
		{esc + "[A", "it is …"}, {esc + "[A" + esc + "[A", "two\nlines"}, {strings.Repeat("\x10", 99), "первое"},
		{"half\x10\x10\x0e\x0e\x0e", "half"},
	} {
		if got := say(again, c.keys); got != c.want {
			t.Errorf("%q gives %q, want %q", c.keys, got, c.want)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

// A history that has grown is cut when it is opened; one that is damaged is read
// as far as it goes.
func TestLongHistory(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "history")
	var b strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&b, "%q\n", fmt.Sprint(i))
	}
	b.WriteString("{broken\n")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	h := line.OpenHistory(path, nil)
	if text, ok := h.Back(1); text != "2499" || !ok {
		t.Errorf("got %q", text)
	}
	if _, ok := h.Back(1001); ok {
		t.Error("more than 1,000 are kept")
	}
	if data, err := os.ReadFile(path); err != nil || strings.Count(string(data), "\n") != 1000 {
		t.Errorf("the file has %d lines, %v", strings.Count(string(data), "\n"), err)
	}
}

// Commands are completed as far as there is one way.
func TestComplete(t *testing.T) {
	t.Parallel()
	s := sit(t, 40, line.Options{Complete: func(text string) (out []string) {
		for _, w := range []string{"/context", "/cost"} {
			if strings.HasPrefix(w, text) {
				out = append(out, w)
			}
		}
		return out
	}})
	s.Prompt("> ", true)
	s.types(t, "/c\tn\t\r")
	if in := s.gets(t); in.Text != "/context" {
		t.Errorf("got %+v", in)
	}
}

// Without a terminal a line is a message; several go together by a backslash or a
// block, and the end is told once.
func TestPlain(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("długi ", 30_000)
	p := line.NewPlain(strings.NewReader("one\r\n\ntwo \\\nmore\n```\na\n\nb\n```\n"+long+"\nlast"), io.Discard, false)
	for _, want := range []string{"one", "", "two \nmore", "```\na\n\nb\n```", long, "last"} {
		if in := <-p.Inputs(); in.Text != want || in.Kind != line.Said {
			t.Errorf("got %.40q, want %.40q", in.Text, want)
		}
	}
	if in := <-p.Inputs(); in.Kind != line.End {
		t.Errorf("got %+v", in)
	}
}

// Any bytes from a keyboard leave the screen in order: no control character gets
// there, and what is typed after them arrives.
func FuzzKeys(f *testing.F) {
	for _, seed := range []string{"a\x1b[200~b\x1b[201~\r", "\x1b[1;5D\x17\x19", "你\x7f\u200d\u0301", "\xff\x1b[\x00\x1b\x1b", "\x1b[200~" + strings.Repeat("x\n", 20), "\x10\x0e\x0c\t"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, keys []byte) {
		keys = bytes.ReplaceAll(keys, []byte{4}, nil) // then only the pipe's end is an End
		in, w := io.Pipe()
		g := &glass{t: t, columns: 30}
		c := line.New(line.Options{In: in, Out: g, Size: func() (int, int) { return 30, 10 }})
		c.Prompt("> ", true)
		go func() {
			w.Write(keys)                                //nolint:errcheck // a pipe
			w.Write([]byte("\x1b[201~\x03\x03\x15\r\r")) //nolint:errcheck // a pipe
			w.Close()
		}()
		for got := range c.Inputs() {
			if strings.ContainsAny(got.Text, "\x1b\x00\x07") {
				t.Errorf("%q was typed", got.Text)
			}
			if got.Kind == line.End {
				break
			}
			c.Prompt("> ", true)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

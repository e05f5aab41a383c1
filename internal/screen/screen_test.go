package screen_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/uzda-dev/uzda/internal/screen"
)

// What is shown in the end, and that the rest is gone. case:T15
func TestClean(t *testing.T) {
	t.Parallel()
	for _, s := range []struct{ name, in, want string }{
		{"plain", "a\tb  \n\n  c\n", "a\tb  \n\n  c\n"},
		{"no newline at the end", "a", "a"},
		{"nothing", "", ""},
		{"Windows line ends", "a\r\nb\r\r\nc\r\n", "a\nb\nc\n"},
		{"old Mac line ends are redraws", "aa\rb", "ba"},
		{"frames", "10%\r50%\r100%\n", "100%\n"},
		{"a shorter frame", "downloading\rdone\x1b[K\n", "done\n"},
		{"a frame padded with blanks", "downloading\rdone       \n", "done\n"},
		{"erased before", "10%\x1b[2K\r100%\n", "100%\n"},
		{"erased to the left", "abcdef\x1b[3D\x1b[1Kx\n", "   xef\n"},
		{"backspaces", "|\b/\b-\b\\\bdone\n", "done\n"},
		{"bold by overstriking", "N\bNA\bAM\bM_\bE\n", "NAME\n"},
		{"colours", "\x1b[1;31mred\x1b[0m \x1b[38;2;1;2;3mx\x1b[38:5:4my\x1b[m", "red xy"},
		{"title and clipboard", "a\x1b]0;a title\ab\x1b]52;c;aGk=\x1b\\c", "abc"},
		{"hyperlink", "see \x1b]8;;https://example.com\x1b\\the page\x1b]8;;\x1b\\.", "see the page."},
		{"device strings", "a\x1bPq#0;2;0~\x1b\\b\x1b_Gf=1;AA\x1b\\c\x1b^p\x1b\\d\x1bXs\x1b\\e", "abcde"},
		{"8-bit CSI in UTF-8", "a\u009b31mb\u009dtitle\u009cc\u0090q\u009cd", "abcd"},
		{"raw 8-bit CSI", "a\x9b31mb\x9dtitle\x9cc\x84d", "abc\nd"},
		{"bells, shifts, NUL, DEL", "a\ab\x0e\x0fc\x00d\x7fe\x1b(B\x1b)0\x1b%Gf", "abcdef"},
		{"modes", "\x1b[?25l\x1b[?2004hx\x1b[?25h\x1b[>4;2m\x1b[!p\x1b=\x1b>\x1bc", "x"},
		{"a code that breaks off at a new line", "a\x1b[12\nb\x1b]0;never ended\nc\x1bPq\nd", "a\nb\nc\nd"},
		{"a code that the end cuts", "a\x1b[3", "a"},
		{"a code that another breaks off", "a\x1b]0;t\x1b[31mb", "ab"},
		{"an unknown code", "a\x1b[5zb\x1b[1;2;3;4;5;6;7;8;9;10;11mc", "abc"},
		{"wide and combining", "漢字\ue000 e\u0301 👩\u200d🚀 ไทย\n", "漢字\ue000 e\u0301 👩\u200d🚀 ไทย\n"},
		{"over half a wide one", "漢字\rx\n", "x 字\n"},
		{"over wide ones", "漢字漢字\r完了\x1b[K\n", "完了\n"},
		{"a mark at the beginning", "\u0301a\n\t\u0301", "\u0301a\n\t\u0301"},
		{"a mark goes with its letter", "e\u0301\rx\n", "x\n"},
		{"over a tab", "a\tb\rcd\n", "cd   b\n"},
		{"a tab moves over what is there", "0123456789\r\tx\n", "01234567x9\n"},
		{"to a column", "name\x1b[10Gsize\n", "name     size\n"},
		{"the right edge", "a\x1b[999Cb\n", "a" + strings.Repeat(" ", 6) + "b\n"},
		{"deleted characters", "abcdef\r\x1b[2Pc\n", "cdef\n"},
		{"blanked characters", "abcdef\r\x1b[2X\n", "  cdef\n"},
		{"saved and restored", "a\x1b7bc\x1b8x\x1b[sy\x1b[uz\n", "axz\n"},
		{"not UTF-8", "a\xffb\xe4\xbd", "a\ufffdb\ufffd"},
		{"half a character, then a letter", "\xe6\xbcx", "\ufffdx"},
	} {
		if got := screen.Clean([]byte(s.in)); got != s.want {
			t.Errorf("%s: %q became %q, want %q", s.name, s.in, got, s.want)
		}
	}
}

// Progress over several lines, as the usual tools draw it. case:T15
func TestSeveralLines(t *testing.T) {
	t.Parallel()
	var docker, npm, top strings.Builder
	docker.WriteString("pulling\n")
	for i := range 100 {
		if i > 0 {
			docker.WriteString("\x1b[3A")
		}
		for l := range 3 {
			fmt.Fprintf(&docker, "\x1b[2K\r\x1b[32mlayer%d\x1b[0m: %d%%\n", l, i+1)
		}
	}
	docker.WriteString("\x1b[2A\x1b[K\rlayer1: done\x1b[2B\rready\n")
	for i := range 100 {
		fmt.Fprintf(&npm, "\x1b[1G\x1b[0Kstep %d\n\x1b[1G\x1b[0K%s\x1b[1A", i, "-\\|/"[i%4:i%4+1])
	}
	npm.WriteString("\x1b[1G\x1b[0Jadded 3 packages\n")
	top.WriteString("$ watch\n")
	for i := range 100 {
		fmt.Fprintf(&top, "\x1b[H\x1b[2Jframe %d\x1b[3;1Hload %d", i, i)
	}
	for _, s := range []struct{ name, in, want string }{
		{"docker", docker.String(), "pulling\nlayer0: 100%\nlayer1: done\nlayer2: 100%\nready\n"},
		{"npm", npm.String(), "added 3 packages\n"},
		{"a screen that is cleared", top.String(), "$ watch\nframe 99\nload 99"},
		{"the other screen", "before\n\x1b[?1049h\x1b[H\x1b[2Jmenu\x1b[?1049l\nafter\n", "before\nmenu\nafter\n"},
		{"up beyond the top", "a\nb\x1b[9A\rx\n", "x\nb"},
		{"reverse index", "a\nb\r\x1bMx\x8dy", "xy\nb"},
	} {
		if got := screen.Clean([]byte(s.in)); got != s.want {
			t.Errorf("%s became %q, want %q", s.name, got, s.want)
		}
	}
}

// The text that is there in the end is all there, whatever its size. C13
func TestLong(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("漢x", 100_000)
	lines := strings.Repeat("a line of text\n", 30_000) + "FATAL: disk quota\n"
	marks := "e" + strings.Repeat("\u0301", 300_000)
	for _, s := range []string{line, lines, marks, strings.Repeat("\n", 5000), strings.Repeat("\t", 50_000)} {
		if got := screen.Clean([]byte(s)); got != s {
			t.Errorf("%.20q of %d bytes became %.20q of %d", s, len(s), got, len(got))
		}
	}
	frames := strings.Repeat("\x1b[32m"+strings.Repeat("#", 100)+"\x1b[0m 50%\r", 10_000) + "\x1b[Kdone\n"
	if got := screen.Clean([]byte(frames)); got != "done\n" {
		t.Errorf("frames became %.200q", got)
	}
}

// Altered tells what is worth keeping raw.
func TestAltered(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{
		"plain\ttext\n": false, "\x1b[31mred\x1b[0m\r\n": false, "50%\r100%": true, "a\x1b]0;t\a": true, "a\a": true, "a\x1b[2K": true, "a\x00": true,
	} {
		w := screen.NewWriter(io.Discard)
		if _, err := w.Write([]byte(in)); err != nil {
			t.Fatal(err)
		}
		if w.Altered() != want {
			t.Errorf("%q: altered is %v", in, !want)
		}
	}
}

// The error of the writer below is passed on.
func TestError(t *testing.T) {
	t.Parallel()
	r, pipe := io.Pipe()
	_ = r.Close()
	w := screen.NewWriter(pipe)
	if _, err := w.Write([]byte("a\n")); err != nil {
		t.Errorf("nothing was written yet: %v", err)
	}
	if err := w.Close(); err == nil {
		t.Error("no error")
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{
		"a\r\nb", "10%\r20%\x1b[K\n", "\x1b]52;c;aGk=\a\x1b[3A\x1b[2Kx", "漢\b\b字\t\x9b31m\u009b2J", "a\x1b[20;80Hb\x1b[Hc\x1b[J", "e\u0301\x1b[D\x1b[Px", "\xe6\xbc\x1b",
		"\x1b[?1049h\x1b[5Bx\x1b[1;200Hy\x84z", "a\x1b[C\x1b[Cb\tc\x1b[1Kd",
	} {
		f.Add([]byte(s), uint16(3))
	}
	f.Fuzz(func(t *testing.T, raw []byte, cut uint16) {
		got := screen.Clean(raw)
		if !utf8.ValidString(got) {
			t.Errorf("not UTF-8: %q", got)
		}
		if i := strings.IndexFunc(got, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }); i >= 0 {
			t.Errorf("a control character at %d of %q", i, got)
		}
		if again := screen.Clean([]byte(got)); again != got {
			t.Errorf("%q became %q the second time", got, again)
		}
		if len(got)-2*strings.Count(got, "\ufffd") > len(raw) {
			t.Errorf("%d bytes became %d: %q", len(raw), len(got), got)
		}
		var b strings.Builder
		w := screen.NewWriter(&b)
		size := int(cut%7) + 1
		for rest := raw; len(rest) > 0; {
			n := min(size, len(rest))
			if _, err := w.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if b.String() != got {
			t.Errorf("in pieces of %d bytes: %q, whole: %q", size, b.String(), got)
		}
	})
}

func BenchmarkClean(b *testing.B) {
	for name, s := range map[string]string{
		"plain":  strings.Repeat("a line of text as it is usual in logs, of some length\n", 20_000),
		"short":  strings.Repeat("y\n", 200_000),
		"cjk":    strings.Repeat("中文日志，一行的内容差不多这么长\n", 20_000),
		"frames": strings.Repeat("\x1b[32m##########\x1b[0m 50%\r", 40_000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				screen.Clean([]byte(s))
			}
		})
	}
}

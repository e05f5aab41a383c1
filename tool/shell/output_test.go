package shell_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/tool/shell"
)

// file writes data beside the session's directory and returns its path.
func file(t testing.TB, data []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// 50,000 characters of several bytes, written in pieces that cut them, are whole.
func TestCharacters(t *testing.T) { // case:T12
	t.Parallel()
	var b strings.Builder
	for i := range 50_000 {
		if i%3 == 2 {
			b.WriteRune('🎉' + rune(i%40))
		} else {
			b.WriteRune('一' + rune(i%5000))
		}
	}
	s := open(t, shell.Config{})
	name := file(t, []byte(b.String()))
	s.wants("dd if="+name+" bs=4095 status=none", b.String())
	s.wants("dd if="+name+" bs=1 count=1000 status=none", b.String()[:1000])
	small := open(t, shell.Config{Text: 1001})
	got := small.has("cat "+name, " bytes of output are left out here]")
	if !utf8.ValidString(got) || strings.ContainsRune(got, utf8.RuneError) {
		t.Error("the cut is inside a character")
	}
}

// What is no UTF-8 is decoded, escaped or described, and said.
func TestEncodings(t *testing.T) { // case:T13
	t.Parallel()
	s := open(t, shell.Config{})
	var pic bytes.Buffer
	if err := png.Encode(&pic, image.NewGray(image.Rect(0, 0, 64, 48))); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, data, want string }{
		{"GBK", "\xd6\xd0\xb9\xfa\xc8\xcb\xc3\xf1\xd2\xf8\xd0\xd0\xb5\xc4\xd3\xe0\xb6\xee\xca\xc7\xd2\xbb\xc7\xa7\xd4\xaa\xd5\xfb\xd5\xfb\n", "中国人民银行的余额是一千元整整\n[decoded from GBK]"},
		{"Latin-1", "R\xe9sum\xe9 d\xe9j\xe0 vu, na\xefve caf\xe9\n", "Résumé déjà vu, naïve café\n[decoded from "},
		{"UTF-16", "\xff\xfeh\x00e\x00l\x00l\x00o\x00\n\x00", "hello\n[decoded from UTF-16LE with a byte order mark]"},
		{"PNG", pic.String(), "(binary output: PNG image 64×48, "},
		{"NULs between names", "a\x00b c\x00Größe\x00", "a␀b c␀Größe␀\n[NUL bytes are shown as ␀: 3]"},
		{"only NULs", strings.Repeat("\x00", 1000), "(binary output: binary data, 1,000 bytes)"},
		{"a few bad bytes", "Größe 漢字 ist größer, sagte er\xff\xfe. Übrigens äöüß\n", `er\xff\xfe. Übrigens äöüß` + "\n" + `[bytes that are not UTF-8 are written as \xNN: 2]`},
	} {
		got := s.has("cat "+file(t, []byte(c.data)), c.want)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return r == 0 || r == utf8.RuneError }) {
			t.Errorf("%s: not fit for a message: %q", c.name, got)
		}
		if raw := rawFile(t, got); string(raw) != c.data {
			t.Errorf("%s: the file has %q", c.name, raw)
		}
	}
}

// Redraws, colours and what would take over a terminal are gone; the raw bytes are kept.
func TestRedraws(t *testing.T) { // case:T15
	t.Parallel()
	var b strings.Builder
	b.WriteString("\x1b]0;title\a\x1b]52;c;cm0gLXJmIC8=\a\u009b31mGröße\t漢字\u009b0m\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "\x1b[2K\x1b[3%dm%d%%\x1b[0m\r", i%8, i/10)
	}
	b.WriteString("\x1b[2K\x1b[32mdone\x1b[0m\n\x9b1mlast\x9b0m\n")
	s := open(t, shell.Config{})
	got := s.has("cat "+file(t, []byte(b.String())), "Größe\t漢字\ndone\nlast\n[raw output, ")
	if !strings.HasPrefix(got, "Größe") || len(got) > 500 {
		t.Errorf("%q", uzda.Clip(got, 1000))
	}
	if string(rawFile(t, got)) != b.String() {
		t.Error("the raw bytes are not those that were printed")
	}
	// Colours alone are not worth a file.
	s.wants(`printf 'a \033[31mred\033[0m word\r\n'`, "a red word")
}

// The beginning and the end of a long output are shown, with the exact number of
// bytes between them and where all of them are.
func TestLong(t *testing.T) { // case:C13 T3
	t.Parallel()
	for _, size := range []int{200_000, 2_000_000, 9_000_000} {
		s := open(t, shell.Config{Text: 50_000, Spill: 5_000_000})
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			fmt.Fprintf(&b, "line %d of a long output 漢🎉\n", i)
		}
		b.WriteString("FATAL: disk quota\n")
		data := b.String()
		got, res := s.run("cat " + file(t, []byte(data)))
		if res.IsError || len(got) > 51_000 || !utf8.ValidString(got) || strings.ContainsRune(got, utf8.RuneError) {
			t.Errorf("%d bytes: error %v, %d bytes", size, res.IsError, len(got))
		}
		head, rest, ok := strings.Cut(got, "\n[")
		var omitted int
		if _, err := fmt.Sscanf(rest, "%d bytes of output are left out here]\n", &omitted); err != nil || !ok {
			t.Fatalf("no number: %.100q", rest)
		}
		_, tail, _ := strings.Cut(rest, "]\n")
		tail, notes, _ := strings.Cut(tail, "\n[")
		tail += "\n"
		if !strings.HasPrefix(data, head) || !strings.HasSuffix(data, tail) || !strings.HasSuffix(tail, "\nFATAL: disk quota\n") {
			t.Errorf("%d bytes: the beginning or the end is wrong: %.50q, %q", size, head, uzda.After(tail, 50))
		}
		if len(head)+len(tail)+omitted != len(data) {
			t.Errorf("%d bytes: %d + %d + %d of them", len(data), len(head), omitted, len(tail))
		}
		if want := fmt.Sprintf("%d bytes of output are left out, after the first %d]", omitted, len(head)); !strings.HasPrefix(notes, want) {
			t.Errorf("%d bytes: the end does not say %q:\n%s", size, want, notes)
		}
		raw := rawFile(t, got)
		if size < 5_000_000 && string(raw) != data || size > 5_000_000 && string(raw) != data[:5_000_000] {
			t.Errorf("%d bytes: the file has %d", size, len(raw))
		}
		if said := strings.Contains(notes, fmt.Sprintf("only the first 5000000 of %d bytes are kept", len(data))); said != (size > 5_000_000) {
			t.Errorf("%d bytes: %s", size, notes)
		}
	}
}

// Of output that is shorter as text the number is that of the text.
func TestLongColours(t *testing.T) { // case:C13 case:T15
	t.Parallel()
	var b, want strings.Builder
	for i := 0; b.Len() < 2_500_000; i++ {
		fmt.Fprintf(&b, "\x1b[3%dmline %d\x1b[0m 漢🎉\r\n", i%8, i)
		fmt.Fprintf(&want, "line %d 漢🎉\n", i)
	}
	for _, limit := range []int{1000, 49_999, 50_000, 50_001, 50_002, 50_003} {
		s := open(t, shell.Config{Text: limit})
		got, _ := s.run("cat " + file(t, []byte(b.String())))
		var omitted, at int
		_, note, _ := strings.Cut(got, " bytes of output are left out here]\n")
		_, note, _ = strings.Cut(note, "\n[")
		if _, err := fmt.Sscanf(note, "%d bytes of output are left out, after the first %d]", &omitted, &at); err != nil {
			t.Fatalf("%v: %s", err, note)
		}
		text := want.String()
		mark := fmt.Sprintf("\n[%d bytes of output are left out here]\n", omitted)
		if whole := text[:at] + mark + text[at+omitted:]; !strings.HasPrefix(got, strings.TrimRight(whole, "\n")+"\n[") || len(text)-omitted > limit || len(text)-omitted < limit-8 {
			t.Errorf("%d: %d from %d of %d", limit, omitted, at, len(text))
		}
	}
}

// Of output that is too much to be kept the parts that are there are cut between
// characters, wherever that falls, and nothing is said of bytes that are no UTF-8.
func TestCutCharacters(t *testing.T) { // case:T12 case:C13
	t.Parallel()
	s := open(t, shell.Config{Spill: 100_000})
	for i := range 4 {
		for _, line := range []string{"漢🎉", "漢🎉\n"} { // without lines too
			data := strings.Repeat("x", i) + strings.Repeat(line, 2_500_000/len(line))
			if line == "漢🎉" && i == 0 { // one character of several bytes in all, just where the cut is
				data = strings.Repeat("x", 1<<20-2) + "🎉" + strings.Repeat("y", 1_500_000)
			}
			got, res := s.run("cat " + file(t, []byte(data)))
			var omitted, at int
			_, note, _ := strings.Cut(got, " bytes of output are left out here]\n")
			if j := strings.LastIndex(note, " bytes of output are left out, after"); j >= 0 {
				note = note[strings.LastIndex(note[:j], "[")+1:]
			}
			if _, err := fmt.Sscanf(note, "%d bytes of output are left out, after the first %d]", &omitted, &at); err != nil {
				t.Fatalf("%v: %.100s", err, note)
			}
			want := data[:at] + fmt.Sprintf("\n[%d bytes of output are left out here]\n", omitted) + data[at+omitted:]
			if res.IsError || !strings.HasPrefix(got, strings.TrimRight(want, "\n")+"\n[") || strings.Contains(note, "UTF-8") || strings.Contains(note, "decoded") {
				t.Errorf("%d, %q: %d from %d: %s", i, line, omitted, at, uzda.Clip(note, 300))
			}
		}
	}
}

// What fits a result is there whole, so that the loop's cut has the exact number and
// keeps all of it; no file is left for it.
func TestWhole(t *testing.T) { // case:C13 T3
	t.Parallel()
	state := t.TempDir()
	s := open(t, shell.Config{State: state})
	var b strings.Builder
	for i := 0; b.Len() < 2_610_000; i++ {
		fmt.Fprintf(&b, "%06d 漢🎉\n", i)
	}
	data := b.String()[:2_610_000]
	data = uzda.Before(data, len(data)-3)
	data += strings.Repeat("x", 2_610_018-len(data))
	got, res := s.run("cat " + file(t, []byte(data)))
	if res.IsError || got != data {
		t.Errorf("error %v, %d bytes of %d, ends with %q", res.IsError, len(got), len(data), uzda.After(got, 200))
	}
	if files, err := filepath.Glob(filepath.Join(state, "s", "*.out")); err != nil || len(files) > 0 {
		t.Errorf("left: %v, %v", files, err)
	}
	// Drawn again, with NULs and bytes that are no UTF-8, at every place of a piece.
	b.Reset()
	var want strings.Builder
	nuls := 0
	for i := 0; b.Len() < 3_000_000; i++ {
		fmt.Fprintf(&b, "%d%%\r\x1b[2K%d 漢\x1b[1m🎉\x1b[0m", i, i)
		fmt.Fprintf(&want, "%d 漢🎉", i)
		if i%1000 == 999 && b.Len() > 1<<20 {
			b.WriteString("\x00\xff\xe6")
			want.WriteString(`␀\xff\xe6`)
			nuls++
		}
		b.WriteByte('\n')
		want.WriteByte('\n')
	}
	got, res = s.run("cat " + file(t, []byte(b.String())))
	text, notes, _ := strings.Cut(got, "\n[NUL")
	if res.IsError || text+"\n" != want.String() {
		t.Errorf("error %v, %d bytes of %d", res.IsError, len(text), want.Len())
	}
	if said := fmt.Sprintf(` bytes are shown as ␀: %d; bytes that are not UTF-8 are written as \xNN: %d]`, nuls, 2*nuls); !strings.HasPrefix(notes, said) {
		t.Errorf("%s: without %s", uzda.Clip(notes, 300), said)
	}
	if string(rawFile(t, got)) != b.String() {
		t.Error("the raw bytes are not those that were printed")
	}
	// The same of another encoding.
	greek := strings.Repeat("h\x00e\x00l\x00l\x00o\x00 \x00\xb1\x03\n\x00", 200_000)
	got, _ = s.run("cat " + file(t, []byte("\xff\xfe"+greek)))
	if text, _, _ := strings.Cut(got, "\n[decoded from UTF-16LE"); text+"\n" != strings.Repeat("hello α\n", 200_000) {
		t.Errorf("%d bytes, %q", len(text), uzda.Clip(text, 100))
	}
}

// Old outputs go before they take too much.
func TestKeptOutputs(t *testing.T) { // case:S08
	t.Parallel()
	state := t.TempDir()
	s := open(t, shell.Config{State: state, Text: 1000, Spill: 100_000, Kept: 400_000})
	var first, last string
	for i := range 12 {
		got := s.has("yes | head -c 90000", "raw output, 90000 bytes")
		if i == 0 {
			first = got
		}
		last = got
	}
	all, err := filepath.Glob(filepath.Join(state, "s", "*.out"))
	if err != nil || len(all) < 2 || len(all) > 5 {
		t.Errorf("%d files, %v", len(all), err)
	}
	if len(rawFile(t, last)) != 90000 {
		t.Error("the last output is not there")
	}
	_, path, _ := strings.Cut(first[strings.LastIndex(first, "[raw"):], ": ")
	if _, err := os.Stat(strings.TrimSuffix(path, "]")); !os.IsNotExist(err) {
		t.Errorf("the first output is still there: %v", err)
	}
}

// Standard input is empty, there is no terminal and no editor, and a demand for one
// of them is named.
func TestDemands(t *testing.T) { // case:T11 case:U02
	t.Parallel()
	s := open(t, shell.Config{})
	for command, want := range map[string]string{
		"cat":                          "(no output)\n[it reads standard input, which is empty here",
		"cat; echo after":              "after",
		"read x":                       "[it reads standard input, which is empty here",
		"read -r x y; exit 1":          "[it reads standard input, which is empty here",
		"tty":                          "not a tty",
		"head -c1 /dev/tty":            "[it wanted a terminal, and there is none here",
		"readlink /proc/self/fd/0":     "/dev/null",
		"ps -o tty= -p $$ | tr -d ' '": "?",
		"sh -c \"$GIT_EDITOR\"":        "[it wanted an editor, and there is none here: give the text in the command",
		"$EDITOR x":                    "[exit 1]",
		"printf 'Continue? [y/N] '":    "[it asked a question, and nobody answers here: use -y",
		"echo 'sudo: a password is required' >&2; exit 1":                                         "[sudo wanted a password",
		"echo \"fatal: could not read Username for 'https://x': terminal prompts disabled\"; ! :": "[it wanted a name or a password for a server",
		"echo 'Host key verification failed.'; exit 255":                                          "[it wanted to ask whether to trust a host key",
		"python3 -c 'input(\"name? \")'":                                                          "[it wanted input, and standard input is empty here",
	} {
		if strings.Contains(command, "/proc/") || strings.HasPrefix(command, "ps ") {
			if _, err := os.Stat("/proc/self/fd"); err != nil {
				continue
			}
		}
		if got, _ := s.run(command); !strings.Contains(got, want) {
			t.Errorf("%s: got\n%s\nwithout %q", command, got, want)
		}
	}
	for _, quiet := range []string{"echo 'is it a tty? not a tty, no'; echo done", "grep -c x /dev/null", "echo 'Password: set'", "cat /dev/null"} {
		if got, _ := s.run(quiet); strings.Contains(got, "here:") || strings.Contains(got, "here") {
			t.Errorf("%s: %s", quiet, got)
		}
	}
	need(t, "git", "git")
	got := s.has("git init -q . && git -c user.name=a -c user.email=a@b commit --allow-empty", "[it wanted an editor", "[exit 1]")
	if strings.Count(got, "\n") > 5 {
		t.Errorf("too many words:\n%s", got)
	}
	s.wants("git log; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x; git log --format=%s; git config core.fsmonitor",
		"fatal: your current branch '"+branch(t, s)+"' does not have any commits yet\nx\nfalse")
}

func branch(t *testing.T, s *session) string {
	t.Helper()
	got, _ := s.run("git symbolic-ref --short HEAD")
	return got
}

// FuzzOutput: whatever a program prints, the result is fit for a message.
func FuzzOutput(f *testing.F) {
	f.Add([]byte("plain\x1b[31m\r\n"))
	f.Add([]byte("\xff\xfeh\x00"))
	f.Add([]byte("\xd6\xd0\x9b31m\x00\u009b"))
	s := open(f, shell.Config{Text: 200, Spill: 1000})
	f.Fuzz(func(t *testing.T, data []byte) {
		one := *s
		one.t = t
		got, res := one.run("cat " + file(t, data))
		if res.IsError || !utf8.ValidString(got) || len(got) > 2000 {
			t.Errorf("%q: %q", data, got)
		}
		if strings.ContainsFunc(got, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
			t.Errorf("%q became %q", data, got)
		}
	})
}

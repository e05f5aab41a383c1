package file_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/uzda-dev/uzda/internal/charset"
	"github.com/uzda-dev/uzda/tool/file"
)

// A paper is a file in some encoding with some line ends.
type paper struct {
	enc   charset.Encoding
	ends  string // LF, CRLF or mixed
	last  bool   // the last line has a line end
	lines []string
}

func (p paper) text(r *rand.Rand) string {
	var b strings.Builder
	for i, l := range p.lines {
		b.WriteString(l)
		if i == len(p.lines)-1 && !p.last {
			break
		}
		if p.ends == "CRLF" || p.ends == "mixed" && r.IntN(2) == 0 {
			b.WriteByte('\r')
		}
		b.WriteByte('\n')
	}
	return b.String()
}

var words = map[string][]string{
	"":             {"func", "żółw", "дом", "龙", "🐉", "a(b)", "\t", "{", "}", "return x", "e\u0301", "\"q\"", "\\n", "ab", "aba"},
	"windows-1250": {"zażółć", "gęślą", "jaźń", "i", "ścieżka", "a(b)", "\t", "słowo — drugie", "aba"},
	"iso-8859-2":   {"zażółć", "gęślą", "jaźń", "i", "ścieżka", "a(b)", "\t", "słowo", "aba"},
	"windows-1251": {"вечером", "ходили", "кино", "и", "длинный", "фильм", "\t", "aba"},
	"gbk":          {"昨天晚上", "我们去", "电影院", "的", "新电影", "\t", "aba", "一"},
}

func vocabulary(name string) []string {
	if w, ok := words[name]; ok {
		return w
	}
	return words[""]
}

func newPaper(r *rand.Rand) paper {
	encs := []charset.Encoding{{Name: "utf-8"}, {Name: "utf-8", BOM: true}, {Name: "utf-16le", BOM: true}, {Name: "utf-16be", BOM: true},
		{Name: "utf-16le"}, {Name: "iso-8859-2"}, {Name: "windows-1250"}, {Name: "windows-1251"}, {Name: "gbk"}}
	p := paper{enc: encs[r.IntN(len(encs))], ends: []string{"LF", "CRLF", "mixed"}[r.IntN(3)], last: r.IntN(2) == 0}
	vocab := vocabulary(p.enc.Name)
	for i := range 5 + r.IntN(40) {
		var line []string
		for range r.IntN(7) {
			line = append(line, vocab[r.IntN(len(vocab))])
		}
		if i == 2 { // enough to tell the encoding by
			line = append(line, vocab[:min(len(vocab), 6)]...)
		}
		p.lines = append(p.lines, strings.Join(line, " "))
	}
	return p
}

// Edits of generated files in all forms of line ends and encodings: what is found
// is replaced, and every byte before and after it stays.
func TestEditsKeepTheRest(t *testing.T) { // T2, issue 4 point 3
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 3))
	d := newDesk(t)
	made := 0
	for n := 0; made < 500 && n < 5000; n++ {
		p := newPaper(r)
		text := p.text(r)
		data, err := p.enc.Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := charset.Detect(data, ""); !ok || e != p.enc {
			continue // a few words may look like another encoding; see the tests of charset
		}
		if editOnce(t, d, r, n, p, text, data) {
			made++
		}
		if t.Failed() {
			t.Fatalf("in round %d: %v, %s line ends", n, p.enc, p.ends)
		}
	}
	if made < 500 {
		t.Errorf("only %d edits were made", made)
	}
	d.clean()
}

// editOnce replaces a random part of a file that is there once.
func editOnce(t *testing.T, d *desk, r *rand.Rand, n int, p paper, text string, data []byte) bool {
	t.Helper()
	runes := []rune(text)
	from := r.IntN(len(runes))
	to := from + 1 + r.IntN(min(120, len(runes)-from))
	for from > 0 && runes[from] == '\n' && runes[from-1] == '\r' {
		from--
	}
	for to < len(runes) && runes[to] == '\n' && runes[to-1] == '\r' {
		to++
	}
	old := string(runes[from:to])
	unix, asked := strings.ReplaceAll(text, "\r\n", "\n"), strings.ReplaceAll(old, "\r\n", "\n")
	if strings.Count(unix, asked) != 1 || overlaps(unix, asked) {
		return false
	}
	vocab := vocabulary(p.enc.Name)
	fresh := vocab[r.IntN(len(vocab))]
	for range r.IntN(4) {
		fresh += []string{"\n", " ", ""}[r.IntN(3)] + vocab[r.IntN(len(vocab))]
	}
	if fresh == asked {
		return false
	}
	name := fmt.Sprintf("f%d.txt", n)
	d.put(name, string(data))
	d.ok("read_file", "path", name)
	d.ok("edit_file", "path", name, "old", asked, "new", fresh)
	got, err := os.ReadFile(d.path(name))
	if err != nil {
		t.Fatal(err)
	}
	head, err := p.enc.Encode(string(runes[:from]))
	if err != nil {
		t.Fatal(err)
	}
	tail, err := charset.Encoding{Name: p.enc.Name}.Encode(string(runes[to:]))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(got, head) || !bytes.HasSuffix(got, tail) || len(got) < len(head)+len(tail) {
		t.Errorf("bytes outside of the edit changed:\n%q\n%q\nold %q new %q", data, got, asked, fresh)
		return true
	}
	middle, err := charset.Encoding{Name: p.enc.Name}.Decode(got[len(head) : len(got)-len(tail)])
	if err != nil || strings.ReplaceAll(middle, "\r\n", "\n") != fresh {
		t.Errorf("written %q, want %q (%v)", middle, fresh, err)
	}
	lf, crlf := strings.Count(middle, "\n"), strings.Count(middle, "\r\n")
	if p.ends == "LF" && crlf > 0 || p.ends == "CRLF" && lf != crlf && strings.Contains(text, "\r\n") {
		t.Errorf("line ends of %q do not fit a file with %s", middle, p.ends)
	}
	return true
}

// overlaps: aba stands in ababa twice, though it is counted once.
func overlaps(s, part string) bool {
	i := strings.Index(s, part)
	return strings.Contains(s[i+1:], part)
}

// A file of 50 MB is edited without taking many times its size.
func TestEditLarge(t *testing.T) { // T2, issue 4 point 3
	if testing.Short() {
		t.Skip("SKIPPED: it needs 50 MB")
	}
	for _, enc := range []charset.Encoding{{Name: "utf-8"}, {Name: "utf-16le", BOM: true}} {
		d := newDesk(t)
		const size = 50 << 20
		line := "zażółć gęślą jaźń 0123456789 abcdefghijklmnopqrstuvwxyz\r\n"
		raw, err := charset.Encoding{Name: enc.Name}.Encode(line)
		if err != nil {
			t.Fatal(err)
		}
		mark, err := charset.Encoding{Name: enc.Name}.Encode("the only place\r\n")
		if err != nil {
			t.Fatal(err)
		}
		half := bytes.Repeat(raw, size/2/len(raw))
		data := bytes.Join([][]byte{enc.Mark(), half, mark, half}, nil)
		d.put("big", string(data))
		d.ok("read_file", "path", "big", "limit", 3)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		text := d.ok("edit_file", "path", "big", "old", "the only place\nzażółć", "new", "first\nsecond")
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		got, err := os.ReadFile(d.path("big"))
		if err != nil {
			t.Fatal(err)
		}
		head := len(enc.Mark()) + len(half)
		if !bytes.Equal(got[:head], data[:head]) || !bytes.HasSuffix(got, data[head+len(mark)+len(raw):]) {
			t.Error("bytes outside of the edit changed")
		}
		alloc := after.TotalAlloc - before.TotalAlloc
		t.Logf("%v: %d bytes, %v, %d MB allocated: %s", enc, len(data), took, alloc>>20, text)
		if alloc > 6*size {
			t.Errorf("%v: %d MB were allocated for a file of %d MB", enc, alloc>>20, size>>20)
		}
	}
}

// What was not seen is not changed: never read, changed since, or written by a
// command; one's own writes count as seen, also after a restart.
func TestSeen(t *testing.T) { // T2, issue 4 point 3
	t.Parallel()
	d := newDesk(t)
	d.put("a", "one two\n")
	d.refused([]string{"was not read", "read_file"}, "edit_file", "path", "a", "old", "one", "new", "1")
	d.refused([]string{"was not read"}, "write_file", "path", "a", "content", "1\n")
	d.ok("read_file", "path", "a")
	d.put("a", "one two!\n")
	d.refused([]string{"has changed since", "Read it again"}, "edit_file", "path", "a", "old", "one", "new", "1")
	d.refused([]string{"has changed since"}, "write_file", "path", "a", "content", "1\n")
	d.has("a", "one two!\n")
	d.ok("read_file", "path", "a")
	d.ok("edit_file", "path", "a", "old", "one", "new", "1")
	d.ok("edit_file", "path", "a", "old", "two", "new", "2")
	d.open() // a restart
	d.ok("edit_file", "path", "a", "old", "!", "new", "?")
	d.ok("write_file", "path", "b", "content", "new\n")
	d.ok("edit_file", "path", "b", "old", "new", "new", "newer")
	d.has("a", "1 2?\n")
	d.has("b", "newer\n")
	// the same size and time are no proof
	info, err := os.Stat(d.path("b"))
	if err != nil {
		t.Fatal(err)
	}
	d.put("b", "newar\n")
	if err := os.Chtimes(d.path("b"), info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	d.refused([]string{"has changed since"}, "edit_file", "path", "b", "old", "new", "new", "x")
	if text := d.ok("write_file", "path", "b", "content", "newar\n"); !strings.Contains(text, "already") {
		t.Error(text)
	}
	d.put("empty", "")
	d.ok("read_file", "path", "empty")
	d.ok("write_file", "path", "empty", "content", "full\n")
}

// A near miss is told with what differs, so that the next try hits.
func TestNearMisses(t *testing.T) { // T2
	t.Parallel()
	d := newDesk(t)
	body := "package main\n\nfunc main() {\n\tx := “quoted”\n\tprintln(x)\n}\n\nfunc other() {\n    spaces()\n\treturn\n}\n\nvar a = 1\nvar a = 1\nlast"
	d.put("m.go", body)
	d.ok("read_file", "path", "m.go")
	for _, c := range []struct{ old, want string }{
		{"    println(x)", "line 5: the file has tabs where old has spaces"},
		{"\tspaces()", "line 9: the file has spaces where old has tabs"},
		{"x := \"quoted\"", "line 4: quotes, dashes or special spaces differ"},
		{"func Main() {", "line 3: capital letters differ"},
		{"func main() {\n  println(x)", "line 3"},
		{"func other()  {", "white space differs"},
		{"     5\tprintln(x)", "line numbers"},
		{"last\n", "no line end after it"},
		{"var a = 1", "stands 2 times"},
		{"var a = 1", "lines 13, 14"},
		{"nothing of the kind whatsoever", "read the file again"},
		{"package main\n\n\nfunc", "line 1"},
	} {
		d.refused([]string{c.want}, "edit_file", "path", "m.go", "old", c.old, "new", "replaced")
	}
	d.refused([]string{"the same"}, "edit_file", "path", "m.go", "old", "last", "new", "last")
	d.refused([]string{"no file", "m.go"}, "edit_file", "path", "n.go", "old", "last", "new", "x")
	d.has("m.go", body)
	if text := d.ok("edit_file", "path", "m.go", "old", "var a = 1", "new", "var b = 2", "all", true); !strings.Contains(text, "2 places, on lines 13, 14") {
		t.Error(text)
	}
	d.has("m.go", strings.ReplaceAll(body, "var a = 1", "var b = 2"))
}

// Characters that a file's encoding lacks are refused by name; nothing is lost.
func TestEncodings(t *testing.T) { // T2, case:T13
	t.Parallel()
	d := newDesk(t)
	text := "Zażółć gęślą jaźń, wczoraj wieczorem poszliśmy do kina.\n"
	data, err := charset.Encoding{Name: "iso-8859-2"}.Encode(text)
	if err != nil {
		t.Fatal(err)
	}
	d.put("l2.txt", string(data))
	if shown := d.ok("read_file", "path", "l2.txt"); !strings.Contains(shown, "Zażółć gęślą") || !strings.Contains(shown, "ISO-8859-2") {
		t.Error(shown)
	}
	d.refused([]string{"'ж' (U+0436)", "ISO-8859-2"}, "edit_file", "path", "l2.txt", "old", "kina", "new", "kinaж")
	d.refused([]string{"ISO-8859-2", "U+1F409"}, "write_file", "path", "l2.txt", "content", "🐉\n")
	d.has("l2.txt", string(data))
	d.ok("edit_file", "path", "l2.txt", "old", "gęślą", "new", "łąką")
	d.has("l2.txt", strings.Replace(string(data), "g\xea\xb6l\xb1", "\xb3\xb1k\xb1", 1))
	d.ok("write_file", "path", "l2.txt", "content", "Nowy wiersz: źrebię i żółw, później ścieżka.\n")
	if got, _ := os.ReadFile(d.path("l2.txt")); !bytes.Contains(got, []byte("\xbcrebi\xea")) {
		t.Errorf("%q", got)
	}

	utf16, err := charset.Encoding{Name: "utf-16le", BOM: true}.Encode("a\r\nb\r\n")
	if err != nil {
		t.Fatal(err)
	}
	d.put("u.txt", string(utf16))
	if shown := d.ok("read_file", "path", "u.txt"); !strings.Contains(shown, "UTF-16LE with a byte order mark") || !strings.Contains(shown, "CR LF") || strings.Contains(shown, "\r") {
		t.Error(shown)
	}
	d.ok("write_file", "path", "u.txt", "content", "龙\nb\n")
	want, err := charset.Encoding{Name: "utf-16le", BOM: true}.Encode("龙\r\nb\r\n")
	if err != nil {
		t.Fatal(err)
	}
	d.has("u.txt", string(want))
	d.put("bin", "\x00\x01\x02\xff binary")
	d.ok("read_file", "path", "bin")
	d.refused([]string{"no text"}, "edit_file", "path", "bin", "old", "binary", "new", "x")
}

// The bytes before and after an edit never change, whatever is in the file.
func FuzzEdit(f *testing.F) { // T2
	f.Add("a\r\nb\nc", "b", "x\ny")
	f.Add("\xff\xfea\x00\r\x00\n\x00", "a", "żółw")
	f.Add("\xef\xbb\xbfone\ntwo", "one\ntwo", "two\none")
	f.Add("\r\n\r\n\n", "\n\n", "\n")
	f.Add("żółw\n", "ó", "ü")
	f.Add("a\rb\r\r\n", "b", "\r")
	f.Fuzz(func(t *testing.T, data, old, fresh string) {
		d := newDesk(t, func(c *file.Config) { c.MaxEdit = 1 << 20 })
		d.put("f", data)
		use := d.use("read_file", in("path", "f"))
		if _, err := d.tool("read_file").Call(t.Context(), use); err != nil {
			t.Fatal(err)
		}
		res, err := d.tool("edit_file").Call(t.Context(), d.use("edit_file", in("path", "f", "old", old, "new", fresh)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(d.path("f"))
		if err != nil {
			t.Fatal(err)
		}
		if res.IsError {
			if string(got) != data {
				t.Fatalf("refused, but changed: %s", res.Blocks)
			}
			return
		}
		if string(got) == data {
			t.Fatalf("it says it was edited, but nothing changed: %s", res.Blocks)
		}
		if utf8.ValidString(old) && utf8.ValidString(fresh) && !strings.Contains(old+fresh, "\r") {
			e, _ := charset.Detect([]byte(data), "")
			was, _ := e.Decode([]byte(data))
			now, err := e.Decode(got)
			if want := strings.Replace(unix(was), old, fresh, 1); err != nil || unix(now) != want {
				t.Fatalf("%v: %q became %q, want %q (%v)", e, was, now, want, err)
			}
		}
		if _, err := d.files.Undo(t.Context(), session, file.UndoOptions{}); err != nil {
			t.Fatal(err)
		}
		d.has("f", data)
	})
}

func unix(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

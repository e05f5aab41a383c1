package file_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/charset"
	"github.com/uzda-dev/uzda/tool/file"
)

// Lines come by ranges, with their numbers and how to go on.
func TestReadRanges(t *testing.T) { // T2, T3
	t.Parallel()
	d := newDesk(t)
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "line %d żółw\n", i+1)
	}
	d.put("long", b.String())
	d.put("open", "one\ntwo")
	d.put("empty", "")
	d.put("mixed", "a\r\nb\nc\r\n")
	for _, c := range []struct {
		path          string
		offset, limit int
		want          []string
		lacks         string
	}{
		{"long", 0, 0, []string{"   1\tline 1 żółw\n", "lines 1-", " of 5,000; go on with offset "}, "line 4999"},
		{"long", 4990, 0, []string{"4990\tline 4990", "5000\tline 5000", "[lines 4990-5000 of 5,000]"}, "line 4989"},
		{"long", 10, 2, []string{"  10\tline 10", "  11\tline 11", "[lines 10-11 of 5,000; go on with offset 12]"}, "line 12 "},
		{"long", -3, 0, []string{"4998\tline 4998", "5000\tline 5000"}, "line 4997"},
		{"long", -3, 1, []string{"4998\tline 4998", "go on with offset 4999"}, "line 4999"},
		{"open", 0, 0, []string{"   2\ttwo\n", "the last line has no line end"}, "offset"},
		{"open", -10, 0, []string{"   1\tone\n"}, "offset"},
		{"empty", 0, 0, []string{"empty is empty"}, "1\t"},
		{"mixed", 0, 0, []string{"line ends are mixed"}, "\r"},
	} {
		args := []any{"path", c.path}
		if c.offset != 0 {
			args = append(args, "offset", c.offset)
		}
		if c.limit != 0 {
			args = append(args, "limit", c.limit)
		}
		text := d.ok("read_file", args...)
		for _, w := range c.want {
			if !strings.Contains(text, w) {
				t.Errorf("%v lacks %q: %.300s … %s", args, w, text, uzda.After(text, 200))
			}
		}
		if strings.Contains(text, c.lacks) {
			t.Errorf("%v has %q: %.300s", args, c.lacks, text)
		}
		if len(text) > 31<<10 {
			t.Errorf("%v: %d bytes", args, len(text))
		}
	}
	d.refused([]string{"has 2 lines", "line 3"}, "read_file", "path", "open", "offset", 3)
}

// Following the offsets gives the whole file, nothing twice and nothing left out.
func TestReadOn(t *testing.T) { // T3
	t.Parallel()
	d := newDesk(t)
	r := rand.New(rand.NewPCG(1, 1))
	var want strings.Builder
	for i := range 6000 {
		fmt.Fprintf(&want, "%d %s\n", i, strings.Repeat("龙", r.IntN(20)))
	}
	d.put("f", want.String())
	var got strings.Builder
	for offset := 1; offset > 0; {
		text := d.ok("read_file", "path", "f", "offset", offset)
		offset = 0
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "[") {
				if _, rest, ok := strings.Cut(line, "go on with offset "); ok {
					_, _ = fmt.Sscanf(rest, "%d", &offset)
				}
				continue
			}
			_, l, _ := strings.Cut(line, "\t")
			got.WriteString(l)
		}
	}
	if got.String() != want.String() {
		t.Error("what was read on is not the file")
	}
}

// Very long lines, very large files and folders with many entries stay in bounds,
// at rune boundaries, and say what is missing.
func TestReadBounds(t *testing.T) { // case:C13, T3
	t.Parallel()
	d := newDesk(t)
	d.put("wide", strings.Repeat("龙", 700000)+"\nFATAL: disk quota\n")
	text := d.ok("read_file", "path", "wide")
	if len(text) > 31<<10 || !utf8.ValidString(text) || !strings.Contains(text, "2,098,002 bytes more on this line") || !strings.Contains(text, "   2\tFATAL: disk quota") {
		t.Errorf("%d bytes: %s", len(text), uzda.After(text, 200))
	}
	d.put("log", strings.Repeat("some output of a command, with more words in it\n", 40000)+"FATAL: disk quota\n")
	if text := d.ok("read_file", "path", "log", "offset", -5); !strings.Contains(text, "FATAL: disk quota") || len(text) > 1000 {
		t.Errorf("%s", text)
	}
	if text := d.ok("read_file", "path", "log", "offset", -2000); !strings.Contains(text, "40001\tFATAL: disk quota") || len(text) > 31<<10 {
		t.Errorf("%d bytes", len(text))
	}
	large := newDesk(t, func(c *file.Config) { c.MaxEdit = 100 << 10 })
	large.put("huge", strings.Repeat("a line\n", 100000)+"FATAL: disk quota\n")
	if text := large.ok("read_file", "path", "huge", "limit", 2); !strings.Contains(text, "lines 1-2 of many more, not counted") || !strings.Contains(text, "offset 3") {
		t.Error(text)
	}
	if text := large.ok("read_file", "path", "huge", "offset", -1); !strings.Contains(text, "100001\tFATAL") {
		t.Error(text)
	}
	for i := range 1200 {
		d.put(fmt.Sprintf("many/f%04d", i), "needle\n")
	}
	if text := d.ok("read_file", "path", "many"); !strings.Contains(text, "1200 entries") || !strings.Contains(text, "and 700 more") || len(text) > 31<<10 {
		t.Errorf("%d bytes: %s", len(text), uzda.After(text, 200))
	}
	if text := d.ok("glob", "pattern", "many/*"); !strings.Contains(text, "[700 more: narrow") || !strings.HasPrefix(text, "many/f0000\nmany/f0001\n") {
		t.Errorf("%d bytes: %s", len(text), uzda.After(text, 200))
	}
	if text := d.ok("grep", "pattern", "needle"); strings.Count(text, "\n") != 101 || !strings.Contains(text, "the limit of 100 is reached; 1101 files more") {
		t.Errorf("%d lines: %s", strings.Count(text, "\n"), uzda.After(text, 200))
	}
}

// Pictures are shown if they are small, everything else that is no text is described.
func TestReadBinary(t *testing.T) { // case:T13
	t.Parallel()
	d := newDesk(t)
	var pic bytes.Buffer
	if err := png.Encode(&pic, image.NewGray(image.Rect(0, 0, 64, 48))); err != nil {
		t.Fatal(err)
	}
	d.put("p.png", pic.String())
	res := d.call("read_file", "path", "p.png")
	if len(res.Blocks) != 2 || !strings.Contains(res.Blocks.String(), "PNG image 64×48") {
		t.Fatalf("%v", res.Blocks)
	}
	if m, ok := res.Blocks[1].(uzda.Media); !ok || m.Type != "image/png" || !bytes.Equal(m.Data, pic.Bytes()) {
		t.Errorf("%+v", res.Blocks[1])
	}
	d.put("big.png", pic.String()+strings.Repeat("\x00", 3<<20))
	if res := d.call("read_file", "path", "big.png"); len(res.Blocks) != 1 || !strings.Contains(res.Blocks.String(), "too large to be shown") {
		t.Errorf("%.300v", res.Blocks)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	d.put("prog", string(program))
	if text := d.ok("read_file", "path", "prog"); !strings.Contains(text, charset.Commas(int64(len(program)))+" bytes") || len(text) > 300 {
		t.Errorf("%.300s", text)
	}
	for name, text := range map[string]string{"gbk": "错误：系统找不到指定的路径。请检查文件是否存在，然后再试一次。\n", "shift_jis": "エラー：ファイルが見つかりません。もう一度確認してください。\n",
		"windows-1251": "Ошибка: файл не найден. Проверьте путь и попробуйте ещё раз.\n", "windows-1250": "Błąd: nie można otworzyć pliku, ścieżka jest nieprawidłowa. Spróbuj później.\n"} {
		data, err := charset.Encoding{Name: name}.Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		d.put(name, string(data))
		if got := d.ok("read_file", "path", name); !strings.Contains(got, strings.TrimSpace(text)) || !strings.Contains(got, "the file is in ") {
			t.Errorf("%s: %s", name, got)
		}
		if got := d.ok("grep", "path", name, "pattern", strings.Fields(text)[0]); !strings.Contains(got, strings.TrimSpace(text)) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// The diff is for people, and the preview shows the same one with what it holds for.
func TestDiffs(t *testing.T) { // T2, T3
	t.Parallel()
	d := newDesk(t)
	d.put("a", "1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\r\n9\r\n")
	d.ok("read_file", "path", "a")
	u := d.use("edit_file", in("path", "a", "old", "5", "new", "five\nand a half"))
	p := d.tool("edit_file").(uzda.Previewer)
	text, pre, err := p.Preview(t.Context(), u)
	want := "--- a/a\n+++ b/a\n@@ -2,7 +2,8 @@\n 2\n 3\n 4\n-5\n+five\n+and a half\n 6\n 7\n 8\n"
	if err != nil || text != want {
		t.Errorf("%v\n%s", err, text)
	}
	d.put("a", "1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\r\n9!\r\n")
	if _, other, err := p.Preview(t.Context(), u); err == nil && other == pre {
		t.Error("the approval holds for another version")
	}
	d.ok("read_file", "path", "a")
	if _, other, err := p.Preview(t.Context(), u); err != nil || other == pre {
		t.Errorf("the preconditions are those of another version (%v)", err)
	}
	res := d.run(u)
	if res.People.String() != want || !strings.Contains(res.Blocks.String(), "Edited a: line 5, +2 −1 lines.") {
		t.Errorf("%s\n%s", res.Blocks, res.People)
	}
	text, pre, err = d.tool("write_file").(uzda.Previewer).Preview(t.Context(), d.use("write_file", in("path", "n/b", "content", "x\ny\n")))
	if err != nil || text != "--- /dev/null\n+++ b/n/b\n@@ -0,0 +1,2 @@\n+x\n+y\n" || !strings.Contains(pre, "\nabsent\n") {
		t.Errorf("%v\n%s\n%s", err, text, pre)
	}
	d.gone("n")
	text, _, err = d.tool("delete_file").(uzda.Previewer).Preview(t.Context(), d.use("delete_file", in("path", "a")))
	if err != nil || text != "Delete a: text in UTF-8, 43 bytes (it can be undone)" {
		t.Errorf("%v\n%s", err, text)
	}
	d.ok("write_file", "path", "big", "content", strings.Repeat("line\n", 100000))
	res = d.call("write_file", "path", "big", "content", strings.Repeat("other\n", 100000))
	if n := len(res.People.String()); n > 64<<10 || n == 0 || !strings.Contains(res.Blocks.String(), "+100000 −100000") {
		t.Errorf("%d bytes of diff: %s", n, res.Blocks)
	}
	d.put("many", strings.Repeat("a\nb\nc\nd\ne\nf\ng\nh\n", 3))
	d.ok("read_file", "path", "many")
	res = d.call("edit_file", "path", "many", "old", "a", "new", "A\nA", "all", true)
	if got := res.People.String(); !strings.Contains(got, "@@ -1,4 +1,5 @@") || !strings.Contains(got, "-a\n+A\n+A\n") || !strings.Contains(got, "@@ -14,7 +16,8 @@") {
		t.Errorf("%s", got)
	}
}

package pdf_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/ascii85"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/uzda-dev/uzda/internal/pdf"
)

// A book writes documents: objects one after another, and a table of them that is
// wrong, since nothing may rest on it.
type book struct {
	bytes.Buffer
	n int
}

func newBook() *book {
	b := &book{}
	b.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	return b
}

func (b *book) add(body string) int {
	b.n++
	fmt.Fprintf(b, "%d 0 obj\n%s\nendobj\n", b.n, body)
	return b.n
}

// stream adds a stream; how is what its dictionary says besides.
func (b *book) stream(how string, data []byte) int {
	return b.add(fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", how, len(data), data))
}

func flated(data []byte) []byte {
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	_, _ = w.Write(data)
	_ = w.Close()
	return z.Bytes()
}

// page adds a page that draws content with the font F and whatever stands in extra.
func (b *book) page(content string, font int, extra string) int {
	c := b.stream("/Filter /FlateDecode", flated([]byte(content)))
	return b.add(fmt.Sprintf("<< /Type /Page /Contents %d 0 R /Resources << /Font << /F %d 0 R >> %s >> >>", c, font, extra))
}

func (b *book) end(pages ...int) []byte {
	var kids strings.Builder
	for _, p := range pages {
		fmt.Fprintf(&kids, "%d 0 R ", p)
	}
	tree := b.add(fmt.Sprintf("<< /Type /Pages /Count %d /Kids [ %s] >>", len(pages), kids.String()))
	root := b.add(fmt.Sprintf("<< /Type /Catalog /Pages %d 0 R >>", tree))
	fmt.Fprintf(b, "xref\n0 1\n0000000000 65535 f \ntrailer\n<< /Root %d 0 R /Size %d >>\nstartxref\n9\n%%%%EOF\n", root, b.n+1)
	return b.Bytes()
}

const helvetica = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"

// drawn is a document of one page.
func drawn(content string) []byte {
	b := newBook()
	f := b.add(helvetica)
	return b.end(b.page(content, f, ""))
}

func read(t testing.TB, data []byte) []pdf.Page {
	t.Helper()
	pages, err := pdf.Read(context.Background(), data, pdf.Limits{})
	if err != nil {
		t.Fatalf("%v\n%q", err, data[:min(len(data), 2000)])
	}
	return pages
}

// Letters become words, lines and paragraphs by where they are drawn, whatever the
// generator writes between them. // G4
func TestLayout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, content, want string }{
		{"one string", "BT /F 12 Tf 72 700 Td (Hello, world) Tj ET", "Hello, world"},
		{"lines", "BT /F 12 Tf 14 TL 72 700 Td (one) Tj T* (two) Tj (and) ' ET", "one\ntwo\nand"},
		{"a paragraph", "BT /F 12 Tf 72 700 Td (one) Tj 0 -14 Td (two) Tj 0 -40 Td (three) Tj ET", "one\ntwo\n\nthree"},
		{"words without spaces", "BT /F 12 Tf 72 700 Td [(Two) -400 (words) 20 (.)] TJ ET", "Two words."},
		{"letters one by one", "BT /F 10 Tf 1 0 0 1 72 700 Tm (a) Tj 1 0 0 1 77 700 Tm (b) Tj 1 0 0 1 86 700 Tm (c) Tj ET", "ab c"},
		{"cells of a table", "BT /F 10 Tf 72 700 Td (Kraków) Tj 100 0 Td (23) Tj -100 -12 Td (Gdynia) Tj 100 0 Td (7) Tj ET", "Kraków  23\nGdynia  7"},
		{"escapes", `BT /F 12 Tf 72 700 Td (a\(b\)\\ \101\040c \
d) Tj <48 69> Tj ET`, `a(b)\ A c dHi`},
		{"above the line", "BT /F 10 Tf 72 700 Td (x) Tj 3 Ts /F 6 Tf (2) Tj ET", "x2"},
		{"turned", "BT /F 12 Tf 0 1 -1 0 100 100 Tm (up it) Tj ( goes) Tj ET", "up it goes"},
		{"scaled", "q 0.1 0 0 0.1 0 0 cm BT /F 120 Tf 720 7000 Td (small) Tj ET Q", "small"},
		{"an inline picture", "BI /W 2 /H 2 ID \x00(Tj EI BT /F 12 Tf (after) Tj ET", "after"},
		{"two columns", "BT /F 10 Tf 72 700 Td (left) Tj 0 -12 Td (more) Tj 200 12 Td (right) Tj ET", "left\nmore\nright"},
		{"nothing", "0 0 100 100 re f", ""},
		{"broken words", "BT /F 12 Tf [(a) (b] TJ ) ]] >> TJ (c) Tj", "c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			content := strings.NewReplacer("ó", "\xf3").Replace(c.content)
			got := read(t, drawn(content))
			if len(got) != 1 || c.name != "two columns" && got[0].Text != c.want {
				t.Errorf("%q, want %q", got[0].Text, c.want)
			}
			if c.name == "two columns" && strings.Join(strings.Fields(got[0].Text), " ") != "left more right" {
				t.Errorf("%q", got[0].Text)
			}
		})
	}
}

// What a letter is, is said in many ways. // G4
func TestFonts(t *testing.T) {
	t.Parallel()
	toUnicode := func(b *book, text string) int { return b.stream("", []byte(text)) }
	for _, c := range []struct {
		name    string
		font    func(b *book) string
		content string
		want    string
	}{
		{"differences", func(*book) string {
			return "<< /Subtype /Type1 /Encoding << /Differences [ 1 /zdotaccent /aogonek /lslash /cacute /T.alt /f_i /uni4E2D /afii10031 /Euro /odieresis /ffi ] >> >>"
		}, "(\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b)", "żąłćTfi中Н€öffi"},
		{"standard", func(*book) string { return "<< /Subtype /Type1 >>" }, "(it's \xd0 \xe8\xf8\xae\xaf)", "it’s — Łłﬁﬂ"},
		{"windows", func(*book) string { return helvetica }, "(\x93caf\xe9\x94 \x80 \xe6)", "“café” € æ"},
		{"mac", func(*book) string { return "<< /Subtype /TrueType /Encoding /MacRomanEncoding >>" }, "(caf\x8e \xd2x\xd3)", "café “x”"},
		{"a table of texts", func(b *book) string {
			return fmt.Sprintf("<< /Subtype /Type1 /Encoding /WinAnsiEncoding /ToUnicode %d 0 R >>", toUnicode(b,
				"1 begincodespacerange <00> <ff> endcodespacerange 2 beginbfchar <41> <0416> <42> <D83DDE00> endbfchar 2 beginbfrange <61> <63> <0430> <64> <65> [ <0031> <00660066> ] endbfrange"))
		}, "(ABabcde)", "Ж😀абв1ff"},
		{"two bytes", func(b *book) string {
			own := b.add("<< /Subtype /CIDFontType2 /DW 1000 /W [ 1 [ 500 600 ] 3 9 700 ] >>")
			return fmt.Sprintf("<< /Subtype /Type0 /Encoding /Identity-H /DescendantFonts [ %d 0 R ] /ToUnicode %d 0 R >>", own, toUnicode(b,
				"1 begincodespacerange <0000> <ffff> endcodespacerange 1 beginbfrange <0001> <0300> <4E00> endbfrange"))
		}, "<000100020003>", "一丁丂"},
		{"nothing says", func(b *book) string { return "<< /Subtype /Type0 /Encoding /Identity-H >>" }, "<00010002>", "\uFFFD\uFFFD"},
		{"unicode", func(b *book) string { return "<< /Subtype /Type0 /Encoding /UniGB-UCS2-H >>" }, "<4E2D6587>", "中文"},
		{"gbk", func(b *book) string { return "<< /Subtype /Type0 /Encoding /GBK-EUC-H >>" }, "<D6D0CEC441>", "中文A"},
		{"shift-jis", func(b *book) string { return "<< /Subtype /Type0 /Encoding /90ms-RKSJ-H >>" }, "<93FA967BB141>", "日本ｱA"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			f := b.add(c.font(b))
			if f != b.n { // the font has added objects of its own
				t.Fatal("order")
			}
			got := read(t, b.end(b.page("BT /F 12 Tf 72 700 Td "+c.content+" Tj ET", f, "")))
			if got[0].Text != c.want {
				t.Errorf("%q, want %q", got[0].Text, c.want)
			}
			if n := strings.Count(c.want, "\uFFFD"); got[0].Unread != n {
				t.Errorf("%d letters are unread, want %d", got[0].Unread, n)
			}
		})
	}
}

// Streams are packed in every way that holds text. // G4
func TestFilters(t *testing.T) {
	t.Parallel()
	const words = "BT /F 12 Tf 72 700 Td (packed words packed words) Tj ET"
	a85 := func(data []byte) []byte {
		out := make([]byte, ascii85.MaxEncodedLen(len(data)))
		return append(out[:ascii85.Encode(out, data)], "~>"...)
	}
	var runs []byte
	for part := range slices.Chunk([]byte(words), 100) {
		runs = append(append(runs, byte(len(part)-1)), part...)
	}
	up := []byte{2}
	up = append(up, words...)
	packed := flated([]byte(words))
	for name, c := range map[string]struct {
		how  string
		data []byte
	}{
		"none":      {"", []byte(words)},
		"flate":     {"/Filter /FlateDecode", packed},
		"cut flate": {"/Filter /FlateDecode", packed[:len(packed)-5]},
		"a85":       {"/Filter [ /ASCII85Decode /FlateDecode ]", a85(packed)},
		"hex":       {"/Filter /ASCIIHexDecode", []byte(hex.EncodeToString([]byte(words)) + ">")},
		"runs":      {"/Filter /RunLengthDecode", append(runs, 128)},
		"lzw":       {"/Filter /LZWDecode", lzw([]byte(words))},
		"predicted": {fmt.Sprintf("/Filter /FlateDecode /DecodeParms << /Predictor 15 /Columns %d >>", len(words)), flated(up)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			f := b.add(helvetica)
			s := b.stream(c.how, c.data)
			p := b.add(fmt.Sprintf("<< /Type /Page /Contents %d 0 R /Resources << /Font << /F %d 0 R >> >> >>", s, f))
			if got := read(t, b.end(p)); !strings.HasPrefix(got[0].Text, "packed words") {
				t.Errorf("%q", got[0].Text)
			}
		})
	}
}

// lzw packs with codes of nine bits only, each a byte: a clear before the codes grow.
func lzw(data []byte) []byte {
	var out []byte
	acc, bits := 0, 0
	put := func(c int) {
		for acc, bits = acc<<9|c, bits+9; bits >= 8; bits -= 8 {
			out = append(out, byte(acc>>(bits-8)))
			acc &= 1<<(bits-8) - 1
		}
	}
	for i, c := range data {
		if i%200 == 0 {
			put(256)
		}
		put(int(c))
	}
	put(257)
	return append(out, byte(acc<<(8-bits)))
}

// Objects in streams, updates, forms, inherited resources, a lost tree: what is there
// is found. // G4
func TestStructure(t *testing.T) {
	t.Parallel()
	const words = "BT /F 12 Tf 72 700 Td (%s) Tj ET"
	t.Run("objects in a stream", func(t *testing.T) {
		t.Parallel()
		b := newBook()
		c := b.stream("", fmt.Appendf(nil, words, "inside"))
		objects := []string{helvetica, fmt.Sprintf("<< /Type /Page /Contents %d 0 R /Resources << /Font << /F 10 0 R >> >> >>", c),
			"<< /Type /Pages /Kids [ 11 0 R ] >>", "<< /Type /Catalog /Pages 12 0 R >>"}
		head, body := "", ""
		for i, o := range objects {
			head += fmt.Sprintf("%d %d ", 10+i, len(body))
			body += o + "\n"
		}
		b.stream(fmt.Sprintf("/Type /ObjStm /N 4 /First %d /Filter /FlateDecode", len(head)), flated([]byte(head+body)))
		b.stream("/Type /XRef /Root 13 0 R /W [ 1 2 1 ]", nil)
		if got := read(t, b.Bytes()); len(got) != 1 || got[0].Text != "inside" {
			t.Errorf("%+v", got)
		}
	})
	t.Run("the last of several counts", func(t *testing.T) {
		t.Parallel()
		b := newBook()
		f := b.add(helvetica)
		p := b.page(fmt.Sprintf(words, "old"), f, "")
		b.end(p)
		b.n = p - 2
		b.page(fmt.Sprintf(words, "new"), f, "")
		if got := read(t, b.Bytes()); len(got) != 1 || got[0].Text != "new" {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a form", func(t *testing.T) {
		t.Parallel()
		b := newBook()
		f := b.add(helvetica)
		form := b.stream(fmt.Sprintf("/Subtype /Form /Matrix [ 1 0 0 1 0 -20 ] /Resources << /Font << /F %d 0 R >> >>", f), fmt.Appendf(nil, words, "within"))
		got := read(t, b.end(b.page("q /X Do Q "+fmt.Sprintf(words, "around"), f, fmt.Sprintf("/XObject << /X %d 0 R >>", form))))
		if got[0].Text != "within\naround" && got[0].Text != "within\n\naround" {
			t.Errorf("%q", got[0].Text)
		}
	})
	t.Run("pages that inherit, and pictures", func(t *testing.T) {
		t.Parallel()
		b := newBook()
		f := b.add(helvetica)
		image := b.stream("/Subtype /Image /Filter /DCTDecode", []byte("\xff\xd8endobj 9 0 obj"))
		c1, c2 := b.stream("", fmt.Appendf(nil, words, "first")), b.stream("", []byte("/P Do"))
		tree := b.n + 3
		p1 := b.add(fmt.Sprintf("<< /Type /Page /Parent %d 0 R /Contents [ %d 0 R ] >>", tree, c1))
		p2 := b.add(fmt.Sprintf("<< /Type /Page /Parent %d 0 R /Contents %d 0 R >>", tree, c2))
		b.add(fmt.Sprintf("<< /Type /Pages /Kids [ %d 0 R %d 0 R ] /Resources << /Font << /F %d 0 R >> /XObject << /P %d 0 R >> >> >>", p1, p2, f, image))
		root := b.add(fmt.Sprintf("<< /Type /Catalog /Pages %d 0 R >>", tree))
		fmt.Fprintf(b, "trailer << /Root %d 0 R >>", root)
		got := read(t, b.Bytes())
		if len(got) != 2 || got[0].Text != "first" || got[1].Text != "" || got[1].Pictures != 1 {
			t.Errorf("%+v", got)
		}
	})
	t.Run("no tree", func(t *testing.T) {
		t.Parallel()
		b := newBook()
		f := b.add(helvetica)
		b.page(fmt.Sprintf(words, "saved"), f, "")
		if got := read(t, b.Bytes()); len(got) != 1 || got[0].Text != "saved" {
			t.Errorf("%+v", got)
		}
	})
}

// A document that is made to harm ends in an error, or in what it holds: it never
// takes the program's memory, its stack or its time. // G4 peer:25
func TestHostile(t *testing.T) {
	t.Parallel()
	bomb := flated(flated(make([]byte, 80<<20)))
	bombed := func() []byte {
		b := newBook()
		f := b.add(helvetica)
		s := b.stream("/Filter [ /FlateDecode /FlateDecode ]", bomb)
		return b.end(b.add(fmt.Sprintf("<< /Type /Page /Contents %d 0 R /Resources << /Font << /F %d 0 R >> >> >>", s, f)))
	}()
	parent := newBook()
	parent.WriteString("1 0 obj << /Type /Pages /Kids [ 1 0 R 2 0 R ] /Parent 2 0 R /Count 99999999 >> endobj 2 0 obj << /Type /Pages /Kids [ 1 0 R 2 0 R ] /Parent 1 0 R >> endobj 3 0 obj << /Type /Catalog /Pages 1 0 R >> endobj trailer << /Root 3 0 R >>")
	loops := newBook()
	loops.WriteString("1 0 obj 2 0 R endobj 2 0 obj 1 0 R endobj 3 0 obj << /Length 3 0 R /Type /ObjStm /First 3 0 R >> stream\nxx endstream endobj trailer << /Root 1 0 R >>")
	forms := newBook()
	f := forms.add(helvetica)
	for i := range 20 { // each draws the next twice
		forms.stream(fmt.Sprintf("/Subtype /Form /Resources << /XObject << /X %d 0 R >> /Font << /F %d 0 R >> >>", forms.n+2, f), []byte(strings.Repeat("/X Do ", 50)+fmt.Sprint(i)))
	}
	formed := forms.end(forms.page("/X Do", f, "/XObject << /X 2 0 R >>"))
	many := newBook()
	p := many.page("BT ET", 1, "")
	var all []int
	for range 1001 {
		all = append(all, many.add("<< /Type /Page >>"))
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"no PDF":          {[]byte("hello"), "no PDF"},
		"only a mark":     {[]byte("%PDF-1.4"), "broken"},
		"a bomb":          {bombed, "unpacks"},
		"a loop of pages": {parent.Bytes(), "broken"},
		"loops":           {loops.Bytes(), "broken"},
		"forms":           {formed, "work"},
		"arrays":          {drawn(strings.Repeat("[", 500_000)), ""},
		"dicts":           {append([]byte("%PDF-1.4 1 0 obj "), bytes.Repeat([]byte("<<"), 500_000)...), ""},
		"strings":         {drawn("(" + strings.Repeat("(", 300_000)), ""},
		"numbers":         {drawn("[" + strings.Repeat("1 ", 600_000) + "] TJ"), ""},
		"objects":         {append([]byte("%PDF-1.4\n"), bytes.Repeat([]byte("1 0 obj\n"), 600_000)...), ""},
		"pages":           {many.end(append(all, p)...), "1000 pages"},
		"letters":         {drawn("BT /F 1 Tf (" + strings.Repeat("x", 1_100_000) + ") Tj"), "text"},
		"encrypted":       {append(drawn("BT ET"), "trailer << /Root 1 0 R /Encrypt << /Filter /Standard >> >>"...), "encrypted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := pdf.Read(context.Background(), c.data, pdf.Limits{Work: 2_000_000, Text: 1 << 20})
			if c.want == "" && err == nil {
				return
			}
			var limit *pdf.LimitError
			if c.want == "" && (errors.As(err, &limit) || errors.Is(err, pdf.ErrBroken)) {
				return
			}
			if err == nil || c.want == "" || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// The caller can stop the work at any time. // L11
func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := pdf.Read(ctx, drawn("BT /F 12 Tf (x) Tj"), pdf.Limits{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func FuzzRead(f *testing.F) { // G4
	f.Add(drawn("BT /F 12 Tf 72 700 Td (Hello) Tj [(a) -300 (b)] TJ T* (c) ' ET /X Do BI ID x EI"))
	b := newBook()
	m := b.stream("", []byte("1 begincodespacerange <00> <ff> endcodespacerange 1 beginbfrange <00> <ff> <0041> endbfrange 1 begincidrange <00> <ff> 3 endcidrange"))
	own := b.add("<< /W [ 1 [ 500 600 ] 3 9 700 ] >>")
	t0 := b.add(fmt.Sprintf("<< /Subtype /Type0 /Encoding %d 0 R /DescendantFonts [ %d 0 R ] /ToUnicode %d 0 R >>", m, own, m))
	f.Add(b.end(b.page("BT /F 12 Tf (Hello) Tj ET", t0, "")))
	l := newBook()
	l.stream("/Type /ObjStm /N 1 /First 4 /Filter /LZWDecode", lzw([]byte("9 0 << /Type /Page >>")))
	l.stream("/Filter [ /RunLengthDecode /ASCII85Decode ] /DecodeParms [ << /Predictor 12 /Columns 4 >> ]", []byte("abc"))
	f.Add(l.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		pages, err := pdf.Read(context.Background(), data, pdf.Limits{Pages: 50, Text: 1 << 20, Unpacked: 1 << 20, Work: 300_000})
		if err != nil && pages != nil {
			t.Error("pages beside an error")
		}
		for _, p := range pages {
			if !utf8.ValidString(p.Text) || p.Unread > p.Letters || strings.ContainsAny(p.Text, "\x00\x1b") {
				t.Errorf("%+v", p)
			}
		}
	})
}

// BenchmarkRead reads fifty pages of text.
func BenchmarkRead(b *testing.B) {
	doc := newBook()
	f := doc.add(helvetica)
	var pages []int
	line := "(" + strings.Repeat("some words of a page ", 4) + ") ' "
	for range 50 {
		pages = append(pages, doc.page("BT /F 10 Tf 12 TL 50 800 Td "+strings.Repeat(line, 60)+"ET", f, ""))
	}
	data := doc.end(pages...)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := pdf.Read(context.Background(), data, pdf.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

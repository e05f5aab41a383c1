package charset_test

import (
	"bytes"
	"compress/gzip"
	"image"
	"image/png"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/uzda-dev/uzda/internal/charset"
)

var texts = map[string]string{
	"polish": "Zażółć gęślą jaźń. Wczoraj wieczorem poszliśmy do kina, żeby obejrzeć nowy film o górach. Był długi, ale ciekawy;\n" +
		"późną nocą wróciliśmy do domu i piliśmy jeszcze herbatę z cytryną. Łódź, Kraków, Gdańsk — miasta, które są mi bliskie.\n",
	"polish short": "nie można otworzyć pliku: odmowa dostępu, spróbuj później ręcznie\n",
	"czech":        "Příliš žluťoučký kůň úpěl ďábelské ódy. Včera večer jsme šli do kina, abychom viděli nový film o horách.\n",
	"hungarian":    "Tegnap este moziba mentünk, hogy megnézzük az új filmet a hegyekről. Hosszú volt, de érdekes; később hazamentünk és teát ittunk, őszintén szólva jó volt.\n",
	"russian": "Вчера вечером мы ходили в кино, чтобы посмотреть новый фильм о горах. Он был длинный, но интересный;\n" +
		"поздно ночью мы вернулись домой и пили чай с лимоном. Съешь же ещё этих мягких французских булок.\n",
	"russian short": "Ошибка: файл не найден\n",
	"german":        "Gestern Abend gingen wir ins Kino, um den neuen Film über die Berge zu sehen. Er war lang, aber schön; spät kamen wir zurück. Grüße aus Köln, süße Mäuse.\n",
	"french":        "Hier soir, nous sommes allés au cinéma pour voir le nouveau film sur les montagnes. C'était long mais très intéressant; où êtes-vous passés, garçons ?\n",
	"spanish":       "Ayer por la noche fuimos al cine para ver la nueva película sobre las montañas. Fue larga pero interesante; después volvimos a casa. ¿Qué más?\n",
	"chinese": "昨天晚上我们去电影院看了一部关于山的新电影。电影很长，但是很有意思；\n" +
		"深夜我们回到家里，还喝了柠檬茶。错误：找不到文件，请检查路径是否正确。\n",
	"chinese short": "错误：系统找不到指定的路径。\n",
	"taiwanese":     "昨天晚上我們去電影院看了一部關於山的新電影。電影很長，但是很有意思；深夜我們回到家裡，還喝了檸檬茶。\n",
	"japanese":      "昨日の夜、私たちは山についての新しい映画を見に映画館へ行きました。長かったけれど、とても面白かったです。エラー：ファイルが見つかりません。\n",
	"korean":        "어제 저녁에 우리는 산에 관한 새 영화를 보러 극장에 갔습니다. 길었지만 재미있었고 밤늦게 집에 돌아와 차를 마셨습니다.\n",
	"greek":         "Χθες το βράδυ πήγαμε στον κινηματογράφο για να δούμε τη νέα ταινία για τα βουνά.\n",
	"english":       "No accent at all, only plain words and numbers 12345.\nSecond line.\n",
}

// Text of a few hundred bytes comes out right, whatever encoding it is in.
func TestDetect(t *testing.T) { // T3, case:T13
	t.Parallel()
	for _, c := range []struct{ text, encodings string }{
		{"polish", "utf-8 utf-16le utf-16be windows-1250 iso-8859-2 cp852"},
		{"polish short", "utf-8 utf-16le utf-16be windows-1250 iso-8859-2"},
		{"czech", "utf-8 utf-16le utf-16be windows-1250 iso-8859-2"},
		{"hungarian", "utf-8 utf-16le windows-1250"},
		{"russian", "utf-8 utf-16le utf-16be windows-1251 koi8-r ibm866 iso-8859-5"},
		{"russian short", "utf-8 utf-16le utf-16be windows-1251 koi8-r ibm866"},
		{"german", "utf-8 windows-1252"},
		{"french", "utf-8 windows-1252"},
		{"spanish", "utf-8 windows-1252"},
		{"chinese", "utf-8 utf-16le utf-16be gbk"},
		{"chinese short", "utf-8 utf-16le utf-16be gbk"},
		{"taiwanese", "utf-8 utf-16le utf-16be big5"},
		{"japanese", "utf-8 utf-16le utf-16be shift_jis euc-jp"},
		{"korean", "utf-8 utf-16le utf-16be euc-kr"},
		{"greek", "utf-8 windows-1253"},
		{"english", "utf-8 utf-16le utf-16be"},
	} {
		for _, name := range strings.Fields(c.encodings) {
			text := texts[c.text]
			if name == "iso-8859-2" || name == "cp852" || name == "koi8-r" || name == "ibm866" || name == "iso-8859-5" {
				text = strings.ReplaceAll(text, "—", "-")
			}
			for _, form := range []string{text, strings.TrimSuffix(text, "\n"), strings.ReplaceAll(text, "\n", "\r\n"), strings.Repeat(text, 80)} {
				data, err := charset.Encoding{Name: name}.Encode(form)
				if err != nil {
					t.Fatal(c.text, name, err)
				}
				e, ok := charset.Detect(data, "")
				got, err := e.Decode(data)
				if !ok || err != nil || got != form {
					t.Errorf("%s in %s: taken for %v (%v, %v): %.60q", c.text, name, e, ok, err, got)
					continue
				}
				if back, err := e.Encode(got); err != nil || !bytes.Equal(back, data) {
					t.Errorf("%s in %s: encoding again differs: %v", c.text, name, err)
				}
				for cut := range 4 { // in the middle of a character
					if form != text {
						break
					}
					if e, ok := charset.DetectStart(data[:len(data)-cut], ""); !ok || cut > 0 && e.Name == "" {
						t.Errorf("%s in %s without %d bytes: %v, %v", c.text, name, cut, e, ok)
					}
				}
				if name == "utf-8" && e.Name != "utf-8" {
					t.Errorf("%s: UTF-8 taken for %v", c.text, e)
				}
			}
		}
	}
}

// What a header says decides where the bytes allow it, and no further.
func TestHint(t *testing.T) { // T3
	t.Parallel()
	latin2, err := charset.Encoding{Name: "iso-8859-2"}.Encode("ż")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ data, hint, want string }{
		{string(latin2), "ISO-8859-2", "iso-8859-2"},
		{string(latin2), ` "iso-8859-2" `, "iso-8859-2"},
		{"żółw", "iso-8859-2", "utf-8"}, // a header that lies
		{"plain", "windows-1250", "utf-8"},
		{string(latin2), "no-such-thing", ""},
		{"\x82\xa0\x82\xa2", "Shift_JIS", "shift_jis"},
		{"\xff\xfea\x00", "utf-8", "utf-16le"},
	} {
		e, ok := charset.Detect([]byte(c.data), c.hint)
		if !ok || c.want != "" && e.Name != c.want {
			t.Errorf("%q with the hint %q: %v, %v; want %s", c.data, c.hint, e, ok, c.want)
		}
	}
}

// Byte order marks are known, kept apart from the text and written again.
func TestMarks(t *testing.T) { // T3
	t.Parallel()
	for _, name := range []string{"utf-8", "utf-16le", "utf-16be", "utf-32le", "utf-32be", "gb18030"} {
		for _, text := range []string{"", "a", "żółw 龙 🐉\r\n"} {
			want := charset.Encoding{Name: name, BOM: true}
			data, err := want.Encode(text)
			if err != nil {
				t.Fatal(err)
			}
			e, ok := charset.Detect(data, "")
			if !ok || e != want {
				t.Errorf("%s with mark, %q: %v, %v", name, text, e, ok)
			}
			if got, err := e.Decode(data); err != nil || got != text {
				t.Errorf("%s: %q, %v", name, got, err)
			}
			got, err := io.ReadAll(e.Reader(iotest.OneByteReader(bytes.NewReader(data))))
			if err != nil || string(got) != text {
				t.Errorf("%s by reader: %q, %v", name, got, err)
			}
		}
	}
}

// A character that an encoding lacks is named; nothing is written in its place.
func TestEncodeSaysWhich(t *testing.T) { // T2
	t.Parallel()
	_, err := charset.Encoding{Name: "iso-8859-2"}.Encode("zażółć\nдом")
	if err == nil || !strings.Contains(err.Error(), "'д' (U+0434)") || !strings.Contains(err.Error(), "line 2") || !strings.Contains(err.Error(), "ISO-8859-2") {
		t.Errorf("%v", err)
	}
	for _, name := range []string{"gbk", "windows-1250", "shift_jis"} {
		if _, err := (charset.Encoding{Name: name}).Encode("🐉"); err == nil {
			t.Errorf("%s takes a dragon", name)
		}
	}
}

// Bytes that are no text are said to be none, and are described.
func TestBinary(t *testing.T) { // T3, case:T13
	t.Parallel()
	var pic, packed bytes.Buffer
	if err := png.Encode(&pic, image.NewGray(image.Rect(0, 0, 64, 48))); err != nil {
		t.Fatal(err)
	}
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(strings.Repeat("some text ", 100))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 4000)
	for i := range noise {
		noise[i] = byte(r.UintN(256))
	}
	for _, c := range []struct {
		data []byte
		want string
	}{
		{pic.Bytes(), "PNG image 64×48, "},
		{packed.Bytes(), "gzip archive, "},
		{program, "byte"},
		{noise, "binary data, 4,000 bytes"},
		{[]byte("text with a NUL\x00 in it"), "binary data, 22 bytes"},
		{[]byte("%PDF-1.7\nlooks like text"), "PDF document, 24 bytes"},
		{[]byte{0}, "binary data, 1 byte"},
	} {
		if !charset.Binary(c.data) {
			t.Errorf("taken for text: %s", charset.Describe(c.data))
		}
		if got := charset.Describe(c.data); !strings.Contains(got, c.want) {
			t.Errorf("described as %q, want %q", got, c.want)
		}
	}
	for _, s := range []string{"", "a", "BZhang wrote this", "ID3 tags are old", "\x1b[31mred\x1b[0m\n", "tab\tand\r\n", "OggS"} {
		if charset.Binary([]byte(s)) {
			t.Errorf("%q taken for binary", s)
		}
	}
	if got := charset.Describe([]byte("żółw")); got != "text in UTF-8, 7 bytes" {
		t.Errorf("%q", got)
	}
}

// A few odd bytes do not make a text one of a code page, nor a NUL one of UTF-16:
// UTF-8 with a cut end or with stray bytes stays UTF-8, and shows them.
func TestOddBytes(t *testing.T) { // T3
	t.Parallel()
	for _, c := range []struct{ data, want string }{
		{"no newline \xf0\x9f\x98", `no newline \xf0\x9f\x98`},
		{"ok\n\xff\n", "ok\n\\xff\n"},
		{"ok\n\xff\n\xfe\n", "ok\n\\xff\n\\xfe\n"},
		{"caf\xe9\n", `caf\xe9` + "\n"},
		{"zażółć \xff gęślą\n", `zażółć \xff gęślą` + "\n"},
		{strings.Repeat("日本語\n", 5000) + "\x80\xfe", strings.Repeat("日本語\n", 5000) + `\x80\xfe`},
		{"\xe2\x82", `\xe2\x82`},
	} {
		e, ok := charset.Detect([]byte(c.data), "")
		got, err := e.Decode([]byte(c.data))
		if !ok || err != nil || e.Plain() || e.Name != charset.UTF8 || got != c.want {
			t.Errorf("%.40q: taken for %v, %v, %v: %.60q", c.data, e, ok, err, got)
		}
		read, err := io.ReadAll(e.Reader(iotest.OneByteReader(strings.NewReader(c.data))))
		if err != nil || string(read) != c.want {
			t.Errorf("%.40q by reader: %v: %.60q", c.data, err, read)
		}
		if e, ok := charset.DetectStart([]byte(c.data), ""); !ok || e.Name != charset.UTF8 {
			t.Errorf("%.40q as a beginning: %v, %v", c.data, e, ok)
		}
	}
	for _, data := range []string{"\x00needle\n", "needle\x00\n", "\x01\x02\xff\xfe\x90\x00", "\x89\x50\x10\x00\x4e\x47", "ab\x00\x01", "\x00a", "\x1f\x60\x3d\xd8\x00\x12",
		"12345678\x00\x01\x02\x03"} {
		if e, ok := charset.Detect([]byte(data), ""); ok {
			t.Errorf("%q taken for %v", data, e)
		}
	}
	for _, data := range []string{"\x01\x02\x03", "a\x01\x02\x03\x04b"} { // what is no text is not described as one
		if got := charset.Describe([]byte(data)); !charset.Binary([]byte(data)) || strings.Contains(got, "text") {
			t.Errorf("%q: %s", data, got)
		}
	}
}

// Decoding never gives invalid text, and what is detected is exact.
func FuzzDetect(f *testing.F) { // T3
	for _, text := range texts {
		for _, name := range []string{"utf-8", "utf-16le", "windows-1250", "windows-1251", "gbk", "big5", "shift_jis", "euc-kr"} {
			if data, err := (charset.Encoding{Name: name}).Encode(text); err == nil {
				f.Add(data, "")
				f.Add(data, name)
			}
		}
	}
	f.Add([]byte("\xff\xfe\x00\xd8"), "utf-16")
	f.Add([]byte("\x1b$B$\"\x1b(B"), "iso-2022-jp")
	f.Fuzz(func(t *testing.T, data []byte, hint string) {
		e, ok := charset.Detect(data, hint)
		text, err := e.Decode(data)
		if !utf8.ValidString(text) {
			t.Fatalf("%v gives text that is not UTF-8", e)
		}
		_ = charset.Describe(data)
		_, _ = charset.DetectStart(data, hint)
		if !ok {
			return
		}
		if err != nil {
			t.Fatalf("%v: %v", e, err)
		}
		if e.Odd {
			return
		}
		back, err := e.Encode(text)
		if err != nil || !bytes.Equal(back, data) {
			t.Fatalf("%v is not exact: %v\n%q\n%q", e, err, data, back)
		}
		read, err := io.ReadAll(e.Reader(bytes.NewReader(data)))
		if err != nil || string(read) != text {
			t.Fatalf("%v: the reader differs: %v\n%q\n%q", e, err, text, read)
		}
	})
}

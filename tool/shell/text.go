package shell

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/charset"
	"github.com/uzda-dev/uzda/internal/screen"
)

// A reading is an output as text.
type reading struct {
	head, tail string
	gap        int64 // bytes that are missing between them
	note       string
	raw        bool // the raw bytes hold more than the text
}

// read makes text of raw output: decoded, as a terminal would show it in the end.
// Of a long one gap bytes are missing between head and tail.
func read(head, tail []byte, gap, total int64) reading {
	if len(head) == 0 {
		return reading{}
	}
	d := coding(head, gap > 0)
	if d.binary {
		return reading{head: "(binary output: " + charset.DescribeStart(head, total) + ")", raw: true}
	}
	if gap > 0 && d.enc.Name == "" { // neither begins nor ends within a character
		n := len(whole(head))
		gap += int64(len(head) - n)
		head = head[:n]
		for i := 0; i < utf8.UTFMax-1 && len(tail) > 0 && !utf8.RuneStart(tail[0]); i++ {
			gap++
			tail = tail[1:]
		}
	}
	r := reading{gap: gap, note: d.note}
	var altered, late bool
	r.head, altered = d.clean(head)
	if gap > 0 {
		if at := bytes.IndexByte(tail[:min(len(tail), 64<<10)], '\n'); at >= 0 { // begin with a whole line
			r.gap += int64(at + 1)
			tail = tail[at+1:]
		}
		r.tail, late = d.clean(tail)
	}
	r.raw = gap > 0 || altered || late || d.note != ""
	return r
}

// whole returns data without the beginning of a character at its end.
func whole(data []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(data); i++ {
		if end := data[len(data)-i:]; utf8.RuneStart(end[0]) {
			if !utf8.FullRune(end) {
				return data[:len(data)-i]
			}
			break
		}
	}
	return data
}

// stream makes text of an output that is not held in memory, of at most limit bytes;
// head is its beginning.
func stream(head []byte, src io.Reader, size int64, limit int) (reading, error) {
	d := coding(head, true)
	if d.binary {
		return read(head, nil, 0, size), nil
	}
	if d.enc.Name != "" { // rare enough to be held twice
		data, err := io.ReadAll(src)
		return read(data, nil, 0, size), err
	}
	e := &ends{half: limit/2 + utf8.UTFMax}
	w := screen.NewWriter(e)
	nuls, bad, err := d.pass(w, src)
	_ = w.Close() // into memory
	if err != nil {
		return reading{}, err
	}
	r := reading{raw: w.Altered() || nuls+bad > 0}
	r.head, r.tail, r.gap = e.text()
	var notes []string
	if nuls > 0 {
		notes = append(notes, nulNote(nuls))
	}
	if bad > 0 {
		notes = append(notes, badNote(bad))
	}
	r.note = strings.Join(notes, "; ")
	return r, nil
}

// pass writes UTF-8 of what is read, piece by piece, with bytes that are none of it
// made visible. It counts those.
func (d decoder) pass(w io.Writer, src io.Reader) (nuls, bad int, err error) {
	const ahead = 64 // bytes that may have to be seen to know what one is
	buf := make([]byte, 0, 128<<10)
	for err == nil {
		var n int
		n, err = src.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		end := len(buf)
		if err == nil {
			end -= ahead
		}
		if end <= 0 {
			continue
		}
		for end < len(buf) && !utf8.RuneStart(buf[end]) && len(buf)-end > ahead/2 {
			end++
		}
		text, used, wrong := escaped(buf, end)
		nuls += bytes.Count(text, []byte{0})
		bad += wrong
		_, _ = w.Write(bytes.ReplaceAll(text, []byte{0}, []byte("␀"))) // into memory
		buf = buf[:copy(buf, buf[used:])]
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return nuls, bad, err
}

// within returns the text with at most limit bytes of it: its beginning and its end,
// how many bytes are missing between them, and where.
func (r reading) within(limit int) (text string, omitted, at int64) {
	if r.gap == 0 && len(r.head) <= limit {
		return r.head, 0, 0
	}
	head, tail := r.head, r.tail
	if r.gap == 0 {
		tail = head
	}
	head, tail = uzda.Before(head, limit/2), uzda.After(tail, limit/2)
	omitted = r.gap + int64(len(r.head)+len(r.tail)-len(head)-len(tail))
	return fmt.Sprintf("%s\n[%d bytes of output are left out here]\n%s", head, omitted, tail), omitted, int64(len(head))
}

// A decoder knows how an output is written.
type decoder struct {
	binary bool
	enc    charset.Encoding
	mixed  bool // UTF-8 with other bytes in it, which are written as \xNN
	nul    bool // NUL bytes, as between names, are shown
	note   string
}

// coding finds out how an output is written. Programs write UTF-8, so other encodings
// are thought of only where it is not.
func coding(data []byte, cut bool) decoder {
	nul := bytes.Count(data, []byte{0})
	valid, multi, bad := tally(data, cut)
	d := decoder{nul: nul > 0}
	switch {
	case sign(data):
		return decoder{binary: true}
	case valid && nul*3 <= len(data) && !noisy(data):
		if d.nul {
			d.note = nulNote(nul)
		}
		return d
	case nul == 0 && multi >= 3*bad || nul == 0 && bad*100 < len(data) && multi > 0:
		d.mixed = true
		d.note = badNote(bad)
		return d
	}
	detect := charset.Detect
	if cut {
		detect = charset.DetectStart
	}
	enc, ok := detect(data, "")
	if !ok || enc.Plain() {
		return decoder{binary: true}
	}
	return decoder{enc: enc, note: "decoded from " + enc.String()}
}

func nulNote(n int) string { return fmt.Sprintf("NUL bytes are shown as ␀: %d", n) }

func badNote(n int) string {
	return fmt.Sprintf(`bytes that are not UTF-8 are written as \xNN: %d`, n)
}

// sign says whether the first bytes are those of a known kind of file.
func sign(data []byte) bool {
	what := charset.Describe(data[:min(len(data), 512)])
	return !strings.HasPrefix(what, "binary data") && !strings.HasPrefix(what, "text")
}

// tally counts characters of several bytes and bytes that are no UTF-8. Escape codes
// that begin with a raw 8-bit CSI are none of either.
func tally(data []byte, cut bool) (valid bool, multi, bad int) {
	for i := 0; i < len(data); {
		if data[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(data[i:])
		switch {
		case r != utf8.RuneError || n > 1:
			multi++
		case data[i] == 0x9b && csi(data[i+1:]):
		case cut && !utf8.FullRune(data[i:]): // the rest of it is further on
			return bad == 0, multi, bad
		default:
			bad++
		}
		i += n
	}
	return bad == 0, multi, bad
}

func csi(data []byte) bool {
	for _, c := range data[:min(len(data), 32)] {
		if c >= '@' && c <= '~' {
			return true
		}
		if c < ' ' || c > '~' {
			return false
		}
	}
	return len(data) == 0
}

// noisy says that there are more control characters than any text has.
func noisy(data []byte) bool {
	n := 0
	for _, c := range data {
		if c < ' ' && c != 0 && !strings.ContainsRune("\t\n\v\f\r\b\a\x1b\x0e\x0f", rune(c)) {
			n++
		}
	}
	return n > 1 && n*50 > len(data)
}

func (d decoder) clean(data []byte) (text string, altered bool) {
	switch {
	case d.mixed:
		data, _, _ = escaped(data, len(data))
	case d.enc.Name != "":
		s, _ := d.enc.Decode(data) // a character that is cut becomes U+FFFD
		data = []byte(s)
	}
	if d.nul {
		data = bytes.ReplaceAll(data, []byte{0}, []byte("␀"))
	}
	var b strings.Builder
	b.Grow(len(data))
	w := screen.NewWriter(&b)
	_, _ = w.Write(data) // into memory
	_ = w.Close()
	return b.String(), w.Altered()
}

// escaped writes the bytes that are no UTF-8 as \xNN, of all characters that begin
// before end. It counts them, and says how many bytes it used.
func escaped(data []byte, end int) (out []byte, used, bad int) {
	out = make([]byte, 0, end+end/8)
	i := 0
	for i < end {
		if data[i] < utf8.RuneSelf {
			out = append(out, data[i])
			i++
			continue
		}
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 && (data[i] != 0x9b || !csi(data[i+1:])) {
			out = fmt.Appendf(out, `\x%02x`, data[i])
			bad++
		} else {
			out = append(out, data[i:i+n]...)
		}
		i += n
	}
	return out, i, bad
}

// visible writes out what a terminal would act on or not show: control characters,
// those that turn the direction of text, those without width.
func visible(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r < 0x100 && unicode.IsControl(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		case unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Bidi_Control):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

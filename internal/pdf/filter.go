package pdf

import (
	"bytes"
	"compress/flate"
	"encoding/ascii85"
	"errors"
	"io"
)

var errFilter = errors.New("packed in a way that holds no text")

// decode unpacks a stream. What is broken gives what came before the break.
func (f *file) decode(s *stream) ([]byte, error) {
	filters := f.several(s.dict, "Filter", "F")
	params := f.several(s.dict, "DecodeParms", "DP")
	const most = 8
	if len(filters) > most {
		return nil, errFilter
	}
	data := s.raw
	for i, o := range filters {
		var p dict
		if i < len(params) {
			p = f.dict(params[i])
		}
		filter, _ := f.resolve(o).(name)
		var err error
		if data, err = f.unfilter(filter, data, p); err != nil {
			return nil, err
		}
	}
	if len(filters) == 0 {
		f.spend(len(data) / 256)
	}
	return data, f.err
}

// several is a value that may stand alone or in an array.
func (f *file) several(d dict, keys ...name) array {
	for _, k := range keys {
		switch o := f.resolve(d[k]).(type) {
		case nil:
		case array:
			return o
		default:
			return array{o}
		}
	}
	return nil
}

func (f *file) unfilter(filter name, data []byte, p dict) ([]byte, error) {
	var r io.Reader
	switch filter {
	case "FlateDecode", "Fl":
		const header = 2
		r = flate.NewReader(bytes.NewReader(data[min(header, len(data)):])) // its checksum is often wrong
	case "LZWDecode", "LZW":
		r = newLZW(data, int(f.number(p["EarlyChange"], 1)) != 0)
	case "ASCII85Decode", "A85":
		data, _, _ = bytes.Cut(data, []byte("~"))
		r = ascii85.NewDecoder(bytes.NewReader(bytes.TrimPrefix(bytes.TrimSpace(data), []byte("<~"))))
	case "ASCIIHexDecode", "AHx":
		l := lexer{purse: f.purse, data: data}
		return []byte(l.hex()), f.err
	case "RunLengthDecode", "RL":
		r = &runs{data: data}
	case "Crypt":
		return data, nil
	default:
		return nil, errFilter
	}
	out, err := f.readAll(r)
	if err != nil {
		return nil, err
	}
	if filter == "FlateDecode" || filter == "Fl" || filter == "LZWDecode" || filter == "LZW" {
		out = f.unpredict(out, p)
	}
	return out, f.err
}

// readAll reads what is unpacked, within bounds. An error of the reader ends it.
func (f *file) readAll(r io.Reader) ([]byte, error) {
	var out bytes.Buffer
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		out.Write(buf[:n])
		f.unpacked -= n
		if out.Len() > f.limits.Unpacked || f.unpacked < 0 {
			f.fail(&LimitError{"unpacked", f.limits.Unpacked})
		}
		if !f.spend(1 + n/256) {
			return nil, f.err
		}
		if err != nil {
			return out.Bytes(), nil //nolint:nilerr // what came before the break counts
		}
	}
}

// unpredict undoes what makes tables and pictures pack better.
func (f *file) unpredict(data []byte, p dict) []byte {
	kind := int(f.number(p["Predictor"], 1))
	if kind < 2 {
		return data
	}
	bits := f.number(p["Colors"], 1) * f.number(p["BitsPerComponent"], 8) //nolint:misspell // as the format has it
	row := (f.number(p["Columns"], 1)*bits + 7) / 8
	if bits < 1 || bits > 1024 || row < 1 || row > float64(len(data)) {
		return data
	}
	unit, width := max(int(bits)/8, 1), int(row)
	if kind == 2 {
		for at := 0; at+width <= len(data); at += width {
			for i := unit; i < width; i++ {
				data[at+i] += data[at+i-unit]
			}
		}
		return data
	}
	out := make([]byte, 0, len(data))
	prior := make([]byte, width)
	for len(data) > 1 {
		line := append([]byte(nil), data[1:min(width+1, len(data))]...)
		undo(data[0], line, prior, unit)
		data = data[min(width+1, len(data)):]
		out = append(out, line...)
		copy(prior, line)
		if !f.spend(1 + width/256) {
			return nil
		}
	}
	return out
}

// undo is the filter of PNG for one line.
func undo(kind byte, line, prior []byte, unit int) {
	for i := range line {
		var left, upLeft byte
		if i >= unit {
			left, upLeft = line[i-unit], prior[i-unit]
		}
		switch up := prior[i]; kind {
		case 1:
			line[i] += left
		case 2:
			line[i] += up
		case 3:
			line[i] += byte((int(left) + int(up)) / 2)
		case 4:
			line[i] += paeth(left, up, upLeft)
		}
	}
}

func paeth(a, b, c byte) byte {
	p := int(a) + int(b) - int(c)
	da, db, dc := max(p-int(a), int(a)-p), max(p-int(b), int(b)-p), max(p-int(c), int(c)-p)
	switch {
	case da <= db && da <= dc:
		return a
	case db <= dc:
		return b
	}
	return c
}

// runs undoes run lengths.
type runs struct{ data []byte }

func (r *runs) Read(p []byte) (int, error) {
	n := 0
	for n == 0 || len(p)-n >= 128 {
		if len(r.data) < 2 || r.data[0] == 128 || len(p)-n < 128 {
			return n, io.EOF
		}
		size := int(r.data[0])
		if size < 128 {
			size = min(size+1, len(r.data)-1)
			n += copy(p[n:], r.data[1:1+size])
			r.data = r.data[1+size:]
			continue
		}
		for range 257 - size {
			p[n] = r.data[1]
			n++
		}
		r.data = r.data[2:]
	}
	return n, nil
}

// lzw undoes LZW as PDF has it: most significant bit first, and codes that grow a
// step early, which compress/lzw does not know.
type lzw struct {
	data  []byte
	at    int // bits
	early int
	table [4096]struct {
		before int16
		last   byte
		length int32
	}
	next  int
	prior int
	rest  []byte
}

const lzwClear, lzwEnd = 256, 257

func newLZW(data []byte, early bool) *lzw {
	z := &lzw{data: data, next: lzwEnd + 1, prior: -1}
	if early {
		z.early = 1
	}
	for i := range 256 {
		z.table[i].before, z.table[i].last, z.table[i].length = -1, byte(i), 1
	}
	return z
}

func (z *lzw) code() int {
	width := 9
	for width < 12 && z.next+z.early >= 1<<width {
		width++
	}
	if z.at+width > 8*len(z.data) {
		return lzwEnd
	}
	n := 0
	for range width {
		n = n<<1 | int(z.data[z.at/8]>>(7-z.at%8)&1)
		z.at++
	}
	return n
}

func (z *lzw) Read(p []byte) (int, error) {
	for len(z.rest) == 0 {
		c := z.code()
		switch {
		case c == lzwEnd:
			return 0, io.EOF
		case c == lzwClear:
			z.next, z.prior = lzwEnd+1, -1
			continue
		case z.prior < 0 && c > lzwEnd, c > z.next:
			return 0, io.EOF
		}
		known := c
		if c == z.next {
			known = z.prior
		}
		word := z.word(known)
		if z.prior >= 0 && z.next < len(z.table) {
			z.table[z.next].before, z.table[z.next].last, z.table[z.next].length = int16(z.prior), word[0], z.table[z.prior].length+1
			if c == z.next {
				word = append(word, word[0])
			}
			z.next++
		}
		z.prior, z.rest = c, word
	}
	n := copy(p, z.rest)
	z.rest = z.rest[n:]
	return n, nil
}

func (z *lzw) word(c int) []byte {
	out := make([]byte, z.table[c].length)
	for i := len(out) - 1; i >= 0 && c >= 0; i-- {
		out[i], c = z.table[c].last, int(z.table[c].before)
	}
	return out
}

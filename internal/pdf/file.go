package pdf

import (
	"bytes"
	"maps"
	"slices"
)

// A file finds the objects of a document by looking through all of it: the tables
// in which a document says where they are, are often wrong, and may lie.
type file struct {
	*purse
	data      []byte
	objects   map[int]entry
	known     map[int]object
	busy      map[int]bool // being resolved
	kept      int          // parts of the known ones
	root      dict
	encrypted bool
}

// An entry is where an object is: in the file, or in a stream of objects.
type entry struct {
	at   int // in the file: of itself, or of the stream
	in   []byte
	from int
}

const (
	maxObjects = 500_000
	maxKept    = 4_000_000 // parts of objects that are remembered
)

// scan finds all objects. Of several with one number the last counts.
func (f *file) scan() {
	type packed struct {
		at int
		s  *stream
	}
	var streams []packed
	var trailers []dict
	word := []byte("obj")
	for at := 0; f.err == nil; {
		n := bytes.Index(f.data[at:], word)
		if n < 0 {
			break
		}
		f.spend(1 + n/64)
		end := at + n + len(word)
		num, ok := f.numbered(at + n)
		if !ok || end < len(f.data) && !space(f.data[end]) && !delimiter(f.data[end]) {
			at = end
			continue
		}
		if len(f.objects) >= maxObjects {
			f.fail(&LimitError{"work", f.limits.Work})
			return
		}
		f.objects[num] = entry{at: end}
		o, next := f.parse(f.data, end, true)
		at = max(next, end)
		if s, ok := o.(*stream); ok {
			switch s.dict["Type"] {
			case name("ObjStm"):
				streams = append(streams, packed{end, s})
			case name("XRef"):
				trailers = append(trailers, s.dict)
			}
		}
	}
	for _, s := range streams {
		f.unpack(s.at, s.s)
	}
	f.trailer(append(f.trailers(), trailers...))
}

// numbered reads the two numbers in front of "obj" backwards.
func (f *file) numbered(at int) (num int, ok bool) {
	back := func(is func(byte) bool) int {
		n := 0
		for at > 0 && is(f.data[at-1]) && n < 12 {
			at--
			n++
		}
		return n
	}
	isDigit := func(c byte) bool { return c >= '0' && c <= '9' }
	if back(space) == 0 || back(isDigit) == 0 || back(space) == 0 {
		return 0, false
	}
	end := at
	if n := back(isDigit); n == 0 || n > 9 {
		return 0, false
	}
	for _, c := range f.data[at:end] {
		num = 10*num + int(c-'0')
	}
	return num, true
}

// parse reads an object behind its "obj", and says where it ends.
func (f *file) parse(data []byte, at int, streams bool) (object, int) {
	l := lexer{purse: f.purse, data: data, at: at}
	var first object
	some := false
	for {
		o, ok := l.next(0)
		if !ok {
			return first, l.at
		}
		k, isKeyword := o.(keyword)
		switch {
		case isKeyword && k == "stream" && streams && some:
			if d, ok := first.(dict); ok {
				return f.stream(d, l.at)
			}
			return first, l.at
		case isKeyword && k == "R" && some:
			if n, ok := first.(float64); ok && n >= 0 && n < 1<<31 {
				first = ref(n)
			}
		case isKeyword:
			return first, l.at
		case !some:
			first, some = o, true
		case !streams:
			return first, l.at
		}
	}
}

// stream takes the bytes of a stream: as many as it says, if it ends there.
func (f *file) stream(d dict, at int) (object, int) {
	if at < len(f.data) && f.data[at] == '\r' {
		at++
	}
	if at < len(f.data) && f.data[at] == '\n' {
		at++
	}
	word := []byte("endstream")
	if n, ok := f.resolve(d["Length"]).(float64); ok && n >= 0 && n <= float64(len(f.data)-at) {
		end := at + int(n)
		rest := f.data[end:min(len(f.data), end+len(word)+3)]
		if bytes.HasPrefix(bytes.TrimLeft(rest, "\r\n "), word) {
			return &stream{d, f.data[at:end]}, end
		}
	}
	n := bytes.Index(f.data[at:], word)
	if n < 0 {
		n = len(f.data) - at
	}
	f.spend(n / 64)
	return &stream{d, bytes.TrimRight(f.data[at:at+n], "\r\n")}, at + n
}

// unpack finds the objects in a stream of them.
func (f *file) unpack(at int, s *stream) {
	data, err := f.decode(s)
	if err != nil {
		return
	}
	first, ok := f.resolve(s.dict["First"]).(float64)
	if !ok || first < 0 || int(first) > len(data) {
		return
	}
	l := lexer{purse: f.purse, data: data[:int(first)]}
	for {
		num, ok1 := l.next(0)
		from, ok2 := l.next(0)
		n, isNumber := num.(float64)
		m, isPlace := from.(float64)
		if !ok1 || !ok2 || len(f.objects) >= maxObjects {
			return
		}
		l.nodes = 0
		if !isNumber || !isPlace || n < 0 || n >= 1<<31 || m < 0 || int(first+m) > len(data) {
			continue
		}
		if old, ok := f.objects[int(n)]; !ok || old.at < at {
			f.objects[int(n)] = entry{at: at, in: data, from: int(first + m)}
		}
	}
}

// trailers are the dictionaries that say where a document begins.
func (f *file) trailers() []dict {
	var out []dict
	word := []byte("trailer")
	for at := 0; f.err == nil; {
		n := bytes.Index(f.data[at:], word)
		if n < 0 {
			break
		}
		f.spend(1 + n/64)
		at += n + len(word)
		o, _ := f.parse(f.data, at, false)
		if d, ok := o.(dict); ok {
			out = append(out, d)
		}
	}
	return out
}

// trailer takes the root from the last that has a good one.
func (f *file) trailer(all []dict) {
	for _, d := range slices.Backward(all) {
		if f.resolve(d["Encrypt"]) != nil {
			f.encrypted = true
		}
		if root, ok := f.resolve(d["Root"]).(dict); ok && f.root == nil && f.dict(root["Pages"]) != nil {
			f.root = root
		}
	}
}

// resolve follows references.
func (f *file) resolve(o object) object {
	for range 20 {
		r, ok := o.(ref)
		if !ok {
			return o
		}
		o = f.get(int(r))
	}
	return nil
}

func (f *file) get(num int) object {
	if o, ok := f.known[num]; ok {
		return o
	}
	e, ok := f.objects[num]
	if !ok || f.busy[num] || !f.spend(1) {
		return nil
	}
	f.busy[num] = true
	defer delete(f.busy, num)
	before := f.work
	var o object
	if e.in != nil {
		o, _ = f.parse(e.in, e.from, false)
	} else {
		o, _ = f.parse(f.data, e.at, true)
	}
	if n := before - f.work; f.kept+n < maxKept {
		f.kept += n
		f.known[num] = o
	}
	return o
}

// dict returns what o stands for, if it is a dictionary or a stream with one.
func (f *file) dict(o object) dict {
	switch o := f.resolve(o).(type) {
	case dict:
		return o
	case *stream:
		return o.dict
	}
	return nil
}

func (f *file) number(o object, usual float64) float64 {
	if n, ok := f.resolve(o).(float64); ok {
		return n
	}
	return usual
}

// pages are the dictionaries of the pages in their order, with what they inherit.
func (f *file) pages() []dict {
	var out []dict
	seen := map[ref]bool{}
	var walk func(o object, from dict, depth int)
	walk = func(o object, from dict, depth int) {
		r, isRef := o.(ref)
		d := f.dict(o)
		if d == nil || depth > maxDepth || isRef && seen[r] || !f.spend(1) {
			return
		}
		if isRef {
			seen[r] = true
		}
		if d["Resources"] == nil && from["Resources"] != nil {
			own := dict{"Resources": from["Resources"]}
			for k, v := range d {
				own[k] = v
			}
			d = own
		}
		kids, ok := f.resolve(d["Kids"]).(array)
		kind := f.resolve(d["Type"])
		if !ok && kind == name("Pages") {
			return
		}
		if !ok || kind == name("Page") {
			if out = append(out, d); len(out) > f.limits.Pages {
				f.fail(&LimitError{"pages", f.limits.Pages})
			}
			return
		}
		for _, kid := range kids {
			if f.err != nil {
				return
			}
			walk(kid, d, depth+1)
		}
	}
	walk(f.root["Pages"], nil, 0)
	if len(out) > 0 || f.err != nil {
		return out
	}
	for _, kind := range []name{"Catalog", "Page"} { // of a document whose tree is gone
		for _, num := range slices.Sorted(maps.Keys(f.objects)) {
			switch d := f.dict(ref(num)); {
			case d["Type"] != kind || len(out) > 0 && kind == "Catalog":
			case kind == "Catalog":
				walk(d["Pages"], nil, 0)
			default:
				walk(ref(num), nil, 0)
			}
		}
	}
	return out
}

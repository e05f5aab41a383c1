package pdf

import (
	"bytes"
	"math"
	"strings"
)

// A matrix maps a point: x' = a·x + c·y + e, y' = b·x + d·y + f.
type matrix [6]float64

var unit = matrix{1, 0, 0, 1, 0, 0}

// times is m, then n.
func (m matrix) times(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

// A state is what text is drawn with.
type state struct {
	ctm                               matrix
	font                              *font
	size, letters, words, scale, lead float64
	rise                              float64
}

// A reader draws the text of a page as lines.
type reader struct {
	*file
	state
	fonts      map[int]*font // by number of the object
	saved      []state
	text, line matrix
	forms      map[*stream]bool // being drawn
	out        *lines
	page       Page
}

const (
	maxForms   = 12 // within another
	costOfForm = 30
)

func (f *file) read(d dict, fonts map[int]*font) Page {
	r := &reader{file: f, fonts: fonts, forms: map[*stream]bool{}, out: &lines{}, text: unit, line: unit,
		state: state{ctm: unit, scale: 1}}
	var all [][]byte
	for _, o := range f.several(d, "Contents") {
		if s, ok := f.resolve(o).(*stream); ok {
			if data, err := f.decode(s); err == nil {
				all = append(all, data)
			}
		}
	}
	r.draw(bytes.Join(all, []byte("\n")), f.dict(d["Resources"]))
	r.page.Text = r.out.String()
	return r.page
}

// draw follows what a stream says.
func (r *reader) draw(data []byte, res dict) {
	l := lexer{purse: r.purse, data: data}
	const most = 64 // operands; more are no text
	var args []object
	for {
		o, ok := l.next(0)
		if !ok {
			return
		}
		k, ok := o.(keyword)
		switch {
		case !ok:
			if len(args) == most {
				args = args[1:]
			}
			args = append(args, o)
			continue
		case k == "BI":
			r.page.Pictures++
			l.inline()
		default:
			r.do(k, args, res)
		}
		l.nodes, args = 0, args[:0]
	}
}

// inline passes a picture that stands among the words.
func (l *lexer) inline() {
	for from := l.at; ; {
		n := bytes.Index(l.data[l.at:], []byte("EI"))
		if n < 0 {
			l.at = len(l.data)
			return
		}
		at := l.at + n
		l.at = at + 2
		if at > from && space(l.data[at-1]) && (l.at == len(l.data) || space(l.data[l.at])) || !l.spend(1+n/64) {
			return
		}
	}
}

// arg is the n-th operand from the end, 1 the last.
func (r *reader) arg(args []object, n int) float64 {
	if n > len(args) {
		return 0
	}
	f, _ := args[len(args)-n].(float64)
	return f
}

func (r *reader) matrix(args []object) matrix {
	var m matrix
	for i := range m {
		m[i] = r.arg(args, len(m)-i)
	}
	return m
}

func (r *reader) do(k keyword, args []object, res dict) {
	switch k {
	case "q":
		const most = 256
		if len(r.saved) < most {
			r.saved = append(r.saved, r.state)
		}
	case "Q":
		if n := len(r.saved); n > 0 {
			r.state, r.saved = r.saved[n-1], r.saved[:n-1]
		}
	case "cm":
		r.ctm = r.matrix(args).times(r.ctm)
	case "BT":
		r.text, r.line = unit, unit
	case "Tf":
		r.size = r.arg(args, 1)
		if len(args) > 1 {
			r.font = r.fontOf(r.dict(res["Font"])[nameOf(args[len(args)-2])])
		}
	case "Tc":
		r.letters = r.arg(args, 1)
	case "Tw":
		r.words = r.arg(args, 1)
	case "Tz":
		r.scale = r.arg(args, 1) / 100
	case "TL":
		r.lead = r.arg(args, 1)
	case "Ts":
		r.rise = r.arg(args, 1)
	case "Td":
		r.move(r.arg(args, 2), r.arg(args, 1))
	case "TD":
		r.lead = -r.arg(args, 1)
		r.move(r.arg(args, 2), r.arg(args, 1))
	case "Tm":
		r.text = r.matrix(args)
		r.line = r.text
	case "T*":
		r.move(0, -r.lead)
	case "Tj", "TJ", "'", `"`:
		r.shows(k, args)
	case "Do":
		if len(args) > 0 {
			r.object(r.dict(res["XObject"])[nameOf(args[len(args)-1])], res)
		}
	}
}

func (r *reader) move(x, y float64) {
	r.line = matrix{1, 0, 0, 1, x, y}.times(r.line)
	r.text = r.line
}

func (r *reader) fontOf(o object) *font {
	n, isRef := o.(ref)
	if t := r.fonts[int(n)]; isRef && t != nil {
		return t
	}
	if r.dict(o) == nil {
		return nil
	}
	t := r.newFont(o)
	if isRef {
		r.fonts[int(n)] = t
	}
	return t
}

// object draws a picture or a form, which is a page within a page.
func (r *reader) object(o object, res dict) {
	s, ok := r.resolve(o).(*stream)
	if !ok {
		return
	}
	if r.resolve(s.dict["Subtype"]) == name("Image") {
		r.page.Pictures++
		return
	}
	if r.resolve(s.dict["Subtype"]) != name("Form") || !r.spend(costOfForm) || r.forms[s] || len(r.forms) >= maxForms {
		return
	}
	data, err := r.decode(s)
	if err != nil {
		return
	}
	r.forms[s] = true
	before, depth := r.state, len(r.saved)
	if m, ok := r.resolve(s.dict["Matrix"]).(array); ok && len(m) == 6 {
		for i := range m {
			m[i] = r.number(m[i], 0)
		}
		r.ctm = r.matrix(m).times(r.ctm)
	}
	if own := r.dict(s.dict["Resources"]); own != nil {
		res = own
	}
	r.draw(data, res)
	r.state, r.saved = before, r.saved[:min(depth, len(r.saved))]
	delete(r.forms, s)
}

// shows draws strings.
func (r *reader) shows(k keyword, args []object) {
	if len(args) == 0 {
		return
	}
	if k == `"` {
		r.words, r.letters = r.arg(args, 3), r.arg(args, 2)
	}
	if k != "Tj" && k != "TJ" {
		r.move(0, -r.lead)
	}
	switch o := args[len(args)-1].(type) {
	case str:
		r.show(o)
	case array:
		for _, one := range o {
			switch one := one.(type) {
			case str:
				r.show(one)
			case float64:
				r.advance(-one / 1000 * r.size * r.scale)
			}
		}
	}
}

func (r *reader) advance(by float64) { r.text = matrix{1, 0, 0, 1, by, 0}.times(r.text) }

func (r *reader) show(s str) {
	if r.font == nil {
		return
	}
	for len(s) > 0 && r.spend(1) {
		c, width, rest := r.font.cut(s)
		s = rest
		text := r.font.read(c)
		r.page.Letters++
		if text == unread {
			r.page.Unread++
		}
		by := width/1000*r.size + r.letters
		if c.size == 1 && c.value == ' ' {
			by += r.words
		}
		at := matrix{r.size * r.scale, 0, 0, r.size, 0, r.rise}.times(r.text).times(r.ctm)
		r.advance(by * r.scale)
		end := r.text.times(r.ctm)
		r.out.put(text, at, end[4], end[5])
		if r.out.size > r.limits.Text {
			r.fail(&LimitError{"text", r.limits.Text})
		}
	}
}

// lines puts letters together: by where they stand it finds the spaces and the
// ends of lines.
type lines struct {
	text   strings.Builder
	size   int
	some   bool
	dx, dy float64 // direction of the line
	x, y   float64 // where the last letter ended
	high   float64 // how high it was
	gap    bool    // a space is due
}

// put adds a letter that at draws, and that ends at a point.
func (o *lines) put(text string, at matrix, endX, endY float64) {
	high := math.Hypot(at[2], at[3])
	dx, dy := at[0], at[1]
	if n := math.Hypot(dx, dy); n > 0 {
		dx, dy = dx/n, dy/n
	} else {
		dx, dy = 1, 0
	}
	if math.IsNaN(high) || math.IsInf(high, 0) || high == 0 {
		high = 1
	}
	o.size += len(text)
	if o.some {
		o.between(dx, dy, at[4]-o.x, at[5]-o.y, high)
	}
	if blank := strings.TrimSpace(text) == ""; blank {
		o.gap = true
	} else {
		if o.gap && o.text.Len() > 0 && !strings.HasSuffix(o.tail(), "\n") {
			o.text.WriteByte(' ')
		}
		o.gap = false
		o.text.WriteString(text)
	}
	o.some, o.dx, o.dy, o.x, o.y, o.high = true, dx, dy, endX, endY, high
}

func (o *lines) tail() string {
	s := o.text.String()
	return s[max(0, len(s)-1):]
}

// between looks at the way from the end of a letter to the next.
func (o *lines) between(dx, dy, x, y, high float64) {
	const (
		turned  = 0.9  // cosine
		another = 0.5  // of a line: below are marks above and below it
		blank   = 1.9  // lines apart: a paragraph
		word    = 0.2  // of its height: a space
		cell    = 1.5  // a column of a table
		back    = -0.6 // it goes back to the left
	)
	along := x*o.dx + y*o.dy
	across := math.Abs(x*o.dy - y*o.dx)
	h := max(min(o.high, high), 0.01)
	switch {
	case dx*o.dx+dy*o.dy < turned, across > blank*max(o.high, high):
		o.text.WriteString("\n\n")
		o.gap = false
	case across > another*h, along < back*max(o.high, high):
		o.text.WriteByte('\n')
		o.gap = false
	case along > cell*h && !o.gap:
		o.text.WriteString("  ")
	case along > word*h:
		o.gap = true
	}
}

// String is what was put, without blank ends.
func (o *lines) String() string {
	all := strings.Split(o.text.String(), "\n")
	var b strings.Builder
	empty := 0
	for _, line := range all {
		line = strings.TrimRight(line, " ")
		if line == "" {
			empty++
			continue
		}
		if b.Len() > 0 {
			b.WriteString(strings.Repeat("\n", min(empty, 1)+1))
		}
		empty = 0
		b.WriteString(line)
	}
	return b.String()
}

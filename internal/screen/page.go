package screen

import (
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
)

// A row is a line, one cell a column.
type row struct {
	plain []byte         // the line, as long as it is ASCII that was never touched again
	cells []rune         // otherwise
	marks map[int][]rune // what joins the character of a column: accents, joiners
	size  int            // of marks
	over  bool           // something was written over something
}

// width is how many cells the line has.
func (r *row) width() int { return len(r.plain) + len(r.cells) }

// What a cell holds besides a character.
const (
	empty = 0  // nothing was written there
	rest  = -1 // the cell belongs to the wide character or tab before it
)

// A page holds the last lines, those that can still be redrawn.
type page struct {
	out   func([]byte)
	rows  []row
	store []row // what rows is a part of
	x, y  int
	kept  [2]int // a saved position
	top   int    // the row that programs call the first, once they cleared the screen
	began bool   // top means something
	drawn bool   // something was redrawn or erased
	size  int    // cells and marks of all rows
	// spare is how many bytes came that show nothing: blanks that nobody wrote take
	// no more, so that the text never grows.
	spare int
	free  []row // to use again
	buf   []byte
}

// ascii writes a run of plain characters.
func (p *page) ascii(text []byte) {
	for len(text) > 0 {
		n := min(len(text), 4096)
		r := &p.rows[p.y]
		switch {
		case p.x == len(r.plain) && len(r.cells) == 0:
			r.plain = append(r.plain, text[:n]...)
			p.x += n
			p.grew(n)
		case p.x == len(r.cells) && len(r.plain) == 0:
			for _, c := range text[:n] {
				r.cells = append(r.cells, rune(c))
			}
			p.x += n
			p.grew(n)
		default:
			n = 1
			p.put(rune(text[0]))
		}
		text = text[n:]
	}
}

// line is the line of the cursor, as cells.
func (p *page) line() *row {
	r := &p.rows[p.y]
	if len(r.plain) > 0 {
		for _, c := range r.plain {
			r.cells = append(r.cells, rune(c))
		}
		r.plain = r.plain[:0]
	}
	return r
}

// put writes one character at the cursor.
func (p *page) put(c rune) {
	r := p.line()
	w := columns(c)
	if w == 0 {
		if at := p.base(); at >= 0 {
			if r.marks == nil {
				r.marks = map[int][]rune{}
			}
			r.marks[at] = append(r.marks[at], c)
			r.size++
			p.grew(1)
			return
		}
		w = 1
	}
	if p.x < len(r.cells) {
		p.blank(p.x, p.x+w)
		r.over = true
	}
	p.reach(p.x + w)
	r.cells[p.x] = c
	for i := 1; i < w; i++ {
		r.cells[p.x+i] = rest
	}
	p.x += w
	p.grew(0)
}

// columns is how many cells a character takes; what is most common is known here.
func columns(c rune) int {
	switch {
	case c < 0x300, c >= 0x400 && c < 0x483:
		return 1
	case c >= 0x4e00 && c < 0xa000, c >= 0xac00 && c < 0xd7a4:
		return 2
	}
	return uzda.Columns(string(c))
}

// base is the column of the character that a mark joins, -1 if there is none.
func (p *page) base() int {
	cells := p.line().cells
	at := min(p.x, len(cells)) - 1
	for at > 0 && cells[at] == rest {
		at--
	}
	if at < 0 || p.x > len(cells) || cells[at] == empty || cells[at] == '\t' {
		return -1
	}
	return at
}

// tab writes a tab at the end of a line; within one it moves the cursor.
func (p *page) tab() {
	next := (p.x | 7) + 1
	r := p.line()
	if p.x < len(r.cells) {
		p.x = min(next, max(len(r.cells), Width-1))
		p.spare++
		return
	}
	at := p.x
	p.reach(next)
	r.cells[at] = '\t'
	for i := at + 1; i < next; i++ {
		r.cells[i] = rest
	}
	p.x = next
	p.grew(0)
}

// reach makes the line of the cursor at least n cells long.
func (p *page) reach(n int) {
	r := p.line()
	for len(r.cells) < n {
		r.cells = append(r.cells, empty)
		p.size++
	}
}

// grew keeps the memory in bounds, once n cells or marks were added.
func (p *page) grew(n int) {
	if p.size += n; p.size <= most {
		return
	}
	for p.size > most && p.y > 0 {
		p.flush()
	}
	if r := &p.rows[p.y]; p.size > most && r.width()+r.size > most/2 {
		p.out(p.render(r, false))
		p.size -= r.width() + r.size
		*r = row{plain: r.plain[:0], cells: r.cells[:0]}
		p.x = 0
	}
}

// flush writes the first line out.
func (p *page) flush() {
	r := &p.rows[0]
	p.out(append(p.render(r, true), '\n'))
	p.size -= r.width() + r.size
	if len(p.free) < 8 && cap(r.cells) < 4096 && cap(r.plain) < 4096 {
		p.free = append(p.free, row{plain: r.plain[:0], cells: r.cells[:0]})
	}
	*r = row{}
	p.rows = p.rows[1:]
	p.y--
	p.top = max(p.top-1, 0)
	p.kept[1] = max(p.kept[1]-1, 0)
}

// newline goes to the next line, which may be there already.
func (p *page) newline() {
	p.x = 0
	p.y++
	if p.y < len(p.rows) {
		p.spare++
		return
	}
	p.add()
}

func (p *page) add() {
	var r row
	if n := len(p.free); n > 0 {
		r, p.free = p.free[n-1], p.free[:n-1]
	}
	if len(p.rows) == cap(p.rows) && len(p.rows) >= Height { // a window that moves on
		if p.store == nil {
			p.store = make([]row, 8*Height)
		}
		n := copy(p.store, p.rows)
		clear(p.store[n:])
		p.rows = p.store[:n]
	}
	p.rows = append(p.rows, r)
	if len(p.rows) > Height {
		p.flush()
	}
}

func (p *page) up(n int)   { p.y = max(p.y-n, 0) }
func (p *page) down(n int) { p.y = min(p.y+n, len(p.rows)-1) }

// to goes to a column.
func (p *page) to(x int) {
	p.x = min(max(x, 0), max(p.rows[p.y].width(), Width-1))
}

// place goes to a line and a column of the screen, as programs count them that draw
// all of it. Such a screen begins below what was printed before.
func (p *page) place(y, x int) {
	if !p.began {
		p.clear()
	}
	p.y = min(p.top+y, len(p.rows))
	if p.y == len(p.rows) {
		p.add()
		p.spare-- // the new line takes one
	}
	p.to(x)
}

func (p *page) save()    { p.kept = [2]int{p.x, p.y} }
func (p *page) restore() { p.y = min(p.kept[1], len(p.rows)-1); p.to(p.kept[0]) }

// clear begins a screen: what was printed before the first one stays; what an
// earlier one showed goes.
func (p *page) clear() {
	p.drawn = true
	if p.began {
		p.cut(p.top)
		return
	}
	p.began = true
	p.y = len(p.rows) - 1
	if p.rows[p.y].width() > 0 {
		p.y++
		p.add()
		p.spare-- // the new line takes one
	}
	p.top, p.x = p.y, 0
}

// cut empties the lines from y on and goes there.
func (p *page) cut(y int) {
	for i := y; i < len(p.rows); i++ {
		p.size -= p.rows[i].width() + p.rows[i].size
		p.rows[i] = row{}
	}
	p.rows = p.rows[:y+1]
	p.y, p.x = y, 0
}

func (p *page) eraseScreen(how int) {
	switch how {
	case 0:
		y, x := p.y, p.x
		p.eraseLine(0)
		if y+1 < len(p.rows) {
			p.drawn = true
			p.cut(y + 1)
			p.rows = p.rows[:y+1]
			p.y, p.x = y, x
		}
	case 2:
		p.clear()
	}
}

func (p *page) eraseLine(how int) {
	r := p.line()
	switch how {
	case 0:
		p.blank(p.x, len(r.cells))
	case 1:
		p.blank(0, p.x+1)
	case 2:
		p.blank(0, len(r.cells))
	}
	end := len(r.cells)
	for end > 0 && r.cells[end-1] == empty {
		end--
	}
	p.size -= len(r.cells) - end
	r.cells = r.cells[:end]
}

// blank empties the cells from a to b. A wide character or a tab that loses a cell
// is lost whole.
func (p *page) blank(a, b int) {
	r := p.line()
	a, b = min(a, len(r.cells)), min(b, len(r.cells))
	if a >= b {
		return
	}
	p.drawn = true
	for a > 0 && r.cells[a] == rest {
		a--
	}
	for b < len(r.cells) && r.cells[b] == rest {
		b++
	}
	for i := a; i < b; i++ {
		if c := r.cells[i]; c == utf8.RuneError { // it may have been one byte
			p.spare++
		} else if c > empty {
			p.spare += utf8.RuneLen(c)
		}
		r.cells[i] = empty
		if m := r.marks[i]; m != nil {
			r.size -= len(m)
			p.size -= len(m)
			delete(r.marks, i)
		}
	}
}

// remove takes n cells out at the cursor; what follows moves up.
func (p *page) remove(n int) {
	r := p.line()
	b := min(p.x+n, len(r.cells))
	if b <= p.x {
		return
	}
	p.blank(p.x, b)
	gone := b - p.x
	r.cells = append(r.cells[:p.x], r.cells[b:]...)
	p.size -= gone
	if len(r.marks) > 0 {
		moved := make(map[int][]rune, len(r.marks))
		for at, m := range r.marks {
			if at >= b {
				at -= gone
			}
			moved[at] = m
		}
		r.marks = moved
	}
}

// render returns a line as text; it is good until the next call. Blanks that nobody
// wrote take what bytes there are to spare: one each gap first, then from the left.
// Blanks at the end are left out where whole is true.
func (p *page) render(r *row, whole bool) []byte {
	if len(r.plain) > 0 {
		p.buf = append(p.buf[:0], r.plain...)
		return p.buf
	}
	end := len(r.cells)
	for whole && end > 0 && (r.cells[end-1] == empty || r.over && r.cells[end-1] == ' ' && r.marks[end-1] == nil) {
		end--
	}
	gaps := 0
	for i := range end {
		if r.cells[i] == empty && (i == 0 || r.cells[i-1] != empty) {
			gaps++
		}
	}
	wide := max(p.spare-gaps, 0)
	p.buf = p.buf[:0]
	for i := range end {
		switch c := r.cells[i]; {
		case c == rest:
		case c != empty:
			p.buf = utf8.AppendRune(p.buf, c)
		case i == 0 || r.cells[i-1] != empty:
			if p.spare > 0 {
				p.spare--
				p.buf = append(p.buf, ' ')
			}
		case wide > 0:
			wide--
			p.spare--
			p.buf = append(p.buf, ' ')
		}
		for _, m := range r.marks[i] {
			p.buf = utf8.AppendRune(p.buf, m)
		}
	}
	return p.buf
}

// end writes all lines out.
func (p *page) end() {
	for len(p.rows) > 1 {
		p.flush()
	}
	p.out(p.render(&p.rows[0], true))
	p.rows, p.x, p.y, p.size = []row{{}}, 0, 0, 0
}

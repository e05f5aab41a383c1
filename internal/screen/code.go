package screen

// A code is an escape code that is being read, see ECMA-48 and the control
// sequences of xterm.
type code struct {
	state  state
	params [8]int
	n      int  // params begun
	skip   bool // it is a private one, or has intermediates: no movement
	size   int  // bytes so far
}

type state byte

const (
	text    state = iota
	escape        // after ESC
	shift         // ESC and intermediates: one more character ends it
	control       // CSI
	words         // OSC, DCS, SOS, PM, APC: up to ST, or the end of the line
	closing       // words, and then ESC
)

func (c *code) idle() bool { return c.state == text }

func (c *code) begin(s state) { *c = code{state: s, size: c.size} }

// The C1 controls, each also ESC and the letter 0x40 below it.
const (
	index        = 0x84
	nextLine     = 0x85
	reverseIndex = 0x8d
	deviceString = 0x90
	startString  = 0x98
	sequence     = 0x9b
	stringEnd    = 0x9c
	systemWords  = 0x9d
	privacy      = 0x9e
	application  = 0x9f
)

const esc = 0x1b

// rune takes one character that was size bytes long.
func (w *Writer) rune(r rune, size int) {
	c := &w.code
	if c.state != text {
		c.size += size
		if w.inside(r) {
			return
		}
		// It broke off: what was read of it is gone, and r is a character again.
		w.page.spare += c.size - size
		w.other = true
		*c = code{}
	}
	switch {
	case r == '\t':
		w.page.tab()
	case r >= ' ' && r < 0x7f || r >= 0xa0:
		w.page.put(r)
	default:
		w.control(r, size)
	}
}

// control does what a control character says.
func (w *Writer) control(r rune, size int) {
	p := &w.page
	switch r {
	case '\n', '\v', '\f', index, nextLine:
		w.other = w.other || r != '\n'
		p.newline()
		return
	case esc:
		w.code = code{state: escape, size: size}
		return
	case sequence:
		w.code = code{state: control, size: size}
		return
	case deviceString, startString, systemWords, privacy, application:
		w.code = code{state: words, size: size}
		return
	}
	p.spare += size
	switch r {
	case '\r':
		p.x = 0
	case '\b':
		p.x = max(p.x-1, 0)
	case reverseIndex:
		p.up(1)
	default:
		w.other = true
	}
}

// inside takes a character of an escape code; false says that it is none of it.
func (w *Writer) inside(r rune) bool {
	c := &w.code
	if r == '\n' {
		return false // whatever began, a new line is never lost
	}
	switch c.state {
	case escape:
		return w.escaped(r)
	case shift:
		if r >= ' ' && r < '0' {
			return true
		}
		w.done(r >= '0' && r < 0x7f)
		return r >= '0' && r < 0x7f
	case control:
		return w.sequence(r)
	case words:
		switch r {
		case '\a', stringEnd, 0x18, 0x1a:
			w.done(true)
		case esc:
			c.state = closing
		}
	case closing:
		if r == '\\' {
			w.done(true)
			return true
		}
		c.begin(escape) // the words broke off, another code begins
		w.other = true
		return w.inside(r)
	}
	return true
}

// done ends an escape code.
func (w *Writer) done(whole bool) {
	if !whole {
		return // rune cleans up
	}
	w.page.spare += w.code.size
	w.other = true
	w.code = code{}
}

// escaped takes the character after ESC.
func (w *Writer) escaped(r rune) bool {
	c, p := &w.code, &w.page
	switch {
	case r >= ' ' && r < '0':
		c.state = shift
		return true
	case r == esc:
		return true
	case r < '0' || r >= 0x7f:
		return false
	}
	switch r {
	case '[':
		c.begin(control)
		return true
	case ']', 'P', 'X', '^', '_':
		c.begin(words)
		return true
	case '7':
		p.save()
	case '8':
		p.restore()
	case 'M':
		p.up(1)
	case 'D', 'E':
		w.code = code{}
		w.other = true
		p.newline()
		return true
	}
	w.done(true)
	return true
}

// sequence takes a character of a CSI.
func (w *Writer) sequence(r rune) bool {
	c := &w.code
	switch {
	case r >= '0' && r <= '9':
		if c.n == 0 {
			c.n = 1
		}
		if c.n <= len(c.params) {
			at := &c.params[c.n-1]
			*at = min(*at*10+int(r-'0'), 1<<16)
		}
	case r == ';' || r == ':':
		c.n = min(max(c.n, 1)+1, len(c.params)+1)
	case r >= '<' && r <= '?', r >= ' ' && r < '0':
		c.skip = true
	case r >= '@' && r <= '~':
		w.act(r)
	default:
		return false
	}
	return true
}

// act does what a CSI says.
func (w *Writer) act(final rune) {
	c, p := w.code, &w.page
	colours := final == 'm'
	w.page.spare += c.size
	w.code = code{}
	if colours {
		return
	}
	if c.skip {
		w.other = true
		if final == 'h' && (c.params[0] == 1049 || c.params[0] == 1047 || c.params[0] == 47) {
			p.clear()
		}
		return
	}
	first := c.params[0]
	n := max(first, 1)
	switch final {
	case 'A':
		p.up(n)
	case 'B':
		p.down(n)
	case 'C', 'a':
		p.to(p.x + n)
	case 'D':
		p.to(p.x - n)
	case 'E':
		p.down(n)
		p.x = 0
	case 'F':
		p.up(n)
		p.x = 0
	case 'G', '`':
		p.to(n - 1)
	case 'H', 'f':
		p.place(n-1, max(c.params[1], 1)-1)
	case 'd':
		p.place(n-1, p.x)
	case 'J':
		p.eraseScreen(first)
	case 'K':
		p.eraseLine(first)
	case 'P':
		p.remove(n)
	case 'X':
		p.blank(p.x, p.x+n)
	case 's':
		p.save()
	case 'u':
		p.restore()
	default:
		w.other = true
	}
}

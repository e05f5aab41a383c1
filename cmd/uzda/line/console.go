package line

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/uzda-dev/uzda"
)

// Options are what a Console stands on.
type Options struct {
	In       io.Reader
	Out      io.Writer                       // gets control sequences of a terminal, and \r\n for line ends
	Size     func() (columns, rows int)      // zero: not known
	Show     func(string) string             // what is shown of a letter that was typed; nil: itself
	Complete func(beginning string) []string // how a line may go on; nil: nothing
	History  *History                        // nil: none
	Suspend  func()                          // for Ctrl-Z; nil: nothing happens
}

// Console is a desk on a terminal that hands over each key. Text that is written
// stands above the line that is typed; while nothing is typed it comes as it comes.
type Console struct {
	o      Options
	inputs chan Input

	mu      sync.Mutex
	prompt  string
	always  bool
	number  int // of the prompt
	buf     buffer
	asking  bool   // the prompt is a question
	stash   string // what was typed when the question came
	past    int    // steps back in the history; 0: what is typed
	typed   string // what was typed before going back
	shown   bool   // the line is on the screen
	row     int    // of the cursor in it
	column  int
	partial string // the last line that was written, which has not ended
	held    bool   // it is not on the screen
	closed  bool
}

var _ Desk = (*Console)(nil)

// New makes a console and begins to read. Whoever made In ends its reading.
func New(o Options) *Console {
	if o.Show == nil {
		o.Show = func(s string) string { return s }
	}
	c := &Console{o: o, inputs: make(chan Input)}
	go c.read()
	return c
}

// Inputs is what the person does.
func (c *Console) Inputs() <-chan Input { return c.inputs }

// Live is true while nobody types: then text may stand in the last line.
func (c *Console) Live() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.shown
}

// Close takes the line that is typed off the screen.
func (c *Console) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	out := c.hide()
	if c.partial != "" {
		out += c.release() + "\r\n"
	}
	return c.put(out)
}

// Prompt sets what stands before the line. What is typed is kept; after a question
// what it interrupted comes back.
func (c *Console) Prompt(text string, always bool) {
	c.change(func() {
		c.number++
		if c.prompt, c.always = text, always; c.asking {
			c.asking = false
			c.buf.set(c.stash)
		}
	})
}

// Ask shows a question with an empty line for the answer. What was typed is put
// away until the next prompt, since it was not meant as an answer.
func (c *Console) Ask(question string) int {
	n := 0
	c.change(func() {
		c.number++
		n = c.number
		if !c.asking {
			c.asking, c.stash = true, c.buf.text()
			c.buf.set("")
		}
		c.prompt, c.always = question, true
	})
	return n
}

// Redraw shows the line anew, after the terminal has changed its size.
func (c *Console) Redraw() { c.change(func() {}) }

func (c *Console) put(s string) error {
	if s == "" {
		return nil
	}
	_, err := io.WriteString(c.o.Out, s)
	return err
}

// Write shows text above the line.
func (c *Console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := string(p)
	out := c.hide()
	if !c.wanted() {
		out += c.release() + strings.ReplaceAll(text, "\n", "\r\n")
		c.partial += text
		c.partial = c.partial[strings.LastIndexByte(c.partial, '\n')+1:]
	} else {
		c.partial += text
		if at := strings.LastIndexByte(c.partial, '\n') + 1; at > 0 {
			out += strings.ReplaceAll(c.partial[:at], "\n", "\r\n")
			c.partial = c.partial[at:]
		}
		c.held = c.partial != ""
	}
	if err := c.put(out + c.show()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// wanted says whether the line is to be on the screen.
func (c *Console) wanted() bool { return !c.closed && (c.always || len(c.buf.cells) > 0) }

// release brings the last line back that was held while somebody typed.
func (c *Console) release() string {
	if !c.held {
		return ""
	}
	c.held = false
	return c.partial
}

// hide takes the line off the screen; the cursor stands where it began.
func (c *Console) hide() string {
	if !c.shown {
		return ""
	}
	c.shown = false
	return up(c.row) + "\r\x1b[J"
}

// show puts the line on the screen, if it is to be there. Text whose line has not
// ended gives way, and comes back later.
func (c *Console) show() string {
	if !c.wanted() {
		if c.closed {
			return ""
		}
		return c.release()
	}
	out := ""
	columns, height := c.size()
	if c.partial != "" && !c.held {
		if uzda.Columns(plain(c.partial)) < columns {
			out, c.held = "\r\x1b[K", true
		} else {
			out, c.partial = "\r\n", ""
		}
	}
	rows, row, column := c.buf.layout(c.prompt, columns-1, c.o.Show)
	if most := max(1, height-2); len(rows) > most { // only the part around the cursor
		from := min(max(0, row-most/2), len(rows)-most)
		rows, row = rows[from:from+most], row-from
	}
	out += strings.Join(rows, "\x1b[K\r\n") + "\x1b[J" + up(len(rows)-1-row) + "\r"
	if column > 0 {
		out += fmt.Sprintf("\x1b[%dC", column)
	}
	c.shown, c.row, c.column = true, row, column
	return out
}

func (c *Console) size() (columns, rows int) {
	if c.o.Size != nil {
		columns, rows = c.o.Size()
	}
	if columns < 20 {
		columns = 80
	}
	if rows < 4 {
		rows = 24
	}
	return columns, rows
}

func up(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA", n)
}

var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// plain is text without its colours.
func plain(s string) string { return colours.ReplaceAllString(s, "") }

func (c *Console) read() {
	r := bufio.NewReader(c.o.In)
	for {
		k, err := readKey(r)
		if err != nil {
			c.inputs <- Input{Kind: End, To: c.now()}
			return
		}
		if k.do == suspend && c.o.Suspend != nil {
			c.o.Suspend()
			c.Redraw()
			continue
		}
		if in, ok := c.press(k); ok {
			c.inputs <- in
		}
	}
}

// append adds a letter at the end of the line without drawing the rest anew; false
// if there is more to it.
func (c *Console) append(k key) bool {
	columns, _ := c.size()
	w := uzda.Columns(k.text)
	if k.do != insert || !c.shown || w == 0 || c.buf.at < len(c.buf.cells) || c.column+w >= columns {
		return false
	}
	n := len(c.buf.cells)
	c.buf.insert(k.text)
	if len(c.buf.cells) == n { // it joined the letter before it
		c.put(c.hide() + c.show()) //nolint:errcheck // see edit
		return true
	}
	c.column += w
	c.put(c.o.Show(k.text)) //nolint:errcheck // see edit
	return true
}

func (c *Console) now() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.number
}

// press does what a key says, and returns what the person did by it.
func (c *Console) press(k key) (Input, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	in := Input{To: c.number}
	text := c.buf.text()
	switch {
	case k.do == interrupt && !c.asking && text != "" && c.always: // the line, not the work
		c.leave("^C")
		return in, false
	case k.do == interrupt:
		in.Kind = Interrupt
		return in, true
	case k.do == eof && text == "":
		in.Kind = End
		return in, true
	case k.do == enter && Unfinished(text):
		c.edit(func() { c.buf.set(Goes(text)) })
		return in, false
	case k.do == enter:
		if text == "" && !c.always {
			return in, false
		}
		c.leave("")
		if c.o.History != nil && !c.asking {
			c.o.History.Add(text)
		}
		in.Text = text
		return in, true
	case k.do == clearScreen:
		out := c.hide()
		c.put("\x1b[H\x1b[2J" + out + c.show()) //nolint:errcheck // see edit
		return in, false
	case k.do == older || k.do == newer:
		c.edit(func() { c.back(k.do) })
		return in, false
	case k.do == complete:
		c.edit(c.goesOn)
		return in, false
	}
	if !c.append(k) {
		c.edit(func() { c.buf.edit(k) })
	}
	return in, false
}

// change redraws the line around a change.
func (c *Console) change(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.edit(do)
}

// edit is change, where c.mu is held.
func (c *Console) edit(do func()) {
	out := c.hide()
	do()
	c.put(out + c.show()) //nolint:errcheck // a terminal that is gone shows in reading
}

// leave ends the line: it stays on the screen as it was typed, and the next begins
// below it.
func (c *Console) leave(mark string) {
	out := ""
	if c.shown {
		out = c.hide()
		c.buf.at = len(c.buf.cells)
		columns, _ := c.size()
		rows, _, _ := c.buf.layout(c.prompt, columns-1, c.o.Show)
		out += strings.Join(rows, "\r\n") + mark + "\r\n"
	}
	c.buf.set("")
	c.past, c.typed = 0, ""
	if mark == "" {
		c.always = false // until the next prompt
	}
	c.put(out + c.show()) //nolint:errcheck // see edit
}

// back goes through the history.
func (c *Console) back(do action) {
	if c.o.History == nil {
		return
	}
	if c.past == 0 {
		c.typed = c.buf.text()
	}
	past := c.past + 1
	if do == newer {
		past = c.past - 1
	}
	switch text, ok := c.o.History.Back(past); {
	case past < 0:
	case past == 0:
		c.past = 0
		c.buf.set(c.typed)
	case ok:
		c.past = past
		c.buf.set(text)
	}
}

// goesOn completes the line as far as there is one way.
func (c *Console) goesOn() {
	if c.o.Complete == nil || c.buf.at != len(c.buf.cells) {
		return
	}
	text := c.buf.text()
	ways := c.o.Complete(text)
	if len(ways) == 0 {
		return
	}
	common := ways[0]
	for _, w := range ways[1:] {
		for !strings.HasPrefix(w, common) {
			common = uzda.Before(common, len(common)-1)
		}
	}
	if len(common) > len(text) {
		c.buf.set(common)
	}
}

package line

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"sync"
)

// Plain is a desk without an editor: input that is no terminal, or a terminal that
// can do nothing. Its system edits the line, and tells of an interrupt by a signal.
type Plain struct {
	in      io.Reader
	out     io.Writer
	inputs  chan Input
	prompts bool
	begin   sync.Once

	mu    sync.Mutex
	asked int // how many prompts there were
}

var _ Desk = (*Plain)(nil)

// mostTyped is how long a message may be, in bytes.
const mostTyped = 8 << 20

// NewPlain makes a desk of a reader. Without prompts nobody is told to type.
func NewPlain(in io.Reader, out io.Writer, prompts bool) *Plain {
	return &Plain{in: in, out: out, prompts: prompts, inputs: make(chan Input)}
}

// Inputs is what was typed. Reading begins with the first call.
func (p *Plain) Inputs() <-chan Input {
	p.begin.Do(func() { go p.read() })
	return p.inputs
}

func (p *Plain) read() {
	r := bufio.NewReader(p.in)
	text := ""
	for {
		l, err := oneLine(r)
		text += strings.TrimRight(l, "\r\n")
		more := err == nil && Unfinished(text) && len(text) < mostTyped
		if more {
			text = Goes(text)
			continue
		}
		if text != "" || err == nil {
			p.inputs <- Input{Text: strings.ToValidUTF8(text, "\uFFFD"), To: p.now()}
		}
		if text = ""; err != nil {
			p.inputs <- Input{Kind: End, To: p.now()}
			return
		}
	}
}

// oneLine reads a line of any length up to mostTyped; what is longer comes in parts.
func oneLine(r *bufio.Reader) (string, error) {
	var b strings.Builder
	for {
		part, err := r.ReadSlice('\n')
		b.Write(part)
		if !errors.Is(err, bufio.ErrBufferFull) || b.Len() >= mostTyped {
			if errors.Is(err, bufio.ErrBufferFull) {
				err = nil
			}
			return b.String(), err
		}
	}
}

func (p *Plain) now() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// Prompt sets the prompt, and shows it where it is to be shown at once.
func (p *Plain) Prompt(text string, always bool) { p.ask(text, always) }

func (p *Plain) ask(text string, always bool) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	if always && p.prompts {
		io.WriteString(p.out, text) //nolint:errcheck // a terminal that is gone shows in reading
	}
	return p.asked
}

// Ask shows a question.
func (p *Plain) Ask(question string) int { return p.ask(question, true) }

// Write shows text; it never waits for the line that is typed.
func (p *Plain) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

// Live is true: nothing but the prompt shares the line.
func (p *Plain) Live() bool { return p.prompts }

// Close does nothing: the terminal was left as it is.
func (p *Plain) Close() error { return nil }

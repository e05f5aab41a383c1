package line

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/term"
)

// Terminal is a console on the terminal of the program.
type Terminal struct {
	*Console
	in   *os.File
	mu   sync.Mutex
	was  *term.State
	stop func()
}

var _ Desk = (*Terminal)(nil)

const pasteOn, pasteOff = "\x1b[?2004h", "\x1b[?2004l"

// Open takes over a terminal: keys come one by one and are not echoed. Close gives
// it back, and so does a signal that ends the program. In, Out, Size and Suspend of
// the options are set here.
func Open(in, out *os.File, o Options) (*Terminal, error) {
	t := &Terminal{in: in}
	if err := t.take(); err != nil {
		return nil, fmt.Errorf("take over the terminal: %w", err)
	}
	o.In, o.Out = in, out
	o.Size = func() (columns, rows int) {
		columns, rows, err := term.GetSize(int(out.Fd()))
		if err != nil {
			return 0, 0
		}
		return columns, rows
	}
	o.Suspend = t.suspend
	t.Console = New(o)
	out.WriteString(pasteOn) //nolint:errcheck // a terminal that is gone shows in reading
	t.stop = t.watch()
	return t, nil
}

func (t *Terminal) take() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	was, err := term.MakeRaw(int(t.in.Fd()))
	if err == nil {
		t.was = was
	}
	return err
}

// give gives the terminal back as it was.
func (t *Terminal) give() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.was == nil {
		return nil
	}
	was := t.was
	t.was = nil
	return term.Restore(int(t.in.Fd()), was)
}

// Close gives the terminal back. The goroutine that reads ends with the program.
func (t *Terminal) Close() error {
	t.stop()
	err := t.Console.Close()
	return errors.Join(err, t.put(pasteOff), t.give())
}

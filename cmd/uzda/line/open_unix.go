//go:build unix

package line

import (
	"os"
	"os/signal"
	"syscall"
)

// watch redraws when the size changes, and gives the terminal back before a signal
// ends the program that nobody else looks at.
func (t *Terminal) watch() (stop func()) {
	signals, done := make(chan os.Signal, 4), make(chan struct{})
	signal.Notify(signals, syscall.SIGWINCH, syscall.SIGQUIT, syscall.SIGABRT)
	go func() {
		for {
			select {
			case <-done:
				return
			case s := <-signals:
				if s == syscall.SIGWINCH {
					t.Redraw()
					continue
				}
				t.Console.put(pasteOff) //nolint:errcheck // the program ends
				t.give()                //nolint:errcheck // as above
				signal.Reset(s)
				syscall.Kill(os.Getpid(), s.(syscall.Signal)) //nolint:errcheck // as above
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}

// suspend stops the program as Ctrl-Z does, with the terminal as it was.
func (t *Terminal) suspend() {
	if t.give() != nil {
		return
	}
	syscall.Kill(0, syscall.SIGSTOP) //nolint:errcheck // then it just goes on
	t.take()                         //nolint:errcheck // the terminal is gone: reading will say so
}

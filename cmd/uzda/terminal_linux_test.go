package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// screen is a pseudo-terminal with a program in it.
type screen struct {
	t      *testing.T
	c      *exec.Cmd
	master *os.File
	mu     sync.Mutex
	shown  bytes.Buffer
}

// inTerminal starts a program in a terminal of 80 columns.
func (p *program) inTerminal(args ...string) *screen {
	p.t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		p.t.Skip("SKIPPED: no pseudo-terminal can be opened here: ", err)
	}
	p.t.Cleanup(func() { master.Close() })
	control := func(request uintptr, arg unsafe.Pointer) {
		if _, _, fault := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), request, uintptr(arg)); fault != 0 {
			p.t.Fatal(fault)
		}
	}
	var unlock, number int32
	control(syscall.TIOCSPTLCK, unsafe.Pointer(&unlock))
	control(syscall.TIOCGPTN, unsafe.Pointer(&number))
	size := [4]uint16{40, 80, 0, 0}
	control(syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	defer slave.Close()
	c := p.command(args...)
	c.Stdin, c.Stdout, c.Stderr = slave, slave, slave
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		p.t.Fatal(err)
	}
	s := &screen{t: p.t, c: c, master: master}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			s.mu.Lock()
			s.shown.Write(buf[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return s
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.String()
}

// sees waits until a text was shown so many times.
func (s *screen) sees(text string, times int) {
	s.t.Helper()
	defer func() {
		if s.t.Failed() {
			s.t.Logf("want %q %d times in:\n%s", text, times, s.text())
		}
	}()
	waitFor(s.t, func() bool { return strings.Count(s.text(), text) >= times })
}

func (s *screen) types(text string) {
	s.t.Helper()
	if _, err := s.master.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

func (s *screen) ends(code int, texts ...string) {
	s.t.Helper()
	// One that hangs says where, rather than the whole package after its timeout.
	stuck := time.AfterFunc(2*time.Minute, func() { s.c.Process.Signal(syscall.SIGABRT) }) //nolint:errcheck // its effect is looked at
	s.c.Wait()                                                                             //nolint:errcheck // the code is looked at
	if !stuck.Stop() {
		s.t.Errorf("it did not end by itself:\n%s", s.text())
	}
	if got := s.c.ProcessState.ExitCode(); got != code {
		s.t.Errorf("exit %d, want %d\n%s", got, code, s.text())
	}
	for _, text := range texts {
		s.sees(text, 1)
	}
}

const twoNotes = `{"turns":[{"calls":[{"name":"notes","input":{"op":"write","text":"first \u001b[31mred"}}]},{"calls":[{"name":"notes","input":{"op":"append","text":"second"}}]},{"text":"Noted."}]}`

// At a terminal the run asks, with exactly what would run and nothing that the
// model could play with; it takes an answer that is given there or elsewhere.
func TestAskedAtTerminal(t *testing.T) { // S1
	t.Parallel()
	p := newProgram(t)
	p.envs = append(p.envs, "UZDA_ASK=notes")
	turns := "script:" + p.file("turns.json", twoNotes)
	s := p.inTerminal("run", "--model", turns, "--session", "s", "go")
	s.sees("Allow it?", 1)
	if text := s.text(); strings.Contains(text, "\x1b[31m") || !strings.Contains(text, `first \u001b[31mred`) {
		t.Errorf("the question shows\n%q", text)
	}
	s.types("perhaps\n")
	s.sees("Please type y, s, r, n or l", 1)
	s.types("y\n")
	s.sees("Allow it?", 3)
	p.says(0, []string{"approve", "s"}, "Approved")
	s.ends(0, "It was answered elsewhere", "Noted.", "2 tool calls")
}

// Leaving, the end of input and an interrupt: the first two leave it waiting, the
// third cancels the turn.
func TestUnansweredAtTerminal(t *testing.T) { // S1 L11
	t.Parallel()
	p := newProgram(t)
	p.envs = append(p.envs, "UZDA_ASK=notes", "TERM=dumb")
	turns := "script:" + p.file("turns.json", twoNotes)
	for i, c := range []struct {
		keys, says string
		code       int
	}{{"l\n", "uzda approve s0 6.1 --resume", 8}, {"\x04", "waiting: approval", 8}, {"\x03", "cancelled: cancelled", 130}, {"n\n|l\n", "denied", 8}} {
		s := p.inTerminal("run", "--model", turns, "--session", fmt.Sprintf("s%d", i), "go")
		s.sees("Allow it?", 1)
		first, then, _ := strings.Cut(c.keys, "|")
		if s.types(first); then != "" {
			s.sees("Allow it?", 2)
			s.types(then)
		}
		s.ends(c.code, c.says)
	}
	p.says(0, []string{"doctor"})
}

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"unsafe"
)

// inTerminal runs a program in a terminal of its own and returns what it printed there.
func inTerminal(c *exec.Cmd, columns, rows int) ([]byte, error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer master.Close()
	var unlock, number int32
	size := [4]uint16{uint16(rows), uint16(columns)} //nolint:gosec // a terminal is small
	for request, arg := range map[uintptr]unsafe.Pointer{
		syscall.TIOCSPTLCK: unsafe.Pointer(&unlock), syscall.TIOCGPTN: unsafe.Pointer(&number), syscall.TIOCSWINSZ: unsafe.Pointer(&size),
	} {
		if _, _, fault := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), request, uintptr(arg)); fault != 0 {
			return nil, fmt.Errorf("set up a terminal: %w", fault)
		}
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	c.Stdin, c.Stdout, c.Stderr = slave, slave, slave
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = c.Start()
	slave.Close()
	if err != nil {
		return nil, err
	}
	raw, _ := io.ReadAll(master) // it ends with an error when the program has gone
	return raw, c.Wait()
}

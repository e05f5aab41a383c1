//go:build linux || darwin

package main

import (
	"os"
	"syscall"
	"unsafe"
)

// columns is the width of a terminal, 0 if f is none.
func columns(f *os.File) int {
	var size struct{ rows, columns, x, y uint16 }
	_, _, fault := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
	if fault != 0 {
		return 0
	}
	return int(size.columns)
}

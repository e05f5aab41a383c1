//go:build unix

package attach

import "syscall"

// noWait keeps what took a file's place from holding the program up.
const noWait = syscall.O_NONBLOCK

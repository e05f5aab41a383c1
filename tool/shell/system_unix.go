//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package shell

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

const supported = true

const tooLong = syscall.E2BIG

// apart gives a command its own session, and so its own process group and no terminal.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// group signals the process group of a shell that has not been waited for.
func group(pid int, hard bool) {
	if hard {
		_ = syscall.Kill(-pid, syscall.SIGKILL) // they may have ended by now, here and below
		return
	}
	_ = syscall.Kill(-pid, syscall.SIGTERM)
	_ = syscall.Kill(-pid, syscall.SIGCONT) // a stopped one hears nothing
}

// ended reads the status of a shell.
func ended(err error) (code int, signal string) {
	var e *exec.ExitError
	if !errors.As(err, &e) {
		return 0, ""
	}
	if st, ok := e.Sys().(syscall.WaitStatus); ok && st.Signaled() { //nolint:misspell // a name of the standard library
		return 0, signalName(int(st.Signal()))
	}
	return e.ExitCode(), ""
}

func inodeOf(f *os.File) uint64 {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}

// A post is a named pipe by which a shell says where it ended. No process of the
// command holds it open, and it takes no room on a full disk.
type post struct {
	path string // "": there is none
	fd   int
}

func newPost(folder, name string) *post {
	if os.MkdirAll(folder, 0o700) != nil {
		return &post{}
	}
	p := &post{path: filepath.Join(folder, postPrefix+name)}
	if syscall.Mkfifo(p.path, 0o600) != nil {
		return &post{}
	}
	var err error
	if p.fd, err = syscall.Open(p.path, syscall.O_RDWR|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0); err != nil {
		_ = os.Remove(p.path)
		return &post{}
	}
	return p
}

// read returns what the shell said: a directory, or a blank line.
func (p *post) read() string {
	if p.path == "" {
		return ""
	}
	buf := make([]byte, 8<<10)
	n, err := syscall.Read(p.fd, buf)
	switch {
	case err != nil || n <= 0 || buf[n-1] != '\n':
		return ""
	case n > 1 && buf[0] == '/':
		return string(buf[:n-1])
	}
	return "\n"
}

func (p *post) close() {
	if p.path == "" {
		return
	}
	_ = syscall.Close(p.fd)
	_ = os.Remove(p.path)
	p.path = ""
}

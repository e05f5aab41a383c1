// Package startup says what it costs to start the program.
package startup

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Find returns the folder of the program's sources, from dir or above it.
func Find(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for at := abs; ; at = filepath.Dir(at) {
		raw, err := os.ReadFile(filepath.Join(at, "go.mod"))
		if err == nil && bytes.HasPrefix(raw, []byte("module github.com/uzda-dev/uzda\n")) {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("no sources of Uzda are at %s or above: name their folder with --source", abs)
		}
	}
}

// Build builds the program as it is released, into dir, and returns its path.
func Build(ctx context.Context, source, dir string) (string, error) {
	name := filepath.Join(dir, "uzda")
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", name, "./cmd/uzda")
	c.Dir, c.Env = source, append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program in %s: %w\n%s", source, err, out)
	}
	return name, nil
}

// A Start is what one run of a command took.
type Start struct {
	Wall time.Duration
	CPU  time.Duration // user and system
	RSS  int64         // the most memory that it had, in bytes
}

// Version runs `uzda version` once, which must say something.
func Version(ctx context.Context, program, home string) (Start, error) {
	s, said, err := Run(ctx, program, home, "version")
	if err == nil && said == 0 {
		err = fmt.Errorf("%s version said nothing", program)
	}
	return s, err
}

// Run runs a program once, and says how many bytes it wrote. The process that calls
// it must be small: a system that counts the memory of a process from before its
// program was loaded would tell the caller's.
func Run(ctx context.Context, program, home string, args ...string) (Start, int, error) {
	c := exec.CommandContext(ctx, program, args...)
	c.Env = []string{"UZDA_HOME=" + home, "HOME=" + home, "PATH=" + os.Getenv("PATH")}
	c.Dir = home
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	began := time.Now()
	err := c.Run()
	s := Start{Wall: time.Since(began)}
	if err != nil {
		return s, 0, fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, errs.Bytes())
	}
	s.CPU = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	if u, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
		s.RSS = u.Maxrss
		if runtime.GOOS != "darwin" {
			s.RSS <<= 10
		}
	}
	return s, out.Len(), nil
}

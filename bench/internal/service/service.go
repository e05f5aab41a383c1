// Package service runs a fake service in a process of its own, which is this program
// started again: what the service costs is then not counted among what is measured.
package service

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Serve is the service's process. It prints its URL, and ends when its input does.
func Serve(ctx context.Context, in io.Reader, out io.Writer, h http.Handler) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() {
		_, _ = io.Copy(io.Discard, in) // its end is all that is of interest
		_ = s.Close()
	}()
	if _, err := fmt.Fprintf(out, "http://%s\n", l.Addr()); err != nil {
		return err
	}
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return ctx.Err()
}

// A Process is a service that runs. Close it.
type Process struct {
	URL   string
	PID   int
	c     *exec.Cmd
	stdin io.Closer
}

// Start starts a command that calls Serve.
func Start(c *exec.Cmd) (*Process, error) {
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	p := &Process{c: c, stdin: in, PID: c.Process.Pid}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.Close()
		return nil, fmt.Errorf("start the provider: %w", err)
	}
	p.URL = strings.TrimSpace(line)
	return p, nil
}

// Close ends the service and waits for it.
func (p *Process) Close() {
	_ = p.stdin.Close()
	_ = p.c.Wait() // it was told to end
}

// Command is a process without proxies between it and the service, without
// certificates of its own, which cost time to read, and without settings of ours.
func Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Stderr = os.Stderr
	for _, v := range os.Environ() {
		key, _, _ := strings.Cut(v, "=")
		if up := strings.ToUpper(key); strings.HasSuffix(up, "_PROXY") || slices.ContainsFunc([]string{"SSL_CERT_", "OPENAI_", "ANTHROPIC_", "UZDA_"}, func(p string) bool { return strings.HasPrefix(up, p) }) {
			continue
		}
		c.Env = append(c.Env, v)
	}
	return c
}

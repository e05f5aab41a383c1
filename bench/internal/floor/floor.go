// Package floor is the agent's loop as one writes it by hand for speed, and for
// this one task: no journal, no retries, no limits, nothing to look at.
package floor

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/uzda-dev/uzda/bench/internal/task"
)

// A format is how a provider wants to be asked, and how it answers.
type format struct {
	path        string
	first, last string // of the body of each request
	stop, calls string // how a reply ends that is the answer, or that calls
	sign        func(h http.Header)
	take        func(l *loop, event []byte) (end bool, err error)
	act         func(l *loop) error // runs the calls and adds them, and what they gave, to what was said
}

// loop is one run. The body of a request is one slice of bytes, which each step
// makes longer: what was encoded once is never touched again.
type loop struct {
	task   *task.Task
	client *http.Client
	format *format
	body   []byte
	tokens int

	text   []byte
	args   []pending
	finish string
}

// pending is a call while it comes.
type pending struct {
	id, name string
	args     []byte
}

// Run is the contestant.
func Run(ctx context.Context, t *task.Task) (string, error) { return run(ctx, t, chat()) }

// Messages is the contestant in the Messages format.
func Messages(ctx context.Context, t *task.Task) (string, error) { return run(ctx, t, messages()) }

func run(ctx context.Context, t *task.Task, f *format) (string, error) {
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	l := &loop{task: t, client: &http.Client{Transport: transport}, format: f, body: []byte(f.first)}
	for {
		if err := l.ask(ctx); err != nil {
			return "", err
		}
		switch l.finish {
		case f.stop:
			return string(l.text), nil
		case f.calls:
			if err := f.act(l); err != nil {
				return "", err
			}
		default:
			return "", fmt.Errorf("the reply ended with %q", l.finish)
		}
	}
}

// ask sends all that was said, and reads the reply.
func (l *loop) ask(ctx context.Context) error {
	body := append(l.body, l.format.last...)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.task.URL+l.format.path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	l.format.sign(req.Header)
	resp, err := l.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body) // as much as came
		return fmt.Errorf("%s: %s", resp.Status, text)
	}
	l.text, l.args, l.finish = l.text[:0], l.args[:0], ""
	return l.read(resp.Body)
}

var data = []byte("data: ")

func (l *loop) read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line, ok := bytes.CutPrefix(lines.Bytes(), data)
		if !ok {
			continue
		}
		switch end, err := l.format.take(l, line); {
		case err != nil:
			return err
		case end:
			_, err := io.Copy(io.Discard, r) // so that the connection is used again
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return io.ErrUnexpectedEOF
}

// call begins a call where it is the next.
func (l *loop) call(index int, id, name string) {
	if index == len(l.args) {
		l.args = append(l.args, pending{id: id, name: name})
	}
}

// more adds to the arguments of a call.
func (l *loop) more(index int, args string) error {
	if index < 0 || index >= len(l.args) {
		return errors.New("a call without a begin")
	}
	p := &l.args[index]
	p.args = append(p.args, args...)
	return nil
}

// tool runs a call.
func (l *loop) tool(p pending) (string, error) {
	if p.name != task.Tool {
		return "", fmt.Errorf("there is no tool %q", p.name)
	}
	var in task.Input
	if err := json.Unmarshal(p.args, &in); err != nil {
		return "", err
	}
	return l.task.Echo(in), nil
}

func (l *loop) add(message any) error {
	raw, err := json.Marshal(message)
	l.body = append(append(l.body, ','), raw...)
	return err
}

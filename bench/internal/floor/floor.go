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

type call struct {
	Index    int      `json:"index"`
	ID       string   `json:"id"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// chunk is what the loop reads of an event.
type chunk struct {
	Choices []struct {
		Delta struct {
			Content   string `json:"content"`
			ToolCalls []call `json:"tool_calls"`
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
	} `json:"usage"`
}

// The messages that a step adds.
type (
	saidCall struct {
		ID       string   `json:"id"`
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	said struct {
		Role      string     `json:"role"`
		Content   *string    `json:"content"`
		ToolCalls []saidCall `json:"tool_calls"`
	}
	result struct {
		Role       string `json:"role"`
		ToolCallID string `json:"tool_call_id"`
		Content    string `json:"content"`
	}
)

// loop is one run. The body of a request is one slice of bytes, which each step
// makes longer: what was encoded once is never touched again.
type loop struct {
	task   *task.Task
	client *http.Client
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

const (
	first = `{"model":"` + task.Model + `","stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":16384,"tools":[{"type":"function","function":{"name":"` + task.Tool +
		`","description":"` + task.Description + `","parameters":` + task.Schema + `}}],"messages":[{"role":"system","content":"` + task.System +
		`"},{"role":"user","content":"` + task.Question + `"}`
	last = `]}`
)

// Run is the contestant.
func Run(ctx context.Context, t *task.Task) (string, error) {
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	l := &loop{task: t, client: &http.Client{Transport: transport}, body: []byte(first)}
	for {
		if err := l.ask(ctx); err != nil {
			return "", err
		}
		switch l.finish {
		case "stop":
			return string(l.text), nil
		case "tool_calls":
			if err := l.act(); err != nil {
				return "", err
			}
		default:
			return "", fmt.Errorf("the reply ended with %q", l.finish)
		}
	}
}

// ask sends all that was said, and reads the reply.
func (l *loop) ask(ctx context.Context) error {
	body := append(l.body, last...)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.task.URL+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+task.Key)
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

var data, done = []byte("data: "), []byte("[DONE]")

func (l *loop) read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line, ok := bytes.CutPrefix(lines.Bytes(), data)
		if !ok {
			continue
		}
		if bytes.Equal(line, done) {
			_, err := io.Copy(io.Discard, r) // so that the connection is used again
			return err
		}
		var c chunk
		if err := json.Unmarshal(line, &c); err != nil {
			return err
		}
		if err := l.take(c); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return io.ErrUnexpectedEOF
}

func (l *loop) take(c chunk) error {
	if c.Usage != nil {
		l.tokens += c.Usage.PromptTokens + c.Usage.CompletionTokens
	}
	for _, ch := range c.Choices {
		l.text = append(l.text, ch.Delta.Content...)
		for _, d := range ch.Delta.ToolCalls {
			if d.Index == len(l.args) {
				l.args = append(l.args, pending{id: d.ID, name: d.Function.Name})
			}
			if d.Index < 0 || d.Index >= len(l.args) {
				return errors.New("a call without a begin")
			}
			p := &l.args[d.Index]
			p.args = append(p.args, d.Function.Arguments...)
		}
		if ch.FinishReason != "" {
			l.finish = ch.FinishReason
		}
	}
	return nil
}

// act runs the calls of the reply and adds both to what was said.
func (l *loop) act() error {
	m := said{Role: "assistant", ToolCalls: make([]saidCall, len(l.args))}
	for i, p := range l.args {
		m.ToolCalls[i] = saidCall{p.id, "function", function{p.name, string(p.args)}}
	}
	if err := l.add(m); err != nil {
		return err
	}
	for _, p := range l.args {
		if p.name != task.Tool {
			return fmt.Errorf("there is no tool %q", p.name)
		}
		var in task.Input
		if err := json.Unmarshal(p.args, &in); err != nil {
			return err
		}
		if err := l.add(result{"tool", p.id, l.task.Echo(in)}); err != nil {
			return err
		}
	}
	return nil
}

func (l *loop) add(message any) error {
	raw, err := json.Marshal(message)
	l.body = append(append(l.body, ','), raw...)
	return err
}

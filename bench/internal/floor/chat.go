package floor

import (
	"bytes"
	"encoding/json"
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

func chat() *format {
	return &format{
		path: "/chat/completions",
		first: `{"model":"` + task.Model + `","stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":16384,"tools":[{"type":"function","function":{"name":"` + task.Tool +
			`","description":"` + task.Description + `","parameters":` + task.Schema + `}}],"messages":[{"role":"system","content":"` + task.System +
			`"},{"role":"user","content":"` + task.Question + `"}`,
		last: `]}`,
		stop: "stop", calls: "tool_calls",
		sign: func(h http.Header) { h.Set("Authorization", "Bearer "+task.Key) },
		take: takeChunk,
		act:  actChat,
	}
}

var done = []byte("[DONE]")

func takeChunk(l *loop, event []byte) (end bool, err error) {
	if bytes.Equal(event, done) {
		return true, nil
	}
	var c chunk
	if err := json.Unmarshal(event, &c); err != nil {
		return false, err
	}
	if c.Usage != nil {
		l.tokens += c.Usage.PromptTokens + c.Usage.CompletionTokens
	}
	for _, ch := range c.Choices {
		l.text = append(l.text, ch.Delta.Content...)
		for _, d := range ch.Delta.ToolCalls {
			l.call(d.Index, d.ID, d.Function.Name)
			if err := l.more(d.Index, d.Function.Arguments); err != nil {
				return false, err
			}
		}
		if ch.FinishReason != "" {
			l.finish = ch.FinishReason
		}
	}
	return false, nil
}

func actChat(l *loop) error {
	m := said{Role: "assistant", ToolCalls: make([]saidCall, len(l.args))}
	for i, p := range l.args {
		m.ToolCalls[i] = saidCall{p.id, "function", function{p.name, string(p.args)}}
	}
	if err := l.add(m); err != nil {
		return err
	}
	for _, p := range l.args {
		text, err := l.tool(p)
		if err != nil {
			return err
		}
		if err := l.add(result{"tool", p.id, text}); err != nil {
			return err
		}
	}
	return nil
}

package floor

import (
	"encoding/json"
	"net/http"

	"github.com/uzda-dev/uzda/bench/internal/task"
)

// event is what the loop reads of an event of the Messages format.
type event struct {
	Type         string `json:"type"`
	ContentBlock struct {
		Type string `json:"type"`
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"content_block"`
	Delta struct {
		Text        string `json:"text"`
		PartialJSON string `json:"partial_json"`
		StopReason  string `json:"stop_reason"`
	} `json:"delta"`
	Message struct {
		Usage usage `json:"usage"`
	} `json:"message"`
	Usage usage `json:"usage"`
}

type usage struct {
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
}

// The blocks that a step adds, and the messages that hold them.
type (
	useBlock struct {
		Type  string          `json:"type"`
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	}
	uses struct {
		Role    string     `json:"role"`
		Content []useBlock `json:"content"`
	}
	resultBlock struct {
		Type      string `json:"type"`
		ToolUseID string `json:"tool_use_id"`
		Content   string `json:"content"`
	}
	results struct {
		Role    string        `json:"role"`
		Content []resultBlock `json:"content"`
	}
)

func messages() *format {
	return &format{
		path: "/messages",
		first: `{"model":"` + task.Model + `","stream":true,"max_tokens":16384,"tools":[{"name":"` + task.Tool +
			`","description":"` + task.Description + `","input_schema":` + task.Schema + `}],"system":"` + task.System +
			`","messages":[{"role":"user","content":"` + task.Question + `"}`,
		last: `]}`,
		stop: "end_turn", calls: "tool_use",
		sign: func(h http.Header) {
			h.Set("X-Api-Key", task.Key)
			h.Set("Anthropic-Version", "2023-06-01")
		},
		take: takeEvent,
		act:  actMessages,
	}
}

func takeEvent(l *loop, raw []byte) (end bool, err error) {
	var e event
	if err := json.Unmarshal(raw, &e); err != nil {
		return false, err
	}
	l.tokens += e.Message.Usage.InputTokens + e.Usage.OutputTokens
	switch e.Type {
	case "content_block_start":
		if e.ContentBlock.Type == "tool_use" {
			l.call(len(l.args), e.ContentBlock.ID, e.ContentBlock.Name)
		}
	case "content_block_delta":
		l.text = append(l.text, e.Delta.Text...)
		if e.Delta.PartialJSON != "" { // of the block that is open: the last
			return false, l.more(len(l.args)-1, e.Delta.PartialJSON)
		}
	case "message_delta":
		l.finish = e.Delta.StopReason
	}
	return e.Type == "message_stop", nil
}

func actMessages(l *loop) error {
	m := uses{Role: "assistant", Content: make([]useBlock, len(l.args))}
	for i, p := range l.args {
		m.Content[i] = useBlock{"tool_use", p.id, p.name, p.args}
	}
	if err := l.add(m); err != nil {
		return err
	}
	r := results{Role: "user", Content: make([]resultBlock, len(l.args))}
	for i, p := range l.args {
		text, err := l.tool(p)
		if err != nil {
			return err
		}
		r.Content[i] = resultBlock{"tool_result", p.id, text}
	}
	return l.add(r)
}

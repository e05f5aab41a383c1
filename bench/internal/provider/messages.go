package provider

import (
	"bytes"
	"fmt"

	"github.com/uzda-dev/uzda/bench/internal/task"
)

// events are the events of a reply in the Messages format.
type events struct{ bytes.Buffer }

func (e *events) event(kind, members string) {
	fmt.Fprintf(e, "event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, members)
}

// begin begins reply n: of four bytes a token, with the prefix cached.
func (e *events) begin(n int) {
	in := 200 + n*task.Step/4
	e.event("message_start", fmt.Sprintf(`,"message":{"id":"msg_%024d","type":"message","role":"assistant","model":%q,"content":[],"stop_reason":null,"stop_sequence":null,`+
		`"usage":{"input_tokens":%d,"cache_creation_input_tokens":0,"cache_read_input_tokens":%d,"output_tokens":1}}`, n, task.Model, in-in*9/10, in*9/10))
}

func (e *events) end(stop string) []byte {
	e.event("content_block_stop", `,"index":0`)
	e.event("message_delta", fmt.Sprintf(`,"delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":30}`, stop))
	e.event("message_stop", "")
	return bytes.Clone(e.Bytes())
}

// callMessage is the reply of step n: one call of a tool, its arguments in pieces.
func callMessage(n int, tool, args string) []byte {
	var e events
	e.begin(n)
	e.event("content_block_start", fmt.Sprintf(`,"index":0,"content_block":{"type":"tool_use","id":"toolu_%024d","name":%q,"input":{}}`, n, tool))
	for p := range pieces(args) {
		e.event("content_block_delta", `,"index":0,"delta":{"type":"input_json_delta","partial_json":`+p+`}`)
	}
	return e.end("tool_use")
}

// endMessage is the last reply, after n-1 steps: a text in pieces.
func endMessage(n int, text string) []byte {
	var e events
	e.begin(n)
	e.event("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`)
	for p := range pieces(text) {
		e.event("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":`+p+`}`)
	}
	return e.end("end_turn")
}

package anthropic_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/anthropic"
)

// An option that is null leaves out what the adapter would say.
func TestNullOptions(t *testing.T) {
	t.Parallel()
	half := 0.5
	req := hello(said("a"))
	req.Head.System, req.Head.Tools = "You help.", []uzda.ToolSpec{{Name: "f"}}
	req.Head.Params = uzda.Params{Effort: "high", Temperature: &half, Stops: []string{"X"}, Choice: "any",
		Options: options(`{"output_config":null,"temperature":null,"stop_sequences":null,"system":null,"tool_choice":null,"thinking":null,"container":null,"cache_control":null}`)}
	got := body(t, nil, req)
	if strings.Contains(got, "null") {
		t.Errorf("the request is %s", got)
	}
	for _, member := range []string{"output_config", "temperature", "stop_sequences", "system", "tool_choice", "thinking", "container"} {
		if strings.Contains(got, `"`+member+`"`) {
			t.Errorf("%s is in the request: %s", member, got)
		}
	}
}

// What the start of a message says of its end is no end: a stream that is cut
// after it is not whole. case:B03
func TestStartIsNoEnd(t *testing.T) {
	t.Parallel()
	early := strings.Replace(began, `"stop_reason":null`, `"stop_reason":"end_turn"`, 1)
	h := replies(t, events(early, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"half"}}`))
	_, err := ask(t, h.model(), hello())
	var p *uzda.ProviderError
	if !errors.As(err, &p) || p.Code != "cut" {
		t.Errorf("the error is %v", err)
	}
}

// A request that is too large for its pictures is sent once more without them.
func TestTooLargeMedia(t *testing.T) {
	t.Parallel()
	h := serve(t, nil)
	h.answer = func(n int, w http.ResponseWriter, _ *http.Request) {
		if strings.Contains(h.body(n), `"type":"image"`) {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			_, _ = fmt.Fprint(w, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, stream("end_turn", text("hi")))
	}
	req := hello(uzda.Message{Role: uzda.User, Blocks: uzda.Blocks{uzda.Media{Type: "image/png", Data: pngOf(2, 2)}, uzda.Text{Text: "what is it?"}}})
	if must(t, h.model(), req); h.count() != 2 {
		t.Errorf("there were %d requests", h.count())
	}
}

// No secret of a request is recorded: neither from an error in mid-stream nor in
// the origin of messages.
func TestSecrets(t *testing.T) {
	t.Parallel()
	const key, password = "sk-ant-secret-1234", "hush-hush-1"
	h := replies(t, events(began, `{"type":"error","error":{"type":"api_error","message":"the key `+key+` of `+password+` broke it"}}`), stream("end_turn", text("hi")))
	m := anthropic.Model{ID: "claude-test-1", Key: key, Base: strings.Replace(h.URL, "://", "://me:"+password+"@", 1), Tries: 1}
	_, err := ask(t, m, hello())
	if err == nil || strings.Contains(err.Error(), key) || strings.Contains(err.Error(), password) || !strings.Contains(err.Error(), "broke it") {
		t.Errorf("the error is %v", err)
	}
	if r := must(t, m, hello()); r.Stop.Origin.Base != h.URL {
		t.Errorf("the origin is %+v", r.Stop.Origin)
	}
}

package ollama

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/markup"
	"github.com/uzda-dev/uzda/internal/raw"
)

// finish ends the reply with its last line.
func (d *decoder) finish(last raw.Object) {
	content, thinking := "", ""
	if t := d.fold.Text("content"); t != nil {
		content = t.String()
	}
	if t := d.fold.Text("thinking"); t != nil {
		thinking = t.String()
	}
	recovered := d.recover(&content)
	d.rest("thinking", &d.thought, thinking)
	d.rest("text", &d.content, content)
	for _, c := range recovered {
		d.use(uzda.ToolUse{Name: c.Name, Input: c.Input, Raw: c.Raw})
	}
	var item *uzda.Item
	if len(recovered) == 0 {
		item = d.item(content, thinking)
	}
	for i, s := range d.slots {
		var out uzda.Done
		switch s.kind {
		case "text":
			out.Block = uzda.Text{Text: content}
		case "thinking":
			out.Block = uzda.Thinking{Text: thinking}
		default:
			out.Block = s.use
		}
		if i == len(d.slots)-1 {
			out.Item = item
		}
		d.pass(out)
	}
	stop := uzda.Stop{Raw: text(last.Get("done_reason")), Usage: d.usage(last), Origin: &d.origin, Request: d.request}
	stop.Reason = d.reason(stop)
	if w, ok := d.cut(stop.Usage.Input); ok && !d.over {
		d.pass(w)
	}
	d.pass(stop)
	d.over = true
}

// rest shows what was held back of a text.
func (d *decoder) rest(kind string, s *said, whole string) {
	s.held = ""
	d.show(kind, s, whole[min(s.shown, len(whole)):])
}

// recover takes calls out of the text that the server did not see there. Those
// that came as calls too are left out.
func (d *decoder) recover(content *string) []markup.Call {
	if d.screen == nil {
		return nil
	}
	plain, calls, ok := markup.Find(*content, d.body.known)
	if !ok {
		return nil
	}
	*content = plain
	mark := func(name string, input json.RawMessage) string { return name + "\x00" + string(raw.Compact(input)) }
	heard := map[string]bool{}
	for _, s := range d.slots {
		if s.kind == "input" {
			heard[mark(s.use.Name, s.use.Input)] = true
		}
	}
	calls = slices.DeleteFunc(calls[:min(len(calls), maxCalls)], func(c markup.Call) bool { return c.Raw == "" && heard[mark(c.Name, c.Input)] })
	if len(calls) > 0 {
		d.pass(uzda.Warning{Code: "markup", Text: fmt.Sprintf("%s wrote a call of %s into its text, in a form that the server does not know", d.origin.Model, calls[0].Name),
			Hint: fmt.Sprintf("update Ollama and the model (`ollama pull %s`), whose template should know the form; or use another model", d.origin.Model)})
	}
	return calls
}

// item is the message as it came, nil where encoding its blocks gives the same.
func (d *decoder) item(content, thinking string) *uzda.Item {
	if len(d.slots) == 0 {
		return nil
	}
	if len(d.calls) > 0 {
		all := append(bytes.Join(rawBytes(d.calls), []byte{','}), ']')
		d.fold.Set("tool_calls", append([]byte{'['}, all...))
	}
	came := d.fold.JSON()
	var r reply
	for _, s := range d.slots {
		switch s.kind {
		case "text":
			r.text = content
		case "thinking":
			r.thinking = thinking
		default:
			r.calls = append(r.calls, call{s.use.Wire, s.use.Name, s.use.Input})
		}
	}
	if o, err := raw.Parse(came); err == nil { // strings may be written in many ways
		for _, key := range []string{"content", "thinking"} {
			if v := o.Get(key); len(v) > 0 && v[0] == '"' {
				o.Set(key, raw.AppendString(nil, text(v)))
			}
		}
		if bytes.Equal(o.Append(nil), r.append(nil)) && !slices.ContainsFunc(r.calls, func(c call) bool { return c.id == "" }) {
			return nil
		}
	}
	return &uzda.Item{Blocks: len(d.slots), Raw: came}
}

func rawBytes(all []json.RawMessage) [][]byte {
	out := make([][]byte, len(all))
	for i, one := range all {
		out[i] = one
	}
	return out
}

// reason says why the model stopped. Older servers say nothing, and only when all
// is well. A reply that ends at the window is not mended by a higher limit.
func (d *decoder) reason(s uzda.Stop) uzda.StopReason {
	calls, broken := false, false
	for _, one := range d.slots {
		calls = calls || one.kind == "input"
		broken = broken || one.use.Raw != ""
	}
	switch {
	case s.Raw == "length" && !s.Usage.AtLeast && s.Usage.Output < d.body.max && full(s.Usage, d.body.numCtx):
		return uzda.StopContext
	case s.Raw == "length":
		return uzda.StopLength
	case s.Raw != "stop" && s.Raw != "":
		return uzda.StopUnknown // "load", "unload": nothing was asked
	case broken && s.Usage.Output >= d.body.max:
		return uzda.StopLength
	case calls:
		return uzda.StopUse
	}
	return uzda.StopEnd
}

// full says whether a reply ended where the window does, give or take what the
// server keeps free.
func full(u uzda.Usage, numCtx int) bool {
	return numCtx > 0 && u.Context()+u.Output >= numCtx-max(16, numCtx/50)
}

// usage reads the counts of the last line. Where the prompt was read before, some
// servers leave its count out.
func (d *decoder) usage(last raw.Object) uzda.Usage {
	u := uzda.Usage{Input: count(last.Get("prompt_eval_count")), Output: count(last.Get("eval_count"))}
	if u.Input == 0 {
		u.AtLeast = true
	}
	if u.Output == 0 && d.size > 0 {
		u.Output, u.AtLeast = (d.size+3)/4, true
	}
	return u
}

// cut says whether the server cut the prompt, which older ones do in silence:
// from the front, where the tools and the task are.
func (e *endpoint) cut(ctx context.Context, b *body, read int) (uzda.Warning, bool) {
	const (
		usual  = 4    // bytes of text for a token
		many   = 6    // more than most text has
		absurd = 16   // more than any text has
		small  = 2000 // tokens that fit into every window
	)
	if read <= 0 || b.sent < many*read || b.sent < usual*small {
		return uzda.Warning{}, false
	}
	window := e.loaded(ctx)
	switch {
	case window == 0: // an older server, which counts only what it had not read before
		const least = 1000
		if read < least || b.sent < 2*usual*read || b.replies > 0 {
			return uzda.Warning{}, false
		}
		window = read
	case b.sent/usual <= window, b.sent < absurd*read && read < window/10*9: // a cut prompt fills the window
		return uzda.Warning{}, false
	}
	return uzda.Warning{
		Code: "prompt_cut",
		Text: fmt.Sprintf("%s read only %d tokens of about %d that were sent: its window has %d, and the front of the prompt, with the task and the tools, was cut off",
			e.client.Name, read, b.sent/usual, window),
		Hint: fmt.Sprintf("start the server with OLLAMA_CONTEXT_LENGTH=%d or set the model's num_ctx; something between here and the server may drop the num_ctx of %d that was sent",
			max(b.numCtx, DefaultNumCtx), b.numCtx),
	}, true
}

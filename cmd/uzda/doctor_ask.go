package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/cost"
	"github.com/uzda-dev/uzda/model/ollama"
)

// ask sends a request and adds up what it took.
func (e *examination) ask(ctx context.Context, req *uzda.Request) (asking, error) {
	a, err := e.work.ask(ctx, e.m, req)
	e.asked++
	e.spent, e.known = e.spent+a.cost, e.known && a.known
	e.tokens += a.reply.Stop.Usage.Total()
	for _, w := range a.warnings {
		if !e.warned[w.Code] {
			e.warned[w.Code] = true
			e.found.bad("warning", w.Text, w.Hint)
		}
	}
	return a, err
}

// reply asks for some text, and looks at how it comes.
func (e *examination) reply(ctx context.Context) bool {
	a, err := e.ask(ctx, e.say(e.t, "Write the numbers from one to twenty as words, with a space between them."))
	if err != nil {
		var p *uzda.ProviderError
		if errors.As(err, &p) && p.Code == "not_found" && len(e.listed) > 0 {
			p.Hint = e.near()
		}
		e.fail("reply", err)
		return false
	}
	if e.absent {
		e.found.good("name", "the service does not list %s, but knows it", e.t.id)
	} else if e.row() != nil {
		e.found.good("name", "the service lists %s", e.t.id)
	}
	text := a.reply.Message.String()
	switch {
	case a.reply.Stop.Reason == uzda.StopRefusal:
		e.found.bad("reply", "it refuses to count to twenty", "use another model")
		return true
	case strings.TrimSpace(text) == "" && a.reply.Stop.Reason != uzda.StopLength:
		e.found.bad("reply", fmt.Sprintf("it is empty (%s)", a.reply.Stop.Reason), "use another model, or look at its server's log")
		return true
	}
	retried := ""
	if n := len(a.attempts); n > 0 {
		retried = fmt.Sprintf("; sent %s again: %s", plural(n, "time"), a.attempts[n-1].Error)
	}
	e.found.good("reply", "%s%s", a.bill(), retried)
	if a.pieces < 2 {
		e.found.bad("stream", "the reply came in one piece", "something between here and the service holds it back: a proxy, or the server's own setting. Runs work, but show nothing while they wait")
	} else {
		e.found.good("stream", "%s, the first after %.1f s", plural(a.pieces, "piece"), a.first.Seconds())
	}
	return true
}

// near says which of the service's models may have been meant.
func (e *examination) near() string {
	var ids []string
	for _, m := range e.listed {
		ids = append(ids, m.ID)
	}
	near := uzda.Nearest(e.t.ID, ids, 3)
	if len(near) == 0 {
		near = ids[:min(len(ids), 5)]
	}
	return "the service has " + strings.Join(near, ", ")
}

// secretWord is what the model can only learn by a call.
const secretWord = "marmalade"

// calls has the model call a tool and use its result.
func (e *examination) calls(ctx context.Context) {
	const what = "tools"
	if e.lacks(cost.Tools) {
		e.found.good(what, "it has none: it can only talk")
		return
	}
	req := e.say(e.t, "Open box 7 with the tool, then tell me the word that lies in it.")
	req.Head.Tools = []uzda.ToolSpec{{Name: "open_box", Description: "Opens a box and returns the word in it. Use when the user asks for the word in a box.",
		Input: json.RawMessage(`{"type":"object","properties":{"box":{"type":"integer","description":"number of the box"}},"required":["box"],"additionalProperties":false}`)}}
	a, err := e.ask(ctx, req)
	if err != nil {
		e.fail(what, err)
		return
	}
	message, results, wrong := opened(a.reply.Message)
	switch {
	case len(results) == 0 && a.reply.Stop.Reason == uzda.StopLength:
		e.found.bad(what, fmt.Sprintf("it did not come to a call within %s tokens", thousands(req.Max)), "use a model that thinks less, or set a lower effort")
		return
	case len(results) == 0:
		e.found.bad(what, "it did not call the tool, but said: "+uzda.Clip(a.reply.Message.String(), 120), "use a model that can call tools; for a local one check its template (llama-server wants --jinja)")
		return
	case wrong != "":
		e.found.bad(what, "it called the tool wrongly: "+wrong, "use another model; small ones often cannot do it")
		return
	}
	req.View = append(req.View, uzda.Entry{Seq: 3, Message: message}, uzda.Entry{Seq: 4, Message: uzda.Message{Role: uzda.User, Blocks: results}})
	req.Ask = 2
	again, err := e.ask(ctx, req)
	switch {
	case err != nil:
		e.fail(what, err)
	case !strings.Contains(strings.ToLower(again.reply.Message.String()), secretWord):
		e.found.bad(what, "it called the tool, but did not use the result; it said: "+uzda.Clip(again.reply.Message.String(), 120), "use another model")
	default:
		e.found.good(what, "a call with its argument, and the result used")
	}
}

// opened names the calls of a message as the loop does, and answers them. Wrong
// is what is the matter with the first.
func opened(m uzda.Message) (named uzda.Message, results uzda.Blocks, wrong string) {
	m.Blocks = slices.Clone(m.Blocks)
	for i, b := range m.Blocks {
		u, ok := b.(uzda.ToolUse)
		if !ok {
			continue
		}
		var in struct{ Box json.Number }
		switch err := json.Unmarshal(u.Input, &in); {
		case wrong != "":
		case u.Name != "open_box":
			wrong = fmt.Sprintf("it called %q", u.Name)
		case u.Raw != "" || err != nil || in.Box != "7":
			wrong = "its arguments were " + uzda.Clip(cmp.Or(u.Raw, string(u.Input)), 120)
		}
		u.ID = uzda.UseID(fmt.Sprintf("3.%d", len(results)+1))
		m.Blocks[i] = u
		results = append(results, uzda.ToolResult{Use: u.ID, Blocks: uzda.Say(`{"word":"` + secretWord + `"}`)})
	}
	return m, results, wrong
}

// schema asks for an answer that fits a schema.
func (e *examination) schema(ctx context.Context) {
	const what = "schema"
	req := e.say(e.t, "Is 7 a prime number? Answer with a JSON object that has one member, prime: true or false.")
	req.Head.Params.Schema = json.RawMessage(`{"type":"object","properties":{"prime":{"type":"boolean"}},"required":["prime"],"additionalProperties":false}`)
	a, err := e.ask(ctx, req)
	if err != nil {
		e.fail(what, err)
		return
	}
	var got struct{ Prime *bool }
	text := strings.TrimSpace(a.reply.Message.String())
	err = json.Unmarshal([]byte(text), &got)
	switch {
	case err == nil && got.Prime != nil:
		e.found.good(what, "an answer that fits")
	case e.lacks(cost.Schema):
		e.found.good(what, "it is not held to one by its service; answers are checked, and asked for again")
	default:
		e.found.bad(what, "the answer does not fit: "+uzda.Clip(text, 120), "answers are checked and asked for again; where they matter use another model")
	}
}

// lacks says whether the model is known not to have an ability.
func (e *examination) lacks(ability string) bool {
	if o, ok := e.m.(ollama.Model); ok && ability == cost.Tools {
		return !o.Can("tools")
	}
	return cmp.Or(e.row(), e.prices.Model(e.t.ID)).Lacks(ability)
}

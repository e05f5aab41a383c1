package main

import (
	"encoding/json"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/answer"
)

// fit holds an agent to the schema of the answer: that of the settings, or the one
// that the session that goes on was held to.
func (w *work) fit(a agent.Agent, s *agent.State) (agent.Agent, error) {
	raw, from := s.Gear.Params.Schema, "the session"
	if !w.goesOn {
		raw = nil
	}
	if w.cfg.Schema != "" {
		from = w.cfg.Origin("schema")
		data, err := readFile(w.cfg.Schema, "schema ("+from+")")
		if err != nil {
			return a, err
		}
		raw = json.RawMessage(data)
	}
	if len(raw) == 0 {
		return a, nil
	}
	form, err := answer.New(raw)
	if err != nil {
		return a, fail(uzda.ConfigError, "a schema of an object, such as {\"type\":\"object\",\"properties\":{…},\"required\":[…]}", "schema (%s): %v", from, err)
	}
	w.form = &form
	return form.Fit(a), nil
}

// answerOf is the answer of a turn that is done, as the schema has it; what was
// said last in any other turn is no answer.
func (w *work) answerOf(o *uzda.Outcome) string {
	if o.Reason.Outcome() != uzda.Finished {
		return ""
	}
	if w.form != nil {
		if raw, err := w.form.Read(o.Answer); err == nil {
			return string(raw)
		}
	}
	return o.Answer
}

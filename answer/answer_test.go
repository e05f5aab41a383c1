package answer_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/answer"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/model/script"
	"github.com/uzda-dev/uzda/session"
)

type invoice struct {
	Number string `json:"number" doc:"as printed"`
	Total  int    `json:"total" doc:"in cents"`
	Lines  []struct {
		Text string `json:"text"`
	} `json:"lines,omitempty"`
}

// What models wrap an object in is taken off, what is meant is mended, and what
// is wrong is named. M3
func TestRead(t *testing.T) {
	t.Parallel()
	f := answer.Of[invoice]()
	for name, tt := range map[string]struct{ text, want, wrong string }{
		"bare":                {`{"number":"7/2026","total":1250}`, `{"number":"7/2026","total":1250}`, ""},
		"white space":         {"\n\t {\"number\":\"7\",\"total\":1}\r\n", `{"number":"7","total":1}`, ""},
		"fence":               {"```json\n{\"number\":\"7\",\"total\":1}\n```", `{"number":"7","total":1}`, ""},
		"words around":        {"Here it is: {\"number\":\"7\",\"total\":1} I hope {that} helps.", `{"number":"7","total":1}`, ""},
		"brace before":        {"The set {a, b}: {\"number\":\"7\",\"total\":1}", `{"number":"7","total":1}`, ""},
		"number as text":      {`{"number":"7","total":"12"}`, `{"number":"7","total":12}`, ""},
		"object in a string":  {`"{\"number\":\"7\",\"total\":1}"`, `{"number":"7","total":1}`, ""},
		"polish":              {`{"number":"Żółw 🐢","total":1}`, `{"number":"Żółw 🐢","total":1}`, ""},
		"no object":           {"It is seven.", "", "no JSON object"},
		"nothing":             {"", "", "no JSON object"},
		"cut":                 {`{"number":"7","tot`, "", "no JSON object"},
		"field missing":       {`{"number":"7"}`, "", "total"},
		"wrong type":          {`{"number":"7","total":"a lot"}`, "", "total"},
		"a list":              {`[{"number":"7","total":1}]`, "", "must be an object"},
		"two that fit":        {`{"number":"7","total":1} {"number":"8","total":2}`, "", "more than one"},
		"one of two fits":     {`{"thought":"hm"} {"number":"8","total":2}`, `{"number":"8","total":2}`, ""},
		"many braces":         {strings.Repeat("{", 100_000), "", "no JSON object"},
		"an error of a field": {`{"number":7,"total":1}`, "", "number"},
	} {
		got, err := f.Read(tt.text)
		if string(got) != tt.want || (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s: %s, %v; want %s, %q", name, got, err, tt.want, tt.wrong)
		}
	}
}

func ask(t *testing.T, a agent.Agent, turns ...script.Turn) (invoice, []uzda.Event, error) {
	t.Helper()
	a.Model = script.Model{Turns: turns}
	store := journal.Memory()
	host := session.New(session.Config{Store: store, Agents: map[string]agent.Agent{"clerk": answer.Of[invoice]().Fit(a)}})
	defer host.Close()
	got, err := answer.Ask[invoice](t.Context(), host, "clerk", "Read the invoice.")
	var evs []uzda.Event
	for info, err := range store.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range store.Read(t.Context(), info.ID, 0) {
			if err != nil {
				t.Fatal(err)
			}
			evs = append(evs, e)
		}
	}
	return got, evs, err
}

// A Go type is what comes back; what does not fit goes back to the model with the
// reason, a bounded number of times. M3 L8
func TestAsk(t *testing.T) {
	t.Parallel()
	good, bad := script.Turn{Text: `{"number":"7","total":1250}`}, script.Turn{Text: `{"number":"7"}`}
	got, evs, err := ask(t, agent.Agent{System: "You read invoices."}, bad, good)
	if err != nil || got.Number != "7" || got.Total != 1250 {
		t.Fatalf("%+v, %v", got, err)
	}
	told := ""
	for _, e := range evs {
		switch b := e.Body.(type) {
		case uzda.Equipped:
			if !strings.HasPrefix(b.System, "You read invoices.") || !strings.Contains(b.System, `"number"`) || !json.Valid(b.Params.Schema) {
				t.Errorf("the model is told %q, its schema is %s", b.System, b.Params.Schema)
			}
		case uzda.Verified:
			told += b.Blocks.String()
		}
	}
	if !strings.Contains(told, "total") {
		t.Errorf("what goes back names no field: %q", told)
	}
	var o *uzda.Outcome
	if _, _, err := ask(t, agent.Agent{}, bad, bad, bad, bad, bad); !errors.As(err, &o) || o.Reason != uzda.Unverified || !strings.Contains(o.Detail, "schema of the answer") {
		t.Errorf("an answer that never fits ends with %v", err)
	}
}

// The agent's own verifier is asked after the schema.
func TestThen(t *testing.T) {
	t.Parallel()
	good := script.Turn{Text: `{"number":"7","total":1250}`}
	if _, _, err := ask(t, agent.Agent{Verify: agent.Command{Line: "exit 1"}, Limits: uzda.Limits{Rejections: 1}}, good); err == nil || !strings.Contains(err.Error(), "exit 1") {
		t.Errorf("the verifier was not asked: %v", err)
	}
	if _, _, err := ask(t, agent.Agent{Verify: agent.Command{Line: "exit 0"}}, good); err != nil {
		t.Error(err)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{`{`, `[]`, `{"type":"array","items":{}}`, `{"type":"string"}`, `{"$ref":"https://example.com/x"}`} {
		if _, err := answer.New(json.RawMessage(raw)); err == nil || !strings.HasPrefix(err.Error(), "schema of the answer: ") {
			t.Errorf("%s: %v", raw, err)
		}
	}
	if _, err := answer.New(json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":"string"}}}`)); err != nil {
		t.Error(err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"number":"7","total":1} {`)
	f.Add("```json\n{}\n```")
	form := answer.Of[invoice]()
	f.Fuzz(func(t *testing.T, text string) {
		raw, err := form.Read(text)
		if err != nil {
			return
		}
		again, err := form.Read(string(raw))
		if err != nil || string(again) != string(raw) {
			t.Errorf("%q gave %s, which reads as %s, %v", text, raw, again, err)
		}
	})
}

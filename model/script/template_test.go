package script_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/script"
)

// results is a view whose tool results have the given texts, two a message.
func results(texts ...string) []uzda.Entry {
	view := []uzda.Entry{{Seq: 1, Message: uzda.Message{Role: uzda.User, Blocks: uzda.Say("Go.")}}}
	for i, text := range texts {
		id := uzda.UseID(fmt.Sprintf("%d.1", i+2))
		view = append(view,
			uzda.Entry{Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Blocks{uzda.ToolUse{ID: id, Name: "q", Input: []byte("{}")}}}},
			uzda.Entry{Message: uzda.Message{Role: uzda.User, Blocks: uzda.Blocks{uzda.ToolResult{Use: id, Blocks: uzda.Say(text)}}}})
	}
	return view
}

var filled = []string{
	`{"columns":["id","name","the.note","gone","total"],"rows":[[7,"Żaneta \"Z\"","dots",null,12.50],[8,"Bo","",null,1e3]]}`,
	`[{"id":1,"tags":["a","b"]},{"id":2}]`,
	`{"status":"shipped","lines":[{"sku":"A1"}],"open":true}`,
	`plain words`,
	`{"columns":[{"name":"n","type":"int"}],"rows":[[90071992547409931]]}`,
}

// M5: templates are filled from the results of the view, in texts and in calls.
func TestTemplates(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"{{result.1.row.0.name}}":                              `Żaneta "Z"`,
		"{{ result.1.row.1.id }} and {{result.1.row.0.total}}": "8 and 12.50",
		"{{result.1.row.0.the.note}}":                          "dots",
		"{{result.1.row.0.gone}}":                              "null",
		"[{{result.1.row.1.the.note}}]":                        "[]",
		"{{result.2.row.1.id}}":                                "2",
		"{{result.2.row.0.tags.1}}":                            "b",
		"{{result.2.0.tags}}":                                  `["a","b"]`,
		"{{result.3.status}}":                                  "shipped",
		"{{result.3.row.0.status}}":                            "shipped",
		"{{result.3.lines.0.sku}}":                             "A1",
		"{{result.3.open}}":                                    "true",
		"{{result.4.text}}!":                                   "plain words!",
		"{{result.5.row.0.n}}":                                 "90071992547409931",
		"{{secret:KEY}} {{other}} {{results}}":                 "{{secret:KEY}} {{other}} {{results}}",
	} {
		m := script.Model{Turns: []script.Turn{{Text: in, Thinking: in, Calls: []script.Call{
			{Name: "a", Input: `{"deep":[{"x":` + quote(in) + `}],"n":1.50}`},
			{Name: "b", Input: `broken ` + in},
		}}}}
		r := ask(1)
		r.View = results(filled...)
		got := reply(t, m, r).Message
		uses := got.Uses()
		if got.String() != want {
			t.Errorf("%s became %q, not %q", in, got, want)
		}
		if wantInput := `{"deep":[{"x":` + quote(want) + `}],"n":1.50}`; string(uses[0].Input) != wantInput {
			t.Errorf("%s in a call became %s, not %s", in, uses[0].Input, wantInput)
		}
		if uses[1].Raw != "broken "+want {
			t.Errorf("%s in broken arguments became %q", in, uses[1].Raw)
		}
	}
}

func quote(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }

// M5: a template that cannot be filled names its turn, itself and what is there;
// it never becomes an empty text.
func TestTemplatesThatCannotBeFilled(t *testing.T) {
	t.Parallel()
	for in, says := range map[string]string{
		"{{result.9.text}}":                     "the view has 5 tool results",
		"{{result.1.row.0.nme}}":                "row 0 has the columns id, name, the.note, gone, total",
		"{{result.1.row.2.id}}":                 "the result has 2 rows, and rows count from 0",
		"{{result.1.row.x.id}}":                 `"x" is no number of a row`,
		"{{result.1.row.0}}":                    "write row.0.COLUMN",
		"{{result.3.state}}":                    `the result has no field "state", but lines, open, status`,
		"{{result.3.status.x}}":                 `status is "shipped", which has no field "x"`,
		"{{result.2.5}}":                        `the result has 2 items, and "5" is the index of none`,
		"{{result.4.row.0.id}}":                 `the result is no JSON: "plain words"`,
		"{{result.0.row.9.id}}":                 "the result has 2 rows, and rows count from 0",
		"{{result.one.text}}":                   "begins a template that is none",
		"{{result.1.text":                       "begins a template that is none",
		"{{result}}":                            "begins a template that is none",
		"{{result.1.}}":                         "begins a template that is none",
		"{{result.999999999999999999999.text}}": "tool results",
	} {
		m := script.Model{Turns: []script.Turn{{Text: "fine"}, {Text: in}}}
		r := ask(2)
		r.View = results(filled...)
		got, err := uzda.Collect(m.Stream(t.Context(), r), nil)
		var p *uzda.ProviderError
		if !errors.As(err, &p) || p.Code != "invalid_request" || p.Hint == "" {
			t.Errorf("%s gave %v", in, err)
			continue
		}
		for _, want := range []string{"turn 2 of the script", says, strings.TrimSuffix(in, "}}")} {
			if !strings.Contains(p.Message, want) {
				t.Errorf("%s: the message %q does not say %q", in, p.Message, want)
			}
		}
		if len(got.Message.Blocks) > 0 || got.Partial != "" {
			t.Errorf("%s: before the error came %+v", in, got)
		}
	}
}

// M5: a script that names result.0 anywhere counts its results from 0.
func TestTemplatesFromZero(t *testing.T) {
	t.Parallel()
	m := script.Model{Turns: []script.Turn{{Text: "{{result.1.text}}"}, {Calls: []script.Call{{Name: "x", Input: `{"a":"{{ result.0.text }}"}`}}}}}
	for n, want := range []string{"two", `{"a":"one"}`} {
		r := ask(n + 1)
		r.View = results("one", "two")
		got, err := uzda.Collect(m.Stream(t.Context(), r), nil)
		if err != nil {
			t.Fatal(err)
		}
		text := got.Message.String()
		if uses := got.Message.Uses(); len(uses) > 0 {
			text = string(uses[0].Input)
		}
		if text != want {
			t.Errorf("turn %d: %s, want %s", n+1, text, want)
		}
	}
}

// M5: an error result says that it is one.
func TestTemplateOfAnErrorResult(t *testing.T) {
	t.Parallel()
	r := ask(1)
	r.View = results("no such table: ordrs")
	res := r.View[2].Message.Blocks[0].(uzda.ToolResult)
	res.IsError = true
	r.View[2].Message.Blocks[0] = res
	_, err := uzda.Collect(script.Model{Turns: []script.Turn{{Text: "{{result.1.row.0.id}}"}}}.Stream(t.Context(), r), nil)
	if err == nil || !strings.Contains(err.Error(), `the result is an error and is no JSON: "no such table: ordrs"`) {
		t.Errorf("the error is %v", err)
	}
}

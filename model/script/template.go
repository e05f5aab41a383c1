package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/uzda-dev/uzda"
)

// A template is {{result.N.PATH}}: PATH is text, row.N.COLUMN, or keys and
// indices joined by dots. N counts the results in the view from 1, or from 0 in a
// script that names result.0 anywhere; rows count from 0.
var (
	fromZero  = regexp.MustCompile(`\{\{\s*result\.0+\.`)
	templates = regexp.MustCompile(`\{\{\s*result\.([0-9]+)\.([^{}]*?[^{}\s])\s*\}\}`)
	begins    = regexp.MustCompile(`\{\{\s*result\b`)
)

const forms = "{{result.1.row.0.COLUMN}}, {{result.1.text}} or {{result.1.FIELD}}"

// wellFormed says what is wrong with the templates of a text, before any ask.
func wellFormed(text string) error {
	rest := templates.ReplaceAllString(text, "")
	if at := begins.FindStringIndex(rest); at != nil {
		return fmt.Errorf("%q begins a template that is none; templates are %s", uzda.Clip(rest[at[0]:], 40), forms)
	}
	return nil
}

// first is the number of the first result in the templates of some turns.
func first(turns []Turn) int {
	for _, t := range turns {
		if fromZero.MatchString(t.Text) || fromZero.MatchString(t.Thinking) ||
			slices.ContainsFunc(t.Calls, func(c Call) bool { return fromZero.MatchString(c.Input) }) {
			return 0
		}
	}
	return 1
}

// fill returns the turn with its templates filled from the results of the view.
// The turns are all of the script: they say from where it counts.
func (t Turn) fill(place int, turns []Turn, view []uzda.Entry) (Turn, error) {
	f := filler{place: place, turns: turns, view: view}
	t.Text = f.text(t.Text)
	t.Thinking = f.text(t.Thinking)
	if slices.ContainsFunc(t.Calls, func(c Call) bool { return begins.MatchString(c.Input) }) {
		t.Calls = slices.Clone(t.Calls) // the script stays as it is
		for i, c := range t.Calls {
			t.Calls[i].Input = f.input(c.Input)
		}
	}
	if f.err != nil {
		return t, f.err
	}
	return t, nil
}

type filler struct {
	place   int
	turns   []Turn
	first   int
	view    []uzda.Entry
	results []uzda.ToolResult
	err     error
}

func (f *filler) text(s string) string {
	if f.err != nil || !begins.MatchString(s) {
		return s
	}
	if f.results == nil {
		f.first = first(f.turns)
		for _, e := range f.view {
			f.results = append(f.results, e.Message.Results()...)
		}
	}
	if err := wellFormed(s); err != nil {
		f.fail(err.Error())
		return s
	}
	return templates.ReplaceAllStringFunc(s, func(t string) string {
		parts := templates.FindStringSubmatch(t)
		n, err := strconv.Atoi(parts[1])
		if n -= f.first; err != nil || n < 0 || n >= len(f.results) {
			f.fail(fmt.Sprintf("%s cannot be filled: the view has %s", t, count(len(f.results), "tool result")))
			return t
		}
		value, err := lookUp(f.results[n], parts[2])
		if err != nil {
			f.fail(fmt.Sprintf("%s cannot be filled: %v", t, err))
		}
		return value
	})
}

func (f *filler) fail(what string) {
	if f.err == nil {
		f.err = &uzda.ProviderError{
			Code:    "invalid_request",
			Message: fmt.Sprintf("turn %d of the script: %s", f.place, what),
			Hint:    "mend the template in the script; it may be " + forms,
		}
	}
}

// input fills the string values of an object, and broken arguments as they are.
func (f *filler) input(raw string) string {
	if !json.Valid([]byte(raw)) {
		return f.text(raw)
	}
	var out strings.Builder
	from := 0
	for i := 0; i < len(raw); i++ {
		if raw[i] != '"' {
			continue
		}
		start := i
		for i++; raw[i] != '"'; i++ {
			if raw[i] == '\\' {
				i++
			}
		}
		literal := raw[start : i+1]
		key := strings.HasPrefix(strings.TrimLeft(raw[i+1:], " \t\r\n"), ":")
		var value string
		if key || json.Unmarshal([]byte(literal), &value) != nil || !begins.MatchString(value) {
			continue
		}
		out.WriteString(raw[from:start])
		out.WriteString(compact(f.text(value)))
		from = i + 1
	}
	return out.String() + raw[from:]
}

// lookUp finds what a template names in a result.
func lookUp(r uzda.ToolResult, rest string) (string, error) {
	text := r.Blocks.String()
	if rest == "text" {
		return text, nil
	}
	v, ok := read(r.Blocks)
	if !ok {
		what := "the result"
		if r.IsError {
			what = "the result is an error and"
		}
		return "", fmt.Errorf("%s is no JSON: %q", what, uzda.Clip(text, 120))
	}
	steps := strings.Split(rest, ".")
	if rows, ok := table(v); ok && steps[0] == "row" {
		return cell(rows, steps[1:])
	}
	v, err := descend(v, steps, "the result")
	if err != nil {
		return "", err
	}
	return show(v), nil
}

// read decodes a result: its whole text, or the first block that is JSON.
func read(bs uzda.Blocks) (any, bool) {
	texts := []string{bs.String()}
	for _, b := range bs {
		if t, ok := b.(uzda.Text); ok {
			texts = append(texts, t.Text)
		}
	}
	for _, t := range texts {
		d := json.NewDecoder(strings.NewReader(t))
		d.UseNumber()
		var v any
		if d.Decode(&v) == nil && !d.More() {
			return v, true
		}
	}
	return nil, false
}

// A row knows its columns in order.
type row struct {
	names  []string
	values map[string]any
}

// table reads columns and rows, an array of objects, or an object as its one row.
func table(v any) ([]row, bool) {
	m, isObject := v.(map[string]any)
	list, isArray := v.([]any)
	var names []string
	if isObject {
		if list, isArray = m["rows"].([]any); !isArray {
			_, own := m["row"]
			return []row{object(m)}, !own
		}
		columns, _ := m["columns"].([]any)
		for _, c := range columns {
			if o, ok := c.(map[string]any); ok {
				c = o["name"]
			}
			names = append(names, show(c))
		}
	}
	if !isArray {
		return nil, false
	}
	var rows []row
	for _, one := range list {
		switch one := one.(type) {
		case map[string]any:
			rows = append(rows, object(one))
		case []any:
			r := row{names: names, values: map[string]any{}}
			for i, name := range names {
				if _, twice := r.values[name]; !twice && i < len(one) {
					r.values[name] = one[i]
				}
			}
			rows = append(rows, r)
		default:
			return nil, false
		}
	}
	return rows, true
}

func object(m map[string]any) row { return row{names: keys(m), values: m} }

func keys(m map[string]any) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func cell(rows []row, steps []string) (string, error) {
	if len(steps) < 2 {
		return "", fmt.Errorf("a row and a column are missing; write row.0.COLUMN")
	}
	n, err := strconv.Atoi(steps[0])
	if err != nil || n < 0 {
		return "", fmt.Errorf("%q is no number of a row; rows count from 0", steps[0])
	}
	if n >= len(rows) {
		return "", fmt.Errorf("the result has %s, and rows count from 0", count(len(rows), "row"))
	}
	r := rows[n]
	if v, ok := r.values[strings.Join(steps[1:], ".")]; ok { // a name may hold dots
		return show(v), nil
	}
	v, ok := r.values[steps[1]]
	if !ok {
		return "", fmt.Errorf("row %d has the columns %s", n, list(r.names))
	}
	if v, err = descend(v, steps[2:], "the cell"); err != nil {
		return "", err
	}
	return show(v), nil
}

// descend follows keys and indices.
func descend(v any, steps []string, where string) (any, error) {
	for _, s := range steps {
		switch in := v.(type) {
		case map[string]any:
			next, ok := in[s]
			if !ok {
				return nil, fmt.Errorf("%s has no field %q, but %s", where, s, list(keys(in)))
			}
			v = next
		case []any:
			i, err := strconv.Atoi(s)
			if err != nil || i < 0 || i >= len(in) {
				return nil, fmt.Errorf("%s has %s, and %q is the index of none", where, count(len(in), "item"), s)
			}
			v = in[i]
		default:
			return nil, fmt.Errorf("%s is %s, which has no field %q", where, uzda.Clip(compact(v), 80), s)
		}
		where = s
	}
	return v, nil
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return uzda.Clip(strings.Join(names, ", "), 200)
}

// show writes a value as a text: a string as it is, anything else as JSON.
func show(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return compact(v)
}

func compact(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimRight(b.String(), "\n")
}

package schema_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda/internal/schema"
)

type page struct {
	Page int `json:"page,omitempty" doc:"from 1"`
}

type search struct {
	OrderID string          `json:"order_id" doc:"for example ORD-10422, a<b & c>d"`
	Limit   *int            `json:"limit" doc:"at most 500"`
	States  []string        `json:"states,omitempty" enum:"open,sent"`
	Level   int             `json:"level,omitzero" enum:"1,2"`
	Since   time.Time       `json:"since,omitzero"`
	Any     any             `json:"any,omitempty"`
	Raw     json.RawMessage `json:"raw,omitempty"`
	Bytes   []byte          `json:"bytes,omitempty"`
	Counts  map[string]int  `json:"counts,omitempty"`
	Who     *struct {
		Names []string `json:"names"`
	} `json:"who"`
	Hidden string `json:"-"`
	secret string
	page
}

// TestOf pins the bytes: they are part of what the model is told, and a change
// of them breaks every cached prefix. T1
func TestOf(t *testing.T) {
	t.Parallel()
	want := `{"type":"object","properties":{` +
		`"order_id":{"type":"string","description":"for example ORD-10422, a<b & c>d"},` +
		`"limit":{"type":"integer","description":"at most 500"},` +
		`"states":{"type":"array","items":{"type":"string","enum":["open","sent"]}},` +
		`"level":{"type":"integer","enum":[1,2]},` +
		`"since":{"type":"string","format":"date-time"},` +
		`"any":{"description":"any JSON value"},` +
		`"raw":{"description":"any JSON value"},` +
		`"bytes":{"type":"string","contentEncoding":"base64"},` +
		`"counts":{"type":"object","additionalProperties":{"type":"integer"}},` +
		`"who":{"type":"object","properties":{"names":{"type":"array","items":{"type":"string"}}},"required":["names"],"additionalProperties":false},` +
		`"page":{"type":"integer","description":"from 1"}},` +
		`"required":["order_id"],"additionalProperties":false}`
	for range 10 {
		s, err := schema.For[search]()
		if err != nil {
			t.Fatal(err)
		}
		if string(s.JSON()) != want {
			t.Fatalf("got\n%s\nwant\n%s", s.JSON(), want)
		}
	}
	_ = search{}.secret
	s, err := schema.For[struct{}]()
	if err != nil || string(s.JSON()) != `{"type":"object","properties":{},"additionalProperties":false}` {
		t.Errorf("no fields: %s, %v", s.JSON(), err)
	}
}

// TestOfRefuses: a type that no schema can say is found when the tool is made.
func TestOfRefuses(t *testing.T) {
	t.Parallel()
	type loop struct {
		Next *loop `json:"next"`
	}
	for name, v := range map[string]any{
		"no struct":  "text",
		"a pointer":  &page{},
		"a cycle":    loop{},
		"a channel":  struct{ C chan int }{},
		"a function": struct{ F func() }{},
		"the string tag": struct {
			N int `json:"n,string"`
		}{},
		"enum of a number": struct {
			N float64 `json:"n" enum:"1.5"`
		}{},
		"enum that is no integer": struct {
			N int `json:"n" enum:"one"`
		}{},
	} {
		if s, err := schema.Of(reflect.TypeOf(v)); err == nil {
			t.Errorf("%s: got %s", name, s.JSON())
		}
	}
}

// TestOwnCalls runs the kinds of the benchmark on our own rows. T1 case:T05
func TestOwnCalls(t *testing.T) {
	t.Parallel()
	type flight struct {
		From  string  `json:"from"`
		To    string  `json:"to"`
		Seats int     `json:"seats,omitempty"`
		Fare  float64 `json:"fare,omitempty"`
		Bags  bool    `json:"bags,omitempty"`
		Legs  []int   `json:"legs,omitempty"`
		Who   *struct {
			Name string `json:"name"`
			Age  int    `json:"age"`
		} `json:"who"`
	}
	s, err := schema.For[flight]()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join("testdata", "calls.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range bytes.Split(bytes.TrimSpace(data), []byte("\n"))[1:] {
		var r struct {
			row
			Want json.RawMessage `json:"want"`
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(value(t, r.Arguments)); (err == nil) != r.Valid {
			t.Errorf("%s: valid=%v expected, got %v", r.Mutation, r.Valid, err)
		}
		got, err := s.Coerce(r.Arguments)
		if string(r.Want) == "null" {
			if _, field, _ := strings.Cut(r.Mutation, ":"); err == nil || !strings.Contains(err.Error(), "/"+field) {
				t.Errorf("%s: %s, %v; want a refusal that names the field", r.Mutation, got, err)
			}
			continue
		}
		if err != nil || !equal(value(t, got), value(t, r.Want)) {
			t.Errorf("%s: %s, %v; want %s", r.Mutation, got, err, r.Want)
		}
	}
}

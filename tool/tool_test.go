package tool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/tool"
	"github.com/uzda-dev/uzda/tool/tooltest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type order struct {
	OrderID string `json:"order_id" doc:"for example ORD-10422"`
	Limit   int    `json:"limit,omitempty" doc:"rows, at most 500"`
	Tags    []int  `json:"tags,omitempty"`
	Raw     any    `json:"raw,omitempty"`
}

const describe = "Look up an order. Use when the user names one; not for refunds."

var readOnly = uzda.Effects{ReadOnly: true}

// run checks and calls a tool.
func run(t testing.TB, tl uzda.Tool, in string) (uzda.Result, error) {
	t.Helper()
	raw, err := tl.(uzda.Checker).Check(json.RawMessage(in))
	if err != nil {
		t.Fatalf("check %s: %v", in, err)
	}
	return tl.Call(context.Background(), uzda.Use{Session: "s", ID: "3.1", Name: tl.Spec().Name, Input: raw, Key: "k", Attempt: 2, Dir: "/d"})
}

// returns makes a tool without parameters that returns out.
func returns[Out any](out Out, err error) uzda.Tool {
	return tool.New("get_it", describe, readOnly, func(context.Context, struct{}) (Out, error) { return out, err })
}

// TestTool: a struct gives the schema, the check and the input. T1 case:T05
func TestTool(t *testing.T) {
	t.Parallel()
	var got order
	tl := tool.New("get_order", describe, readOnly, func(_ context.Context, in order) (string, error) {
		got = in
		return "sent", nil
	})
	spec := tl.Spec()
	if spec.Name != "get_order" || spec.Description != describe || spec.Effects != readOnly || spec.Source != "go" ||
		!bytes.Contains(spec.Input, []byte(`"required":["order_id"]`)) {
		t.Errorf("spec: %+v %s", spec, spec.Input)
	}
	res, err := run(t, tl, `{"order_id":"[1]","limit":"5","tags":"[1,2]","raw":9007199254740993}`)
	if err != nil || res.IsError || res.Blocks.String() != "sent" {
		t.Fatalf("%+v %v", res, err)
	}
	if got.OrderID != "[1]" || got.Limit != 5 || len(got.Tags) != 2 || got.Raw != json.Number("9007199254740993") {
		t.Errorf("the function got %+v", got)
	}
	for in, want := range map[string]string{
		`{}`:                              "/order_id is missing: a string, for example ORD-10422",
		`{"orderId":"x"}`:                 "nearest known field is order_id",
		`{"order_id":"x","limit":"many"}`: "/limit is the text \"many\": must be an integer",
		`{"order_id":"x","limit":99999999999999999999}`: "/limit is number",
	} {
		if _, err := tl.Check(json.RawMessage(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
	res, err = tl.Call(context.Background(), uzda.Use{Input: json.RawMessage(`{"order_id":5}`)})
	if err != nil || !res.IsError || res.Code != uzda.CodeInvalidInput || res.Effect != uzda.EffectNone {
		t.Errorf("a call that nobody checked: %+v %v", res, err)
	}
}

// TestNothing: a tool without parameters runs with {}. case:T03
func TestNothing(t *testing.T) {
	t.Parallel()
	tl := returns("ok", nil)
	if in := string(tl.Spec().Input); in != `{"type":"object","properties":{},"additionalProperties":false}` {
		t.Errorf("schema %s", in)
	}
	for _, in := range []string{``, `null`, `{}`, `""`, `"{}"`} {
		if res, err := run(t, tl, in); err != nil || res.Blocks.String() != "ok" {
			t.Errorf("%q: %+v %v", in, res, err)
		}
	}
}

// TestResults: every form of a result is a message that no request breaks on.
// T3 case:T12
func TestResults(t *testing.T) {
	t.Parallel()
	type status struct {
		State string `json:"state"`
		Note  string `json:"note,omitempty"`
	}
	png := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
	for _, c := range []struct {
		name string
		tool uzda.Tool
		want string
	}{
		{"text", returns("Größe 漢字 🎉", nil), "Größe 漢字 🎉"},
		{"no text", returns("", nil), "(no output)"},
		{"bytes", returns([]byte("Größe"), nil), "Größe"},
		{"no bytes", returns([]byte(nil), nil), "(no output)"},
		{"picture", returns([]byte(png), nil), "(binary data: image/png, 16 bytes)"},
		{"picture as text", returns(png, nil), "(binary data: image/png, 16 bytes)"},
		{"NUL", returns("a\x00b", nil), "(binary data: application/octet-stream, 3 bytes)"},
		{"Latin-1", returns("Die Gr\xf6\xdfe ist zw\xf6lf Meter, sagt der Katalog", nil),
			"Die Gr\\xf6\\xdfe ist zw\\xf6lf Meter, sagt der Katalog\n(bytes that are not UTF-8 are written as \\xNN: 3)"},
		{"struct", returns(status{State: "a<b & c>d"}, nil), `{"state":"a<b & c>d"}`},
		{"pointer", returns(&status{State: "x", Note: "y"}, nil), `{"state":"x","note":"y"}`},
		{"list", returns([]int{1, 2}, nil), `[1,2]`},
		{"nothing", returns(struct{}{}, nil), "done"},
		{"raw JSON", returns(json.RawMessage(`{"a": 1}`), nil), `{"a":1}`},
		{"big number", returns(int64(math.MaxInt64), nil), "9223372036854775807"},
		{"blocks", returns(uzda.Say("a"), nil), "a"},
		{"result", returns(uzda.Result{Blocks: uzda.Say("b")}, nil), "b"},
		{"any", returns[any]("c", nil), "c"},
	} {
		res, err := run(t, c.tool, `{}`)
		if got := res.Blocks.String(); err != nil || res.IsError || got != c.want || !utf8.ValidString(got) {
			t.Errorf("%s: %q, IsError %v, %v; want %q", c.name, got, res.IsError, err, c.want)
		}
	}
	whole := uzda.Result{Blocks: uzda.Say("x"), IsError: true, Code: uzda.CodeTruncated, People: uzda.Say("p"), Pending: &uzda.Pending{On: "timer"}}
	if res, err := run(t, returns(whole, nil), `{}`); err != nil || res.Code != uzda.CodeTruncated || res.Pending != whole.Pending || res.People.String() != "p" {
		t.Errorf("a result stays as it is: %+v %v", res, err)
	}
	if res, err := run(t, returns(math.NaN(), nil), `{}`); err != nil || !res.IsError || res.Code != uzda.CodeFailed {
		t.Errorf("what JSON cannot say: %+v %v", res, err)
	}
}

// TestErrors: what the model reads, and what ends the turn. L5
func TestErrors(t *testing.T) {
	t.Parallel()
	base := errors.New("no such order")
	for _, c := range []struct {
		name   string
		err    error
		code   uzda.Code
		effect uzda.Effect
		text   string
	}{
		{"plain", base, uzda.CodeFailed, "", "no such order"},
		{"transient", tool.Transient(base), uzda.CodeFailed, "", "no such order"},
		{"own", tool.Errorf("order %d is gone", 5), uzda.CodeFailed, "", "order 5 is gone"},
		{"own, in full", fmt.Errorf("pay: %w", &tool.Error{Text: "refused", Code: uzda.CodeDenied, Effect: uzda.EffectNone}), uzda.CodeDenied, uzda.EffectNone, "pay: refused"},
		{"timeout", fmt.Errorf("ask the shop: %w", context.DeadlineExceeded), uzda.CodeTimeout, uzda.EffectUnknown, "ask the shop: context deadline exceeded"},
		{"no text", errors.New(" "), uzda.CodeFailed, "", "the tool failed without saying why"},
		{"no UTF-8", errors.New("a\xffb"), uzda.CodeFailed, "", "a\uFFFDb"},
	} {
		tl := tool.New("pay", describe, uzda.Effects{}, func(context.Context, struct{}) (string, error) { return "", c.err })
		res, err := run(t, tl, `{}`)
		if err != nil || !res.IsError || res.Code != c.code || res.Effect != c.effect || res.Blocks.String() != c.text {
			t.Errorf("%s: %+v %v", c.name, res, err)
		}
	}
	res, err := run(t, returns("", errors.New(strings.Repeat("漢", 9000))), `{}`)
	if text := res.Blocks.String(); err != nil || len(text) > 8<<10 || strings.ContainsRune(text, utf8.RuneError) {
		t.Errorf("a long error: %d bytes", len(text))
	}
	if _, err := run(t, returns("", tool.Fatal(base)), `{}`); !errors.Is(err, base) {
		t.Errorf("a fatal error: %v", err)
	}
	if tool.Fatal(nil) != nil || tool.Transient(nil) != nil {
		t.Error("no error is none")
	}
	tl := returns("", context.Canceled)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := tl.Call(ctx, uzda.Use{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call: %v", err)
	}
}

// TestPanic: a crash is an error result; the stack is for people only. L7
func TestPanic(t *testing.T) {
	t.Parallel()
	tl := tool.New("crash", describe, readOnly, func(context.Context, struct{}) (string, error) { panic("index out of range") })
	for name, tl := range map[string]uzda.Tool{"plain": tl, "bounded": tool.Timeout{After: 1e9}.Wrap(tl), "repeated": tool.Retry{}.Wrap(tl)} {
		res, err := run(t, tl, `{}`)
		text := res.Blocks.String()
		if err != nil || !res.IsError || !strings.Contains(text, "index out of range") || strings.Contains(text, ".go:") {
			t.Errorf("%s: %+v %v", name, res, err)
		}
		if !strings.Contains(res.People.String(), ".go:") {
			t.Errorf("%s: people see no stack", name)
		}
	}
}

// TestUse: the function may know for what it runs. T5
func TestUse(t *testing.T) {
	t.Parallel()
	var got uzda.Use
	tl := tool.New("send", describe, uzda.Effects{}, func(ctx context.Context, _ struct{}) (string, error) {
		got, _ = tool.UseFrom(ctx)
		return "", nil
	})
	for _, tl := range []uzda.Tool{tl, tool.Timeout{After: 1e9}.Wrap(tl), tool.Retry{}.Wrap(tl)} {
		got = uzda.Use{}
		if _, err := run(t, tl, `{}`); err != nil || got.Session != "s" || got.ID != "3.1" || got.Key != "k" || got.Attempt != 2 || got.Dir != "/d" {
			t.Errorf("got %+v %v", got, err)
		}
	}
	if _, ok := tool.UseFrom(context.Background()); ok {
		t.Error("a use outside of a call")
	}
}

// TestOptional: a tool has exactly the optional interfaces that were given,
// also when it is wrapped.
func TestOptional(t *testing.T) {
	t.Parallel()
	f := tool.Func[order, string]{Name: "pay", Description: describe, Once: true,
		Call: func(context.Context, order) (string, error) { return "paid", nil }}
	previewed := f
	previewed.Preview = func(_ context.Context, in order) (string, string, error) { return "pay " + in.OrderID, "v1", nil }
	probed := f
	probed.Probe = func(_ context.Context, key string) (bool, error) { return key == "k", nil }
	both := previewed
	both.Probe = probed.Probe
	for name, c := range map[string]struct {
		f    tool.Func[order, string]
		p, q bool
	}{"neither": {f, false, false}, "preview": {previewed, true, false}, "probe": {probed, false, true}, "both": {both, true, true}} {
		full := c.f
		full.Timeout, full.Retry = 1e9, &tool.Retry{}
		for how, tl := range map[string]uzda.Tool{
			"bare": c.f.Tool(), "with fields": full.Tool(), "wrapped": tool.Timeout{After: 1e9}.Wrap(tool.Retry{}.Wrap(c.f.Tool())),
		} {
			p, isP := tl.(uzda.Previewer)
			q, isQ := tl.(uzda.Prober)
			if isP != c.p || isQ != c.q {
				t.Errorf("%s, %s: previewer %v, prober %v", name, how, isP, isQ)
			}
			if isP {
				text, on, err := p.Preview(context.Background(), uzda.Use{Input: json.RawMessage(`{"order_id":"7"}`)})
				if text != "pay 7" || on != "v1" || err != nil {
					t.Errorf("%s, %s: preview %q %q %v", name, how, text, on, err)
				}
			}
			if isQ {
				if ok, err := q.Probe(context.Background(), "k"); !ok || err != nil {
					t.Errorf("%s, %s: probe %v %v", name, how, ok, err)
				}
			}
			if !tl.Spec().Once {
				t.Errorf("%s, %s: the spec is lost", name, how)
			}
			if res, err := run(t, tl, `{"order_id":"7"}`); err != nil || res.Blocks.String() != "paid" {
				t.Errorf("%s, %s: %+v %v", name, how, res, err)
			}
		}
	}
	final := tool.Func[order, string]{Name: "answer", Description: describe, Final: true}.Tool()
	if res, err := run(t, final, `{"order_id":"7"}`); err != nil || res.IsError || !final.Spec().Final {
		t.Errorf("a final tool needs no function: %+v %v", res, err)
	}
}

type bare struct{}

func (bare) Spec() uzda.ToolSpec { return uzda.ToolSpec{Name: "bare"} }
func (bare) Call(context.Context, uzda.Use) (uzda.Result, error) {
	return uzda.Result{}, nil
}

// TestWiring: a mistake in the wiring is found when the tool is made.
func TestWiring(t *testing.T) {
	t.Parallel()
	type in struct{}
	ok := func(context.Context, in) (string, error) { return "", nil }
	for name, make := range map[string]func(){
		"no name":           func() { tool.New("", describe, readOnly, ok) },
		"a name with a dot": func() { tool.New("a.b", describe, readOnly, ok) },
		"a long name":       func() { tool.New(strings.Repeat("a", 65), describe, readOnly, ok) },
		"no struct": func() {
			tool.New("a", describe, readOnly, func(context.Context, string) (string, error) { return "", nil })
		},
		"no interface": func() {
			tool.New("a", describe, readOnly, func(context.Context, any) (string, error) { return "", nil })
		},
		"no schema": func() {
			tool.New("a", describe, readOnly, func(context.Context, struct{ C chan int }) (string, error) { return "", nil })
		},
		"no function":                func() { tool.New[in, string]("a", describe, readOnly, nil) },
		"read and irreversible":      func() { tool.New("a", describe, uzda.Effects{ReadOnly: true, Irreversible: true}, ok) },
		"wrapping an unchecked tool": func() { tool.Retry{}.Wrap(bare{}) },
	} {
		func() {
			defer func() {
				if p := recover(); p == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			make()
		}()
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	tl := tool.New("get_order", describe, readOnly, func(ctx context.Context, in order) (order, error) {
		if in.OrderID == "" {
			return in, tool.Errorf("/order_id is empty: send the id, for example ORD-10422")
		}
		return in, ctx.Err()
	})
	for _, tl := range []uzda.Tool{tl, tool.Timeout{After: 1e10}.Wrap(tl), tool.Retry{}.Wrap(tl)} {
		tooltest.Run(t, tl,
			tooltest.Case{Input: `{"order_id":"ORD-1"}`, Want: `"order_id":"ORD-1"`},
			tooltest.Case{Input: `{"order_id":"ORD-1","limit":"5","tags":"[1,2]"}`, Want: `"limit":5`},
			tooltest.Case{Input: `{"order_id":""}`, IsError: true, Want: "send the id"},
			tooltest.Case{Input: `{"limit":5}`, Bad: true, Want: "/order_id is missing"},
		)
	}
}

// FuzzCheck: no input panics, and what passes can be called.
func FuzzCheck(f *testing.F) {
	for _, in := range []string{``, `{}`, `{"order_id":"x","limit":"5"}`, `{"order_id":"x","limit":1e3}`, `{"order_id":null}`, `{"order_id":"x","tags":"[1"}`, `{"order_id":"x","limit":1e19}`} {
		f.Add([]byte(in))
	}
	tl := tool.New("get_order", describe, readOnly, func(_ context.Context, in order) (order, error) { return in, nil })
	f.Fuzz(func(t *testing.T, in []byte) {
		out, err := tl.Check(in)
		if err != nil {
			return
		}
		if res, err := tl.Call(context.Background(), uzda.Use{Input: out}); err != nil || res.IsError {
			t.Errorf("%q passed as %q and then %+v %v", in, out, res, err)
		}
	})
}

// A simple input is taken without being decoded; a number that 64 bits do not hold
// is refused all the same. T1
func TestLongNumbers(t *testing.T) {
	t.Parallel()
	f := tool.New("count", "Count.", uzda.Effects{ReadOnly: true}, func(_ context.Context, in struct {
		N int    `json:"n"`
		S string `json:"s"`
	}) (string, error) {
		return fmt.Sprint(in.N, in.S), nil
	})
	for in, good := range map[string]bool{
		`{"n":123456789012345678,"s":"x"}`:                  true,
		`{"n":9223372036854775807,"s":"x"}`:                 true,
		`{"n":9223372036854775808,"s":"x"}`:                 false,
		`{"n":1e30,"s":"x"}`:                                false,
		`{"n":-99999999999999999999,"s":"x"}`:               false,
		`{"n":1,"s":"99999999999999999999999999999999999"}`: true,
	} {
		out, err := f.Check(json.RawMessage(in))
		if (err == nil) != good {
			t.Errorf("%s: %s, %v", in, out, err)
		}
		if err == nil {
			if got, err := f.Call(t.Context(), uzda.Use{Name: "count", Input: out}); err != nil || got.IsError {
				t.Errorf("%s passed the check, and fails: %+v, %v", in, got, err)
			}
		}
	}
}

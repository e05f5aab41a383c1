package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
)

// toolCost is what the uses of a tool took, and what it cost to read their results.
type toolCost struct {
	Name    string     `json:"key"`
	Calls   int        `json:"calls"`
	Failed  int        `json:"failed"`
	Results int        `json:"result_tokens"` // once, about
	Read    int        `json:"read_tokens"`   // with each request that held them, about
	Cost    uzda.Money `json:"read_cost_usd"` // the share of what the input of those requests cost
	Unknown bool       `json:"price_unknown,omitempty"`
	MS      int64      `json:"duration_ms"`
}

// toolCosts are the tools of some sessions.
func (w *work) toolCosts(ctx context.Context, ids []uzda.SessionID) ([]toolCost, error) {
	all := map[string]*toolCost{}
	for _, id := range ids {
		f := toolFold{prices: w.prices, all: all, names: map[uzda.UseID]string{}, began: map[uzda.UseID]time.Time{}}
		for e, err := range w.store.Read(ctx, id, 0) {
			if err != nil {
				return nil, fail(uzda.StorageError, "`uzda doctor` looks at the store", "%v", err)
			}
			f.event(e)
		}
	}
	return sortedTools(all), nil
}

// toolFold follows one session: what lies in its view is what a request sends.
type toolFold struct {
	prices uzda.Pricer
	all    map[string]*toolCost
	state  agent.State
	names  map[uzda.UseID]string
	began  map[uzda.UseID]time.Time
}

func (f *toolFold) of(name string) *toolCost {
	if f.all[name] == nil {
		f.all[name] = &toolCost{Name: name}
	}
	return f.all[name]
}

func (f *toolFold) event(e uzda.Event) {
	switch b := e.Body.(type) {
	case uzda.Said:
		f.read(b) // before it joins the view
		for i, u := range b.Message.Uses() {
			id := uzda.UseID(fmt.Sprintf("%d.%d", e.Seq, i+1))
			f.names[id] = u.Name
			f.of(u.Name).Calls++
		}
	case uzda.Started:
		f.began[b.Use] = e.At
	case uzda.Returned:
		if b.Pending == nil {
			f.result(e, b.Result)
		}
	case uzda.Delivered:
		f.result(e, b.Result)
	}
	f.state.Fold(e)
}

// tokens is about how many tokens so many bytes are: as the provider counted the
// session so far, or a quarter.
func (f *toolFold) tokens(bytes int) int {
	return bytes * cmp.Or(f.state.Rate, 250) / 1000
}

func (f *toolFold) result(e uzda.Event, r uzda.ToolResult) {
	name, ok := f.names[r.Use]
	if !ok {
		return
	}
	t := f.of(name)
	t.Results += f.tokens(r.Blocks.Size())
	if r.IsError {
		t.Failed++
	}
	if at, ok := f.began[r.Use]; ok {
		t.MS += max(0, e.At.Sub(at).Milliseconds())
		delete(f.began, r.Use)
	}
}

// read shares what the input of a request cost among the tools whose results it held.
func (f *toolFold) read(b uzda.Said) {
	sizes := map[string]int{}
	for _, entry := range f.state.View {
		for _, block := range entry.Message.Blocks {
			if r, ok := block.(uzda.ToolResult); ok {
				sizes[f.names[r.Use]] += r.Blocks.Size()
			}
		}
	}
	context := b.Usage.Context()
	if context <= 0 || len(sizes) == 0 {
		return
	}
	model := f.state.Gear.Model.ID
	if f.state.Ask != nil && f.state.Ask.Model != "" {
		model = f.state.Ask.Model
	}
	input := b.Usage
	input.Output = 0
	price, known := f.prices.Price(model, context)
	for name, size := range sizes {
		t, tokens := f.of(name), min(f.tokens(size), context)
		t.Read += tokens
		switch {
		case b.Cost == 0 || f.state.Gear.Model.Free:
		case known:
			t.Cost += uzda.Money(float64(price.Of(input)) * float64(tokens) / float64(context))
		default:
			t.Unknown = true
		}
	}
}

// writeTools prints tools as a table.
func writeTools(w io.Writer, tools []toolCost) error {
	if len(tools) == 0 {
		_, err := fmt.Fprintln(w, "No tool was called.")
		return err
	}
	wide := 0
	for _, one := range tools {
		wide = max(wide, uzda.Columns(uzda.OneLine(safe(one.Name), 40)))
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, pad("TOOL", wide)+"\tCALLS\tFAILED\tTIME\tRESULTS\tREAD\tCOST OF READING\t")
	for _, one := range tools {
		money := short(one.Cost)
		if one.Unknown {
			money = "unknown"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", pad(uzda.OneLine(safe(one.Name), 40), wide), thousands(one.Calls), thousands(one.Failed),
			(time.Duration(one.MS) * time.Millisecond).Round(10*time.Millisecond), thousands(one.Results), thousands(one.Read), money)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, "Tokens of results, about: once, and with each request that held them; the cost is their share of its input.")
	return err
}

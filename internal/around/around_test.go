package around_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/around"
)

type plain struct{}

func (plain) Spec() uzda.ToolSpec { return uzda.ToolSpec{Name: "plain"} }

func (plain) Call(_ context.Context, use uzda.Use) (uzda.Result, error) {
	return uzda.Result{Blocks: uzda.Say("called in " + use.Dir)}, nil
}

type (
	checks   struct{ plain }
	previews struct{ plain }
	probes   struct{ plain }
	resumes  struct{ plain }
	places   struct{ plain }
	all      struct {
		previews
		probing
		resuming
	}
	probing  struct{}
	resuming struct{}
)

func (checks) Check(json.RawMessage) (json.RawMessage, error) { return nil, errors.New("no") }
func (previews) Preview(context.Context, uzda.Use) (string, string, error) {
	return "a preview", "", nil
}
func (probes) Probe(context.Context, string) (bool, error)  { return true, nil }
func (probing) Probe(context.Context, string) (bool, error) { return true, nil }
func (resumes) Resumes()                                    {}
func (resuming) Resumes()                                   {}
func (places) Place(uzda.SessionID, string) string          { return "/elsewhere" }

// T1: what is put around a tool leaves it its optional interfaces and gives it none
// that would change how it is treated.
func TestOptional(t *testing.T) {
	t.Parallel()
	type resumer interface{ Resumes() }
	for _, c := range []struct {
		name                      string
		tool                      uzda.Tool
		previews, probes, resumes bool
		checkFails                bool
		place                     string
	}{
		{"plain", plain{}, false, false, false, false, "/s"},
		{"checks", checks{}, false, false, false, true, "/s"},
		{"previews", previews{}, true, false, false, false, "/s"},
		{"probes", probes{}, false, true, false, false, "/s"},
		{"resumes", resumes{}, false, false, true, false, "/s"},
		{"places", places{}, false, false, false, false, "/elsewhere"},
		{"all", all{}, true, true, true, false, "/s"},
		{"previews and probes", struct {
			previews
			probing
		}{}, true, true, false, false, "/s"},
		{"previews and resumes", struct {
			previews
			resuming
		}{}, true, false, true, false, "/s"},
		{"probes and resumes", struct {
			probes
			resuming
		}{}, false, true, true, false, "/s"},
	} {
		w := around.Tool(c.tool, func(ctx context.Context, use uzda.Use, next func(context.Context, uzda.Use) (uzda.Result, error)) (uzda.Result, error) {
			res, err := next(ctx, use)
			res.Blocks = append(res.Blocks, uzda.Say("and more")...)
			return res, err
		})
		_, p := w.(uzda.Previewer)
		_, q := w.(uzda.Prober)
		_, r := w.(resumer)
		if p != c.previews || q != c.probes || r != c.resumes {
			t.Errorf("%s: previews %v, probes %v, resumes %v", c.name, p, q, r)
		}
		if _, err := w.(uzda.Checker).Check(json.RawMessage("{}")); (err != nil) != c.checkFails {
			t.Errorf("%s: the check says %v", c.name, err)
		}
		if got := w.(uzda.Placer).Place("s", "/s"); got != c.place {
			t.Errorf("%s: it runs in %s", c.name, got)
		}
		res, err := w.Call(t.Context(), uzda.Use{Dir: "/s"})
		if err != nil || res.Blocks.String() != uzda.Say("called in /s").String()+uzda.Say("and more").String() && len(res.Blocks) != 2 {
			t.Errorf("%s: %v, %v", c.name, res.Blocks, err)
		}
		if w.Spec().Name != "plain" {
			t.Errorf("%s: its spec is %+v", c.name, w.Spec())
		}
	}
}

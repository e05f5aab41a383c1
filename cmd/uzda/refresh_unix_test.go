//go:build unix

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/model/modeltest"
)

// A service that tells its prices is billed by them after a refresh, and not known
// before; a long list does not hide the other providers.
func TestRefreshedPrices(t *testing.T) { // K1 case:B01
	t.Parallel()
	fake := modeltest.NewHandler(modeltest.Config{Keys: []string{"good-key-1234"}, Answer: provider, Models: []modeltest.Model{{ID: "a/model-7"}}})
	var list strings.Builder
	for i := range 40 {
		fmt.Fprintf(&list, `,{"id":"a/model-%d","context_length":%d,"top_provider":{"max_completion_tokens":32000},"supported_parameters":["tools","reasoning"],
			"pricing":{"prompt":"0.000002","completion":"0.00001","input_cache_read":"0.0000002","request":"0"}}`, i, 100_000+i)
	}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/models") {
			fmt.Fprintf(w, `{"data":[%s]}`, list.String()[1:])
			return
		}
		fake.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { fake.Close(); service.Close() })
	p := newProgram(t)
	p.envs = append(p.envs, "OPENROUTER_API_KEY=good-key-1234", "OPENROUTER_BASE_URL="+service.URL+"/api/v1")
	run := []string{"run", "--model", "openrouter/a/model-7", "hello"}

	before := p.run(run...)
	if before.code != 0 || before.result.Cost != nil { // its price is not known
		t.Errorf("before: exit %d, %+v\n%s", before.code, before.result, before.errs)
	}
	p.says(0, []string{"models", "--refresh", "openrouter"}, "OpenRouter lists 40 models", "  a/model-7 ", " 100k    32k     2    10   0.2     2  tke----c")
	p.says(0, []string{"models"}, "… and 16 more: uzda models openrouter", "anthropic/claude-sonnet-4.6 *", "xAI (xai)")
	after := p.run(run...)
	u := after.result.Usage
	want := float64(u.Input)*2e-6 + float64(u.CacheRead)*0.2e-6 + float64(u.Output)*10e-6
	if after.code != 0 || after.result.Bound || after.result.Cost == nil || fmt.Sprintf("%.9f", after.result.Cost.Dollars()) != fmt.Sprintf("%.9f", want) || want == 0 {
		t.Errorf("after: exit %d, cost %v, want %.9f, %+v\n%s", after.code, after.result.Cost, want, after.result, after.errs)
	}
}

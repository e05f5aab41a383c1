package crowd_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/bench/internal/crowd"
)

func serve(t *testing.T) (url string, seen func() crowd.Seen) {
	t.Helper()
	s := httptest.NewServer(&crowd.Server{})
	t.Cleanup(s.Close)
	return s.URL, func() (out crowd.Seen) {
		resp, err := http.Get(s.URL + "/seen")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
			t.Fatal(err)
		}
		return out
	}
}

// Sessions side by side do all that their orders say, on both stores.
func TestTogether(t *testing.T) { // G1
	t.Parallel()
	for _, durable := range []bool{false, true} {
		url, seen := serve(t)
		store, err := crowd.Store(t.TempDir(), durable)
		if err != nil {
			t.Fatal(err)
		}
		h := crowd.Host(store, crowd.Worker(url))
		if _, err := crowd.Together(t.Context(), h, 20, func(i int) crowd.Order {
			o := crowd.Order{Name: i, Steps: 3}
			switch i % 5 {
			case 1:
				o.Cut = 2
			case 2:
				o.Ask = 3
			}
			return o
		}); err != nil {
			t.Fatal(err)
		}
		// 16 to the end, 4 of them with a request twice, 4 up to their third call.
		if got, want := seen(), (crowd.Seen{Requests: 16*4 + 4 + 4*3, Answers: 16, Cut: 4}); got != want {
			t.Errorf("durable %v: %+v, want %+v", durable, got, want)
		}
		if err := errors.Join(h.Close(), uzda.CloseStore(store)); err != nil {
			t.Error(err)
		}
	}
}

// BenchmarkTogether is what bench.sh measures as sessions side by side: steps on a
// journal in memory, the provider in the same process.
func BenchmarkTogether(b *testing.B) {
	s := httptest.NewServer(&crowd.Server{})
	defer s.Close()
	for b.Loop() {
		rate, err := crowd.Speed(b.Context(), s.URL, b.TempDir(), false, 1000, 5, 1)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(rate, "steps/s")
	}
}

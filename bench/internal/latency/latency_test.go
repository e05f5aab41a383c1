package latency_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/bench/internal/latency"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/sqlite"
)

// Every delta of every session is seen once, by the clock that it was written by.
func TestMeasure(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(filepath.Join(t.TempDir(), "a.uzda"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		store uzda.Store
		load  latency.Load
	}{
		"one":    {db, latency.Load{Sessions: 1, Deltas: 40, Every: time.Millisecond}},
		"some":   {db, latency.Load{Sessions: 5, Deltas: 20, Every: time.Millisecond}},
		"at all": {journal.Memory(), latency.Load{Sessions: 3, Deltas: 500}},
	} {
		d, err := latency.Measure(t.Context(), c.store, c.load)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(d.All) != c.load.Sessions*c.load.Deltas || d.All[0] <= 0 || d.At(0.5) > d.At(0.99) || d.Rate <= 0 {
			t.Errorf("%s: %d delays, %v to %v, %.0f a second", name, len(d.All), d.All[0], d.At(1), d.Rate)
		}
		t.Logf("%s: median %v, p99 %v, %.0f/s", name, d.At(0.5), d.At(0.99), d.Rate)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

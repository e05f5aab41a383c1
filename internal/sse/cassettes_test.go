package sse_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/internal/sse"
)

// TestCassettes reads every recorded event stream in random splits, which recorders
// do not keep, and finds the events of the whole, all of them JSON. quirk:2 quirk:36
func TestCassettes(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob(filepath.Join(shared(t), "cassettes", "*", "*-sse*.json"))
	if err != nil || len(names) == 0 {
		t.Skipf("SKIPPED: the recorded traffic is not here: %v", err)
	}
	streams, events := 0, 0
	for _, name := range names {
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var c struct {
			Response struct{ Body json.RawMessage }
		}
		if err := json.Unmarshal(file, &c); err != nil {
			t.Fatal(err)
		}
		var body string
		if json.Unmarshal(c.Response.Body, &body) != nil || !strings.Contains(body, "data:") {
			continue
		}
		streams++
		want := fmt.Sprintf("%q", simple([]byte(body)))
		for seed := range uint64(20) {
			got, err := all(&splitter{[]byte(body), rand.New(rand.NewPCG(seed, 1))}, 0)
			if err != nil || fmt.Sprintf("%q", got) != want {
				t.Fatalf("%s: split %d: %v", name, seed, err)
			}
		}
		for e, err := range sse.Read(strings.NewReader(body), 0) {
			if err != nil {
				t.Fatal(err)
			}
			if events++; !e.Comment && string(e.Data) != "[DONE]" && !json.Valid(e.Data) {
				t.Errorf("%s: %q", name, e.Data)
			}
		}
	}
	t.Logf("%d streams, %d events, 20 splits each", streams, events)
}

// shared is the folder of recordings beside the repository, or UZDA_SHARED.
func shared(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("UZDA_SHARED"); dir != "" {
		return dir
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "..", "..", "..", "shared")
}

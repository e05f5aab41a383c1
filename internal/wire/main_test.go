package wire_test

import (
	"encoding/json"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// net/http logs where a server says more than it has announced; many tests do that.
func TestMain(m *testing.M) {
	log.SetOutput(io.Discard)
	goleak.VerifyTestMain(m)
}

// An exchange is one recorded one.
type exchange struct {
	Name     string // folder/name
	Tags     []string
	Response struct {
		Status  int
		Headers map[string]string
		Body    json.RawMessage
	}
}

// body is the body as it was sent.
func (x exchange) body() string {
	var s string
	if json.Unmarshal(x.Response.Body, &s) == nil {
		return s
	}
	return string(x.Response.Body)
}

// recorded reads the recorded exchanges in place.
func recorded(t *testing.T) []exchange {
	t.Helper()
	shared := os.Getenv("UZDA_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	files, _ := filepath.Glob(filepath.Join(shared, "cassettes", "*", "*.json"))
	if len(files) == 0 {
		t.Skip("SKIPPED: no cassettes beside the repository; set UZDA_SHARED to their folder's parent")
	}
	out := make([]exchange, 0, len(files))
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var x exchange
		if err := json.Unmarshal(raw, &x); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		x.Name = filepath.Base(filepath.Dir(f)) + "/" + strings.TrimSuffix(filepath.Base(f), ".json")
		out = append(out, x)
	}
	return out
}

package raw_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/internal/raw"
)

// TestCassettes takes every recorded reply through an Object, and the deltas of
// every recorded stream of Chat Completions through a Fold: the bytes of values
// stay, text is whole, and no signature or encrypted part is lost. L2
func TestCassettes(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob(filepath.Join(shared(t), "cassettes", "*", "*.json"))
	if err != nil || len(names) == 0 {
		t.Skipf("SKIPPED: the recorded traffic is not here: %v", err)
	}
	objects, folds := 0, 0
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
		if json.Unmarshal(c.Response.Body, &body) != nil {
			body = string(c.Response.Body)
		}
		var deltas []raw.Object
		for _, one := range payloads(body) {
			var want bytes.Buffer
			if json.Compact(&want, one) != nil || want.Bytes()[0] != '{' {
				continue
			}
			objects++
			o, err := raw.Parse(one)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got := raw.Compact(o.Append(nil)); !bytes.Equal(got, want.Bytes()) {
				t.Errorf("%s: %s became %s", name, want.Bytes(), got)
			}
			if d, ok := delta0(o); ok {
				deltas = append(deltas, d)
			}
		}
		if len(deltas) > 0 {
			folds++
			checkFold(t, name, deltas)
		}
	}
	t.Logf("%d objects, %d folded streams", objects, folds)
}

// payloads are the JSON texts of a body: one, or those of its events.
func payloads(body string) (out [][]byte) {
	if json.Valid([]byte(body)) {
		return [][]byte{[]byte(body)}
	}
	for line := range strings.Lines(body) {
		if data, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "data:"); ok {
			out = append(out, []byte(data))
		}
	}
	return out
}

func delta0(chunk raw.Object) (raw.Object, bool) {
	choices, err := raw.Elements(chunk.Get("choices"))
	if err != nil {
		return raw.Object{}, false
	}
	for _, c := range choices {
		choice, err := raw.Parse(c)
		if err != nil || string(choice.Get("index")) != "0" {
			return raw.Object{}, false
		}
		d, err := raw.Parse(choice.Get("delta"))
		return d, err == nil
	}
	return raw.Object{}, false
}

func checkFold(t *testing.T, name string, deltas []raw.Object) {
	t.Helper()
	f := raw.Fold{Joins: chat}
	var order []string
	texts := map[string]string{}
	secrets := map[string]bool{}
	for _, d := range deltas {
		for k, v := range d.All() {
			if k == "tool_calls" {
				f.Set(k, json.RawMessage("null"))
			} else if _, err := f.Add(k, v); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if !slices.Contains(order, k) {
				order = append(order, k)
			}
			s, _ := raw.String(v)
			texts[k] += s
			for _, secret := range secretsOf(v) {
				secrets[secret] = true
			}
		}
	}
	out, err := raw.Parse(f.JSON())
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var got []string
	for k, v := range out.All() {
		got = append(got, k)
		text := f.Text(k)
		if text != nil && text.String() != texts[k] {
			t.Errorf("%s: %s is %q, came as %q", name, k, text.String(), texts[k])
		}
		if back, ok := raw.String(v); text != nil && (!ok || back != texts[k]) {
			t.Errorf("%s: %s goes back as %s", name, k, v)
		}
	}
	if !slices.Equal(order, got) {
		t.Errorf("%s: members %v, came as %v", name, got, order)
	}
	for secret := range secrets {
		if !bytes.Contains(f.JSON(), []byte(secret)) {
			t.Errorf("%s: %s is lost", name, secret)
		}
	}
}

// secretsOf are the raw strings in a value that only their provider understands.
func secretsOf(v json.RawMessage) (out []string) {
	if o, err := raw.Parse(v); err == nil {
		for k, v := range o.All() {
			if k == "signature" || k == "thought_signature" || k == "encrypted_content" {
				out = append(out, string(v))
			}
			if k == "data" && string(o.Get("type")) == `"reasoning.encrypted"` {
				out = append(out, string(v))
			}
			out = append(out, secretsOf(v)...)
		}
	}
	if all, err := raw.Elements(v); err == nil {
		for _, e := range all {
			out = append(out, secretsOf(e)...)
		}
	}
	return out
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

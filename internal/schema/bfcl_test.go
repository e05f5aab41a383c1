package schema_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/internal/schema"
)

// A row is a recorded verdict of Python's jsonschema on the arguments of a call.
type row struct {
	ID        string          `json:"id"`
	Tool      int             `json:"tool"`
	Call      int             `json:"call"`
	Mutation  string          `json:"mutation"`
	Arguments json.RawMessage `json:"arguments"`
	Valid     bool            `json:"valid"`
}

type call struct {
	id         string
	tool, call int
}

// TestBFCLVerdicts compares our verdict with every recorded one. There is no
// disagreement, so none is excused. T1
func TestBFCLVerdicts(t *testing.T) {
	t.Parallel()
	schemas, rows := bfcl(t)
	agree := 0
	for _, r := range rows {
		err := schemas[r.ID][r.Tool].Validate(value(t, r.Arguments))
		if (err == nil) == r.Valid {
			agree++
			continue
		}
		t.Errorf("%s tool %d call %d %s: recorded valid=%v, ours %v: %s", r.ID, r.Tool, r.Call, r.Mutation, r.Valid, err, r.Arguments)
	}
	t.Logf("agreement with the recorded verdicts: %d of %d", agree, len(rows))
}

// TestBFCLCoercion turns damaged arguments back or refuses them; a valid result
// that is another value than the undamaged one is a fault. T1 case:T05
func TestBFCLCoercion(t *testing.T) {
	t.Parallel()
	schemas, rows := bfcl(t)
	asIs := map[call]row{}
	for _, r := range rows {
		if r.Mutation == "as-is" {
			asIs[call{r.ID, r.Tool, r.Call}] = r
		}
	}
	type tally struct{ right, unchanged, dropped, refused int }
	sums := map[string]*tally{}
	for _, r := range rows {
		name, field, _ := strings.Cut(r.Mutation, ":")
		sum := sums[name]
		if sum == nil {
			sum = &tally{}
			sums[name] = sum
		}
		whole := asIs[call{r.ID, r.Tool, r.Call}]
		got, err := schemas[r.ID][r.Tool].Coerce(r.Arguments)
		switch {
		case err != nil:
			sum.refused++
			if r.Valid {
				t.Errorf("%s %s: valid arguments are refused: %v", r.ID, r.Mutation, err)
			}
			if whole.Valid && (strings.HasSuffix(name, "-as-string") || strings.HasSuffix(name, "-as-json-string")) {
				t.Errorf("%s %s: %s could be turned back: %v", r.ID, r.Mutation, r.Arguments, err)
			}
		case r.Valid:
			sum.unchanged++
			if !equal(value(t, got), value(t, r.Arguments)) {
				t.Errorf("%s %s: valid arguments changed: %s became %s", r.ID, r.Mutation, r.Arguments, got)
			}
		case equal(value(t, got), value(t, whole.Arguments)):
			sum.right++
		case name == "null" && equal(value(t, got), without(t, whole.Arguments, field)):
			sum.dropped++
		default:
			t.Errorf("%s %s: %s became %s, a wrong value", r.ID, r.Mutation, r.Arguments, got)
		}
	}
	for name, s := range sums {
		t.Logf("%-22s turned back %5d, left out %5d, already valid %5d, refused %5d", name, s.right, s.dropped, s.unchanged, s.refused)
	}
}

// bfcl reads the recorded verdicts and compiles the schemas that they are about.
func bfcl(t *testing.T) (map[string][]*schema.Schema, []row) {
	t.Helper()
	dir := filepath.Join(shared(t), "bench", "bfcl")
	schemas := map[string][]*schema.Schema{}
	lines(t, filepath.Join(dir, "single_turn.jsonl.gz"), func(line []byte) {
		var e struct {
			ID    string `json:"id"`
			Tools []struct {
				Name       string          `json:"name"`
				Parameters json.RawMessage `json:"parameters"`
			} `json:"tools"`
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		for _, tool := range e.Tools {
			s, err := schema.Compile(tool.Parameters)
			if err != nil {
				t.Fatalf("%s %s: %v", e.ID, tool.Name, err)
			}
			schemas[e.ID] = append(schemas[e.ID], s)
		}
	})
	var rows []row
	lines(t, filepath.Join(dir, "arg_validation.jsonl.gz"), func(line []byte) {
		var r row
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	})
	if len(rows) == 0 {
		t.Fatal("the benchmark has no rows")
	}
	return schemas, rows
}

func lines(t *testing.T, name string, each func([]byte)) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Skipf("SKIPPED: the benchmark is not here: %v", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewScanner(z)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		each(bytes.Clone(in.Bytes()))
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
}

// shared is the folder of benchmarks beside the repository, or UZDA_SHARED.
func shared(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("UZDA_SHARED"); dir != "" {
		return dir
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(filepath.Dir(dir), "shared")
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
}

// value decodes with the digits of numbers kept.
func value(t *testing.T, raw []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return v
}

func without(t *testing.T, raw []byte, field string) any {
	t.Helper()
	obj, _ := value(t, raw).(map[string]any)
	delete(obj, field)
	return obj
}

// equal compares values; numbers by what they are, not how they are written.
func equal(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		if !ok {
			return false
		}
		x, okX := new(big.Rat).SetString(string(a))
		y, okY := new(big.Rat).SetString(string(b))
		return okX && okY && x.Cmp(y) == 0
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			w, ok := b[k]
			if !ok || !equal(v, w) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equal(a[i], b[i]) {
				return false
			}
		}
		return true
	}
	return a == b
}

package fit_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/uzda-dev/uzda/internal/fit"
)

type tool struct {
	Name       string          `json:"name"`
	Parameters json.RawMessage `json:"parameters"`
}

// TestBFCL takes every tool of the benchmark through every dialect: nothing is
// left that the provider refuses, and arguments that were valid still are.
// T1 case:T01 case:T02
func TestBFCL(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(shared(t), "bench", "bfcl")
	valid := arguments(t, dir)
	tools, checked := 0, 0
	lines(t, filepath.Join(dir, "single_turn.jsonl.gz"), func(line []byte) {
		var e struct {
			ID    string `json:"id"`
			Tools []tool `json:"tools"`
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		for i, one := range e.Tools {
			if tools++; testing.Short() && tools%20 != 0 {
				continue
			}
			checked += through(t, one, valid[e.ID][i])
		}
	})
	file, err := os.ReadFile(filepath.Join(dir, "multi_turn_tools.json"))
	if err != nil {
		t.Fatal(err)
	}
	var more map[string][]tool
	if err := json.Unmarshal(file, &more); err != nil {
		t.Fatal(err)
	}
	for _, group := range more {
		for _, one := range group {
			tools++
			through(t, one, nil)
		}
	}
	t.Logf("%d tools through %d dialects, %d valid arguments checked in each", tools, len(dialects), checked)
}

// through takes a tool through every dialect and returns how many of args are
// valid, all of which must stay so.
func through(t *testing.T, one tool, args []json.RawMessage) (n int) {
	t.Helper()
	before := compile(t, one.Parameters, false)
	var values []any
	for _, a := range args {
		if v := valueOf(t, a); before.Validate(v) == nil {
			values = append(values, v)
		}
	}
	for _, d := range dialects {
		out, err := fit.Schema(one.Parameters, d)
		if err != nil {
			t.Errorf("%s: %v", one.Name, err)
			continue
		}
		for _, fault := range check(out, d) {
			t.Errorf("%s for %s: %s: %s", one.Name, d.Name, fault, out)
		}
		after := compile(t, out, d.Nullable)
		for _, v := range values {
			if err := after.Validate(v); err != nil {
				t.Errorf("%s for %s: %v was valid: %v", one.Name, d.Name, v, err)
			}
		}
	}
	return len(values)
}

// arguments are the recorded arguments of calls by example and tool.
func arguments(t *testing.T, dir string) map[string]map[int][]json.RawMessage {
	t.Helper()
	out := map[string]map[int][]json.RawMessage{}
	lines(t, filepath.Join(dir, "arg_validation.jsonl.gz"), func(line []byte) {
		var r struct {
			ID        string          `json:"id"`
			Tool      int             `json:"tool"`
			Arguments json.RawMessage `json:"arguments"`
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		if out[r.ID] == nil {
			out[r.ID] = map[int][]json.RawMessage{}
		}
		out[r.ID][r.Tool] = append(out[r.ID][r.Tool], r.Arguments)
	})
	return out
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
	return filepath.Join(dir, "..", "..", "..", "shared")
}

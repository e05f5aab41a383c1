package register_test

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/uzda-dev/uzda/window/register"
)

func shared(t *testing.T, name ...string) *os.File {
	t.Helper()
	dir := os.Getenv("UZDA_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	f, err := os.Open(filepath.Join(append([]string{dir}, name...)...))
	if os.IsNotExist(err) {
		t.Skipf("SKIPPED, NOTHING WAS MEASURED: %v; set UZDA_SHARED to the folder with the benchmarks", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

type tau2 struct {
	Tasks []struct {
		Scenario any `json:"scenario"`
		Actions  []struct {
			Arguments map[string]any `json:"arguments"`
			Result    any            `json:"result"`
		} `json:"actions"`
	} `json:"tasks"`
}

func domain(t *testing.T, name string) tau2 {
	t.Helper()
	z, err := gzip.NewReader(shared(t, "bench", "tau2", name+".json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(z)
	d.UseNumber()
	var out tau2
	if err := d.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// C4: each id, amount and date in the arguments of tau2's actions that stands in a
// text of its task is found there.
func TestTau2(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"airline", "retail", "telecom", "mock"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needed, found, bytes, listed := 0, 0, 0, 0
			for _, task := range domain(t, name).Tasks {
				texts := values(task.Scenario)
				for _, a := range task.Actions {
					texts = append(texts, values(a.Result)...)
				}
				all := map[string][]register.Fact{}
				for _, a := range task.Actions {
					for _, want := range exact("", a.Arguments) {
						for _, text := range texts {
							if !stands(text, want) {
								continue
							}
							if all[text] == nil {
								all[text] = register.Find(text)
								bytes, listed = bytes+len(text), listed+len(all[text])
							}
							needed++
							if slices.ContainsFunc(all[text], func(f register.Fact) bool { return stands(f.Text, want) }) {
								found++
							} else if needed-found < 20 {
								at := strings.Index(text, want)
								t.Errorf("%q is not found in …%q…", want, text[max(0, at-30):min(len(text), at+40)])
							}
						}
					}
				}
			}
			if needed == 0 {
				t.Fatal("nothing was measured")
			}
			t.Logf("%d of %d values found (%.4f); %d facts in %d bytes", found, needed, float64(found)/float64(needed), listed, bytes)
		})
	}
}

// C4: of the accepted answers of bfcl_memory's questions that are numbers, all that
// stand in their turn are found or are too small to be told from any other.
func TestMemory(t *testing.T) {
	t.Parallel()
	var data struct {
		Conversations map[string][]struct{ ID, Text string } `json:"conversations"`
		Questions     []struct {
			Answers  []string `json:"answers"`
			Evidence []string `json:"evidence"`
		} `json:"questions"`
	}
	if err := json.NewDecoder(shared(t, "bench", "bfcl_memory", "memory.json")).Decode(&data); err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	size, listed := 0, 0
	for _, turns := range data.Conversations {
		for _, turn := range turns {
			texts[turn.ID] = turn.Text
			size, listed = size+len(turn.Text), listed+len(register.Find(turn.Text))
		}
	}
	needed, found := 0, 0
	for _, q := range data.Questions {
		for _, id := range q.Evidence {
			for _, want := range q.Answers {
				digits := strings.Count(strings.Map(digit, want), "0")
				if digits < 3 && !strings.ContainsAny(want, "$%") || !stands(texts[id], want) || strings.Count(want, " ") > 2 {
					continue
				}
				needed++
				if slices.ContainsFunc(register.Find(texts[id]), func(f register.Fact) bool {
					return strings.Contains(f.Text, want) || strings.Contains(want, f.Text)
				}) {
					found++
				} else {
					t.Logf("%q is not found in %.200q", want, texts[id])
				}
			}
		}
	}
	if needed == 0 || found < needed {
		t.Errorf("%d of %d answers found", found, needed)
	}
	t.Logf("%d of %d answers found; %d facts in %d bytes", found, needed, listed, size)
}

func digit(r rune) rune {
	if unicode.IsDigit(r) {
		return '0'
	}
	return r
}

// values are the strings and numbers in a value of JSON.
func values(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case json.Number:
		return []string{v.String()}
	case []any:
		var out []string
		for _, x := range v {
			out = append(out, values(x)...)
		}
		return out
	case map[string]any:
		var out []string
		for _, x := range v {
			out = append(out, values(x)...)
		}
		return out
	}
	return nil
}

// exact are the ids, amounts, dates and the like in the arguments of an action.
func exact(key string, v any) []string {
	var out []string
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			out = append(out, exact(k, x)...)
		}
	case []any:
		for _, x := range v {
			out = append(out, exact(key, x)...)
		}
	case string:
		id := strings.HasSuffix(key, "_id") || strings.HasSuffix(key, "_ids")
		if v != "" && (id || slices.Contains([]string{"date", "dob", "zip", "email", "flight_number"}, key)) {
			out = append(out, v)
		}
	case json.Number:
		if n, err := v.Float64(); err == nil && key == "amount" && n >= 100 {
			out = append(out, v.String())
		}
	}
	return out
}

// stands says whether a value stands in a text by itself.
func stands(text, v string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], v)
		if i < 0 {
			return false
		}
		i += at
		at = i + len(v)
		word := func(r byte) bool { return r == '_' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z' }
		if (i == 0 || !word(text[i-1])) && (at == len(text) || !word(text[at])) {
			return true
		}
	}
}

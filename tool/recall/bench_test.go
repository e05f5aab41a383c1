package recall_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/sqlite"
	"github.com/uzda-dev/uzda/tool/recall"
)

// places are the numbers of the messages that a query finds, the best first.
func places(t testing.TB, r *recall.Recall, id uzda.SessionID, query string, most int) (seqs []uzda.Seq) {
	t.Helper()
	place := regexp.MustCompile(`(?m)^\[(\d+)\] message`)
	for len(seqs) < most {
		in, err := json.Marshal(map[string]any{"query": query, "offset": len(seqs), "limit": recall.Most})
		if err != nil {
			t.Fatal(err)
		}
		text, res := ask(t, r, id, "1000000.1", string(in))
		found := place.FindAllStringSubmatch(text, -1)
		if res.IsError || len(found) == 0 {
			break
		}
		for _, m := range found {
			n, err := strconv.Atoi(m[1])
			if err != nil {
				t.Fatal(err)
			}
			seqs = append(seqs, uzda.Seq(n))
		}
	}
	return seqs[:min(most, len(seqs))]
}

// The 155 questions of BFCL's memory category, asked word for word over what a
// person said before: the message that holds the answer is among the first places.
// C5
func TestBFCLMemory(t *testing.T) {
	t.Parallel()
	var data struct {
		Conversations map[string][]struct{ ID, Text string }
		Questions     []struct {
			Scenario, Question string
			Evidence           []string
			By                 string `json:"evidence_by"`
		}
	}
	raw, err := os.ReadFile(filepath.Join(shared(), "bench", "bfcl_memory", "memory.json"))
	if err != nil {
		t.Skipf("SKIPPED: the benchmark is not here: %v", err)
	}
	if err := json.Unmarshal(raw, &data); err != nil {
		t.Fatal(err)
	}
	j := journal.Memory()
	ids := map[string]map[uzda.Seq]string{}
	for name, turns := range data.Conversations {
		at := map[uzda.Seq]string{}
		var bodies []uzda.Body
		for i, turn := range turns {
			bodies = append(bodies, uzda.Posted{ID: turn.ID, Blocks: uzda.Say(turn.Text)}, uzda.Asked{Ordinal: i + 1}, say("I see."))
			at[uzda.Seq(len(bodies)-2)] = turn.ID
		}
		store(t, j, uzda.SessionID(name), bodies...)
		ids[name] = at
	}
	r := recall.New(j)
	hits, asked := map[int]int{}, 0
	for _, q := range data.Questions {
		if q.By != "source" {
			continue
		}
		asked++
		for i, seq := range places(t, r, uzda.SessionID(q.Scenario), q.Question, 10) {
			if slices.Contains(q.Evidence, ids[q.Scenario][seq]) {
				for k := i + 1; k <= 10; k++ {
					hits[k]++
				}
				break
			}
		}
	}
	if asked == 0 {
		t.Fatal("the benchmark has no questions")
	}
	share := func(k int) float64 { return float64(hits[k]) / float64(asked) }
	t.Logf("%d questions: hit@1 %.3f, @3 %.3f, @5 %.3f, @10 %.3f", asked, share(1), share(3), share(5), share(10))
	if share(1) < 0.70 || share(5) < 0.90 || share(10) < 0.95 {
		t.Errorf("the search has become worse")
	}
}

func shared() string {
	if dir := os.Getenv("UZDA_SHARED"); dir != "" {
		return dir
	}
	return filepath.Join("..", "..", "..", "shared")
}

// long is a session of about n events with a kilobyte each step.
func long(n int) []uzda.Body {
	bodies := []uzda.Body{post("begin the long task")}
	for i := 0; len(bodies) < n; i++ {
		seq := len(bodies) + 2
		use := uzda.UseID(fmt.Sprintf("%d.1", seq))
		text := fmt.Sprintf("row %d: order ORD-%05d of 0%d.04.2025, 1 %03d,50 zł. ", i, 10000+i, i%9+1, i%1000)
		bodies = append(bodies, uzda.Asked{Ordinal: i + 1}, say("I look at the next one.", fmt.Sprintf(`read {"n":%d}`, i)),
			uzda.Started{Use: use}, result(use, strings.Repeat(text, 20)))
	}
	return append(bodies, uzda.Asked{Ordinal: n})
}

// A search and a lookup at 1,000 and 10,000 events, in memory and on SQLite: the
// cost grows as the journal does. C5
func BenchmarkRecall(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		db, err := sqlite.Open(filepath.Join(b.TempDir(), "j.db"))
		if err != nil {
			b.Fatal(err)
		}
		defer db.Close()
		for name, j := range map[string]uzda.Store{"memory": journal.Memory(), "sqlite": db} {
			store(b, j, session, long(n)...)
			r := recall.New(j)
			for what, query := range map[string]string{"search": "order ORD-10099", "number": fmt.Sprintf("%d.1", n/8*4-1)} {
				b.Run(fmt.Sprintf("%s/%s/%d", what, name, n), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						find(b, r, query)
					}
				})
			}
		}
	}
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/tool"
	"github.com/uzda-dev/uzda/tool/recall"
	"github.com/uzda-dev/uzda/window"
)

// The work of the 60-document test: an agent reads 60 documents of about 1,000
// tokens, says something after each, asks for five earlier ones again and answers:
// 66 steps.
const (
	sixtyDocs   = 60
	sixtyAgain  = 5
	sixtySteps  = sixtyDocs + sixtyAgain + 1
	sixtyBudget = 12_000
)

// A bill is what must be known of a document to the end.
type bill struct{ id, amount, due string }

func sixtyBill(n int) bill {
	return bill{
		id:     fmt.Sprintf("INV-%05d", 20417+n*37),
		amount: fmt.Sprintf("%d %03d,%02d PLN", 3+n%17, (n*271)%1000, (n*13)%100),
		due:    fmt.Sprintf("2031-%02d-%02d", 1+n%12, 1+n%28),
	}
}

// sixtyDoc is a document: a page of prose with a bill in it.
func sixtyDoc(n int) string {
	words := strings.Fields("the supplier delivered harbour timber after storm while clerks compared ledgers and nobody found any reason to doubt what " +
		"the foreman wrote about weather transport wages repairs paint ropes lamps since river trade had been slow all through spring")
	r := rand.New(rand.NewPCG(uint64(n), 60))
	prose := func(sentences int) string {
		var b strings.Builder
		for range sentences {
			for range 14 {
				b.WriteString(words[r.IntN(len(words))] + " ")
			}
			b.WriteString("so it was.\n")
		}
		return b.String()
	}
	f := sixtyBill(n)
	return fmt.Sprintf("Document %d\n%sInvoice %s over %s is due on %s.\n%s", n, prose(9), f.id, f.amount, f.due, prose(37))
}

// reader is the model: it reads one document after the other and counts tokens its
// own way, which is not ours.
type reader struct {
	summarise func(ask int, req *uzda.Request) (string, error)

	mu        sync.Mutex
	peak      int // of the session's requests
	tokens    int // of all requests
	steps     int
	summaries int
	largest   int // request for a summary
	faults    []string
}

func (m *reader) Describe() uzda.ModelInfo {
	return uzda.ModelInfo{ID: "test/reader", Window: 128_000, MaxOutput: 2000, Free: true}
}

// sixtyTokens counts a request as this model's provider does.
func sixtyTokens(req *uzda.Request) int {
	n := len(req.Head.System) + len(req.Tail)
	for _, t := range req.Head.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Input)
	}
	for _, e := range req.View {
		n += 16 + e.Message.Blocks.Size()
	}
	return n * 10 / 47
}

func (m *reader) Stream(_ context.Context, req *uzda.Request) iter.Seq2[uzda.Chunk, error] {
	return func(yield func(uzda.Chunk, error) bool) {
		blocks, stop, err := m.answer(req)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, b := range blocks {
			if !yield(uzda.Done{Block: b}, nil) {
				return
			}
		}
		yield(uzda.Stop{Reason: stop, Usage: uzda.Usage{Input: sixtyTokens(req), Output: uzda.Blocks(blocks).Size() / 4}}, nil)
	}
}

func (m *reader) answer(req *uzda.Request) ([]uzda.Block, uzda.StopReason, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tokens += sixtyTokens(req)
	if req.Agent == "summary" {
		m.summaries++
		m.largest = max(m.largest, sixtyTokens(req))
		text, err := m.summarise(m.summaries, req)
		return []uzda.Block{uzda.Text{Text: text}}, uzda.StopEnd, err
	}
	m.steps++
	m.peak = max(m.peak, sixtyTokens(req))
	m.check(req)
	switch n := m.steps; {
	case n <= sixtyDocs:
		return []uzda.Block{uzda.Text{Text: sixtyRemark(n)},
			uzda.ToolUse{Wire: "c", Name: "read_document", Input: json.RawMessage(fmt.Sprintf(`{"number":%d}`, n))}}, uzda.StopUse, nil
	case n < sixtySteps:
		query, err := json.Marshal(map[string]string{"query": fmt.Sprintf("Document %d", 7*(n-sixtyDocs))})
		return []uzda.Block{uzda.ToolUse{Wire: "c", Name: "recall", Input: query}}, uzda.StopUse, err
	}
	return []uzda.Block{uzda.Text{Text: "All sixty are read."}}, uzda.StopEnd, nil
}

// sixtyRemark is what the agent says of a document: words without a fact.
func sixtyRemark(n int) string {
	return "I look at the next paper. " + strings.Repeat("It seems to be in order and matches what the others of its kind have said so far. ", 5+n%3)
}

// check says what a provider would refuse.
func (m *reader) check(req *uzda.Request) {
	fault := func(format string, args ...any) {
		m.faults = append(m.faults, fmt.Sprintf("request %d: ", req.Ask)+fmt.Sprintf(format, args...))
	}
	if err := uzda.Valid(req.View); err != nil {
		fault("%v", err)
	}
	role := uzda.User
	for i, e := range req.View {
		if e.Message.Role != role || len(e.Message.Blocks) == 0 {
			fault("message %d of role %q, want %q", i, e.Message.Role, role)
		}
		if role == uzda.User {
			role = uzda.Assistant
		} else {
			role = uzda.User
		}
	}
	if role == uzda.User {
		fault("the last message is the model's")
	}
	if !strings.Contains(sixtyText(req.View), "Read all sixty documents") {
		fault("the task is not there")
	}
}

// sixtyText is what a model reads of messages.
func sixtyText(view []uzda.Entry) string {
	var b strings.Builder
	for _, e := range view {
		b.WriteString(e.Message.String() + "\n")
		for _, r := range e.Message.Results() {
			b.WriteString(r.Blocks.String() + "\n")
		}
	}
	return b.String()
}

// sixtyRun runs the work with a planner or without one.
func sixtyRun(t *testing.T, m *reader, p agent.Planner) (*agent.State, *journal.Mem) {
	t.Helper()
	const id = uzda.SessionID("sixty")
	store := journal.Memory()
	if _, err := store.Append(t.Context(), id, uzda.At{Head: uzda.AnyHead},
		uzda.Posted{ID: "in-1", Blocks: uzda.Say("Read all sixty documents and tell which invoices are due.")}); err != nil {
		t.Fatal(err)
	}
	read := tool.New("read_document", "Gives back a document by its number.", uzda.Effects{ReadOnly: true},
		func(_ context.Context, in struct {
			Number int `json:"number"`
		}) (string, error) {
			return sixtyDoc(in.Number), nil
		})
	r := &agent.Runner{Store: store, Holder: "test", Poll: time.Hour, Agent: agent.Agent{
		Model: m, System: "You read documents.", Tools: []uzda.Tool{read, recall.New(store)},
		Planner: p, Budget: sixtyBudget, Limits: uzda.Limits{Steps: 100, Calls: 400, Tokens: 100_000_000},
	}}
	s, err := r.Run(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if o := s.Outcome(id); o == nil || o.Reason != uzda.EndTurn {
		t.Fatalf("the turn ended as %+v", o)
	}
	return s, store
}

// C2, C4, C5: 60 documents in 66 steps with a budget of 12,000 tokens. The context
// stays about the budget, every request is one that a provider takes, and every
// fact of every document is in the window at the end, or in what the three results
// hold that recall finds first; with a
// summariser that works, with one that always fails, and with one that loses every
// number.
func TestSixtyDocuments(t *testing.T) {
	t.Parallel()
	for name, summarise := range map[string]func(int, *uzda.Request) (string, error){
		"good": func(_ int, req *uzda.Request) (string, error) {
			var lines []string
			for line := range strings.Lines(sixtyText(req.View)) {
				if i := strings.Index(line, "Invoice INV-"); i >= 0 {
					lines = append(lines, uzda.Before(line[i:], 80))
				}
			}
			return "The documents so far were read. " + strings.Join(lines[max(0, len(lines)-20):], " "), nil
		},
		"fails": func(int, *uzda.Request) (string, error) {
			return "", &uzda.ProviderError{Code: "invalid_request", Status: 400, Message: "no summaries today"}
		},
		"loses numbers": func(int, *uzda.Request) (string, error) {
			return "Some invoices were read; they have amounts and dates.", nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &reader{summarise: summarise}
			s, store := sixtyRun(t, m, window.Planner{})
			for _, f := range m.faults {
				t.Error(f)
			}
			if m.steps != sixtySteps {
				t.Errorf("%d steps, want %d", m.steps, sixtySteps)
			}
			if most := sixtyBudget * 11 / 10; m.peak > most || m.peak < sixtyBudget/2 {
				t.Errorf("the largest request had %d tokens, want about %d and at most %d", m.peak, sixtyBudget, most)
			}
			edits := sixtyEdits(t, store)
			if edits[uzda.MoveClear] == 0 {
				t.Errorf("edits %v: nothing was cleared", edits)
			}
			if name != "fails" && edits[uzda.MoveCompact]+edits[uzda.MoveHandover] == 0 {
				t.Errorf("edits %v: nothing was compacted", edits)
			}
			if most := 8 * (3 + edits[uzda.MoveCompact] + edits[uzda.MoveHandover]); m.summaries > most {
				t.Errorf("%d requests for summaries, want at most %d", m.summaries, most)
			}
			if n := edits[uzda.MoveClear]; n > sixtySteps*6/10 { // in bulk: each breaks the cache
				t.Errorf("cleared %d times in %d steps", n, sixtySteps)
			}
			seen, found := sixtyFacts(t, s, store)
			if seen < sixtyDocs {
				t.Errorf("%d facts in the window: want those of the register and of the last documents, %d at least", seen, sixtyDocs)
			}
			t.Logf("peak %d tokens, %d read in all, edits %v, %d requests for summaries (the largest %d), %d facts in the window and %d by recall",
				m.peak, m.tokens, edits, m.summaries, m.largest, seen, found)
		})
	}
}

// C2: without a planner the same work fills the window with what it has read.
func TestSixtyDocumentsWithoutPlanner(t *testing.T) {
	t.Parallel()
	m := &reader{}
	s, store := sixtyRun(t, m, nil)
	if seen, _ := sixtyFacts(t, s, store); seen != 3*sixtyDocs {
		t.Errorf("%d facts in the window, want all %d", seen, 3*sixtyDocs)
	}
	if len(m.faults) > 0 {
		t.Error(m.faults)
	}
	if m.peak < 5*sixtyBudget || m.peak > 7*sixtyBudget {
		t.Errorf("the largest request had %d tokens, want about %d", m.peak, 60_000)
	}
	t.Logf("peak %d tokens, %d read in all", m.peak, m.tokens)
}

// sixtyEdits counts the edits of the session by what they are.
func sixtyEdits(t *testing.T, store *journal.Mem) map[string]int {
	t.Helper()
	out := map[string]int{}
	for e, err := range store.Read(t.Context(), "sixty", 0) {
		if err != nil {
			t.Fatal(err)
		}
		switch b := e.Body.(type) {
		case uzda.Edited:
			out[b.What]++
			if b.Saved == nil || b.Saved.After >= b.Saved.Before {
				t.Errorf("edit %d, %s, saved nothing: %+v", e.Seq, b.What, b.Saved)
			}
		case uzda.Missed:
			out["missed "+b.What]++
		}
	}
	return out
}

// sixtyFacts wants every fact of every document: in the window, or by recall.
func sixtyFacts(t *testing.T, s *agent.State, store *journal.Mem) (seen, found int) {
	t.Helper()
	text := sixtyText(s.View)
	r := recall.New(store)
	for n := 1; n <= sixtyDocs; n++ {
		b := sixtyBill(n)
		var lost []string
		for _, f := range []string{b.id, b.amount, b.due} {
			if strings.Contains(text, f) {
				seen++
			} else {
				lost = append(lost, f)
			}
		}
		if len(lost) == 0 {
			continue
		}
		got := sixtyRecall(t, r, fmt.Sprintf("Document %d", n))
		for _, hit := range sixtyHits(got) {
			got += sixtyRecall(t, r, hit)
		}
		for _, f := range lost {
			if strings.Contains(got, f) {
				found++
			} else {
				t.Errorf("document %d: %q is neither in the window nor in what recall gives: %s", n, f, uzda.Clip(got, 300))
			}
		}
	}
	return seen, found
}

func sixtyRecall(t *testing.T, r uzda.Tool, query string) string {
	t.Helper()
	in, err := json.Marshal(map[string]string{"query": query})
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Call(t.Context(), uzda.Use{Session: "sixty", ID: "9999.1", Name: "recall", Input: in})
	if err != nil || got.IsError {
		t.Fatal(got.Blocks.String(), err)
	}
	return got.Blocks.String()
}

// sixtyHits are the numbers of the three results that a search names first, be it
// by their calls.
func sixtyHits(found string) (out []string) {
	for line := range strings.Lines(found) {
		number, rest, ok := strings.Cut(strings.TrimPrefix(line, "["), "]")
		if !ok || line[0] != '[' {
			continue
		}
		if call, isCall := strings.CutPrefix(rest, " your call "); isCall {
			number, _, _ = strings.Cut(call, " ")
		}
		if strings.Contains(number, ".") && !slices.Contains(out, number) && len(out) < 3 {
			out = append(out, number)
		}
	}
	return out
}

// The documents are as the test says: their facts differ, and they are about
// 1,000 tokens long.
func TestSixtyDocumentsAreThat(t *testing.T) {
	t.Parallel()
	var ids []string
	for n := 1; n <= sixtyDocs; n++ {
		if size := window.Estimate(sixtyDoc(n)); size < 800 || size > 1200 {
			t.Fatalf("document %d has %d tokens", n, size)
		}
		ids = append(ids, sixtyBill(n).id)
	}
	slices.Sort(ids)
	if len(slices.Compact(ids)) != sixtyDocs {
		t.Error("two documents have the same invoice")
	}
}

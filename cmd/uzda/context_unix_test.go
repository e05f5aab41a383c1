//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/modeltest"
	"github.com/uzda-dev/uzda/sqlite"
)

// longWork is the real program at work on more than its model's window holds, with
// a strict fake of a provider that refuses every request over its own window.
type longWork struct {
	*program
	fake *modeltest.Server

	mu        sync.Mutex
	step      int // of the work, from 0: requests that were answered
	work      func(step int, r *modeltest.Request) modeltest.Turn
	summarise func(n int, r *modeltest.Request) modeltest.Turn // n from 1
	summaries int
}

// A setup is the provider and the settings of a piece of work.
type setup struct {
	service string // as in profile; default openai
	fake    modeltest.Config
	window  int    // of the model as the provider knows it; default 200,000
	known   int    // as the settings say it; default window, -1: they do not
	more    string // settings besides
	others  string // models besides, each a line
	sees    bool   // a local model takes pictures
	budget  int    // default: as the window says
}

// recap is a summary that loses every number.
func recap(int, *modeltest.Request) modeltest.Turn {
	return modeltest.Turn{Text: "## Task\nRead all documents and report.\n## Done and verified\nSome documents were read.\n## Next step\nRead on."}
}

// newLongWork starts the provider and writes the settings: one model, named fake.
func newLongWork(t *testing.T, s setup, work func(step int, r *modeltest.Request) modeltest.Turn) *longWork {
	t.Helper()
	l := &longWork{program: newProgram(t), work: work, summarise: recap}
	if s.window == 0 {
		s.window = 200_000
	}
	s.fake.Answer = l.answer
	s.fake.Models = append(s.fake.Models, modeltest.Model{ID: "m", Window: s.window, MaxOutput: 2000})
	if kind := map[string]modeltest.LocalKind{"llama": modeltest.LlamaServer, "ollama": modeltest.Ollama}[s.service]; kind != modeltest.Hosted {
		s.fake.NoKey, s.fake.Local = true, modeltest.Local{Kind: kind, Window: s.window, Trained: 1 << 20, Sees: s.sees}
	}
	l.fake = modeltest.Serve(t, s.fake)
	l.mustMkdir("home")
	l.envs = append(l.envs, "FAKE_KEY=k")
	l.settings(s)
	return l
}

// settings writes the user's own settings.
func (l *longWork) settings(s setup) {
	l.t.Helper()
	service, window := s.service, ""
	if service == "" {
		service = "openai"
	}
	base := l.fake.URL
	if service != "anthropic" && service != "ollama" {
		base += "/v1"
	}
	if s.known == 0 {
		s.known = s.window
	}
	if s.known > 0 {
		window = fmt.Sprintf("window: %d, ", s.known)
	}
	text := fmt.Sprintf("model: fake\nmodels:\n  fake: {id: %s/m, profile: %s, base: %q, key: $FAKE_KEY, %smax_output: 2000, retries: 0}\n%s"+
		"limits: {max_steps: 400, max_tool_calls: 1000, max_tokens: 100000000, max_cost: 1000}\n", service, service, base, window, s.others)
	if s.budget > 0 {
		text += fmt.Sprintf("context: {budget: %d}\n", s.budget)
	}
	l.file("home/uzda.yaml", text+s.more)
	l.file("reader.md", "---\ndescription: Reads documents.\ntools: [Read, notes, todo, recall]\n---\nYou read documents and report.\n")
}

// say posts a task with an agent of few tools, so that documents fill the window.
func (l *longWork) say(text string, more ...string) ended {
	l.t.Helper()
	return l.run(append([]string{"run", "--agent", "reader.md", "--session", "s"}, append(more, text)...)...)
}

func (p *program) mustMkdir(name string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Join(p.dir, name), 0o700); err != nil {
		p.t.Fatal(err)
	}
}

// answer tells requests for summaries from those of the session, which have tools.
func (l *longWork) answer(r *modeltest.Request) modeltest.Turn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(r.Tools) == 0 {
		l.summaries++
		return l.summarise(l.summaries, r)
	}
	l.step++
	return l.work(l.step-1, r)
}

// turns are the requests of the session, without those for summaries.
func (l *longWork) turns() []modeltest.Request {
	return slices.DeleteFunc(l.fake.Asks(), func(r modeltest.Request) bool { return len(r.Tools) == 0 })
}

// refused counts the requests that the provider refused.
func (l *longWork) refused() (n int) {
	for _, r := range l.fake.Asks() {
		if r.Status != 200 {
			n++
		}
	}
	return n
}

// peak is the size of the largest request that was answered, as the provider counts.
func (l *longWork) peak() (n int) {
	for _, r := range l.fake.Asks() {
		if r.Status == 200 {
			n = max(n, r.Tokens)
		}
	}
	return n
}

// events reads a session's journal while no program has it.
func (l *longWork) events(id uzda.SessionID) (out []uzda.Event) {
	l.t.Helper()
	store, err := sqlite.Open(filepath.Join(l.dir, "home", "sessions.uzda"))
	if err != nil {
		l.t.Fatal(err)
	}
	defer store.Close()
	for e, err := range store.Read(l.t.Context(), id, 0) {
		if err != nil {
			l.t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// bodies are those of one kind in a journal.
func bodiesOf[T uzda.Body](events []uzda.Event) (out []T) {
	for _, e := range events {
		if b, ok := e.Body.(T); ok {
			out = append(out, b)
		}
	}
	return out
}

// moves counts the edits of each kind.
func moves(events []uzda.Event) map[string]int {
	n := map[string]int{}
	for _, e := range bodiesOf[uzda.Edited](events) {
		n[e.What]++
	}
	return n
}

// doc is a document of so many bytes, with facts that no other has. They stand at its
// beginning, since a long result may be cut.
func doc(n, size int) string {
	words := strings.Fields("a late barge brought timber and rope to the lower quay while the clerk of works wrote down names weather tides repairs lamps tar nails and wages")
	r := rand.New(rand.NewPCG(uint64(n), 7))
	var b strings.Builder
	fmt.Fprintf(&b, "Document %d.\n", n)
	fmt.Fprintf(&b, "Invoice %s over %s stands in /archive/%03d/scan.pdf.\n", invoice(n), amount(n), n)
	for n := 1; b.Len() < size-1; n++ {
		b.WriteString(words[r.IntN(len(words))] + " ")
		if n%14 == 0 {
			b.WriteByte('\n')
		}
	}
	return b.String()[:size-1] + "\n"
}

func invoice(n int) string { return fmt.Sprintf("INV-%05d", 31_007+n*41) }
func amount(n int) string {
	return fmt.Sprintf("%d %03d,%02d PLN", 1+n%9, (n*377+101)%1000, (n*17+3)%100)
}

// docs writes documents into the directory of the work.
func (l *longWork) docs(n, size int) {
	l.t.Helper()
	for i := range n {
		l.file(docName(i), doc(i, size))
	}
}

func docName(n int) string { return fmt.Sprintf("doc%03d.txt", n) }

// reads is a reply that reads documents.
func reads(from int, more ...int) modeltest.Turn {
	t := modeltest.Turn{Text: fmt.Sprintf("Next is document %d.", from)}
	for _, n := range append([]int{from}, more...) {
		t.Calls = append(t.Calls, modeltest.Call{Name: "read_file", Input: fmt.Sprintf(`{"path":%q}`, docName(n))})
	}
	return t
}

// readsAll reads n documents, one a step, and then answers; what is asked later is
// answered at once.
func readsAll(n int) func(step int, r *modeltest.Request) modeltest.Turn {
	return func(step int, _ *modeltest.Request) modeltest.Turn {
		if step < n {
			return reads(step)
		}
		return modeltest.Turn{Text: "All is read."}
	}
}

// story is what happened, for a test that fails.
func story(events []uzda.Event) string {
	var b strings.Builder
	for _, e := range events {
		switch e := e.Body.(type) {
		case uzda.Asked:
			fmt.Fprintf(&b, "ask %d: %d tokens, at most %d back\n", e.Ordinal, e.Tokens-e.Max, e.Max)
		case uzda.Broken:
			fmt.Fprintf(&b, "  broken: %s (%d of %d): %s\n", e.Code, e.Tokens, e.Window, e.Error)
		case uzda.Said:
			fmt.Fprintf(&b, "  said: %d tokens read\n", e.Usage.Context())
		case uzda.Edited:
			fmt.Fprintf(&b, "  %s %d-%d: %+v\n", e.What, e.From, e.To, e.Saved)
		case uzda.Missed:
			fmt.Fprintf(&b, "  missed %s: %s\n", e.What, e.Why)
		case uzda.Used:
			fmt.Fprintf(&b, "  used for %s: %+v\n", e.For, e.Usage)
		case uzda.Weighed:
			fmt.Fprintf(&b, "  weighed %d of %d, %s, factor %.2f\n", e.Total, e.Budget, e.State, e.Factor)
		case uzda.Ended:
			fmt.Fprintf(&b, "  ended: %s: %s\n", e.Reason, e.Detail)
		}
	}
	return b.String()
}

// textsOf are the texts in the messages of a request, in their order.
func textsOf(t *testing.T, body []byte) (texts []string) {
	t.Helper()
	var doc struct{ Messages []struct{ Content any } }
	if err := json.Unmarshal(body, &doc); err != nil {
		t.Fatal(err)
	}
	var add func(v any)
	add = func(v any) {
		switch v := v.(type) {
		case string:
			texts = append(texts, v)
		case []any:
			for _, one := range v {
				add(one)
			}
		case map[string]any:
			add(v["text"])
			add(v["content"])
		}
	}
	for _, m := range doc.Messages {
		add(m.Content)
	}
	return texts
}

func (l *longWork) ends(e ended, code int, answer string) {
	l.t.Helper()
	if e.code != code || e.result.Answer != answer {
		l.t.Fatalf("exit %d, %q, %+v; want %d, %q\n%s\n%s", e.code, e.result.Answer, e.result.Error, code, answer, e.errs, story(l.events("s")))
	}
}

// sound checks that nothing was lost from the disk: every result is as it was
// given, and doctor finds nothing.
func (l *longWork) sound(id uzda.SessionID, docs int) {
	l.t.Helper()
	l.says(0, []string{"doctor"})
	var all strings.Builder
	for _, r := range bodiesOf[uzda.Returned](l.events(id)) {
		all.WriteString(r.Result.Blocks.String())
	}
	for i := range docs {
		if !strings.Contains(all.String(), invoice(i)) || !strings.Contains(all.String(), amount(i)) {
			l.t.Errorf("the result with document %d is not in the journal any more", i)
		}
	}
}

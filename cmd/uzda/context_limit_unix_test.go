//go:build unix

package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/modeltest"
)

// dialects are services that refuse a request as too long, each in its own words.
func dialects() map[string]setup {
	return map[string]setup{
		"anthropic":      {service: "anthropic"},
		"openai":         {},
		"gemini":         {service: "gemini", fake: modeltest.Config{Overflow: modeltest.OverflowGemini, Rules: modeltest.Rules{Gemini: true}}},
		"bedrock":        {fake: modeltest.Config{Overflow: modeltest.OverflowBedrock}},
		"llama.cpp":      {service: "llama"},
		"vllm":           {fake: modeltest.Config{Overflow: modeltest.OverflowVLLM}},
		"ollama":         {service: "ollama"},
		"413":            {fake: modeltest.Config{Overflow: modeltest.OverflowBytes}},
		"unknown window": {known: -1},
	}
}

// The provider counts four times what is estimated, says no usage, and refuses in
// its own words: the program learns from the refusal, makes the request shorter
// once, and the work is done. case:C06 peer:16 peer:17
func TestRefusedAsTooLong(t *testing.T) {
	t.Parallel()
	for name, s := range dialects() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.window, s.fake.Times, s.fake.Shape = 40_000, 4, modeltest.Shape{Usage: modeltest.UsageNone}
			l := newLongWork(t, s, readsAll(15))
			l.docs(15, 3000)
			l.ends(l.say("Read all documents."), 0, "All is read.")
			events := l.events("s")
			if n := l.refused(); n != 1 {
				t.Errorf("%d requests were refused, want 1", n)
			}
			edits := moves(events)
			if n := edits[uzda.MoveCompact] + edits[uzda.MoveHandover]; len(bodiesOf[uzda.Edited](events)) == 0 || n > 1 || l.summaries > 8 {
				t.Errorf("edits %v, %d requests for summaries\n%s", edits, l.summaries, story(events))
			}
			l.sound("s", 15)
		})
	}
}

// With context.compact off nothing is edited and no summary is asked for: the turn
// stops with advice, and goes on once a person has followed it. case:C06
func TestRefusedWithCompactionOff(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"anthropic", "openai", "413"} { // the others differ in nothing that counts here
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := dialects()[name]
			s.window, s.fake.Times, s.fake.Shape = 40_000, 4, modeltest.Shape{Usage: modeltest.UsageNone}
			s.more = "context: {compact: off}\n"
			l := newLongWork(t, s, readsAll(11))
			l.docs(11, 3000)
			e := l.say("Read all documents.")
			if e.code != 9 || e.result.Reason != uzda.ContextExhausted || e.result.Error == nil || !strings.Contains(e.result.Error.Hint, "uzda compact s") {
				t.Fatalf("exit %d, %+v\n%s", e.code, e.result, e.errs)
			}
			if edits := moves(l.events("s")); len(edits) > 0 || l.summaries > 0 || l.refused() != 1 {
				t.Errorf("edits %v, %d summaries, %d refused", edits, l.summaries, l.refused())
			}
			if e := l.run("compact", "s"); e.code != 0 {
				t.Fatalf("compact: exit %d\n%s", e.code, e.errs)
			}
			l.ends(l.run("resume", "s", "Go on."), 0, "All is read.")
		})
	}
}

// System prompt and tools take over half of the window: the turn is refused before
// any request, with the parts that take the most. C6 case:C03
func TestFixedPartTooLarge(t *testing.T) {
	t.Parallel()
	l := newLongWork(t, setup{window: 8000}, readsAll(1))
	l.docs(1, 400)
	l.file("reader.md", "---\ndescription: Reads documents.\ntools: [Read, notes, todo, recall]\n---\n"+doc(1, 26_000))
	e := l.say("Read the document.")
	if e.code != 2 || e.result.Reason != uzda.ConfigError || e.result.Error == nil {
		t.Fatalf("exit %d, %+v\n%s", e.code, e.result, e.errs)
	}
	for _, part := range []string{"system prompt", "read_file", "notes", "8"} {
		if !strings.Contains(e.result.Error.Message, part) {
			t.Errorf("the message does not name %q: %s", part, e.result.Error.Message)
		}
	}
	if n := len(l.fake.Asks()); n != 0 || e.result.Error.Hint == "" {
		t.Errorf("%d requests were sent; hint %q", n, e.result.Error.Hint)
	}
}

// The fixed part is under half of the window and over what a compaction can bring
// the request under: at most one comes to nothing, and no more are tried. case:C03
func TestFixedPartOverTheThreshold(t *testing.T) {
	t.Parallel()
	for name, head := range map[string]int{"three quarters of the budget": 22_000, "over the budget": 36_000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLongWork(t, setup{window: 24_000, budget: 8000}, readsAll(20))
			l.docs(20, 400)
			l.file("reader.md", "---\ndescription: Reads documents.\ntools: [Read, recall]\n---\n"+doc(1, head))
			if e := l.say("Read all documents."); head > 30_000 { // no move could keep that budget
				if e.code != 2 || !strings.Contains(e.errs, "system prompt") || len(l.turns()) > 0 {
					t.Errorf("exit %d after %d requests: %s", e.code, len(l.turns()), e.errs)
				}
			} else {
				l.ends(e, 0, "All is read.")
			}
			if l.summaries > 1 || l.refused() > 0 {
				t.Errorf("%d requests for summaries, want one at most; %d refused; edits %v", l.summaries, l.refused(), moves(l.events("s")))
			}
		})
	}
}

// A person asks for a compaction while a turn runs that is about to make one: the
// turn makes it, the person is told that the session is at work, and there is one.
// case:C03
func TestCompactedByTwo(t *testing.T) {
	t.Parallel()
	reached, goOn := make(chan struct{}), make(chan struct{})
	l := newLongWork(t, setup{window: 24_000, budget: 8000}, func(step int, _ *modeltest.Request) modeltest.Turn {
		if step == 6 {
			close(reached)
			<-goOn
		}
		return readsAll(10)(step, nil)
	})
	l.docs(10, 3000)
	c, out, errs := l.start("run", "--agent", "reader.md", "--session", "s", "Read all documents.")
	<-reached
	busy := l.run("compact", "s")
	close(goOn)
	l.ends(l.wait(c, out, errs), 0, "All is read.")
	if busy.code != 11 && busy.code != 2 {
		t.Errorf("compact beside the turn: exit %d\n%s", busy.code, busy.errs)
	}
	before := len(bodiesOf[uzda.Edited](l.events("s")))
	if before == 0 {
		t.Error("the turn made no edit")
	}
	l.sound("s", 10)
}

// The history has 130 % of the window of the model that a person changes to: the
// requests for the summary fit, their number is bounded, and the session goes on.
// case:C05 peer:14 peer:17
func TestSmallerModel(t *testing.T) {
	t.Parallel()
	for _, window := range []int{20_000, 9000} {
		t.Run(fmt.Sprint(window), func(t *testing.T) {
			t.Parallel()
			l := newLongWork(t, setup{fake: modeltest.Config{Models: []modeltest.Model{{ID: "small", Window: window, MaxOutput: 2000}}}}, readsAll(25))
			l.settings(setup{window: 200_000, others: fmt.Sprintf("  small: {id: openai/small, base: %q, key: $FAKE_KEY, window: %d, max_output: 2000, retries: 0}\n", l.fake.URL+"/v1", window)})
			l.docs(25, 4000)
			l.ends(l.say("Read all documents."), 0, "All is read.")
			was, asked := l.events("s"), len(l.fake.Asks())
			if len(moves(was)) > 0 || was == nil {
				t.Fatalf("the larger model's window was not large enough: %v", moves(was))
			}
			e := l.run("run", "--agent", "reader.md", "--session", "s", "--model", "small", "What have you read?")
			l.ends(e, 0, "All is read.")
			if n := len(l.fake.Asks()) - asked; n > 9 || l.refused() > 1 {
				t.Errorf("%d requests, %d of them refused", n, l.refused())
			}
			is := l.events("s")
			for i, e := range was {
				if is[i].Sum != e.Sum {
					t.Fatalf("event %d is another one now", e.Seq)
				}
			}
			l.sound("s", 25)
		})
	}
}

// Cached tokens are counted once, whatever form the usage has: no compaction while
// the window is large, and one at the right request where it is not. case:C09
func TestCachedTokensCountOnce(t *testing.T) {
	t.Parallel()
	usage := uzda.Usage{Input: 768, CacheRead: 183_936, Output: 40}
	for _, service := range []string{"openai", "anthropic", "gemini", "llama"} {
		for window, edits := range map[int]bool{400_000: false, 190_000: true} {
			t.Run(fmt.Sprint(service, window), func(t *testing.T) {
				t.Parallel()
				s := setup{service: service, window: 400_000, known: window, fake: modeltest.Config{Times: 4, Rules: modeltest.Rules{Gemini: service == "gemini"}}}
				l := newLongWork(t, s, func(step int, _ *modeltest.Request) modeltest.Turn {
					turn := modeltest.Turn{Text: "All is read."}
					switch step {
					case 0:
						turn = reads(0, 1, 2, 3, 4, 5, 6)
						turn.Usage = &uzda.Usage{Input: 6000, Output: 40}
					case 1:
						turn = reads(7)
						turn.Usage = &usage
					}
					return turn
				})
				l.docs(7, 25_000)
				l.file(docName(7), doc(7, 500))
				l.ends(l.say("Read all documents."), 0, "All is read.")
				events := l.events("s")
				if said := bodiesOf[uzda.Said](events); said[1].Usage.Context() != 184_704 {
					t.Errorf("the context has %d tokens: %+v", said[1].Usage.Context(), said[1].Usage)
				}
				asks, before := 0, -1
				for _, e := range events {
					switch e.Body.(type) {
					case uzda.Edited:
						if before < 0 {
							before = asks + 1
						}
					case uzda.Asked:
						asks++
					}
				}
				if edits && before != 3 || !edits && before >= 0 {
					t.Errorf("the first edit stands before request %d; window %d", before, window)
				}
			})
		}
	}
}

// The last usage is from before the results came: a step's results that would
// overflow the window are cut or make room first, and the provider sees no request
// over it. case:C11 peer:14 peer:18
func TestLargeResultsAfterTheLastUsage(t *testing.T) {
	t.Parallel()
	const most = 29_000
	l := newLongWork(t, setup{window: 200_000, more: ""}, func(step int, _ *modeltest.Request) modeltest.Turn {
		many := func(from, n int) modeltest.Turn {
			var rest []int
			for i := 1; i < n; i++ {
				rest = append(rest, from+i)
			}
			return reads(from, rest...)
		}
		switch step {
		case 0:
			return many(0, 14) // about 100,000 tokens
		case 1:
			return many(14, 17) // about 120,000
		}
		return modeltest.Turn{Text: "All is read."}
	})
	l.docs(31, most)
	l.ends(l.say("Read all documents."), 0, "All is read.")
	if l.refused() > 0 || l.peak() > 200_000 || l.peak() < 90_000 {
		t.Errorf("%d requests were refused; the largest had %d tokens", l.refused(), l.peak())
	}
}

// A person's window is stronger than the table's, and requests stay under it.
// peer:19
func TestWindowOfThePerson(t *testing.T) {
	t.Parallel()
	l := newLongWork(t, setup{window: 200_000, known: 9000}, readsAll(30))
	l.docs(30, 3000)
	l.ends(l.say("Read all documents."), 0, "All is read.")
	if l.peak() > 9000 {
		t.Errorf("a request had %d tokens", l.peak())
	}
	if len(moves(l.events("s"))) == 0 {
		t.Error("nothing was edited")
	}
}

// A provider that refuses whatever is sent is not asked the same twice, and not for
// ever. peer:20 peer:12
func TestRefusedForEver(t *testing.T) {
	t.Parallel()
	for _, overflow := range []modeltest.Overflow{modeltest.OverflowBytes, modeltest.OverflowBedrock, modeltest.OverflowOpenAI} {
		t.Run(string(overflow), func(t *testing.T) {
			t.Parallel()
			l := newLongWork(t, setup{window: 10, known: 100_000, fake: modeltest.Config{Overflow: overflow}}, readsAll(1))
			l.docs(1, 400)
			e := l.say("Read all documents. " + doc(3, 2000))
			if e.code != 9 && e.code != 2 || e.result.Error == nil {
				t.Errorf("exit %d, %+v\n%s", e.code, e.result, e.errs)
			}
			asks := l.fake.Asks()
			if len(asks) > 3 {
				t.Errorf("%d requests were sent", len(asks))
			}
			for i, r := range asks[1:] {
				if bytes.Equal(r.Body, asks[i].Body) {
					t.Errorf("request %d is the one before it again", i+2)
				}
			}
		})
	}
}

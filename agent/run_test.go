package agent_test

import (
	"strings"
	"testing"

	"slices"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/model/script"
)

const begun = "posted equipped asked said "

// TestRuns runs whole turns: the kinds in the journal, the order of the calls
// and the reason.
func TestRuns(t *testing.T) { // L1 L2 L6 L7 L9 L13
	t.Parallel()
	cut := script.Turn{Text: "par", Cut: true}
	half := script.Turn{Text: "I will write", Calls: []script.Call{{Name: "write", Input: `{"n":1}`}}, Stop: "max_tokens"}
	mute := script.Turn{}
	pause := script.Turn{Text: "searching", Stop: "pause"}
	for _, tt := range []struct {
		name  string
		turns []script.Turn
		set   func(*agent.Runner)
		kinds string // "": not looked at
		log   string // "-": nothing ran; "": not looked at
		want  uzda.Reason
		text  string // the answer
	}{
		{name: "answer", turns: []script.Turn{bye}, kinds: begun + "ended", log: "-", want: uzda.EndTurn, text: "done"},
		{name: "reads run together", turns: []script.Turn{calls("look", "look"), bye},
			kinds: begun + "judged judged started started returned returned asked said ended",
			log:   "+look +look -look -look", want: uzda.EndTurn, text: "done"},
		{name: "a write runs alone", turns: []script.Turn{calls("look", "write", "read"), bye},
			kinds: begun + "judged started returned judged started returned judged started returned asked said ended",
			log:   "+look -look +write -write +read -read", want: uzda.EndTurn, text: "done"},
		{name: "unknown tool", turns: []script.Turn{calls("nope"), bye}, // case:T07
			kinds: begun + "returned asked said ended", log: "-", want: uzda.EndTurn, text: "done"},
		{name: "invalid input", turns: []script.Turn{same("read", `{"bad":1}`), bye},
			kinds: begun + "returned asked said ended", log: "-", want: uzda.EndTurn, text: "done"},
		{name: "broken arguments", turns: []script.Turn{same("read", `{"n":`), bye},
			kinds: begun + "returned asked said ended", log: "-", want: uzda.EndTurn, text: "done"},
		{name: "denied", turns: []script.Turn{calls("write"), bye}, set: func(r *agent.Runner) { r.Gates = []uzda.Gate{denies("write")} },
			kinds: begun + "judged returned asked said ended", log: "-", want: uzda.EndTurn, text: "done"},
		{name: "nobody can be asked", turns: []script.Turn{calls("write"), bye},
			set: func(r *agent.Runner) { r.Gates, r.Unattended = []uzda.Gate{asks("write")}, true },
			log: "-", want: uzda.EndTurnDenied, text: "done"},
		{name: "stop sequence", turns: []script.Turn{{Text: "so far", Stop: "stop_sequence"}}, kinds: begun + "ended", want: uzda.EndSequence, text: "so far"},
		{name: "a cut text is kept and is no answer", turns: []script.Turn{{Text: "so f", Stop: "max_tokens"}},
			kinds: begun + "ended", want: uzda.OutputTruncated, text: "so f"},
		{name: "a cut call never runs", turns: []script.Turn{half, half, half, bye}, // L3 case:L02
			kinds: begun + "asked said asked said ended", log: "-", want: uzda.OutputTruncated},
		{name: "a cut call, and then a smaller one", turns: []script.Turn{half, bye},
			set:   func(r *agent.Runner) { r.Model = script.Model{Turns: []script.Turn{half, calls("write"), bye}} },
			kinds: begun + "asked said judged started returned asked said ended", log: "+write -write", want: uzda.EndTurn, text: "done"},
		{name: "a pause goes on", turns: []script.Turn{pause, bye}, kinds: begun + "asked said ended", want: uzda.EndTurn, text: "done"}, // case:L06
		{name: "a pause for ever", turns: slices.Repeat([]script.Turn{pause}, 20), // case:L06
			kinds: begun + strings.Repeat("asked said ", 5) + "ended", want: uzda.MaxContinuations, text: "searching"},
		{name: "refusal", turns: []script.Turn{{Text: "I can't", Stop: "refusal"}, bye}, kinds: begun + "ended", want: uzda.Refusal}, // case:L07
		{name: "the window is full", turns: []script.Turn{{Stop: "context_exceeded"}}, kinds: begun + "ended", want: uzda.ContextExhausted},
		{name: "a stop that nobody knows", turns: []script.Turn{{Text: "x", Stop: "mooed"}}, kinds: begun + "ended", want: uzda.ProviderFailed, text: "x"},
		{name: "empty once", turns: []script.Turn{mute, bye}, // case:L08
			set:   func(r *agent.Runner) { r.Model = script.Model{Turns: []script.Turn{mute, bye}} },
			kinds: begun + "asked said ended", want: uzda.EndTurn, text: "done"},
		{name: "empty always", turns: slices.Repeat([]script.Turn{mute}, 9), kinds: begun + "asked said asked said ended", want: uzda.EmptyResponse}, // case:L08
		{name: "empty is allowed", turns: []script.Turn{mute}, set: func(r *agent.Runner) { r.MayBeMute = true }, // case:L08
			kinds: begun + "ended", want: uzda.EndTurn},
		{name: "only a thought is empty", turns: slices.Repeat([]script.Turn{{Thinking: "hm"}}, 9), want: uzda.EmptyResponse},
		{name: "cut once", turns: []script.Turn{cut},
			set:   func(r *agent.Runner) { r.Model = script.Model{Turns: []script.Turn{cut, bye}} },
			kinds: "posted equipped asked broken asked said ended", want: uzda.EndTurn, text: "done"},
		{name: "cut twice", turns: []script.Turn{cut}, kinds: "posted equipped asked broken asked broken ended", want: uzda.ProviderFailed},
		{name: "overloaded", turns: []script.Turn{{Error: &uzda.ProviderError{Code: "overloaded", Status: 529}}},
			kinds: "posted equipped asked broken ended", want: uzda.Overloaded},
		{name: "no key", turns: []script.Turn{{Error: &uzda.ProviderError{Code: "auth", Status: 401}}},
			kinds: "posted equipped asked broken ended", want: uzda.ConfigError},
		{name: "final tool with a sibling", turns: []script.Turn{calls("read", "answer", "read")}, // L13
			kinds: begun + "judged judged judged started started started returned returned returned ended", want: uzda.FinalTool, text: `{"n":1}`},
		{name: "a final tool that is refused ends nothing", turns: []script.Turn{same("answer", `{"bad":1}`), bye}, want: uzda.EndTurn, text: "done"}, // L13
		{name: "the same call again and again", turns: slices.Repeat([]script.Turn{same("read", `{}`)}, 9), want: uzda.LoopDetected},                  // case:L01
		{name: "two calls in turn", turns: slices.Repeat([]script.Turn{same("read", `{}`), same("look", `{}`)}, 9), want: uzda.LoopDetected},          // case:L01
		{name: "three calls in turn", turns: slices.Repeat([]script.Turn{same("read", `{}`), same("look", `{}`), same("put", `{}`)}, 9), want: uzda.LoopDetected},
		{name: "an unknown tool for ever", turns: slices.Repeat([]script.Turn{same("serch", `{}`)}, 9), want: uzda.LoopDetected}, // case:T07
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			j, w := mem(), &world{}
			post(t, j, hello("1"))
			r := runner(w, j, tt.turns...)
			if tt.set != nil {
				tt.set(r)
			}
			r.Folded = faithful(t, j)
			s := run(t, r)
			valid(t, s)
			o := s.Outcome(sid)
			if o == nil || o.Reason != tt.want || tt.want.Outcome() != s.Ended.Outcome {
				t.Fatalf("got %+v, want %s; journal %s", o, tt.want, kinds(t, j))
			}
			if tt.text != "" && o.Answer != tt.text {
				t.Errorf("answer %q, want %q", o.Answer, tt.text)
			}
			if got := kinds(t, j); tt.kinds != "" && got != tt.kinds {
				t.Errorf("journal:\n got %s\nwant %s", got, tt.kinds)
			}
			if got := w.log(); tt.log == "-" && got != "" || tt.log != "" && tt.log != "-" && got != tt.log {
				t.Errorf("calls: got %q, want %q", got, tt.log)
			}
		})
	}
}

// What the model is told of a cut call, and the raised caps. L3 case:L02
func TestCutCallRaisesTheCap(t *testing.T) {
	t.Parallel()
	j := mem()
	post(t, j, hello("1"))
	half := script.Turn{Calls: []script.Call{{Name: "write", Input: `{"n":`}}, Stop: "length"}
	r := runner(&world{}, j, half)
	r.Params.MaxTokens = 1000
	s := run(t, r)
	var caps []int
	var tails []string
	for _, a := range kept[uzda.Asked](t, j) {
		caps, tails = append(caps, a.Max), append(tails, a.Tail)
	}
	if !slices.Equal(caps, []int{1000, 2000, 4000}) || tails[0] != "" || !strings.Contains(tails[1], "cut off") || reason(s) != uzda.OutputTruncated {
		t.Errorf("caps %v, told %q, %s", caps, tails, reason(s))
	}
	if len(s.View) != 1 {
		t.Errorf("a cut call is in the view: %v", s.View)
	}
}

// A refusal is asked once, never enters the view, and the next turn works. case:L07
func TestRefusalStaysOut(t *testing.T) {
	t.Parallel()
	j := mem()
	post(t, j, hello("1"))
	r := runner(&world{}, j)
	r.Model = script.Model{Turns: []script.Turn{{Text: "I won't", Stop: "content_filter"}, bye}}
	if s := run(t, r); reason(s) != uzda.Refusal || len(s.View) != 1 || len(kept[uzda.Asked](t, j)) != 1 {
		t.Fatalf("%s, %v", reason(s), s.View)
	}
	post(t, j, hello("2"))
	if s := run(t, r); reason(s) != uzda.EndTurn || len(s.View) != 3 {
		t.Fatalf("%s, %v", reason(s), s.View)
	}
}

// A loop is told once, and takes at most N+2 requests; a poll whose result
// changes is none. case:L01
func TestLoops(t *testing.T) { // L9
	t.Parallel()
	a, b, c := same("read", `{}`), same("look", `{}`), same("put", `{}`)
	for _, tt := range []struct {
		name string
		turn []script.Turn
		most int
	}{
		{"one", []script.Turn{a}, 4 + 2},
		{"two in turn", []script.Turn{a, b}, 2*4 + 2},
		{"three in turn", []script.Turn{a, b, c}, 3*4 + 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			j := mem()
			post(t, j, hello("1"))
			r := runner(&world{}, j)
			r.Model = script.Model{Turns: tt.turn, Loop: true}
			s := run(t, r)
			told := 0
			asked := kept[uzda.Asked](t, j)
			for _, a := range asked {
				if strings.Contains(a.Tail, "several times") {
					told++
				}
			}
			if told != 1 || len(asked) > tt.most || reason(s) != uzda.LoopDetected || s.Outcome(sid).Hint == "" {
				t.Errorf("told %d times, %d requests, %s", told, len(asked), reason(s))
			}
		})
	}
	t.Run("a poll that changes", func(t *testing.T) {
		t.Parallel()
		j := mem()
		post(t, j, hello("1"))
		turns := append(slices.Repeat([]script.Turn{a}, 15), bye)
		w := &world{}
		r := runner(w, j, turns...)
		r.Tools = []uzda.Tool{w.tool("read", reads, counter())}
		if s := run(t, r); reason(s) != uzda.EndTurn {
			t.Error(reason(s), s.Ended.Detail)
		}
	})
}

// Several calls that name no tool get near names and the run goes on. case:T07
func TestUnknownTools(t *testing.T) {
	t.Parallel()
	j, w := mem(), &world{}
	post(t, j, hello("1"))
	r := runner(w, j, calls("raed", "READ", "wirte", "xyzzyquux", "loook"), calls("read"), bye)
	s := run(t, r)
	rs := results(s)
	if len(rs) != 6 || reason(s) != uzda.EndTurn || w.log() != "+read -read" {
		t.Fatalf("%d results, %s, %s", len(rs), reason(s), w.log())
	}
	for i, want := range []string{"mean read", "mean read", "mean write", "There are: ", "mean look"} {
		if got := rs[i].Blocks.String(); rs[i].Code != uzda.CodeUnknownTool || rs[i].Effect != uzda.EffectNone || !strings.Contains(got, want) {
			t.Errorf("result %d: %s %q, want %q", i, rs[i].Code, got, want)
		}
	}
}

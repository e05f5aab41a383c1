package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/modeltest"
	"github.com/uzda-dev/uzda/model/openai"
)

var fresh atomic.Int64

// sound decodes a body, whatever it is: it ends in an error or in a reply that
// keeps the order of chunks, whose message can go back.
func sound(t *testing.T, profile openai.Profile, body []byte, tools ...string) {
	t.Helper()
	p := &player{bodies: [][]byte{body}}
	m := p.model(profile)
	m.Key = fmt.Sprint("key", fresh.Add(1)) // what one reply says of limits holds up no other
	req := hello(tools...)
	reply, chunks, err := ask(t, m, req)
	if err != nil {
		return
	}
	if err := modeltest.Order(chunks); err != nil {
		t.Fatalf("%v: %#v", err, chunks)
	}
	if len(reply.Message.Blocks) == 0 {
		return
	}
	if _, err := json.Marshal(reply.Message); err != nil {
		t.Fatal(err)
	}
	_, _, _ = ask(t, m, then(req, reply)) // that it can be encoded is what counts
	for _, m := range messages(t, p.sent[1])[1:] {
		valid(t, string(m))
	}
	paired(t, messages(t, p.sent[1]))
}

func FuzzReply(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(stream("tool_calls", `{"role":"assistant","content":"a\ud83d"}`, `{"content":[{"type":"text","text":"b"}],"tool_calls":[{"index":0,"id":"A","type":"function","function":{"name":"now","arguments":"{}"}}]}`))
	f.Add(whole(`"stop"`, `{"role":"assistant","content":"Hi","reasoning_details":[{"type":"reasoning.text","text":"x","index":0}]}`, fullUsage))
	f.Add(stream("stop", `{"content":"Well.<tool_call>{\"name\":\"now\",\"arguments\":{}}</tool_call>"}`))
	f.Add(stream("function_call", `{"function_call":{"name":"now","arguments":"{"}}`, `{"function_call":{"arguments":"}"}}`))
	f.Add(sse(`{"error":{"code":"tool_use_failed","failed_generation":"<function=now>{}"}}`))
	f.Add([]byte(": ping\r\n\r\nevent: error\r\ndata: x\r\n\r\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		sound(t, openai.VLLM(), body, "now")
		sound(t, openai.Mistral(), body, "now")
	})
}

// FuzzCalls puts calls together from pieces: each three bytes are one.
func FuzzCalls(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 2, 3}, `{"n":`, `1}`)
	f.Add([]byte{255, 128, 7, 9, 0, 1, 33, 12}, "", "}")
	f.Fuzz(func(t *testing.T, program []byte, one, two string) {
		var deltas []string
		pick := func(b byte, words ...string) string { return words[int(b)%len(words)] }
		for i := 0; i+2 < len(program) && i < 300; i += 3 {
			a, b, c := program[i], program[i+1], program[i+2]
			deltas = append(deltas, `{"tool_calls":[`+piece(pick(a, "", "0", "1", "7", `"x"`), pick(a/5, "", "A", "B", "c:1"), pick(b, "", "now", "no", "w", "find"), pick(c, "", "-", one, two, "{}", `{"n":1}`))+`]}`)
		}
		sound(t, openai.Profile{}, stream(pick(byte(len(program)), "tool_calls", "stop", "length"), deltas...), "now", "find")
	})
}

// Thousands of streams that fail in every way leave nothing behind: TestMain
// looks for goroutines, and no connection stays open.
func TestLeaks(t *testing.T) {
	t.Parallel()
	n := 2000
	if testing.Short() {
		n = 200
	}
	kinds := []modeltest.Kind{modeltest.Refuse, modeltest.End, modeltest.Cut, modeltest.Reset, modeltest.ErrorEvent, modeltest.Stall}
	server := modeltest.NewServer(modeltest.Config{Keep: 1, Answer: func(r *modeltest.Request) modeltest.Turn {
		random := rand.New(rand.NewPCG(uint64(r.N), 7))
		f := modeltest.Fault{Kind: kinds[random.IntN(len(kinds))], Bytes: random.IntN(900), Early: random.IntN(9) == 0, Times: 100}
		if f.Kind == modeltest.Refuse || f.Kind == modeltest.ErrorEvent {
			f.Early, f.Status = false, 400+random.IntN(200)
		}
		return modeltest.Turn{Thinking: "Hm.", Text: "Some text, and a call.", Calls: []modeltest.Call{one}, Faults: []modeltest.Fault{f}, Shape: &modeltest.Shape{Seed: uint64(r.N)}}
	}})
	defer server.Close()
	transport := &http.Transport{MaxIdleConnsPerHost: 100}
	defer transport.CloseIdleConnections()
	m := openai.Model{ID: "fake-1", Key: "k", Base: server.URL + "/v1", Env: noEnv, HTTP: &http.Client{Transport: transport}, Tries: 1, Idle: 20 * time.Millisecond, First: 20 * time.Millisecond}
	var wg sync.WaitGroup
	work := make(chan int)
	for range 8 {
		wg.Go(func() {
			for i := range work {
				ctx, cancel := context.WithCancel(t.Context())
				seen := 0
				for _, err := range m.Stream(ctx, hello("add")) {
					if seen++; err != nil || i%5 == 0 && seen > i%3 {
						break // the reader leaves
					}
					if i%7 == 0 {
						cancel()
					}
				}
				cancel()
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	wg.Wait()
}

// The cost of reading a stream of 1,000 deltas.
func BenchmarkDecode(b *testing.B) {
	var deltas []string
	for i := range 1000 {
		deltas = append(deltas, fmt.Sprintf(`{"content":"word %d "}`, i))
	}
	p := &player{bodies: [][]byte{stream("stop", deltas...)}}
	m := p.model(openai.Profile{})
	req := hello("now")
	b.ReportAllocs()
	for b.Loop() {
		p.sent = p.sent[:0]
		if _, err := uzda.Collect(m.Stream(b.Context(), req), nil); err != nil {
			b.Fatal(err)
		}
	}
}

// session is a session of n steps of a kilobyte; step takes one more.
func session(t testing.TB, n int) (step func()) {
	p := &player{bodies: [][]byte{calling(piece("0", "A", "now", `{"n": 1}`))}}
	m := p.model(openai.Profile{})
	kilo := make([]byte, 1000)
	for i := range kilo {
		kilo[i] = 'a' + byte(i%26)
	}
	req := hello("now")
	req.Enc = &uzda.Enc{}
	step = func() {
		p.sent = p.sent[:0]
		reply, err := uzda.Collect(m.Stream(context.Background(), req), nil)
		if err != nil {
			t.Fatal(err)
		}
		seq := len(req.View) + 2
		u := reply.Message.Blocks[0].(uzda.ToolUse)
		u.ID = uzda.UseID(fmt.Sprint(seq, ".1"))
		reply.Message.Blocks[0] = u
		req.View = append(req.View, uzda.Entry{Seq: uzda.Seq(seq), Message: reply.Message},
			uzda.Entry{Seq: uzda.Seq(seq + 1), Message: uzda.Message{Role: uzda.User, Blocks: uzda.Blocks{uzda.ToolResult{Use: u.ID, Blocks: uzda.Say(string(kilo))}}}})
	}
	for len(req.View) < 2*n {
		step()
	}
	return step
}

// A step costs the same however long the view is: what was encoded is not
// encoded again.
func TestAllocsAreFlat(t *testing.T) { // not parallel: it counts allocations
	early, late := testing.AllocsPerRun(20, session(t, 20)), testing.AllocsPerRun(20, session(t, 400))
	t.Logf("%.0f allocations a step at 20 steps, %.0f at 400", early, late)
	if late > early*1.2+10 || early > 400 {
		t.Errorf("%.0f allocations a step at 20 steps, %.0f at 400", early, late)
	}
}

// A step of a session of 400, as the loop asks it.
func BenchmarkStep(b *testing.B) {
	for _, n := range []int{20, 400} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			step := session(b, n)
			b.ReportAllocs()
			for b.Loop() {
				step()
			}
		})
	}
}

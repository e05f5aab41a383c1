package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/model/script"
)

// Two megabytes that end in the error: head and tail are kept between runes, the
// omitted bytes are counted exactly, and the pages give the whole again, after a
// restart as well and whatever a result may hold. case:C13
func TestLongOutput(t *testing.T) { // T3
	t.Parallel()
	for limit, size := range map[int]int{0: 2 << 20, 2000: 50_000, 33_001: 300_000} {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			fmt.Fprintf(&b, "%d żółć 🦊 line\n", i)
		}
		whole := b.String() + "FATAL: disk quota"
		dir := t.TempDir()
		files := func() *journal.Files {
			j, err := journal.OpenFiles(dir, journal.FilesOptions{Durability: "process"})
			if err != nil {
				t.Fatal(err)
			}
			return j
		}
		w := &world{}
		build := func(turns ...script.Turn) *agent.Runner {
			r := runner(w, files(), turns...)
			r.Limits = uzda.Limits{Output: limit, Steps: 5000, Calls: 5000, Repeat: 5000, Tokens: 1 << 40}
			r.Tools = []uzda.Tool{w.tool("list", reads, func(context.Context, uzda.Use) (uzda.Result, error) {
				return uzda.Result{Blocks: append(uzda.Say(whole), uzda.Media{Type: "image/png", Data: []byte{1}}), Labels: []uzda.Label{{Kind: uzda.Private}}}, nil
			})}
			return r
		}
		post(t, files(), hello("1"))
		s := run(t, build(calls("list"), bye))
		res := results(s)[0]
		shown := res.Blocks.String()
		most := limit
		if most == 0 {
			most = 32_000
		}
		if len(shown) > most || !utf8.ValidString(shown) || !strings.HasSuffix(shown, "FATAL: disk quota") || !strings.HasPrefix(shown, "0 żółć") || len(res.Blocks) != 2 {
			t.Fatalf("limit %d: %d bytes, ends %q, %d blocks", limit, len(shown), uzda.After(shown, 40), len(res.Blocks))
		}
		m := regexp.MustCompile(`(?s)^(.*)\n\[(\d+) of (\d+) bytes are left out here; read them with read_output (\{.*?\})\]\n(.*)$`).FindStringSubmatch(shown)
		if m == nil {
			t.Fatalf("no pointer in %q", uzda.Clip(shown, 300))
		}
		omitted, _ := strconv.Atoi(m[2])
		if omitted+len(m[1])+len(m[5]) != len(whole) || m[3] != strconv.Itoa(len(whole)) || res.Full.Size != int64(len(whole)) {
			t.Errorf("limit %d: %s omitted of %s, shown %d and %d", limit, m[2], m[3], len(m[1]), len(m[5]))
		}
		var at struct {
			Use    string
			Offset int
		}
		if err := json.Unmarshal([]byte(m[4]), &at); err != nil || at.Offset != len(m[1]) {
			t.Fatal(err, at)
		}
		// The pointer as the model reads it, page by page, in a later turn.
		pager := &pages{use: at.Use, head: m[1], offset: at.Offset, whole: whole}
		post(t, files(), hello("2"))
		r := build()
		r.Model = pager
		s = run(t, r)
		if reason(s) != uzda.EndTurn || pager.got != whole {
			t.Fatalf("limit %d: %s, the pages have %d bytes of %d", limit, reason(s), len(pager.got), len(whole))
		}
		if last := results(s)[len(results(s))-1]; len(last.Labels) != 1 || last.Full != nil {
			t.Errorf("a page lost its labels or was cut itself: %+v", last.Labels)
		}
	}
}

// pages reads an output to its end, as a model would that follows the pointers.
type pages struct {
	use, head, whole string
	offset           int
	got              string
}

var follow = regexp.MustCompile(`(?s)^\[bytes (\d+) to (\d+) of \d+\]\n(.*?)(\n\[(\d+) bytes follow, from offset (\d+)\])?$`)

func (p *pages) Stream(_ context.Context, req *uzda.Request) iter.Seq2[uzda.Chunk, error] {
	return func(yield func(uzda.Chunk, error) bool) {
		rs := req.View[len(req.View)-1].Message.Results()
		end := false
		if len(rs) == 0 {
			p.got = p.head
		} else if m := follow.FindStringSubmatch(rs[0].Blocks.String()); m != nil && m[1] == strconv.Itoa(len(p.got)) {
			p.got += m[3]
			p.offset, end = len(p.got), m[4] == ""
		} else {
			end = true
		}
		if end {
			_ = yield(uzda.Done{Block: uzda.Text{Text: "read"}}, nil) && yield(uzda.Stop{Reason: uzda.StopEnd}, nil)
			return
		}
		in := fmt.Sprintf(`{"use":%q,"offset":%d,"limit":30000}`, p.use, p.offset)
		_ = yield(uzda.Done{Block: uzda.ToolUse{Name: "read_output", Input: json.RawMessage(in)}}, nil) && yield(uzda.Stop{Reason: uzda.StopUse}, nil)
	}
}

// What read_output says where there is nothing to read.
func TestReadOutputErrors(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		`{"use":"nope"}`:              "want the number of a call",
		`{"use":"4.1"}`:               "has no output that was cut",
		`{"use":"999.1"}`:             "has no output that was cut",
		`{"use":"4.1","limit":99999}`: "at most 30000",
		`{"use":"4.1","offset":-1}`:   "0 or more",
		`{"use":4.1,"offset":"0"}`:    "has no output that was cut",
	} {
		j := mem()
		post(t, j, hello("1"))
		s := run(t, runner(&world{}, j, calls("read"), same("read_output", input), bye))
		if got := results(s)[1]; !got.IsError || !strings.Contains(got.Blocks.String(), want) {
			t.Errorf("%s: %q", input, got.Blocks)
		}
	}
}

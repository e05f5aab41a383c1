package recall_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/tool/recall"
)

// A job is a call and what it gave back; "" for one that has no result.
type job struct{ call, result string }

// jobs is a session in which one call runs after the other: the first is 2.1, each
// later one four on.
func jobs(t testing.TB, list ...job) *recall.Recall {
	t.Helper()
	j := journal.Memory()
	var bodies []uzda.Body
	for i, one := range list {
		use := uzda.UseID(fmt.Sprintf("%d.1", 4*i+2))
		bodies = append(bodies, uzda.Asked{Ordinal: i + 1}, say("", one.call), uzda.Started{Use: use})
		if one.result == "" {
			bodies = append(bodies, uzda.Noted{ID: fmt.Sprint(i)})
		} else {
			bodies = append(bodies, result(use, one.result))
		}
	}
	store(t, j, session, append(bodies, uzda.Asked{Ordinal: 1000})...)
	return recall.New(j)
}

// heads are the first lines of the places that a query finds.
func heads(text string) (out []string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "[") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

// C5: a file that was read again and again is one place, the newest, with the
// numbers of the others; one that has changed since is a place of its own.
func TestSameOnce(t *testing.T) {
	t.Parallel()
	table := strings.Repeat("ORD-10422, Żaneta Łoś, 1 234,56 zł\n", 20)
	read := job{`read_file {"path":"orders.csv"}`, table}
	var list []job
	for range 9 {
		list = append(list, read)
	}
	list = append(list, job{`shell {"command":"cat old.csv"}`, "ORD-10422 was sent to Gdynia"}, job{read.call, table + "ORD-99999, new\n"})
	list = append(list, job{`ping {"to":"a"}`, "ok, ORD-7"}, job{`ping {"to":"b"}`, "ok, ORD-7"}, job{`ping {"to":"b"}`, "ok, ORD-7"})
	r := jobs(t, list...)
	got := find(t, r, "ORD-10422")
	want := `[34.1] result of read_file {"path":"orders.csv"}, 9 times the same, also 30.1, 26.1, 22.1, 18.1, 14.1 and 3 more`
	if all := heads(got); len(all) < 3 || !slices.ContainsFunc(all, func(h string) bool { return strings.HasPrefix(h, want) }) ||
		strings.Count(got, "result of read_file") != 2 || !strings.Contains(got, "[42.1] result of read_file") || !strings.Contains(got, "Gdynia") {
		t.Errorf("want the table once, its newer form and the other place:\n%s", got)
	}
	// short answers are alike by chance: only those of the same input are one place
	got = find(t, r, "ok ORD-7")
	if all := heads(got); len(all) < 2 || all[0] != `[54.1] result of ping {"to":"b"}, 2 times the same, also 50.1:` || all[1] != `[46.1] result of ping {"to":"a"}:` {
		t.Errorf("short answers:\n%s", got)
	}
}

// C5: what people and the model said over and over is one place too, and pages by
// offset show each place once.
func TestSameSaid(t *testing.T) {
	t.Parallel()
	j := journal.Memory()
	var bodies []uzda.Body
	for i := range 40 {
		bodies = append(bodies, uzda.Posted{ID: fmt.Sprint(i), Blocks: uzda.Say("go on with the parcel")}, uzda.Asked{Ordinal: i + 1}, say("the parcel is on its way"), say(fmt.Sprintf("parcel %d", i)))
	}
	store(t, j, session, bodies...)
	r := recall.New(j)
	seen := map[string]bool{}
	for offset := 0; ; {
		text, res := ask(t, r, session, "999.1", fmt.Sprintf(`{"query":"parcel","offset":%d}`, offset))
		if res.IsError {
			break
		}
		for _, h := range heads(text) {
			if strings.Contains(h, "have some of the words") {
				continue
			}
			if number, _, _ := strings.Cut(h, "]"); seen[number] {
				t.Fatalf("%s comes twice", number)
			} else {
				seen[number], offset = true, offset+1
			}
		}
	}
	if len(seen) != 42 {
		t.Errorf("%d places, want 42", len(seen))
	}
	if got := find(t, r, "on its way"); !strings.Contains(got, "[159] your reply, 40 times the same, also 155, 151") {
		t.Errorf("the newest of 40:\n%s", got)
	}
}

// C5: the words of a call lead to its result, and with words of the result to the
// one of many that has both.
func TestFoundByCall(t *testing.T) {
	t.Parallel()
	long := `write_file {"path":"plan.md","text":"` + strings.Repeat("words and more words, ", 20) + `the mooring is at quay seventeen` + strings.Repeat(", as they say", 20) + `"}`
	var list []job
	for i := range 30 {
		list = append(list, job{fmt.Sprintf(`read_file {"path":"data/%s.csv"}`, []string{"orders", "clients", "stock"}[i%3]), fmt.Sprintf("row %d: total %d, paid\n", i, 1000+i)})
	}
	list[7] = job{`read_file {"path":"ledger.csv"}`, "date;sum\n" + strings.Repeat("1;2\n", 2000) + "row 7: total 1007, paid\n"}                         // 30.1
	list = append(list, job{long, "written"}, job{`shell {"command":"make harbour"}`, ""}, job{`fetch {"url":"https://quay.test/a\"b"}`, "three boats"}) // 122.1, 126.1, 130.1
	r := jobs(t, list...)
	for query, want := range map[string]string{
		"ledger.csv":                      `[30.1] result of read_file {"path":"ledger.csv"}`,
		`read_file {"path":"ledger.csv"}`: `[30.1] result of read_file {"path":"ledger.csv"}`,
		"ledger total paid":               `[30.1] result of read_file`, // its last piece has them
		"stock row 29":                    `[118.1] result of read_file {"path":"data/stock.csv"}`,
		"clients.csv 1013":                `[54.1] result of read_file {"path":"data/clients.csv"}`,
		"quay seventeen mooring":          "[122] your call 122.1 of write_file", // a long input is shown itself
		"harbour":                         "[126] your call 126.1 of shell",      // it has no result
		"quay.test":                       "[130.1] result of fetch",
	} {
		got := find(t, r, query)
		if all := heads(got); len(all) == 0 || !strings.HasPrefix(all[0], want) {
			t.Errorf("%q: want %s first:\n%s", query, want, uzda.Clip(got, 1500))
		}
	}
	if got := find(t, r, "ledger.csv"); !strings.Contains(got, "> date;sum") {
		t.Errorf("found by its call, a result is shown from its beginning:\n%s", uzda.Clip(got, 1000))
	}
	if got := find(t, r, "ledger total paid"); !strings.Contains(got, "total 1007, paid") {
		t.Errorf("the piece with the words is shown:\n%s", uzda.Clip(got, 1000))
	}
	if got := find(t, r, "harbour"); strings.Count(got, "126.1") != 1 {
		t.Errorf("a call without a result is one place:\n%s", got)
	}
}

// A call is shown with its result, so that its labels are on the answer too. C5
func TestLabelsOfCall(t *testing.T) {
	t.Parallel()
	j := journal.Memory()
	private := uzda.Label{Kind: uzda.Private, From: "a file"}
	reply := say("", `send {"to":"Żaneta"}`)
	u := reply.Message.Blocks[0].(uzda.ToolUse)
	u.Input, u.Labels = json.RawMessage(`{"to":"Żaneta"}`), []uzda.Label{private}
	reply.Message.Blocks[0] = u
	store(t, j, session, uzda.Asked{Ordinal: 1}, reply, uzda.Started{Use: "2.1"}, result("2.1", "sent"), uzda.Asked{Ordinal: 2})
	for _, query := range []string{`żaneta`, "sent", "2.1"} {
		if got, res := ask(t, recall.New(j), session, "9.1", fmt.Sprintf(`{"query":%q}`, query)); !slices.Contains(res.Labels, private) {
			t.Errorf("%q lacks the label of the call: %v\n%s", query, res.Labels, got)
		}
	}
}

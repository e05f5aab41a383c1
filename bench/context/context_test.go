package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
)

// The benchmark itself is not run by tests: it needs data that lies elsewhere. A
// small session of our own goes through all of it, so that it cannot rot.

func TestStands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, want string
		in         bool
	}{
		{"it costs 53.4.", "53.4", true},
		{"it costs 53.48", "53.4", false},
		{"it costs 153.4", "53.4", false},
		{"1,253.4", "253.4", false},
		{"order #w12, and", "#w12", true},
		{"order #w123", "#w12", false},
		{"53.48 or 53.4", "53.4", true},
		{"żółw 12", "12", true},
		{"żółw12", "12", false},
		{"", "12", false},
		{"12", "", false},
	} {
		if got := stands(c.text, c.want); got != c.in {
			t.Errorf("%q in %q: %v, want %v", c.want, c.text, got, c.in)
		}
	}
}

// shop is a domain as tau2 has them: cases in which a clerk reads an order and
// changes it. The numbers stand in results, and not in what people say.
func shop(t *testing.T, tasks int) []byte {
	t.Helper()
	type object = map[string]any
	var all []object
	for n := range tasks {
		order, item, card := fmt.Sprintf("#Q%07d", 4400017+n*911), fmt.Sprint(7100300211+n*7919), fmt.Sprintf("card_%d", 50121+n*13)
		buyer := []string{"Ada", "Bo", "Cyryl", "Dina", "Ewa", "Filip", "Greta", "Hugo", "Iga", "Jan", "Kaja", "Lech", "Maja", "Nina", "Ola", "Piotr"}[n] + " Nowak"
		var lines []object
		for i := range 12 {
			lines = append(lines, object{"item_id": fmt.Sprint(6000000000 + n*1000 + i), "name": strings.Repeat("lamp ", 3), "price": fmt.Sprintf("%d.%02d", 20+i, n)})
		}
		lines = append(lines, object{"item_id": item, "name": "kettle", "price": fmt.Sprintf("%d.45", 130+n)})
		result := func(v any) string {
			raw, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			return string(raw)
		}
		all = append(all, object{
			"id":       fmt.Sprint(n),
			"scenario": object{"instructions": object{"reason_for_call": "You want the kettle to be sent back.", "known_info": "You are " + buyer + "."}},
			"actions": []object{
				{"name": "get_customer", "arguments": object{"name": buyer}, "result": result(object{"orders": []string{order}, "payment": card})},
				{"name": "get_order", "arguments": object{"order_id": order}, "result": result(object{"order_id": order, "lines": lines})},
				{"name": "return_item", "arguments": object{"order_id": order, "item_id": item, "payment": card}, "result": result(object{"status": "return asked for"})},
			},
			"db_diff": [][]any{{"set", "/orders/" + order + "/refund", fmt.Sprintf("%d.45", 130+n)}},
		})
	}
	raw, err := json.Marshal(object{"tasks": all})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

const talked = `{"conversations":{"ann":[{"id":"a","text":"My dog is called Burek and I live in Gdynia."},{"id":"b","text":"On 3 May 2031 I fly to Oslo."}]},
"questions":[{"scenario":"ann","question":"What is my dog called?","answers":["Burek"],"evidence":["a"]},
{"scenario":"ann","question":"Am I old?","answers":["Yes"],"evidence":["b"]}]}`

func stories(t *testing.T) []*story {
	t.Helper()
	all, err := readDays(t.Context(), "shop", shop(t, 16), 8)
	if err != nil {
		t.Fatal(err)
	}
	more, err := readMemories(t.Context(), []byte(talked))
	if err != nil {
		t.Fatal(err)
	}
	return append(all, more...)
}

// What is needed of a session are the numbers that a clerk acted on, and the
// answers that were said in so many words.
func TestStories(t *testing.T) {
	t.Parallel()
	all := stories(t)
	if len(all) != 3 {
		t.Fatalf("%d stories, want 3", len(all))
	}
	for _, s := range all {
		if err := uzda.Valid(s.entries()); err != nil {
			t.Error(err)
		}
		if last := s.entries()[len(s.entries())-1]; last.Message.Role != uzda.User {
			t.Errorf("%s: the last message is from %s", s.id, last.Message.Role)
		}
		text := strings.ToLower(read(s.entries()))
		for _, n := range s.needs {
			if !n.met(text) {
				t.Errorf("%s: %v is not there before anything was cut", s.id, n.texts)
			}
		}
	}
	if n := len(all[0].needs); n != 8*4 { // order, item, card and refund of each case
		t.Errorf("%d needs, want 32: %v", n, all[0].needs)
	}
	if n := len(all[2].needs); n != 1 { // "Yes" was never said
		t.Errorf("%d needs, want 1: %v", n, all[2].needs)
	}
}

// C2, C4, C5: what every move leaves of our own sessions. Nothing is lost for good
// but by dropping, and a register keeps more than none.
func TestRetention(t *testing.T) {
	t.Parallel()
	cells, err := measure(t.Context(), stories(t)[:1])
	if err != nil {
		t.Fatal(err)
	}
	at := func(move string, share float64) cell {
		for _, c := range cells {
			if c.move == move && c.share == share {
				return c
			}
		}
		t.Fatalf("no cell of %s at %v", move, share)
		return cell{}
	}
	for _, c := range cells {
		if c.in > c.reach || c.reach > c.needs || c.needs != 32 {
			t.Errorf("%s at %v: %d in the request, %d reachable, of %d", c.move, c.share, c.in, c.reach, c.needs)
		}
		if c.after > c.before {
			t.Errorf("%s at %v: %d tokens became %d", c.move, c.share, c.before, c.after)
		}
		if c.move != "drop oldest" && c.reach != c.needs {
			t.Errorf("%s at %v: %d of %d can be reached", c.move, c.share, c.reach, c.needs)
		}
	}
	for _, share := range shares() {
		if drop := at("drop oldest", share); drop.in == drop.needs || !drop.fits() {
			t.Errorf("dropping at %v left %d of %d: nothing was cut", share, drop.in, drop.needs)
		}
	}
	if with, without := at("compact", 0.5), at("compact, no register", 0.5); with.in <= without.in {
		t.Errorf("%d facts with a register, %d without", with.in, without.in)
	}
	var md, svg bytes.Buffer
	if err := errors.Join(table(&md, cells), panels(&svg, cells)); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + md.String())
	if rows := strings.Count(md.String(), "\n"); rows != 2+len(moves())-1 { // nothing is there twice
		t.Errorf("%d rows:\n%s", rows, md.String())
	}
	for d := xml.NewDecoder(&svg); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the plot is no XML: %v", err)
		}
	}
}

// The results that are opened are those that a search names first, each once.
func TestHits(t *testing.T) {
	t.Parallel()
	found := "Places that fit:\n[5] your call 5.1 of find:\n> find {}\n[5.1] result of find:\n> [77.1] is text\n[3] message:\n> go\n[9.2] result\n[11] your call 11.1 of find:\n[12.1] result\n"
	if got := strings.Join(hits(found), " "); got != "5.1 9.2 11.1" {
		t.Error(got)
	}
}

// Without the register a compaction lacks that block, and nothing else.
func TestBare(t *testing.T) {
	t.Parallel()
	for _, s := range stories(t)[:2] {
		v := s.view(s.entries())
		v.Budget = v.Tokens / 2
		with, err := compact(t.Context(), s, v, 0)
		if err != nil {
			t.Fatal(err)
		}
		without, err := bare(t.Context(), s, v, 0)
		if err != nil {
			t.Fatal(err)
		}
		first, less := with[0].Message.Blocks, without[0].Message.Blocks
		if len(less) != len(first)-1 || read(without[1:]) != read(with[1:]) || !strings.HasPrefix(first.String(), less.String()) {
			t.Errorf("%s: the first message has %d blocks and %d without the register:\n%s\n---\n%s", s.id, len(first), len(less), first.String(), less.String())
		}
	}
}

// Of all strengths of a move the one is taken that comes nearest to the share from
// below.
func TestBetter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n, old int
		want   bool
	}{{90, 0, true}, {90, 80, true}, {80, 90, false}, {110, 90, false}, {90, 110, true}, {110, 120, true}, {120, 110, false}} {
		if got := better(c.n, c.old, 100); got != c.want {
			t.Errorf("%d after %d: %v", c.n, c.old, got)
		}
	}
}

// Recorded conversations of both wire formats become the same talk.
func TestTalks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "cassettes"), os.DirFS("testdata/cassettes")); err != nil {
		t.Fatal(err)
	}
	all, err := talks(dir, uzda.Price{Input: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 {
		t.Fatalf("%d talks, want 2", len(all))
	}
	want := ""
	for _, x := range all {
		got := fmt.Sprintf("%s\n%s\n%v\n%s", x.head.System, x.head.Tools[0].Name, len(x.entries), read(x.entries))
		if want == "" {
			want = got
		}
		if got != want || x.factor <= 0 || x.price.Input == 0 {
			t.Errorf("%s: factor %v, price %v\n%s\nwant\n%s", x.name, x.factor, x.price, got, want)
		}
	}
}

// A talk costs what its requests hold, and less where the planner may cut them.
func TestPlay(t *testing.T) {
	t.Parallel()
	price := uzda.Price{Input: 3e6, Output: 15e6, CacheRead: 3e5, CacheWrite: 3.75e6}
	rows, err := save(t.Context(), []talk{talkOf(stories(t)[0], price)})
	if err != nil {
		t.Fatal(err)
	}
	r := rows[0]
	for i, after := range r.after {
		if r.before.requests != 33 || after.requests != 33 || after.edits == 0 {
			t.Errorf("%v: %d requests, %d after, %d edits; want 33, 33 and some", plays()[i], r.before.requests, after.requests, after.edits)
		}
		if most := plays()[i].share * 1.1 * float64(r.before.largest); float64(after.largest) > most || after.tokens >= r.before.tokens {
			t.Errorf("%v: %+v became %+v", plays()[i], r.before, after)
		}
		if plays()[i].alone && after.summaries > 0 {
			t.Errorf("%d summaries by code alone", after.summaries)
		}
	}
	var md bytes.Buffer
	if err := saved(&md, rows); err != nil || strings.Count(md.String(), "\n") != 3 {
		t.Errorf("%v:\n%s", err, md.String())
	}
	if want := price.Of(uzda.Usage{Input: r.before.tokens}); r.before.full != want || r.before.cached >= r.before.full {
		t.Errorf("cost %v and %v cached, want %v", r.before.full, r.before.cached, want)
	}
}

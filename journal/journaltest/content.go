package journaltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
)

var contentTests = map[string]func(*suite){
	"every kind comes back": func(s *suite) {
		a, b := s.open(), s.open()
		epoch := s.hold(a, one)
		var want []uzda.Event
		for i, body := range Bodies() {
			evs := s.add(a, one, uzda.At{Head: uzda.Seq(i), Epoch: epoch}, body)
			if !reflect.DeepEqual(evs[0].Body, body) {
				s.Errorf("append returned %s for %s", show(evs[0].Body), show(body))
			}
			want = append(want, evs...)
		}
		s.equal(s.read(a, one, 0), want)
		s.equal(s.read(b, one, 0), want)
		s.chained(want)
	},
	"every text comes back": func(s *suite) {
		a, b := s.open(), s.open()
		texts := hardTexts()
		for i, text := range texts {
			s.add(a, one, uzda.At{Head: uzda.AnyHead}, say(fmt.Sprint("p", i), text), uzda.Noted{ID: fmt.Sprint("n", i), Text: text, By: text})
		}
		for _, st := range []uzda.Store{a, b} {
			evs := s.read(st, one, 0)
			for i, text := range texts {
				want := string([]rune(text)) // each byte that is no UTF-8 becomes U+FFFD
				posted, _ := evs[2*i].Body.(uzda.Posted)
				noted, _ := evs[2*i+1].Body.(uzda.Noted)
				if got := posted.Blocks.String(); got != want && text != "" {
					s.Errorf("text %d: %q, want %q", i, uzda.Clip(got, 200), uzda.Clip(want, 200))
				}
				if noted.Text != want || noted.By != want {
					s.Errorf("note %d: %q, want %q", i, uzda.Clip(noted.Text, 200), uzda.Clip(want, 200))
				}
			}
			s.chained(evs)
		}
	},
	"every JSON comes back byte for byte": func(s *suite) {
		a, b := s.open(), s.open()
		epoch := s.hold(a, one)
		raws := hardJSON()
		for i, raw := range raws {
			m := uzda.Message{
				Role:   uzda.Assistant,
				Blocks: uzda.Blocks{uzda.ToolUse{Name: "t", Input: raw}, uzda.Opaque{Origin: "o", Raw: raw}},
				Items:  []uzda.Item{{Blocks: 1, Raw: raw}},
			}
			s.add(a, one, uzda.At{Head: uzda.Seq(2 * i), Epoch: epoch}, uzda.Said{Message: m, Stop: uzda.StopUse},
				uzda.Judged{Use: "1.1", Verdict: uzda.Verdict{Decision: uzda.Allow}, Input: raw})
		}
		for _, st := range []uzda.Store{a, b} {
			evs := s.read(st, one, 0)
			for i, want := range raws {
				said := evs[2*i].Body.(uzda.Said).Message
				for where, got := range map[string]json.RawMessage{
					"input":  said.Uses()[0].Input,
					"opaque": said.Blocks[1].(uzda.Opaque).Raw,
					"item":   said.Items[0].Raw,
					"judged": evs[2*i+1].Body.(uzda.Judged).Input,
				} {
					if string(got) != string(want) {
						s.Errorf("JSON %d as %s:\n%.300s\nwant\n%.300s", i, where, got, want)
					}
				}
			}
			s.chained(evs)
		}
	},
	"append returns what read will": func(s *suite) {
		a, b := s.open(), s.open()
		epoch := s.hold(a, one)
		odd := uzda.Blocks{
			uzda.Text{Text: "cut \xff rune \xe2\x82", Meta: uzda.Meta{Labels: []uzda.Label{}}},
			uzda.ToolUse{ID: "1.1", Name: "x", Input: []byte(" {\"a\":\n 1} ")},
			uzda.ToolResult{Use: "1.1", People: uzda.Blocks{}},
			uzda.Media{Type: "image/png", Data: []byte{}},
		}
		evs := s.add(a, one, uzda.At{Head: 0, Epoch: epoch},
			uzda.Said{Message: uzda.Message{Role: uzda.Assistant, Blocks: odd, Items: []uzda.Item{}}},
			uzda.Returned{Result: uzda.ToolResult{Use: "1.1"}, Pending: &uzda.Pending{Until: time.Now()}},
			uzda.Parked{Until: time.Now().In(time.FixedZone("x", 3600)), Uses: []uzda.UseID{}},
			uzda.Equipped{Tools: []uzda.ToolSpec{}, Params: uzda.Params{Stops: []string{}, Schema: []byte("{ }")}},
			uzda.Judged{Input: []byte("{\r\n}"), Preview: "\xff"},
			uzda.Posted{ID: "p"},
			uzda.Edited{ID: "e"})
		s.equal(s.read(a, one, 0), evs)
		s.equal(s.read(b, one, 0), evs)
		s.chained(evs)
	},
	"a string that is too large": func(s *suite) {
		if testing.Short() || racing {
			s.Skip("SKIPPED: a string over 64 MiB, with -short and under the race detector")
		}
		a := s.open()
		huge := strings.Repeat("x", uzda.MaxString+1)
		err := s.refusal(a, one, uzda.At{Head: uzda.AnyHead}, uzda.ErrTooLarge, note("a"), say("p", huge))
		if !errors.Is(err, uzda.ErrTooLarge) {
			s.Errorf("error %v", err)
		}
		evs := s.add(a, one, uzda.At{Head: uzda.AnyHead}, note("a"), say("p", "small"))
		s.equal(s.read(a, one, 0), evs)
	},
}

func hardTexts() []string {
	long := strings.Repeat("0123456789abcdef", uzda.LongString/16)
	return []string{
		"", " ", "two\nlines\r\nand\rmore\n", "a\u2028b\u2029c\u0085d\vf\fg", "\x00\x01\x1f\x7f\"\\/", "<script>&amp;'\"",
		"cut \xff\xfe rune \xe2\x82", "\xed\xa0\x80 lone surrogate", "👩‍👩‍👧‍👦 é e\u0301 ѝ 漢字 \U0010FFFF \uFEFF", `{"$blob":"x"}`, `\u0000 \ud800 \n`,
		`,"body":{"x":1}}`, long, long[:uzda.LongString-1], long + "x", long + "\nü\u2028\xff" + long,
		strings.Repeat("€", uzda.LongString), strings.Repeat("\"\\\n", uzda.LongString),
	}
}

func hardJSON() []json.RawMessage {
	long := strings.Repeat("0123456789abcdef", uzda.LongString/16)
	hash := uzda.Hash([]byte("nothing"))
	return []json.RawMessage{
		[]byte(`{}`),
		[]byte(`{"a" : [1, 2.50, -0, 1e400, 12345678901234567890],  "a":null}`),
		[]byte(`{"esc":"\u0041\/\u2028\ud83d\ude00 \ud800 \u0000","\u0061":"\b\f"}`),
		[]byte(`{"$blob":"` + hash + `","size":3}`),
		[]byte(`{"$blob":"` + hash + `","size":3,"raw":true}`),
		[]byte(`{"$blob":{"$blob":["$blob"]},"$$blob":1,"$$$blob":{"$$blob":2}}`),
		[]byte(`{"x":1,"$blob":"not first","y":{"$blob":5}}`),
		[]byte(`{"\u0024blob":"` + hash + `","$bl\u006fb":"` + long + long + `"}`),
		[]byte(`{"k":"` + long + `"}`),
		[]byte(`{"k":"` + long + `x"}`),
		[]byte(`{"k":"` + long + `\u0041\/","$blob":"` + long + long + `"}`),
		[]byte(`{"` + long + long + `":"a long key stays","list":["` + long + `é","` + long + `é",{"$blob":"` + long + `z"}]}`),
	}
}

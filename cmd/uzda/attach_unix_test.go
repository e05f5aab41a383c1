//go:build unix

package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/gif"
	"image/png"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/modeltest"
)

func pixels(w, h int) *image.Gray { return image.NewGray(image.Rect(0, 0, w, h)) }

func pngFile(t *testing.T, p *program, name string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, pixels(64, 48)); err != nil {
		t.Fatal(err)
	}
	p.file(name, b.String())
	return b.Bytes()
}

// The smallest picture and a document of a page, for pages that show how to attach.
const (
	onePixel = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00:~\x9bU\x00\x00\x00\nIDATx\x9cc\xf8\x0f\x00\x01\x01\x01\x00\xb18\xf6\x14\x00\x00\x00\x00IEND\xaeB`\x82"
	onePage  = "%PDF-1.4 1 0 obj << /Subtype /Type1 >> endobj 2 0 obj << /Length 40 >> stream\nBT /F 12 Tf 72 700 Td (Tea and cups) Tj ET\nendstream endobj " +
		"3 0 obj << /Type /Page /Contents 2 0 R /Resources << /Font << /F 1 0 R >> >> >> endobj"
)

// printed is what the program prints for people.
func printed(t *testing.T, p *program, args ...string) string {
	t.Helper()
	out, err := p.command(args...).Output()
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return string(out)
}

// A picture that is attached reaches each provider in the form that it wants, in
// front of the question, byte for byte; it is asked again in the next turn although
// the file is gone; and people see what it is, not its bytes. // G4 peer:25
func TestAttachedPicture(t *testing.T) {
	t.Parallel()
	for service, wire := range map[string]string{
		"openai":    `{"type":"image_url","image_url":{"url":"data:image/png;base64,%s"}}`,
		"anthropic": `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%s"}}`,
		"ollama":    `"images":["%s"]`,
		"llama":     `{"type":"image_url","image_url":{"url":"data:image/png;base64,%s"}}`,
	} {
		t.Run(service, func(t *testing.T) {
			t.Parallel()
			l := newLongWork(t, setup{service: service, sees: true}, func(int, *modeltest.Request) modeltest.Turn {
				return modeltest.Turn{Text: "A red square."}
			})
			data := pngFile(t, l.program, "chart.png")
			e := l.say("What is on it?", "--attach", "chart.png")
			l.ends(e, 0, "A red square.")
			if !strings.Contains(e.errs, "attached: picture chart.png, image/png, 64×48, ") {
				t.Errorf("%s", e.errs)
			}
			l.file("chart.png", "gone")
			l.ends(l.say("And now?"), 0, "A red square.")
			asks := l.turns()
			if len(asks) != 2 {
				t.Fatalf("%d requests", len(asks))
			}
			want := fmt.Sprintf(wire, base64.StdEncoding.EncodeToString(data))
			for i, r := range asks {
				body := string(r.Body)
				if strings.Count(body, want) != 1 {
					t.Errorf("request %d holds the picture %d times:\n%s", i+1, strings.Count(body, want), uzda.Clip(body, 3000))
				}
				if name := strings.Index(body, "chart.png"); name < 0 || name > strings.Index(body, "What is on it?") {
					t.Errorf("request %d does not name the picture in front of the question", i+1)
				}
			}
			if faults := l.fake.Faults(); len(faults) > 0 {
				t.Errorf("%s", faults)
			}
			if shown := printed(t, l.program, "show", "s"); !strings.Contains(shown, "[picture chart.png, image/png, 64×48, ") || strings.Contains(shown, "uzda.Media") {
				t.Errorf("%s", shown)
			}
			if list := printed(t, l.program, "sessions"); !strings.Contains(list, "What is on it?") || strings.Contains(list, "attachment") {
				t.Errorf("%s", list)
			}
		})
	}
}

// A model that is known to take no pictures is named before a session is begun or
// anything is sent, with models that do. // G4 case:U09
func TestBlindModel(t *testing.T) {
	t.Parallel()
	var dot bytes.Buffer
	if err := gif.Encode(&dot, pixels(1, 1), nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		service string
		sees    bool
		file    string
		want    string
	}{
		{"deepseek", false, "chart.png", "--attach chart.png: deepseek/m takes no pictures"},
		{"ollama", false, "chart.png", "--attach chart.png: ollama/m takes no pictures"},
		{"ollama", true, "dot.gif", "--attach dot.gif: Ollama reads no GIF"},
	} {
		t.Run(c.want, func(t *testing.T) {
			t.Parallel()
			l := newLongWork(t, setup{service: c.service, sees: c.sees}, func(int, *modeltest.Request) modeltest.Turn { return modeltest.Turn{Text: "x"} })
			pngFile(t, l.program, "chart.png")
			l.file("dot.gif", dot.String())
			e := l.run("run", "--agent", "reader.md", "--attach", c.file, "What is on it?")
			if e.code != 2 || !strings.Contains(e.errs, c.want) {
				t.Errorf("exit %d\n%s", e.code, e.errs)
			}
			if n := len(l.fake.Asks()); n != 0 {
				t.Errorf("%d requests", n)
			}
			if list := printed(t, l.program, "sessions"); strings.Contains(list, "What is on it?") {
				t.Errorf("%s", list)
			}
		})
	}
}

// In a small window what is attached gives way, and what the person said does not:
// after each compaction the words of all messages of the turn stand there, and the
// model can have the whole file again. // C3 C5 G4
func TestAttachedInSmallWindow(t *testing.T) {
	t.Parallel()
	const budget, steps = 12_000, 20
	long := func(name string) string {
		var b strings.Builder
		for i := range 220 {
			fmt.Fprintf(&b, "%s line %d has the word w%dx in it.\n", name, i, i)
		}
		return b.String()
	}
	recalled := ""
	l := newLongWork(t, setup{budget: budget, window: 2 * budget}, nil)
	l.work = func(step int, r *modeltest.Request) modeltest.Turn {
		switch {
		case step == 0:
			return modeltest.Turn{Text: "Read."}
		case step < steps:
			return reads(step)
		case step == steps:
			at := strings.Index(string(r.Body), `[shortened; recall {\"query\":\"`)
			if at < 0 {
				return modeltest.Turn{Text: "There is no pointer."}
			}
			return modeltest.Turn{Calls: []modeltest.Call{{Name: "recall", Input: `{"query":"w110x"}`}}}
		}
		recalled = string(r.Body)
		return modeltest.Turn{Text: "Done."}
	}
	l.docs(steps, 3000)
	l.file("a.txt", long("alpha"))
	l.file("b.txt", long("beta"))
	l.ends(l.say("First: KEEP-ME-1 whatever comes. "+strings.Repeat("And be thorough, please. ", 120), "--attach", "a.txt"), 0, "Read.")
	l.ends(l.say("Then: KEEP-ME-2 too. "+strings.Repeat("Nothing is to be left out. ", 120), "--attach", "b.txt"), 0, "Done.")
	events := l.events("s")
	if n := moves(events); n[uzda.MoveCompact]+n[uzda.MoveHandover] == 0 {
		t.Fatalf("nothing was compacted\n%s", story(events))
	}
	for i, r := range l.turns() {
		body := string(r.Body)
		if !strings.Contains(body, "KEEP-ME-1 whatever comes.") || i > 0 && !strings.Contains(body, "KEEP-ME-2 too.") {
			t.Errorf("request %d lost what a person said", i+1)
		}
		if r.Tokens > 2*budget {
			t.Errorf("request %d has %d tokens", i+1, r.Tokens)
		}
	}
	if !strings.Contains(recalled, "line 110 has the word w110x") {
		t.Errorf("the file could not be recalled: %s", uzda.Clip(recalled, 4000))
	}
}

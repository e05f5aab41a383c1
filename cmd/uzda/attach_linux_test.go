package main

import (
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
)

// In a chat a file goes with the next message: it is told when it is taken, with Tab
// for its name; a mistake costs nothing; - drops what waits; a later message is
// without it. // G4 L10
func TestChatAttach(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.file("report one.txt", "Sales grew by 23 %, żółw.\n")
	p.file("other.md", "Not this.\n")
	pngFile(t, p, "chart.png")
	s := p.chats(`{"turns":[{"text":"I see."}],"loop":true}`, "--session", "s")
	s.types("/attach\r")
	s.sees("Nothing is attached.", 1)
	s.types("/attach nosuch.txt\r")
	s.sees("/attach nosuch.txt: there is no such file", 1)
	s.types("/attach other.md\r")
	s.sees("goes with your next message: text other.md, 10 bytes", 1)
	s.types("/attach -\r")
	s.sees("Nothing is attached.", 2)
	s.types("/attach rep\t\r")
	s.sees("goes with your next message: text report one.txt, 29 bytes", 1)
	s.types("/attach \"chart.png\"\r")
	s.sees("goes with your next message: picture chart.png, image/png, 64×48", 1)
	s.types("/attach\r")
	s.sees("picture chart.png, image/png, 64×48", 2)
	s.types("What do they say?\r")
	s.sees("1 step", 1)
	s.types("And now?\r")
	s.sees("1 step", 2)
	s.types("/quit\r")
	s.ends(0)
	posts := bodiesOf[uzda.Posted]((&longWork{program: p}).events("s"))
	if len(posts) != 2 || len(posts[0].Blocks) != 4 || len(posts[1].Blocks) != 1 {
		t.Fatalf("%+v", posts)
	}
	if text := posts[0].Blocks.String(); !strings.Contains(text, "23 %, żółw") || strings.Contains(text, "Not this") || posts[0].Blocks.Words() != "What do they say?" {
		t.Errorf("%s", text)
	}
	again := p.chats(`{"turns":[{"text":"I see."}],"loop":true}`, "--session", "s")
	again.sees("[attached: report one.txt, chart.png]", 1)
	again.types("/quit\r")
	again.ends(0)
}

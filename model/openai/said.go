package openai

import (
	"encoding/json"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/markup"
	"github.com/uzda-dev/uzda/internal/raw"
)

// A said is text or thoughts as they come.
type said struct {
	kind   string
	place  int // of its block, -1 while nothing was shown
	all    strings.Builder
	shown  int            // bytes of all
	screen *markup.Screen // nil: nothing in it can be a call
	pieces raw.Text       // of parts, whose characters may be split
}

func (s *said) piece(v json.RawMessage) string {
	fresh, _ := s.pieces.Add(v) // what is no string says nothing
	return fresh
}

// show shows what may be shown by now. White space alone is no block, so it waits.
func (r *reply) show(s *said, fresh string) {
	if fresh == "" {
		return
	}
	s.all.WriteString(fresh)
	if s.screen != nil {
		r.emit(s, s.screen.Add(fresh))
		return
	}
	if rest := s.all.String()[s.shown:]; s.place >= 0 || strings.TrimSpace(rest) != "" {
		r.emit(s, rest)
	}
}

func (r *reply) emit(s *said, text string) {
	if text == "" {
		return
	}
	if s.place < 0 {
		s.place = r.place()
	}
	s.shown += len(text)
	r.say(uzda.Delta{Block: s.place, Kind: s.kind, Text: text})
}

func (r *reply) place() int {
	r.places++
	return r.places - 1
}

// parts are the thoughts and the text of a content that is an array of parts.
func (r *reply) parts(list json.RawMessage) (thought, text string) {
	parts, err := raw.Elements(list)
	if err != nil {
		return "", ""
	}
	for _, one := range parts {
		p, err := raw.Parse(one)
		if err != nil {
			continue
		}
		text += r.text.piece(p.Get("text"))
		switch inner := p.Get("thinking"); {
		case len(inner) > 0 && inner[0] == '[':
			chunks, _ := raw.Elements(inner) // it is one, since p is JSON
			for _, c := range chunks {
				if t, err := raw.Parse(c); err == nil {
					thought += r.thought.piece(t.Get("text"))
				}
			}
		default:
			thought += r.thought.piece(inner)
		}
	}
	return thought, text
}

// details are the readable thoughts of OpenRouter's reasoning_details.
func details(list json.RawMessage) (thought string) {
	entries, err := raw.Elements(list)
	if err != nil {
		return ""
	}
	for _, one := range entries {
		var e struct{ Text, Summary string }
		if json.Unmarshal(one, &e) == nil {
			thought += e.Text + e.Summary
		}
	}
	return thought
}

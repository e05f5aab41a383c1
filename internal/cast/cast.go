// Package cast draws what a program printed as a picture of a terminal that moves, and
// as a recording in asciicast's format.
package cast

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/uzda-dev/uzda"
)

// A Show is what stood in a terminal, line by line.
type Show struct {
	Title         string
	Columns, Rows int
	Lines         []Line
	Hold          time.Duration // how long the end stays before it begins again
}

// A Line appears at a time. Prompt is what stands before what was typed.
type Line struct {
	At     time.Duration
	Prompt string
	Text   string
}

var escape = regexp.MustCompile("\x1b\\[[0-9;?]*[a-zA-Z]")

// seen is text without what would move a cursor, turn the direction of writing, or be
// no character of XML.
func seen(text string) string {
	text = strings.ReplaceAll(escape.ReplaceAllString(text, ""), "\t", "    ")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r&0xfffe == 0xfffe {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// Paced makes lines of an output. The first appears after a moment in which one can
// read what was typed; pace says how long it takes until another one does.
func Paced(prompt, typed, output string, columns int, pace func(line string) time.Duration) []Line {
	lines := []Line{{Prompt: seen(prompt), Text: seen(typed)}}
	at := time.Second
	for text := range strings.Lines(strings.TrimRight(output, "\n")) {
		text = seen(strings.TrimRight(text, "\r\n"))
		at += pace(text)
		for _, row := range wrap(text, columns) {
			lines = append(lines, Line{At: at, Text: row})
		}
	}
	return lines
}

// wrap breaks a line where a terminal does: at its last column.
func wrap(text string, columns int) []string {
	var rows []string
	from, width := 0, 0
	for i, r := range text {
		w := uzda.Columns(string(r))
		if width+w > columns {
			rows, from, width = append(rows, text[from:i]), i, 0
		}
		width += w
	}
	return append(rows, text[from:])
}

// Cast writes the show in the second version of asciicast's format.
func (s Show) Cast(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(map[string]any{"version": 2, "width": s.Columns, "height": s.Rows, "title": s.Title}); err != nil {
		return err
	}
	for _, l := range s.Lines {
		if err := e.Encode([]any{l.At.Seconds(), "o", l.Prompt + l.Text + "\r\n"}); err != nil {
			return err
		}
	}
	return nil
}

// The size of a cell and of what is around, in pixels.
const (
	cell, row   = 8.0, 18.0
	edge, title = 16.0, 34.0
)

// style is for light and dark pages; a reader who wants no movement gets none.
const style = `.back{fill:#fbfaf7;stroke:#d0d4d9}.bar{fill:#6a737d}text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:13px;fill:#24292f;white-space:pre}.p{fill:#0a7d4f;font-weight:bold}.t{fill:#6a737d}
@media (prefers-color-scheme:dark){.back{fill:#161b22;stroke:#30363d}text{fill:#d7dde4}.p{fill:#5bd59b}.t,.bar{fill:#8b949e}}
@media (prefers-reduced-motion:reduce){*{animation:none!important}}
`

// SVG writes the show as a picture. Its lines appear one after the other and scroll,
// for ever; where nothing moves, its first rows are seen.
func (s Show) SVG(w io.Writer) error {
	var b strings.Builder
	width, height := 2*edge+float64(s.Columns)*cell, title+edge+float64(s.Rows)*row
	total := s.Hold
	if n := len(s.Lines); n > 0 {
		total += s.Lines[n-1].At
	}
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" width=\"%g\" height=\"%g\" role=\"img\">\n<title>%s</title>\n<style>%s%s</style>\n",
		width, height, width, height, html.EscapeString(seen(s.Title)), style, s.movement(total))
	fmt.Fprintf(&b, "<rect class=\"back\" x=\".5\" y=\".5\" width=\"%g\" height=\"%g\" rx=\"8\"/>\n", width-1, height-1)
	for i := range 3 {
		fmt.Fprintf(&b, "<circle class=\"bar\" cx=\"%g\" cy=\"18\" r=\"5\" opacity=\".5\"/>\n", 20+float64(i)*18)
	}
	fmt.Fprintf(&b, "<text class=\"t\" x=\"%g\" y=\"22\" text-anchor=\"middle\">%s</text>\n", width/2, html.EscapeString(seen(s.Title)))
	fmt.Fprintf(&b, "<svg x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\"><g class=\"all\">\n", edge, title, float64(s.Columns)*cell, float64(s.Rows)*row)
	for i, l := range s.Lines {
		if strings.TrimSpace(l.Prompt+l.Text) == "" {
			continue
		}
		fmt.Fprintf(&b, "<text class=\"l%d\" y=\"%g\" xml:space=\"preserve\" textLength=\"%g\">", i, float64(i)*row+13, float64(uzda.Columns(l.Prompt+l.Text))*cell)
		if l.Prompt != "" {
			fmt.Fprintf(&b, "<tspan class=\"p\">%s</tspan>", html.EscapeString(l.Prompt))
		}
		fmt.Fprintf(&b, "%s</text>\n", html.EscapeString(l.Text))
	}
	b.WriteString("</g></svg>\n</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// movement are the rules by which lines appear, and by which all of them scroll.
func (s Show) movement(total time.Duration) string {
	var b, scroll strings.Builder
	part := func(at time.Duration) float64 { return 100 * at.Seconds() / max(total.Seconds(), 0.001) }
	for i, l := range s.Lines {
		if l.At > 0 {
			fmt.Fprintf(&b, "@keyframes k%d{0%%{opacity:0}%.2f%%{opacity:1}}.l%d{animation:k%d %gs step-end infinite}\n", i, part(l.At), i, i, total.Seconds())
		}
		if last := i == len(s.Lines)-1 || s.Lines[i+1].At != l.At; last && i >= s.Rows {
			fmt.Fprintf(&scroll, "%.2f%%{transform:translateY(%gpx)}", part(l.At), -float64(i+1-s.Rows)*row)
		}
	}
	if scroll.Len() > 0 {
		fmt.Fprintf(&b, "@keyframes all{0%%{transform:translateY(0)}%s}.all{animation:all %gs step-end infinite}\n", scroll.String(), total.Seconds())
	}
	return b.String()
}

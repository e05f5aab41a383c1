package window_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/window"
)

func drawn(t *testing.T, r uzda.Weighed, o window.Drawing) string {
	t.Helper()
	var b bytes.Buffer
	if err := window.Draw(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// gridOf is the cells of a picture without colours, as one string.
func gridOf(text string) string {
	var cells strings.Builder
	full := regexp.MustCompile(`^\S( \S){9}$`)
	for line := range strings.Lines(text) {
		left := strings.TrimRight(string([]rune(strings.TrimRight(line, "\n") + strings.Repeat(" ", 40))[:19]), " ")
		if len([]rune(cells.String())) >= 100 || !full.MatchString(left) {
			break
		}
		row := 10
		if wide := []rune(line); len(wide) > 21 && wide[19] == ' ' && wide[20] != ' ' { // twenty cells a row
			row = 20
		}
		for i := range row {
			cells.WriteRune([]rune(line)[2*i])
		}
	}
	return cells.String()
}

// C1: as people see it: in a window that has room, in one of unknown size, one that is too
// small, and in terminals of several widths.
func TestGridGoldens(t *testing.T) {
	t.Parallel()
	advice := []window.Advice{{What: "3 reads of src/a.go", Tokens: 1200, Percent: 8, Do: "the last one is enough"},
		{What: "a tool that was never called", Tokens: 700, Percent: 4.7, Do: "leave them out of the agent's tools, the largest first: github: create_issue (700)"}}
	var text strings.Builder
	for _, c := range []struct {
		what           string
		width          int
		window, budget int
		ascii          bool
		advice         []window.Advice
	}{
		{"a budget within a window", 80, 200_000, 6000, false, advice},
		{"plain ASCII, a wide terminal", 120, 0, 16_000, true, advice},
		{"sixty columns", 60, 6000, 6000, false, advice},
		{"forty columns: the legend stands below", 40, 6000, 0, true, nil},
		{"a window of unknown size", 80, 0, 0, false, nil},
		{"overfull, and the fixed part too large", 80, 200, 200, false, nil},
	} {
		v := world(t)
		v.Model.Window, v.Budget, v.Used = c.window, c.budget, uzda.Usage{Input: 4200, Output: 8}
		fmt.Fprintf(&text, "── %s ──\n%s\n", c.what, drawn(t, window.Weigh(v), window.Drawing{Width: c.width, ASCII: c.ascii, Advice: c.advice}))
	}
	few := uzda.View{Model: uzda.ModelInfo{Window: 2000}, Entries: []uzda.Entry{{Seq: 1, Message: uzda.Message{Role: uzda.User, Blocks: uzda.Say("What is it?")}}}}
	fmt.Fprintf(&text, "── a session that has just begun ──\n%s", drawn(t, window.Weigh(few), window.Drawing{}))
	golden(t, "grid.txt", []byte(text.String()))

	v := world(t)
	v.Model.Window = 6000
	coloured := drawn(t, window.Weigh(v), window.Drawing{Colour: true, Advice: advice})
	golden(t, "grid.colour.txt", []byte(coloured))
}

// C1: cells sum to a hundred, an item that is there has one, nothing is wider than
// the terminal, and colours change nothing but colours.
func TestGridCells(t *testing.T) {
	t.Parallel()
	items := window.Items()
	colours := regexp.MustCompile("\x1b\\[[0-9;]*m")
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 3))
		r := uzda.Weighed{Budget: rng.IntN(3) * rng.IntN(100_000), Window: rng.IntN(2) * 200_000, Factor: 1, State: window.OK}
		for _, name := range items {
			if rng.IntN(2) == 0 {
				continue
			}
			w := uzda.Weight{Name: name, Tokens: 1 + rng.IntN([]int{2, 100, 40_000}[rng.IntN(3)])}
			for i := range rng.IntN(12) {
				w.Parts = append(w.Parts, uzda.Weight{Name: strings.Repeat("名前", rng.IntN(30)) + fmt.Sprint(i), Tokens: 1})
			}
			r.Items, r.Total = append(r.Items, w), r.Total+w.Tokens
		}
		for _, width := range []int{40, 60, 80, 120, 300} {
			text := drawn(t, r, window.Drawing{Width: width, ASCII: seed%2 == 0, Advice: []window.Advice{{What: strings.Repeat("long words ", 20), Do: strings.Repeat("do it ", 50)}}})
			cells := gridOf(text)
			if n := len([]rune(cells)); n != 100 {
				t.Fatalf("seed %d, %d columns: %d cells\n%s", seed, width, n, text)
			}
			kinds := map[rune]bool{}
			for _, c := range cells {
				kinds[c] = c != '.' && c != '·'
			}
			n := 0
			for _, is := range kinds {
				if is {
					n++
				}
			}
			if n != len(r.Items) {
				t.Errorf("seed %d: %d kinds of cells for %d items\n%s", seed, n, len(r.Items), text)
			}
			if base := max(r.Budget, r.Total); r.Budget > 0 && r.Total < r.Budget*9/10 && base > 0 && !strings.ContainsAny(cells, ".·") {
				t.Errorf("seed %d: a tenth is free, and no cell shows it\n%s", seed, text)
			}
			for line := range strings.Lines(text) {
				if uzda.Columns(line) > width {
					t.Errorf("seed %d: over %d columns: %s", seed, width, line)
				}
			}
			if seed%2 == 0 {
				if with := drawn(t, r, window.Drawing{Width: width, ASCII: true, Colour: true, Advice: []window.Advice{{What: strings.Repeat("long words ", 20), Do: strings.Repeat("do it ", 50)}}}); colours.ReplaceAllString(with, "") != text {
					t.Errorf("seed %d: colours move things:\n%s", seed, with)
				}
				for _, c := range text {
					if c > 127 && !strings.ContainsRune("名前…", c) {
						t.Fatalf("seed %d: %q is not ASCII", seed, c)
					}
				}
			}
		}
	}
}

// C1: names of tools come from servers, and can not move the cursor.
func TestGridIsSafe(t *testing.T) {
	t.Parallel()
	r := uzda.Weighed{Total: 5, Factor: 1, State: window.Unknown, Items: []uzda.Weight{{Name: "x\x1b[2J", Tokens: 5, Parts: []uzda.Weight{{Name: "evil\x1b]0;title\a\n\rname", Tokens: 5}}}}}
	text := drawn(t, r, window.Drawing{Advice: []window.Advice{{What: "a\x1b[1Ab", Do: "c\x1b[1Ad\u202e"}}})
	if strings.ContainsAny(text, "\x1b\a\r\u202e") {
		t.Errorf("%q", text)
	}
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/tool/recall"
)

// shares are what requests are cut to.
func shares() []float64 { return []float64{0.50, 0.25, 0.10} }

// A cell is what a move leaves of a set of stories at a share.
type cell struct {
	set, move string
	share     float64
	needs     int
	in        int // of needs, that stand in the request
	reach     int // that do, or that a search in the session finds
	before    int // tokens
	after     int
}

func part(n, of int) float64 { return float64(n) / float64(max(of, 1)) }

// fits says that the share was reached.
func (c cell) fits() bool { return part(c.after, c.before) <= c.share*1.01 }

// measure cuts every story by every move to every share.
func measure(ctx context.Context, stories []*story) ([]cell, error) {
	var out []cell
	cells := map[string]int{}
	for _, s := range stories {
		found, err := s.search(ctx)
		if err != nil {
			return nil, err
		}
		whole := s.view(s.entries()).Tokens
		for _, m := range moves() {
			for _, share := range shares() {
				view, tokens, err := m.cut(ctx, s, share)
				if err != nil {
					return nil, err
				}
				key := fmt.Sprint(s.set, m.name, share)
				at, ok := cells[key]
				if !ok {
					at, cells[key] = len(out), len(out)
					out = append(out, cell{set: s.set, move: m.name, share: share})
				}
				c := &out[at]
				c.before, c.after = c.before+whole, c.after+tokens
				text := strings.ToLower(read(view))
				for i, n := range s.needs {
					in := n.met(text)
					c.needs++
					if in {
						c.in++
					}
					if in || m.recall && found[i] {
						c.reach++
					}
				}
			}
		}
	}
	return out, nil
}

// opened is how many of the results that a search names are looked at.
const opened = 3

// search asks recall for each need of the story as a model would, once, and says
// which it found: in what the words find, or in one of the results that it names
// first.
func (s *story) search(ctx context.Context) ([]bool, error) {
	out, tool := make([]bool, len(s.needs)), recall.New(s.store)
	for i, n := range s.needs {
		found, err := s.ask(ctx, tool, n.query)
		if err != nil {
			return nil, err
		}
		texts := []string{found}
		for _, number := range hits(found) {
			whole, err := s.ask(ctx, tool, number)
			if err != nil {
				return nil, err
			}
			texts = append(texts, whole)
		}
		out[i] = n.met(strings.ToLower(strings.Join(texts, "\n")))
	}
	return out, nil
}

func (s *story) ask(ctx context.Context, tool uzda.Tool, query string) (string, error) {
	in, err := json.Marshal(map[string]string{"query": query})
	if err != nil {
		return "", err
	}
	r, err := tool.Call(ctx, uzda.Use{Session: s.id, ID: "9999.1", Name: "recall", Input: in})
	if err != nil {
		return "", fmt.Errorf("recall %q in %s: %w", query, s.id, err)
	}
	return r.Blocks.String(), nil
}

// hits are the numbers of the results that a search names first, be it by their
// calls.
func hits(found string) (out []string) {
	for line := range strings.Lines(found) {
		number, rest, ok := strings.Cut(strings.TrimPrefix(line, "["), "]")
		if !ok || line[0] != '[' {
			continue
		}
		if call, isCall := strings.CutPrefix(rest, " your call "); isCall {
			number, _, _ = strings.Cut(call, " ")
		}
		if strings.Contains(number, ".") && !slices.Contains(out, number) && len(out) < opened {
			out = append(out, number)
		}
	}
	return out
}

// table writes cells as Markdown, a row for each set and move: the share of needs in
// the request, and in brackets with those that recall finds.
func table(w io.Writer, cells []cell) error {
	var b strings.Builder
	b.WriteString("| data | move |")
	for _, s := range shares() {
		fmt.Fprintf(&b, " cut to %.0f %% |", 100*s)
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(shares())) + "\n")
	for _, set := range names(cells, func(c cell) string { return c.set }) {
		for _, move := range names(cells, func(c cell) string { return c.move }) {
			row := of(cells, set, move)
			if idle(row) {
				continue
			}
			fmt.Fprintf(&b, "| %s | %s |", set, move)
			for _, c := range row {
				fmt.Fprintf(&b, " %.0f %% (%.0f %%)%s |", 100*part(c.in, c.needs), 100*part(c.reach, c.needs), short(c))
			}
			b.WriteByte('\n')
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// short says how far a move came that did not reach its share.
func short(c cell) string {
	if c.fits() {
		return ""
	}
	return fmt.Sprintf(", stops at %.0f %%", 100*part(c.after, c.before))
}

func names(cells []cell, of func(cell) string) (out []string) {
	for _, c := range cells {
		if n := of(c); !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

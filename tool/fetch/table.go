package fetch

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// A table is kept until its end, when it is known whether it is one: many only lay a
// page out.
type table struct {
	rows    [][]string
	caption string
	carry   []int // rows that a cell of a column still reaches down
	at      int   // column of the cell that is written, -1 if there was no room
	held    int   // bytes that its cells took from the budget
}

const (
	maxCells  = 5   // tables within cells of tables
	maxSpan   = 20  // columns or rows of one cell
	maxColumn = 200 // columns
	perCell   = 3   // bytes that a cell costs besides its text
)

func (w *writer) enterTable(tag string, a attributes) *writer {
	n := len(w.tables) - 1
	if tag == "table" {
		var t *table
		if n < 0 && w.cells < maxCells {
			t = &table{}
		}
		w.lines(1)
		w.tables = append(w.tables, t)
		return w
	}
	if n < 0 || w.tables[n] == nil {
		if w.lines(1); tag != "tr" {
			w.loose++
		}
		return w
	}
	t := w.tables[n]
	if tag == "tr" {
		t.row()
		w.charge(t, perCell)
		return w
	}
	cell := &writer{budget: w.budget, bald: w.bald, fresh: true, parent: w, cells: w.cells + 1}
	if tag != "caption" {
		if len(t.rows) == 0 {
			t.row()
		}
		w.charge(t, perCell*t.place(span(a.span), span(a.down)))
	}
	return cell
}

func (w *writer) charge(t *table, n int) {
	t.held += n
	w.budget.left -= n
}

func span(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 1
	}
	return min(max(n, 1), maxSpan)
}

// row begins a row, with empty cells where those above reach down.
func (t *table) row() {
	if n := len(t.rows); n > 0 {
		for i := len(t.rows[n-1]); i < len(t.carry); i++ {
			t.carry[i] = max(t.carry[i]-1, 0)
		}
	}
	t.rows = append(t.rows, nil)
}

// place makes room for a cell in the last row, and returns how many cells that are.
func (t *table) place(wide, down int) int {
	row := &t.rows[len(t.rows)-1]
	before := len(*row)
	for len(*row) < len(t.carry) && t.carry[len(*row)] > 0 {
		t.carry[len(*row)]--
		*row = append(*row, "")
	}
	t.at = -1
	if len(*row) < maxColumn {
		t.at = len(*row)
	}
	for range min(wide, maxColumn-len(*row)) {
		*row = append(*row, "")
		for len(t.carry) < len(*row) {
			t.carry = append(t.carry, 0)
		}
		t.carry[len(*row)-1] = down - 1
	}
	return len(*row) - before
}

func (w *writer) leaveTable(tag string) *writer {
	switch tag {
	case "table":
		t := w.tables[len(w.tables)-1]
		w.tables = w.tables[:len(w.tables)-1]
		if t != nil {
			w.budget.left += t.held
			w.table(t)
		}
		w.lines(2)
		return w
	case "tr":
		w.lines(1)
		return w
	}
	if w.loose > 0 {
		w.loose--
		w.lines(1)
		return w
	}
	t := w.parent.tables[len(w.parent.tables)-1]
	text := strings.TrimRight(w.b.String(), " \n")
	t.held += w.b.Len()
	if tag == "caption" {
		t.caption = text
	} else {
		t.fill(text)
	}
	return w.parent
}

// fill writes the text of a cell at the first of the columns that it spans; what
// has no room joins the last.
func (t *table) fill(text string) {
	row := t.rows[len(t.rows)-1]
	if t.at >= 0 {
		row[t.at] = text
	} else if n := len(row) - 1; n >= 0 && text != "" {
		row[n] += " " + text
	}
}

// table writes what a table holds: as one, or as paragraphs where it only lays out.
func (w *writer) table(t *table) {
	columns := 0
	layout := true
	for _, row := range t.rows {
		filled := 0
		for i, c := range row {
			if c != "" {
				filled++
				columns = max(columns, i+1)
			}
		}
		layout = layout && filled < 2
	}
	if t.caption != "" {
		w.paste(t.caption)
	}
	if layout || t.bulky() {
		for _, row := range t.rows {
			for _, c := range row {
				if c != "" {
					w.paste(c)
				}
			}
		}
		return
	}
	w.paste(t.lines(columns, w.bald))
}

// bulky says that a cell holds more than a cell of a table can.
func (t *table) bulky() bool {
	const long, tall = 2000, 8
	for _, row := range t.rows {
		for _, c := range row {
			if utf8.RuneCountInString(c) > long || strings.Count(c, "\n") > tall || strings.Contains(c, "```") || strings.Contains(c, "\n|---") || strings.HasPrefix(c, "#") {
				return true
			}
		}
	}
	return false
}

func (t *table) lines(columns int, bald bool) string {
	var b strings.Builder
	escape := strings.NewReplacer("|", `\|`, "\n\n", "<br>", "\n", "<br>")
	if bald {
		escape = strings.NewReplacer("\n\n", " / ", "\n", " / ", "\t", " ")
	}
	first := true
	for _, row := range t.rows {
		if strings.Join(row, "") == "" {
			continue
		}
		row = row[:min(len(row), columns)]
		if bald {
			for i, c := range row {
				if i > 0 {
					b.WriteByte('\t')
				}
				b.WriteString(escape.Replace(c))
			}
			b.WriteByte('\n')
			continue
		}
		b.WriteByte('|')
		for i := range row {
			b.WriteString(" " + escape.Replace(row[i]) + " |")
		}
		if first {
			b.WriteString(strings.Repeat(" |", columns-len(row)) + "\n|" + strings.Repeat("---|", columns))
		}
		first = false
		b.WriteByte('\n')
	}
	return strings.TrimRight(b.String(), "\n")
}

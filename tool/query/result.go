package query

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
)

// A Table is the text of a result: what run_query returns, and the core of what
// the other two return. Scripts rely on Columns and Rows.
type Table struct {
	Columns   []string            `json:"columns"`
	Rows      [][]json.RawMessage `json:"rows"` // numbers, strings and null
	Count     int                 `json:"row_count"`
	Truncated bool                `json:"truncated"`
	Note      string              `json:"note,omitempty"`
}

// Parse reads the text of a result. Numbers keep their digits.
func Parse(text string) (Table, error) {
	var t Table
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return Table{}, fmt.Errorf("parse a result of a query: %w", err)
	}
	return t, nil
}

// A page is a table made to fit: at most rows rows and size bytes.
type page struct {
	cells   [][]json.RawMessage
	cut     int  // values that were cut
	mended  bool // invalid UTF-8 was replaced
	more    bool // rows were left out
	byBytes bool // because of the size, not of the number
}

// errWide says that not even one row fits.
type errWide struct{ columns, size int }

func (e errWide) Error() string {
	return fmt.Sprintf("one row of %d columns does not fit into %d bytes; name the columns that you need instead of *", e.columns, e.size)
}

// fit encodes rows until one would not fit. A first row that does not fit gets
// shorter values.
func fit(t table, rows, size, cell int) (page, error) {
	p := page{more: len(t.rows) > rows}
	left := size - len(encode(t.columns)) - 400 // what stands around the rows
	for i, row := range t.rows[:min(rows, len(t.rows))] {
		enc, cut, mended := encodeRow(row, cell)
		for i == 0 && length(enc) > left && cell > minCell {
			cell /= 2
			enc, cut, mended = encodeRow(row, cell)
		}
		n := length(enc)
		if n > left {
			if i == 0 {
				return page{}, errWide{len(t.columns), size}
			}
			p.more, p.byBytes = true, true
			break
		}
		left -= n
		p.cells = append(p.cells, enc)
		p.cut += cut
		p.mended = p.mended || mended
	}
	return p, nil
}

func length(row []json.RawMessage) int {
	n := 3
	for _, c := range row {
		n += len(c) + 1
	}
	return n
}

func encodeRow(row []any, cell int) (enc []json.RawMessage, cut int, mended bool) {
	enc = make([]json.RawMessage, len(row))
	for i, v := range row {
		short, wasCut, wasMended := value(v, cell)
		enc[i] = short
		if wasCut {
			cut++
		}
		mended = mended || wasMended
	}
	return enc, cut, mended
}

// value writes a value as JSON: integers exactly, reals in the shortest form
// that reads back the same and never like an integer, blobs by their length.
func value(v any, cell int) (enc json.RawMessage, cut, mended bool) {
	switch v := v.(type) {
	case nil:
		return json.RawMessage("null"), false, false
	case int64:
		return strconv.AppendInt(nil, v, 10), false, false
	case float64:
		return float(v), false, false
	case []byte:
		return encode(fmt.Sprintf("<blob %d bytes>", len(v))), false, false
	case string:
		s := v
		if !utf8.ValidString(s) {
			s, mended = strings.ToValidUTF8(s, "\uFFFD"), true
		}
		short := middle(s, cell)
		return encode(short), short != s, mended
	}
	return encode(fmt.Sprint(v)), false, false
}

func float(f float64) json.RawMessage {
	switch {
	case math.IsInf(f, 1):
		return json.RawMessage(`"Infinity"`)
	case math.IsInf(f, -1):
		return json.RawMessage(`"-Infinity"`)
	case math.IsNaN(f):
		return json.RawMessage("null")
	}
	out := strconv.AppendFloat(nil, f, 'g', -1, 64)
	if !bytes.ContainsAny(out, ".e") {
		out = append(out, ".0"...)
	}
	return out
}

// middle keeps the head and the tail of a long text and says how many bytes are
// gone between them.
func middle(s string, n int) string {
	if len(s) <= n {
		return s
	}
	head := uzda.Before(s, n/2)
	tail := uzda.After(s, n-n/2)
	return fmt.Sprintf("%s…[%d bytes cut]…%s", head, len(s)-len(head)-len(tail), tail)
}

// encode writes JSON without escaping < > &, which only costs tokens.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return json.RawMessage("null") // no value of ours is one that JSON lacks
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// grid draws a table for people: numbers to the right, nothing that could
// steer a terminal.
func grid(columns []string, cells [][]json.RawMessage, more bool) string {
	const widest, most = 40, 50
	rows := cells[:min(most, len(cells))]
	width := make([]int, len(columns))
	head := make([]string, len(columns))
	for i, c := range columns {
		head[i] = calm(c, widest)
		width[i] = utf8.RuneCountInString(head[i])
	}
	text := make([][]string, len(rows))
	for r, row := range rows {
		text[r] = make([]string, len(row))
		for i, c := range row {
			text[r][i] = calm(plainCell(c), widest)
			width[i] = max(width[i], utf8.RuneCountInString(text[r][i]))
		}
	}
	var b strings.Builder
	line(&b, head, width, nil)
	for i, w := range width {
		if i > 0 {
			b.WriteString("  ")
		}
		b.WriteString(strings.Repeat("─", w))
	}
	b.WriteString("\n")
	for r, row := range text {
		line(&b, row, width, rows[r])
	}
	if len(cells) == 1 {
		b.WriteString("1 row")
	} else {
		fmt.Fprintf(&b, "%d rows", len(cells))
	}
	if more {
		b.WriteString(", there are more")
	} else if len(cells) > len(rows) {
		fmt.Fprintf(&b, ", %d shown", len(rows))
	}
	return b.String()
}

func line(b *strings.Builder, row []string, width []int, raw []json.RawMessage) {
	var l strings.Builder
	for i, s := range row {
		if i > 0 {
			l.WriteString("  ")
		}
		pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(s))
		if raw != nil && (raw[i][0] == '-' || isDigit(raw[i][0])) {
			l.WriteString(pad + s)
		} else {
			l.WriteString(s + pad)
		}
	}
	b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
}

func plainCell(c json.RawMessage) string {
	var s string
	if c[0] == '"' && json.Unmarshal(c, &s) == nil {
		return s
	}
	if string(c) == "null" {
		return "NULL"
	}
	return string(c)
}

// calm makes one line of at most n runes without control and direction marks.
func calm(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, uzda.Before(s, 8*n))
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

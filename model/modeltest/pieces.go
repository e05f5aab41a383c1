package modeltest

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// quoted writes a string as JSON, without the escapes for HTML; beyond ASCII as
// \u escapes if ascii is set.
func quoted(s string, ascii bool) string { return `"` + inner(s, ascii) + `"` }

// inner is what stands between the quotes. What is no UTF-8 goes out as it is:
// models are scripted to be wrong.
func inner(s string, ascii bool) string {
	plain := true
	for i := 0; i < len(s) && plain; i++ {
		plain = s[i] >= ' ' && s[i] != '"' && s[i] != '\\' && (!ascii || s[i] < utf8.RuneSelf)
	}
	if plain {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < ' ':
			fmt.Fprintf(&b, `\u%04x`, r)
		case ascii && r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		case ascii && r >= utf8.RuneSelf && (r != utf8.RuneError || n > 1):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// A piece is the text of one delta, as JSON without its quotes; said is how many
// bytes of the whole it ends at.
type piece struct {
	json string
	said int
}

// defaultPiece is the length in bytes of a delta.
const defaultPiece = 24

// pieces cuts a text into deltas. An empty text has none.
func (sh *Shape) pieces(s string) []piece {
	size := sh.Piece
	switch {
	case s == "":
		return nil
	case size == 0:
		size = defaultPiece
	case size < 0:
		return []piece{{inner(s, sh.ASCII), len(s)}}
	}
	whole := inner(s, sh.ASCII)
	var out []piece
	for from := 0; from < len(whole); {
		to := from
		for to < len(whole) && to-from < size {
			to += sh.unit(whole[to:])
		}
		said := len(s) * to / len(whole)
		out = append(out, piece{whole[from:to], said})
		from = to
	}
	return out
}

// unit is the length of the smallest part of a JSON string that stands alone.
func (sh *Shape) unit(s string) int {
	if s[0] != '\\' {
		if sh.Ragged {
			return 1
		}
		_, n := utf8.DecodeRuneInString(s)
		return n
	}
	if s[1] != 'u' {
		return 2
	}
	if pair := strings.HasPrefix(s, `\ud8`) || strings.HasPrefix(s, `\ud9`) || strings.HasPrefix(s, `\uda`) || strings.HasPrefix(s, `\udb`); pair && !sh.Ragged {
		return 12
	}
	return 6
}

// join puts a comma between two lists of members, where neither is empty.
func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "," + b
}

// index is the index of block or call n as a member, "" if the shape has none.
func (sh *Shape) index(n int) string {
	switch sh.Index {
	case IndexNone:
		return ""
	case IndexZero:
		n = 0
	case IndexGap:
		n *= 2
	case IndexOne:
		n++
	}
	return fmt.Sprintf(`"index":%d`, n)
}

// callID is the id of call n as a member, "" if the shape has none.
func (a *answer) callID(n int) string {
	switch a.shape.IDs {
	case IDsNone:
		return ""
	case IDsEmpty:
		return `"id":""`
	case IDsSame:
		n = 0
	}
	return `"id":` + quoted(a.ids[n], false)
}

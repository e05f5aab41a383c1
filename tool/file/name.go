package file

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
)

// display is a name or a path on one line, as the model sees it and may send it
// again: control characters and bytes that are no UTF-8 are written \n, \t, \x1b.
func display(name string) string {
	if utf8.ValidString(name) && !strings.ContainsFunc(name, unseen) {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); {
		r, n := utf8.DecodeRuneInString(name[i:])
		switch {
		case r == '\n':
			_, _ = b.WriteString(`\n`)
		case r == '\r':
			_, _ = b.WriteString(`\r`)
		case r == '\t':
			_, _ = b.WriteString(`\t`)
		case r == utf8.RuneError && n == 1, unseen(r):
			for _, c := range []byte(name[i : i+n]) {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		default:
			_, _ = b.WriteString(name[i : i+n])
		}
		i += n
	}
	return b.String()
}

// unseen: what would change how the text around it looks.
func unseen(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r >= '\u202A' && r <= '\u202E' || r >= '\u2066' && r <= '\u2069'
}

// undisplay is the name that display writes so; ok is false where there is none.
func undisplay(shown string) (name string, ok bool) {
	if !strings.Contains(shown, `\`) {
		return "", false
	}
	var b strings.Builder
	for i := 0; i < len(shown); i++ {
		c := byte(0)
		switch rest := shown[i:]; {
		case strings.HasPrefix(rest, `\n`):
			c = '\n'
		case strings.HasPrefix(rest, `\r`):
			c = '\r'
		case strings.HasPrefix(rest, `\t`):
			c = '\t'
		case strings.HasPrefix(rest, `\x`) && len(rest) >= 4:
			if _, err := fmt.Sscanf(rest[2:4], "%02x", &c); err != nil {
				return "", false
			}
			i += 2
		default:
			_ = b.WriteByte(shown[i])
			continue
		}
		_ = b.WriteByte(c)
		i++
	}
	name = b.String()
	return name, name != shown && display(name) == shown // nothing else goes by a second name
}

// A label is a displayed path. Quoted it is short enough for a sentence: both ends
// of a long one.
type label string

const labelMost = 240

// Format writes %q without escaping what is escaped.
func (l label) Format(f fmt.State, verb rune) {
	s := string(l)
	if verb == 'q' {
		s = `"` + shorten(s) + `"`
	}
	_, _ = f.Write([]byte(s))
}

func shorten(s string) string {
	if len(s) <= labelMost {
		return s
	}
	return uzda.Before(s, labelMost/3) + "…" + uzda.After(s, labelMost*2/3)
}

// quoted is a path that the model gave, for a sentence.
func quoted(path string) label { return label(display(path)) }

// A rawName is a name in the state, which may have bytes that JSON cannot hold.
type rawName string

type rawBytes struct {
	Bytes string `json:"base64"`
}

// MarshalJSON writes a string, or an object with the bytes.
func (n rawName) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(n)) {
		return json.Marshal(string(n))
	}
	return json.Marshal(rawBytes{base64.StdEncoding.EncodeToString([]byte(n))})
}

// UnmarshalJSON reads both.
func (n *rawName) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) == nil {
		*n = rawName(s)
		return nil
	}
	var b rawBytes
	if err := json.Unmarshal(data, &b); err != nil {
		return err
	}
	raw, err := base64.StdEncoding.DecodeString(b.Bytes)
	*n = rawName(raw)
	return err
}

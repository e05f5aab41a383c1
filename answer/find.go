package answer

import (
	"bytes"
	"encoding/json"
	"strings"
)

// most is how many objects of a text are looked at.
const most = 20

// objects finds the JSON objects of a text: the whole of it, or each that stands
// in it, outermost first, in order. The text may be hostile, so each byte is read
// a bounded number of times.
func objects(text string) []json.RawMessage {
	text = strings.TrimSpace(text)
	if whole := json.RawMessage(text); json.Valid(whole) {
		return []json.RawMessage{whole} // an object, or its text in a string
	}
	var out []json.RawMessage
	for tries := 0; tries < most; tries++ {
		from := strings.IndexByte(text, '{')
		if from < 0 {
			break
		}
		text = text[from:]
		dec := json.NewDecoder(strings.NewReader(text))
		var raw json.RawMessage
		if dec.Decode(&raw) != nil {
			text = text[1:]
			continue
		}
		out = append(out, bytes.TrimSpace(raw))
		text = text[dec.InputOffset():]
	}
	return out
}

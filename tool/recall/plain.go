package recall

import (
	"encoding/json"
	"strings"
)

// plain writes the strings of a JSON text as they read, so that words in them are
// found: "a\nb" holds the words a and b.
func plain(raw json.RawMessage) string {
	if !strings.Contains(string(raw), `\`) {
		return string(raw)
	}
	var b strings.Builder
	for at := 0; at < len(raw); at++ {
		if raw[at] != '"' {
			b.WriteByte(raw[at])
			continue
		}
		end := at + 1
		for end < len(raw) && raw[end] != '"' {
			if raw[end] == '\\' {
				end++
			}
			end++
		}
		var s string
		if end >= len(raw) || json.Unmarshal(raw[at:end+1], &s) != nil {
			b.Write(raw[at:])
			break
		}
		b.WriteString(`"` + s + `"`)
		at = end
	}
	return b.String()
}

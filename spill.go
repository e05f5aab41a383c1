package uzda

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

const (
	// LongString is the size in bytes over which a string of an event is stored
	// as a blob.
	LongString = 16 << 10
	// MaxString is the size over which a string is refused.
	MaxString = 64 << 20
)

// A blob stands in stored JSON as {"$blob":"<sha256>","size":N}, where its
// string was. The blob holds the string's value, or with "raw":true its JSON
// form, where encoding the value again would not give the same bytes. An object
// that had such a key before has a "$" more in front of it.
const blobKey = `$blob"`

// Spill replaces the long strings in raw, a JSON text, by references to blobs
// that put stores. Keys of objects stay. [Inflate] gives the same bytes again.
func Spill(raw []byte, put func(data []byte) (hash string, err error)) ([]byte, error) {
	if len(raw) <= LongString && !bytes.Contains(raw, []byte(blobKey)) {
		return raw, nil
	}
	out := make([]byte, 0, min(len(raw), 4*LongString))
	from := 0
	for s := range stringsOf(raw) {
		if s.key {
			if isBlobKey(raw[s.start:s.end]) {
				out = append(append(out, raw[from:s.start+1]...), '$')
				from = s.start + 1
			}
			continue
		}
		text := raw[s.start:s.end]
		if len(text)-2 <= LongString {
			continue
		}
		if len(text)-2 > MaxString {
			return nil, fmt.Errorf("a string of %d bytes is over %d: %w", len(text)-2, MaxString, ErrTooLarge)
		}
		var value string
		if err := json.Unmarshal(text, &value); err != nil {
			return nil, err
		}
		data, flag := []byte(value), ""
		if !bytes.Equal(appendString(nil, value), text) {
			data, flag = text, `,"raw":true`
		}
		hash, err := put(data)
		if err != nil {
			return nil, fmt.Errorf("store a string of %d bytes: %w", len(data), err)
		}
		out = append(out, raw[from:s.start]...)
		out = append(append(append(out, `{"$blob":"`...), hash...), `","size":`...)
		out = append(append(strconv.AppendInt(out, int64(len(data)), 10), flag...), '}')
		from = s.end
	}
	return append(out, raw[from:]...), nil
}

// Inflate puts the blobs back that [Spill] took out.
func Inflate(raw []byte, get func(hash string) ([]byte, error)) ([]byte, error) {
	if !bytes.Contains(raw, []byte(blobKey)) {
		return raw, nil
	}
	out := make([]byte, 0, 2*len(raw))
	from := 0
	for s := range stringsOf(raw) {
		if !s.key || !isBlobKey(raw[s.start:s.end]) || s.start < max(from, 1) {
			continue
		}
		if raw[s.start+2] == '$' || raw[s.start-1] != '{' { // escaped: one "$" less
			out = append(out, raw[from:s.start+1]...)
			from = s.start + 2
			continue
		}
		end := s.end + bytes.IndexByte(raw[s.end:], '}') + 1
		var ref struct {
			Blob string `json:"$blob"`
			Raw  bool   `json:"raw"`
		}
		if err := json.Unmarshal(raw[s.start-1:end], &ref); err != nil {
			return nil, fmt.Errorf("read a reference to a blob: %w", err)
		}
		data, err := get(ref.Blob)
		if err != nil {
			return nil, fmt.Errorf("blob %.12s: %w", ref.Blob, err)
		}
		out = append(out, raw[from:s.start-1]...)
		if ref.Raw {
			out = append(out, data...)
		} else {
			out = appendString(out, string(data))
		}
		from = end
	}
	return append(out, raw[from:]...), nil
}

// isBlobKey says whether a quoted key is "$blob" with any number of "$" in front.
func isBlobKey(quoted []byte) bool {
	k := strings.TrimLeft(string(quoted[1:len(quoted)-1]), "$")
	return k == "blob" && len(quoted) > len(`"blob"`)
}

type span struct {
	start, end int // with the quotes
	key        bool
}

// stringsOf yields the strings of a JSON text that is known to be valid.
func stringsOf(raw []byte) func(yield func(span) bool) {
	return func(yield func(span) bool) {
		for i := 0; i < len(raw); i++ {
			if raw[i] != '"' {
				continue
			}
			start := i
			for i++; i < len(raw) && raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
			if i >= len(raw) {
				return
			}
			next := i + 1
			for next < len(raw) && (raw[next] == ' ' || raw[next] == '\t') {
				next++
			}
			if !yield(span{start, i + 1, next < len(raw) && raw[next] == ':'}) {
				return
			}
		}
	}
}

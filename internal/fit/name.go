package fit

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// maxName is the length of a tool's name that every provider takes.
const maxName = 64

// Name returns the name that a tool has at a provider, which matches
// ^[a-zA-Z0-9_-]{1,limit}$ and is not taken (nil: nothing is); a limit of 0 is 64. A
// name that fits stays. Otherwise it depends on the name alone, as long as that is
// not taken: a cut name ends in a hash, as tools of one server begin alike.
func Name(name string, limit int, taken func(string) bool) string {
	if limit <= 0 {
		limit = maxName
	}
	free := func(s string) bool { return taken == nil || !taken(s) }
	out := make([]byte, 0, len(name))
	for _, r := range name {
		if letter(r) || r == '-' {
			out = append(out, byte(r))
		} else {
			out = append(out, '_')
		}
	}
	if len(out) == 0 {
		out = append(out, "tool"...)
	}
	if len(out) <= limit && free(string(out)) {
		return string(out)
	}
	sum := sha256.Sum256([]byte(name))
	hash := hex.EncodeToString(sum[:4])
	for i := 0; i < 1000; i++ {
		suffix := "_" + hash
		if i > 0 {
			suffix += "_" + strconv.Itoa(i+1)
		}
		s := string(out[:min(len(out), max(0, limit-len(suffix)))]) + suffix
		s = s[max(0, len(s)-limit):]
		if free(s) {
			return s
		}
	}
	return string(out[:min(len(out), limit)]) // everything is taken, so it says
}

func letter(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_'
}

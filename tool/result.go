package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
)

// render makes a result of what a function returned.
func render(out any) uzda.Result {
	switch out := out.(type) {
	case uzda.Result:
		return out
	case *uzda.Result:
		if out != nil {
			return *out
		}
		return uzda.Result{Blocks: uzda.Say("done")}
	case uzda.Blocks:
		return uzda.Result{Blocks: out}
	case uzda.Block:
		return uzda.Result{Blocks: uzda.Blocks{out}}
	case string:
		return uzda.Result{Blocks: uzda.Say(text(out))}
	case []byte:
		return uzda.Result{Blocks: uzda.Say(text(string(out)))}
	case struct{}:
		return uzda.Result{Blocks: uzda.Say("done")}
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return failure(fmt.Sprintf("the tool ran, but its result cannot be written as JSON: %v", err), uzda.CodeFailed, "")
	}
	return uzda.Result{Blocks: uzda.Say(text(strings.TrimRight(buf.String(), "\n")))}
}

// text makes any bytes fit for a message. A few that are not UTF-8 are written
// as \xNN, with a note; what is binary is described instead.
func text(s string) string {
	if s == "" {
		return "(no output)"
	}
	bad, nul := 0, strings.IndexByte(s, 0) >= 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			bad++
		}
		i += n
	}
	const share = 10 // of a hundred bytes
	switch {
	case nul || bad*100 > len(s)*share:
		return fmt.Sprintf("(binary data: %s, %d bytes)", http.DetectContentType([]byte(s)), len(s))
	case bad == 0:
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, `\x%02x`, s[i])
		} else {
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return fmt.Sprintf("%s\n(bytes that are not UTF-8 are written as \\xNN: %d)", b.String(), bad)
}

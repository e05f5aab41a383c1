package anthropic

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/wire"
)

// A mend is what a request can be sent without, after the provider refused it for
// that. Without it a session whose view holds one such block could never be used
// again.
type mend string

const (
	// noThinking leaves out thinking whose proof does not hold: it was edited, or
	// what stood before it was, or the key is another account's by now.
	noThinking mend = "thinking"
	// noMedia leaves out pictures and documents that the provider cannot read.
	noMedia mend = "media"
)

func (m mend) String() string {
	if m == noThinking {
		return "the thinking of earlier replies"
	}
	return "the pictures and documents so far"
}

// mendFor says what to leave out after a failure, "" if that would not help.
func mendFor(err error) mend {
	var p *uzda.ProviderError
	if !errors.As(err, &p) {
		return ""
	}
	text := strings.ToLower(p.Message)
	has := func(part string) bool { return strings.Contains(text, part) }
	switch {
	// "Invalid `signature` in `thinking` block", "`thinking` or `redacted_thinking`
	// blocks in the latest assistant message cannot be modified", "Expected
	// `thinking` or `redacted_thinking`, but found `text`"
	case p.Status == http.StatusBadRequest && has("thinking") && (has("signature") || has("cannot be modified") || has("expected `thinking`")):
		return noThinking
	case wire.RefusesMedia(err):
		return noMedia
	}
	return ""
}

// without says from which message of the view on blocks are sent that m leaves
// out: what comes later was not refused. It is kept in the head of a buffer of its
// own, which outlives edits of the view but not a change of the head.
func (b *body) without(m mend) uzda.Seq {
	n, _ := strconv.ParseInt(string(b.memory(m).Head), 10, 64) // nothing is 0
	return uzda.Seq(n)
}

func (b *body) memory(m mend) *uzda.Buf { return b.enc.Buf(b.key+"\x00no "+string(m), b.req) }

// drop leaves blocks of the view so far out from now on.
func (b *body) drop(m mend) {
	var last uzda.Seq
	for i := range b.req.View {
		last = max(last, b.req.View[i].Seq)
	}
	b.memory(m).Head = strconv.AppendInt(nil, int64(last)+1, 10)
	b.buf.N, b.buf.View, b.buf.Kept = 0, nil, nil // encoded anew
}

// can says whether the request would be another one without.
func (b *body) can(m mend) bool {
	if m == noThinking {
		return b.kept.thinking || b.thinks
	}
	return b.kept.media
}

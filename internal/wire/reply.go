package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
)

const (
	maxBytes = 64 << 20 // of a whole reply
	maxPeek  = 4 << 10  // of what is looked at to see what a reply is
	maxPage  = 64 << 10 // of a page of HTML, for its title

	// What is read of a reply after its end, so that the connection is used again.
	maxDrain  = 64 << 10
	drainTime = 50 * time.Millisecond // and for how long
)

// A Reply is the answer to a [Call]. It belongs to one goroutine.
type Reply struct {
	Status  int
	Header  http.Header
	Request string // the provider's id of the request
	// Body is watched: its errors are *uzda.ProviderError with the code "network",
	// or wrap the cause of the caller's context. A page of HTML and a body without
	// a byte are errors too: no model answers so.
	Body io.ReadCloser

	body *body
}

func newReply(s *sending, resp *http.Response) *Reply {
	ok := resp.StatusCode >= 200 && resp.StatusCode <= 299
	b := &body{sending: s, from: resp.Body, status: resp.StatusCode, header: resp.Header, seen: !ok,
		empty: !ok || resp.StatusCode == http.StatusNoContent || resp.Request.Method == http.MethodHead}
	return &Reply{Status: resp.StatusCode, Header: resp.Header, Request: requestID(resp.Header), Body: b, body: b}
}

// Event is [Event] for an event of this reply: without secrets, with the name of
// the service and the id of the request.
func (r *Reply) Event(raw []byte) *uzda.ProviderError {
	e := Event([]byte(r.body.hider()(string(raw))))
	if e.Request == "" {
		e.Request = r.Request
	}
	return r.body.clean(e)
}

// Kind says what the body is: "json", "sse", "ndjson" or "other". It looks at the
// content type and at the first bytes, which it waits for: wrong content types are
// common. A JSON error may come where a stream was asked for.
func (r *Reply) Kind() string { return r.body.sniff() }

// Progress says that a real event came: it resets the Quiet watchdog, which bytes
// alone don't.
func (r *Reply) Progress() { r.body.watch.event() }

// Bytes reads the whole body, at most limit bytes; 0 means 64 MiB.
func (r *Reply) Bytes(limit int64) ([]byte, error) {
	if limit <= 0 {
		limit = maxBytes
	}
	return r.body.all(limit)
}

// body is the body of a reply with its watchdogs.
type body struct {
	*sending
	from   io.ReadCloser
	status int
	header http.Header
	empty  bool   // it may be empty
	head   []byte // peeked, not yet read
	seen   bool   // the first byte that is no space was looked at
	some   bool   // a byte came
	err    error  // the end
}

func (b *body) Read(p []byte) (int, error) {
	if len(b.head) > 0 {
		n := copy(p, b.head)
		b.head = b.head[n:]
		return n, nil
	}
	return b.pull(p)
}

// pull reads what is next on the wire. It gives bytes or an error, never both.
func (b *body) pull(p []byte) (int, error) {
	if b.err == nil && b.watch.parent.Err() != nil {
		b.finish(b.watch.parent.Err()) // what has come already is not read either
	}
	if b.err != nil || len(p) == 0 {
		return 0, b.err
	}
	n, err := b.from.Read(p)
	switch {
	case n > 0:
		b.watch.came()
		b.some = true
	case err == nil:
		return 0, nil
	}
	switch err {
	case nil:
	case io.EOF:
		b.finish(nil)
	default:
		b.finish(err)
	}
	if first := bytes.TrimLeft(p[:n], " \t\r\n\ufeff"); !b.seen && len(first) > 0 {
		if b.seen = true; first[0] == '<' {
			b.head = append([]byte(nil), first...)
			return 0, b.page()
		}
	}
	if n > 0 {
		return n, nil
	}
	return 0, b.err
}

// finish ends the body, by an error or well.
func (b *body) finish(err error) {
	switch {
	case err != nil:
		if b.err = b.why(err); b.watch.parent.Err() != nil {
			b.err = &cause{b.err}
		}
	case b.some || b.empty:
		b.err = io.EOF
	default:
		b.err = b.clean(&uzda.ProviderError{Code: "network", Message: "the reply has no body",
			Hint: "if this goes on, this is no model endpoint: check the base URL, and what stands before the service"})
	}
	b.watch.rest()
}

// Close ends the call. A reply whose end is near is read up to it, so that its
// connection is used again.
func (b *body) Close() error {
	if b.err == nil && b.watch.ctx.Err() == nil {
		b.watch.drain()
		_, _ = io.CopyN(io.Discard, b.from, maxDrain) // it is given up with whatever is wrong
	}
	if b.err == nil {
		b.err = errClosed
	}
	b.end()
	return b.from.Close()
}

var errClosed = errors.New("read of a reply that is closed")

// all reads what is left, at most limit bytes.
func (b *body) all(limit int64) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(b, limit+1))
	if int64(len(raw)) > limit {
		return raw[:limit], b.clean(&uzda.ProviderError{Code: "unknown", Message: fmt.Sprintf("the reply is over %d bytes", limit)})
	}
	return raw, err
}

// unfit is what is wrong with a reply, as far as its headers tell. The transport
// has undone the encoding that it asked for.
func (b *body) unfit() error {
	if isHTML(b.header.Get("Content-Type")) && !b.empty {
		return b.page()
	}
	e := strings.ToLower(strings.TrimSpace(b.header.Get("Content-Encoding")))
	if e == "" || e == "identity" {
		return nil
	}
	return b.clean(&uzda.ProviderError{Code: "unknown", Status: b.status, Again: uzda.AgainNo,
		Message: fmt.Sprintf("the reply is encoded as %q, which was not asked for", clip(e, 40)),
		Hint:    "something between here and the service changes what it says: look at proxies and gateways"})
}

// page is the error of a page of HTML.
func (b *body) page() error {
	raw, _ := io.ReadAll(io.LimitReader(io.MultiReader(bytes.NewReader(b.head), b.from), maxPage)) // a part has the title too
	b.head = nil
	b.err = b.clean(&uzda.ProviderError{Code: "invalid_request", Status: b.status, Again: uzda.AgainNo,
		Message: "this is no model endpoint: it answers with " + page(raw),
		Hint:    "check the base URL; a proxy's login page, too, answers so"})
	return b.err
}

// sniff fills the head until it is clear what the body is.
func (b *body) sniff() string {
	kind := b.header.Get("Content-Type")
	for len(b.head) < maxPeek && b.err == nil {
		if found, sure := look(b.head, kind, false); sure {
			return found
		}
		b.head = slices.Grow(b.head, 512) // a stream shows what it is in its first bytes
		n, err := b.pull(b.head[len(b.head):cap(b.head)])
		b.head = b.head[:len(b.head)+n]
		if err != nil {
			break
		}
	}
	found, _ := look(b.head, kind, true)
	return found
}

// look says what a body is that begins so; all says that no more will be known.
func look(head []byte, contentType string, all bool) (kind string, sure bool) {
	media := mediaType(contentType)
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	if len(head) == 0 {
		return said(media), all
	}
	if head[0] == '{' || head[0] == '[' {
		line, rest, whole := bytes.Cut(head, []byte("\n"))
		switch {
		case isNDJSON(media):
			return "ndjson", true
		case whole && head[0] == '{' && len(bytes.TrimSpace(rest)) > 0 && bytes.TrimSpace(rest)[0] == '{' && json.Valid(line):
			return "ndjson", true
		}
		return "json", true
	}
	for _, field := range []string{":", "data:", "event:", "id:", "retry:"} {
		if bytes.HasPrefix(head, []byte(field)) {
			return "sse", true
		}
		if !all && strings.HasPrefix(field, string(head)) {
			return "", false
		}
	}
	return said(media), true
}

// mediaType is what a content type says without its parameters.
func mediaType(contentType string) string {
	media, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(media))
}

// said is the kind that a content type claims.
func said(media string) string {
	switch {
	case media == "text/event-stream":
		return "sse"
	case isNDJSON(media):
		return "ndjson"
	case media == "application/json", strings.HasSuffix(media, "+json"), media == "text/json":
		return "json"
	}
	return "other"
}

func isNDJSON(media string) bool {
	switch media {
	case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines", "application/json-seq":
		return true
	}
	return false
}

// Broken says what an error of a read means for a stream: the code is "network"
// before any content and "cut" after it. The cause of the caller's context, and an
// error that the provider sent, stay as they are.
func Broken(err error, began bool) error {
	if err == nil {
		return nil
	}
	var ended *cause
	if errors.As(err, &ended) {
		return ended.error
	}
	e := &uzda.ProviderError{Code: "network", Message: "the stream broke: " + clip(err.Error(), 300), Err: err}
	var p *uzda.ProviderError
	if errors.As(err, &p) {
		copied := *p
		e = &copied
	} else if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		e.Message = "the stream ended before the reply did"
	}
	if began && e.Code == "network" {
		e.Code = "cut"
	}
	return e
}

// Used adds to the error of a stream what it has used at least, so that a broken
// or cancelled stream does not count as nothing. errors.Is finds the cause of a
// cancel as before.
func Used(err error, u uzda.Usage) error {
	if err == nil || u == (uzda.Usage{}) {
		return err
	}
	u.AtLeast = true
	var p *uzda.ProviderError
	if errors.As(err, &p) {
		copied := *p
		copied.Usage = u
		return &copied
	}
	return &uzda.ProviderError{Code: "cut", Message: err.Error(), Usage: u, Err: err}
}

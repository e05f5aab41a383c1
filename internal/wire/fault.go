package wire

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/uzda-dev/uzda"
)

// Fault makes the error of a reply that failed, from its status, headers and
// body, in the dialects of all services that are known: the tables are in code.go
// and special.go. now is this machine's time, for hints that are dates; a Date
// header is believed more.
func Fault(status int, h http.Header, body []byte, now time.Time) *uzda.ProviderError {
	r := read(body, h.Get("Content-Type"))
	r.status = status
	e := r.fault()
	e.Status = status
	e.Request = requestID(h)
	if e.Request == "" {
		e.Request = clip(r.request, 200)
	}
	wait, again := hints(h, status, now)
	for _, nested := range r.headers {
		w, a := hints(nested, status, server(h, now))
		wait = max(wait, w)
		if again == "" {
			again = a
		}
	}
	e.Wait = bound(max(wait, e.Wait))
	if e.Again == "" {
		e.Again = again
	}
	settle(e, h, r)
	return e
}

// Event makes the error of an error event in the middle of a stream, from the
// JSON of the event or of its error member. There is no status, so Again says
// whether the same request may succeed.
func Event(raw []byte) *uzda.ProviderError {
	r := read(raw, "")
	r.status = r.number
	e := r.fault()
	e.Request = clip(r.request, 200)
	e.Wait = bound(e.Wait)
	settle(e, nil, r)
	if e.Again == "" && e.Code == "unknown" && passing(r.status) {
		e.Again = uzda.AgainYes
	}
	return e
}

// passing says whether a failure of the service itself may be over soon; 0 is one
// that it does not number.
func passing(status int) bool {
	switch status {
	case 0, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, 499:
		return true
	}
	return status >= 500 && status != http.StatusNotImplemented && status != http.StatusHTTPVersionNotSupported
}

// settle lets what is known of the code overrule what headers say of trying again,
// and gives advice.
func settle(e *uzda.ProviderError, h http.Header, r *report) {
	switch e.Code {
	case "quota":
		e.Again = uzda.AgainNo
	case "context", "auth", "not_found":
		e.Again, e.Wait = uzda.AgainNo, 0
	case "rate_limit":
		// Anthropic says after how long, unless it is a limit of spending.
		if e.Again == "" && e.Wait == 0 && r.anthropic && h.Get("Anthropic-Organization-Id") != "" { //nolint:misspell // the header's name
			e.Again, e.Hint = uzda.AgainNo, "the service does not say when it would answer again, as with a limit of spending: look into its console"
		}
	case "unknown":
		if e.Again == "" && (e.Status == http.StatusTooEarly || e.Status == 499) {
			e.Again = uzda.AgainYes
		}
		if e.Status == http.StatusNotImplemented || e.Status == http.StatusHTTPVersionNotSupported {
			e.Again = uzda.AgainNo
		}
	}
	switch {
	case e.Status == http.StatusProxyAuthRequired:
		e.Code, e.Again, e.Hint = "network", uzda.AgainNo, proxyKey
	case e.Status >= 300 && e.Status < 400:
		e.Hint = "the base URL is probably wrong: the service sends elsewhere"
		if to := h.Get("Location"); to != "" {
			if u, err := url.Parse(to); err == nil {
				e.Hint += ", to " + place(u)
			}
		}
	case e.Hint != "":
	case e.Status == http.StatusRequestEntityTooLarge && e.Code == "context" && e.Tokens == 0:
		e.Hint = "the request has too many bytes for the service, or for a proxy before it: it must get shorter, or the proxy's limit higher"
	case r.html && e.Code != "overloaded" && e.Code != "unknown":
		e.Hint = "this is no answer of a model endpoint: check the base URL, and what stands before the service (proxy, login, firewall)"
	default:
		e.Hint = advice[e.Code]
	}
}

// advice is how to mend a code, where nothing better is known.
var advice = map[string]string{
	"overloaded":      "the service has too much to do; try again later, or name another model to fall back to",
	"rate_limit":      "fewer requests at a time, or a higher limit in the provider's console",
	"quota":           "add credit or raise the limit of spending in the provider's console",
	"auth":            "check that the key is right, belongs to this base URL and may use this model",
	"not_found":       "check the name of the model and the base URL",
	"invalid_request": "the service refuses what was sent: another profile for the model may fit it (profile, max_tokens, options under models in uzda.yaml)",
	"context":         "the conversation is longer than the model's window; it must be compacted, or a model with a larger one used",
}

// fault finds the code, the text and the hint of a report.
func (r *report) fault() *uzda.ProviderError {
	text := strings.ToLower(strings.Join(r.texts, "\n"))
	e := r.ruled(text)
	if e.Code == "context" {
		e.Tokens, e.Window = r.sizes(text)
	}
	return e
}

func (r *report) ruled(text string) *uzda.ProviderError {
	e := &uzda.ProviderError{Message: r.message()}
	e.Wait = max(r.wait, spoken(text))
	for _, s := range specials {
		if s.match(r, text) {
			e.Code, e.Hint, e.Again, e.Wait = s.code, s.hint, s.again, max(e.Wait, s.wait)
			if s.tell != nil {
				e.Hint = s.tell(r, text)
			}
			return e
		}
	}
	e.Code = ofStatus(r.status)
	if code, weak := r.word(); code != "" && (!weak || generic(r.status)) {
		e.Code = code
	}
	return e
}

// word is the code of the words of the report, the most telling first. A weak one
// only says whose fault it is; a status may say more.
func (r *report) word() (code string, weak bool) {
	for _, code := range []string{"context", "quota", "overloaded", "rate_limit", "not_found", "auth", "invalid_request", "unknown"} {
		for _, w := range r.words {
			if words[w] == code {
				return code, code == "invalid_request" || code == "unknown"
			}
		}
	}
	return "", true
}

// generic says that a status tells no more than whose fault it is, or is none.
func generic(status int) bool {
	switch status {
	case 0, http.StatusOK, http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// message is the text of a report for people.
func (r *report) message() string {
	text := ""
	if len(r.texts) > 0 {
		text = r.texts[0]
	}
	for _, more := range r.texts[min(1, len(r.texts)):] {
		if !strings.Contains(text, more) {
			text += ": " + more
		}
	}
	if text = clip(text, maxText); text != "" {
		if r.via != "" && !strings.Contains(text, r.via) {
			text += " (from " + clip(r.via, 80) + ")"
		}
		return text
	}
	if len(r.words) > 0 {
		return clip(strings.Join(r.words, ", "), maxText)
	}
	if t := http.StatusText(r.status); t != "" {
		return "the service answers " + t + " without a word"
	}
	return "the service reports an error without a word"
}

var pages = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?is)<(title|h1)[^>]*>(.*?)</`)
})

// page describes a page of HTML in a few words.
func page(raw []byte) string {
	if m := pages().FindSubmatch(raw); m != nil {
		if title := clip(unescape(string(m[2])), 120); title != "" {
			return fmt.Sprintf("an HTML page (%q)", title)
		}
	}
	return "an HTML page"
}

// requestID finds the provider's id of a request.
func requestID(h http.Header) string {
	for _, name := range []string{"Request-Id", "X-Request-Id", "Apim-Request-Id", "X-Amzn-Requestid", "Mistral-Correlation-Id",
		"X-Ds-Trace-Id", "X-Generation-Id", "X-Goog-Request-Id", "Cf-Ray"} {
		if v := clip(h.Get(name), 200); v != "" {
			return v
		}
	}
	return ""
}

package wire

import (
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
)

// maxHint bounds what a provider may ask for; more is a mistake or as good as
// never.
const maxHint = 24 * time.Hour

// bound brings a wait between nothing and maxHint.
func bound(d time.Duration) time.Duration { return min(max(d, 0), maxHint) }

// seconds makes a wait of a number of seconds; what is no such number is none.
func seconds(s float64) time.Duration {
	switch {
	case math.IsNaN(s) || s <= 0:
		return 0
	case s > maxHint.Seconds():
		return maxHint
	}
	return time.Duration(s * float64(time.Second))
}

// span reads a wait as headers and details write it: "20", "1.5", "34.07s",
// "6m0s", "120ms". What is none gives 0.
func span(s string) time.Duration {
	s = strings.TrimSpace(s)
	if len(s) > 64 {
		return 0
	}
	if d, err := time.ParseDuration(s); err == nil {
		return bound(d)
	}
	if n, err := strconv.ParseFloat(s, 64); err == nil {
		return seconds(n)
	}
	return spoken("try again in " + strings.ToLower(s))
}

var (
	phrase = regexp.MustCompile(`(?:again|retry|wait|available|reset)(?: after| in| for| at least)?:? ((?:\d+(?:\.\d+)?\s*[a-zµ]+[\s,]*(?:and )?)+)`)
	piece  = regexp.MustCompile(`(\d+(?:\.\d+)?)\s*([a-zµ]+)`)
)

// spoken finds the longest wait that a text in lower case names: "try again in
// 7m12.5s", "retry after 26 seconds".
func spoken(text string) (longest time.Duration) {
	if len(text) > 8<<10 {
		text = text[:8<<10]
	}
	for _, m := range phrase.FindAllStringSubmatch(text, 4) {
		sum := 0.0
		for _, p := range piece.FindAllStringSubmatch(m[1], 8) {
			n, err := strconv.ParseFloat(p[1], 64)
			unit, ok := units[p[2]]
			if err != nil || !ok {
				break
			}
			sum += n * unit
		}
		longest = max(longest, seconds(sum))
	}
	return longest
}

// units are in seconds.
var units = map[string]float64{
	"ms": 1e-3, "millisecond": 1e-3, "milliseconds": 1e-3, "µs": 1e-6, "us": 1e-6, "ns": 1e-9,
	"s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1,
	"m": 60, "min": 60, "mins": 60, "minute": 60, "minutes": 60,
	"h": 3600, "hr": 3600, "hrs": 3600, "hour": 3600, "hours": 3600, "d": 86400, "day": 86400, "days": 86400,
}

// hints reads what the headers of a reply that failed ask for. Where several say
// how long, the longest holds: Azure sends a retry-after-ms of 0 beside a
// retry-after of 1.
func hints(h http.Header, status int, now time.Time) (time.Duration, uzda.Again) {
	var again uzda.Again
	switch strings.ToLower(strings.TrimSpace(h.Get("X-Should-Retry"))) {
	case "true":
		again = uzda.AgainYes
	case "false":
		again = uzda.AgainNo
	}
	now = server(h, now)
	var wait time.Duration
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil {
		wait = seconds(ms / 1e3)
	}
	if after := strings.TrimSpace(h.Get("Retry-After")); after != "" {
		wait = max(wait, until(after, now))
	}
	if wait == 0 && (status == http.StatusTooManyRequests || status == 529 || status == http.StatusServiceUnavailable) {
		for _, l := range limits(h, now) {
			if l.left <= 0 {
				wait = max(wait, l.in)
			}
		}
	}
	return bound(wait), again
}

// server is the time as the server has it: clocks differ.
func server(h http.Header, now time.Time) time.Time {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		return date
	}
	return now
}

// until reads a time to wait, or a time to wait for: seconds, a span, a date of
// HTTP or RFC 3339, or the time of Unix in seconds or milliseconds.
func until(s string, now time.Time) time.Duration {
	s = strings.TrimSpace(s)
	if strings.Contains(s, ":") {
		if at, err := http.ParseTime(s); err == nil {
			return bound(at.Sub(now))
		}
		if at, err := time.Parse(time.RFC3339, s); err == nil {
			return bound(at.Sub(now))
		}
		return 0
	}
	if n, err := strconv.ParseFloat(s, 64); err == nil && n > 1e9 {
		switch {
		case n > 1e14: // no time of this century
			return maxHint
		case n > 1e11:
			return bound(time.UnixMilli(int64(n)).Sub(now))
		}
		return bound(time.Unix(int64(n), 0).Sub(now))
	}
	return span(s)
}

// limit is one limit of a key as headers tell it.
type limit struct {
	// kind is requests, tokens, or used: tokens of which it is not known beforehand
	// how many count, as cached ones don't; only that none are left is known.
	kind string
	max  float64
	left float64
	in   time.Duration // until all of it is there again
}

// limitHeaders are the names of limits in the dialects.
var limitHeaders = []struct{ kind, max, left, reset string }{
	{"requests", "Anthropic-Ratelimit-Requests-Limit", "Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Reset"},
	{"used", "Anthropic-Ratelimit-Tokens-Limit", "Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Ratelimit-Tokens-Reset"},
	{"used", "Anthropic-Ratelimit-Input-Tokens-Limit", "Anthropic-Ratelimit-Input-Tokens-Remaining", "Anthropic-Ratelimit-Input-Tokens-Reset"},
	{"used", "Anthropic-Ratelimit-Output-Tokens-Limit", "Anthropic-Ratelimit-Output-Tokens-Remaining", "Anthropic-Ratelimit-Output-Tokens-Reset"},
	{"requests", "X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests"},
	{"tokens", "X-Ratelimit-Limit-Tokens", "X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens"},
	{"requests", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"},
}

// limits reads the limits that headers tell whole: without what is left or
// without a reset, nothing can be done with one.
func limits(h http.Header, now time.Time) (found []limit) {
	for _, n := range limitHeaders {
		left, reset := h[n.left], h[n.reset]
		if len(left) == 0 || len(reset) == 0 {
			continue
		}
		if len(found) == 0 { // most replies name no limit, and need no clock
			now = server(h, now)
		}
		if l, ok := count(left[0]); ok {
			most, _ := count(h.Get(n.max))
			found = append(found, limit{kind: n.kind, max: max(most, 0), left: l, in: until(reset[0], now)})
		}
	}
	return found
}

// count reads a number of requests or tokens.
func count(s string) (float64, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return n, err == nil && math.Abs(n) < 1e15
}

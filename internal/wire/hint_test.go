package wire_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/wire"
)

// peer:edge-retry-after quirk:28 quirk:20: how long a service asks to wait, in all
// its ways. Absurd values are bounded.
func TestHints(t *testing.T) {
	t.Parallel()
	in := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for _, c := range []struct {
		name   string
		header http.Header
		body   string
		wait   time.Duration
	}{
		{"none", nil, "", 0},
		{"seconds", header("Retry-After: 7"), "", 7 * time.Second},
		{"decimals", header("Retry-After: 0.25"), "", 250 * time.Millisecond},
		{"spaces", header("Retry-After:   3 "), "", 3 * time.Second},
		{"a span", header("Retry-After: 1m30s"), "", 90 * time.Second},
		{"a date by this clock", header("Retry-After: " + in(90*time.Second)), "", 90 * time.Second},
		{"a date by the service's clock", header("Retry-After: "+in(-time.Hour+20*time.Second), "Date: "+in(-time.Hour)), "", 20 * time.Second},
		{"a date in the past", header("Retry-After: " + in(-time.Hour)), "", 0},
		{"milliseconds", header("Retry-After-Ms: 1500"), "", 1500 * time.Millisecond},
		{"both, seconds larger", header("Retry-After-Ms: 0", "Retry-After: 1"), "", time.Second},
		{"both, milliseconds larger", header("Retry-After-Ms: 1500", "Retry-After: 1"), "", 1500 * time.Millisecond},
		{"the body is longer", header("Retry-After: 1"), `{"error":{"message":"try again in 4s"}}`, 4 * time.Second},
		{"RFC 3339", header("Anthropic-Ratelimit-Requests-Remaining: 0", "Anthropic-Ratelimit-Requests-Reset: 2026-11-30T12:00:41Z"), "", 41 * time.Second},
		{"not what is left over", header("Anthropic-Ratelimit-Requests-Remaining: 3", "Anthropic-Ratelimit-Requests-Reset: 2026-11-30T12:00:41Z"), "", 0},
		{"a span of Go", header("X-Ratelimit-Remaining-Tokens: 0", "X-Ratelimit-Reset-Tokens: 6m0s", "X-Ratelimit-Remaining-Requests: 0", "X-Ratelimit-Reset-Requests: 120ms"), "", 6 * time.Minute},
		{"Unix, milliseconds", header("X-Ratelimit-Remaining: 0", "X-Ratelimit-Reset: "+strconv.FormatInt(now.Add(9*time.Second).UnixMilli(), 10)), "", 9 * time.Second},
		{"Unix, seconds", header("X-Ratelimit-Remaining: 0", "X-Ratelimit-Reset: "+strconv.FormatInt(now.Add(9*time.Second).Unix(), 10)), "", 9 * time.Second},
		{"seconds to go", header("X-Ratelimit-Remaining: 0", "X-Ratelimit-Reset: 9"), "", 9 * time.Second},
		{"retry-after is believed before resets", header("Retry-After: 2", "X-Ratelimit-Remaining-Tokens: 0", "X-Ratelimit-Reset-Tokens: 6m0s"), "", 2 * time.Second},
		{"RetryInfo", nil, `{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.07s"}]}}`, 34070 * time.Millisecond},
		{"RetryInfo in parts", nil, `{"error":{"details":[{"retryDelay":{"seconds":"3","nanos":500000000}}]}}`, 3500 * time.Millisecond},
		{"nested headers", nil, `{"error":{"metadata":{"headers":{"Retry-After":"11"}}}}`, 11 * time.Second},
		{"text: s", nil, `{"error":{"message":"Please try again in 20s."}}`, 20 * time.Second},
		{"text: m s", nil, `{"error":{"message":"Please try again in 7m12.5s. Visit"}}`, 7*time.Minute + 12500*time.Millisecond},
		{"text: decimals", nil, `{"error":{"message":"try again in 1.2s"}}`, 1200 * time.Millisecond},
		{"text: ms", nil, `{"error":{"message":"try again in 898ms"}}`, 898 * time.Millisecond},
		{"text: words", nil, `{"error":{"message":"Please retry after 1 minute and 26 seconds."}}`, 86 * time.Second},
		{"text: no unit of time", nil, `{"error":{"message":"exceeds the available 512 tokens, try again in 5 apples"}}`, 0},

		{"negative", header("Retry-After: -5", "Retry-After-Ms: -5"), "", 0},
		{"NaN", header("Retry-After: NaN", "Retry-After-Ms: NaN"), "", 0},
		{"infinite", header("Retry-After: +Inf"), "", 24 * time.Hour},
		{"ten years", header("Retry-After: 315360000"), "", 24 * time.Hour},
		{"ten years as a date", header("Retry-After: " + in(10*365*24*time.Hour)), "", 24 * time.Hour},
		{"a huge number", header("Retry-After: 1e300"), "", 24 * time.Hour},
		{"a huge time", header("X-Ratelimit-Remaining: 0", "X-Ratelimit-Reset: 9e99"), "", 24 * time.Hour},
		{"a huge text", nil, `{"error":{"message":"try again in 99999999999999999999999999h"}}`, 24 * time.Hour},
		{"negative RetryInfo", nil, `{"error":{"details":[{"retryDelay":"-34s"}]}}`, 0},
		{"words", header("Retry-After: soon", "Retry-After-Ms: later"), "", 0},
		{"a wrong Date", header("Retry-After: 3", "Date: yesterday"), "", 3 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := c.header
			if h == nil {
				h = http.Header{}
			}
			if e := wire.Fault(429, h, []byte(c.body), now); e.Wait != c.wait {
				t.Errorf("the wait is %v, not %v", e.Wait, c.wait)
			}
		})
	}
}

// What a service says of trying again holds, but never for what can't get better.
func TestShouldRetry(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		header string
		code   string
		again  bool
	}{
		{500, "", "", true},
		{500, "false", "", false},
		{400, "", "", false},
		{400, "true", "", true},
		{429, "true", "insufficient_quota", false},
		{401, "true", "invalid_api_key", false},
	} {
		e := wire.Fault(c.status, header("X-Should-Retry: "+c.header), []byte(`{"error":{"message":"m","code":"`+c.code+`"}}`), now)
		if e.Retryable() != c.again {
			t.Errorf("%+v: again is %v", c, e.Retryable())
		}
	}
}

// seeds are inputs for the fuzzers: all faults of the tables.
func seeds(add func(status int, name, value string, body []byte)) {
	for _, f := range faults {
		name, value := "X", ""
		for n, v := range f.header {
			name, value = n, v[0]
		}
		add(f.status, name, value, []byte(f.body))
	}
	add(429, "X-Ratelimit-Reset", "\x00", []byte(strings.Repeat(`{"error":`, 2000)))
	add(429, "Retry-After", "-9223372036854775808", []byte(`{"error":{"message":"`+strings.Repeat(`\ud800`, 3000)+`"}}`))
	add(429, "Retry-After", "9223372036854775807", []byte(`{"error":{"message":"\u001b]0;x\u0007 try again in 1s 1s 1s"}}`))
}

func sane(t *testing.T, e *uzda.ProviderError) {
	t.Helper()
	if e.Wait < 0 || e.Wait > 24*time.Hour {
		t.Errorf("the wait is %v", e.Wait)
	}
	if !utf8.ValidString(e.Message) || !utf8.ValidString(e.Hint) || e.Message == "" || len(e.Message) > 2200 || len(e.Hint) > 2200 || len(e.Request) > 210 {
		t.Errorf("the error can't be shown: %#v", e)
	}
	switch e.Code {
	case "overloaded", "rate_limit", "quota", "auth", "not_found", "invalid_request", "context", "network", "unknown":
	default:
		t.Errorf("the code is %q", e.Code)
	}
	if e.Code == "quota" && e.Retryable() {
		t.Error("a spent quota is tried again")
	}
}

func FuzzFault(f *testing.F) {
	seeds(func(status int, name, value string, body []byte) { f.Add(status, name, value, body) })
	f.Fuzz(func(t *testing.T, status int, name, value string, body []byte) {
		h := http.Header{}
		h.Set(name, value)
		h.Set("X-Ratelimit-Remaining", "0")
		sane(t, wire.Fault(status, h, body, now))
	})
}

func FuzzEvent(f *testing.F) {
	seeds(func(_ int, _, _ string, body []byte) { f.Add(body) })
	f.Fuzz(func(t *testing.T, raw []byte) { sane(t, wire.Event(raw)) })
}

func FuzzHint(f *testing.F) {
	for _, s := range []string{"7", "0.1", "1m3s", now.Format(http.TimeFormat), now.Format(time.RFC3339), "1796040030000", "NaN", "-1", "1e999", "20s 3ms", "éµs"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, name := range []string{"Retry-After", "Retry-After-Ms", "X-Ratelimit-Reset", "X-Ratelimit-Reset-Tokens", "Date"} {
			h := http.Header{}
			h.Set("X-Ratelimit-Remaining", "0")
			h.Set("X-Ratelimit-Remaining-Tokens", "0")
			h.Set(name, s)
			sane(t, wire.Fault(429, h, []byte("try again in "+s), now))
			var k wire.Key
			k.Learn(h, 429, now)
		}
	})
}

package script

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/uzda-dev/uzda"
)

// codes are those of uzda.ProviderError.
var codes = []string{"overloaded", "rate_limit", "quota", "auth", "not_found", "invalid_request", "context", "network", "cut", "unknown"}

// providerWords are the codes of the providers.
var providerWords = map[string]string{
	"overloaded_error": "overloaded", "rate_limit_error": "rate_limit", "rate_limit_exceeded": "rate_limit",
	"insufficient_quota": "quota", "billing_error": "quota",
	"authentication_error": "auth", "permission_error": "auth", "invalid_api_key": "auth",
	"not_found_error": "not_found", "invalid_request_error": "invalid_request",
	"context_length_exceeded": "context", "api_error": "unknown",
}

// statuses are those of HTTP that say what is wrong.
var statuses = map[int]string{
	400: "invalid_request", 401: "auth", 402: "quota", 403: "auth", 404: "not_found", 408: "network",
	413: "invalid_request", 422: "invalid_request", 429: "rate_limit", 503: "overloaded", 529: "overloaded",
}

// codeOf finds the code that a word names; a status is one too.
func codeOf(word string) (code string, status int, ok bool) {
	word = strings.ToLower(word)
	for _, c := range codes {
		if c == word {
			return c, 0, true
		}
	}
	if c, ok := providerWords[word]; ok {
		return c, 0, true
	}
	n, err := strconv.Atoi(word)
	if err != nil || n < 100 || n > 999 {
		return "unknown", 0, false
	}
	if c, ok := statuses[n]; ok {
		return c, n, true
	}
	return "unknown", n, true
}

// failure reads the error of a turn: a code, a status, a message, or an object
// of them.
func (t *Turn) failure(n *node) error {
	e := &uzda.ProviderError{}
	t.Error = e
	switch n.kind {
	case isString, isNumber:
		first, _, _ := strings.Cut(n.text, " ")
		e.Code, e.Status, _ = codeOf(strings.Trim(first, ":,"))
		e.Message = n.text
		if n.kind == isNumber || first == n.text && e.Code != "unknown" {
			e.Message = "the script says so"
		}
		return nil
	}
	err := members(n, "error",
		field{"code", func(n *node) error {
			c, status, ok := codeOf(n.text)
			if !ok || n.kind != isString && n.kind != isNumber {
				return &fault{n.at, fmt.Sprintf("%q is no code of an error%s; codes are %s", n.text, nearest(n.text, codes), strings.Join(codes, ", "))}
			}
			e.Code = c
			if e.Status == 0 {
				e.Status = status
			}
			return nil
		}},
		field{"status", intOf(&e.Status, "status")},
		field{"message", stringOf(&e.Message, "message")},
		field{"hint", stringOf(&e.Hint, "hint")},
	)
	if e.Code == "" {
		e.Code, _, _ = codeOf(strconv.Itoa(e.Status))
	}
	if e.Message == "" {
		e.Message = "the script says so"
	}
	return err
}

package wire

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
)

// words are the codes and types of the services, in lower case, by our code.
// "unknown" is a failure of the service itself, which may be over soon.
var words = map[string]string{
	// Messages
	"invalid_request_error": "invalid_request", "authentication_error": "auth", "billing_error": "quota",
	"permission_error": "auth", "not_found_error": "not_found", "conflict_error": "unknown", "request_too_large": "context",
	"rate_limit_error": "rate_limit", "api_error": "unknown", "timeout_error": "unknown", "overloaded_error": "overloaded",
	"enforced_spend_limit_reached": "quota", "contract_spend_limit_reached": "quota",

	// Chat Completions and Responses
	"insufficient_quota": "quota", "billing_hard_limit_reached": "quota", "billing_not_active": "quota", "quota_exceeded": "quota",
	"rate_limit_exceeded": "rate_limit", "tokens_usage_based": "rate_limit", "slow_down": "overloaded",
	"context_length_exceeded": "context", "string_above_max_length": "context",
	"invalid_api_key": "auth", "invalid_authentication": "auth", "account_deactivated": "auth", "missing_scope": "auth",
	"unsupported_country_region_territory": "auth",
	"model_not_found":                      "not_found", "server_error": "unknown", "internal_error": "unknown", "internal_server_error": "unknown",
	"server_is_overloaded": "overloaded", "engine_overloaded": "overloaded", "service_unavailable": "overloaded",
	"vector_store_timeout": "unknown", "processing_error": "unknown",

	// Azure
	"ratelimitreached": "rate_limit", "toomanyrequests": "rate_limit", "deploymentnotfound": "not_found", "noregistereddeployments": "not_found",
	"content_filter": "invalid_request", "responsibleaipolicyviolation": "invalid_request", "permissiondenied": "auth",
	"unauthorized":       "auth", //nolint:misspell // as Azure writes it
	"serviceunavailable": "overloaded", "internalservererror": "unknown",

	// Google
	"resource_exhausted": "rate_limit", "unavailable": "overloaded", "unauthenticated": "auth", "permission_denied": "auth",
	"api_key_invalid": "auth", "service_disabled": "auth", "not_found": "not_found", "invalid_argument": "invalid_request",
	"failed_precondition": "invalid_request", "out_of_range": "invalid_request", "internal": "unknown", "deadline_exceeded": "unknown",
	"aborted": "unknown", "cancelled": "unknown", "billing_disabled": "quota",

	// Others: OpenRouter, Groq, Mistral, DeepSeek, xAI, Perplexity, Together, Moonshot …
	"tool_use_failed": "invalid_request", "too_many_prompt_tokens": "context", "model_max_prompt_tokens_exceeded": "context",
	"context_window_exceeded": "context", "context_length_error": "context", "exceed_context_size_error": "context",
	"tokens_limit_reached": "context", "contextwindowexceedederror": "context", "model_context_window_exceeded": "context",
	"invalid_model": "not_found", "model_not_supported": "not_found", "model_decommissioned": "not_found",
	"insufficient_balance": "quota", "insufficient_credits": "quota", "credit_limit": "quota", "exceeded_current_quota_error": "quota",
	"payment_required": "quota", "rate_limit_reached_error": "rate_limit", "too_many_requests": "rate_limit", "rate_limited": "rate_limit",
	"engine_overloaded_error": "overloaded", "capacity_exceeded": "overloaded", "service_tier_capacity_exceeded": "overloaded",
	"unavailable_error": "overloaded", "overloaded": "overloaded", "flex_capacity_exceeded": "overloaded",
	"invalid-argument": "invalid_request", "badrequesterror": "invalid_request", "notfounderror": "not_found",
	"authenticationerror": "auth", "ratelimiterror": "rate_limit",

	// Bedrock
	"throttlingexception": "rate_limit", "servicequotaexceededexception": "quota", "modelnotreadyexception": "overloaded",
	"serviceunavailableexception": "overloaded", "internalserverexception": "unknown", "modeltimeoutexception": "unknown",
	"modelstreamerrorexception": "unknown", "accessdeniedexception": "auth", "unrecognizedclientexception": "auth",
	"expiredtokenexception": "auth", "resourcenotfoundexception": "not_found", "validationexception": "invalid_request",
}

// ofStatus is the code of a status, where no word says more.
func ofStatus(status int) string {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return "auth"
	case http.StatusPaymentRequired:
		return "quota"
	case http.StatusNotFound, http.StatusGone:
		return "not_found"
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, 499:
		return "unknown"
	case http.StatusRequestEntityTooLarge:
		return "context"
	case http.StatusTooManyRequests:
		return "rate_limit"
	case 498, http.StatusServiceUnavailable, 529:
		return "overloaded"
	}
	if status >= 300 && status < 500 {
		return "invalid_request"
	}
	return "unknown"
}

// A special is a failure that its text tells, whatever code or status it came
// with; the first that matches holds.
type special struct {
	code  string
	any   []string // parts of the text in lower case, of which one is there
	all   []string // and all of these
	not   []string // and none of these
	word  string   // and this is among the words
	from  []int    // and the status is one of these; none: any
	again uzda.Again
	wait  time.Duration
	hint  string
	tell  func(r *report, text string) string // makes the hint
}

func (s special) match(r *report, text string) bool {
	has := func(part string) bool { return strings.Contains(text, part) }
	return (len(s.any) == 0 || slices.ContainsFunc(s.any, has)) &&
		!slices.ContainsFunc(s.all, func(p string) bool { return !has(p) }) && !slices.ContainsFunc(s.not, has) &&
		(s.word == "" || slices.ContainsFunc(r.words, func(w string) bool { return strings.Contains(w, s.word) })) &&
		(len(s.from) == 0 || slices.Contains(s.from, r.status))
}

package policy

import (
	"regexp"
	"strings"
)

// A shape is a well-known form of a token. Its hints are looked for first, since
// that is much cheaper than the pattern.
type shape struct {
	name  string
	hints []string
	re    func() *regexp.Regexp
}

// shapes are a first few; the prefixes are documented by those who issue them.
var shapes = []shape{
	// A key that was cut has no end; then its letters and digits are hidden.
	{"private-key", []string{"PRIVATE KEY"}, lazily(`-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----` +
		`(?:(?s:.*?)-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|(?:\s|\\[nr])*[A-Za-z0-9+/=]{20}(?:[A-Za-z0-9+/=\s]|\\[nr])*)`)},
	{"aws-access-key-id", []string{"AKIA", "ASIA"}, lazily(`\b(?:AKIA|ASIA)[A-Z2-7]{16}\b`)},
	{"github-token", []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"}, lazily(`\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{60,255})`)},
	{"slack-token", []string{"xox", "xapp-"}, lazily(`\b(?:xox[abeoprs]-[A-Za-z0-9-]{10,250}|xapp-[0-9]-[A-Za-z0-9-]{10,250})`)},
	{"api-key", []string{"sk-"}, lazily(`\bsk-[A-Za-z0-9_-]{20,250}`)},
	{"jwt", []string{"eyJ"}, lazily(`\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{8,}`)},
}

func tokens(hits []hit, text string) []hit {
	for _, s := range shapes {
		for _, hint := range s.hints {
			if !strings.Contains(text, hint) {
				continue
			}
			for _, at := range s.re().FindAllStringIndex(text, -1) {
				hits = append(hits, hit{at[0], at[1], redacted(s.name)})
			}
			break
		}
	}
	return hits
}

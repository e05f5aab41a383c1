package hook

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// CheckMatcher says what is wrong with a matcher.
func CheckMatcher(text string) error {
	if names(text) != nil {
		return nil
	}
	if _, err := regexp.Compile(text); err != nil {
		return fmt.Errorf("the matcher %q is neither names (Bash, Edit|Write) nor a regular expression: %w", text, err)
	}
	return nil
}

var plainNames = regexp.MustCompile(`^[A-Za-z0-9_. -]+(\|[A-Za-z0-9_. -]+)*$`)

// names splits a matcher that is a list of names; nil if it is none. A dot is
// taken for itself only beside other letters of a name, as in a server's tool.
func names(matcher string) []string {
	switch {
	case matcher == "" || matcher == "*":
		return []string{"*"}
	case !plainNames.MatchString(matcher):
		return nil
	}
	var out []string
	for _, n := range strings.Split(matcher, "|") {
		out = append(out, strings.TrimSpace(n))
	}
	return out
}

// Strays returns the names of a matcher that none of the known ones is meant by, or
// the matcher itself where it is an expression that fits none of them.
func Strays(matcher string, known []string) (out []string) {
	list := names(matcher)
	if list == nil || strings.Contains(matcher, ".") {
		list = []string{matcher}
	}
	for _, n := range list {
		if _, ok := matched(n, known); !ok {
			out = append(out, n)
		}
	}
	return out
}

// matched returns the name by which a matcher means something that has several. A
// regular expression may match a part of a name, as it does in other hosts.
func matched(matcher string, known []string) (string, bool) {
	if len(known) == 0 {
		return "", true
	}
	list := names(matcher)
	for _, n := range list {
		if n == "*" {
			return known[0], true
		}
		if slices.Contains(known, n) {
			return n, true
		}
	}
	if list != nil && !strings.Contains(matcher, ".") {
		return "", false
	}
	re, err := regexp.Compile(matcher)
	if err != nil {
		return known[0], true // Check refuses it; whoever did not ask is not to be left without a guard
	}
	for _, n := range known {
		if re.MatchString(n) {
			return n, true
		}
	}
	return "", false
}

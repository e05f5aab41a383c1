package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
)

var (
	ruleForm = regexp.MustCompile(`^[A-Za-z*][A-Za-z0-9_.:*-]*(\((?s:.*)\))?$`)
	nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

	// A name without $ must be in capitals, so that a key that was written in its
	// place is no name.
	variableForm = regexp.MustCompile(`^(\$[A-Za-z_][A-Za-z0-9_]*|\$\{[A-Za-z_][A-Za-z0-9_]*\}|[A-Z_][A-Z0-9_]*)$`)
	plainForm    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._-]*/[A-Za-z0-9._/@+-]+(:[A-Za-z0-9._/@+-]+)*$`)
	headerForm   = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
)

const ruleWant = "want a rule in the form Tool or Tool(pattern), such as Bash(git status) or Read(./docs/**)"

// parse reads a value as it is written in the environment, in a flag, or as one
// scalar of a file. An error says what is wanted.
func (k Key) parse(text string) (any, error) {
	switch k.Kind {
	case Text, Path:
		return text, nil
	case Choice:
		if slices.Contains(k.Choices, text) {
			return text, nil
		}
		hint := ""
		if n := near(text, k.Choices); n != "" {
			hint = fmt.Sprintf("; did you mean %q?", n)
		}
		return nil, fmt.Errorf("%s is %q; want one of %s%s", k.Name, text, strings.Join(k.Choices, ", "), hint)
	case Count:
		n, err := strconv.Atoi(strings.ReplaceAll(text, "_", ""))
		switch {
		case errors.Is(err, strconv.ErrRange):
			return nil, fmt.Errorf("%s is %s, which is too large", k.Name, text)
		case err != nil:
			return nil, fmt.Errorf("%s is %q; want a whole number, such as %s", k.Name, text, k.sample())
		case n < 0 && k.Zero != "":
			return nil, fmt.Errorf("%s is %d; want 1 or more, or 0 for %s", k.Name, n, k.Zero)
		case n < 1 && k.Zero == "":
			return nil, fmt.Errorf("%s is %d; want 1 or more: a limit can be raised, but not switched off", k.Name, n)
		}
		return n, nil
	case Whole:
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%s is %q; want a whole number from 0 on", k.Name, text)
		}
		return &n, nil
	case URL:
		u, err := url.Parse(text)
		switch {
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			return nil, fmt.Errorf("%s is no URL; want %s", k.Name, k.want()) // it may hold a key
		case u.User != nil:
			return nil, fmt.Errorf("%s holds a user or a password; a key is named by its variable: key: $NAME", k.Name)
		}
		return text, nil
	case Variable:
		if !variableForm.MatchString(text) {
			return nil, fmt.Errorf("%s is not the name of a variable; want %s", k.Name, k.want()) // it may be the key
		}
		return strings.Trim(text, "${}"), nil
	case Number:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || f < 0 || f > 2 {
			return nil, fmt.Errorf("%s is %q; want a number from 0 to 2", k.Name, text)
		}
		return &f, nil
	case Duration:
		d, err := time.ParseDuration(text)
		if err != nil {
			return nil, fmt.Errorf("%s is %q; want a time with its unit, such as 90s, 30m or 2h", k.Name, text)
		}
		if d <= 0 {
			return nil, fmt.Errorf("%s is %q; want more than 0: a limit can be raised, but not switched off", k.Name, text)
		}
		return d, nil
	case Money:
		m, err := uzda.ParseMoney(text)
		if err != nil {
			return nil, fmt.Errorf("%s is %q; want dollars, such as 5 or 0.25", k.Name, text)
		}
		if m <= 0 {
			return nil, fmt.Errorf("%s is %q; want more than 0: a limit can be raised, but not switched off", k.Name, text)
		}
		return m, nil
	}
	return nil, fmt.Errorf("%s is %q; want %s", k.Name, text, k.want())
}

// sample is a value to show.
func (k Key) sample() string {
	if k.Default != "" {
		return k.Default
	}
	return k.Example
}

// want says in words what a value must be.
func (k Key) want() string {
	switch k.Kind {
	case Text:
		return "text; write it in quotes"
	case Path:
		return "a path"
	case Choice:
		return "one of " + strings.Join(k.Choices, ", ")
	case Count:
		return "a whole number, such as " + k.sample()
	case Number:
		return "a number"
	case Duration:
		return "a time with its unit, such as 90s, 30m or 2h"
	case Money:
		return "dollars, such as 5 or 0.25"
	case Rules:
		return "a list of rules, each on a line: - Tool(pattern)"
	case Texts:
		return "a list of texts, each on a line: - text"
	case Paths:
		return "a list of paths, each on a line: - path"
	case Free:
		return "a map of the provider's own parameters"
	case Whole:
		return "a whole number from 0 on"
	case URL:
		return "where a service is, such as " + k.sample()
	case Variable:
		return "the variable that holds it, such as " + k.sample() + "; never the key itself"
	case Headers:
		return "headers, each on a line: Name: text"
	case Switch:
		return "true or false, without quotes"
	}
	return string(k.Kind)
}

// checkRule says what is wrong with the form of a rule; what it means is for the gate.
func checkRule(key, text string) error {
	if !ruleForm.MatchString(text) {
		return fmt.Errorf("%s has %q; %s", key, text, ruleWant)
	}
	return nil
}

// store puts a parsed value into a field. Rules and paths are added to those that
// are there: a weaker place's ban must not be lost.
func (k Key) store(field, value any) {
	switch f := field.(type) {
	case *string:
		*f = value.(string)
	case *int:
		*f = value.(int)
	case **float64:
		*f = value.(*float64)
	case **int:
		*f = value.(*int)
	case *time.Duration:
		*f = value.(time.Duration)
	case *uzda.Money:
		*f = value.(uzda.Money)
	case *[]Rule:
		*f = append(*f, value.([]Rule)...)
	case *[]string:
		if k.Kind != Paths {
			*f = nil
		}
		*f = append(*f, value.([]string)...)
	case *map[string]json.RawMessage:
		*f = value.(map[string]json.RawMessage)
	case *map[string]string:
		*f = value.(map[string]string)
	case *bool:
		*f = value.(bool)
	case *opposite:
		*f = opposite(!value.(bool))
	default:
		panic(fmt.Sprintf("config: no way to store a %T", field))
	}
}

// resolve makes a path absolute: from base, with ~ for the home folder. A URL
// stays, and so does nothing.
func resolve(text, base, home string) string {
	switch {
	case text == "" || strings.Contains(text, "://"):
		return text
	case text == "~":
		return home
	case home != "" && (strings.HasPrefix(text, "~/") || strings.HasPrefix(text, `~\`)):
		return filepath.Join(home, text[2:])
	case filepath.IsAbs(text):
		return filepath.Clean(text)
	}
	return filepath.Join(base, text)
}

package wire

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
)

const (
	minSecret   = 8 // bytes; a shorter key, as local servers take, is a word like any other
	minPassword = 4 // of a proxy
	maxText     = 2000
)

// clean makes an error fit to be shown: no secrets, no control characters, not
// too long, with the name of the service.
func (s *sending) clean(e *uzda.ProviderError) *uzda.ProviderError {
	hide := s.hider()
	e.Message, e.Hint, e.Request = clip(hide(e.Message), maxText), clip(hide(e.Hint), maxText), clip(hide(e.Request), 200)
	e.Message = named(e.Message, clip(hide(s.client.Name), 200))
	if e.Err != nil {
		if text := hide(e.Err.Error()); text != e.Err.Error() {
			e.Err = &masked{text, e.Err}
		}
	}
	return e
}

// named says after a message whose it is; not where that is, if the message does.
func named(message, name string) string {
	if who, base, ok := strings.Cut(name, " at "); ok {
		if u, err := url.Parse(base); err == nil && u.Host != "" && strings.Contains(message, u.Host) {
			name = who
		}
	}
	if name == "" {
		return message
	}
	return message + " (" + name + ")"
}

// masked is an error without the secrets in its text.
type masked struct {
	text string
	err  error
}

func (m *masked) Error() string { return m.text }

// Is says whether the error behind is target; it is not to be had itself.
func (m *masked) Is(target error) bool { return errors.Is(m.err, target) }

// hider makes a function that takes the secrets of this call out of a text.
func (s *sending) hider() func(string) string {
	secrets := s.secrets()
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) }) // one may lie in another
	pairs := make([]string, 0, 2*len(secrets))
	for _, one := range secrets {
		pairs = append(pairs, one, "***")
	}
	return strings.NewReplacer(pairs...).Replace
}

// secrets are all values of this call that must not be shown.
func (s *sending) secrets() []string {
	keys := slices.Clone(s.client.Secrets)
	for name, values := range s.call.Header {
		if !secretName(name) {
			continue
		}
		for _, v := range values {
			keys = append(keys, v)
			if parts := strings.Fields(v); len(parts) > 1 {
				keys = append(keys, parts[1:]...) // "Bearer KEY"
			}
		}
	}
	var passwords []string
	if u, err := url.Parse(s.call.URL); err == nil {
		passwords = inURL(u)
		for name, values := range u.Query() {
			if secretName(name) {
				keys = append(keys, values...)
			}
		}
	}
	passwords = append(passwords, inURL(s.proxy())...)
	short := func(n int) func(string) bool { return func(v string) bool { return len(v) < n } }
	return append(slices.DeleteFunc(keys, short(minSecret)), slices.DeleteFunc(passwords, short(minPassword))...)
}

// inURL are the forms in which the password of a URL may show.
func inURL(u *url.URL) []string {
	if u == nil {
		return nil
	}
	password, ok := u.User.Password()
	if !ok {
		return nil
	}
	return []string{u.User.String(), password, url.QueryEscape(password), url.PathEscape(password),
		base64.StdEncoding.EncodeToString([]byte(u.User.Username() + ":" + password))}
}

func secretName(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"auth", "key", "token", "secret", "cookie", "credential", "password"},
		func(part string) bool { return strings.Contains(name, part) })
}

// proxy is the proxy that the last request went through, nil if none.
func (s *sending) proxy() *url.URL {
	hc := s.client.HTTP
	if hc == nil {
		hc = Default()
	}
	t, ok := hc.Transport.(*http.Transport)
	if hc.Transport == nil {
		t, ok = http.DefaultTransport.(*http.Transport)
	}
	if !ok || t.Proxy == nil || s.last == nil {
		return nil
	}
	u, err := t.Proxy(s.last)
	if err != nil {
		return nil
	}
	return u
}

// clip makes a text of others fit for a line: valid UTF-8 without control
// characters, at most n bytes.
func clip(s string, n int) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == utf8.RuneError:
			r = '\uFFFD'
		case unicode.IsSpace(r):
			r = ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			continue
		}
		if b.Len()+utf8.RuneLen(r) > n {
			return strings.TrimSpace(b.String()) + "…"
		}
		b.WriteRune(r)
	}
	return strings.TrimSpace(b.String())
}

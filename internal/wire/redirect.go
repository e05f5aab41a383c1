package wire

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
)

// maxRedirects is how many are followed; a service has one at most.
const maxRedirects = 5

// harmless are the headers that another host may see. All others may carry keys,
// also those that a user has named.
var harmless = []string{"Accept", "Content-Type", "User-Agent", "Anthropic-Version", "Anthropic-Beta"}

// redirect makes the rule for redirects: the method stays, keys go to the host
// that they are for and to nobody else, not even by a Referer.
func (s *sending) redirect(users func(*http.Request, []*http.Request) error) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		stop := func(what string) error {
			return &uzda.ProviderError{Code: "invalid_request", Again: uzda.AgainNo, Message: "the service answered with a redirect to " + place(req.URL) + what,
				Hint: "the base URL is probably wrong: use the one that it redirects to, if you trust it"}
		}
		req.Header.Del("Referer")
		first := via[0]
		switch {
		case req.Method != first.Method:
			return stop(", which would turn " + first.Method + " into " + req.Method)
		case len(via) > maxRedirects:
			return stop(" after many others")
		case first.URL.Scheme == "https" && req.URL.Scheme != "https":
			return stop(", where everybody could read it")
		}
		if slices.ContainsFunc(append(via[1:len(via):len(via)], req), func(r *http.Request) bool { return !sameHost(first.URL, r.URL) }) {
			for name := range req.Header {
				if !slices.Contains(harmless, name) {
					req.Header.Del(name)
				}
			}
		}
		s.last = req
		if users != nil {
			return users(req, via)
		}
		return nil
	}
}

// sameHost says whether keys for a may go to b: the same host and port, or its
// encrypted side.
func sameHost(a, b *url.URL) bool {
	if !strings.EqualFold(a.Hostname(), b.Hostname()) {
		return false
	}
	return port(a) == port(b) || port(a) == "80" && port(b) == "443"
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if strings.EqualFold(u.Scheme, "https") {
		return "443"
	}
	return "80"
}

// place is a URL without what may be secret: user, query and fragment.
func place(u *url.URL) string {
	if u == nil {
		return ""
	}
	return clip((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String(), 200)
}

// Shown is a base URL without a name and a password in it, for people and for
// what is recorded.
func Shown(base string) string {
	if !strings.Contains(base, "@") {
		return base
	}
	u, err := url.Parse(base)
	if err != nil || u.User == nil {
		return base
	}
	u.User = nil
	return u.String()
}

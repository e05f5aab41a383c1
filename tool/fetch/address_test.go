package fetch_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/tool/fetch"
)

// privates are addresses of all kinds that are not the public internet.
var privates = []string{
	"127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255",
	"192.168.0.1", "169.254.169.254", "169.254.170.2", "100.64.0.1", "100.100.100.200", "100.127.255.255", "192.0.0.1", "192.0.0.192",
	"192.0.2.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "192.88.99.1",
	"224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
	"::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:0:127.0.0.1", "::127.0.0.1",
	"64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "2002:c0a8:1::",
	"2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:db8::1", "3fff::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::5efe:808:808",
	"2606:4700::5efe:7f00:1", "2606:4700::200:5efe:a00:1", "fec0::1", "ff02::1", "100::1", "5f00::1", "4000::1",
}

// S3: private addresses of every form are refused, by name and as literals.
func TestPrivate(t *testing.T) {
	t.Parallel()
	w := newWeb(t, serve("text/plain", "the secret"))
	for i, a := range privates {
		if fetch.Closed(netip.MustParseAddr(a)) == "" {
			t.Errorf("%s passes for the internet", a)
		}
		w.names[fmt.Sprintf("h%d.example.com", i)] = []string{a}
	}
	f := fetch.New(w.config())
	for i, a := range privates {
		literal := a
		if strings.Contains(a, ":") {
			literal = "[" + a + "]"
		}
		for _, host := range []string{literal, fmt.Sprintf("h%d.example.com", i)} {
			text, res := call(t, f, in{"url": "http://" + host + "/"})
			if !res.IsError || res.Code != uzda.CodeDenied || strings.Contains(text, "the secret") {
				t.Errorf("%s: %s", host, text)
			}
		}
	}
	if len(w.dialed) > 0 {
		t.Errorf("connected to %v", w.dialed)
	}
	for _, a := range []string{"8.8.8.8", "93.184.215.14", "100.63.255.255", "100.128.0.0", "172.32.0.1", "2606:4700::1111", "64:ff9b::808:808", "2002:808:808::1", "::ffff:8.8.8.8"} {
		if what := fetch.Closed(netip.MustParseAddr(a)); what != "" {
			t.Errorf("%s is refused as %s", a, what)
		}
	}
}

// S3: other ways to name this machine, and what the refusal says.
func TestLocalNames(t *testing.T) {
	t.Parallel()
	w := newWeb(t, serve("text/plain", "the secret"))
	w.names["localhost"] = []string{"127.0.0.1", "::1"}
	w.names["app.localhost"] = []string{"127.0.0.1"}
	w.names["both.example.com"] = []string{"93.184.215.14", "10.0.0.7"} // one of two is enough
	f := fetch.New(w.config())
	for in1, want := range map[string]string{
		"http://localhost:8080/":   "localhost leads to 127.0.0.1, which is this machine",
		"http://LOCALHOST./":       "this machine",
		"https://app.localhost/":   "this machine",
		"http://127。0。0。1/":        "127.0.0.1 is this machine",
		"http://１２７.0.0.1/":        "127.0.0.1 is this machine",
		"http://[::ffff:7f00:1]/":  "this machine",
		"http://both.example.com/": "10.0.0.7, which is a private network",
		"http://169.254.169.254/x": "clouds keep credentials",
	} {
		text, res := call(t, f, in{"url": in1})
		if res.Code != uzda.CodeDenied {
			t.Errorf("%s: %v", in1, res.Code)
		}
		contains(t, text, want, "unless the user allows them", "Nothing was fetched")
	}
	if len(w.dialed) > 0 {
		t.Errorf("connected to %v", w.dialed)
	}
}

// S3: what the user allows is fetched, and nothing beside it.
func TestAllowed(t *testing.T) {
	t.Parallel()
	w := newWeb(t, serve("text/plain", "hello"))
	w.names["intern.example.com"] = []string{"10.1.2.3"}
	w.names["other.example.com"] = []string{"10.1.2.3"}
	c := w.config()
	c.Allow = func(host string, a netip.Addr) bool {
		return host == "intern.example.com" && a == netip.MustParseAddr("10.1.2.3")
	}
	f := fetch.New(c)
	if text, res := call(t, f, in{"url": "http://intern.example.com:3000/"}); res.IsError {
		t.Error(text)
	}
	if text, res := call(t, f, in{"url": "http://other.example.com:3000/"}); !res.IsError {
		t.Error(text)
	}
	if want := []string{"10.1.2.3:3000"}; !slices.Equal(w.dialed, want) {
		t.Errorf("connected to %v, want %v", w.dialed, want)
	}
}

// S3: a name that leads elsewhere at each look-up (DNS rebinding) is connected to at
// the address that was checked, or not at all.
func TestRebinding(t *testing.T) {
	t.Parallel()
	w := newWeb(t, serve("text/plain", "hello"))
	c := w.config()
	var n atomic.Int32
	c.Resolve = func(context.Context, string) ([]netip.Addr, error) {
		if n.Add(1)%2 == 1 {
			return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	f := fetch.New(c)
	for range 4 {
		text, res := call(t, f, in{"url": "http://rebind.example.com/"})
		if res.IsError && res.Code != uzda.CodeDenied {
			t.Error(text)
		}
	}
	if want := []string{"93.184.215.14:80", "93.184.215.14:80"}; !slices.Equal(w.dialed, want) {
		t.Errorf("connected to %v, want %v", w.dialed, want)
	}
}

// Each address of a name is tried, those of IPv4 first.
func TestAddresses(t *testing.T) {
	t.Parallel()
	w := newWeb(t, serve("text/plain", "hello"))
	w.names["six.example.com"] = []string{"2606:4700::1", "93.184.215.14"}
	if text, res := call(t, fetch.New(w.config()), in{"url": "http://six.example.com:9/"}); !res.IsError {
		t.Error(text)
	}
	if want := []string{"93.184.215.14:9", "[2606:4700::1]:9"}; len(w.dialed) < 2 || !slices.Equal(w.dialed[:2], want) {
		t.Errorf("connected to %v, want %v", w.dialed, want)
	}
}

// P06 S3: each redirect is judged like a first URL: address, form, rule, encryption.
func TestRedirects(t *testing.T) {
	t.Parallel()
	hops := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			http.SetCookie(w, &http.Cookie{Name: "track", Value: "1", Path: "/"})
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
			return
		}
		if r.URL.Path == "/loop" {
			http.Redirect(w, r, "/loop", http.StatusTemporaryRedirect)
			return
		}
		_, _ = fmt.Fprintf(w, "at %s%s", r.Host, r.URL.Path)
	})
	w := newWeb(t, hops)
	w.names["localhost"] = []string{"127.0.0.1"}
	w.names["sly.example.com"] = []string{"10.0.0.1"}
	c := w.config()
	var checked []string
	c.Recheck = func(_ context.Context, u *url.URL) error {
		checked = append(checked, u.String())
		if strings.HasSuffix(u.Hostname(), "evil.example") {
			return fmt.Errorf("the rule WebFetch(domain:%s) denies it", u.Hostname())
		}
		return nil
	}
	f := fetch.New(c)
	for to, want := range map[string]struct {
		code uzda.Code
		text string
	}{
		"/rel":                           {"", "at a.example.com/rel"},
		"//b.example.com/x":              {"", "at b.example.com/x"},
		"https://b.example.com/up":       {"", "at b.example.com/up"},
		"http://c.example.com/?to=/far":  {"", "at c.example.com/far"},
		"https://evil.example/x":         {uzda.CodeDenied, "a rule forbids it: the rule WebFetch(domain:evil.example) denies it"},
		"https://EVIL.example./x":        {uzda.CodeDenied, "a rule forbids it"},
		"http://169.254.169.254/latest":  {uzda.CodeDenied, "clouds keep credentials"},
		"http://localhost:22/":           {uzda.CodeDenied, "this machine"},
		"http://sly.example.com/":        {uzda.CodeDenied, "a private network"},
		"http://[::ffff:10.0.0.1]/":      {uzda.CodeDenied, "a private network"},
		"http://2130706433/":             {uzda.CodeFailed, "unusual spelling"},
		"file:///etc/passwd":             {uzda.CodeFailed, "only http and https"},
		"https://user:pw@b.example.com/": {uzda.CodeFailed, "user name or password"},
		"http://%zz/":                    {uzda.CodeFailed, "cannot be read"},
		"/loop":                          {uzda.CodeFailed, "after 10 redirects"},
		"https://b.example.com/?to=http://c.example.com/down": {uzda.CodeFailed, "anyone on the way could read"},
	} {
		text, res := call(t, f, in{"url": "http://a.example.com/?to=" + url.QueryEscape(to)})
		if res.Code != want.code || res.IsError != (want.code != "") {
			t.Errorf("%s: code %q, want %q: %s", to, res.Code, want.code, text)
		}
		contains(t, text, want.text)
		if !res.IsError {
			contains(t, text, "Redirected from: http://a.example.com/?to=")
		}
	}
	for _, r := range w.requests() {
		if r.Header.Get("Cookie") != "" || r.Header.Get("Referer") != "" || r.Header.Get("Authorization") != "" || r.Method != http.MethodGet {
			t.Errorf("%s %s carries %v", r.Method, r.URL, r.Header)
		}
		if strings.Contains(r.Host, "evil") {
			t.Errorf("%s was asked", r.Host)
		}
	}
	if !slices.Contains(checked, "https://evil.example/x") || slices.ContainsFunc(checked, func(s string) bool { return strings.Contains(s, "EVIL") }) {
		t.Errorf("the rule saw %q", checked)
	}
	c.Redirects = -1
	if text, res := call(t, fetch.New(c), in{"url": "http://a.example.com/?to=/rel"}); !res.IsError {
		t.Errorf("followed although none is: %s", text)
	}
}

// The proxy of the environment is used; its own address may be private, that of a
// target may not, as far as this machine knows it. S3
func TestProxy(t *testing.T) {
	t.Parallel()
	w := newWeb(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "for %s", r.URL)
	}))
	w.names["sly.example.com"] = []string{"10.0.0.1"}
	for _, gone := range []string{"outside.example.com", "intranet", "git.corp", "metadata.google.internal", "box.local"} {
		w.names[gone] = []string{} // only the proxy can look it up
	}
	c := w.config()
	c.Proxy = func(r *http.Request) (*url.URL, error) {
		if r.URL.Hostname() == "direct.example.com" {
			return nil, nil
		}
		return url.Parse("http://10.9.9.9:3128")
	}
	f := fetch.New(c)
	for in1, want := range map[string]string{
		"http://a.example.com/x":            "for http://a.example.com/x",
		"http://outside.example.com/x":      "for http://outside.example.com/x",
		"http://direct.example.com/x":       "for /x",
		"http://sly.example.com/":           "a private network",
		"http://10.9.9.9:3128/":             "a private network",
		"http://127.0.0.1/":                 "this machine",
		"http://[64:ff9b::a9fe:a9fe]/":      "the local link",
		"http://intranet/":                  "a name of the local network",
		"http://git.corp/":                  "a name of the local network",
		"http://box.local/":                 "a name of the local network",
		"http://metadata.google.internal/x": "a name of the local network",
	} {
		text, res := call(t, f, in{"url": in1})
		if res.IsError == strings.HasPrefix(want, "for ") {
			t.Errorf("%s: %s", in1, text)
		}
		contains(t, text, want)
	}
	for _, a := range w.dialed {
		if a != "10.9.9.9:3128" && a != "93.184.215.14:80" {
			t.Errorf("connected to %s", a)
		}
	}
}

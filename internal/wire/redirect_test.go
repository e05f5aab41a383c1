package wire_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/internal/wire"
)

// trip is a transport that is a function.
type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
	return f(r)
}

// Keys go to the encrypted side of their host, and to no other port, name or
// unencrypted side of it; nothing goes from https to http at all.
func TestRedirectPlaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ from, to, want string }{
		{"http://api.test/v1", "https://api.test/v1", "key"},
		{"http://api.test/v1", "https://API.test:443/v1", "key"},
		{"https://api.test/v1", "https://api.test/v2", "key"},
		{"https://api.test/v1", "https://api.test:8443/v1", "no key"},
		{"http://api.test/v1", "http://api.test:8080/v1", "no key"},
		{"http://api.test:8080/v1", "https://api.test/v1", "no key"},
		{"https://api.test/v1", "https://sub.api.test/v1", "no key"},
		{"https://api.test/v1", "https://api.test.evil.test/v1", "no key"},
		{"https://api.test/v1", "http://api.test/v1", "http://api.test/v1, where everybody could read it"},
	} {
		hc := &http.Client{Transport: trip(func(r *http.Request) (*http.Response, error) {
			resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r, Body: io.NopCloser(strings.NewReader("no key"))}
			if r.URL.String() == c.from {
				resp.StatusCode = http.StatusPermanentRedirect
				resp.Header.Set("Location", c.to)
			} else if r.Header.Get("X-Api-Key") != "" {
				resp.Body = io.NopCloser(strings.NewReader("key"))
			}
			return resp, nil
		})}
		got := outcome(t, &wire.Client{HTTP: hc}, c.from)
		if got != c.want && !strings.Contains(got, "redirect to "+c.want) {
			t.Errorf("%s to %s: %s, want %s", c.from, c.to, got, c.want)
		}
	}
}

// An error of a transport that shows a password is shown without it, and is still
// found by errors.Is.
func TestMasked(t *testing.T) {
	t.Parallel()
	mine := errors.New("mine")
	hc := &http.Client{Transport: &http.Transport{Proxy: func(*http.Request) (*url.URL, error) {
		return &url.URL{Scheme: "http", Host: "127.0.0.1:1", User: url.UserPassword("jane", "pass-word")}, nil
	}}}
	hc.Transport.(*http.Transport).RegisterProtocol("http", trip(func(*http.Request) (*http.Response, error) {
		return nil, fmt.Errorf("dial http://jane:pass-word@proxy with sk-0123456789: %w", mine)
	}))
	_, err := (&wire.Client{HTTP: hc, Secrets: []string{"sk-0123456789"}}).Do(t.Context(), wire.Call{URL: "http://api.test"})
	p := provider(t, err)
	if all := fmt.Sprintf("%v %v %+v", p, p.Err, *p); strings.Contains(all, "pass-word") || strings.Contains(all, "sk-0123456789") || !strings.Contains(p.Message, "dial http://***@proxy with ***") {
		t.Errorf("the error is %s", all)
	}
	if !errors.Is(err, mine) {
		t.Error("the cause is lost")
	}
}

// case:U06: settings that can't be used are named by every request, not ignored.
func TestBadEnvironment(t *testing.T) {
	t.Parallel()
	if os.Getenv("UZDA_TEST_CHILD") == "1" {
		fmt.Println(outcome(t, &wire.Client{}, "http://127.0.0.1:1/"))
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestBadEnvironment$", "-test.v")
	cmd.Env = append(os.Environ(), "UZDA_TEST_CHILD=1", "HTTPS_PROXY=gopher://jane:pass-word@proxy")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "the proxy in HTTPS_PROXY can't be used") || strings.Contains(string(out), "pass-word") {
		t.Errorf("%v: %s", err, out)
	}
}

// A call over a connection that is open already takes little memory, however large
// its body is.
func BenchmarkDo(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			base, hc := serve(b, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprint(w, goodStream)
			})
			c := wire.Client{HTTP: hc}
			call := wire.Call{URL: base, Body: [][]byte{make([]byte, size)}}
			b.ReportAllocs()
			for b.Loop() {
				r, err := c.Do(b.Context(), call)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, r.Body); err != nil {
					b.Fatal(err)
				}
				r.Body.Close()
			}
		})
	}
}

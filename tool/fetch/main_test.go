package fetch_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/tool/fetch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A web is an internet of two servers: all names lead to public addresses, and all
// addresses lead to them, by the port.
type web struct {
	open, secret *httptest.Server // port 80 and 443
	mu           sync.Mutex
	names        map[string][]string // other addresses of a name
	dialed       []string
	asked        []*http.Request
}

func newWeb(t testing.TB, h http.Handler) *web {
	t.Helper()
	w := &web{names: map[string][]string{}}
	all := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.asked = append(w.asked, r)
		w.mu.Unlock()
		h.ServeHTTP(rw, r)
	})
	quiet := log.New(io.Discard, "", 0)
	w.open, w.secret = httptest.NewUnstartedServer(all), httptest.NewUnstartedServer(all)
	w.open.Config.ErrorLog, w.secret.Config.ErrorLog = quiet, quiet
	w.open.Start()
	w.secret.EnableHTTP2 = true
	w.secret.StartTLS()
	t.Cleanup(w.open.Close)
	t.Cleanup(w.secret.Close)
	return w
}

// resolve leads to 93.184.215.14 unless names says otherwise.
func (w *web) resolve(_ context.Context, host string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list, ok := w.names[host]
	if !ok {
		list = []string{"93.184.215.14"}
	}
	var out []netip.Addr
	for _, a := range list {
		out = append(out, netip.MustParseAddr(a))
	}
	if len(out) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return out, nil
}

func (w *web) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	w.mu.Lock()
	w.dialed = append(w.dialed, addr)
	w.mu.Unlock()
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	to := w.open
	switch port {
	case "443":
		to = w.secret
	case "9": // where nobody listens
		return nil, errors.New("this port has no server")
	}
	return (&net.Dialer{}).DialContext(ctx, network, to.Listener.Addr().String())
}

// config is a Config for this web. The environment of the tests may have a proxy.
func (w *web) config() fetch.Config {
	return fetch.Config{
		Proxy:   func(*http.Request) (*url.URL, error) { return nil, nil },
		TLS:     w.secret.Client().Transport.(*http.Transport).TLSClientConfig,
		Resolve: w.resolve, Dial: w.dial,
		Wait: time.Millisecond,
	}
}

func (w *web) requests() []*http.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked
}

type in = map[string]any

// call runs the tool as the loop does: Check, then Call.
func call(t testing.TB, f *fetch.Fetch, i in) (string, uzda.Result) {
	t.Helper()
	return callWith(t.Context(), t, f, i)
}

func callWith(ctx context.Context, t testing.TB, f *fetch.Fetch, i in) (string, uzda.Result) {
	t.Helper()
	raw, err := json.Marshal(i)
	if err != nil {
		t.Fatal(err)
	}
	if raw, err = f.Check(raw); err != nil {
		t.Fatalf("%v: %v", i, err)
	}
	res, err := f.Call(ctx, uzda.Use{Name: "fetch", Input: raw})
	if err != nil {
		t.Fatalf("%v stopped the turn: %v", i, err)
	}
	text := res.Blocks.String()
	if !utf8.ValidString(text) {
		t.Errorf("%v: the result is not UTF-8", i)
	}
	if res.Effect != uzda.EffectNone {
		t.Errorf("%v: effect %q", i, res.Effect)
	}
	return text, res
}

// serve is one page for all URLs.
func serve(contentType, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
	})
}

// page returns the header and the rest of a result.
func page(text string) (header, body string) {
	header, body, _ = strings.Cut(text, "\n\n")
	return header, body
}

func contains(t testing.TB, got string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("%q is not in: %.1500s", w, got)
		}
	}
}

func lacks(t testing.TB, got string, unwanted ...string) {
	t.Helper()
	for _, w := range unwanted {
		if strings.Contains(got, w) {
			t.Errorf("%q is in: %.1500s", w, got)
		}
	}
}

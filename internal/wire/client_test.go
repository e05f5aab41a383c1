package wire_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/wire"
)

// A call goes out with its length and its headers, and its reply comes back.
func TestDo(t *testing.T) {
	t.Parallel()
	base, hc := serve(t, func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		w.Header().Set("Request-Id", "req_1")
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"method":%q,"length":%d,"chunked":%d,"body":%q,"key":%q,"agent":%q}`,
			r.Method, r.ContentLength, len(r.TransferEncoding), raw, r.Header.Get("X-Api-Key"), r.UserAgent())
	})
	c := wire.Client{HTTP: hc}
	h := http.Header{"X-Api-Key": {"k"}}
	r, err := c.Do(t.Context(), wire.Call{URL: base, Header: h, Body: parts("abc", "defg")})
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != 200 || r.Request != "req_1" || r.Kind() != "json" {
		t.Errorf("status %d, request %q, kind %q", r.Status, r.Request, r.Kind())
	}
	want := `{"method":"POST","length":7,"chunked":0,"body":"abcdefg","key":"k","agent":"uzda"}`
	if got, err := r.Bytes(0); err != nil || string(got) != want {
		t.Errorf("the reply is %s, %v", got, err)
	}
	r.Body.Close()
	if len(h) != 1 {
		t.Errorf("the caller's headers were changed: %v", h)
	}
	got := whole2(t, &c, wire.Call{Method: "GET", URL: base})
	if want := `{"method":"GET","length":0,"chunked":0,"body":"","key":"","agent":"uzda"}`; got != want {
		t.Errorf("a GET gives %s", got)
	}
}

func whole2(t *testing.T, c *wire.Client, call wire.Call) string {
	t.Helper()
	r, err := c.Do(t.Context(), call)
	return whole(t, r, err)
}

// A large body in many parts comes whole, also when it is compressed on its way
// back.
func TestLarge(t *testing.T) {
	t.Parallel()
	base, hc := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			t.Error("gzip is not asked for")
		}
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "application/json")
		z := gzip.NewWriter(w)
		defer z.Close()
		_, _ = io.Copy(z, r.Body)
	})
	var body [][]byte
	for i := range 5000 {
		body = append(body, bytes.Repeat([]byte{byte('a' + i%26)}, i%1500))
	}
	if got := whole2(t, &wire.Client{HTTP: hc}, wire.Call{URL: base, Body: body}); got != string(bytes.Join(body, nil)) {
		t.Errorf("%d bytes came back of %d", len(got), len(bytes.Join(body, nil)))
	}
}

// A redirect that keeps the method sends the body again; keys stay with their
// host, and no POST becomes a GET.
func TestRedirect(t *testing.T) {
	t.Parallel()
	seen := func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s key=%q auth=%q goog=%q own=%q version=%q referer=%q", r.Method, raw, r.Header.Get("X-Api-Key"),
			r.Header.Get("Authorization"), r.Header.Get("X-Goog-Api-Key"), r.Header.Get("X-Company"), r.Header.Get("Anthropic-Version"), r.Referer())
	}
	other, _ := serve(t, seen)
	var mux http.ServeMux
	mux.HandleFunc("/end", seen)
	var base string
	for path, to := range map[string]func() string{
		"/same":  func() string { return base + "/end" },
		"/other": func() string { return other + "/end" },
		"/chain": func() string { return base + "/other" },
		"/loop":  func() string { return base + "/loop" },
	} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			mux.HandleFunc(fmt.Sprintf("%s/%d", path, status), func(w http.ResponseWriter, r *http.Request) {
				u := to()
				if path == "/chain" || path == "/loop" {
					u += fmt.Sprintf("/%d", status)
				}
				w.Header().Set("Location", u)
				w.WriteHeader(status)
			})
		}
	}
	base, hc := serve(t, mux.ServeHTTP)
	c := wire.Client{HTTP: hc}
	for _, s := range []struct{ path, want string }{
		{"/same/307", `POST ab key="secret-key" auth="Bearer secret-key" goog="secret-key" own="x" version="v" referer=""`},
		{"/same/308", `POST ab key="secret-key" auth="Bearer secret-key" goog="secret-key" own="x" version="v" referer=""`},
		{"/other/307", `POST ab key="" auth="" goog="" own="" version="v" referer=""`},
		{"/chain/308", `POST ab key="" auth="" goog="" own="" version="v" referer=""`},
		{"/same/301", "error invalid_request would turn POST into GET"},
		{"/same/302", "error invalid_request would turn POST into GET"},
		{"/other/303", "error invalid_request would turn POST into GET"},
		{"/loop/307", "error invalid_request after many others"},
	} {
		r, err := c.Do(t.Context(), wire.Call{URL: base + s.path + "?key=secret-key", Body: parts("a", "b"), Header: http.Header{
			"X-Api-Key": {"secret-key"}, "Authorization": {"Bearer secret-key"}, "X-Goog-Api-Key": {"secret-key"}, "X-Company": {"x"}, "Anthropic-Version": {"v"},
		}})
		if rest, ok := strings.CutPrefix(s.want, "error "); ok {
			code, says, _ := strings.Cut(rest, " ")
			p := provider(t, err)
			if p.Code != code || !strings.Contains(p.Message, says) || !strings.Contains(p.Hint, "base URL") || p.Retryable() {
				t.Errorf("%s: the error is %v, hint %q", s.path, p, p.Hint)
			}
			if strings.Contains(fmt.Sprint(p, p.Hint, p.Err), "secret-key") {
				t.Errorf("%s: the error shows the key: %v %v", s.path, p, p.Err)
			}
			continue
		}
		if got := whole(t, r, err); got != s.want {
			t.Errorf("%s:\n got %s\nwant %s", s.path, got, s.want)
		}
	}
}

// The rules of the caller's own client for redirects still hold.
func TestOwnRedirectRule(t *testing.T) {
	t.Parallel()
	base, hc := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/x", http.StatusPermanentRedirect) })
	hc.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	p := provider(t, second((&wire.Client{HTTP: hc}).Do(t.Context(), wire.Call{URL: base})))
	if p.Status != 308 || !strings.Contains(p.Hint, "base URL") {
		t.Errorf("the error is %v, hint %q", p, p.Hint)
	}
}

func second[A any](_ A, err error) error { return err }

// What is no answer of a model is a clear, short error. quirk:30 quirk:31
func TestNoModel(t *testing.T) {
	t.Parallel()
	page := "<!doctype html>\n<html><head><title>Sign in to Contoso</title></head>" + strings.Repeat("<p>text</p>", 20000) + "</html>"
	for _, c := range []struct {
		name, kind, body string
		status           int
		code             string
		says             string
	}{
		{"login page", "text/html; charset=utf-8", page, 200, "invalid_request", `no model endpoint: it answers with an HTML page ("Sign in to Contoso")`},
		{"login page as JSON", "application/json", "\n  " + page, 200, "invalid_request", `("Sign in to Contoso")`},
		{"login page as a stream", "text/event-stream", page, 200, "invalid_request", `("Sign in to Contoso")`},
		{"login page as 403", "text/html", page, 403, "auth", `the answer is an HTML page ("Sign in to Contoso")`},
		{"bad gateway", "text/html", "<html><body><h1>502 Bad Gateway</h1>", 502, "unknown", `("502 Bad Gateway")`},
		{"XML", "application/xml", "<Error><Code>AccessDenied</Code></Error>", 200, "invalid_request", "no model endpoint"},
		{"nothing", "application/json", "", 200, "network", "the reply has no body"},
		{"nothing in a stream", "text/event-stream", "", 200, "network", "the reply has no body"},
		{"error as a stream", "text/event-stream", `{"error":{"code":404,"message":"models/x","status":"NOT_FOUND"}}`, 404, "not_found", "models/x"},
		{"error as octets", "application/octet-stream", `{"error":{"message":"Insufficient Balance"}}`, 402, "quota", "Insufficient Balance"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			base, hc := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.kind)
				w.WriteHeader(c.status)
				fmt.Fprint(w, c.body)
			})
			r, err := (&wire.Client{HTTP: hc, Name: "Shop"}).Do(t.Context(), wire.Call{URL: base})
			if err == nil {
				r.Kind()
				_, err = r.Bytes(0)
				r.Body.Close()
			}
			p := provider(t, err)
			if p.Code != c.code || !strings.Contains(p.Message, c.says) || !strings.HasSuffix(p.Message, " (Shop)") || len(p.Message) > 200 {
				t.Errorf("the error is %v", p)
			}
		})
	}
}

// Some calls have no body to answer with.
func TestNoContent(t *testing.T) {
	t.Parallel()
	base, hc := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	if got := whole2(t, &wire.Client{HTTP: hc}, wire.Call{URL: base}); got != "" {
		t.Errorf("got %q", got)
	}
	if got := whole2(t, &wire.Client{HTTP: hc}, wire.Call{Method: "HEAD", URL: base}); got != "" {
		t.Errorf("got %q", got)
	}
}

// The kind comes from the first bytes where the content type is wrong, whatever
// pieces they come in. quirk:19 quirk:30 quirk:31
func TestKind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, body, want string }{
		{"application/json", `{"a":1}`, "json"},
		{"application/json; charset=utf-8", "\n\n   \n{\n\"a\":1}", "json"},
		{"application/octet-stream", `{"error":{}}`, "json"},
		{"text/event-stream", `{"error":{}}`, "json"},
		{"text/event-stream", "[{\"error\":{}}]", "json"},
		{"", "data: {}\n\n", "sse"},
		{"application/json", "event: ping\ndata: {}\n\n", "sse"},
		{"text/plain", ": hello\n\n", "sse"},
		{"text/plain", "\ufeffid: 1\n\n", "sse"},
		{"text/event-stream", "\n\n\ndata: {}\n\n", "sse"},
		{"text/event-stream", "other: field\n\n", "sse"},
		{"application/x-ndjson", "{\"a\":1}\n{\"a\":2}\n", "ndjson"},
		{"application/x-ndjson", `{"a":1}`, "ndjson"},
		{"application/json", "{\"a\":1}\n{\"a\":2}\n", "ndjson"},
		{"text/plain", "Ollama is running", "other"},
		{"text/plain", "dat", "other"},
		{"application/problem+json", `"odd"`, "json"},
		{"x/;;;", `odd`, "other"},
		{"text/event-stream;;", `odd`, "sse"},
	} {
		for _, bytewise := range []bool{false, true} {
			if bytewise && c.want == "ndjson" && c.kind == "application/json" {
				continue // the second line is not waited for
			}
			base, hc := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = []string{c.kind}
				if !bytewise {
					fmt.Fprint(w, c.body)
					return
				}
				for i := range len(c.body) {
					fmt.Fprint(w, c.body[i:i+1])
					w.(http.Flusher).Flush()
				}
			})
			r, err := (&wire.Client{HTTP: hc}).Do(t.Context(), wire.Call{URL: base})
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Kind(); got != c.want {
				t.Errorf("%q %q is %q, want %q", c.kind, c.body, got, c.want)
			}
			if got := whole(t, r, nil); got != c.body {
				t.Errorf("%q was read as %q", c.body, got)
			}
		}
	}
}

// Bodies are read with a bound, and a refused one with a small one.
func TestBounds(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	base, hc := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/refused" {
			w.WriteHeader(http.StatusBadRequest)
		}
		line := bytes.Repeat([]byte("x"), 64<<10)
		for range 4096 { // 256 MiB
			n, err := w.Write(line)
			if sent.Add(int64(n)); err != nil {
				return
			}
		}
	})
	c := wire.Client{HTTP: hc}
	p := provider(t, second(c.Do(t.Context(), wire.Call{URL: base + "/refused"})))
	if p.Code != "invalid_request" || len(p.Message) > 2100 {
		t.Errorf("the error is %.100v with %d bytes", p, len(p.Message))
	}
	r, err := c.Do(t.Context(), wire.Call{URL: base})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := r.Bytes(100_000)
	if p := provider(t, err); len(raw) != 100_000 || !strings.Contains(p.Message, "over 100000 bytes") {
		t.Errorf("%d bytes, %v", len(raw), err)
	}
	r.Body.Close()
	if n := sent.Load(); n > 64<<20 {
		t.Errorf("%d bytes were sent for two replies that nobody wants", n)
	}
}

// Keys and passwords show in no error, also where a service repeats them or a URL
// holds them. case:U06
func TestSecrets(t *testing.T) {
	t.Parallel()
	const key, pass = "sk-ant-0123456789abcdef", "p4ss/wörd"
	base, hc := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Request-Id", r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":{"message":%q}}`, strings.Repeat("x", 1990)+r.Header.Get("Authorization")+" "+r.URL.String()+" "+r.Header.Get("X-Extra"))
	})
	u, _ := url.Parse(base)
	u.User = url.UserPassword("me", pass)
	u.RawQuery = "key=" + key + "query"
	gone := *u
	gone.Host = "127.0.0.1:1"
	for _, target := range []*url.URL{u, &gone, {Scheme: "ftp", Host: "x", User: u.User, RawQuery: u.RawQuery}, {Scheme: "http", Host: "a b", User: u.User, RawQuery: u.RawQuery}} {
		c := wire.Client{HTTP: hc, Name: "Shop with " + key, Secrets: []string{"another-secret"}}
		_, err := c.Do(t.Context(), wire.Call{URL: target.String(), Header: http.Header{"Authorization": {"Bearer " + key}, "X-Extra": {"another-secret"}}})
		p := provider(t, err)
		for e := error(p); e != nil; e = errors.Unwrap(e) {
			all := fmt.Sprintf("%v %+v", e, *p)
			for _, s := range []string{key, key[:12], pass, url.QueryEscape(pass), "another-secret"} {
				if strings.Contains(all, s) {
					t.Errorf("%s shows in %s", s, all)
				}
			}
		}
	}
}

// A short key that is a word does not blank out words.
func TestWordAsKey(t *testing.T) {
	t.Parallel()
	base, hc := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"error":"model 'x' not found"}`)
	})
	p := provider(t, second((&wire.Client{HTTP: hc, Secrets: []string{"ollama"}}).Do(t.Context(), wire.Call{URL: base})))
	if !strings.Contains(p.Hint, "`ollama pull x`") {
		t.Errorf("the hint is %q", p.Hint)
	}
}

// Connections are used again after every way in which a reply can end, and none
// is left open that can't be.
func TestReuse(t *testing.T) {
	t.Parallel()
	var conns atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch r.URL.Path {
		case "/stream":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {}\n\ndata: [DONE]\n\n")
			w.(http.Flusher).Flush()
			time.Sleep(5 * time.Millisecond)
		case "/fails":
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(w, strings.Repeat("x", 4096))
		default:
			fmt.Fprint(w, `{"a":1}`)
		}
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	tr, err := wire.Transport(func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	defer tr.CloseIdleConnections()
	c := wire.Client{HTTP: &http.Client{Transport: tr}}
	for range 20 {
		r, err := c.Do(t.Context(), wire.Call{URL: s.URL + "/stream", Body: parts("a", "b")})
		if err != nil {
			t.Fatal(err)
		}
		// The adapter stops at [DONE], before the end of the body.
		if _, err := io.ReadFull(r.Body, make([]byte, len("data: {}\n\ndata: [DONE]\n"))); err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if _, err := c.Do(t.Context(), wire.Call{URL: s.URL + "/fails"}); err == nil {
			t.Fatal("a 500 is no error")
		}
		whole2(t, &c, wire.Call{URL: s.URL, Body: parts("a", "b")})
	}
	if n := conns.Load(); n > 10 { // on a busy machine an end may be given up
		t.Errorf("60 calls one after the other took %d connections", n)
	}
}

// case:L10: a cancel reaches a read, and a wait for headers, within 100 ms, and the
// error is the cause: by a simulated clock, and on a real socket.
func TestCancel(t *testing.T) {
	t.Parallel()
	handler := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then the server sees that the client has gone
		if r.URL.Path == "/body" {
			fmt.Fprint(w, "data: 1\n\n")
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
	}
	for _, path := range []string{"/headers", "/body"} {
		synctest.Test(t, func(t *testing.T) {
			if took := cancelled(t, inMemory(t, handler), "http://model.test"+path); took > 100*time.Millisecond {
				t.Errorf("%s: the cancel took %v", path, took)
			}
		})
		base, hc := serve(t, handler)
		cancelled(t, hc, base+path)
	}
	mine := errors.New("mine")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(mine)
	if _, err := (&wire.Client{}).Do(ctx, wire.Call{URL: "http://model.test"}); err != mine { //nolint:errorlint // the cause itself
		t.Errorf("a cancelled context gave %v", err)
	}
}

// cancelled cancels a call after 50 ms, and says how long that took.
func cancelled(t *testing.T, hc *http.Client, target string) time.Duration {
	t.Helper()
	mine := errors.New("mine")
	ctx, cancel := context.WithCancelCause(t.Context())
	var at time.Time
	time.AfterFunc(50*time.Millisecond, func() { at = time.Now(); cancel(mine) })
	r, err := (&wire.Client{HTTP: hc}).Do(ctx, wire.Call{URL: target, Body: parts("a", "b")})
	if err == nil {
		_, err = io.ReadAll(r.Body)
		if broken := wire.Broken(err, true); broken != mine { //nolint:errorlint // the cause itself
			t.Errorf("%s: a broken read is %v, not the cause", target, broken)
		}
		r.Body.Close()
	}
	if !errors.Is(err, mine) {
		t.Errorf("%s: the error is %v, not the cause", target, err)
	}
	return time.Since(at)
}

// After a reply is closed its caller may change the parts, also while the rest of
// them is still being sent. (The race detector sees it.)
func TestPartsAreTheCallers(t *testing.T) {
	t.Parallel()
	base, hc := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusRequestEntityTooLarge) // before the body is read
		fmt.Fprint(w, `{"error":{"type":"request_too_large"}}`)
	})
	body := make([]byte, 8<<20)
	for range 5 {
		if _, err := (&wire.Client{HTTP: hc}).Do(t.Context(), wire.Call{URL: base, Body: [][]byte{body}}); err == nil {
			t.Fatal("a 413 is no error")
		}
		for i := range body {
			body[i]++
		}
	}
}

// B03: what a broken or cancelled stream has used is part of its error. case:B03
func TestUsed(t *testing.T) {
	t.Parallel()
	u := uzda.Usage{Input: 7, Output: 3}
	for _, err := range []error{context.Canceled, &uzda.ProviderError{Code: "cut", Message: "m"}, io.ErrUnexpectedEOF} {
		got := wire.Used(err, u)
		p := provider(t, got)
		if want := (uzda.Usage{Input: 7, Output: 3, AtLeast: true}); p.Usage != want || p.Retryable() {
			t.Errorf("%v: the usage is %+v, again %v", err, p.Usage, p.Retryable())
		}
		if !errors.Is(got, err) && p.Code != "cut" {
			t.Errorf("%v is lost in %v", err, got)
		}
	}
	if err := wire.Used(context.Canceled, uzda.Usage{}); err != context.Canceled { //nolint:errorlint // unchanged
		t.Errorf("without usage the error is %v", err)
	}
	if wire.Used(nil, u) != nil || wire.Broken(nil, true) != nil {
		t.Error("no error became one")
	}
}

// A read that fails is network before content and cut after it; what the provider
// itself says stays.
func TestBroken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err         error
		fresh, late string
	}{
		{io.ErrUnexpectedEOF, "network", "cut"},
		{errors.New("odd"), "network", "cut"},
		{&uzda.ProviderError{Code: "network"}, "network", "cut"},
		{&uzda.ProviderError{Code: "overloaded"}, "overloaded", "overloaded"},
		{fmt.Errorf("read: %w", &uzda.ProviderError{Code: "network"}), "network", "cut"},
	} {
		if p := provider(t, wire.Broken(c.err, false)); p.Code != c.fresh {
			t.Errorf("%v before content is %s", c.err, p.Code)
		}
		if p := provider(t, wire.Broken(c.err, true)); p.Code != c.late || c.late == "cut" && p.Retryable() {
			t.Errorf("%v after content is %s", c.err, p.Code)
		}
	}
}

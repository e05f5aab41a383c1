package wire_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/uzda-dev/uzda/internal/wire"
)

// authority is a company's own.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{key: key}
	a.cert = a.sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: "Contoso Inspection CA"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, key)
	return a
}

func (a *authority) sign(t *testing.T, c *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	c.SerialNumber = big.NewInt(time.Now().UnixNano())
	if c.NotAfter.IsZero() {
		c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	}
	parent := a.cert
	if parent == nil {
		parent = c
	}
	raw, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// file writes the authority's certificate, and returns its name.
func (a *authority) file(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// serve serves TLS for a host with a certificate of the authority.
func (a *authority) serve(t *testing.T, c *x509.Certificate) (addr string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := a.sign(t, c, key)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"host":%q}`, r.Host)
	}))
	s.Config.ErrorLog = quiet()
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}}}
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// proxy is a company's: it wants a name and a password, and knows its own hosts.
type proxy struct {
	*httptest.Server
	mu    sync.Mutex
	hosts map[string]string // to addresses; "": forbidden
	seen  []string          // methods, hosts and whatever keys it saw
	conns sync.WaitGroup
	open  []io.Closer // the ends of the tunnels
}

const proxyPassword = "p@ss:word/1"

func newProxy(t *testing.T, hosts map[string]string) *proxy {
	t.Helper()
	p := &proxy{hosts: hosts}
	p.Server = httptest.NewServer(p)
	t.Cleanup(func() {
		p.Close()
		p.mu.Lock()
		for _, c := range p.open { // a connection that is idle a moment too late is kept for 90 s
			c.Close()
		}
		p.mu.Unlock()
		p.conns.Wait()
	})
	return p
}

func (p *proxy) setting(password string) string {
	u := url.URL{Scheme: "http", Host: p.Listener.Addr().String(), User: url.UserPassword("jane", password)}
	return u.String()
}

func (p *proxy) saw() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.seen, "; ")
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.seen = append(p.seen, r.Method+" "+r.Host+r.Header.Get("X-Api-Key"))
	p.mu.Unlock()
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte("jane:"+proxyPassword))
	if r.Header.Get("Proxy-Authorization") != want {
		w.Header().Set("Proxy-Authenticate", `Basic realm="corp"`)
		http.Error(w, "<html><title>Who are you, "+r.Header.Get("Proxy-Authorization")+"?</title></html>", http.StatusProxyAuthRequired)
		return
	}
	to := p.hosts[r.Host]
	if to == "" {
		http.Error(w, "blocked by policy", http.StatusForbidden)
		return
	}
	if r.Method != http.MethodConnect {
		fmt.Fprintf(w, `{"proxied":%q}`, r.URL)
		return
	}
	there, err := net.Dial("tcp", to)
	if err != nil {
		http.Error(w, "no", http.StatusBadGateway)
		return
	}
	here, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	p.mu.Lock()
	p.open = append(p.open, here, there)
	p.mu.Unlock()
	fmt.Fprint(here, "HTTP/1.1 200 OK\r\n\r\n")
	p.conns.Go(func() { _, _ = io.Copy(there, here); there.Close() })
	p.conns.Go(func() { _, _ = io.Copy(here, there); here.Close() })
}

// case:U06: behind a company's proxy with its own certificate everything works,
// and what does not says which setting mends it. No password and no key shows.
func TestProxyAndAuthority(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	hosts := map[string]string{}
	for host, c := range map[string]*x509.Certificate{
		"api.model.test": {DNSNames: []string{"api.model.test"}},
		"old.model.test": {DNSNames: []string{"old.model.test"}, NotBefore: time.Unix(0, 0), NotAfter: time.Unix(86400, 0)},
		"odd.model.test": {DNSNames: []string{"login.contoso.test"}},
	} {
		hosts[host+":443"] = ca.serve(t, c)
	}
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(plain.Close)
	hosts["plain.model.test:443"] = plain.Listener.Addr().String()
	hosts["http.model.test"] = "x"
	p := newProxy(t, hosts)
	file := ca.file(t)
	for _, c := range []struct {
		name, url string
		env       map[string]string
		says      string // an error has "code: "
		hint      string
	}{
		{"UZDA_CA_FILE", "https://api.model.test/v1", map[string]string{"HTTPS_PROXY": p.setting(proxyPassword), "UZDA_CA_FILE": file}, `{"host":"api.model.test"}`, ""},
		{"SSL_CERT_FILE", "https://api.model.test/v1", map[string]string{"https_proxy": p.setting(proxyPassword), "SSL_CERT_FILE": file}, `{"host":"api.model.test"}`, ""},
		{"SSL_CERT_DIR", "https://api.model.test/v1", map[string]string{"ALL_PROXY": p.setting(proxyPassword), "SSL_CERT_DIR": "/nowhere" + string(filepath.ListSeparator) + filepath.Dir(file)}, `{"host":"api.model.test"}`, ""},
		{"all three", "https://api.model.test/v1", map[string]string{"all_proxy": p.setting(proxyPassword), "SSL_CERT_DIR": "/nowhere", "SSL_CERT_FILE": "/nowhere", "UZDA_CA_FILE": file}, `{"host":"api.model.test"}`, ""},
		{"no authority", "https://api.model.test/v1", map[string]string{"HTTPS_PROXY": p.setting(proxyPassword)},
			`network: the certificate of api.model.test is issued by "CN=Contoso Inspection CA", which this machine does not trust`, "set UZDA_CA_FILE (or SSL_CERT_FILE)"},
		{"expired", "https://old.model.test/v1", map[string]string{"HTTPS_PROXY": p.setting(proxyPassword), "UZDA_CA_FILE": file},
			"network: the certificate of old.model.test is not valid now: it is valid from 1970-01-01 to 1970-01-02", "clock"},
		{"wrong host", "https://odd.model.test/v1", map[string]string{"HTTPS_PROXY": p.setting(proxyPassword), "UZDA_CA_FILE": file},
			"network: the certificate of odd.model.test is for other hosts: certificate is valid for login.contoso.test, not odd.model.test", "base URL"},
		{"no TLS", "https://plain.model.test/v1", map[string]string{"HTTPS_PROXY": p.setting(proxyPassword)}, "network: plain.model.test does not speak TLS", "http://"},
		{"wrong password", "https://api.model.test/v1", map[string]string{"HTTPS_PROXY": p.setting("not-the-password"), "UZDA_CA_FILE": file},
			"network: the proxy " + p.Listener.Addr().String() + " refused to connect: HTTP 407", "the proxy wants a name and a password"},
		{"wrong password, plain HTTP", "http://http.model.test/v1", map[string]string{"HTTP_PROXY": p.setting("not-the-password")}, "network: ", "the proxy wants a name and a password"},
		{"blocked", "https://else.model.test/v1", map[string]string{"HTTPS_PROXY": p.setting(proxyPassword)}, "refused to connect: HTTP 403 Forbidden", "NO_PROXY"},
		{"plain HTTP", "http://http.model.test/v1", map[string]string{"http_proxy": p.setting(proxyPassword)}, `{"proxied":"http://http.model.test/v1"}`, ""},
		{"proxy is down", "https://api.model.test/v1", map[string]string{"HTTPS_PROXY": "http://jane:not-the-password@127.0.0.1:1"}, "network: the proxy 127.0.0.1:1 is not reached", "HTTPS_PROXY"},
		{"this machine is not proxied", plain.URL, map[string]string{"HTTP_PROXY": "http://jane:not-the-password@127.0.0.1:1"}, "network: the reply has no body", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tr, err := wire.Transport(func(name string) string { return c.env[name] })
			if err != nil {
				t.Fatal(err)
			}
			defer tr.CloseIdleConnections()
			got := outcome(t, &wire.Client{HTTP: &http.Client{Transport: tr}}, c.url)
			if !strings.Contains(got, c.says) || !strings.Contains(got, c.hint) {
				t.Errorf("got  %s\nwant %s … %s", got, c.says, c.hint)
			}
			for _, secret := range []string{"not-the-password", proxyPassword, "sk-0123456789", base64.StdEncoding.EncodeToString([]byte("jane:not-the-password"))} {
				if strings.Contains(got, secret) {
					t.Errorf("%q shows in %s", secret, got)
				}
			}
		})
	}
	t.Cleanup(func() {
		if saw := p.saw(); strings.Contains(strings.ReplaceAll(saw, "http.model.testsk-0123456789", ""), "sk-0123456789") {
			t.Errorf("the proxy saw a key on its way to CONNECT: %s", saw)
		}
	})
}

// outcome makes a call, and describes its reply or its error with all that is
// behind it.
func outcome(t *testing.T, c *wire.Client, target string) string {
	t.Helper()
	r, err := c.Do(t.Context(), wire.Call{URL: target, Header: http.Header{"X-Api-Key": {"sk-0123456789"}}, Body: parts("a", "b")})
	if err == nil {
		defer r.Body.Close()
		var raw []byte
		if raw, err = r.Bytes(0); err == nil {
			return string(raw)
		}
	}
	p := provider(t, err)
	text := fmt.Sprintf("%s: %s\n%s\nagain %v", p.Code, p.Message, p.Hint, p.Retryable())
	for e := p.Err; e != nil; e = errors.Unwrap(e) {
		text += "\n" + e.Error()
	}
	return text
}

// What the network does is said in words, with a way to mend it.
func TestUnreached(t *testing.T) {
	t.Parallel()
	fail := func(err error) *http.Client {
		return &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
		}}}
	}
	refused := os.NewSyscallError("connect", syscall.ECONNREFUSED)
	for _, c := range []struct {
		name   string
		client wire.Client
		url    string
		says   string
		again  bool
	}{
		{"DNS", wire.Client{HTTP: fail(&net.DNSError{Err: "no such host", Name: "api.shop.test", IsNotFound: true})}, "https://api.shop.test", "the host api.shop.test is not found\ncheck the base URL", true},
		{"refused", wire.Client{HTTP: fail(refused)}, "https://api.shop.test:99", "nothing answers at api.shop.test:99: connection refused\ncheck", true},
		{"refused, Ollama", wire.Client{HTTP: fail(refused), Local: true}, "http://127.0.0.1:11434/api/chat", "refused\nstart Ollama (`ollama serve`)", false},
		{"refused, llama-server", wire.Client{HTTP: fail(refused), Local: true}, "http://127.0.0.1:8080/v1", "refused\nstart llama-server", false},
		{"refused, other", wire.Client{HTTP: fail(refused), Local: true}, "http://127.0.0.1:9/v1", "--port 9`)", false},
		{"unreachable", wire.Client{HTTP: fail(syscall.ENETUNREACH)}, "https://api.shop.test", "no way leads to api.shop.test", true},
		{"timeout", wire.Client{HTTP: fail(os.ErrDeadlineExceeded)}, "https://api.shop.test", "no connection to api.shop.test came about in time", true},
		{"no scheme", wire.Client{}, "api.shop.test/v1", "does not begin with http:// or https://", false},
		{"odd scheme", wire.Client{}, "ftp://api.shop.test/v1", "does not begin with http:// or https://", false},
		{"no host", wire.Client{}, "https:///v1", "does not begin with http:// or https://", false},
		{"no URL", wire.Client{}, "https://a b:%zz/", "the base URL can't be used", false},
		{"no method", wire.Client{}, "https://a/\x7f", "the base URL can't be used", false},
	} {
		got := outcome(t, &c.client, c.url)
		if !strings.Contains(got, c.says) || !strings.Contains(got, fmt.Sprintf("again %v", c.again)) {
			t.Errorf("%s: got %s\nwant %s, again %v", c.name, got, c.says, c.again)
		}
	}
}

// A server that breaks its promise is a network error, whatever it did. The real
// socket is closed, reset, or says nonsense.
func TestBrokenServers(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]string{
		"closed":         "",
		"nonsense":       "SSH-2.0-OpenSSH_9.9\r\n",
		"short body":     "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"a\":1}",
		"broken chunks":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}",
		"cut chunks":     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{\"a\"",
		"broken gzip":    "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd",
		"huge header":    "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 2<<20) + "\r\n\r\n",
		"other encoding": "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 4\r\n\r\nabcd",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			var served sync.WaitGroup
			defer served.Wait()
			served.Go(func() {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				buf := make([]byte, 64<<10)
				_, _ = conn.Read(buf)
				fmt.Fprint(conn, reply)
			})
			tr, err := wire.Transport(func(string) string { return "" })
			if err != nil {
				t.Fatal(err)
			}
			defer tr.CloseIdleConnections()
			got := outcome(t, &wire.Client{HTTP: &http.Client{Transport: tr}}, "http://"+l.Addr().String())
			if name == "other encoding" {
				if !strings.Contains(got, `encoded as "br"`) {
					t.Errorf("got %s", got)
				}
			} else if !strings.HasPrefix(got, "network: ") {
				t.Errorf("got %s", got)
			}
		})
	}
}

// NO_PROXY has all its forms, in both cases.
func TestNoProxy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		list, url string
		direct    bool
	}{
		{"", "https://api.test", false},
		{"*", "https://api.test", true},
		{"api.test", "https://api.test", true},
		{"API.test", "https://api.TEST", true},
		{"api.test", "https://x.api.test", true},
		{"api.test", "https://xapi.test", false},
		{".api.test", "https://x.api.test", true},
		{".api.test", "https://api.test", false},
		{"*.api.test", "https://x.api.test", true},
		{"a.test, api.test", "https://api.test", true},
		{"a.test api.test", "https://api.test", true},
		{"api.test:443", "https://api.test", true},
		{"api.test:8443", "https://api.test", false},
		{"api.test:8443", "https://api.test:8443", true},
		{"10.1.2.3", "http://10.1.2.3:8000", true},
		{"10.1.2.3:8000", "http://10.1.2.3:8000", true},
		{"10.1.2.3:8001", "http://10.1.2.3:8000", false},
		{"10.0.0.0/8", "http://10.1.2.3:8000", true},
		{"10.0.0.0/8", "http://11.1.2.3:8000", false},
		{"fd00::/8", "http://[fd00::1]:8000", true},
		{"[fd00::1]", "http://[fd00::1]:8000", true},
		{"[fd00::1]:8000", "http://[fd00::1]:8000", true},
		{"", "http://localhost:11434", true},
		{"", "http://gpu.localhost:11434", true},
		{"", "http://127.0.0.1:11434", true},
		{"", "http://127.8.8.8:11434", true},
		{"", "http://[::1]:11434", true},
		{"", "http://[::ffff:127.0.0.1]:11434", true},
		{"", "http://192.168.1.2:11434", false},
		{"api.test.", "https://api.test", true},
		{"api.test", "https://api.test.", true},
		{",, ,", "https://api.test", false},
	} {
		for _, name := range []string{"NO_PROXY", "no_proxy"} {
			tr, err := wire.Transport(func(n string) string {
				return map[string]string{name: c.list, "ALL_PROXY": "proxy.test:3128"}[n]
			})
			if err != nil {
				t.Fatal(err)
			}
			r, err := http.NewRequest(http.MethodPost, c.url, nil)
			if err != nil {
				t.Fatal(err)
			}
			u, err := tr.Proxy(r)
			if err != nil || (u == nil) != c.direct || u != nil && u.String() != "http://proxy.test:3128" {
				t.Errorf("%s=%q %s goes through %v, %v", name, c.list, c.url, u, err)
			}
		}
	}
}

// Which proxy is for which scheme; what can't be used is an error without the
// password.
func TestTransport(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env         map[string]string
		plain, tls  string
		says, never string
	}{
		{map[string]string{"HTTP_PROXY": "http://a", "HTTPS_PROXY": "http://b"}, "http://a", "http://b", "", ""},
		{map[string]string{"HTTP_PROXY": "http://a", "http_proxy": "http://c"}, "http://a", "", "", ""},
		{map[string]string{"HTTP_PROXY": "http://a", "REQUEST_METHOD": "GET"}, "", "", "", ""},
		{map[string]string{"HTTPS_PROXY": "http://a", "ALL_PROXY": "socks5://b"}, "socks5://b", "http://a", "", ""},
		{map[string]string{"HTTPS_PROXY": "gopher://jane:hidden-word@a"}, "", "", `the proxy in HTTPS_PROXY can't be used: its scheme is "gopher"`, "hidden-word"},
		{map[string]string{"https_proxy": "http://jane:hidden%word@a b"}, "", "", "the proxy in https_proxy can't be used: it is no URL", "hidden"},
		{map[string]string{"https_proxy": "http://jane:hidden@"}, "", "", "names no host", "hidden"},
		{map[string]string{"UZDA_CA_FILE": filepath.Join(t.TempDir(), "none.pem")}, "", "", "UZDA_CA_FILE", "!"},
		{map[string]string{"UZDA_CA_FILE": os.Args[0]}, "", "", "none in PEM form", "!"},
	} {
		tr, err := wire.Transport(func(n string) string { return c.env[n] })
		if c.says != "" {
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), c.never) {
				t.Errorf("%v: the error is %v", c.env, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for target, want := range map[string]string{"http://api.test": c.plain, "https://api.test": c.tls} {
			r, _ := http.NewRequest(http.MethodPost, target, nil)
			got := ""
			if u, err := tr.Proxy(r); err != nil {
				t.Error(err)
			} else if u != nil {
				got = u.String()
			}
			if got != want {
				t.Errorf("%v: %s goes through %q, want %q", c.env, target, got, want)
			}
		}
		if tr.TLSClientConfig.InsecureSkipVerify {
			t.Error("certificates are not checked")
		}
	}
	if one, again := wire.Default(), wire.Default(); one != again || one.Timeout != 0 {
		t.Error("the default client is made anew, or has a limit of time")
	}
}

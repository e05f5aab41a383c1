//go:build unix

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uzda-dev/uzda/model/modeltest"
)

const (
	companyHost  = "models.company.test"
	proxySecret  = "geheim-proxy-pass"
	companyRoots = "Company Root"
)

// company is an authority of a company's own, and a certificate by it.
func company(t *testing.T) (authority []byte, server tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	root := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: companyRoots}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: companyHost}, DNSNames: []string{companyHost}, NotBefore: root.NotBefore, NotAfter: root.NotAfter,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	rootDER, err := x509.CreateCertificate(rand.Reader, root, root, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, root, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: rootDER}), tls.Certificate{Certificate: [][]byte{leafDER}, PrivateKey: key}
}

// tunnel is a proxy that wants a password, and the only one that knows where the
// company's host is.
func tunnel(t *testing.T, to string) (addr string, passed *atomic.Int32) {
	t.Helper()
	passed = &atomic.Int32{}
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte("me:"+proxySecret))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Proxy-Authorization") != want:
			w.Header().Set("Proxy-Authenticate", "Basic")
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		case r.Method != http.MethodConnect || r.Host != companyHost+":443":
			w.WriteHeader(http.StatusForbidden)
			return
		}
		passed.Add(1)
		back, err := net.Dial("tcp", to)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer back.Close()
		front, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer front.Close()
		io.WriteString(front, "HTTP/1.1 200 OK\r\n\r\n") //nolint:errcheck // the client finds out
		var both sync.WaitGroup
		both.Go(func() { io.Copy(back, front); back.Close() })  //nolint:errcheck // it ends when either side does
		both.Go(func() { io.Copy(front, back); front.Close() }) //nolint:errcheck // the same
		both.Wait()
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://"), passed
}

// Behind a company's proxy with a certificate of its own everything works by the
// usual variables or by the settings, and what is wrong is said with the host, who
// signed and the setting that mends it. The proxy's password shows nowhere.
func TestCompanyProxy(t *testing.T) { // case:U06
	t.Parallel()
	authority, cert := company(t)
	fake := modeltest.NewHandler(modeltest.Config{Keys: []string{"good-key-1234"}, Answer: provider, Models: []modeltest.Model{{ID: "claude-opus-5-5", Window: 1_000_000}}})
	service := httptest.NewUnstartedServer(fake)
	service.Config.ErrorLog = log.New(io.Discard, "", 0) // a client that does not trust it is part of the story
	service.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	service.StartTLS()
	t.Cleanup(func() { fake.Close(); service.Close() })
	proxy, passed := tunnel(t, service.Listener.Addr().String())

	p := newProgram(t)
	ca := p.file("ca.pem", string(authority))
	base := append(slices.Clone(p.envs), "ANTHROPIC_API_KEY=good-key-1234", "ANTHROPIC_BASE_URL=https://"+companyHost)
	through := "HTTPS_PROXY=http://me:" + proxySecret + "@" + proxy
	for _, c := range []struct {
		what  string
		env   []string
		line  string
		code  int
		wants []string // of standard output and error together
		via   bool
	}{
		{"no proxy", nil, "run --model once hello", 3, []string{companyHost, "HTTPS_PROXY"}, false},
		{"no certificate", []string{through}, "run --model once hello", 3, []string{companyHost, companyRoots, "UZDA_CA_FILE"}, true},
		{"a wrong password", []string{"HTTPS_PROXY=http://me:wrong-" + proxySecret + "@" + proxy}, "run --model once hello", 3, []string{proxy, "password"}, false},
		{"both", []string{through, "UZDA_CA_FILE=" + ca}, "run hello", 0, []string{"ready"}, true},
		{"the small variable", []string{"https_proxy=" + strings.TrimPrefix(through, "HTTPS_PROXY="), "HTTPS_PROXY=", "SSL_CERT_FILE=" + ca}, "run hello", 0, []string{"ready"}, true},
		{"past the proxy", []string{through, "UZDA_CA_FILE=" + ca, "NO_PROXY=.company.test"}, "run --model once hello", 3, []string{companyHost}, false},
		{"of one model", []string{through}, "run --trust . --model own hello", 0, []string{"ready"}, true},
		{"a file that is none", []string{through, "UZDA_CA_FILE=" + p.file("none.pem", "x")}, "run hello", 2, []string{"none.pem", "http.ca_file"}, false},
		{"the list of models", []string{through, "UZDA_CA_FILE=" + ca}, "models --refresh anthropic", 0, []string{"lists 1 model"}, true},
		{"doctor", []string{through, "UZDA_CA_FILE=" + ca}, "doctor --model", 0, []string{"TLS 1.3", "certificate by CN=" + companyRoots, "through the proxy " + proxy}, true},
		{"init", []string{through, "UZDA_CA_FILE=" + ca}, "init --dir " + t.TempDir(), 0, []string{"It answers: ready"}, true},
	} {
		p.file("uzda.yaml", "models:\n  once: {id: claude-opus-5-5, retries: 0}\n  own: {id: claude-opus-5-5, key: $ANTHROPIC_API_KEY, ca_file: ca.pem, base: \"https://"+companyHost+"\"}\n")
		p.envs = append(slices.Clone(base), c.env...)
		before := passed.Load()
		cmd := p.command(strings.Fields(c.line)...)
		out, _ := cmd.CombinedOutput()
		text := squeeze(string(out))
		if got := cmd.ProcessState.ExitCode(); got != c.code {
			t.Errorf("%s: exit %d, want %d\n%s", c.what, got, c.code, out)
		}
		for _, want := range c.wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", c.what, want, out)
			}
		}
		if strings.Contains(text, proxySecret) {
			t.Errorf("%s: the proxy's password is shown\n%s", c.what, out)
		}
		if via := passed.Load() > before; via != c.via {
			t.Errorf("%s: through the proxy: %v, want %v", c.what, via, c.via)
		}
	}
	for _, fault := range fake.Faults() {
		t.Error(fault)
	}

	// In the user's own file it holds for everything.
	p.file("home/uzda.yaml", "http: {ca_file: "+ca+"}\n")
	p.envs = append(slices.Clone(base), through)
	p.says(0, []string{"run", "hello"}, "ready")
}

package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Default is the client of the process, with the [Transport] of its environment
// as it is at the first use. Where that can't be made, each request fails with
// what is wrong.
func Default() *http.Client { return standard() }

var standard = sync.OnceValue(func() *http.Client {
	t, err := Transport(os.Getenv)
	if err != nil {
		return &http.Client{Transport: unmade{err}}
	}
	return &http.Client{Transport: t}
})

// unmade is a transport that could not be made.
type unmade struct{ err error }

func (u unmade) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		r.Body.Close()
	}
	return nil, u.err
}

// Transport makes a transport as the environment has it: the proxies HTTP_PROXY,
// HTTPS_PROXY, ALL_PROXY and NO_PROXY in both cases; the certificates of
// SSL_CERT_FILE, SSL_CERT_DIR and UZDA_CA_FILE besides those of the system. There
// is no limit of time for a whole request, and no way to turn TLS off. Who dials for
// TLSClientConfig by other means calls its DialContext, which reads the certificates.
func Transport(env func(string) string) (*http.Transport, error) {
	proxy, err := proxies(env)
	if err != nil {
		return nil, err
	}
	roots, read, err := authorities(env)
	if err != nil {
		return nil, err
	}
	dial := dialling(&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second})
	return &http.Transport{
		Proxy:                  proxy,
		OnProxyConnectResponse: connected,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			read()
			return dial(ctx, network, addr)
		},
		TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: 30 * time.Second,
		ForceAttemptHTTP2:   true,
		// A connection that died unseen, as over a sleep, is found by a ping.
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
		MaxIdleConns:           256,
		MaxIdleConnsPerHost:    64, // as many sessions may ask one service at a time
		IdleConnTimeout:        90 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 1 << 20,
	}, nil
}

// authorities are the system's with those of the environment; nil: only the
// system's. The pool is empty until read was called: to read hundreds of certificates
// takes longer than all else before a first request.
func authorities(env func(string) string) (pool *x509.CertPool, read func(), err error) {
	own, file, dirs := env("UZDA_CA_FILE"), env("SSL_CERT_FILE"), env("SSL_CERT_DIR")
	if own == "" && file == "" && dirs == "" {
		return nil, func() {}, nil
	}
	var mine []byte
	if own != "" {
		if mine, err = os.ReadFile(own); err != nil {
			return nil, nil, fmt.Errorf("read the certificates that UZDA_CA_FILE names: %w", err)
		}
		if !x509.NewCertPool().AppendCertsFromPEM(mine) {
			return nil, nil, fmt.Errorf("read the certificates that UZDA_CA_FILE names: %s holds none in PEM form", own)
		}
	}
	pool = x509.NewCertPool()
	return pool, sync.OnceFunc(func() {
		if system, err := x509.SystemCertPool(); err == nil {
			*pool = *system
		}
		pool.AppendCertsFromPEM(mine)
		// As everywhere, what these two name may be absent.
		files := []string{file}
		for _, dir := range filepath.SplitList(dirs) {
			found, _ := filepath.Glob(filepath.Join(dir, "*")) // the pattern is good
			files = append(files, found...)
		}
		for _, name := range files {
			if raw, err := os.ReadFile(name); err == nil {
				pool.AppendCertsFromPEM(raw)
			}
		}
	}), nil
}

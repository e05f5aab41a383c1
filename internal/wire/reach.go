package wire

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/uzda-dev/uzda"
)

// unreached says what an error of the network means and how to mend it.
func (s *sending) unreached(err error) *uzda.ProviderError {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err // the URL may hold a key
	}
	e := &uzda.ProviderError{Code: "network", Err: err}
	host := s.last.URL.Host
	if s.overTLS(e, err, host) || s.overProxy(e, err) {
		return e
	}
	var dns *net.DNSError
	var late net.Error
	switch {
	case errors.As(err, &dns):
		e.Message = fmt.Sprintf("the host %s is not found", dns.Name)
		e.Hint = "check the base URL and the connection to the network; where only a proxy leads out, set HTTPS_PROXY"
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Message = "nothing answers at " + host + ": connection refused"
		e.Hint = "check the base URL, and whether the service runs"
		if s.client.Local {
			e.Again, e.Hint = uzda.AgainNo, start(s.last.URL)
		}
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		e.Message, e.Hint = "no way leads to "+host, "check the connection to the network; where only a proxy leads out, set HTTPS_PROXY"
	case errors.As(err, &late) && late.Timeout():
		e.Message, e.Hint = "no connection to "+host+" came about in time", "check the connection to the network; where only a proxy leads out, set HTTPS_PROXY"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		e.Message = host + " closed the connection before the reply was whole"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		e.Message = "the connection to " + host + " was reset"
	default:
		e.Message = err.Error()
	}
	return e
}

// start says how to start a local server.
func start(u *url.URL) string {
	switch port(u) {
	case "11434":
		return "start Ollama (`ollama serve`), or set OLLAMA_HOST to where it runs"
	case "8080":
		return "start llama-server (`llama-server -m MODEL.gguf --port 8080`), or set the base URL to where it runs"
	}
	return fmt.Sprintf("start the server (`ollama serve`, or `llama-server -m MODEL.gguf --port %s`), or set the base URL to where it runs", port(u))
}

// overTLS explains what is wrong with a certificate.
func (s *sending) overTLS(e *uzda.ProviderError, err error, host string) bool {
	var (
		verify  *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		invalid x509.CertificateInvalidError
		name    x509.HostnameError
		record  tls.RecordHeaderError
	)
	var leaf *x509.Certificate
	if errors.As(err, &verify) && len(verify.UnverifiedCertificates) > 0 {
		leaf = verify.UnverifiedCertificates[0]
	}
	switch {
	case errors.As(err, &unknown):
		if leaf == nil {
			leaf = unknown.Cert
		}
		issuer := "an unknown issuer"
		if leaf != nil {
			issuer = fmt.Sprintf("%q", clip(leaf.Issuer.String(), 200))
		}
		e.Message = fmt.Sprintf("the certificate of %s is issued by %s, which this machine does not trust", host, issuer)
		e.Hint = "if that is your company's proxy or server, set UZDA_CA_FILE (or SSL_CERT_FILE) to a file with the issuer's certificate in PEM form; otherwise somebody is listening in"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		c := invalid.Cert
		e.Message = fmt.Sprintf("the certificate of %s is not valid now: it is valid from %s to %s", host, c.NotBefore.Format("2006-01-02"), c.NotAfter.Format("2006-01-02"))
		e.Hint = "check this machine's clock; if it is right, the service or your proxy must renew its certificate"
	case errors.As(err, &name):
		e.Message = fmt.Sprintf("the certificate of %s is for other hosts: %s", host, clip(strings.TrimPrefix(name.Error(), "x509: "), 300))
		e.Hint = "check the host in the base URL; a proxy or a login page of the network, too, answers so"
	case verify != nil, errors.As(err, &invalid):
		e.Message = fmt.Sprintf("the certificate of %s is not accepted: %s", host, clip(err.Error(), 300))
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &record):
		e.Message = host + " does not speak TLS"
		e.Hint = "write http:// in the base URL if that is meant"
	default:
		return false
	}
	e.Again = uzda.AgainNo
	return true
}

// overProxy explains what is wrong with a proxy.
func (s *sending) overProxy(e *uzda.ProviderError, err error) bool {
	var no *refusal
	var op *net.OpError
	switch {
	case errors.As(err, &no):
		e.Message, e.Status, e.Again = no.Error(), no.status, uzda.AgainNo
		e.Hint = "ask who runs the proxy whether it lets you to this host, or name the host in NO_PROXY"
		if no.status == http.StatusProxyAuthRequired {
			e.Hint = proxyKey
		} else if no.status >= 500 {
			e.Again = ""
		}
	case errors.As(err, &op) && op.Op == "proxyconnect":
		where := "the proxy"
		if p := s.proxy(); p != nil {
			where += " " + p.Host
		}
		e.Message = fmt.Sprintf("%s is not reached: %s", where, clip(op.Err.Error(), 300))
		e.Hint = "check HTTPS_PROXY, or name the host in NO_PROXY if it is reached without the proxy"
	default:
		return false
	}
	return true
}

const proxyKey = "the proxy wants a name and a password: write them into HTTPS_PROXY as http://NAME:PASSWORD@HOST:PORT (special characters as %XX)"

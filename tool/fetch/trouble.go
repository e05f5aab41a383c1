package fetch

import (
	"context"
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
	"time"

	"github.com/uzda-dev/uzda"
)

// passing says whether another attempt may do better.
func passing(r *reply, err error) bool {
	if err == nil {
		switch r.status {
		case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return r.header.Get("Retry-After") == "" // who names a time means it
		}
		return r.broken != nil && !errors.Is(r.broken, errPacked)
	}
	if dns := (*net.DNSError)(nil); errors.As(err, &dns) {
		return !dns.IsNotFound && (dns.IsTimeout || dns.IsTemporary)
	}
	late := net.Error(nil)
	return brokenOff(err) || errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &late) && late.Timeout()
}

// brokenOff says that a server ended a connection. HTTP/2's errors have no type that
// others could name.
func brokenOff(err error) bool {
	for _, e := range []error{syscall.ECONNRESET, syscall.EPIPE, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, e) {
			return true
		}
	}
	text := err.Error()
	return strings.Contains(text, "stream error: stream ID") || strings.Contains(text, "http2: server sent GOAWAY")
}

// failure explains why nothing came.
func (f *Fetch) failure(ctx context.Context, u *url.URL, tries int, err error) uzda.Result {
	code, what, hint := f.explain(ctx, err)
	if tries > 1 {
		what += fmt.Sprintf(" (tried %d times)", tries)
	}
	text := fmt.Sprintf("Nothing was fetched from %s: %s. %s.", uzda.Clip(u.String(), 500), what, hint)
	refused, dns := (*refusedError)(nil), (*net.DNSError)(nil)
	if ctx.Err() != nil || errors.As(err, &refused) || errors.As(err, &dns) {
		return fail(code, text)
	}
	return fail(code, text, untrusted(u)) // it may quote the server
}

func untrusted(u *url.URL) uzda.Label {
	return uzda.Label{Kind: uzda.Untrusted, From: uzda.Clip(u.String(), 300)}
}

func (f *Fetch) explain(ctx context.Context, err error) (code uzda.Code, what, hint string) {
	refused, away := (*refusedError)(nil), (*redirectError)(nil)
	switch {
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return uzda.CodeTimeout, "the time of the turn ran out", "Try again if it is still needed"
	case ctx.Err() != nil:
		return uzda.CodeCancelled, "the call was cancelled", "Nothing was changed"
	case errors.As(err, &refused):
		return uzda.CodeDenied, refused.Error(), "Addresses outside the public internet are refused unless the user allows them in the settings; do not try other spellings"
	case errors.As(err, &away):
		away.to = uzda.OneLine(away.to, 500)
		code, hint = uzda.CodeFailed, "Use another source, or ask the user"
		if away.denied {
			code = uzda.CodeDenied
		}
		return code, away.Error(), hint
	case errors.Is(err, errPacked):
		return uzda.CodeFailed, line(err), "The server is at fault; try another page or source"
	case errors.Is(err, context.DeadlineExceeded):
		return uzda.CodeTimeout, fmt.Sprintf("no whole answer came within %s", f.cfg.Timeout.Round(time.Millisecond)), "Try again later, or use another source"
	}
	what, hint = network(err)
	return uzda.CodeFailed, what, hint
}

// network explains errors of names, connections and certificates.
func network(err error) (what, hint string) {
	var (
		dns     *net.DNSError
		unknown x509.UnknownAuthorityError
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
		record  tls.RecordHeaderError
		cert    *tls.CertificateVerificationError
		late    net.Error
	)
	const trust = "The page cannot be trusted to be what it says; tell the user, or use another source"
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Sprintf("there is no host %s", dns.Name), "Check the spelling, or look for the right address"
	case errors.As(err, &dns):
		return fmt.Sprintf("the host %s could not be looked up: %s", dns.Name, uzda.OneLine(dns.Err, 200)), "Is there a network? Try again later"
	case errors.As(err, &unknown):
		return "its certificate is signed by nobody that this machine knows", trust + "; an authority of one's own can be set with SSL_CERT_FILE"
	case errors.As(err, &name):
		return "its certificate is for another host: " + line(name), trust
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "its certificate has expired or is not yet valid", trust + ", and check the clock of this machine"
	case errors.As(err, &cert), errors.As(err, &invalid):
		return "its certificate is not valid: " + line(err), trust
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return "the server answers https without encryption", "Try the same URL with http if that is acceptable"
	case strings.Contains(err.Error(), "malformed HTTP"):
		return "the server does not speak HTTP, or wants https", "Check the port and the scheme"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused: nothing listens there", "Check the host and the port"
	case brokenOff(err):
		return "the server broke the connection off", "Try again later, or use another source"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return "the network cannot reach it", "Is there a network? Try again later"
	case errors.As(err, &late) && late.Timeout():
		return "it does not answer", "Try again later, or use another source"
	}
	return line(err), "Try again, or use another source"
}

// line is an error in one line; parts of it may come from the server.
func line(err error) string { return uzda.OneLine(err.Error(), 300) }

// advice says what a status means for the model.
func advice(r *reply) string {
	wait := ""
	if after := r.header.Get("Retry-After"); after != "" {
		wait = " The server asks to wait: Retry-After: " + uzda.OneLine(after, 60) + "."
		if strings.Trim(after, "0123456789") == "" {
			wait = " The server asks to wait " + uzda.OneLine(after, 20) + " seconds."
		}
	}
	switch {
	case r.status == http.StatusUnauthorized, r.status == http.StatusForbidden, r.status == http.StatusProxyAuthRequired:
		return "The page wants a login, or refuses programs. fetch does not log in: ask the user, or use another source." + wait
	case r.status == http.StatusNotFound, r.status == http.StatusGone:
		return "There is no such page. Check the URL, or begin at the site's start page." + wait
	case r.status == http.StatusTooManyRequests:
		return "Too many requests were made. Do not fetch from this host again before it allows it." + wait
	case r.status >= 500:
		return "The server is at fault. Try again later, or use another source." + wait
	}
	return "The server did not give the page." + wait
}

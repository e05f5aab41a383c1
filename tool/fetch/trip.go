package fetch

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// A trip is one call: its connections are its own and are closed at its end, so that
// nothing of one page (cookies, connections, sessions) is carried to another.
type trip struct {
	cfg    *Config
	direct *http.Transport // to addresses that were checked
	via    *http.Transport // by a proxy, which has an address of its own
}

// A reply is what came from the end of the redirects.
type reply struct {
	url    *url.URL
	status int
	header http.Header
	body   []byte // unpacked
	long   bool   // there is more than the limit
	broken error  // it ended too early
}

func (cfg *Config) trip() *trip {
	t := &trip{cfg: cfg}
	t.direct = cfg.transport()
	t.direct.DialContext = t.dial
	t.via = cfg.transport()
	t.via.Proxy = cfg.Proxy
	t.via.DialContext = cfg.Dial
	return t
}

func (cfg *Config) transport() *http.Transport {
	h := &http.Transport{
		TLSHandshakeTimeout:    10 * time.Second,
		IdleConnTimeout:        10 * time.Second, // one that came too late to be closed with the trip
		MaxResponseHeaderBytes: 256 << 10,
		ForceAttemptHTTP2:      true,
	}
	if cfg.TLS != nil {
		h.TLSClientConfig = cfg.TLS.Clone()
	}
	return h
}

func (t *trip) close() {
	t.direct.CloseIdleConnections()
	t.via.CloseIdleConnections()
}

// dial connects to a name at addresses that were all checked, so that the name
// cannot lead elsewhere in between.
func (t *trip) dial(ctx context.Context, network, hostport string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		return nil, err
	}
	addrs, err := t.addresses(ctx, host)
	if err != nil {
		return nil, err
	}
	// A machine without IPv6 that is told of it would wait for nothing.
	slices.SortStableFunc(addrs, func(a, b netip.Addr) int { return a.BitLen() - b.BitLen() })
	for _, a := range addrs {
		one, cancel := context.WithTimeout(ctx, t.cfg.Timeout/3)
		conn, e := t.cfg.Dial(one, network, net.JoinHostPort(a.String(), port))
		cancel()
		if e == nil {
			return conn, nil
		}
		err = e
	}
	return nil, err
}

// addresses returns where a host lies, an error if one of its addresses may not be
// connected to: a name with a public and a private address is a trick.
func (t *trip) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	var addrs []netip.Addr
	if a, err := netip.ParseAddr(host); err == nil {
		addrs = []netip.Addr{a}
	} else if addrs, err = t.cfg.Resolve(ctx, host); err != nil {
		return nil, err
	}
	if len(addrs) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	for i, a := range addrs {
		addrs[i] = a.Unmap()
		if what := closed(a); what != "" && !t.cfg.Allow(host, a) {
			return nil, &refusedError{host: host, addr: a.Unmap(), what: what}
		}
	}
	return addrs, nil
}

// behind checks a target that a proxy will connect to. The proxy looks the name up
// itself; where it can be looked up here too, what is private is refused here.
func (t *trip) behind(ctx context.Context, host string) error {
	const quick = 3 * time.Second
	short, cancel := context.WithTimeout(ctx, quick)
	defer cancel()
	_, err := t.addresses(short, host)
	if no := (*refusedError)(nil); errors.As(err, &no) {
		return err
	}
	if err != nil && homely(host) && !t.cfg.Allow(host, netip.Addr{}) {
		return &refusedError{host: host}
	}
	return ctx.Err()
}

// send makes one request. It carries nothing of the one before.
func (t *trip) send(ctx context.Context, u *url.URL) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", t.cfg.UserAgent)
	req.Header.Set("Accept", "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.9, */*;q=0.8")
	proxy, err := t.cfg.Proxy(req)
	if err != nil {
		return nil, fmt.Errorf("the proxy of the environment: %w", err)
	}
	if proxy == nil {
		return t.direct.RoundTrip(req)
	}
	if err := t.behind(ctx, u.Hostname()); err != nil {
		return nil, err
	}
	return t.via.RoundTrip(req)
}

// get follows redirects, each checked like a first URL, and reads what comes.
func (t *trip) get(ctx context.Context, u *url.URL) (*reply, error) {
	for hop := 0; ; hop++ {
		resp, err := t.send(ctx, u)
		if err != nil {
			return nil, err
		}
		where := resp.Header.Get("Location")
		if !redirects(resp.StatusCode) || where == "" {
			return t.read(u, resp)
		}
		_ = resp.Body.Close()
		if hop >= t.cfg.Redirects {
			return nil, &redirectError{from: u, to: where, why: fmt.Sprintf("after %d redirects: the pages may send each other on for ever", hop)}
		}
		if u, err = t.follow(ctx, u, where); err != nil {
			return nil, err
		}
	}
}

func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// redirectError says why a redirect is not followed.
type redirectError struct {
	from   *url.URL
	to     string
	why    string
	denied bool // by a rule
}

func (e *redirectError) Error() string {
	return fmt.Sprintf("%s sends on to %s, which is not followed %s", e.from, e.to, e.why)
}

func (t *trip) follow(ctx context.Context, from *url.URL, where string) (*url.URL, error) {
	ref, err := from.Parse(where)
	if err != nil {
		return nil, &redirectError{from: from, to: where, why: "since it cannot be read as a URL"}
	}
	to, err := Canonical(ref.String())
	if err != nil {
		return nil, &redirectError{from: from, to: where, why: "since it " + err.Error()}
	}
	if from.Scheme == "https" && to.Scheme == "http" {
		return nil, &redirectError{from: from, to: to.String(), why: "since anyone on the way could read and change it; fetch that URL by itself if it is meant"}
	}
	if t.cfg.Recheck != nil {
		if err := t.cfg.Recheck(ctx, to); err != nil {
			return nil, &redirectError{from: from, to: to.String(), why: "since a rule forbids it: " + err.Error(), denied: true}
		}
	}
	return to, nil
}

// read reads the body up to the limit, unpacked, and closes it.
func (t *trip) read(u *url.URL, resp *http.Response) (*reply, error) {
	defer func() { _ = resp.Body.Close() }()
	r := &reply{url: u, status: resp.StatusCode, header: resp.Header}
	body, err := unpack(resp)
	if err != nil {
		return nil, err
	}
	r.body, r.broken = io.ReadAll(io.LimitReader(body, t.cfg.Body+1))
	if int64(len(r.body)) > t.cfg.Body {
		r.body, r.long, r.broken = r.body[:t.cfg.Body], true, nil
	}
	if errors.Is(r.broken, gzip.ErrHeader) || errors.Is(r.broken, gzip.ErrChecksum) || errors.As(r.broken, new(flate.CorruptInputError)) {
		r.broken = fmt.Errorf("%w: %w", errPacked, r.broken)
	}
	return r, nil
}

var errPacked = errors.New("it is packed wrongly")

// unpack undoes the encodings that the transport did not undo: it does gzip where the
// server was asked for it. Limits hold for what comes out.
func unpack(resp *http.Response) (io.Reader, error) {
	body := io.Reader(resp.Body)
	encodings := strings.Split(strings.ToLower(strings.Join(resp.Header.Values("Content-Encoding"), ",")), ",")
	if len(encodings) > 2 {
		return nil, fmt.Errorf("%w: %d times over", errPacked, len(encodings))
	}
	for _, e := range slices.Backward(encodings) {
		switch strings.TrimSpace(e) {
		case "", "identity":
		case "gzip", "x-gzip":
			body = &lazy{from: body, open: func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }}
		case "deflate":
			body = &lazy{from: body, open: inflate}
		default:
			return nil, fmt.Errorf("%w: as %q, which it was not asked for", errPacked, strings.TrimSpace(e))
		}
	}
	return body, nil
}

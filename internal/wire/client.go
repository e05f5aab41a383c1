package wire

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"time"

	"github.com/uzda-dev/uzda"
)

// What a [Client] waits for, where it does not say.
const (
	First      = 120 * time.Second
	FirstLocal = 900 * time.Second // a local model may load for minutes, and reads a long prompt slowly
	Idle       = 120 * time.Second
	IdleLocal  = 600 * time.Second // a local server may hold back a whole tool call while it is written
	Quiet      = 600 * time.Second
)

// maxFault is how much of a reply that failed is read, in bytes.
const maxFault = 1 << 20

// A Client sends calls to one endpoint with one key. The zero value works; it is
// safe for concurrent use while its fields stay as they are.
type Client struct {
	HTTP *http.Client // nil: Default(), which honours proxies, NO_PROXY and extra CAs of the environment
	// Local is a model on this machine or network: its first byte may take
	// FirstLocal, and a refused connection means that nothing was started.
	Local   bool
	First   time.Duration // until the first byte of a reply; default First or FirstLocal
	Idle    time.Duration // without any byte; default Idle or IdleLocal
	Quiet   time.Duration // with keep-alives only; default Quiet
	Name    string        // of the service, for errors: "Anthropic", "Ollama at http://…"
	Secrets []string      // values that must never show in an error; those in headers and URLs that carry keys are known
	Key     *Key          // learns from the headers of each reply, also of those that fail; nil: nobody does
}

// A Call is one request of HTTP.
type Call struct {
	Method string // default POST
	URL    string
	Header http.Header
	// Body is sent in parts, with a Content-Length, again after a redirect. The
	// parts are only read, and not after the reply is closed.
	Body [][]byte
}

// Do sends a call. A status other than 2xx is a *uzda.ProviderError (see
// [Fault]), as is everything else that goes wrong; if ctx has ended, the error is
// its cause. The caller closes Reply.Body.
func (c *Client) Do(ctx context.Context, call Call) (*Reply, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s := &sending{client: c, call: call, watch: c.watch(ctx)}
	s.payload = &payload{parts: call.Body, sent: s.watch.touch}
	req, err := s.request()
	if err != nil {
		s.end()
		return nil, err
	}
	hc := s.http()
	resp, err := hc.Do(req) //nolint:bodyclose // Reply closes it
	if err != nil {
		err = s.why(err)
		s.end()
		return nil, err
	}
	if c.Key != nil {
		c.Key.Learn(resp.Header, resp.StatusCode, time.Now())
	}
	r := newReply(s, resp)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, s.refused(r)
	}
	if err := r.body.unfit(); err != nil {
		r.Body.Close()
		return nil, err
	}
	return r, nil
}

// sending is one call on its way, with its redirects, until its reply is closed.
type sending struct {
	client  *Client
	call    Call
	watch   *watch
	payload *payload
	last    *http.Request // the newest of a chain of redirects
}

func (s *sending) end() {
	s.watch.end()
	s.payload.end()
}

func (s *sending) request() (*http.Request, error) {
	method := s.call.Method
	if method == "" {
		method = http.MethodPost
	}
	bad := func(err error) error {
		return s.clean(&uzda.ProviderError{Code: "invalid_request", Message: "the base URL can't be used: " + err.Error(),
			Hint: "write it like https://host/v1", Err: err})
	}
	ctx, size := s.watch.ctx, s.payload.size()
	if size > 0 {
		ctx = httptrace.WithClientTrace(ctx, awaiting)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.call.URL, nil)
	var broken *url.Error
	if errors.As(err, &broken) {
		err = broken.Err // the URL itself may hold a key
	}
	if err == nil && (req.URL.Scheme != "http" && req.URL.Scheme != "https" || req.URL.Host == "") {
		err = fmt.Errorf("%q does not begin with http:// or https:// and a host", place(req.URL))
	}
	if err != nil {
		return nil, bad(err)
	}
	maps.Copy(req.Header, s.call.Header)
	if req.Header.Get("User-Agent") == "" {
		req.Header["User-Agent"] = ourName
	}
	if size > 0 {
		req.ContentLength, req.GetBody = size, s.payload.open
		req.Body, _ = s.payload.open()
	}
	s.last = req
	return req, nil
}

var ourName = []string{"uzda"}

// http returns the client with redirects watched.
func (s *sending) http() *http.Client {
	hc := s.client.HTTP
	if hc == nil {
		hc = Default()
	}
	watched := *hc
	watched.CheckRedirect = s.redirect(hc.CheckRedirect)
	return &watched
}

// why says what an error of the exchange means. The caller's context comes
// first, then the watchdogs, then the network.
func (s *sending) why(err error) error {
	if s.watch.parent.Err() != nil {
		return context.Cause(s.watch.parent)
	}
	var own *uzda.ProviderError
	if late := s.watch.late(); late != nil {
		own = late
	} else if !errors.As(err, &own) {
		own = s.unreached(err)
	}
	return s.clean(own)
}

// refused reads a reply that failed and makes its error.
func (s *sending) refused(r *Reply) error {
	defer r.Body.Close()
	raw, err := r.body.all(maxFault)
	var ended *cause
	if errors.As(err, &ended) {
		return ended.error
	}
	// The status says more than whatever else went wrong with the body.
	// Secrets go before anything is cut, so that no part of one is left.
	return s.clean(Fault(r.Status, r.Header, []byte(s.hider()(string(raw))), time.Now()))
}

package anthropic

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/raw"
	"github.com/uzda-dev/uzda/internal/wire"
)

// Info is what the provider says of a model; zero means that it does not say.
type Info struct {
	ID        string
	Name      string    // for people
	Window    int       // tokens
	MaxOutput int       // tokens
	Lifecycle string    // active, deprecated or retired
	Retires   time.Time // when it will be retired
	// Can are the capabilities that it has, sorted, by their path in the
	// provider's answer: "image_input", "thinking.adaptive", "effort.xhigh".
	Can []string
}

// Info asks for what the provider says of the model.
func (m Model) Info(ctx context.Context) (Info, error) {
	body, err := m.get(ctx, "/v1/models/"+url.PathEscape(m.ID))
	if err != nil {
		return Info{}, err
	}
	o, err := raw.Parse(body)
	if err != nil {
		return Info{}, unreadable(err)
	}
	return readInfo(&o), nil
}

// maxPages bounds how many pages of models are read.
const maxPages = 50

// List asks for the models that the key can use, in the provider's order. ID is
// not needed.
func (m Model) List(ctx context.Context) ([]Info, error) {
	var all []Info
	after := ""
	for range maxPages {
		page, err := m.Page(ctx, after)
		if err != nil {
			return nil, err
		}
		o, err := raw.Parse(page)
		if err != nil {
			return nil, unreadable(err)
		}
		list, err := raw.Elements(o.Get("data"))
		if err != nil {
			return nil, unreadable(err)
		}
		for _, v := range list {
			if one, err := raw.Parse(v); err == nil {
				all = append(all, readInfo(&one))
			}
		}
		last := str(o.Get("last_id"))
		if string(o.Get("has_more")) != "true" || last == "" || last == after {
			break
		}
		after = last
	}
	return all, nil
}

// Page returns one page of the list of models as the provider sends it: the
// first, or the one behind the model with the id after. It is what a table of
// models is refreshed from.
func (m Model) Page(ctx context.Context, after string) (json.RawMessage, error) {
	path := "/v1/models?limit=1000"
	if after != "" {
		path += "&after_id=" + url.QueryEscape(after)
	}
	return m.get(ctx, path)
}

func unreadable(err error) error {
	return &uzda.ProviderError{Code: "unknown", Message: "the answer can't be read: " + err.Error(), Err: err,
		Hint: "check that the base URL is that of a service that speaks Messages"}
}

func (m Model) get(ctx context.Context, path string) (json.RawMessage, error) {
	e, err := m.endpoint()
	if err != nil {
		return nil, err
	}
	return e.ask(ctx, wire.Call{Method: http.MethodGet, URL: e.base + path, Header: e.header(nil)})
}

// ask sends a call whose reply is one JSON value.
func (e *endpoint) ask(ctx context.Context, call wire.Call) (json.RawMessage, error) {
	reply, err := e.client.Do(ctx, call)
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	body, err := reply.Bytes(16 << 20)
	if err != nil {
		return nil, wire.Broken(err, false)
	}
	return body, nil
}

func readInfo(o *raw.Object) Info {
	i := Info{ID: str(o.Get("id")), Name: str(o.Get("display_name")), Lifecycle: str(o.Get("lifecycle")),
		Window: number(o.Get("max_input_tokens")), MaxOutput: number(o.Get("max_tokens"))}
	i.Retires, _ = time.Parse(time.RFC3339, str(o.Get("retires_at")))
	i.Can = can(nil, "", o.Get("capabilities"), 0)
	slices.Sort(i.Can)
	return i
}

// can collects the paths at which true stands, or an object that says that it is
// supported.
func can(all []string, path string, v json.RawMessage, depth int) []string {
	if string(v) == "true" && path != "" {
		return append(all, path)
	}
	o, err := raw.Parse(v)
	if err != nil || depth > 4 {
		return all
	}
	switch string(o.Get("supported")) {
	case "true":
		all = append(all, path)
	case "false":
		return all
	}
	for key, one := range o.All() {
		switch {
		case key == "supported":
		case key == "types" || path == "": // a level that says nothing
			below := path
			if path == "" {
				below = key
			}
			all = can(all, below, one, depth+1)
		default:
			all = can(all, path+"."+key, one, depth+1)
		}
	}
	return all
}

// Count asks how many tokens the input of a request has.
func (m Model) Count(ctx context.Context, req *uzda.Request) (int, error) {
	e, err := m.endpoint()
	if err != nil {
		return 0, err
	}
	b, err := e.encode(req, &uzda.Enc{}, true)
	if err != nil {
		return 0, err
	}
	body, err := e.ask(ctx, wire.Call{URL: e.base + "/v1/messages/count_tokens", Header: e.header(b.betas), Body: b.parts})
	if err != nil {
		return 0, err
	}
	o, err := raw.Parse(body)
	if err != nil {
		return 0, unreadable(err)
	}
	n := number(o.Get("input_tokens"))
	if n == 0 {
		return 0, &uzda.ProviderError{Code: "unknown", Message: "the count of tokens has no input_tokens"}
	}
	return n, nil
}

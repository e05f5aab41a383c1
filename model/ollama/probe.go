package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/raw"
	"github.com/uzda-dev/uzda/internal/wire"
)

// Probe asks the server what the model is, and returns the model with NumCtx, Caps
// and Family. It does not load the model. The window is NumCtx, else what the
// model's file says, else OLLAMA_CONTEXT_LENGTH, else DefaultNumCtx, or as large as
// that of the model as it is loaded now, since a smaller one would load it again.
// It is never larger than what the model was trained for, and at ollama.com just that.
//
// An error says what to do: the server does not run, or the model must be pulled.
func (m Model) Probe(ctx context.Context) (Model, error) {
	e, err := m.endpoint()
	if err != nil {
		return m, err
	}
	show, err := e.get(ctx, http.MethodPost, "/api/show", fmt.Sprintf(`{"model":%s}`, raw.AppendString(nil, m.ID)))
	if err != nil {
		return m, e.explain(ctx, err)
	}
	m.Caps = texts(show.Get("capabilities"))
	if details, err := raw.Parse(show.Get("details")); err == nil && m.Family == "" {
		m.Family = text(details.Get("family"))
	}
	most, own := trained(show), parameter(text(show.Get("parameters")), "num_ctx")
	if n, err := strconv.Atoi(m.env("OLLAMA_CONTEXT_LENGTH")); err == nil && own == 0 && n <= maxCount { // the server's, where it runs here
		own = n
	}
	switch {
	case m.NumCtx > 0:
	case own > 0:
		m.NumCtx = own
	case m.cloud():
		m.NumCtx = most
	default:
		m.NumCtx = max(DefaultNumCtx, e.loaded(ctx))
	}
	if most > 0 {
		m.NumCtx = min(m.NumCtx, most)
	}
	return m, nil
}

// Names lists the models that the server has.
func (m Model) Names(ctx context.Context) ([]string, error) {
	e, err := m.endpoint()
	if err != nil {
		return nil, err
	}
	return e.names(ctx)
}

func (e *endpoint) names(ctx context.Context) ([]string, error) {
	tags, err := e.get(ctx, http.MethodGet, "/api/tags", "")
	if err != nil {
		return nil, err
	}
	var out []string
	for o := range objects(tags.Get("models")) {
		if name := text(o.Get("name")); name != "" && len(out) < 10_000 {
			out = append(out, name)
		}
	}
	return out, nil
}

// get asks for a JSON object.
func (e *endpoint) get(ctx context.Context, method, path, body string) (raw.Object, error) {
	call := wire.Call{Method: method, URL: e.base + path, Header: e.header()}
	if body != "" {
		call.Body = [][]byte{[]byte(body)}
	}
	client := e.client
	if client.First == 0 {
		client.First = 30 * time.Second // nothing is loaded for it
	}
	reply, err := client.Do(ctx, call)
	if err != nil {
		return raw.Object{}, err
	}
	defer reply.Body.Close()
	got, err := reply.Bytes(0)
	if err != nil {
		return raw.Object{}, wire.Broken(err, false)
	}
	o, err := raw.Parse(got)
	if err != nil {
		return raw.Object{}, &uzda.ProviderError{Code: "invalid_request", Status: reply.Status, Err: err,
			Message: fmt.Sprintf("%s answers %s with no JSON object: %v", e.client.Name, path, err), Hint: "check that this is an Ollama server"}
	}
	return o, nil
}

// aside is how long is waited for what is only good to know.
const aside = 2 * time.Second

// explain adds to an error how to mend it.
func (e *endpoint) explain(ctx context.Context, err error) error {
	var p *uzda.ProviderError
	if !errors.As(err, &p) || p.Code != "not_found" || ctx.Err() != nil {
		return err
	}
	told := *p
	told.Hint = fmt.Sprintf("`ollama pull %s` fetches it", e.ID)
	short, cancel := context.WithTimeout(ctx, aside)
	defer cancel()
	switch names, err := e.names(short); {
	case err != nil:
		told.Hint = "check that this is an Ollama server: it does not list its models"
	case len(names) == 0:
		told.Hint += "; no model is there yet"
	default:
		near := uzda.Nearest(e.ID, names, 3)
		if near == nil {
			near = names[:min(len(names), 5)]
		}
		told.Hint += "; there is " + strings.Join(near, ", ")
	}
	return &told
}

// loaded is the window of the model as it is loaded now, 0 if it is not, or an
// older server does not say.
func (e *endpoint) loaded(ctx context.Context) int {
	short, cancel := context.WithTimeout(ctx, aside)
	defer cancel()
	ps, err := e.get(short, http.MethodGet, "/api/ps", "")
	if err != nil {
		return 0
	}
	for o := range objects(ps.Get("models")) {
		if sameModel(text(o.Get("name")), e.ID) || sameModel(text(o.Get("model")), e.ID) {
			return count(o.Get("context_length"))
		}
	}
	return 0
}

func sameModel(a, b string) bool {
	full := func(s string) string {
		if _, name, ok := strings.Cut(s, "/library/"); ok {
			s = name
		}
		if !strings.Contains(s[strings.LastIndexByte(s, '/')+1:], ":") {
			s += ":latest"
		}
		return strings.ToLower(s)
	}
	return full(a) == full(b)
}

// trained is the window that the model was trained for, 0 if the server does not
// say. Its key begins with the architecture.
func trained(show raw.Object) int {
	info, err := raw.Parse(show.Get("model_info"))
	if err != nil {
		return 0
	}
	if n := count(info.Get(text(info.Get("general.architecture")) + ".context_length")); n > 0 {
		return n
	}
	for k, v := range info.All() {
		if strings.HasSuffix(k, ".context_length") && strings.Count(k, ".") == 1 {
			return count(v)
		}
	}
	return 0
}

// parameter reads a number of the parameters in a model's file, a name and a
// value on each line.
func parameter(lines, name string) int {
	for line := range strings.Lines(lines) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name {
			if n, err := strconv.Atoi(f[1]); err == nil && n > 0 && n <= maxCount {
				return n
			}
		}
	}
	return 0
}

// maxCount is more tokens than any window has; what is over it is no count.
const maxCount = 1 << 30

// count reads a number of tokens, 0 if it is none.
func count(v json.RawMessage) int {
	n, err := strconv.ParseFloat(string(v), 64)
	if err != nil || n < 0 || n > maxCount {
		return 0
	}
	return int(n)
}

// text reads a string, "" if it is none.
func text(v json.RawMessage) string {
	var t raw.Text
	if _, err := t.Add(v); err != nil {
		return ""
	}
	return t.String()
}

// texts reads an array of strings, nil if it is none.
func texts(v json.RawMessage) []string {
	all, err := raw.Elements(v)
	if err != nil {
		return nil
	}
	out := []string{}
	for _, one := range all {
		out = append(out, text(one))
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// objects yields the objects of an array.
func objects(v json.RawMessage) func(yield func(raw.Object) bool) {
	return func(yield func(raw.Object) bool) {
		all, err := raw.Elements(v)
		if err != nil {
			return
		}
		for _, one := range all {
			if o, err := raw.Parse(one); err == nil && !yield(o) {
				return
			}
		}
	}
}

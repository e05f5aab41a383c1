package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/raw"
	"github.com/uzda-dev/uzda/internal/wire"
)

// Count counts the tokens of a request's input, where the server has an endpoint
// for that; if not, the error is [errors.ErrUnsupported].
func (m Model) Count(ctx context.Context, req *uzda.Request) (tokens int, err error) {
	s, err := m.service()
	if err != nil {
		return 0, err
	}
	if s.Profile.Count == "" {
		return 0, fmt.Errorf("count tokens: %s has no endpoint for it: %w", s.Label, errors.ErrUnsupported)
	}
	q, err := s.request(req, &uzda.Enc{})
	if err != nil {
		return 0, err
	}
	o, err := s.call(ctx, wire.Call{URL: s.root() + s.Profile.Count, Header: s.header, Body: q.body})
	if err != nil {
		return 0, err
	}
	if tokens = cmp.Or(number(&o, "input_tokens"), number(&o, "count")); tokens == 0 {
		return 0, &uzda.ProviderError{Code: "unknown", Message: "count tokens: the answer has no count"}
	}
	return tokens, nil
}

// List returns the models of the service, with their windows where it says them.
func (m Model) List(ctx context.Context) ([]uzda.ModelInfo, error) {
	m.ID = cmp.Or(m.ID, "any")
	s, err := m.service()
	if err != nil {
		return nil, err
	}
	all, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]uzda.ModelInfo, len(all))
	for i := range all {
		out[i] = s.info(&all[i])
	}
	return out, nil
}

// Probe asks the service what the model can hold: llama-server for the window of
// a slot, Ollama for the one with which the model is loaded or would be, others
// for what their list of models says. A window that stays unknown is 0.
func (m Model) Probe(ctx context.Context) (uzda.ModelInfo, error) {
	s, err := m.service()
	if err != nil {
		return uzda.ModelInfo{}, err
	}
	info := m.Describe()
	switch s.Profile.Window {
	case WindowLlama:
		info.Window, err = s.llama(ctx)
	case WindowOllama:
		info.Window, err = s.ollama(ctx)
	default:
		var all []raw.Object
		if all, err = s.list(ctx); err != nil {
			break
		}
		i := slices.IndexFunc(all, func(o raw.Object) bool { return s.named(&o, "id") })
		if i < 0 {
			return info, &uzda.ProviderError{Code: "not_found", Message: fmt.Sprintf("%s does not list the model %s", s.Label, s.model), Hint: "check the name of the model"}
		}
		said := s.info(&all[i])
		info.Window, info.MaxOutput = said.Window, cmp.Or(said.MaxOutput, info.MaxOutput)
	}
	return info, err
}

// named says whether a member is the model's name.
func (s *service) named(o *raw.Object, key string) bool {
	name := text(o.Get(key))
	return name == s.model || strings.TrimPrefix(name, "models/") == s.model || name == s.model+":latest"
}

// list is the service's list of models.
func (s *service) list(ctx context.Context) ([]raw.Object, error) {
	path := "/models"
	if s.path != chatPath {
		path = "/openai/models" // of Azure
	}
	reply, err := s.client.Do(ctx, wire.Call{Method: http.MethodGet, URL: s.below(path), Header: s.header})
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	body, err := reply.Bytes(0)
	if err != nil {
		return nil, err
	}
	list := json.RawMessage(body) // Together sends the array alone
	if o, err := raw.Parse(body); err == nil {
		list = o.Get("data")
	}
	models, err := raw.Elements(list)
	if err != nil {
		return nil, &uzda.ProviderError{Code: "unknown", Message: "list models: the answer of " + s.Label + " has no list", Hint: "check the base URL", Err: err}
	}
	var out []raw.Object
	for _, one := range models {
		if o, err := raw.Parse(one); err == nil && text(o.Get("id")) != "" {
			out = append(out, o)
		}
	}
	return out, nil
}

// info is what a list says of a model, in the words of OpenRouter, Together,
// Mistral, Groq, Vercel, Google and vLLM.
func (s *service) info(o *raw.Object) uzda.ModelInfo {
	top, _ := raw.Parse(o.Get("top_provider")) // an empty object if there is none
	out := uzda.ModelInfo{ID: s.Name + "/" + strings.TrimPrefix(text(o.Get("id")), "models/"), Free: s.Local && !s.cloud(text(o.Get("id")))}
	for _, key := range []string{"max_model_len", "context_length", "max_context_length", "context_window", "input_token_limit"} {
		out.Window = cmp.Or(out.Window, number(o, key))
	}
	for _, key := range []string{"max_completion_tokens", "max_output_tokens", "max_tokens", "output_token_limit"} {
		out.MaxOutput = cmp.Or(out.MaxOutput, number(o, key))
	}
	out.Window = cmp.Or(number(&top, "context_length"), out.Window)
	out.MaxOutput = cmp.Or(number(&top, "max_completion_tokens"), out.MaxOutput)
	return out
}

// llama is the window of one slot of llama-server.
func (s *service) llama(ctx context.Context) (int, error) {
	o, err := s.call(ctx, wire.Call{Method: http.MethodGet, URL: s.root() + "/props", Header: s.header})
	if err != nil {
		return 0, err
	}
	settings, _ := raw.Parse(o.Get("default_generation_settings")) // an empty object if there is none
	return cmp.Or(number(&settings, "n_ctx"), number(&o, "n_ctx")), nil
}

// ollama is the window of a model that is loaded, or that it would get by its own
// settings; the length that it was trained for is not what it gets.
func (s *service) ollama(ctx context.Context) (int, error) {
	o, err := s.call(ctx, wire.Call{Method: http.MethodGet, URL: s.root() + "/api/ps", Header: s.header})
	if err != nil {
		return 0, err
	}
	if models, err := raw.Elements(o.Get("models")); err == nil {
		for _, one := range models {
			if m, err := raw.Parse(one); err == nil && (s.named(&m, "name") || s.named(&m, "model")) {
				if n := number(&m, "context_length"); n > 0 {
					return n, nil
				}
			}
		}
	}
	o, err = s.call(ctx, wire.Call{URL: s.root() + "/api/show", Header: s.header, Body: [][]byte{append(raw.AppendString([]byte(`{"model":`), s.model), '}')}})
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text(o.Get("parameters"))) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "num_ctx" {
			if n, err := strconv.Atoi(f[1]); err == nil && n > 0 {
				return n, nil
			}
		}
	}
	return 0, nil
}

// call sends a call and reads the object that answers it.
func (s *service) call(ctx context.Context, c wire.Call) (raw.Object, error) {
	reply, err := s.client.Do(ctx, c)
	if err != nil {
		return raw.Object{}, err
	}
	defer reply.Body.Close()
	body, err := reply.Bytes(0)
	if err != nil {
		return raw.Object{}, err
	}
	o, err := raw.Parse(body)
	if err != nil {
		return o, &uzda.ProviderError{Code: "unknown", Message: "the answer of " + s.client.Name + " is no JSON object", Hint: "check the base URL", Err: err}
	}
	return o, nil
}

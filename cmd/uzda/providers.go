package main

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/cmd/uzda/config"
	"github.com/uzda-dev/uzda/internal/wire"
	"github.com/uzda-dev/uzda/model/anthropic"
	"github.com/uzda-dev/uzda/model/ollama"
	"github.com/uzda-dev/uzda/model/openai"
	"github.com/uzda-dev/uzda/model/script"
)

// A target is what the name of a model stands for.
type target struct {
	config.Model        // what the settings say of it; ID is PROVIDER/ID or script:FILE
	given        string // as it was written
	origin       string // where
	named        string // its name in the settings, "" if it has none
	found        string // why it was taken although nobody named one
	service      string // one of config.Services; "" for a script
	provider, id string // of ID
}

// target finds what a name stands for: a name of the settings, PROVIDER/ID, an
// id or alias that the table of models knows, or a script.
func (w *work) target(name, origin string) (target, error) {
	t := target{Model: config.Model{ID: name}, given: name, origin: origin}
	if m, ok := w.cfg.Models[name]; ok {
		t.Model, t.named, t.origin = m, name, w.cfg.Origin("models."+name+".id")
		for _, key := range []string{"base", "key", "headers", "ca_file"} { // without them it would go to another place
			if at := w.cfg.LeftOut("models." + name + "." + key); at != "" {
				return t, fail(uzda.ConfigError, "read the file; if you trust it: --trust "+strconv.Quote(w.cfg.Project), "model %s: its %s (%s) does not count in a folder that you do not trust", name, key, at)
			}
		}
	}
	if strings.HasPrefix(t.ID, "script:") || strings.HasPrefix(t.ID, "replay:") {
		return t, nil
	}
	provider, id, ok := strings.Cut(t.ID, "/")
	if !ok {
		row := w.prices.Model(t.ID)
		switch {
		case row != nil:
			provider, id = row.Provider(), t.ID
			if own := strings.TrimPrefix(row.ID, provider+"/"); !strings.HasPrefix(id, own) {
				id = own // an alias; a snapshot keeps its date
			}
		case t.Profile != "":
			provider, id = t.Profile, t.ID
		default:
			return t, w.unknown(t)
		}
		t.ID = provider + "/" + id
	}
	t.provider, t.id, t.service = provider, id, cmp.Or(t.Profile, provider)
	if t.service == "ollama" { // its own format has one name
		t.provider, t.ID = "ollama", "ollama/"+id
	}
	switch {
	case provider == "responses":
		return t, fail(uzda.ConfigError, "the same models answer over Chat Completions: --model openai/"+id,
			"model (%s): the Responses format comes in a later version", t.origin)
	case !slices.Contains(config.Services(), t.service) || id == "":
		return t, w.unknown(t)
	}
	return t, nil
}

// unknown says what a name may have meant.
func (w *work) unknown(t target) error {
	names := slices.Sorted(maps.Keys(w.cfg.Models))
	known := slices.Concat(names, config.Services())
	for _, id := range slices.Backward(w.prices.IDs()) { // of those that are as near, the newest
		m := w.prices.Model(id)
		known = append(append(known, id), m.Aliases...)
	}
	hint := "want PROVIDER/ID, a name from models in uzda.yaml (" + cmp.Or(strings.Join(names, ", "), "none there yet") + "), or script:FILE; `uzda models` lists what is known"
	before, id, slash := strings.Cut(t.ID, "/")
	if near := uzda.Nearest(t.ID, known, 1); len(near) > 0 && !slash {
		hint = "did you mean " + near[0] + "? Else " + hint
	}
	if !slash || id == "" {
		return fail(uzda.ConfigError, hint, "model (%s): %q is not known", t.origin, t.given)
	}
	if near := uzda.Nearest(before, config.Services(), 1); len(near) > 0 {
		hint = "did you mean " + near[0] + "/" + id + "? Else " + hint
	} else {
		hint = "providers are " + strings.Join(config.Services(), ", ") + "; for another service give the model a name under models in uzda.yaml, with profile and base"
	}
	return fail(uzda.ConfigError, hint, "model (%s): %q is no provider that is known", t.origin, before)
}

// profiles are the ways of all services; how Anthropic's differ is in its own
// adapter.
func profileOf(service string) openai.Profile {
	if service == "anthropic" {
		return openai.Profile{Name: service, Label: "Anthropic", Base: "https://api.anthropic.com", BaseVars: []string{"ANTHROPIC_BASE_URL"},
			KeyVars: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"}}
	}
	return openai.Profiles()[service]
}

// getenv returns a variable of the environment, "" if it is not set.
func (a *app) getenv(name string) (value string) {
	for _, e := range a.env {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			value = v
		}
	}
	return strings.TrimSpace(value)
}

// firstSet returns the first variable that is set, and its value.
func (a *app) firstSet(names []string) (name, value string) {
	for _, n := range names {
		if v := a.getenv(n); v != "" {
			return n, v
		}
	}
	return "", ""
}

// unset says why a service cannot be reached, "" if it may.
func (a *app) unset(p openai.Profile) string {
	if name, _ := a.firstSet(p.KeyVars); name == "" && p.Auth != openai.AuthNone {
		return p.KeyVars[0] + " is not set"
	}
	if name, _ := a.firstSet(p.BaseVars); name == "" && p.Base == "" {
		return p.BaseVars[0] + " is not set"
	}
	return ""
}

// An access is how the service of a target is reached.
type access struct {
	profile   openai.Profile
	base      string // from the settings, "" where the profile decides
	variable  string // that holds the key, "" if there is none
	key       string
	own       bool // the settings name the variable
	anthropic bool // it speaks Messages
	header    http.Header
	http      *http.Client
	tries     int
}

// usual is how a service is reached without any settings.
func (w *work) usual(service string) (access, error) {
	return w.access(target{service: service, provider: service, given: service})
}

// place is where the service is, without a slash at its end. A base that is only
// a host gets the path that the service usually has.
func (w *work) place(a access) string {
	base := a.base
	if base == "" {
		if _, base = w.firstSet(a.profile.BaseVars); base == "" {
			return a.profile.Base
		}
	}
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	base = strings.TrimRight(base, "/")
	own, err := url.Parse(a.profile.Base)
	if u, wrong := url.Parse(base); err == nil && wrong == nil && u.Path == "" {
		base += strings.TrimRight(own.Path, "/")
	}
	return base
}

// access settles where the service of a target is, and with which key. A base
// from the settings gets no key but the one that the settings name for it: the
// usual one is for the provider's own place.
func (w *work) access(t target) (access, error) {
	a := access{profile: profileOf(t.service), base: t.Base, anthropic: t.service == "anthropic"}
	if t.Retries != nil {
		a.tries = *t.Retries + 1
	}
	if t.provider != t.service {
		a.profile.Name, a.profile.Label = t.provider, t.provider
		if t.Base == "" {
			return a, fail(uzda.ConfigError, "add base: URL to it", "model %s (%s): nobody knows where %s is", t.given, t.origin, t.provider)
		}
	}
	keys := a.profile.KeyVars
	switch {
	case t.Key != "":
		keys, a.own = []string{t.Key}, true
		if w.getenv(t.Key) == "" {
			return a, fail(uzda.ConfigError, "set "+t.Key+", or name another variable there", "model %s: its key (%s) is to be in the variable %s, which is not set",
				t.given, w.cfg.Origin("models."+t.named+".key"), t.Key)
		}
	case t.Base != "":
		keys, a.profile.KeyVars, a.profile.Auth = nil, nil, openai.AuthNone
	default:
		if why := w.unset(a.profile); why != "" {
			return a, fail(uzda.ConfigError, "set it, or name another model: `uzda models` lists them, and which can be reached", "model %s (%s): %s", t.given, t.origin, why)
		}
	}
	a.variable, a.key = w.firstSet(keys)
	err := w.checkBase(t, a)
	if err != nil {
		return a, err
	}
	if a.header, err = w.headers(t); err != nil {
		return a, err
	}
	a.http, err = w.client(t.CAFile)
	return a, err
}

// checkBase refuses a base URL of the environment that leads nowhere; those of the
// settings were checked when they were read.
func (w *work) checkBase(t target, a access) error {
	name, base := w.firstSet(a.profile.BaseVars)
	if t.Base != "" || name == "" || t.service == "ollama" { // OLLAMA_HOST has forms of its own
		return nil
	}
	if !strings.Contains(base, "://") && t.service != "anthropic" {
		base = "https://" + base // which is taken for a host
	}
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return fail(uzda.ConfigError, "write it whole: https://host/path", "model %s: %s is no address of a service: %q", t.given, name, wire.Shown(base))
	}
	return nil
}

// headers are what the settings add to requests.
func (w *work) headers(t target) (http.Header, error) {
	if len(t.Headers) == 0 {
		return nil, nil
	}
	h := http.Header{}
	for name, value := range t.Headers {
		if variable, ok := variableOf(value); ok {
			if value = w.getenv(variable); value == "" {
				return nil, fail(uzda.ConfigError, "set "+variable+", or leave the header out", "model %s: its header %s (%s) is to be the variable %s, which is not set",
					t.given, name, w.cfg.Origin("models."+t.named+".headers"), variable)
			}
		}
		h.Set(name, value)
	}
	return h, nil
}

// variableOf is the variable that a value of the settings names.
func variableOf(value string) (name string, ok bool) {
	v, ok := strings.CutPrefix(value, "$")
	return strings.Trim(v, "{}"), ok
}

// secretHeader are the names of headers whose values nobody is to see.
var secretHeader = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)auth|key|token|secret|cookie|password`)
})

// keyItems say for `uzda config` which keys are set, and through which proxies the
// network is reached; the keys themselves are shown nowhere.
func (a *app) keyItems() []config.Item {
	var out []config.Item
	for _, service := range config.Services() {
		p := profileOf(service)
		if p.Local {
			continue
		}
		it := config.Item{Key: "keys." + service, Value: "not set", Origin: "default"}
		if name, _ := a.firstSet(p.KeyVars); name != "" {
			it.Value, it.Origin = "set", "env "+name
		}
		out = append(out, it)
	}
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"} {
		if set, value := a.firstSet([]string{name, strings.ToLower(name)}); set != "" {
			out = append(out, config.Item{Key: "http." + strings.ToLower(name), Value: shownURL(value), Origin: "env " + set})
		}
	}
	return out
}

// client is the HTTP client of all that this program asks: it honours the proxies
// and certificates of the environment and the settings. File is one of
// certificates in place of that of the settings.
func (w *work) client(file string) (*http.Client, error) {
	file = cmp.Or(file, w.cfg.CAFile)
	if c := w.clients[file]; c != nil {
		return c, nil
	}
	transport, err := w.transport(file)
	if err != nil {
		return nil, err
	}
	if w.clients == nil {
		w.clients = map[string]*http.Client{}
	}
	w.clients[file] = &http.Client{Transport: transport}
	if w.tap != nil {
		w.tap.next = transport
		w.clients[file].Transport = w.tap
	}
	w.closes = append(w.closes, func() error { transport.CloseIdleConnections(); return nil })
	return w.clients[file], nil
}

// transport is how the network is reached.
func (w *work) transport(file string) (*http.Transport, error) {
	t, err := wire.Transport(func(name string) string {
		if name == "UZDA_CA_FILE" {
			return file
		}
		return w.getenv(name)
	})
	if err != nil {
		return nil, fail(uzda.ConfigError, "http.ca_file ("+w.cfg.Origin("http.ca_file")+") and the proxy variables say how the network is reached", "%v", err)
	}
	return t, nil
}

// build makes the model of a target, without asking anybody.
func (w *work) build(t target) (uzda.Model, error) {
	if path, ok := strings.CutPrefix(t.ID, "script:"); ok {
		if !isFile(path) {
			return nil, fail(uzda.ConfigError, "check the path, or name another model by --model", "model (%s): there is no file %q", t.origin, path)
		}
		m, err := script.Load(path)
		if err != nil {
			return nil, fail(uzda.ConfigError, "its form is in docs/scripted-models.md", "model (%s): %v", t.origin, err)
		}
		return m, nil
	}
	if strings.HasPrefix(t.ID, "replay:") {
		return nil, fail(uzda.ConfigError, "use --model script:FILE", "model (%s): recorded models cannot be replayed by this version yet", t.origin)
	}
	a, err := w.access(t)
	if err != nil {
		return nil, err
	}
	window, output := w.sizes(t)
	key := a.key
	if !a.own && (t.service == "anthropic" || t.service == "ollama") {
		key = "" // their adapters know which variable goes where, and how
	}
	switch t.service {
	case "anthropic":
		return anthropic.Model{ID: t.id, Key: key, Base: a.base, Profile: a.profile.Name, Header: a.header, HTTP: a.http, Tries: a.tries,
			Window: window, MaxOutput: output, Free: w.prices.Free(t.ID), Env: w.getenv}, nil
	case "ollama":
		return ollama.Model{ID: t.id, Key: key, Base: a.base, Header: a.header, HTTP: a.http, Tries: a.tries, NumCtx: window, Env: w.getenv}, nil
	}
	return openai.Model{ID: t.id, Profile: a.profile, Key: key, Base: a.base, Header: a.header, HTTP: a.http, Tries: a.tries,
		Window: window, MaxOutput: output, Env: w.getenv}, nil
}

// sizes are a model's window and longest reply: what the user says is stronger
// than what the provider said, and that than the table.
func (w *work) sizes(t target) (window, output int) {
	info, _ := w.prices.Info(t.ID)
	return cmp.Or(t.Window, info.Window), cmp.Or(t.MaxOutput, info.MaxOutput)
}

// checkParams refuses parameters that the model's provider does not know.
func (w *work) checkParams(t target) error {
	effort := t.Params.Effort
	words := w.prices.Efforts(t.ID)
	if effort == "" || len(words) == 0 || slices.Contains(words, effort) {
		return nil
	}
	hint := "want one of " + strings.Join(words, ", ")
	if near := uzda.Nearest(effort, words, 1); len(near) > 0 {
		hint = "did you mean " + near[0] + "? " + hint
	}
	return fail(uzda.ConfigError, hint, "model %s: effort (%s) is %q, which %s does not know", t.given, w.cfg.Origin("models."+t.named+".effort"), effort, t.ID)
}

// checkChoice refuses a choice of a tool that the agent has not, as the provider
// would at each request.
func (w *work) checkChoice(t target, tools []uzda.Tool) error {
	chain, err := w.chain(t)
	if err != nil {
		return err
	}
	words := []string{"auto", "any", "none"}
	for _, tool := range tools {
		words = append(words, tool.Spec().Name)
	}
	for _, t := range chain {
		choice := t.Params.Choice
		if choice == "" || slices.Contains(words, choice) {
			continue
		}
		hint := "want one of " + strings.Join(words, ", ")
		if near := uzda.Nearest(choice, words, 1); len(near) > 0 {
			hint = "did you mean " + near[0] + "? " + hint
		}
		return fail(uzda.ConfigError, hint, "model %s: tool_choice (%s) is %q, and the agent has no such tool", t.given, w.cfg.Origin("models."+t.named+".tool_choice"), choice)
	}
	return nil
}

package main

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/uzda-dev/uzda/cmd/uzda/config"
	"github.com/uzda-dev/uzda/model/modeltest"
)

// nobody is an environment in which no model can be reached, whatever the machine
// has: no key is set, and local servers are looked for where none can be.
func nobody() []string {
	var out []string
	for _, service := range config.Services() {
		p := profileOf(service)
		for _, name := range append(p.KeyVars, p.BaseVars...) {
			value := ""
			if p.Local && strings.HasSuffix(name, "_URL") || name == "OLLAMA_HOST" {
				value = "http://127.0.0.1:1"
			}
			out = append(out, name+"="+value)
		}
	}
	return append(out, "HTTP_PROXY=", "HTTPS_PROXY=", "ALL_PROXY=", "NO_PROXY=", "http_proxy=", "https_proxy=", "all_proxy=", "no_proxy=", "UZDA_CA_FILE=")
}

// provider is what a fake of one says: enough to be examined by.
func provider(r *modeltest.Request) modeltest.Turn {
	switch body := string(r.Body); {
	case strings.Contains(body, secretWord):
		return modeltest.Turn{Text: "The word is " + secretWord + "."}
	case strings.Contains(body, "open_box"):
		return modeltest.Turn{Text: "I open it.", Calls: []modeltest.Call{{Name: "open_box", Input: `{"box":7}`}}}
	case strings.Contains(body, "prime"):
		return modeltest.Turn{Text: `{"prime":true}`}
	case strings.Contains(body, "twenty"):
		return modeltest.Turn{Text: "one two three four five six seven eight nine ten eleven twelve thirteen and so on to twenty"}
	}
	return modeltest.Turn{Text: "ready"}
}

// served are the servers of the scripts, by URL.
var served sync.Map

// serve NAME [WORD...]: starts a strict fake of a provider and puts its URL into a
// variable. Words: ollama, llama (a local server), busy (every request meets 529),
// hiccup (the first does), mute (it calls no tool and fits no schema), window=N, model=ID.
func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: serve NAME [WORD...]")
	}
	cfg := modeltest.Config{Keys: []string{"good-key-1234"}, Answer: provider,
		Header: http.Header{"Anthropic-Ratelimit-Requests-Limit": {"50"}, "Anthropic-Ratelimit-Requests-Remaining": {"49"}}}
	window := 0
	for _, word := range args[1:] {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "ollama":
			cfg.NoKey, cfg.Keys, cfg.Local.Kind = true, nil, modeltest.Ollama
		case "llama":
			cfg.NoKey, cfg.Keys, cfg.Local.Kind = true, nil, modeltest.LlamaServer
		case "busy":
			cfg.Answer = func(*modeltest.Request) modeltest.Turn {
				return modeltest.Turn{Faults: []modeltest.Fault{{Status: 529, Times: 1 << 30}}}
			}
		case "hiccup":
			var met atomic.Bool
			cfg.Answer = func(r *modeltest.Request) modeltest.Turn {
				t := provider(r)
				if r.Attempt == 1 && !met.Swap(true) {
					t.Faults = []modeltest.Fault{{Status: 529}}
				}
				return t
			}
		case "mute":
			cfg.Answer = func(*modeltest.Request) modeltest.Turn { return modeltest.Turn{Text: "I would rather not."} }
		case "window":
			n, err := strconv.Atoi(value)
			ts.Check(err)
			window = n
		case "model":
			cfg.Models = append(cfg.Models, modeltest.Model{ID: value})
		default:
			ts.Fatalf("serve: unknown word %q", word)
		}
	}
	for i := range cfg.Models {
		cfg.Models[i].Window, cfg.Models[i].MaxOutput = window, min(cmp.Or(window, 64_000), 64_000)
	}
	if cfg.Local.Kind != modeltest.Hosted {
		cfg.Local.Window = window
	}
	s := modeltest.NewServer(cfg)
	served.Store(s.URL, s)
	ts.Setenv(args[0], s.URL)
	ts.Defer(func() {
		s.Close()
		if faults := s.Faults(); len(faults) > 0 {
			ts.Logf("the requests broke rules: %s", strings.Join(faults, "\n"))
			panic("the requests of a script broke the rules of its provider: " + faults[0])
		}
	})
}

// asked URL N: the server was asked for exactly so many replies.
func asked(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: asked URL N")
	}
	s, ok := served.Load(args[0])
	if !ok {
		ts.Fatalf("nothing is served at %s", args[0])
	}
	got := fmt.Sprint(len(s.(*modeltest.Server).Asks()))
	if (got == args[1]) == neg {
		ts.Fatalf("asked for %s replies, want %s (negated: %v)", got, args[1], neg)
	}
}

// sent URL REGEXP: the newest request of a reply has this in its body.
func sent(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: sent URL REGEXP")
	}
	s, ok := served.Load(args[0])
	if !ok {
		ts.Fatalf("nothing is served at %s", args[0])
	}
	asks := s.(*modeltest.Server).Asks()
	if len(asks) == 0 {
		ts.Fatalf("%s was asked for nothing", args[0])
	}
	body := asks[len(asks)-1].Body
	if regexp.MustCompile(args[1]).Match(body) == neg {
		ts.Fatalf("the request does not fit %s (negated: %v):\n%s", args[1], neg, body)
	}
}

// envsubst FROM TO: copies a file with the variables in it put in.
func envsubst(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: envsubst FROM TO")
	}
	text := os.Expand(ts.ReadFile(args[0]), ts.Getenv)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o600))
}

// longtext FILE BYTES: writes a long text.
func longText(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: longtext FILE BYTES")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	const line = "You answer in one word. "
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Repeat(line, n/len(line))), 0o600))
}

package ollama_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/ollama"
)

// OLLAMA_HOST is read in all its forms, as Ollama itself reads it.
func TestHost(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"":                                "http://127.0.0.1:11434",
		"  ":                              "http://127.0.0.1:11434",
		"example.com":                     "http://example.com:11434",
		"example.com:56789":               "http://example.com:56789",
		":56789":                          "http://127.0.0.1:56789",
		"1.2.3.4":                         "http://1.2.3.4:11434",
		"0.0.0.0":                         "http://127.0.0.1:11434",
		"0.0.0.0:8000":                    "http://127.0.0.1:8000",
		"::1":                             "http://[::1]:11434",
		"[::1]":                           "http://[::1]:11434",
		"[::1]:8000":                      "http://[::1]:8000",
		"[::]:8000":                       "http://[::1]:8000",
		"*:8000":                          "http://127.0.0.1:8000",
		"http://example.com":              "http://example.com:80",
		"http://example.com/":             "http://example.com:80",
		"HTTP://example.com:1":            "http://example.com:1",
		"https://example.com":             "https://example.com:443",
		"https://example.com:8443/a/b/":   "https://example.com:8443/a/b",
		"http://example.com:1/v1":         "http://example.com:1",
		"http://example.com:1/x/v1/":      "http://example.com:1/x",
		"http://example.com:1/api/chat":   "http://example.com:1",
		"http://example.com:1/dev1":       "http://example.com:1/dev1",
		"ollama.com":                      "https://ollama.com:443",
		`"example.com:1"`:                 "http://example.com:1",
		"http://me:pa%20ss@example.com:1": "http://example.com:1",
	} {
		for _, m := range []ollama.Model{
			{ID: "m", Env: env("OLLAMA_HOST", given)},
			{ID: "m", Base: given, Env: env()},
		} {
			got, err := base(t, m)
			if err != nil || got != want {
				t.Errorf("OLLAMA_HOST=%q is %q (%v), want %q", given, got, err, want)
			}
		}
	}
	for _, bad := range []string{"ftp://example.com", "example.com:99999", "example.com:port", "a b", "http://u:%zz@h", "h?x"} {
		m := ollama.Model{ID: "m", Base: bad}
		_, err := base(t, m)
		var p *uzda.ProviderError
		if !errors.As(err, &p) || p.Code != "invalid_request" || p.Hint == "" || strings.Contains(err.Error(), "%zz") {
			t.Errorf("%q gave the error %v", bad, err)
		}
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		m    ollama.Model
		want uzda.ModelInfo
	}{
		{ollama.Model{ID: "qwen3:8b", Env: env()}, uzda.ModelInfo{ID: "ollama/qwen3:8b", Free: true}},
		{ollama.Model{ID: "qwen3:8b", NumCtx: 8192, Env: env()}, uzda.ModelInfo{ID: "ollama/qwen3:8b", Window: 8192, Free: true}},
		{ollama.Model{ID: "gpt-oss:120b-cloud", Env: env()}, uzda.ModelInfo{ID: "ollama/gpt-oss:120b-cloud"}},
		{ollama.Model{ID: "gpt-oss:120b", Base: "https://ollama.com", Env: env()}, uzda.ModelInfo{ID: "ollama/gpt-oss:120b"}},
	} {
		if got := c.m.Describe(); got != c.want {
			t.Errorf("%+v, want %+v", got, c.want)
		}
	}
}

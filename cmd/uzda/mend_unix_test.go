//go:build unix

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/uzda-dev/uzda/cmd/uzda/line"
)

// What people type for our commands leads to commands that there are.
func TestMeant(t *testing.T) { // case:U09
	t.Parallel()
	a := &app{err: io.Discard, in: strings.NewReader(""), out: &output{w: io.Discard}, talk: &talk{desk: line.NewPlain(strings.NewReader(""), io.Discard, false)}}
	root := a.root()
	for word, to := range meant {
		args := strings.Fields(to)
		c, _, err := root.Find(args)
		if err != nil || c == root {
			t.Errorf("%s: uzda %s: %v", word, to, err)
			continue
		}
		for _, arg := range args {
			if name, ok := strings.CutPrefix(arg, "--"); ok && c.Flags().Lookup(name) == nil {
				t.Errorf("%s: uzda %s: there is no --%s", word, to, name)
			}
		}
		if found := find(root, word); found != nil {
			t.Errorf("%s is a command", word)
		}
	}
}

func find(root *cobra.Command, name string) *cobra.Command {
	for _, c := range root.Commands() {
		if c.Name() == name {
			return c
		}
	}
	return nil
}

// A provider that refuses the key or does not have the model: the hint names the variable,
// the model that was meant, and the command that goes on.
func TestMend(t *testing.T) { // case:U09
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get("X-Api-Key") == "wrong-key-of-a-test" {
			w.WriteHeader(http.StatusUnauthorized)
			io.WriteString(w, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`) //nolint:errcheck // a test's server
			return
		}
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"type":"error","error":{"type":"not_found_error","message":"no such model"}}`) //nolint:errcheck // as above
	}))
	t.Cleanup(server.Close)
	for _, c := range []struct {
		key, model string
		want       []string
	}{
		{"wrong-key-of-a-test", "anthropic/claude-opus-5-5", []string{"the key is that of ANTHROPIC_API_KEY", "`uzda resume s` goes on"}},
		{"other-key-of-a-test", "anthropic/claude-opuss-5-5", []string{"did you mean anthropic/claude-opus-5-5?", "`uzda models anthropic`", "`uzda resume s --model anthropic/claude-opus-5-5` goes on"}},
		{"other-key-of-a-test", "anthropic/claude-opus-5-5", []string{"`uzda models anthropic`", "`uzda resume s` goes on"}},
	} {
		p := newProgram(t)
		p.envs = append(p.envs, "ANTHROPIC_BASE_URL="+server.URL, "ANTHROPIC_API_KEY="+c.key)
		e := p.run("run", "--model", c.model, "--session", "s", "go")
		if e.code != 2 || e.result.Error == nil {
			t.Fatalf("%+v", e)
		}
		for _, want := range c.want {
			if !strings.Contains(e.result.Error.Hint, want) || !strings.Contains(e.errs, want) {
				t.Errorf("%s: %q is not in\n%s\n%s", c.model, want, e.result.Error.Hint, e.errs)
			}
		}
	}
}

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/cmd/uzda/config"
	"github.com/uzda-dev/uzda/model/openai"
	"github.com/uzda-dev/uzda/policy"
)

// Every variable that can hold a key is hidden from models and journals, whatever
// its name, and so is what the settings send to a service of one's own.
func TestKeysAreHidden(t *testing.T) { // rule 16
	t.Parallel()
	for _, service := range config.Services() {
		for _, name := range profileOf(service).KeyVars {
			if got := policy.FromEnv([]string{name + "=the-value-of-it"}).Names(); !slices.Equal(got, []string{name}) {
				t.Errorf("%s of %s is not hidden: %v", name, service, got)
			}
		}
	}
	w := &work{app: &app{env: []string{"ACME_CRED=acme-secret-1", "GATE=gate-secret-2", "TEAM=platform-team"}}, cfg: &config.Config{Models: map[string]config.Model{
		"own": {Key: "ACME_CRED", Headers: map[string]string{"X-Auth-Gate": "${GATE}", "X-Team": "$TEAM"}},
	}}}
	got, n := w.secrets().Redact("acme-secret-1 gate-secret-2 platform-team", false)
	if got != "{{secret:ACME_CRED}} {{secret:GATE}} platform-team" || n != 2 {
		t.Errorf("%d places: %s", n, got)
	}
}

// The settings, the table of models and the adapters agree on which services there
// are, and the page names every variable of theirs.
func TestServices(t *testing.T) { // L12
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	w := &work{app: &app{}, cfg: &config.Config{}}
	prices, err := (&work{app: w.app, cfg: &config.Config{Data: t.TempDir()}}).table()
	if err != nil {
		t.Fatal(err)
	}
	for _, service := range config.Services() {
		p := profileOf(service)
		if p.Name != service || len(p.KeyVars) == 0 {
			t.Errorf("%s has the profile %q and the key variables %v", service, p.Name, p.KeyVars)
		}
		if row := prices.Provider(service); row == nil || row.Free != p.Local {
			t.Errorf("%s is in the table of models as %+v", service, row)
		}
		for _, name := range append(slices.Clone(p.KeyVars), p.BaseVars...) {
			if !strings.Contains(string(page), "`"+name+"`") {
				t.Errorf("docs/configuration.md does not name %s", name)
			}
		}
	}
	for name := range openai.Profiles() {
		if name != "custom" && !slices.Contains(config.Services(), name) {
			t.Errorf("the settings do not know the service %s", name)
		}
	}
}

package policy_test

import (
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/policy"
)

// S1: a host is what it is, however a URL spells it.
func TestHosts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		url, rules string
		want       uzda.Decision
	}{
		{"https://example.com/", "", ask},
		{"https://example.com/", "allow: fetch", allow},
		{"https://example.com/x?y", "allow: WebFetch(domain:example.com)", allow},
		{"https://EXAMPLE.com./", "allow: WebFetch(domain:example.com)", allow},
		{"https://example.com:443/", "allow: WebFetch(domain:example.com)", allow},
		{"https://example.com:22/", "allow: WebFetch(domain:example.com)", ask},
		{"https://example.com:22/", "allow: WebFetch(domain:example.com:22)", allow},
		{"https://example.com:22/", "deny: WebFetch(domain:example.com)", deny},
		{"https://example.com.evil.org/", "allow: WebFetch(domain:example.com)", ask},
		{"https://notexample.com/", "allow: WebFetch(domain:*.example.com)", ask},
		{"https://example.com/", "allow: WebFetch(domain:*.example.com)", ask},
		{"https://a.b.example.com/", "allow: WebFetch(domain:*.example.com)", allow},
		{"https://example.com@evil.org/", "allow: WebFetch(domain:example.com)", ask},
		{"https://example.com:x@evil.org/", "allow: fetch", ask},
		{"https://evil.org\\@example.com/", "allow: fetch", ask},
		{"https://example.com\t.evil.org/", "allow: fetch", ask},
		{"https://BÜCHER.example/", "deny: WebFetch(domain:xn--bcher-kva.example)", deny},
		{"https://xn--bcher-kva.example/", "deny: WebFetch(domain:bücher.example)", deny},
		{"https://ｅｘａｍｐｌｅ。com/", "deny: WebFetch(domain:example.com)", deny},
		{"https://ex%61mple.com/", "deny: WebFetch(domain:example.com)", deny},
		{"https:///x", "allow: fetch", ask},
		{"example.com", "allow: fetch", ask},
		{"https://exa mple.com/", "deny: WebFetch(domain:example.com)", deny}, // unclear counts as the worst

		{"https://example.com/docs/a", "allow: fetch(url:https://example.com/docs/*)", allow},
		{"https://example.com/docs/../admin", "allow: fetch(url:https://example.com/docs/*)", ask},
		{"https://example.com/docs/%2e%2e/admin", "allow: fetch(url:https://example.com/docs/*)", ask},
		{"http://example.com/docs/a", "allow: fetch(url:https://example.com/docs/*)", ask},
		{"https://example.com/docs?leak=1", "allow: fetch(url:https://example.com/docs)", ask},
		{"https://x.example.com/a", "allow: fetch(url:https://*.example.com/*)", allow},
		{"https://example.com/ADMIN/x", "deny: fetch(url:https://example.com/admin/*)", deny},

		// This machine and networks that are not public.
		{"http://localhost/", "allow: fetch", ask},
		{"http://localhost/", "allow: WebFetch(domain:*)", ask},
		{"http://localhost/", "allow: WebFetch(domain:localhost)", allow},
		{"http://localhost:8080/", "allow: WebFetch(domain:localhost)", ask},
		{"http://localhost:8080/", "allow: WebFetch(domain:localhost:8080)", allow},
		{"http://foo.localhost/", "allow: fetch", ask},
		{"http://127.0.0.1/", "allow: fetch", ask},
		{"http://127.1/", "allow: fetch", ask},
		{"http://2130706433/", "allow: fetch", ask},
		{"http://0x7f000001/", "allow: fetch", ask},
		{"http://0177.0.0.1/", "allow: fetch", ask},
		{"http://127.0.0.1/", "deny: WebFetch(domain:2130706433)", deny},
		{"http://0/", "allow: fetch", ask},
		{"http://[::1]/", "allow: fetch", ask},
		{"http://[::ffff:10.0.0.1]/", "allow: fetch", ask},
		{"http://[::ffff:10.0.0.1]/", "allow: WebFetch(domain:10.0.0.1)", allow},
		{"http://[fe80::1%25eth0]/", "allow: fetch", ask},
		{"http://[64:ff9b::7f00:1]/", "allow: fetch", ask},
		{"http://169.254.169.254/latest/meta-data", "allow: fetch", ask},
		{"http://100.64.1.1/", "allow: fetch", ask},
		{"http://192.168.1.1/", "allow: fetch(url:http://192.168.1.1/*)", allow},
		{"http://intranet/", "allow: fetch", ask},
		{"http://db.internal/", "allow: fetch", ask},
		{"http://8.8.8.8/", "allow: fetch", allow},
		{"http://[2606:4700::1111]/", "allow: fetch", allow},
	} {
		g := policy.Gate{}
		if c.rules != "" {
			g.Rules = rulesOf(t, c.rules)
		}
		if v := judge(t, g, in("/tmp", "fetch", c.url)); v.Decision != c.want {
			t.Errorf("%s with %q: %s (%s), not %s", c.url, c.rules, v.Decision, v.Reason, c.want)
		}
	}
	v := judge(t, policy.Gate{Rules: rulesOf(t, "allow: fetch")}, in("/tmp", "fetch", "http://2130706433/"))
	if !strings.Contains(v.Reason, "127.0.0.1 is of this machine or a private network") {
		t.Errorf("the reason is %q", v.Reason)
	}
}

package policy_test

import (
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/idna"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/policy"
)

// Whatever pattern and path are, a verdict comes, twice the same; what a pattern
// allows it denies as well, and the path itself, its signs escaped, is allowed.
func FuzzPath(f *testing.F) {
	for _, s := range [][2]string{{"src/**/*.go", "src/a/b.go"}, {"[!a-c]*?", "dx"}, {"**/x/**", "a/x/b"}, {`\*`, "*"}, {"./é", "e\u0301"}, {"//a", "/a"}, {"~/x", "../x"}, {"a[]b]c", "a]c"}, {"***a*a*a*a*b", "aaaaaaaaaaaa"}, {"x/", "x"}} {
		f.Add(s[0], s[1])
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, pattern, path string) {
		a := in(dir, "write_file", path)
		var allow, deny policy.Rules
		if _, err := allow.Add(uzda.Allow, "x", "Edit("+pattern+")"); err != nil {
			return
		}
		if _, err := deny.Add(uzda.Deny, "x", "Edit("+pattern+")"); err != nil {
			t.Fatalf("it may allow but not deny: %v", err)
		}
		v := judge(t, policy.Gate{Rules: allow, Home: "/home/x"}, a)
		if w := judge(t, policy.Gate{Rules: allow, Home: "/home/x"}, a); v != w {
			t.Fatalf("%+v, and then %+v", v, w)
		}
		if d := judge(t, policy.Gate{Rules: deny, Home: "/home/x"}, a); v.Decision == uzda.Allow && d.Decision != uzda.Deny {
			t.Fatalf("%q allows %q and does not deny it: %+v", pattern, path, d)
		}
		if strings.ContainsAny(path, "/\x00~\n\\") || strings.TrimSpace(path) != path || path == "" || path == "." || path == ".." || strings.ToValidUTF8(path, "") != path {
			return
		}
		self := "Edit(./" + strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`).Replace(path) + ")"
		var own policy.Rules
		if _, err := own.Add(uzda.Deny, "x", self); err != nil {
			return // a control character
		}
		if d := judge(t, policy.Gate{Rules: own}, a); d.Decision != uzda.Deny {
			t.Fatalf("%s does not deny %q: %+v", self, path, d)
		}
	})
}

// A rule for one host lets no URL to another host through.
func FuzzHost(f *testing.F) {
	for _, s := range []string{"https://example.com/x", "https://example.com@evil.org/", "https://EXAMPLE.COM.:443", "http://[::1]/", "https://0x7f.1/", "https://ex%61mple.com", "https://ｅxample。com"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v := judge(t, policy.Gate{Rules: rulesOf(t, "allow: WebFetch(domain:example.com)")}, in("/tmp", "fetch", text))
		if v.Decision != uzda.Allow {
			return
		}
		u, err := url.Parse(text)
		if err != nil {
			t.Fatalf("%q is allowed and cannot be read: %v", text, err)
		}
		host, err := idna.Lookup.ToASCII(strings.TrimRight(u.Hostname(), "."))
		if err != nil || host != "example.com" || u.User != nil {
			t.Fatalf("%q goes to %q and is allowed", text, u.Hostname())
		}
	})
}

// Whatever a command is, a verdict comes, twice the same; a rule that denies every
// command denies it, and none of those for single words allows what is not spelled.
func FuzzCommand(f *testing.F) {
	for _, s := range []string{"ls -la | wc", "rm -rf /", "echo 'a", "$(x)", "cat < a > b", "a\x00b", "f() { f; }; f", "go test ./... && cat .env"} {
		f.Add(s)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, line string) {
		a := in(dir, "shell", line)
		v := judge(t, policy.Gate{Home: "/home/x"}, a)
		if w := judge(t, policy.Gate{Home: "/home/x"}, a); v != w {
			t.Fatalf("%+v, and then %+v", v, w)
		}
		if d := judge(t, policy.Gate{Rules: rulesOf(t, "deny: Bash")}, a); d.Decision != uzda.Deny {
			t.Fatalf("not denied: %+v", d)
		}
		if s := judge(t, policy.Gate{Strict: true, Rules: rulesOf(t, "allow: Bash(no-such-program *)")}, a); s.Decision == uzda.Allow && !strings.Contains(line, "no-such-program") {
			t.Fatalf("%q is allowed by a rule for another program: %+v", line, s)
		}
	})
}

package fetch_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/tool/fetch"
)

// S3: what rules judge, people approve and the tool fetches is one form.
func TestCanonical(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://example.com":                          "https://example.com/",
		"  HTTPS://EXAMPLE.com:443/a/../b/./c?x#frag ": "https://example.com/b/c?x",
		"http://example.com.:80/":                      "http://example.com/",
		"http://example.com:8080":                      "http://example.com:8080/",
		"https://example.com/%7euser/%2e%2e/%2F%c5%82": "https://example.com/%2F%C5%82",
		"https://example.com/łódź?q=zażółć 1&b=%41":    "https://example.com/%C5%82%C3%B3d%C5%BA?q=za%C5%BC%C3%B3%C5%82%C4%87%201&b=A",
		"https://münchen.de/":                          "https://xn--mnchen-3ya.de/",
		"https://MÜNCHEN.de./":                         "https://xn--mnchen-3ya.de/",
		"https://xn--mnchen-3ya.de/":                   "https://xn--mnchen-3ya.de/",
		"https://ｅｘａｍｐｌｅ.com/":                         "https://example.com/",
		"https://пример。рф/":                           "https://xn--e1afmkfd.xn--p1ai/",
		"https://a_b.example.com/":                     "https://a_b.example.com/",
		"https://r3---sn-abc.example.com/":             "https://r3---sn-abc.example.com/",
		"http://[2606:4700:0:0::1111]:80/x":            "http://[2606:4700::1111]/x",
		"http://127.0.0.1/":                            "http://127.0.0.1/",
		"https://example.com/a?u=http://b/../c&d=%2f":  "https://example.com/a?u=http://b/../c&d=%2F",
		"https://example.com//a//b/":                   "https://example.com//a//b/",
		"https://example.com/a;b=c,d/@e:f":             "https://example.com/a;b=c,d/@e:f",
		"https://example.com/a+b?c+d=%2B":              "https://example.com/a+b?c+d=%2B",
	} {
		got, err := fetch.Canonical(in)
		if err != nil || got.String() != want {
			t.Errorf("%s: %v, %v, want %s", in, got, err, want)
			continue
		}
		if again, err := fetch.Canonical(got.String()); err != nil || again.String() != want {
			t.Errorf("%s is not settled: %v, %v", in, again, err)
		}
	}
}

// T1 S3: what could be read in two ways, or is no web page, is refused with its reason.
func TestRefusedURLs(t *testing.T) {
	t.Parallel()
	f := fetch.New(fetch.Config{})
	for in, want := range map[string]string{
		"":                                                 "empty",
		"example.com/x":                                    "say https://example.com/x",
		"//example.com/x":                                  "say https://example.com/x",
		"example.com:8080/x":                               "no scheme",
		"ftp://example.com/":                               `only http and https`,
		"file:///etc/passwd":                               `only http and https`,
		"javascript:alert(1)":                              `only http and https`,
		"data:text/html,x":                                 `only http and https`,
		"http:example.com":                                 "no host",
		"http:///etc/passwd":                               "no host",
		"https://user:pw@example.com/":                     "user name or password",
		"https://example.com@evil.example/":                "user name or password",
		`https://evil.example\@example.com/`:               "cannot have",
		"https://example.com/\n/x":                         "cannot have",
		"https://exam\u202eple.com/":                       "cannot have",
		"https://exam\u200bple.com/":                       "cannot have",
		"https://exa mple.com/":                            "cannot be read",
		"https://example.com:0/":                           "port",
		"https://example.com:65536/":                       "port",
		"https://example.com:x/":                           "cannot be read",
		"https://example..com/":                            "no name",
		"https://.example.com/":                            "no name",
		"https://xn--a.com/":                               "no name",
		"https://exa%80mple.com/":                          "no name",
		"https://exa%mple.com/":                            "cannot be read",
		"https://example.com/%zz":                          "cannot be read",
		"https://[fe80::1%25eth0]/":                        "interface",
		"https://example.com/" + strings.Repeat("a", 9000): "at most 8192",
		// Spellings of addresses that inet_aton reads and others do not.
		"http://2130706433/":      "unusual spelling",
		"http://0x7f000001/":      "unusual spelling",
		"http://0x7f.1/":          "unusual spelling",
		"http://0177.0.0.1/":      "unusual spelling",
		"http://127.1/":           "unusual spelling",
		"http://127.0.1/":         "unusual spelling",
		"http://0/":               "unusual spelling",
		"http://127.0.0.01/":      "unusual spelling",
		"http://127.0.0.0x1/":     "unusual spelling",
		"http://017700000001/":    "unusual spelling",
		"http://１２７.１/":           "unusual spelling",
		"http://256.256.256.256/": "unusual spelling",
		"http://1.2.3.4.5/":       "unusual spelling",
		"http://example.0x10/":    "unusual spelling",
	} {
		raw, _ := json.Marshal(map[string]string{"url": in})
		if out, err := f.Check(raw); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "/url ") {
			t.Errorf("%.80q: %s, %v, want %q", in, out, err, want)
		}
	}
	for in, want := range map[string]string{
		`{"url":"https://example.com","max_bytes":10}`:     "/max_bytes",
		`{"url":"https://example.com","format":"pdf"}`:     "one of",
		`{"url":"https://example.com","method":"POST"}`:    "method",
		`{"url":"https://example.com","max_bytes":"2000"}`: "",
	} {
		out, err := f.Check(json.RawMessage(in))
		if want == "" && (err != nil || !strings.Contains(string(out), `"max_bytes":2000`)) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %s, %v, want %q", in, out, err, want)
		}
	}
}

// P06 S1: an approval shows and holds for the canonical URL; look-alikes are marked.
func TestPreview(t *testing.T) {
	t.Parallel()
	f := fetch.New(fetch.Config{})
	for in, want := range map[string][]string{
		"https://EXAMPLE.com/a?b=c#d": {"Fetch https://example.com/a?b=c", "https://example.com/a?b=c"},
		"https://münchen.de/":         {"Fetch https://xn--mnchen-3ya.de/\nThe host is written \"münchen.de\" in other letters.", "https://xn--mnchen-3ya.de/"},
		"https://пример.рф/":          {"Fetch https://xn--e1afmkfd.xn--p1ai/\nThe host is written \"пример.рф\" in other letters.", "https://xn--e1afmkfd.xn--p1ai/"},
		"https://日本語のドメイン.jp/":        {"in other letters.", ""},
		"https://аррӏе.com/":          {`looks like "apple", but is another name`, ""},
		"https://gооgle.com/":         {`mixes Cyrillic and Latin letters`, ""}, // two Cyrillic o
		"https://ο.com/":              {`looks like "o"`, ""},                   // Greek
	} {
		raw, _ := json.Marshal(map[string]string{"url": in})
		text, pre, err := f.Preview(t.Context(), uzda.Use{Input: raw})
		if err != nil || !strings.HasSuffix(text, want[0]) && !strings.Contains(text, want[0]) || want[1] != "" && pre != want[1] {
			t.Errorf("%s: %q, %q, %v", in, text, pre, err)
		}
		careful := strings.Contains(text, "Careful")
		if want := strings.Contains(want[0], "looks like") || strings.Contains(want[0], "mixes"); careful != want {
			t.Errorf("%s: warned %v: %s", in, careful, text)
		}
	}
	if _, _, err := f.Preview(t.Context(), uzda.Use{Input: json.RawMessage(`{"url":"x"}`)}); err == nil {
		t.Error("a preview of no URL")
	}
}

func FuzzCanonical(f *testing.F) { // S3
	for _, s := range []string{
		"https://example.com/a/../b?c#d", "http://127.0.0.1:80", "https://münchen.de/%7e%2E%2e/x", "http://[::ffff:7f00:1]/", "http://0x7f.1",
		"https://user@host/", `http:\\evil`, "https://xn--mnchen-3ya.de", "https://a.b./?%zz", "http://example.com/a b?c d", "http://1.2.3.4/.%2e/..", "http://100000.0%80",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := fetch.Canonical(raw)
		if err != nil {
			return
		}
		s := u.String()
		again, err := fetch.Canonical(s)
		if err != nil || again.String() != s {
			t.Fatalf("%q became %q and then %v, %v", raw, s, again, err)
		}
		if u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Host == "" || u.Fragment != "" || strings.Contains(u.EscapedPath(), "/../") {
			t.Fatalf("%q became %q", raw, s)
		}
		for _, c := range []byte(s) {
			if c <= ' ' || c >= 0x7f {
				t.Fatalf("%q became %q", raw, s)
			}
		}
	})
}

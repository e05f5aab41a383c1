package policy_test

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/policy"
)

// canary has all that is written differently in JSON, in URLs and in base64.
const canary = `k3y "with" \slash & <ü>/+ 9Z`

// case:P10 in part: the value of a secret is hidden as it is, in JSON, in a URL and
// in base64, wherever it stands in a text.
func TestRedactValues(t *testing.T) {
	t.Parallel()
	s := policy.NewSecrets(map[string]string{"SHOP_API_KEY": canary})
	quoted, _ := json.Marshal(map[string]string{"k": canary})
	plain, _ := json.Marshal(uzda.Say(canary))
	for name, in := range map[string]string{
		"plain":  "before " + canary + " after",
		"JSON":   string(quoted),
		"JSON 2": string(plain),
		"query":  "https://x.example/?k=" + url.QueryEscape(canary) + "&z=1",
		"path":   "https://x.example/" + url.PathEscape(canary) + "/z",
	} {
		got, n := s.Redact(in, false)
		if n != 1 || strings.Contains(got, "k3y") || strings.Contains(got, "9Z") {
			t.Errorf("%s: %d places in %s", name, n, got)
		}
	}
	if got, _ := s.Redact("before "+canary+" after", false); got != "before {{secret:SHOP_API_KEY}} after" {
		t.Errorf("plain became %q", got)
	}
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
		for _, before := range []string{"", "u", "us", "use", "user:"} {
			for _, after := range []string{"", "x", "xy", "xyz"} {
				code := enc.EncodeToString([]byte(before + canary + after))
				got, n := s.Redact("Authorization: Basic "+code, false)
				if n != 1 || !strings.Contains(got, "[redacted:SHOP_API_KEY in base64]") {
					t.Fatalf("%q + secret + %q: %q", before, after, got)
				}
				// At most the characters that the neighbours share stay.
				if left := strings.TrimPrefix(got, "Authorization: Basic "); len(left) > len("[redacted:SHOP_API_KEY in base64]")+4*(len(before)+2)/3+4*(len(after)+2)/3+6 {
					t.Errorf("%q + secret + %q leaves %q", before, after, left)
				}
			}
		}
	}
}

// case:P10 in part: in the model's own words only the values are replaced, and a tool gets them back.
func TestOwnWordsAndReveal(t *testing.T) {
	t.Parallel()
	s := policy.NewSecrets(map[string]string{"SHOP_API_KEY": canary, "TOKEN": "abcdefgh12345678"})
	for _, input := range []string{
		`{"header":"Bearer abcdefgh12345678","n":1.50}`,
		mustJSON(map[string]any{"deep": []string{canary, "abcdefgh12345678" + canary}}),
		`{"none":"at all"}`,
	} {
		clean, n := s.Redact(input, true)
		if strings.Contains(clean, "k3y") || strings.Contains(clean, "abcdefgh") || (n == 0) != strings.Contains(input, "none") {
			t.Errorf("%s became %s with %d places", input, clean, n)
		}
		if !json.Valid([]byte(clean)) {
			t.Errorf("%s became no JSON: %s", input, clean)
		}
		before := []byte(clean)
		back := s.Reveal(before)
		if string(uzda.Canonical(back)) != string(uzda.Canonical([]byte(input))) {
			t.Errorf("%s came back as %s", input, back)
		}
		if string(before) != clean {
			t.Error("Reveal changed its input")
		}
	}
	odd := policy.NewSecrets(map[string]string{"N_TOKEN": "nabcdefgh"})
	for in, want := range map[string]string{
		`{"a":"x\nabcdefgh"}`: `{"a":"x\nabcdefgh"}`, `{"a":"x\\nabcdefgh"}`: `{"a":"x\\{{secret:N_TOKEN}}"}`, `C:\nabcdefgh`: `C:\{{secret:N_TOKEN}}`,
	} {
		if got, _ := odd.Redact(in, true); got != want {
			t.Errorf("%s became %s, not %s", in, got, want)
		}
	}
	ghp := "ghp_" + strings.Repeat("a1", 18)
	if got, n := s.Redact("I write "+ghp+" and "+base64.StdEncoding.EncodeToString([]byte("abcdefgh12345678")), true); n != 0 {
		t.Errorf("own words became %q", got)
	}
	for in, want := range map[string]string{
		`{"a":"{{secret:NOBODY}} {{secret:TOKEN}} {{secret:"}`: `{"a":"{{secret:NOBODY}} abcdefgh12345678 {{secret:"}`,
		`{"a":"{{secret:{{secret:TOKEN}}"}`:                    `{"a":"{{secret:abcdefgh12345678"}`,
	} {
		if got := string(s.Reveal([]byte(in))); got != want {
			t.Errorf("%s reveals %s, not %s", in, got, want)
		}
	}
}

func mustJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// case:P10 in part: secrets that overlap, contain each other or name each other
// leave nothing behind, and hiding twice is hiding once.
func TestOverlaps(t *testing.T) {
	t.Parallel()
	s := policy.NewSecrets(map[string]string{
		"SHORT_TOKEN": "abcdefgh", "LONG_TOKEN": "abcdefghijkl", "TAIL_TOKEN": "ijklmnopqr", "PEER_TOKEN": "SHORT_TOKEN",
		"API_KEY": "sk-0123456789abcdefghij",
	})
	for in, want := range map[string]string{
		"abcdefgh":                      "{{secret:SHORT_TOKEN}}",
		"abcdefghijkl":                  "{{secret:LONG_TOKEN}}",
		"abcdefgh ijklmnopqr":           "{{secret:SHORT_TOKEN}} {{secret:TAIL_TOKEN}}",
		"xabcdefghijklmnopqrx":          "x[redacted:LONG_TOKEN]x",
		"abcdefghabcdefgh":              "{{secret:SHORT_TOKEN}}{{secret:SHORT_TOKEN}}",
		"SHORT_TOKEN":                   "SHORT_TOKEN",
		"sk-0123456789abcdefghij":       "{{secret:API_KEY}}",
		"sk-0123456789abcdefghij-more9": "[redacted:api-key]",
	} {
		got, n := s.Redact(in, false)
		if got != want || (n > 0) != (in != want) {
			t.Errorf("%s became %s (%d places), not %s", in, got, n, want)
		}
		if twice, m := s.Redact(got, false); twice != got || m != 0 {
			t.Errorf("%s became %s the second time", got, twice)
		}
	}
}

// case:P10 in part: tokens of well-known forms are hidden in text that enters.
func TestTokens(t *testing.T) {
	t.Parallel()
	s := policy.NewSecrets(nil)
	pem := "-----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat("MIIEpAIBAAKCAQEA7/+=\n", 5) + "-----END RSA PRIVATE KEY-----"
	for _, c := range []struct{ in, want string }{
		{"a " + pem + " b", "a [redacted:private-key] b"},
		{mustJSON(pem), `"[redacted:private-key]"`},
		{"cut: " + pem[:90], "cut: [redacted:private-key]"},
		{"it begins with -----BEGIN PRIVATE KEY----- as ever", "it begins with -----BEGIN PRIVATE KEY----- as ever"},
		{"id AKIAIOSFODNN7EXAMPLE.", "id [redacted:aws-access-key-id]."},
		{"ghp_" + strings.Repeat("aB3", 12), "[redacted:github-token]"},
		{"github_pat_" + strings.Repeat("aB3_", 20), "[redacted:github-token]"},
		{"xoxb-" + "123456789012-abcdefGHIJ", "[redacted:slack-token]"},
		{"key=sk-ant-api03-" + strings.Repeat("Ab1_", 20), "key=[redacted:api-key]"},
		{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJlMTIz!", "[redacted:jwt]!"},
		{"a task-management tool, disk-usage-of-everything, AKIA, ghp_, xox", "a task-management tool, disk-usage-of-everything, AKIA, ghp_, xox"},
	} {
		got, n := s.Redact(c.in, false)
		if got != c.want || (n > 0) != (c.in != c.want) {
			t.Errorf("%q became %q (%d places), not %q", c.in, got, n, c.want)
		}
	}
}

// case:P10 in part: which variables of the environment hold secrets.
func TestFromEnv(t *testing.T) {
	t.Parallel()
	s := policy.FromEnv([]string{
		"ANTHROPIC_API_KEY=sk-ant-000111222", "GITHUB_TOKEN=token-value-1", "AWS_SECRET_ACCESS_KEY=/slash/first/key", "DB_PASSWORD=correct horse",
		"API_KEY=plain-name-1", "my_secret=lower-case-1", "STRIPE_KEY=rk_live_0123456789", "HTTPS_PROXY=http://user:proxy-pass-1@proxy:3128",
		"SHORT_TOKEN=abc", "EMPTY_TOKEN=", "WORD_PASSWORD=changeme", "SORT_KEY=created_at_descending", "PWD=/home/somebody", "OLDPWD=/home/somebody/x",
		"ACME_CRED=named-value-1", "PATH=/usr/bin:/bin", "GIT_ASKPASS=/usr/bin/ask-pass", "HOME_URL=https://example.com/", "no equals sign", "BAD_TOKEN=\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8",
	}, "ACME_CRED", "NOT_THERE")
	want := "ACME_CRED ANTHROPIC_API_KEY API_KEY AWS_SECRET_ACCESS_KEY DB_PASSWORD GITHUB_TOKEN HTTPS_PROXY_PASSWORD STRIPE_KEY my_secret"
	if got := strings.Join(s.Names(), " "); got != want {
		t.Errorf("the secrets are %s, not %s", got, want)
	}
	if got, _ := s.Redact("http://user:proxy-pass-1@proxy:3128", false); got != "http://user:{{secret:HTTPS_PROXY_PASSWORD}}@proxy:3128" {
		t.Errorf("the proxy became %q", got)
	}
}

// Whatever enters, no value stays in it, and the model's own JSON stays JSON and
// comes back whole.
func FuzzRedact(f *testing.F) {
	s := policy.NewSecrets(map[string]string{"A_TOKEN": canary, "B_TOKEN": "abcdefgh", "C_TOKEN": "efghabcdabcd"})
	f.Add("x " + canary + " abcdefgh")
	f.Add("abcdefghabcdabcdefgh")
	f.Add(`{{secret:A_TOKEN}}`)
	f.Add("\x1abcdefgh and \nabcdefgh") // escaped, the first is \u001abcdefgh, which holds no value
	f.Fuzz(func(t *testing.T, text string) {
		clean, _ := s.Redact(text, false)
		for _, v := range []string{canary, "abcdefgh", "efghabcdabcd"} {
			if strings.Contains(clean, v) {
				t.Fatalf("%q leaves %q", text, clean)
			}
		}
		input := mustJSON(map[string]string{"k": text})
		own, _ := s.Redact(input, true)
		if !json.Valid([]byte(own)) {
			t.Fatalf("%s became %s", input, own)
		}
		if back := s.Reveal([]byte(own)); !json.Valid(back) {
			t.Fatalf("%s came back as %s", own, back)
		}
	})
}

// Text that comes in pieces, each shown up to where a value may have begun, shows
// no part of a value wherever it is split, and all the rest.
func TestBegun(t *testing.T) { // rule 16
	t.Parallel()
	s := policy.NewSecrets(map[string]string{"A": "aab-aab-aac", "B": "line one\nline \"two\""})
	for _, text := range []string{"x aab-aab-aab-aac y", "aab-aab-aa", `{"k":"line one\nline \"two\""}`, "line one\nline \"two\" and line one", "aab-aab-aacaab-aab-aac"} {
		want, _ := s.Redact(text, true)
		for size := 1; size <= len(text); size++ {
			shown, held := "", ""
			for at := 0; at < len(text); at += size {
				held += text[at:min(at+size, len(text))]
				n := s.Begun(held)
				clean, _ := s.Redact(held[:len(held)-n], true)
				shown, held = shown+clean, held[len(held)-n:]
			}
			clean, _ := s.Redact(held, true)
			if shown += clean; shown != want {
				t.Errorf("in pieces of %d: %q, want %q", size, shown, want)
			}
		}
	}
	if n := s.Begun(""); n != 0 {
		t.Errorf("%d bytes of nothing", n)
	}
}

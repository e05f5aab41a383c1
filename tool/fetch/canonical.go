package fetch

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/uzda-dev/uzda"
)

// maxURL is how long a URL may be, in bytes.
const maxURL = 8 << 10

// Canonical returns the one form of a URL that is fetched, judged and approved: host
// in lower case and punycode, no default port, no dot segments, no fragment,
// characters escaped where they must be and nowhere else (RFC 3986, section 6.2.2).
// What could be read in two ways is refused.
func Canonical(raw string) (*url.URL, error) {
	raw = strings.TrimSpace(raw)
	switch bad := strings.IndexFunc(raw, unreadable); {
	case raw == "":
		return nil, errors.New("is empty: give a URL like https://example.com/page")
	case len(raw) > maxURL:
		return nil, fmt.Errorf("has %d bytes, at most %d are possible", len(raw), maxURL)
	case !utf8.ValidString(raw):
		return nil, errors.New("is not UTF-8: percent-encode its bytes")
	case bad >= 0:
		r, _ := utf8.DecodeRuneInString(raw[bad:])
		return nil, fmt.Errorf("has the character %q, which a URL cannot have: leave it out or percent-encode it", r)
	}
	u, err := url.Parse(raw)
	if err != nil {
		var why *url.Error
		if errors.As(err, &why) {
			err = why.Err
		}
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	if err := form(u, raw); err != nil {
		return nil, err
	}
	host, err := hostname(u.Hostname())
	if err != nil {
		return nil, err
	}
	port, err := portOf(u)
	if err != nil {
		return nil, err
	}
	flat := (&url.URL{}).ResolveReference(&url.URL{Scheme: u.Scheme, Host: host + port, Path: "/"})
	path := withoutDots(plain(u.EscapedPath()))
	if flat.Path, err = url.PathUnescape(path); err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	flat.RawPath = path
	flat.RawQuery = plain(u.RawQuery)
	return url.Parse(flat.String()) // as everybody else will read it
}

func unreadable(r rune) bool {
	return r == '\\' || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError
}

// form refuses what is no plain web address.
func form(u *url.URL, raw string) error {
	switch {
	case u.Scheme == "" || u.Opaque != "" && u.Opaque[0] >= '0' && u.Opaque[0] <= '9': // host:8080/path
		return fmt.Errorf("has no scheme: say https://%s", uzda.Clip(strings.TrimLeft(raw, "/"), 100))
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("begins with %q: only http and https can be fetched", u.Scheme+":")
	case u.Opaque != "" || u.Host == "":
		return fmt.Errorf("has no host: say %s://host/path", u.Scheme)
	case u.User != nil:
		return errors.New("holds a user name or password: leave out what stands before the @; fetch does not log in")
	}
	return nil
}

// names maps and checks host names as browsers do (UTS 46).
func names() *idna.Profile {
	return idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(true), idna.Transitional(false), idna.VerifyDNSLength(true))
}

// hostname returns the canonical form of a host, an IPv6 address in brackets.
func hostname(host string) (string, error) {
	if addr, err := netip.ParseAddr(host); err == nil && addr.Is6() {
		if addr.Zone() != "" {
			return "", fmt.Errorf("names the network interface %q: leave out the %% and what follows", addr.Zone())
		}
		return "[" + addr.String() + "]", nil
	}
	name := strings.ToLower(host)
	if !ascii(name) || strings.Contains(name, "xn--") {
		mapped, err := names().ToASCII(strings.TrimSuffix(host, "."))
		if err == nil { // what is mapped must mean itself
			name, err = names().ToASCII(mapped)
		}
		if err != nil || name != mapped || !utf8.ValidString(host) {
			return "", fmt.Errorf("has the host %q, which is no name in any language: %w", host, orNoName(err))
		}
	}
	name = strings.TrimSuffix(name, ".")
	if err := nameForm(name); err != nil {
		return "", err
	}
	return name, spelling(name)
}

func orNoName(err error) error {
	if err == nil {
		return errors.New("its bytes are no letters")
	}
	return err
}

func nameForm(name string) error {
	if name == "" || len(name) > 253 {
		return fmt.Errorf("has a host of %d characters: 1 to 253 are possible", len(name))
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 {
			return fmt.Errorf("has the host %q, which is no name: between its dots stand 1 to 63 characters", name)
		}
	}
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && !strings.ContainsRune("-_.", c) {
			return fmt.Errorf("has the host %q, which is no name: it has a %q", name, c)
		}
	}
	return nil
}

// spelling refuses addresses as numbers, in octal or hex: some resolvers read them
// (inet_aton) and others do not, so nobody can say where they lead.
func spelling(name string) error {
	last := name[strings.LastIndexByte(name, '.')+1:]
	digits := strings.Trim(last, "0123456789") == ""
	if !digits && !(strings.HasPrefix(last, "0x") && strings.Trim(last[2:], "0123456789abcdef") == "") {
		return nil
	}
	if addr, err := netip.ParseAddr(name); err == nil && addr.Is4() {
		return nil
	}
	return fmt.Errorf("has the host %q, an unusual spelling of an address: write it like 192.0.2.7", name)
}

// portOf returns ":8080", or "" for the default of the scheme.
func portOf(u *url.URL) (string, error) {
	p := u.Port()
	if p == "" {
		return "", nil
	}
	n, err := strconv.Atoi(p)
	if err != nil || n < 1 || n > 65535 {
		return "", fmt.Errorf("has the port %q: want 1 to 65535", p)
	}
	if u.Scheme == "http" && n == 80 || u.Scheme == "https" && n == 443 {
		return "", nil
	}
	return ":" + strconv.Itoa(n), nil
}

// plain writes the escapes of a path or a query in their one form: upper case, and
// none for letters, digits and -._~, which mean the same without.
func plain(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if n, err := strconv.ParseUint(s[min(i+1, len(s)):min(i+3, len(s))], 16, 8); c == '%' && err == nil && i+2 < len(s) {
			i += 2
			if c := byte(n); unreserved(c) {
				b.WriteByte(c)
			} else {
				b.WriteString("%" + string(hex[c>>4]) + string(hex[c&15]))
			}
			continue
		}
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>`{}|^", c) >= 0 || c == '%' {
			b.WriteString("%" + string(hex[c>>4]) + string(hex[c&15]))
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

func unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// withoutDots removes "." and ".." from an escaped path (RFC 3986, section 5.2.4).
func withoutDots(path string) string {
	var out []string
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, p := range parts {
		last := i == len(parts)-1
		switch p {
		case ".", "..":
			if p == ".." && len(out) > 0 {
				out = out[:len(out)-1]
			}
			if last {
				out = append(out, "")
			}
		default:
			out = append(out, p)
		}
	}
	return "/" + strings.Join(out, "/")
}

func ascii(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

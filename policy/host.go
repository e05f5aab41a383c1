package policy

import (
	"cmp"
	"errors"
	"net/netip"
	"net/url"
	"path"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// An address is where a URL leads, in the one form that all its spellings share.
type address struct {
	scheme  string
	host    string // lower case, in ASCII, an IP as numbers; without a port
	port    string // "": that of the scheme
	path    string // cleaned, with the query
	private bool   // of this machine or a network that is not public
}

var errNoHost = errors.New("it names no host")

// parseAddress reads a URL. What readers of URLs disagree on is an error.
func parseAddress(text string) (address, error) {
	if strings.ContainsAny(text, "\\\t\r\n \x00") {
		return address{}, errors.New("it holds a space, a control character or a \\")
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return address{}, errors.New("it cannot be read")
	case u.Host == "":
		return address{}, errNoHost
	case u.User != nil:
		return address{}, errors.New("it holds a user or a password before the host")
	}
	host, err := parseHost(u.Hostname())
	if err != nil {
		return address{}, err
	}
	a := address{scheme: strings.ToLower(u.Scheme), host: host, port: u.Port(), path: cleanPath(u), private: privateHost(host)}
	if a.port == map[string]string{"http": "80", "https": "443"}[a.scheme] {
		a.port = ""
	}
	return a, nil
}

func cleanPath(u *url.URL) string {
	p := path.Clean("/" + u.Path) // without escapes, so that %2e%2e is ..
	if strings.HasSuffix(u.Path, "/") && p != "/" {
		p += "/"
	}
	if u.RawQuery != "" {
		p += "?" + u.RawQuery
	}
	return p
}

// parseHost brings a host to its one form: 0x7f.1 and [::ffff:127.0.0.1] are
// 127.0.0.1, and BÜCHER.example. is xn--bcher-kva.example.
func parseHost(h string) (string, error) {
	if zone := strings.IndexByte(h, '%'); zone >= 0 {
		h = h[:zone]
	}
	if ip, err := netip.ParseAddr(h); err == nil {
		return ip.Unmap().String(), nil
	}
	ascii, err := idna.Lookup.ToASCII(strings.TrimRight(h, ".。．｡"))
	if err != nil {
		// A name with _ is no host name, but resolvers take it.
		ascii = strings.ToLower(strings.TrimRight(h, "."))
		if strings.ContainsFunc(ascii, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
		}) {
			return "", errors.New("its host is no name that can be looked up")
		}
	}
	if ascii == "" {
		return "", errNoHost
	}
	if ip, ok := oldIP(ascii); ok {
		return ip.String(), nil
	}
	return ascii, nil
}

// oldIP reads an IPv4 address as inet_aton does: one to four numbers, decimal,
// octal or hexadecimal, the last for all that is left.
func oldIP(h string) (netip.Addr, bool) {
	parts := strings.Split(h, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var ip uint64
	for i, p := range parts {
		p = strings.ToLower(p)
		base := 10
		switch {
		case strings.HasPrefix(p, "0x"):
			base, p = 16, p[2:]
			if p == "" {
				p = "0"
			}
		case len(p) > 1 && p[0] == '0':
			base = 8
		}
		n, err := strconv.ParseUint(p, base, 32)
		if err != nil {
			return netip.Addr{}, false
		}
		if i < len(parts)-1 {
			if n > 255 {
				return netip.Addr{}, false
			}
			ip |= n << (8 * (3 - i))
			continue
		}
		if n >= 1<<(8*(4-i)) {
			return netip.Addr{}, false
		}
		ip |= n
	}
	return netip.AddrFrom4([4]byte{byte(ip >> 24), byte(ip >> 16), byte(ip >> 8), byte(ip)}), true
}

// nets are networks that are not public and that package netip has no word for.
var nets = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("fec0::/10"),
}

// privateHost says whether a host is this machine, or of a network that is not public.
func privateHost(h string) bool {
	ip, err := netip.ParseAddr(h)
	if err != nil {
		for _, end := range []string{"localhost", "local", "internal", "lan", "home.arpa", "intranet", "corp"} {
			if h == end || strings.HasSuffix(h, "."+end) {
				return true
			}
		}
		return !strings.Contains(h, ".")
	}
	if !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return true
	}
	for _, n := range nets {
		if n.Contains(ip) {
			return true
		}
	}
	return false
}

// checkFetch says what is wrong with a rule's pattern for fetch.
func checkFetch(r Rule, allows bool) error {
	switch r.Param {
	case "domain":
		h, port := cutPort(r.Spec)
		h = strings.TrimPrefix(h, "*.")
		if port == "*" || h == "*" && port == "" {
			return nil
		}
		if strings.ContainsAny(h, "*/") {
			return errors.New("a domain is a host such as example.com, or *.example.com for all below it")
		}
		if _, err := parseHost(strings.Trim(h, "[]")); err != nil {
			return errors.New("the domain is no host; write one such as example.com or *.example.com")
		}
	case "url":
		scheme, rest, ok := strings.Cut(r.Spec, "://")
		host, _, slash := strings.Cut(rest, "/")
		switch {
		case !allows || strings.Trim(r.Spec, "*") == "":
		case !ok || strings.Contains(scheme, "*"):
			return errors.New("the pattern of a URL begins with its scheme: https://example.com/*")
		case strings.Contains(host, "*") && (host != "*" && !strings.HasPrefix(host, "*.") || strings.Count(host, "*") > 1), !slash && host != "*" && strings.Contains(rest, "*"):
			return errors.New("a * in the host would mean other hosts too; write https://example.com/*")
		}
	case "":
		if strings.Trim(r.Spec, "*") != "" {
			return errors.New("it names neither domain nor url; write " + r.Tool + "(domain:example.com) or " + r.Tool + "(url:https://example.com/*)")
		}
	}
	return nil
}

// cutPort cuts host:port; an IPv6 address stands in brackets.
func cutPort(s string) (host, port string) {
	if i := strings.LastIndexByte(s, ':'); i > 0 && !strings.Contains(s[:i], ":") || i > 0 && s[i-1] == ']' {
		return s[:i], s[i+1:]
	}
	return s, ""
}

// fetches says whether a rule holds for an address; named: it names its host and
// no pattern.
func (r Rule) fetches(a address, text, list string) (ok, named bool) {
	switch {
	case strings.Trim(r.Spec, "*") == "":
		return true, false
	case r.Param == "domain":
		host, port := cutPort(r.Spec)
		if port != "" && port != "*" && port != cmp.Or(a.port, map[string]string{"http": "80", "https": "443"}[a.scheme]) {
			return false, false
		}
		if list == loose && port == "" && a.port != "" {
			return false, false
		}
		return hostFits(host, a.host)
	case r.Param != "url":
		return false, false
	case list == strict:
		return wild(strings.ToLower(r.Spec), strings.ToLower(text)) || wild(strings.ToLower(r.Spec), strings.ToLower(a.String())) || wild(r.Spec, a.String()), false
	}
	scheme, rest, _ := strings.Cut(r.Spec, "://")
	host, tail, _ := strings.Cut(rest, "/")
	host, port := cutPort(host)
	if scheme != a.scheme || port != a.port || !wild("/"+tail, a.path) {
		return false, false
	}
	return hostFits(host, a.host)
}

func hostFits(pattern, host string) (ok, named bool) {
	if pattern == "*" {
		return true, false
	}
	if below, star := strings.CutPrefix(pattern, "*."); star {
		h, err := parseHost(below)
		return err == nil && strings.HasSuffix(host, "."+h), false
	}
	h, err := parseHost(strings.Trim(pattern, "[]"))
	return err == nil && h == host, true
}

func (a address) String() string {
	host := a.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if a.port != "" {
		host += ":" + a.port
	}
	return a.scheme + "://" + host + a.path
}

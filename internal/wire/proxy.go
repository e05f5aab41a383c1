package wire

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// proxies makes the rule of the environment for proxies.
func proxies(env func(string) string) (func(*http.Request) (*url.URL, error), error) {
	get := func(names ...string) (string, string) {
		for _, n := range names {
			if v := strings.TrimSpace(env(n)); v != "" {
				return n, v
			}
		}
		return "", ""
	}
	plain := []string{"HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"}
	if env("REQUEST_METHOD") != "" {
		plain = plain[1:] // a CGI program: a header "Proxy" of the request sets HTTP_PROXY
	}
	forHTTP, err := proxyURL(get(plain...))
	if err != nil {
		return nil, err
	}
	forHTTPS, err := proxyURL(get("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"))
	if err != nil {
		return nil, err
	}
	_, list := get("NO_PROXY", "no_proxy")
	none := direct(list)
	return func(r *http.Request) (*url.URL, error) {
		p := forHTTP
		if r.URL.Scheme == "https" {
			p = forHTTPS
		}
		if p == nil || none(r.URL) {
			return nil, nil //nolint:nilnil // as http.Transport.Proxy has it
		}
		return p, nil
	}, nil
}

// proxyURL reads a setting; a proxy without a scheme speaks HTTP.
func proxyURL(name, value string) (*url.URL, error) {
	if value == "" {
		return nil, nil //nolint:nilnil // none
	}
	bad := func(what string) error { return fmt.Errorf("the proxy in %s can't be used: %s", name, what) }
	if !strings.Contains(value, "://") {
		value = "http://" + value
	}
	u, err := url.Parse(value)
	if err != nil {
		return nil, bad("it is no URL") // the error would show the password
	}
	if !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) {
		return nil, bad(fmt.Sprintf("its scheme is %q, not http, https or socks5", clip(u.Scheme, 20)))
	}
	if u.Hostname() == "" {
		return nil, bad("it names no host")
	}
	return u, nil
}

// direct makes the rule of NO_PROXY: a list of *, hosts (with their subdomains),
// .domains (subdomains only), addresses and ranges, each with a port or without.
// This machine is never reached through a proxy.
func direct(list string) func(*url.URL) bool {
	var rules []func(host, port string, ip netip.Addr) bool
	for _, rule := range strings.FieldsFunc(strings.ToLower(list), func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
		if rule == "*" {
			return func(*url.URL) bool { return true }
		}
		rules = append(rules, exempt(rule))
	}
	return func(u *url.URL) bool {
		host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
		ip, _ := netip.ParseAddr(host)
		ip = ip.Unmap().WithZone("")
		if host == "localhost" || strings.HasSuffix(host, ".localhost") || ip.IsLoopback() {
			return true
		}
		return slices.ContainsFunc(rules, func(r func(string, string, netip.Addr) bool) bool { return r(host, port(u), ip) })
	}
}

func exempt(rule string) func(host, port string, ip netip.Addr) bool {
	if prefix, err := netip.ParsePrefix(rule); err == nil {
		return func(_, _ string, ip netip.Addr) bool { return ip.IsValid() && prefix.Contains(ip) }
	}
	name, want := rule, ""
	if h, p, err := net.SplitHostPort(rule); err == nil {
		name, want = h, p
	}
	name = strings.Trim(name, "[]")
	if addr, err := netip.ParseAddr(name); err == nil {
		return func(_, port string, ip netip.Addr) bool { return ip == addr.Unmap() && (want == "" || want == port) }
	}
	name = strings.TrimPrefix(name, "*")
	below := strings.HasPrefix(name, ".")
	name = strings.Trim(name, ".")
	return func(host, port string, _ netip.Addr) bool {
		if want != "" && want != port {
			return false
		}
		return strings.HasSuffix(host, "."+name) || !below && host == name
	}
}

// refusal is a proxy's answer other than 200 to CONNECT.
type refusal struct {
	status int
	proxy  string // host
}

func (r *refusal) Error() string {
	return fmt.Sprintf("the proxy %s refused to connect: HTTP %d %s", r.proxy, r.status, http.StatusText(r.status))
}

// connected looks at a proxy's answer to CONNECT.
func connected(_ context.Context, proxy *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	return &refusal{resp.StatusCode, proxy.Host}
}

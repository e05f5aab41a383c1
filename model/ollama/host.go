package ollama

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// parseHost reads OLLAMA_HOST as Ollama itself does: host, host:port, :port, or a
// URL, whose default port is that of its scheme. An address that a server listens
// on, not one to call, means this machine. The result has no slash at its end.
func parseHost(s string) (*url.URL, error) {
	given := s
	s = strings.Trim(strings.TrimSpace(s), `"'`)
	scheme, rest, ok := strings.Cut(s, "://")
	port := "11434"
	switch {
	case !ok:
		scheme, rest = "http", s
		if host, _, _ := strings.Cut(s, "/"); host == "ollama.com" {
			scheme, port = "https", "443"
		}
	case strings.EqualFold(scheme, "http"):
		scheme, port = "http", "80"
	case strings.EqualFold(scheme, "https"):
		scheme, port = "https", "443"
	default:
		return nil, fmt.Errorf("the address of Ollama begins with %q, not with http or https", scheme)
	}
	u := &url.URL{Scheme: scheme}
	hostport, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(hostport, '@'); at >= 0 {
		with, err := url.Parse(scheme + "://" + hostport[:at] + "@host")
		if err != nil {
			return nil, fmt.Errorf("the name and password in the address of Ollama can't be read")
		}
		u.User, hostport = with.User, hostport[at+1:]
		given = hostport
	}
	host, p, err := net.SplitHostPort(hostport)
	if err != nil { // no port
		host, p = strings.Trim(hostport, "[]"), port
	}
	if n, err := strconv.Atoi(p); err != nil || n < 0 || n > 65535 {
		return nil, fmt.Errorf("the address of Ollama %q has no port that can be: %q", given, p)
	}
	if strings.ContainsAny(host, " \t\r\n?#%<>\\\"") {
		return nil, fmt.Errorf("the address of Ollama %q has no host that can be", given)
	}
	if ip := net.ParseIP(host); host == "" || host == "*" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip != nil && ip.To4() == nil {
			host = "::1"
		}
	}
	u.Host = net.JoinHostPort(host, p)
	path = strings.Trim(path, "/")
	for _, more := range []string{"api/chat", "api", "v1"} { // what people copy
		if path == more || strings.HasSuffix(path, "/"+more) {
			path = strings.Trim(strings.TrimSuffix(path, more), "/")
			break
		}
	}
	if path != "" {
		u.Path = "/" + path
	}
	return u, nil
}

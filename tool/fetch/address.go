package fetch

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
)

// special are the ranges that are not the public internet (IANA's registries of
// special-purpose addresses), each with what it is.
func special() []struct{ prefix, what string } {
	return []struct{ prefix, what string }{
		{"0.0.0.0/8", "this machine"},
		{"10.0.0.0/8", "a private network"},
		{"100.64.0.0/10", "a provider's own network"},
		{"127.0.0.0/8", "this machine"},
		{"169.254.0.0/16", "the local link, where clouds keep credentials"},
		{"172.16.0.0/12", "a private network"},
		{"192.0.0.0/24", "a protocol's own range"},
		{"192.0.2.0/24", "an example range"},
		{"192.88.99.0/24", "a relay"},
		{"192.168.0.0/16", "a private network"},
		{"198.18.0.0/15", "a test network"},
		{"198.51.100.0/24", "an example range"},
		{"203.0.113.0/24", "an example range"},
		{"224.0.0.0/4", "multicast"},
		{"240.0.0.0/4", "a reserved range"},

		{"::/128", "this machine"},
		{"::1/128", "this machine"},
		{"64:ff9b:1::/48", "a private network behind a translator"},
		{"fc00::/7", "a private network"},
		{"fe80::/10", "the local link"},
		{"fec0::/10", "a private network"},
		{"ff00::/8", "multicast"},
		{"2001::/23", "a protocol's own range"}, // Teredo, ORCHID
		{"2001:db8::/32", "an example range"},
		{"3fff::/20", "an example range"},
	}
}

// inner returns the IPv4 address that a translator or a tunnel makes of an IPv6
// one: mapped, NAT64 (RFC 6052), 6to4 (RFC 3056) and ISATAP (RFC 5214). Where the
// rest of the address says nothing, it is whole.
func inner(a netip.Addr) (v4 netip.Addr, whole, ok bool) {
	b := a.As16()
	const nat64 = "\x00\x64\xff\x9b\x00\x00\x00\x00\x00\x00\x00\x00"
	last := netip.AddrFrom4([4]byte(b[12:]))
	switch {
	case a.Is4In6(), strings.HasPrefix(string(b[:]), nat64):
		return last, true, true
	case b[0] == 0x20 && b[1] == 0x02:
		return netip.AddrFrom4([4]byte(b[2:6])), false, true
	case binary.BigEndian.Uint32(b[8:])&^0x02000000 == 0x00005efe:
		return last, false, true
	}
	return netip.Addr{}, false, false
}

// closed says what an address is if it is not the public internet, "" if it is.
func closed(a netip.Addr) string {
	switch {
	case !a.IsValid():
		return "no address"
	case a.Zone() != "":
		return "the local link"
	}
	if a.Is6() {
		v4, whole, ok := inner(a)
		if what := listed(v4); ok && what != "" {
			return what + " by way of " + v4.String()
		}
		if whole {
			return ""
		}
	}
	if what := listed(a); what != "" {
		return what
	}
	if a.Is6() && !netip.MustParsePrefix("2000::/3").Contains(a) {
		return "a range that the internet does not use"
	}
	return ""
}

func listed(a netip.Addr) string {
	for _, s := range special() {
		if netip.MustParsePrefix(s.prefix).Contains(a) {
			return s.what
		}
	}
	return ""
}

// homely says whether a name means something only in the network that one is in.
func homely(host string) bool {
	for _, end := range []string{"localhost", "local", "internal", "intranet", "lan", "home.arpa", "corp"} {
		if host == end || strings.HasSuffix(host, "."+end) {
			return true
		}
	}
	return !strings.Contains(host, ".")
}

// refusedError says why an address is not connected to.
type refusedError struct {
	host string
	addr netip.Addr // invalid: the name alone was enough
	what string
}

func (e *refusedError) Error() string {
	if !e.addr.IsValid() {
		return fmt.Sprintf("%s is a name of the local network", e.host)
	}
	if e.host == e.addr.String() {
		return fmt.Sprintf("%s is %s", e.addr, e.what)
	}
	return fmt.Sprintf("%s leads to %s, which is %s", e.host, e.addr, e.what)
}

package fetch

import (
	"context"
	"net/netip"
	"net/url"
)

// Convert is what becomes of HTML.
func Convert(src string, at *url.URL, limit int, bald bool) (title, text string, hidden int, cut bool) {
	p := convert(context.Background(), src, at, limit, bald)
	return p.title, p.text, p.hidden, p.cut
}

// Closed says what an address is if it is not of the public internet.
func Closed(a netip.Addr) string { return closed(a) }

package fetch

import (
	"errors"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/uzda-dev/uzda/internal/charset"
)

func asError[T any](err error, target *T) bool { return err != nil && errors.As(err, target) }

// saysCharset finds what a page says of its own encoding, in a meta tag of HTML or the
// first line of XML. Both are ASCII in all encodings that may be named there.
var saysCharset = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?is)<(?:meta\b[^>]{0,300}?\bcharset|\?xml\b[^>]{0,300}?\bencoding)\s*=\s*["']?\s*([a-z0-9_:.-]{1,40})`)
})

func declared(body []byte) string {
	const where = 4 << 10 // browsers look at 1 KiB
	if m := saysCharset().FindSubmatch(body[:min(len(body), where)]); m != nil {
		return string(m[1])
	}
	return ""
}

// decode returns the text of a page and how it was written. A hint is right if nearly
// all bytes fit it; cut says that the end is missing. The beginning of a long page
// tells its encoding, if the rest fits.
func decode(body []byte, hint string, cut bool) (text, enc string, ok bool) {
	const enough = 64 << 10
	if len(body) > enough {
		if e, ok := charset.DetectStart(body[:enough], hint); ok {
			if text, _ := e.Decode(body); nearly(text) {
				return text, e.String(), true
			}
		}
	}
	detect := charset.Detect
	if cut {
		detect = charset.DetectStart
	}
	e, ok := detect(body, hint)
	if named, known := charset.Lookup(hint); known && !e.BOM && (!ok || e.Name != named.Name) && e.Name != charset.UTF8 {
		if text, _ := named.Decode(body); nearly(text) {
			return text, named.String(), true
		}
	}
	if !ok {
		return "", "", false
	}
	text, _ = e.Decode(body) // what is damaged shows as U+FFFD
	return text, e.String(), true
}

// nearly says whether a text was decoded with few faults, and has none of the
// characters that only binary data has.
func nearly(text string) bool {
	bad, n := 0, 0
	for _, r := range text {
		if n++; r == utf8.RuneError || r < ' ' && !strings.ContainsRune("\t\n\r\f\x1b", r) {
			bad++
		}
	}
	return bad*200 <= n
}

// clean removes what nobody would see, but a model would read: control characters,
// Unicode's tags and other invisible characters that can carry text.
func clean(text string) string {
	if strings.IndexFunc(text, unseen) < 0 && !strings.Contains(text, "\r") {
		return text
	}
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	return strings.Map(func(r rune) rune {
		if unseen(r) {
			return -1
		}
		return r
	}, text)
}

func unseen(r rune) bool {
	switch {
	case r < ' ':
		return r != '\t' && r != '\n' && r != '\r'
	case r < 0xad:
		return r >= 0x7f && r < 0xa0
	case r == 0xad, r == 0x200b, r == 0xfeff, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f:
		return true
	}
	return r >= 0xe0000 && r <= 0xe0fff // tags, and 240 more variation selectors
}

package policy

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
)

// Secrets replaces the values of secrets that Uzda holds by {{secret:NAME}}, and
// puts them back into the input of a tool. In text that enters it also finds the
// values in base64 and in URLs, and tokens of a few well-known forms; those are
// replaced for good, by [redacted:RULE]. The full rule set for unknown secrets
// comes later. It is safe for concurrent use.
type Secrets struct {
	values map[string]string
	forms  []form // in the model's own words
	coded  []form // besides, in text that enters
}

// A form is a spelling of a value and what replaces it.
type form struct{ find, put string }

var _ uzda.Tailer = (*Secrets)(nil)

const secretOpen, secretClose = "{{secret:", "}}"

// MinSecret is the length in bytes from which a value can be a secret: a shorter
// one would be found in words that have nothing to do with it.
const MinSecret = 8

// NewSecrets returns a redactor for values by name. Values that are shorter than
// MinSecret, common words, names of the others or not UTF-8 are left out.
func NewSecrets(values map[string]string) *Secrets {
	s := &Secrets{values: map[string]string{}}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		v := values[name]
		if len(v) < MinSecret || !utf8.ValidString(v) || slices.Contains(commonWords, strings.ToLower(v)) {
			continue
		}
		if _, isName := values[v]; isName { // one variable names another
			continue
		}
		name = badName().ReplaceAllString(name, "_")
		s.values[name] = v
		s.add(name, v)
	}
	return s
}

var badName = lazily(`[^\pL\pN_.-]`)

// commonWords stand in variables of secrets where there is no secret.
var commonWords = []string{
	"password", "changeme", "change-me", "change_me", "disabled", "required", "optional", "undefined", "unlimited", "anonymous",
	"localhost", "development", "production", "your-api-key", "your_api_key", "placeholder", "example.com", "not-needed", "not_needed", "xxxxxxxx",
}

// keyNames are the names of variables that hold secrets.
var keyNames = lazily(`(?i)(^|_)(API_?KEY|ACCESS_?KEY|SECRET_?KEY|PRIVATE_?KEY|AUTH_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASS|PWD|PASSPHRASE)$`)

// keyLike are names that hold a secret if their value looks like one.
var (
	keyLike = lazily(`(?i)_KEY$`)
	random  = lazily(`^\S*(?:[0-9]\S*[A-Za-z]|[A-Za-z]\S*[0-9])\S*$`)
)

// notKeys look like them and hold a directory.
var notKeys = []string{"PWD", "OLDPWD"}

// FromEnv returns a redactor for the secrets in an environment, as os.Environ
// gives it: variables whose names end like those of keys, tokens and passwords,
// those that are named besides, and as NAME_PASSWORD the passwords in URLs of any
// variable.
func FromEnv(environ []string, named ...string) *Secrets {
	found := map[string]string{}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		value = strings.TrimSpace(value)
		isKey := slices.Contains(named, name) || keyNames().MatchString(name) && !slices.Contains(notKeys, strings.ToUpper(name))
		if isKey || keyLike().MatchString(name) && len(value) >= 16 && random().MatchString(value) {
			found[name] = value
			continue
		}
		if !strings.Contains(value, "://") {
			continue
		}
		if u, err := url.Parse(value); err == nil && u.User != nil {
			if p, ok := u.User.Password(); ok {
				found[name+"_PASSWORD"] = p
			}
		}
	}
	return NewSecrets(found)
}

// Names returns the names of the secrets, sorted.
func (s *Secrets) Names() []string { return slices.Sorted(maps.Keys(s.values)) }

func (s *Secrets) add(name, v string) {
	put := secretOpen + name + secretClose
	seen := map[string]bool{}
	to := func(list *[]form, find, put string) {
		if len(find) >= MinSecret && !seen[find] {
			seen[find] = true
			*list = append(*list, form{find, put})
		}
	}
	to(&s.forms, v, put)
	to(&s.forms, inJSON(v, false), put) // as it stands in a string of JSON
	to(&s.forms, inJSON(v, true), put)
	to(&s.coded, url.QueryEscape(v), redacted(name+" in a URL"))
	to(&s.coded, url.PathEscape(v), redacted(name+" in a URL"))
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for shift := range 3 {
			to(&s.coded, inside(enc, v, shift), redacted(name+" in base64"))
		}
	}
}

func redacted(rule string) string { return "[redacted:" + rule + "]" }

func inJSON(v string, html bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	if e.Encode(v) != nil {
		return v
	}
	out := strings.TrimSpace(b.String())
	return out[1 : len(out)-1]
}

// inside is the part of the base64 of any text with v in it that v alone decides,
// where v begins shift bytes after a group of three.
func inside(enc *base64.Encoding, v string, shift int) string {
	code := enc.EncodeToString([]byte("\x00\x00"[:shift] + v))
	from, to := 0, len(code)
	if shift > 0 {
		from = shift + 1 // these hold bits of what is before
	}
	if (shift+len(v))%3 > 0 {
		to-- // this may hold bits of what comes after
	}
	if to < from {
		return ""
	}
	return code[from:to]
}

// Redact replaces what must not be seen and says in how many places. Own text is
// the model's: there only the values themselves are replaced, also where they
// stand escaped in JSON.
func (s *Secrets) Redact(text string, own bool) (clean string, found int) {
	hits := places(nil, text, s.forms)
	if own {
		hits = outsideEscapes(hits, text)
	} else {
		hits = places(hits, text, s.coded)
		hits = tokens(hits, text)
	}
	if len(hits) == 0 {
		return text, 0
	}
	// What overlaps is replaced as one, under the name of the longest.
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	var out strings.Builder
	at := 0
	for i := 0; i < len(hits); {
		h := hits[i]
		longest := h
		for i++; i < len(hits) && hits[i].from < h.to; i++ {
			if next := hits[i]; next.to-next.from > longest.to-longest.from {
				longest = next
			}
			h.to = max(h.to, hits[i].to)
		}
		if longest.to-longest.from < h.to-h.from && strings.HasPrefix(longest.put, secretOpen) {
			longest.put = redacted(strings.TrimSuffix(strings.TrimPrefix(longest.put, secretOpen), secretClose))
		}
		out.WriteString(text[at:h.from])
		out.WriteString(longest.put)
		at = h.to
		found++
	}
	out.WriteString(text[at:])
	return out.String(), found
}

// A hit is a place in a text and what is put there.
type hit struct {
	from, to int
	put      string
}

// Begun returns the length of the longest end of text with which a value begins,
// as it is or as it stands in JSON.
func (s *Secrets) Begun(text string) int {
	most := 0
	for _, f := range s.forms {
		for n := min(len(f.find)-1, len(text)); n > most; n-- {
			if strings.HasSuffix(text, f.find[:n]) {
				most = n
			}
		}
	}
	return most
}

func places(hits []hit, text string, forms []form) []hit {
	for _, f := range forms {
		for at := 0; ; {
			i := strings.Index(text[at:], f.find)
			if i < 0 {
				break
			}
			hits = append(hits, hit{at + i, at + i + len(f.find), f.put})
			at += i + len(f.find)
		}
	}
	return hits
}

// outsideEscapes drops what only looks like a value in JSON, since it begins or
// ends within an escape, as in "\nabcdefg" or "\u001abcdefg": without it the text
// would be no JSON any more.
func outsideEscapes(hits []hit, text string) []hit {
	if len(hits) == 0 || !strings.Contains(text, `\`) || !json.Valid([]byte(text)) {
		return hits
	}
	return slices.DeleteFunc(hits, func(h hit) bool { return !json.Valid([]byte(text[:h.from] + h.put + text[h.to:])) })
}

// Reveal puts the values back where their names stand in the strings of a JSON
// text. Names that it does not know stay. The input is not changed.
func (s *Secrets) Reveal(input []byte) []byte {
	if !bytes.Contains(input, []byte(secretOpen)) {
		return input
	}
	var out []byte
	for {
		i := bytes.Index(input, []byte(secretOpen))
		if i < 0 {
			return append(out, input...)
		}
		rest := input[i+len(secretOpen):]
		end := bytes.Index(rest, []byte(secretClose))
		value, known := "", false
		if end >= 0 {
			value, known = s.values[string(rest[:end])]
		}
		if !known {
			out = append(out, input[:i+len(secretOpen)]...)
			input = rest
			continue
		}
		out = append(append(out, input[:i]...), inJSON(value, false)...)
		input = rest[end+len(secretClose):]
	}
}

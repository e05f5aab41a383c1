package modeltest

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// A checker reads one request and says all that is wrong with it.
type checker struct {
	s      *Server
	r      *Request
	wire   Wire
	rules  *Rules
	read   reading
	count  bool // it asks how many tokens there are, so it limits no reply
	faults []string
}

func (c *checker) fault(format string, args ...any) {
	if len(c.faults) < maxFaults {
		c.faults = append(c.faults, fmt.Sprintf(format, args...))
	}
}

// keyOf is the API key of a request, wherever the service wants it.
func keyOf(h http.Header) string {
	for _, name := range []string{"X-Api-Key", "Api-Key", "X-Goog-Api-Key"} {
		if k := h.Get(name); k != "" {
			return k
		}
	}
	key, ok := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	if !ok {
		return ""
	}
	return strings.TrimSpace(key)
}

// needsKey says whether a request needs an API key.
func (s *Server) needsKey(w Wire) bool {
	return w != WireOllama && !s.cfg.NoKey && s.cfg.Local.Kind == Hosted
}

// open checks what comes before the request itself; a status other than 0 ends it.
func (c *checker) open() int {
	if c.s.needsKey(c.wire) && keyOf(c.r.Header) == "" {
		c.fault("there is no API key in the headers")
		return http.StatusUnauthorized
	}
	if kind := c.r.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/json") {
		c.fault("the content type is %q, not application/json", kind)
	}
	doc, faults, err := readJSON(c.r.Body)
	for _, f := range faults {
		c.fault("%s", f)
	}
	switch {
	case err != nil:
		c.fault("the body is no JSON: %v", err)
	case doc.kind != '{':
		c.fault("the body is no JSON object")
	}
	c.r.doc = doc
	if err != nil || doc.kind != '{' {
		return http.StatusBadRequest
	}
	return 0
}

// members checks that an object has no other members than these.
func (c *checker) members(where string, v *value, known ...string) {
	for i, k := range v.keys {
		if !slices.Contains(known, k) && !c.welcome(k) && !c.s.isIssued(c.r.Model, k, string(v.vals[i].raw)) {
			c.fault("%s has the member %q, which is unknown here, or not as this server sent it", where, k)
		}
	}
}

// welcome says whether the rules name a member.
func (c *checker) welcome(name string) bool {
	return slices.Contains(c.rules.Members, name) || slices.Contains(c.rules.Members, "*")
}

// top reads what all wires have at the top.
func (c *checker) top(known []string) {
	doc := &c.r.doc
	for _, k := range doc.keys {
		if !slices.Contains(known, k) && !c.welcome(k) {
			c.fault("the request has the member %q, which is unknown here", k)
		}
	}
	model := doc.get("model")
	if c.r.Model = model.text; model.kind == 0 {
		c.r.Model = deployment(c.r.Path)
	}
	if c.r.Model == "" {
		c.fault("model is missing, or no string")
	}
	stream := doc.get("stream")
	if stream.kind != 0 && stream.kind != 't' {
		c.fault("stream is neither true nor false")
	}
	c.r.Stream = stream.yes()
	c.read.add("model", 0, 0, []byte(c.r.Model), 0, "")
}

// deployment is the model in a path of Azure's, "" in any other.
func deployment(path string) string {
	_, rest, _ := strings.Cut(path, "/openai/deployments/")
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// done keeps what was read.
func (c *checker) done() {
	c.r.Units = c.read.units
	for i := range c.r.Units {
		if u := &c.r.Units[i]; u.Part == "messages" && !u.around {
			sum := sha256.Sum256(u.Raw) // of the first message, or of its first block
			c.r.first = hex.EncodeToString(sum[:])
			return
		}
	}
}

// limit reads the most tokens that a reply may have.
func (c *checker) limit(keys ...string) bool {
	found := false
	for _, k := range keys {
		v := c.r.doc.get(k)
		if v.kind == 0 {
			continue
		}
		n, ok := v.integer()
		if !ok || n < 0 {
			c.fault("%s is %s, not a whole number of tokens", k, v.raw)
		}
		if found {
			c.fault("%s limits the reply a second time", k)
		}
		c.r.MaxTokens, found = max(n, 0), true
	}
	return found
}

// messages are the elements of a list that must not be empty.
func (c *checker) messages() []value {
	list := c.r.doc.get("messages")
	if list.kind != '[' || len(list.vals) == 0 {
		c.fault("messages is missing, empty, or no list")
	}
	c.r.Messages = len(list.vals)
	return list.vals
}

// media checks data of a picture or a document in base64.
func (c *checker) media(where, kind, data string) {
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil || len(raw) == 0 {
		c.fault("%s: its data is not base64", where)
		return
	}
	magic := map[string]string{
		"image/png": "\x89PNG\r\n\x1a\n", "image/jpeg": "\xff\xd8\xff", "image/gif": "GIF8", "image/webp": "RIFF", "application/pdf": "%PDF-",
	}[kind]
	switch {
	case magic == "":
		c.fault("%s: its type %q is none that models read", where, kind)
	case !bytes.HasPrefix(raw, []byte(magic)):
		c.fault("%s: its data is not %s", where, kind)
	case strings.HasPrefix(kind, "image/") && len(raw) > 5<<20:
		c.fault("%s: it has %d bytes, over 5 MiB", where, len(raw))
	}
}

// prose checks a text that must say something.
func (c *checker) prose(where string, v value) {
	if v.kind != '"' {
		c.fault("%s: its text is missing, or no string", where)
	} else if strings.TrimSpace(v.text) == "" {
		c.fault("%s: its text is empty", where)
	}
}

// pairs follows the calls of a request and their results.
type pairs struct {
	seen map[string]bool // ids of all calls so far
	left []string        // of the last message with calls, not answered yet
}

// use takes the id of a call.
func (p *pairs) use(c *checker, where, id string) {
	if p.seen == nil {
		p.seen = map[string]bool{}
	}
	if p.seen[id] {
		c.fault("%s: its id %q was used before", where, id)
	}
	p.seen[id] = true
	p.left = append(p.left, id)
}

// result takes the id of a result.
func (p *pairs) result(c *checker, where, id string) {
	i := slices.Index(p.left, id)
	switch {
	case i >= 0:
		p.left = slices.Delete(p.left, i, i+1)
	case p.seen[id]:
		c.fault("%s: the call %q is answered twice, or not by the message after it", where, id)
	default:
		c.fault("%s: there is no call %q that it answers", where, id)
	}
}

// settled checks that no call waits for its result.
func (p *pairs) settled(c *checker, where string) {
	for _, id := range p.left {
		c.fault("%s: the call %q has no result directly after it", where, id)
	}
	p.left = nil
}

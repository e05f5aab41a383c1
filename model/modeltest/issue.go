package modeltest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
)

// Sign is the signature that this server gives a thinking block of a model.
func (s *Server) Sign(model, text string) string { return s.sign(model, text, text) }

// sign makes the signature of what is shown of a thought. It proves the text
// and hides the thought, so the server needs to remember neither.
func (s *Server) sign(model, shown, thought string) string {
	secret := sha256.Sum256([]byte(thought))
	return base64.StdEncoding.EncodeToString(append(secret[:], s.proof(model, shown, secret[:])...))
}

func (s *Server) proof(model, shown string, secret []byte) []byte {
	mac := hmac.New(sha256.New, []byte("modeltest "+s.cfg.Name))
	mac.Write([]byte(model + "\x00"))
	mac.Write(secret)
	mac.Write([]byte(shown))
	return mac.Sum(nil)
}

// signed says whether this server has signed a text of a model so.
func (s *Server) signed(model, shown, signature string) bool {
	raw, err := base64.StdEncoding.DecodeString(signature)
	if err != nil || len(raw) != 2*sha256.Size {
		return false
	}
	return hmac.Equal(raw[sha256.Size:], s.proof(model, shown, raw[:sha256.Size]))
}

// anyModel stands for a model where a turn was not sent yet.
const anyModel = "*"

// issue keeps what may come back of a turn before it is sent: a client may go on
// with what it had of another process.
func (s *Server) issue(t *Turn) {
	shape := s.cfg.Shape
	if t.Shape != nil {
		shape = *t.Shape
	}
	s.issueTo(anyModel, t, &shape)
}

// issueTo keeps what of a turn goes back only as it came.
func (s *Server) issueTo(model string, t *Turn, shape *Shape) {
	parts := t.parts()
	thinking, details, n := "", "", 0
	for i := range parts {
		p := &parts[i]
		if p.Thinking != "" {
			text := quoted(p.Thinking, shape.ASCII)
			thinking += p.Thinking
			details = join(details, detail(fmt.Sprintf(`"text":%s,"signature":%s`, text, quoted(s.Sign(model, p.Thinking), false)), n))
			n++
			s.keep(model, "chunk", text)
		}
		if p.Raw != nil {
			s.keepBlock(model, "block", p.Raw)
			if t.Stop == "pause_turn" && i == len(parts)-1 {
				s.keepBlock(model, "pause", p.Raw)
			}
		}
		if p.Call != nil {
			s.keepMembers(model, p.Call.Extra)
		}
	}
	if thinking != "" {
		text := quoted(thinking, shape.ASCII)
		s.keep(model, "thinking", text) // Ollama
		switch name := shape.reasoning(); name {
		case ReasoningContent:
		case ReasoningDetails:
			s.keep(model, name, "["+details+"]")
			s.keep(model, "reasoning", text)
		default:
			s.keep(model, name, text)
		}
	}
	if t.Refusal != "" {
		s.keep(model, "refusal", quoted(t.Refusal, shape.ASCII))
	}
	s.keepMembers(model, t.Extra)
	if shape.Extra {
		s.keep(model, "zz_new", `{"kept":true}`)
	}
}

// keepBlock keeps a block that goes back byte for byte.
func (s *Server) keepBlock(model, name string, raw []byte) { s.keep(model, name, exact(raw)) }

// exact is bytes as a JSON string, so that nothing in them is put in order.
func exact(raw []byte) string { return quoted(string(raw), false) }

// ordered writes JSON with the members of objects in the order of their names, and
// without those that are null; strings and numbers stay byte for byte. Folding
// deltas may add members in any order.
func ordered(raw string) string {
	v, _, err := readJSON([]byte(raw))
	if err != nil {
		return raw
	}
	return v.ordered()
}

func (v *value) ordered() string {
	var parts []string
	switch v.kind {
	case '[':
		for i := range v.vals {
			parts = append(parts, v.vals[i].ordered())
		}
		return "[" + strings.Join(parts, ",") + "]"
	case '{':
		for i, k := range v.keys {
			if v.vals[i].kind != 'n' {
				parts = append(parts, quoted(k, false)+":"+v.vals[i].ordered())
			}
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ",") + "}"
	}
	return string(v.raw)
}

func (s *Server) keepMembers(model string, object []byte) {
	v, _, err := readJSON(object)
	if err != nil {
		return
	}
	for i, k := range v.keys {
		s.keep(model, k, string(v.vals[i].raw))
	}
}

func (s *Server) keep(model, name, raw string) {
	key := name + "\x00" + ordered(raw)
	if s.issued[key] == nil {
		s.issued[key] = map[string]bool{}
	}
	s.issued[key][model] = true
}

// isIssued says whether the server sent this to the model, or may have before it
// was started.
func (s *Server) isIssued(model, name, raw string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	to := s.issued[name+"\x00"+ordered(raw)]
	return to[model] || len(to) == 1 && to[anyModel]
}

// An echo is a member that must go back with a call: of the call, or of the
// message around it.
type echo struct {
	name, raw string
	around    bool
}

func (s *Server) echoOf(id string) []echo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.echo[id]
}

// issueFor keeps what goes to the model of a request, and what its calls must
// bring back.
func (s *Server) issueFor(r *Request, t *Turn, shape *Shape, ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.issueTo(r.Model, t, shape)
	thinking, call := "", 0
	for _, p := range t.parts() {
		thinking += p.Thinking
		if p.Call == nil || !s.cfg.Rules.Echo {
			continue
		}
		var all []echo
		if call == 0 && thinking != "" {
			all = append(all, echo{shape.reasoning(), quoted(thinking, shape.ASCII), true})
		}
		v, _, _ := readJSON(p.Call.Extra) // what is broken has no members
		for i, k := range v.keys {
			all = append(all, echo{k, string(v.vals[i].raw), false})
		}
		s.echo[ids[call]] = all
		call++
	}
}

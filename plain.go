package uzda

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// settle returns b as decoding raw, its encoding, gives it, and the encoding of
// that: what Append returns is what Read will, and encoding it again gives the
// same bytes. Decoding costs more than the rest of a step, so the kinds of every
// step are looked at first: most are plain, that is they come back as they are.
func settle(b Body, raw []byte) (Body, []byte, error) {
	if plain(b) {
		return b, raw, nil
	}
	settled, err := codecs[b.Kind()].decode(raw)
	if err != nil {
		return nil, nil, err
	}
	raw, err = appendBody(raw[:0], settled)
	return settled, raw, err
}

func plain(b Body) bool {
	switch b := b.(type) {
	case Asked:
		return valid(b.Model, b.Hash, b.Tail) && plainHold(b.Hold)
	case Judged:
		v := b.Verdict
		return valid(string(b.Use), b.By, b.Hash, b.Preview) && plainRaw(b.Input) &&
			valid(string(v.Decision), v.Reason, v.Rule, v.Origin)
	case Started:
		return valid(string(b.Use), b.Spec, b.Args, b.Key)
	case Said:
		return valid(string(b.Stop), b.Raw, b.Detail, b.Model, b.Request) && plainMessage(b.Message)
	case Returned:
		return b.Pending == nil && valid(b.Fatal) && plainResult(b.Result)
	case Used:
		return valid(b.For, b.Model)
	case Ended:
		return valid(b.Outcome, string(b.Reason), b.Detail, b.Hint)
	case Posted:
		for _, one := range b.Blocks {
			if _, ok := one.(Text); !ok {
				return false // encoding/json rewrites raw JSON
			}
		}
		return valid(b.ID, b.By) && plainBlocks(b.Blocks)
	}
	return false
}

func plainMessage(m Message) bool {
	if o := m.Origin; o != nil && !valid(o.Profile, o.Base, o.Account, o.Model) {
		return false
	}
	for _, it := range m.Items {
		if len(it.Raw) == 0 || !plainRaw(it.Raw) {
			return false
		}
	}
	return valid(string(m.Role)) && plainBlocks(m.Blocks) && (m.Items == nil || len(m.Items) > 0) && m.Repairs == nil
}

func plainBlocks(bs Blocks) bool {
	for _, b := range bs {
		if !plainLabels(b.Marks()) {
			return false
		}
		switch b := b.(type) {
		case Text:
			if !valid(b.Text) {
				return false
			}
		case Thinking:
			if !valid(b.Text, b.Signature) {
				return false
			}
		case ToolUse:
			if !valid(string(b.ID), b.Wire, b.Name, b.Raw) || !plainRaw(b.Input) {
				return false
			}
		case ToolResult:
			if !plainResult(b) {
				return false
			}
		default:
			return false
		}
	}
	return bs != nil
}

func plainResult(r ToolResult) bool {
	return plainLabels(r.Labels) && valid(string(r.Use), string(r.Code), string(r.Effect)) &&
		plainBlocks(r.Blocks) && (r.Full == nil || valid(r.Full.Blob)) &&
		(r.People == nil || len(r.People) > 0 && plainBlocks(r.People))
}

func plainHold(h Hold) bool {
	if h.ID == "" {
		return h.Accounts == nil && h.Amount == 0
	}
	for _, a := range h.Accounts {
		if !valid(a.Name) {
			return false
		}
	}
	return valid(h.ID)
}

func plainLabels(ls []Label) bool {
	for _, l := range ls {
		if !valid(l.Kind, l.From) {
			return false
		}
	}
	return ls == nil || len(ls) > 0
}

// plainRaw says whether raw, which is known to be JSON, is written and read as
// it is: on one line and without white space around it.
func plainRaw(raw json.RawMessage) bool {
	if len(raw) == 0 {
		return raw == nil
	}
	return raw[0] > ' ' && raw[len(raw)-1] > ' ' && !bytes.ContainsAny(raw, "\n\r")
}

func valid(texts ...string) bool {
	for _, s := range texts {
		if !utf8.ValidString(s) {
			return false
		}
	}
	return true
}

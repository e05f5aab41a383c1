package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/uzda-dev/uzda/internal/raw"
)

// calls puts the calls of a message together. Services number and name them in
// every way, and some in none, so a call is neither its index nor its id: the
// records stay in the order in which the calls began, and the indexes and ids
// under which each was heard of lead to it.
type calls struct {
	list    []*call
	byIndex map[string]*call // the latest with that index, as it was written
	byID    map[string]*call // the latest with that id
	known   func(name string) bool
}

// A call is one that is being put together.
type call struct {
	index  string // as it was written, "" for none
	id     string
	kind   string // its type, if it says one
	name   string
	args   raw.Text
	closed bool            // the last piece of args ends in a brace
	value  json.RawMessage // of arguments that came as anything but a string
	outer  raw.Fold        // the members of the call
	inner  raw.Fold        // the members of its function
	place  int             // of its block
}

// maxCalls bounds the calls of one reply. The loop hears fewer.
const maxCalls = 4000

var errCalls = errors.New("a reply has too many calls")

// custom is the string of a custom tool's call that comes in pieces.
var custom = raw.Joined("custom.input")

// A piece is what one delta says of a call.
type piece struct {
	index, id, name string
	args            json.RawMessage // "" if there are none
	call, function  raw.Object
}

// parse reads a piece into the room that p has already.
func (p *piece) parse(data json.RawMessage) bool {
	*p = piece{call: p.call, function: p.function}
	if p.call.Parse(data) != nil {
		return false
	}
	if p.index = string(p.call.Get("index")); p.index == "null" {
		p.index = ""
	}
	p.id = text(p.call.Get("id"))
	if inner := p.call.Get("function"); len(inner) > 0 && inner[0] == '{' {
		_ = p.function.Parse(inner) // it is part of what was parsed
	} else {
		p.flat()
	}
	p.name = text(p.function.Get("name"))
	if p.args = p.function.Get("arguments"); string(p.args) == "null" {
		p.args = nil
	}
	return true
}

// flat takes the function from a call without the layer between.
func (p *piece) flat() {
	p.function = raw.Object{}
	name, args := p.call.Get("name"), p.call.Get("arguments")
	if name == nil && args == nil {
		return
	}
	p.function.Set("name", name)
	if args != nil {
		p.function.Set("arguments", args)
	}
	p.call = p.call.Clone()
	p.call.Delete("name")
	p.call.Delete("arguments")
}

// text is the text of a JSON string, "" for anything else.
func text(v json.RawMessage) string {
	s, _ := raw.String(v)
	return s
}

// add takes one piece; whole: it is a call of its own. It returns the call and
// what is new of its arguments.
func (cs *calls) add(p *piece, whole bool) (c *call, fresh string, err error) {
	if !whole {
		c = cs.find(p)
	}
	if c == nil {
		if len(cs.list) >= maxCalls {
			return nil, "", errCalls
		}
		c = &call{outer: raw.Fold{Joins: custom}, place: -1}
		cs.list = append(cs.list, c)
	}
	if cs.byID == nil {
		cs.byIndex, cs.byID = map[string]*call{}, map[string]*call{}
	}
	if p.index != "" {
		c.index = p.index
		cs.byIndex[p.index] = c
	}
	if p.id != "" {
		c.id = p.id
		cs.byID[p.id] = c
	}
	fresh, err = c.take(p, cs.known)
	return c, fresh, err
}

// find returns the call that a piece goes on with, nil if it begins one.
func (cs *calls) find(p *piece) *call {
	if len(cs.list) == 0 {
		return nil
	}
	if p.id == "" {
		return cs.nameless(p)
	}
	c := cs.byID[p.id]
	if c == nil {
		// The id may be late. Otherwise it is another call, also under an index that
		// was used before.
		if c = cs.byIndex[p.index]; p.index == "" && p.name == "" {
			c = cs.list[len(cs.list)-1]
		}
		if c != nil && c.id == "" && (p.name == "" || c.name == "" || c.name == p.name) {
			return c
		}
		return nil
	}
	if p.index != "" && c.index != "" && p.index != c.index {
		if c = cs.byIndex[p.index]; c == nil || c.id != p.id {
			return nil // two calls with one id
		}
	}
	if (p.complete() && !c.same(p) || p.name != "" && p.name != c.name) && c.whole() {
		return nil
	}
	return c
}

// nameless is find for a piece without an id.
func (cs *calls) nameless(p *piece) *call {
	c := cs.list[len(cs.list)-1]
	if p.index != "" {
		if c = cs.byIndex[p.index]; c == nil {
			return nil
		}
	}
	said := c.args.Len() > 0 || c.value != nil
	switch {
	case p.name == "" || c.name == "":
		return c
	case c.name == p.name:
		if said && p.index == "" && p.complete() || c.whole() {
			return nil
		}
	case said, cs.isKnown(c.name) && cs.isKnown(p.name):
		return nil
	}
	return c
}

func (cs *calls) isKnown(name string) bool { return cs.known != nil && cs.known(name) }

// whole says whether the arguments are an object by now. It decides only whether
// a new piece can belong to the call.
func (c *call) whole() bool { return c.value != nil || c.closed && isObject(c.args.String()) }

// complete says whether a piece has all of its arguments.
func (p *piece) complete() bool {
	n := len(p.args)
	return n > 0 && p.args[0] == '{' || n > 3 && p.args[1] == '{' && p.args[n-2] == '}' && isObject(text(p.args))
}

// same says whether a piece repeats what is there.
func (c *call) same(p *piece) bool {
	if c.value != nil {
		return bytes.Equal(c.value, raw.Compact(p.args))
	}
	return c.args.String() == text(p.args)
}

func isObject(s string) bool {
	s = strings.Trim(s, " \t\r\n")
	return s != "" && s[0] == '{' && s[len(s)-1] == '}' && json.Valid([]byte(s))
}

// nothing says whether arguments are what services write for none: the loop
// takes them for {} and names no repair.
func nothing(s string) bool {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, `"`) {
		if inner, ok := raw.String([]byte(s)); ok {
			s = strings.TrimSpace(inner)
		}
	}
	return s == "" || s == "null"
}

// take folds a piece in.
func (c *call) take(p *piece, known func(string) bool) (fresh string, err error) {
	for key, value := range p.call.All() {
		switch key {
		case "index":
			continue
		case "function", "id":
			value = null // its place; what it is comes at the end
		case "type":
			if t := text(value); t != "" {
				c.kind = t
			}
		}
		if _, err := c.outer.Add(key, value); err != nil {
			return "", err
		}
	}
	for key, value := range p.function.All() {
		if key == "name" || key == "arguments" {
			value = null
		}
		if _, err := c.inner.Add(key, value); err != nil {
			return "", err
		}
	}
	c.named(p.name, known)
	n := len(p.args)
	switch {
	case n == 0:
		return "", nil
	case p.args[0] != '"':
		c.value = bytes.Clone(raw.Compact(p.args))
		return "", nil
	case p.complete() && c.whole():
		return "", nil // the same once more, as some services end a stream
	}
	if n > 2 {
		c.closed = p.args[n-2] == '}'
	}
	return c.args.Add(p.args)
}

// named takes a piece of the name: the whole again, more of it, or the name so
// far with more behind it. The tools that are offered decide where that is unclear.
func (c *call) named(piece string, known func(string) bool) {
	is := func(name string) bool { return known != nil && known(name) }
	switch {
	case piece == "":
	case c.name == "":
		c.name = piece
	case c.name == piece:
		if is(c.name+piece) && !is(c.name) {
			c.name += piece
		}
	case strings.HasPrefix(piece, c.name) && is(piece) && !is(c.name+piece):
		c.name = piece
	case is(c.name) && !is(c.name+piece):
	case len(c.name)+len(piece) <= 4096:
		c.name += piece
	}
}

// input returns the arguments: an object, or what came instead.
func (c *call) input() (in json.RawMessage, bad string) {
	s := c.args.String()
	if c.value != nil {
		s = string(c.value)
	}
	switch {
	case nothing(s):
		return json.RawMessage("{}"), ""
	case isObject(s):
		return json.RawMessage(strings.Trim(s, " \t\r\n")), ""
	}
	return json.RawMessage("{}"), s
}

// other says whether this is no call of a function.
func (c *call) other() bool {
	return c.inner.Len() == 0 && c.id != "" && c.kind != "" && c.kind != "function"
}

// json is the call as it goes back.
func (c *call) json(id string) json.RawMessage {
	c.outer.Set("id", raw.AppendString(nil, id))
	if c.other() {
		return c.outer.JSON()
	}
	c.outer.Set("type", json.RawMessage(`"function"`))
	args := c.args.Raw()
	if c.value != nil {
		args = raw.AppendString(nil, string(c.value))
	} else if nothing(c.args.String()) {
		args = json.RawMessage(`"{}"`)
	}
	c.inner.Set("name", raw.AppendString(nil, c.name))
	c.inner.Set("arguments", args)
	c.outer.Set("function", c.inner.JSON())
	return c.outer.JSON()
}

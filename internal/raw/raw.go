// Package raw handles JSON that must go back to a provider as it came: members in
// their order, values byte for byte.
package raw

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"unicode/utf8"
)

// An Object is a JSON object with its members in order. The zero value is {}. A
// copy shares its members with the original; see Clone.
type Object struct {
	members []member
}

type member struct {
	key  []byte // the name as it is written, with quotes
	name string // the name, where it is written otherwise or kept from an earlier one
	raw  json.RawMessage
}

// newMember makes a member; plain: its name is surely written as it is.
func newMember(key []byte, plain bool, raw json.RawMessage) member {
	m := member{key: key, raw: raw}
	if !plain && (bytes.IndexByte(key, '\\') >= 0 || !utf8.Valid(key)) {
		m.name = unquote(key)
	}
	return m
}

func (m *member) is(name string) bool {
	if m.name != "" {
		return m.name == name
	}
	return string(m.key[1:len(m.key)-1]) == name
}

func (m *member) text() string {
	if m.name != "" {
		return m.name
	}
	return known(m.key[1 : len(m.key)-1])
}

// many is the number of members above which a map finds them while they are read.
const many = 32

// Parse reads an object. Of members with one name the last value counts, at the
// place of the first. Values are slices of raw, not copies, and so good as long
// as it is. Control characters that a server did not escape are accepted (in a
// copy, where they are). See [MaxDepth] and [MaxSize] for what is refused besides
// what is no JSON object.
func Parse(raw []byte) (Object, error) {
	var o Object
	err := o.Parse(raw)
	return o, err
}

// Parse is the function [Parse] in the room that o has already, as for the deltas
// of a stream, which mostly have the same names. What o and its copies held is
// gone, also if there is an error.
func (o *Object) Parse(raw []byte) error {
	err := o.parse(raw)
	if err == nil {
		return nil
	}
	if mended := escapeBare(raw); mended != nil && o.parse(mended) == nil {
		return nil
	}
	o.members = o.members[:0]
	return err
}

func parse(raw []byte) (Object, error) {
	var o Object
	err := o.parse(raw)
	return o, err
}

func (o *Object) parse(raw []byte) error {
	room := o.members[:cap(o.members)]
	o.members = o.members[:0]
	s := scanner{b: raw}
	switch {
	case len(raw) == 0:
		return errNothing
	case len(raw) > MaxSize:
		return errSize
	case s.peek() != '{':
		return s.fault("an object")
	case room == nil:
		o.members = make([]member, 0, 8)
	}
	var places map[string]int
	err := s.object(0, func(key []byte) error {
		plain := s.plain
		v, err := s.value(1)
		if err != nil {
			return err
		}
		m := newMember(key, plain, v)
		if n := len(o.members); m.name == "" && n < len(room) {
			m.name = same(room[n].name, key[1:len(key)-1])
		}
		places = o.put(m, places)
		return nil
	})
	if err == nil {
		err = s.end()
	}
	return err
}

// same is string(b), without allocating if that is s, or a name that nearly every
// delta has.
func same(s string, b []byte) string {
	if s == string(b) {
		return s
	}
	return known(b)
}

// known is string(b), without allocating for names that nearly every delta has.
func known(b []byte) string {
	switch string(b) {
	case "id":
		return "id"
	case "name":
		return "name"
	case "role":
		return "role"
	case "text":
		return "text"
	case "type":
		return "type"
	case "delta":
		return "delta"
	case "index":
		return "index"
	case "input":
		return "input"
	case "usage":
		return "usage"
	case "content":
		return "content"
	case "message":
		return "message"
	case "function":
		return "function"
	case "arguments":
		return "arguments"
	case "tool_calls":
		return "tool_calls"
	case "partial_json":
		return "partial_json"
	case "content_block":
		return "content_block"
	}
	return string(b)
}

// put adds a member, or its value to one of that name. Places are those of the
// names, nil while they are few.
func (o *Object) put(m member, places map[string]int) map[string]int {
	i := -1
	if places != nil {
		if at, ok := places[m.text()]; ok {
			i = at
		}
	} else if m.name != "" {
		i = o.find(m.name)
	} else {
		i = o.find(string(m.key[1 : len(m.key)-1]))
	}
	if i >= 0 {
		o.members[i].raw = m.raw
		return places
	}
	o.members = append(o.members, m)
	switch n := len(o.members); {
	case n == many:
		places = make(map[string]int, 2*many)
		for i := range o.members {
			places[o.members[i].text()] = i
		}
	case n > many:
		places[m.text()] = n - 1
	}
	return places
}

func (o *Object) find(name string) int {
	for i := range o.members {
		if o.members[i].is(name) {
			return i
		}
	}
	return -1
}

// Get returns the value of a member, nil if there is none.
func (o *Object) Get(key string) json.RawMessage {
	if i := o.find(key); i >= 0 {
		return o.members[i].raw
	}
	return nil
}

// Set gives a member a value, at its place or at the end. The value must be JSON
// and is kept, not copied; an empty one is null.
func (o *Object) Set(key string, value json.RawMessage) {
	if len(value) == 0 {
		value = json.RawMessage("null")
	}
	if i := o.find(key); i >= 0 {
		o.members[i].raw = value
		return
	}
	o.members = append(o.members, newMember(AppendString(nil, key), false, value))
}

// Delete takes a member out, if it is there.
func (o *Object) Delete(key string) {
	if i := o.find(key); i >= 0 {
		o.members = slices.Delete(o.members, i, i+1)
	}
}

// Clone returns an object whose members can be set without setting those of o.
// The bytes of the values are shared.
func (o *Object) Clone() Object { return Object{members: slices.Clone(o.members)} }

// Len is the number of members.
func (o *Object) Len() int { return len(o.members) }

// All yields the members in order.
func (o *Object) All() iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		for i := range o.members {
			if !yield(o.members[i].text(), o.members[i].raw) {
				return
			}
		}
	}
}

// Append appends the object: without white space between members, names and
// values as they came.
func (o *Object) Append(dst []byte) []byte {
	dst = append(dst, '{')
	for i, m := range o.members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, m.key...)
		dst = append(dst, ':')
		dst = append(dst, m.raw...)
	}
	return append(dst, '}')
}

// MarshalJSON is Append.
func (o Object) MarshalJSON() ([]byte, error) { return o.Append(nil), nil }

// AppendElements appends the elements of an array to dst, in order, as slices of
// raw. What is no JSON array is an error, and appends nothing.
func AppendElements(dst []json.RawMessage, raw []byte) ([]json.RawMessage, error) {
	s := scanner{b: raw}
	switch {
	case len(raw) > MaxSize:
		return dst, errSize
	case s.peek() != '[':
		return dst, errArray
	}
	n := len(dst)
	err := s.array(0, func(int) error {
		v, err := s.value(1)
		dst = append(dst, v)
		return err
	})
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return dst[:n], err
	}
	return dst, nil
}

var errArray = errors.New("JSON array expected")

// Elements yields the elements of an array in order, as slices of raw. What is no
// JSON array is an error, before the first element.
func Elements(raw []byte) (iter.Seq2[int, json.RawMessage], error) {
	v, err := whole(raw)
	if err != nil {
		return nil, err
	}
	if v[0] != '[' {
		return nil, errArray
	}
	return func(yield func(int, json.RawMessage) bool) {
		s := scanner{b: v}
		_ = s.array(0, func(i int) error {
			v, _ := s.value(1)
			if !yield(i, v) {
				return errStop
			}
			return nil
		})
	}, nil
}

// SetPath returns raw with one value replaced and every other byte as it was.
// The path goes down by names (string) and indexes (int), and all of it must be
// there; of members with one name the last counts, as it does for readers.
func SetPath(raw, value json.RawMessage, path ...any) (json.RawMessage, error) {
	if _, err := whole(raw); err != nil {
		return nil, fmt.Errorf("set %v: %w", path, err)
	}
	s := scanner{b: raw}
	v, _ := s.value(0)
	to := s.at
	from := to - len(v)
	for i, step := range path {
		f, t, ok := child(raw[from:to], step)
		if !ok {
			return nil, fmt.Errorf("set %v: there is no %v", path, path[:i+1])
		}
		from, to = from+f, from+t
	}
	out := make([]byte, 0, len(raw)-(to-from)+len(value))
	out = append(out, raw[:from]...)
	out = append(out, value...)
	return append(out, raw[to:]...), nil
}

// child returns where in the value b, which is JSON, the value of a step lies.
func child(b []byte, step any) (from, to int, ok bool) {
	s := scanner{b: b}
	found := func(here bool) error {
		v, err := s.value(1)
		if here {
			from, to, ok = s.at-len(v), s.at, true
		}
		return err
	}
	switch step := step.(type) {
	case string:
		if s.peek() == '{' {
			_ = s.object(0, func(key []byte) error { return found(unquote(key) == step) })
		}
	case int:
		if s.peek() == '[' {
			_ = s.array(0, func(i int) error { return found(i == step) })
		}
	}
	return from, to, ok
}

// Compact takes white space out of JSON and changes nothing else; without any it
// returns raw itself. What is no JSON comes back as it is.
func Compact(raw []byte) json.RawMessage {
	if !bytes.ContainsAny(raw, " \t\r\n") {
		return raw
	}
	if _, err := whole(raw); err != nil {
		return raw
	}
	out := make([]byte, 0, len(raw))
	s := scanner{b: raw}
	for s.at < len(raw) {
		switch c := raw[s.at]; c {
		case ' ', '\t', '\n', '\r':
			s.at++
		case '"':
			str, _ := s.str()
			out = append(out, str...)
		default:
			out = append(out, c)
			s.at++
		}
	}
	return out
}

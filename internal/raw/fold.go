package raw

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Joins says which strings of an object come in pieces.
type Joins struct {
	here  bool
	below map[string]*Joins
}

// Joined returns the Joins of the members at these paths: names with dots
// between, elements of arrays left out, as in "reasoning_details.text".
func Joined(paths ...string) *Joins {
	root := &Joins{}
	for _, p := range paths {
		j := root
		for name := range strings.SplitSeq(p, ".") {
			if j.below == nil {
				j.below = map[string]*Joins{}
			}
			if j.below[name] == nil {
				j.below[name] = &Joins{}
			}
			j = j.below[name]
		}
		j.here = true
	}
	return root
}

func (j *Joins) at(name string) *Joins {
	if j == nil {
		return nil
	}
	return j.below[name]
}

// A Fold puts an object together that comes in deltas, some of whose members
// nobody knows yet. Members stay in the order in which they first came. Of two
// values for one member
//
//   - strings named by Joins are joined, as a [Text];
//   - objects are folded into one;
//   - objects in arrays are folded into the one that they continue: the last with
//     the same "index", or where there is no index, the first of a delta into the
//     last of the array, if it has a member that Joins names. None continues one
//     that has another string where Joins names none (a type, an id, a signature).
//     What continues none is appended;
//   - of all else the last counts, but null, "", [] and {} never replace anything.
//
// Content that is now a string, now an array of parts, as in Chat Completions, is
// an array from then on: the string is a part of type "text", if Joins names the
// "text" of the parts.
//
// The zero value joins nothing. A Fold copies what it keeps.
type Fold struct {
	Joins *Joins

	root node
	size int
}

// maxFold is how deep objects are folded; what is deeper is one value.
const maxFold = 8

// maxEntries bounds the objects of an array and the members of an object, as each
// delta is compared with all of them.
const maxEntries = 1000

// A node is a value that is being folded: one of its fields is set.
type node struct {
	text    *Text
	members []*slot
	entries []*entry
	raw     json.RawMessage
}

type slot struct {
	name string
	key  []byte // how the name is written; nil: as AppendString writes it
	node
}

func (s *slot) appendKey(dst []byte) []byte {
	if s.key != nil {
		return append(dst, s.key...)
	}
	return AppendString(dst, s.name)
}

type entry struct {
	index string // raw, "" if it has none
	node
}

// Add folds one member of a delta in. For a string that Joins names, fresh is
// what [Text.Add] returns. Values that are no JSON, too many of them, or more
// than [MaxSize] bytes in all are errors.
func (f *Fold) Add(key string, value json.RawMessage) (fresh string, err error) {
	if f.size += len(value); f.size > MaxSize {
		return "", errSize
	}
	v, err := whole(value)
	if err != nil {
		return "", fmt.Errorf("fold %s: %w", key, err)
	}
	j := f.Joins.at(key)
	s, err := f.root.slot(key, nil)
	if err != nil {
		return "", fmt.Errorf("fold %s: %w", key, err)
	}
	if j != nil && j.here && v[0] == '"' && s.entries == nil {
		return s.join(v)
	}
	if err := s.fold(v, j, 1); err != nil {
		return "", fmt.Errorf("fold %s: %w", key, err)
	}
	return "", nil
}

// Set gives a member a value, whatever it had, at its place or at the end. The
// value must be JSON.
func (f *Fold) Set(key string, value json.RawMessage) {
	s := f.root.member(key)
	if s == nil {
		s = &slot{name: key}
		f.root.members = append(f.root.members, s)
	}
	s.node = node{raw: bytes.Clone(value)}
	f.size += len(value)
}

// Text returns a member that Joins names and that came as a string, else nil.
func (f *Fold) Text(key string) *Text {
	if s := f.root.member(key); s != nil {
		return s.text
	}
	return nil
}

// Len is the number of members.
func (f *Fold) Len() int { return len(f.root.members) }

// JSON returns the object as it is by now, as [Mend] returns it. Values have the
// bytes that came, but for white space between members.
func (f *Fold) JSON() json.RawMessage {
	if len(f.root.members) == 0 {
		return json.RawMessage("{}")
	}
	return Mend(f.root.append(make([]byte, 0, min(f.size, 16<<10)+64)))
}

func (n *node) member(name string) *slot {
	for _, s := range n.members {
		if s.name == name {
			return s
		}
	}
	return nil
}

// slot returns the member of that name, a new one if need be; key is how the
// name is written, nil if that is unknown. Most objects have few members.
func (n *node) slot(name string, key []byte) (*slot, error) {
	if s := n.member(name); s != nil {
		return s, nil
	}
	if len(n.members) >= maxEntries {
		return nil, fmt.Errorf("an object has more than %d members", maxEntries)
	}
	s := &slot{name: name}
	if key != nil && !plainKey(key) {
		s.key = bytes.Clone(key)
	}
	if n.members == nil {
		n.members = make([]*slot, 0, 4)
	}
	n.members = append(n.members, s)
	return s, nil
}

// plainKey says whether a name is surely written as AppendString writes it.
func plainKey(key []byte) bool {
	for _, c := range key[1 : len(key)-1] {
		if !usual[c] {
			return false
		}
	}
	return true
}

func (n *node) join(v []byte) (string, error) {
	if n.text == nil {
		*n = node{text: &Text{}}
	}
	return n.text.Add(v)
}

// fold folds the value v into the node.
func (n *node) fold(v []byte, j *Joins, depth int) error {
	switch c := v[0]; {
	case hollow(v):
		if n.none() && !bytes.Equal(n.raw, v) {
			n.raw = bytes.Clone(v)
		}
		return nil
	case c == '"':
		return n.foldString(v, j, depth)
	case c == '{' && depth < maxFold:
		return n.foldObject(v, j, depth+1)
	case c == '[' && depth < maxFold:
		return n.foldArray(v, j, depth+1)
	}
	*n = node{raw: bytes.Clone(v)}
	return nil
}

// hollow says whether v is null, [] or {}.
func hollow(v []byte) bool {
	s := scanner{b: v, at: 1}
	c := s.peek()
	return v[0] == 'n' || v[0] == '[' && c == ']' || v[0] == '{' && c == '}'
}

// none says whether the node has no value yet but null.
func (n *node) none() bool {
	return n.text == nil && n.members == nil && n.entries == nil && (n.raw == nil || string(n.raw) == "null")
}

func (n *node) foldString(v []byte, j *Joins, depth int) error {
	switch {
	case j != nil && j.here && n.entries != nil && j.at("text") != nil:
		if len(v) == 2 {
			return nil
		}
		return n.foldEntry(appendPart(nil, v), j, depth+1, true)
	case j != nil && j.here:
		_, err := n.join(v)
		return err
	case len(v) > 2 || n.none():
		if !bytes.Equal(n.raw, v) {
			*n = node{raw: bytes.Clone(v)}
		}
	}
	return nil
}

func appendPart(dst, str []byte) []byte {
	dst = append(dst, `{"type":"text","text":`...)
	return append(append(dst, str...), '}')
}

func (n *node) foldObject(v []byte, j *Joins, depth int) error {
	o, err := parse(v)
	if err != nil {
		return err
	}
	if n.members == nil {
		*n = node{}
	}
	for i := range o.members {
		m := &o.members[i]
		s, err := n.slot(m.text(), m.key)
		if err != nil {
			return err
		}
		if err := s.fold(m.raw, j.at(s.name), depth); err != nil {
			return err
		}
	}
	return nil
}

func (n *node) foldArray(v []byte, j *Joins, depth int) error {
	s := scanner{b: v, at: 1}
	if s.peek() != '{' { // of scalars: no deltas
		*n = node{raw: bytes.Clone(v)}
		return nil
	}
	if n.entries == nil {
		text := n.text
		*n = node{}
		if text != nil && text.Len() > 0 && j.at("text") != nil {
			if err := n.foldEntry(appendPart(nil, text.Raw()), j, depth, true); err != nil {
				return err
			}
		}
	}
	s.at = 0
	return s.array(0, func(i int) error {
		v, err := s.value(1)
		if err != nil {
			return err
		}
		return n.foldEntry(v, j, depth, i == 0)
	})
}

// foldEntry folds an element into the one that it continues, or appends it.
func (n *node) foldEntry(v []byte, j *Joins, depth int, first bool) error {
	var o Object
	if v[0] == '{' {
		var err error
		if o, err = parse(v); err != nil {
			return err
		}
	}
	index := string(o.Get("index"))
	if index == "null" {
		index = ""
	}
	for i := len(n.entries) - 1; i >= 0; i-- {
		e := n.entries[i]
		if e.index == index && (index != "" || first && o.continues(j)) && e.takes(v, j) {
			return e.fold(v, j, depth)
		}
		if index == "" {
			break
		}
	}
	if len(n.entries) >= maxEntries {
		return fmt.Errorf("an array has more than %d objects", maxEntries)
	}
	e := &entry{index: index}
	n.entries = append(n.entries, e)
	return e.fold(v, j, depth)
}

// continues says whether an element without an index can continue another.
func (o *Object) continues(j *Joins) bool {
	for i := range o.members {
		if j.at(o.members[i].text()) != nil {
			return true
		}
	}
	return false
}

var errContradicts = errors.New("contradicts")

// takes says whether v can be folded in without replacing a string.
func (n *node) takes(v []byte, j *Joins) bool {
	switch {
	case v[0] == '"' && (j == nil || !j.here):
		return len(n.raw) <= 2 || n.raw[0] != '"' || len(v) == 2 || bytes.Equal(n.raw, v)
	case v[0] != '{' || n.members == nil:
		return true
	}
	s := scanner{b: v}
	return s.object(0, func(key []byte) error {
		v, err := s.value(1)
		if err != nil {
			return err
		}
		name := unquote(key)
		for _, m := range n.members {
			if m.name == name && !m.takes(v, j.at(name)) {
				return errContradicts
			}
		}
		return nil
	}) == nil
}

func (n *node) append(dst []byte) []byte {
	switch {
	case n.text != nil:
		return append(dst, n.text.Raw()...)
	case n.members != nil:
		dst = append(dst, '{')
		for i, s := range n.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(s.appendKey(dst), ':')
			dst = s.append(dst)
		}
		return append(dst, '}')
	case n.entries != nil:
		dst = append(dst, '[')
		for i, e := range n.entries {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = e.append(dst)
		}
		return append(dst, ']')
	case n.raw == nil:
		return append(dst, "null"...)
	}
	return append(dst, n.raw...)
}

package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// A node is a value of a file with its place, from JSON or YAML.
type node struct {
	at   place
	kind kind
	text string // of a string; the source of any other scalar, as JSON
	raw  string // the JSON source, where the file is JSON
	keys []key
	vals []*node // of an object by keys, of a list in order
	size int     // about the bytes of its JSON, where the file is YAML
}

type key struct {
	name string
	at   place
}

// A place is a line and a column, in characters, both from 1.
type place struct{ line, col int }

type kind string

const (
	isObject kind = "an object"
	isList   kind = "a list"
	isString kind = "a string"
	isNumber kind = "a number"
	isBool   kind = "true or false"
	isNull   kind = "null"
)

// maxDepth bounds how deep values nest.
const maxDepth = 100

// maxInput bounds the JSON that one value of a file becomes; aliases of YAML can
// make a short file a long one.
const maxInput = 16 << 20

// A fault is what is wrong at a place.
type fault struct {
	at   place
	what string
}

func (f *fault) Error() string { return f.what }

// parse reads a JSON or a YAML document.
func parse(data []byte) (*node, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) {
		return nil, &fault{place{1, 1}, "the file is not UTF-8; save it as UTF-8"}
	}
	if !strings.HasPrefix(strings.TrimSpace(string(data)), "{") {
		return parseYAML(data)
	}
	n, err := parseJSON(data)
	if err != nil {
		// An object in braces may also be YAML, with comments or bare words.
		if y, yerr := parseYAML(data); yerr == nil {
			return y, nil
		}
	}
	return n, err
}

type jsonParser struct {
	data string
	dec  *json.Decoder
	last int // where at lies; tokens come in order
	at   place
}

func parseJSON(data []byte) (*node, error) {
	p := &jsonParser{data: string(data), dec: json.NewDecoder(bytes.NewReader(data)), at: place{1, 1}}
	p.dec.UseNumber()
	n, err := p.value(0)
	if err != nil {
		return nil, err
	}
	rest := p.next()
	if _, err := p.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, &fault{p.place(rest), "there is more after the end of the object"}
	}
	return n, nil
}

// next is where the next token begins.
func (p *jsonParser) next() int {
	at := int(p.dec.InputOffset())
	for at < len(p.data) && strings.IndexByte(" \t\r\n,:", p.data[at]) >= 0 {
		at++
	}
	return at
}

func (p *jsonParser) token() (json.Token, int, error) {
	start := p.next()
	t, err := p.dec.Token()
	if err == nil {
		return t, start, nil
	}
	at := start
	if s := (*json.SyntaxError)(nil); errors.As(err, &s) {
		at = int(s.Offset) - 1
	}
	what := err.Error()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		at, what = len(p.data), "the file ends in the middle of a value"
	}
	return nil, start, &fault{p.place(at), what}
}

func (p *jsonParser) value(depth int) (*node, error) {
	t, start, err := p.token()
	if err != nil {
		return nil, err
	}
	n := &node{at: p.place(start)}
	if depth > maxDepth {
		return nil, &fault{n.at, fmt.Sprintf("values nest deeper than %d", maxDepth)}
	}
	switch t := t.(type) {
	case json.Delim:
		n.kind = isObject
		if t == '[' {
			n.kind = isList
		}
		for p.dec.More() {
			if n.kind == isObject {
				name, at, err := p.token()
				if err != nil {
					return nil, err
				}
				s, _ := name.(string)
				if err := n.add(key{s, p.place(at)}); err != nil {
					return nil, err
				}
			}
			v, err := p.value(depth + 1)
			if err != nil {
				return nil, err
			}
			n.vals = append(n.vals, v)
		}
		if _, _, err := p.token(); err != nil {
			return nil, err
		}
	case string:
		n.kind, n.text = isString, t
	case json.Number:
		n.kind, n.text = isNumber, t.String()
	case bool:
		n.kind, n.text = isBool, fmt.Sprint(t)
	default:
		n.kind, n.text = isNull, "null"
	}
	n.raw = p.data[start:p.dec.InputOffset()]
	return n, nil
}

// add takes a key of an object, which may stand there once.
func (n *node) add(k key) error {
	for _, old := range n.keys {
		if old.name == k.name {
			return &fault{k.at, fmt.Sprintf("the key %q is there twice", k.name)}
		}
	}
	n.keys = append(n.keys, k)
	return nil
}

// json returns the value as JSON: its source, or the same written anew.
func (n *node) json() (string, error) {
	if n.raw != "" {
		return n.raw, nil
	}
	if n.size > maxInput {
		return "", &fault{n.at, fmt.Sprintf("the value is over %d bytes", maxInput)}
	}
	var b strings.Builder
	n.write(&b)
	return b.String(), nil
}

// weigh sums up the sizes below, without opening what aliases share.
func (n *node) weigh() {
	n.size = len(n.text) + 2
	for i, v := range n.vals {
		if i < len(n.keys) {
			n.size += len(n.keys[i].name) + 4
		}
		n.size = min(n.size+v.size, maxInput+1)
	}
}

func (n *node) write(b *strings.Builder) {
	switch n.kind {
	case isObject, isList:
		open, end := byte('{'), byte('}')
		if n.kind == isList {
			open, end = '[', ']'
		}
		b.WriteByte(open)
		for i, v := range n.vals {
			if i > 0 {
				b.WriteByte(',')
			}
			if n.kind == isObject {
				b.WriteString(compact(n.keys[i].name) + ":")
			}
			v.write(b)
		}
		b.WriteByte(end)
	case isString:
		b.WriteString(compact(n.text))
	default:
		b.WriteString(n.text)
	}
}

// place turns an offset into a line and a column.
func (p *jsonParser) place(at int) place {
	at = min(max(at, 0), len(p.data))
	if at < p.last {
		p.last, p.at = 0, place{1, 1}
	}
	for _, r := range p.data[p.last:at] {
		p.at.col++
		if r == '\n' {
			p.at = place{p.at.line + 1, 1}
		}
	}
	p.last = at
	return p.at
}

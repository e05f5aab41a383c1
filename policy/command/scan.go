package command

import (
	"strings"
)

// A style is how a program reads its options.
type style int

const (
	gnu   style = iota // options may stand anywhere, short ones together
	first              // the first operand ends them
	dash               // long options have one dash or two, as in Go
)

// Kinds of options, as they end in a table: -n takes nothing, -n= a value, -o> the
// name of a file to write, -f< of one to read, --color? a value only if it is attached.
const (
	alone = 0
	value = '='
	reads = '<'
	makes = '>'
	maybe = '?'
)

// An option is one as it was given.
type option struct {
	name  string // with its dashes
	value arg
	kind  byte
}

// A scan is how a program reads its words.
type scan struct {
	options  []option
	operands []arg
	rest     int    // the place of the first operand among the words
	stray    string // an option that the table does not have, or a word that may be one
}

func (s scan) has(names ...string) bool {
	for _, o := range s.options {
		for _, n := range names {
			if o.name == n {
				return true
			}
		}
	}
	return false
}

// last is the value of an option.
func (s scan) last(names ...string) (arg, bool) {
	for i := len(s.options) - 1; i >= 0; i-- {
		for _, n := range names {
			if s.options[i].name == n {
				return s.options[i].value, true
			}
		}
	}
	return arg{}, false
}

func (s *scan) strays(text string) {
	if s.stray == "" {
		s.stray = text
	}
}

// scanWords reads words by a table of options. The words begin behind the name.
func scanWords(words []arg, table string, how style) scan {
	sc := scan{rest: len(words)}
	known := strings.Fields(table)
	for i := 0; i < len(words); i++ {
		w := words[i]
		if w.Known && w.Text == "--" {
			sc.operand(words[i+1:], i+1)
			return sc
		}
		if !w.option() {
			if how == first {
				sc.operand(words[i:], i)
				return sc
			}
			sc.operand(words[i:i+1], i)
			continue
		}
		if !strings.HasPrefix(w.lead, "-") {
			sc.strays(w.Text)
			sc.operand(words[i:i+1], i)
			continue
		}
		if strings.HasPrefix(w.lead, "--") || how == dash {
			i += sc.long(words, i, known, how)
		} else {
			i += sc.short(words, i, known)
		}
	}
	return sc
}

func (s *scan) operand(words []arg, at int) {
	if len(words) > 0 && len(s.operands) == 0 {
		s.rest = at
	}
	s.operands = append(s.operands, words...)
}

// long reads an option with a name. It returns how many more words it takes.
func (s *scan) long(words []arg, i int, known []string, how style) int {
	w := words[i]
	name, _, attached := strings.Cut(w.lead, "=")
	if how == dash {
		name = "--" + strings.TrimLeft(name, "-") // as tables for them are written
	}
	kind, ok := kindOf(known, name)
	if !ok || !w.Known && !attached {
		s.strays(w.Text)
		s.options = append(s.options, option{name: w.Text})
		return 0
	}
	o := option{name: name, kind: kind}
	switch {
	case attached:
		at := strings.IndexByte(w.lead, '=') + 1
		o.value = w.from(at)
		if kind == alone && how != dash {
			s.strays(w.Text)
		}
	case kind == value || kind == reads || kind == makes:
		if i+1 >= len(words) {
			s.strays(w.Text)
			return 0
		}
		o.value = words[i+1]
		if words[i+1].many {
			s.strays(words[i+1].Text)
		}
		s.options = append(s.options, o)
		return 1
	}
	s.options = append(s.options, o)
	return 0
}

// short reads a group of options of one letter each.
func (s *scan) short(words []arg, i int, known []string) int {
	w := words[i]
	if w.many && !w.glob {
		s.strays(w.Text)
	}
	for at := 1; at < len(w.lead); at++ {
		name := "-" + w.lead[at:at+1]
		kind, ok := kindOf(known, name)
		if !ok && w.lead[at] >= '0' && w.lead[at] <= '9' {
			_, ok = kindOf(known, "-#")
		}
		if !ok {
			s.strays(w.Text)
			s.options = append(s.options, option{name: w.Text})
			return 0
		}
		o := option{name: name, kind: kind}
		if kind == alone {
			s.options = append(s.options, o)
			continue
		}
		if at+1 < len(w.lead) || !w.Known {
			o.value = w.from(at + 1)
		} else if kind != maybe {
			if i+1 >= len(words) {
				s.strays(w.Text)
				return 0
			}
			if o.value = words[i+1]; o.value.many {
				s.strays(o.value.Text)
			}
			s.options = append(s.options, o)
			return 1
		}
		s.options = append(s.options, o)
		return 0
	}
	if !w.Known {
		s.strays(w.Text)
	}
	return 0
}

// kindOf finds an option in a table. Short ones without a value stand together.
func kindOf(table []string, name string) (byte, bool) {
	for _, t := range table {
		kind := byte(alone)
		if c := t[len(t)-1]; c == value || c == reads || c == makes || c == maybe {
			kind, t = c, t[:len(t)-1]
		}
		if t == name {
			return kind, true
		}
		if kind == alone && len(name) == 2 && len(t) > 2 && t[1] != '-' && strings.IndexByte(t[1:], name[1]) >= 0 {
			return alone, true
		}
	}
	return 0, false
}

package command

import (
	"slices"
	"strings"
)

// sed judges a script: some of its commands write files or start programs.
func (c *call) sed(s scan) {
	scripts := s.operands[:min(1, len(s.operands))]
	if s.has("-e", "--expression") {
		scripts = nil
		for _, o := range s.options {
			if o.name == "-e" || o.name == "--expression" {
				scripts = append(scripts, o.value)
			}
		}
	}
	for _, t := range scripts {
		texts, ok := t.texts()
		if !ok || slices.ContainsFunc(texts, func(s string) bool { return !tameSed(s) }) {
			c.whole("its script may write files or start programs: " + shown(t.Text))
		}
	}
	if s.has("-i", "--in-place") {
		c.part.raise(Changes, "it changes files in place")
		c.part.Writes = append(c.part.Writes, c.part.Reads...)
		if v, _ := s.last("-i", "--in-place"); strings.Contains(v.Text, "/") || v.Text != "" && !v.Known {
			c.whole("it keeps copies elsewhere")
		}
	}
}

// tameSed says whether a script only edits text: commands p, d, q and their like,
// s and y, each with an address or none.
func tameSed(text string) bool {
	for text != "" {
		text = strings.TrimLeft(text, " \t\n;{}")
		if text == "" || text[0] == '#' {
			_, text, _ = strings.Cut(text, "\n")
			continue
		}
		var ok bool
		if text, ok = sedAddress(text); !ok {
			return false
		}
		text = strings.TrimLeft(text, " \t!")
		if text == "" {
			return false
		}
		if text[0] == '{' {
			continue
		}
		if text, ok = sedCommand(text); !ok {
			return false
		}
	}
	return true
}

// sedAddress cuts an address such as 1,/x/ from the front.
func sedAddress(t string) (string, bool) {
	for {
		switch {
		case t == "":
			return t, true
		case t[0] >= '0' && t[0] <= '9' || strings.IndexByte("$,+~ ", t[0]) >= 0:
			t = t[1:]
		case t[0] == '/' || t[0] == '\\' && len(t) > 1:
			if t[0] == '\\' {
				t = t[1:]
			}
			_, rest, ok := upTo(t[1:], t[0])
			if !ok {
				return t, false
			}
			t = strings.TrimLeft(rest, "IM")
		default:
			return t, true
		}
	}
}

// upTo cuts a text at a sign that no backslash hides.
func upTo(t string, sign byte) (front, rest string, ok bool) {
	if sign == '\n' || sign == '\\' || sign >= 0x80 {
		return t, "", false
	}
	for i := 0; i < len(t); i++ {
		switch t[i] {
		case '\\':
			i++
		case sign:
			return t[:i], t[i+1:], true
		case '\n', '[': // in brackets the sign may stand for itself
			if t[i] == '\n' || strings.IndexByte(t[i:], ']') < 0 || strings.IndexByte(t[i:i+strings.IndexByte(t[i:], ']')], sign) >= 0 {
				return t, "", false
			}
		}
	}
	return t, "", false
}

func sedCommand(t string) (string, bool) {
	verb := t[0]
	t = t[1:]
	switch {
	case strings.IndexByte("pdqQ=nNDPhHgGxlz", verb) >= 0:
		if verb == 'q' || verb == 'Q' || verb == 'l' {
			t = strings.TrimLeft(t, " 0123456789")
		}
	case verb == 's' || verb == 'y':
		if t == "" {
			return t, false
		}
		sign := t[0]
		_, rest, ok := upTo(t[1:], sign)
		if !ok {
			return t, false
		}
		if _, rest, ok = upTo(rest, sign); !ok {
			return t, false
		}
		t = rest
		if verb == 's' {
			t = strings.TrimLeft(t, "gpiI0123456789")
		}
	case verb == 'a' || verb == 'i' || verb == 'c':
		_, rest, more := strings.Cut(t, "\n")
		return rest, !more // text over several lines is not read here
	default:
		return t, false
	}
	t = strings.TrimLeft(t, " \t")
	if t != "" && strings.IndexByte(";\n}#", t[0]) < 0 {
		return t, false
	}
	return t, true
}

// awk judges a program text: it can start programs, and read and write files.
func (c *call) awk(s scan) {
	if len(s.operands) == 0 {
		return
	}
	t := s.operands[0]
	if !t.Known || !tameAwk(t.Text) {
		c.whole("its text may start programs or use other files: " + shown(t.Text))
	}
	for _, o := range s.operands[1:] {
		if strings.Contains(o.lead, "=") || !o.Known && o.many && o.lead == "" {
			c.whole("one of its words may set a variable")
		}
	}
	for _, o := range s.options {
		if !o.value.Known {
			c.whole("the value of " + o.name + " is not known before")
		}
	}
}

func tameAwk(t string) bool {
	plain := strings.ReplaceAll(t, "||", "")
	for _, bad := range []string{"system", "getline", "|", "@", "ARGV", "ARGC", "ENVIRON", "PROCINFO", "SYMTAB", "FUNCTAB", "printf >"} {
		if strings.Contains(plain, bad) {
			return false
		}
	}
	if !strings.Contains(plain, ">") {
		return true
	}
	return compares(t)
}

// compares says whether each > in a text of awk compares: it writes only behind print
// and printf, outside of brackets. It gives up where awks do not agree.
func compares(t string) bool {
	prints, depth, word, last := false, 0, "", byte(';')
	for t != "" {
		b := t[0]
		n := 1
		switch {
		case b == '"':
			if n = quotedAwk(t, false); n == 0 {
				return false
			}
		case b == '/':
			switch divides, known := divided(last, word); {
			case !known:
				return false
			case !divides:
				if n = quotedAwk(t, true); n == 0 {
					return false
				}
				b = '"'
			}
		case b == '#':
			n = max(1, strings.IndexByte(t+"\n", '\n'))
			b = last
		case inName(rune(b)):
			for n < len(t) && inName(rune(t[n])) {
				n++
			}
			word = t[:n]
			prints = prints || word == "print" || word == "printf"
			b = 'a'
		case b == '(':
			depth++
		case b == ')':
			depth--
		case b == ';' || b == '}':
			prints = prints && depth > 0
		case b == '>' && prints && depth == 0, b == '\\':
			return false
		case b == ' ' || b == '\t' || b == '\n':
			b = last
		}
		if depth < 0 {
			return false
		}
		last, t = b, t[min(n, len(t)):]
	}
	return true
}

// divided says whether a / divides, from what stands in front of it: a text between
// two of them begins otherwise.
func divided(last byte, word string) (divides, known bool) {
	switch {
	case last == 'a' && slices.Contains(strings.Fields("print printf return in else do case"), word):
		return false, true
	case last == 'a' || last == ']' || last == '"':
		return true, true
	}
	return false, strings.IndexByte("(,{};!~&|=<>?:", last) >= 0
}

// quotedAwk is the length of a text in quotes, or between two /; 0: that is not sure.
func quotedAwk(t string, slashes bool) int {
	for i := 1; i < len(t); i++ {
		switch {
		case t[i] == t[0]:
			return i + 1
		case t[i] == '\\':
			i++
		case t[i] == '\n':
			return 0
		case slashes && t[i] == '[': // whether a / may stand there hangs on the awk
			end := strings.IndexByte(t[i:], ']')
			if end < 0 || strings.IndexByte(t[i:i+end], '/') >= 0 {
				return 0
			}
		}
	}
	return 0
}

// jq judges a filter: it can show the environment and read more files.
func (c *call) jq(s scan) {
	if len(s.operands) == 0 {
		return
	}
	t := s.operands[0]
	for _, bad := range []string{"env", "ENV", "input", "import", "include", "modulemeta", "debug", "halt", "getpath/", "$__", "get_search_list"} {
		if !t.Known || strings.Contains(t.Text, bad) {
			c.whole("its filter may show the environment or read other files")
			return
		}
	}
}

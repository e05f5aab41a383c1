package query

import (
	"fmt"
	"strings"
)

// kind is the kind of a token, as SQLite's own tokenizer tells them apart.
type kind int

const (
	word     kind = iota // a keyword or an unquoted name
	quoted               // "name", `name` or [name]
	literal              // 'text', x'blob' or a number
	variable             // ?1, :name, @name, $name
	operator             // everything else, one byte each, but || as one
)

type token struct {
	kind       kind
	text       string // as written; a quoted name without its quotes
	start, end int    // bytes in the statement
}

// is says whether the token is this keyword or operator.
func (t token) is(s string) bool {
	return (t.kind == word || t.kind == operator) && strings.EqualFold(t.text, s)
}

// tokens splits SQL, without comments and white space.
func tokens(sql string) ([]token, error) {
	var out []token
	for i := 0; i < len(sql); {
		if n := blank(sql[i:]); n > 0 {
			i += n
			continue
		}
		t, err := next(sql, i)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
		i = t.end
	}
	return out, nil
}

// blank returns the length of the white space or comment that s begins with.
func blank(s string) int {
	switch {
	case strings.IndexByte(" \t\n\f\r", s[0]) >= 0:
		return 1
	case strings.HasPrefix(s, "\uFEFF"):
		return len("\uFEFF")
	case strings.HasPrefix(s, "--"):
		if n := strings.IndexByte(s, '\n'); n >= 0 {
			return n + 1
		}
		return len(s)
	case strings.HasPrefix(s, "/*") && len(s) > 2:
		if n := strings.Index(s[2:], "*/"); n >= 0 {
			return n + 4
		}
		return len(s)
	}
	return 0
}

func next(sql string, i int) (token, error) {
	c := sql[i]
	switch {
	case c == '\'':
		end, err := closing(sql, i, '\'')
		return token{literal, sql[i:end], i, end}, err
	case c == '"' || c == '`':
		end, err := closing(sql, i, c)
		if err != nil {
			return token{}, err
		}
		q := string(c)
		return token{quoted, strings.ReplaceAll(sql[i+1:end-1], q+q, q), i, end}, nil
	case c == '[':
		n := strings.IndexByte(sql[i:], ']')
		if n < 0 {
			return token{}, fmt.Errorf("the [ at byte %d is never closed; write ] after the name", i+1)
		}
		return token{quoted, sql[i+1 : i+n], i, i + n + 1}, nil
	case (c == 'x' || c == 'X') && strings.HasPrefix(sql[i+1:], "'"):
		end, err := closing(sql, i+1, '\'')
		return token{literal, sql[i:end], i, end}, err
	case c >= '0' && c <= '9', c == '.' && i+1 < len(sql) && isDigit(sql[i+1]):
		end := number(sql, i)
		return token{literal, sql[i:end], i, end}, nil
	case c == '?' || c == ':' || c == '@' || c == '$' || c == '#':
		end := i + 1
		for end < len(sql) && inName(sql[end]) {
			end++
		}
		return token{variable, sql[i:end], i, end}, nil
	case inName(c):
		end := i + 1
		for end < len(sql) && inName(sql[end]) {
			end++
		}
		return token{word, sql[i:end], i, end}, nil
	case strings.HasPrefix(sql[i:], "||"):
		return token{operator, "||", i, i + 2}, nil
	}
	return token{operator, sql[i : i+1], i, i + 1}, nil
}

// closing finds the end of what a quote begins; a doubled quote stands for one.
func closing(sql string, i int, q byte) (int, error) {
	for j := i + 1; j < len(sql); j++ {
		if sql[j] != q {
			continue
		}
		if j+1 < len(sql) && sql[j+1] == q {
			j++
			continue
		}
		return j + 1, nil
	}
	return len(sql), fmt.Errorf("the quote %c at byte %d is never closed; close it, and write it twice to mean it inside a text", q, i+1)
}

// number takes digits, letters and dots: 0x1F, 1e9 and 1_000 are one token
// each. A sign after an exponent becomes a token of its own, which does no harm.
func number(sql string, i int) int {
	for i < len(sql) && (inName(sql[i]) || sql[i] == '.') {
		i++
	}
	return i
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func inName(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'z'
}

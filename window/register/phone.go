package register

import (
	"strings"
	"unicode"
)

// phone reads a number that begins with a plus, or has an area in brackets.
func (s *scanner) phone(start, p int) int {
	t := s.text
	plus := start < p && t[start] == '+'
	if start == p && start > 0 && t[start-1] == '(' {
		start--
		p--
	}
	called := s.near(start) && calls(lower(s.text[s.label:s.labelEnd]))
	if !plus && !called && s.text[max(start-1, 0)] != '(' && !strings.Contains(t[p:min(p+8, len(t))], "(") {
		return 0
	}
	digits, last, area, open := 0, 0, 0, false
	i := p
	for i < len(t) && i-p < 40 {
		n := s.gap(i)
		switch c := t[i]; {
		case isDigit(c):
			digits, last = digits+1, i+1
			if open {
				area++
			}
		case c == '(' && area == 0 && !open && digits <= 3:
			open = true
		case c == ')' && open && area >= 2 && area <= 5:
			open = false
		case (c == '-' || c == '.') && i+1 < len(t) && isDigit(t[i+1]):
		case n > 0 && i+n < len(t) && (isDigit(t[i+n]) || t[i+n] == '('):
			i += n - 1
		default:
			n = -1
		}
		if n < 0 {
			break
		}
		i++
	}
	switch {
	case open, digits > 15, s.letterAt(last), plus && digits < 8, called && digits < 7:
		return 0
	case !plus && !called && (area < 3 || digits > 12 || digits < 9):
		return 0
	}
	if called && !plus {
		start = s.label // without it, it is not known as one
	}
	s.add(Phone, start, last, digitsOf(t[p:last]))
	return last
}

// dashed is a row of digits with dashes: a telephone number, or the number of an
// account or a tax payer.
func (s *scanner) dashed(p, end int, h shape) int {
	w := s.text[p:end]
	if strings.IndexFunc(w, func(r rune) bool { return !unicode.IsDigit(r) && r != '-' }) >= 0 {
		return 0
	}
	kind := ID
	parts := strings.Split(w, "-")
	if n := len(parts); h.digits >= 9 && h.digits <= 11 && n <= 4 && len(parts[n-1]) >= 3 && len(parts[n-2]) == 3 && len(parts[n-3]) == 3 {
		kind = Phone
	}
	s.add(kind, p, end, digitsOf(w))
	return end
}

// account reads groups of four digits: cards and bank accounts.
func (s *scanner) account(p int) int {
	j := s.digits(p)
	if n := j - p; n != 2 && n != 4 {
		return 0
	}
	for {
		n := s.gap(j)
		if n == 0 && j < len(s.text) && s.text[j] == '-' {
			n = 1
		}
		if n == 0 || s.digits(j+n) != j+n+4 {
			break
		}
		j += n + 4
	}
	norm := digitsOf(s.text[p:j])
	if len(norm) < 16 || len(norm) > 34 || s.letterAt(j) {
		return 0
	}
	s.add(ID, p, j, norm)
	return j
}

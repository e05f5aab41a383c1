package register

import (
	"fmt"
	"strconv"
	"strings"
)

// date reads the date that begins with the digit at p; 0: there is none.
func (s *scanner) date(p int) int {
	j := s.digits(p)
	n := j - p
	if n > 4 || n == 3 || j >= len(s.text) {
		return 0
	}
	if strings.HasPrefix(s.text[j:], "年") && n == 4 || strings.HasPrefix(s.text[j:], "月") && n <= 2 {
		return s.eastern(p)
	}
	if c := s.text[j]; c == '-' || c == '.' || c == '/' {
		if next := s.figures(p, j, c); next > 0 {
			return next
		}
	}
	if n <= 2 {
		return s.dayFirst(p, j)
	}
	return 0
}

// figures reads dates like 2025-04-03, 03.04.2025 and 4/3/2025.
func (s *scanner) figures(p, j int, mark byte) int {
	t := s.text
	k := s.digits(j + 1)
	a, b := number(t[p:j]), number(t[j+1:k])
	if k-j-1 > 2 || k == j+1 {
		return 0
	}
	if k >= len(t) || t[k] != mark || !s.digitAt(k+1) {
		if j-p == 4 && mark == '-' && k-j == 3 && b >= 1 && b <= 12 && !s.joined(k) {
			s.addDate(p, k, a, b, 0)
			return k
		}
		return 0
	}
	end := s.digits(k + 1)
	c, n := number(t[k+1:end]), end-k-1
	switch {
	case j-p == 4 && n <= 2 && valid(a, b, c):
		return s.moment(p, end, a, b, c)
	case j-p > 2 || s.joined(end):
		return 0
	case n == 2 && j-p == 2 && k-j == 3 && mark != '-', n == 2 && mark == '/':
		c += 2000
	case n != 4 || c < 1000:
		return 0
	}
	switch {
	case mark == '/' && valid(c, a, b) && valid(c, b, a): // American or not: both are kept
		s.add(Date, p, end, day(c, a, b), day(c, b, a), day(0, a, b), day(0, b, a))
	case valid(c, b, a):
		s.addDate(p, end, c, b, a)
	case mark == '/' && valid(c, a, b):
		s.addDate(p, end, c, a, b)
	default:
		return 0
	}
	return end
}

// joined says whether a word goes on at i, so that the date is part of a name.
func (s *scanner) joined(i int) bool {
	if s.letterAt(i) {
		return true
	}
	return i+1 < len(s.text) && strings.IndexByte("-/._", s.text[i]) >= 0 && s.letterAt(i+1)
}

// moment reads the time behind an ISO date.
func (s *scanner) moment(p, end, y, m, d int) int {
	t := s.text
	i := end
	if i < len(t) && (t[i] == 'T' || t[i] == 't') || s.gap(i) == 1 {
		if clock, _, next := s.hours(i + 1); next > 0 {
			zone := s.zone(next)
			norm := day(y, m, d) + "T" + clock + strings.ToUpper(t[next:zone])
			short := day(y, m, d) + "T" + clock[:5]
			if t[i] != ' ' || zone > next || !s.half(next) {
				s.add(Date, p, zone, norm, day(y, m, d), day(y, m, d)+"T"+clock, short, clock, clock[:5])
				return zone
			}
		}
	}
	if s.joined(end) {
		return 0
	}
	s.addDate(p, end, y, m, d)
	return end
}

// half says whether am or pm follows.
func (s *scanner) half(i int) bool {
	w, _ := s.tail(i)
	w = lower(w)
	return w == "am" || w == "pm"
}

// zone is the end of the time zone at i.
func (s *scanner) zone(i int) int {
	t := s.text
	if i < len(t) && (t[i] == 'Z' || t[i] == 'z') && !s.letterAt(i+1) {
		return i + 1
	}
	if i+2 < len(t) && (t[i] == '+' || t[i] == '-') && s.digits(i+1) == i+3 {
		if i+3 < len(t) && t[i+3] == ':' && s.digits(i+4) == i+6 {
			return i + 6
		}
		return i + 3
	}
	return i
}

// hours reads hh:mm or hh:mm:ss at i: as a norm, its hour and its end; 0: none.
func (s *scanner) hours(i int) (string, int, int) {
	t := s.text
	j := s.digits(i)
	if n := j - i; n < 1 || n > 2 || j >= len(t) || t[j] != ':' || s.digits(j+1) != j+3 {
		return "", 0, 0
	}
	h, m, end := number(t[i:j]), number(t[j+1:j+3]), j+3
	if h > 24 || m > 59 {
		return "", 0, 0
	}
	norm := fmt.Sprintf("%02d:%02d", h, m)
	if end < len(t) && t[end] == ':' && s.digits(end+1) == end+3 && number(t[end+1:end+3]) < 61 {
		norm, end = norm+t[end:end+3], end+3
		if end < len(t) && t[end] == '.' && s.digitAt(end+1) {
			k := s.digits(end + 1)
			norm, end = norm+t[end:k], k
		}
	}
	return norm, h, end
}

// clock reads a time of the day at p.
func (s *scanner) clock(p int) int {
	norm, h, end := s.hours(p)
	if end == 0 {
		if j := s.digits(p); j-p <= 2 && number(s.text[p:j]) >= 1 && number(s.text[p:j]) <= 12 {
			norm, h, end = fmt.Sprintf("%02d:00", number(s.text[p:j])), number(s.text[p:j]), j
			if !s.half(end) {
				return 0
			}
		} else {
			return 0
		}
	}
	if s.half(end) && h <= 12 {
		w, j := s.tail(end)
		h %= 12
		if lower(w) == "pm" {
			h += 12
		}
		norm, end = fmt.Sprintf("%02d", h)+norm[2:], j
	} else if s.letterAt(end) || end < len(s.text) && s.text[end] == ':' && s.letterAt(end+1) {
		return 0
	}
	s.add(Time, p, end, norm, norm[:5], norm[:5]+":00")
	return end
}

// dayFirst reads "3 marca 2025": j is the end of the day.
func (s *scanner) dayFirst(p, j int) int {
	t := s.text
	d := number(t[p:j])
	if d < 1 || d > 31 {
		return 0
	}
	i := j
	if e := s.ordinal(j); e > 0 {
		i = e
	} else if i < len(t) && t[i] == '.' {
		i++
	}
	n := s.gap(i)
	if n == 0 {
		return 0
	}
	i += n
	if strings.HasPrefix(t[i:], "of ") {
		i += 3
	}
	e := s.letters(i)
	m, short := month(t[i:e])
	if m == 0 {
		return 0
	}
	end := e
	if short && end < len(t) && t[end] == '.' {
		end++
	}
	if y, next := s.year(end); next > 0 {
		if !valid(y, m, d) {
			return 0
		}
		s.addDate(p, next, y, m, d)
		return next
	}
	if short && t[i] >= 0x80 || s.letterAt(e) {
		return 0
	}
	s.addDate(p, e, 0, m, d)
	return e
}

// year reads ", 2025" at i.
func (s *scanner) year(i int) (int, int) {
	if i < len(s.text) && s.text[i] == ',' {
		i++
	}
	n := s.gap(i)
	if n == 0 || s.digits(i+n) != i+n+4 || s.letterAt(i+n+4) {
		return 0, 0
	}
	y := number(s.text[i+n : i+n+4])
	if y < 1000 {
		return 0, 0
	}
	return y, i + n + 4
}

// monthFirst reads "March 3rd, 2025" and "April 2025"; w is the word from i to
// end in small letters.
func (s *scanner) monthFirst(i, end int, w string) int {
	m, short := month(w)
	if m == 0 {
		return 0
	}
	t := s.text
	e := end
	if short && e < len(t) && t[e] == '.' {
		e++
	}
	if y, next := s.year(e); next > 0 && !(e < len(t) && t[e] == ',') {
		s.addDate(i, next, y, m, 0)
		return next
	}
	n := s.gap(e)
	j := s.digits(e + n)
	if n == 0 || j == e+n || j-e-n > 2 || !isUpper(t[i]) { // "may 3" may be no month
		return 0
	}
	d := number(t[e+n : j])
	if x := s.ordinal(j); x > 0 {
		j = x
	}
	if d < 1 || d > 31 || s.letterAt(j) || j+1 < len(t) && strings.IndexByte(":.-/%", t[j]) >= 0 && isDigit(t[j+1]) {
		return 0
	}
	if y, next := s.year(j); next > 0 && valid(y, m, d) {
		s.addDate(i, next, y, m, d)
		return next
	}
	s.addDate(i, j, 0, m, d)
	return j
}

// eastern reads 2025年3月3日.
func (s *scanner) eastern(p int) int {
	t := s.text
	y, m, d := 0, 0, 0
	i, end := p, 0
	for _, part := range []struct {
		mark string
		v    *int
	}{{"年", &y}, {"月", &m}, {"日", &d}} {
		j := s.digits(i)
		rest := t[j:]
		if part.mark == "日" && strings.HasPrefix(rest, "号") {
			part.mark = "号"
		}
		if j == i || j-i > 4 || !strings.HasPrefix(rest, part.mark) {
			continue
		}
		*part.v = number(t[i:j])
		i = j + len(part.mark)
		end = i
	}
	if m > 12 || d > 31 || y == 0 && d == 0 {
		return 0
	}
	s.addDate(p, end, y, m, d)
	return end
}

// addDate adds a date; a zero is what it does not say.
func (s *scanner) addDate(i, end, y, m, d int) {
	if s.kept == nil {
		s.add(Date, i, end, day(y, m, d))
		return
	}
	s.add(Date, i, end, day(y, m, d), day(y, m, 0), day(0, m, d))
	if y > 0 {
		s.kept[strconv.Itoa(y)] = true
	}
}

// day is an ISO date with what is known of it.
func day(y, m, d int) string {
	switch {
	case y == 0:
		return fmt.Sprintf("--%02d-%02d", m, d)
	case m == 0:
		return fmt.Sprintf("%04d", y)
	case d == 0:
		return fmt.Sprintf("%04d-%02d", y, m)
	}
	return fmt.Sprintf("%04d-%02d-%02d", y, m, d)
}

func valid(y, m, d int) bool {
	return y >= 1000 && y <= 9999 && m >= 1 && m <= 12 && d >= 1 && d <= 31
}

// number is the value of a few digits.
func number(s string) int {
	n := 0
	for i := range min(len(s), 9) {
		n = 10*n + int(s[i]-'0')
	}
	return n
}

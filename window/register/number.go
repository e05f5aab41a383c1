package register

import "strings"

// A figure is a number as it was read.
type figure struct {
	norm   string // digits, a point before the fraction
	other  string // the other reading of "1,234" and "1.234"; empty: there is none
	end    int    // 0: no number
	digits int    // that were written
	frac   bool
}

// figure reads the number at p: with groups of three behind commas, points,
// apostrophes or spaces, and a fraction behind a point or a comma.
func (s *scanner) figure(p int) figure {
	t := s.text
	j := s.digits(p)
	whole, k, group, groups := t[p:j], j, 0, 0
	listed := s.listed(p, j)
	for len(whole) <= 3 && whole[0] != '0' {
		n, kind := s.separator(k)
		if n == 0 || listed && kind == ',' || group != 0 && kind != group || s.digits(k+n) != k+n+3 {
			break
		}
		group, groups, k = kind, groups+1, k+n+3
	}
	if groups > 0 && k+1 < len(t) && int(t[k]) == group && isDigit(t[k+1]) {
		if group == '.' {
			return figure{} // a version or an address
		}
		// A list.
		return figure{norm: whole, end: j, digits: j - p}
	}
	if listed {
		group = ','
	}
	end, fraction := s.fraction(k, group)
	if end < 0 {
		return figure{}
	}
	joined := digitsOf(t[p:k])
	f := figure{norm: joined, end: end, digits: len(joined) + len(fraction), frac: fraction != ""}
	switch {
	case fraction != "":
		f.norm += "." + fraction
	case groups == 1 && group == ',' && !listed:
		f.other = whole + "." + joined[len(whole):]
	case groups == 1 && group == '.':
		f.norm, f.other, f.frac = whole+"."+joined[len(whole):], joined, true
	}
	return f
}

// listed says whether the digits from p to j stand in a list, where a comma parts
// numbers: "1,2,3" and "[123,456]".
func (s *scanner) listed(p, j int) bool {
	t := s.text
	if p == 0 || t[p-1] != '[' && t[p-1] != ',' {
		return false
	}
	if t[p-1] == ',' {
		return p > 1 && isDigit(t[p-2])
	}
	if j >= len(t) || t[j] != ',' {
		return false
	}
	k := s.digits(j + 1)
	return k > j+1 && k < len(t) && (t[k] == ',' || t[k] == ']')
}

// fraction reads what is behind a decimal point or comma at k; -1: it is no
// number, as it goes on with points.
func (s *scanner) fraction(k, group int) (int, string) {
	t := s.text
	if k+1 >= len(t) || t[k] != '.' && t[k] != ',' || int(t[k]) == group || !isDigit(t[k+1]) {
		return k, ""
	}
	end := s.digits(k + 1)
	if end+1 < len(t) && (t[end] == '.' || t[end] == ',') && isDigit(t[end+1]) {
		if t[k] == ',' {
			return k, ""
		}
		if t[end] == '.' {
			return -1, ""
		}
	}
	return end, t[k+1 : end]
}

// separator is the length and the kind of what parts groups of digits at k.
func (s *scanner) separator(k int) (int, int) {
	if n := s.gap(k); n > 0 {
		return n, ' '
	}
	if k >= len(s.text) {
		return 0, 0
	}
	switch c := s.text[k]; {
	case c == ',', c == '.', c == '\'', c == '_':
		return 1, int(c)
	case strings.HasPrefix(s.text[k:], "’"):
		return len("’"), '’'
	}
	return 0, 0
}

func (s *scanner) digits(i int) int {
	for i < len(s.text) && isDigit(s.text[i]) {
		i++
	}
	return i
}

func digitsOf(s string) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, s)
}

// trim0 drops the zeros that say nothing.
func trim0(n string) string {
	if strings.Contains(n, ".") {
		n = strings.TrimSuffix(strings.TrimRight(n, "0"), ".")
	}
	for len(n) > 1 && n[0] == '0' && n[1] != '.' {
		n = n[1:]
	}
	return n
}

// shift moves the decimal point to the right.
func shift(n string, by int) string {
	whole, frac, _ := strings.Cut(n, ".")
	if short := by - len(frac); short > 0 {
		frac += strings.Repeat("0", short)
	}
	return trim0(whole + frac[:by] + "." + frac[by:])
}

// numeric reads what begins with the digit at p; before it, from start on, there
// may be a sign. end is the end of the word. 0: nothing.
func (s *scanner) numeric(start, p, end int) int {
	if next := s.phone(start, p); next > 0 {
		return next
	}
	if !s.digitAt(p) {
		return 0
	}
	if next := s.date(p); next > 0 {
		return next
	}
	if next := s.clock(p); next > 0 {
		return next
	}
	if next := s.account(p); next > 0 {
		return next
	}
	h := look(s.text[p:end])
	if h.slashes > 0 && h.letters > 0 || h.backs > 0 || h.colons > 1 || h.dots > 2 {
		return 0
	}
	if h.letters == 0 && h.dashes == 1 && h.digits == 5 && end-p == 6 && s.text[p+2] == '-' { // a postal code
		s.add(ID, p, end, s.text[p:end])
		return end
	}
	if h.letters == 0 && h.dashes == 1 && h.digits >= 3 && h.digits == end-p-1 {
		if a, b, _ := strings.Cut(s.text[p:end], "-"); len(a) < 3 || len(b) < 3 { // as 1-20; else both are facts
			s.add(Number, p, end, s.text[p:end])
			return end
		}
	}
	if h.letters == 0 && h.dashes > 1 && h.digits >= 7 {
		return s.dashed(p, end, h)
	}
	next := s.number(start, p)
	if next < end && h.letters > 0 { // more than a number with a unit
		return 0
	}
	return next
}

// number reads a number and what belongs to it: a scale, a currency, a percent
// sign, a unit.
func (s *scanner) number(start, p int) int {
	f := s.figure(p)
	if f.end == 0 {
		return 0
	}
	minus := ""
	if start < p && s.text[start] != '+' {
		minus = "-"
	}
	v, other, end := f.norm, f.other, f.end
	scaled := false
	if by, e := s.scale(end, false); by > 0 {
		v, end, scaled = shift(v, by), e, true
		if other != "" {
			other = shift(other, by)
		}
	}
	if cur, e := s.currencyAfter(end); cur != "" {
		s.addAmount(start, e, minus+trim0(v), other, cur)
		return e
	}
	if e := s.decade(end, f); e > 0 {
		s.bare(start, p, end, minus+v, other, f, scaled)
		return e
	}
	if e := s.percent(end); e > 0 && !scaled {
		s.add(Percent, start, e, minus+trim0(v)+"%", trim0(other)+"%", v)
		return e
	}
	if unit, e := s.unit(end); unit != "" {
		s.add(Number, start, e, minus+trim0(v)+" "+unit, v, trim0(v))
		return e
	}
	if s.letterAt(end) || end < len(s.text) && s.text[end] == '_' {
		if e := s.ordinal(end); e > 0 && f.digits < 3 {
			return e
		}
		return 0
	}
	return s.bare(start, p, end, minus+v, other, f, scaled)
}

// bare adds a number that has nothing behind it, if it is one that cannot be
// guessed.
func (s *scanner) bare(start, p, end int, v, other string, f figure, scaled bool) int {
	labelled := s.near(start)
	if !labelled && !f.frac && !scaled && f.digits < 3 {
		return 0
	}
	from := start
	if labelled {
		from = s.label
	}
	also := []string{trim0(v), s.text[p:end]}
	if other != "" {
		also = append(also, other)
	}
	s.add(Number, from, end, v, also...)
	return end
}

// amount reads the number at p behind a currency.
func (s *scanner) amount(start, p int, cur string) int {
	f := s.figure(p)
	if f.end == 0 {
		return 0
	}
	v, other, end := f.norm, f.other, f.end
	if by, e := s.scale(end, true); by > 0 {
		v, end = shift(v, by), e
	}
	if e := end + s.gap(end); e+3 <= len(s.text) && !s.letterAt(e+3) {
		if c := code(s.text[e : e+3]); c != "" {
			cur, end = c, e+3
		}
	}
	if s.letterAt(end) {
		return 0
	}
	minus := ""
	if t := s.text[start:]; t[0] == '-' || strings.HasPrefix(t, "−") {
		minus = "-"
	}
	s.addAmount(start, end, minus+trim0(v), other, cur)
	return end
}

func (s *scanner) addAmount(i, end int, v, other, cur string) {
	also := []string{v}
	if other != "" {
		also = append(also, trim0(other)+" "+cur)
	}
	switch cur { // the sign is that of two
	case "¥":
		also = append(also, v+" CNY", v+" JPY")
	case "CNY", "JPY":
		also = append(also, v+" ¥")
	}
	s.add(Amount, i, end, v+" "+cur, also...)
}

// priced reads an amount that begins with the sign of a currency.
func (s *scanner) priced(i, after int) int {
	p := after + s.gap(after)
	if !s.digitAt(p) {
		return after
	}
	cur := sign(firstRune(s.text[i:]))
	if i > 0 && s.text[i-1] == '-' && (i == 1 || s.text[i-2] == ' ' || s.text[i-2] == '(') {
		i--
	}
	if next := s.amount(i, p, cur); next > 0 {
		return next
	}
	return after
}

func firstRune(s string) rune {
	for _, r := range s {
		return r
	}
	return 0
}

// tail is the word behind a number, next to it or behind a space.
func (s *scanner) tail(end int) (string, int) {
	i := end + s.gap(end)
	j := s.letters(i)
	if j == i || j < len(s.text) && (isDigit(s.text[j]) || s.text[j] == '_') {
		return "", 0
	}
	return s.text[i:j], j
}

// scale reads words like "mln", and the letters that mean the same in prices.
func (s *scanner) scale(end int, price bool) (int, int) {
	switch firstRune(s.text[min(end, len(s.text)):]) {
	case '万', '萬':
		return 4, end + len("万")
	case '亿', '億':
		return 8, end + len("亿")
	}
	w, j := s.tail(end)
	if w == "" {
		return 0, 0
	}
	by := scaleWord(lower(w))
	if near := j == end+len(w); by == 0 && near {
		switch {
		case w == "k", w == "K" && price:
			by = 3
		case w == "M", price && w == "m":
			by = 6
		case price && w == "B":
			by = 9
		}
	}
	if by > 0 && j < len(s.text) && s.text[j] == '.' && len(w) <= 6 && w[0] >= 0x80 { // тыс.
		j++
	}
	return by, j
}

func (s *scanner) percent(end int) int {
	t := s.text[min(end, len(s.text)):]
	n := s.gap(end)
	if strings.HasPrefix(t[n:], "%") {
		return end + n + 1
	}
	w, j := s.tail(end)
	switch lower(w) {
	case "percent", "pct", "proc", "procent", "procenta", "procentów", "процент", "процента", "процентов", "проц":
		return j
	}
	return 0
}

// currencyAfter reads the currency behind an amount.
func (s *scanner) currencyAfter(end int) (string, int) {
	i := end + s.gap(end)
	if i >= len(s.text) {
		return "", 0
	}
	r := firstRune(s.text[i:])
	if cur := sign(r); cur != "" {
		after := i + len(string(r))
		if i > end && s.digitAt(after) { // it belongs to the next
			return "", 0
		}
		return cur, after
	}
	if r >= 0x2E80 {
		return easternCurrency(s.text[i:], i)
	}
	w, j := s.tail(end)
	if cur := code(w); cur != "" {
		return cur, j
	}
	return currencyWord(lower(w)), j
}

// unit reads the unit behind a number: "5 kg", "30-day", "30 дней".
func (s *scanner) unit(end int) (string, int) {
	t := s.text
	if strings.HasPrefix(t[min(end, len(t)):], "-") && !s.digitAt(end+1) {
		if j := s.letters(end + 1); j > end+2 {
			return unit(t[end+1 : j]), j
		}
		return "", 0
	}
	if i := end + s.gap(end); strings.HasPrefix(t[min(i, len(t)):], "°C") || strings.HasPrefix(t[min(i, len(t)):], "°F") {
		return t[i : i+3], i + 3
	}
	w, j := s.tail(end)
	if w == "" {
		return "", 0
	}
	if lower(w) == "km" && strings.HasPrefix(t[j:], "/h") {
		return "km/h", j + 2
	}
	if j < len(t) && t[j] == '/' {
		return "", 0
	}
	return unit(w), j
}

// decade is the end of "1990s".
func (s *scanner) decade(end int, f figure) int {
	if f.digits == 4 && !f.frac && end < len(s.text) && s.text[end] == 's' && !s.letterAt(end+1) && f.norm[0] <= '2' {
		return end + 1
	}
	return 0
}

func (s *scanner) ordinal(end int) int {
	w, j := s.tail(end)
	if j != end+len(w) {
		return 0
	}
	switch lower(w) {
	case "st", "nd", "rd", "th", "го", "й", "я", "е":
		return j
	}
	return 0
}

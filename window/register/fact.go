// Package register finds the facts in a text that a summary must not lose.
//
// Facts are what cannot be guessed again: amounts, dates, ids, paths and the
// like, and what was decided. They are found by code, not by a model: one pass
// over the text, without regexps, in time that grows with its length. English,
// Polish, Russian and Chinese ways to write them are known.
package register

// A Kind says what a fact is.
type Kind string

// The kinds.
const (
	Amount   Kind = "amount" // of money
	Percent  Kind = "percent"
	Number   Kind = "number" // of three digits or more, with a fraction, a unit or a word like "port" before it
	Date     Kind = "date"   // of the calendar; "yesterday" is none
	Time     Kind = "time"   // of the day
	ID       Kind = "id"     // orders, tickets, hashes, UUIDs, bank accounts
	Path     Kind = "path"
	URL      Kind = "url" // also a bare domain
	Email    Kind = "email"
	Address  Kind = "address" // IP, host with port, MAC
	Phone    Kind = "phone"
	Version  Kind = "version"
	Decision Kind = "decision" // a sentence that says what was chosen or must not be done
)

// A Fact is one thing that a text says exactly.
type Fact struct {
	Kind Kind
	Text string // as it was written, on one line; a decision at most 200 bytes
	// Norm is the same however it is written: "1 234,56 zł" and "PLN 1,234.56" are
	// "1234.56 PLN", "3 marca 2025" is "2025-03-03".
	Norm string
	From string // where it stood: a use ("12.1") or a message ("12"); no white space
	Rank int    // the smaller, the more it matters
}

// Find returns the facts of a text in their order, each kind and Norm once. What
// lies inside another fact, as a number in a path, is not listed again, except
// in a decision. From and Rank are left to the caller.
func Find(text string) []Fact {
	s := scanner{text: text, seen: map[key]bool{}}
	s.run()
	return s.facts
}

// Share is how much of all is lost, from 0 to 1.
func Share(lost, all int) float64 {
	if all <= 0 {
		return 0
	}
	return float64(lost) / float64(all)
}

package modeltest

import (
	"net/http"
	"time"
)

// A Fault is how a request goes wrong. The zero value of Kind is Refuse.
type Fault struct {
	Kind  Kind
	Times int  // requests that meet it, one after the other; default 1
	Final bool // the turn is over with it: the next request gets the next turn

	// Wait is before the first byte, also of the status line.
	Wait time.Duration
	// Early: the fault comes before the status line; for Cut, Reset and Stall.
	Early bool
	// After is the number of events that go out first. An event of a reply that
	// is not streamed is its whole body.
	After int
	// Bytes, if it is not 0, is the number of bytes of the body that go out
	// first, instead of After.
	Bytes int

	// Status, Header and Body are the answer of a Refuse; its default status is
	// 529. Status picks the words of an ErrorEvent too. The default body is the
	// provider's own error for the status; Bare is none at all.
	Status int
	Header http.Header
	Body   string
	Bare   bool
}

// A Kind is what a fault does.
type Kind string

// Kinds of faults. All but Refuse begin with a reply as it should be.
const (
	Refuse     Kind = ""      // a status, headers and a body instead of the reply
	End        Kind = "end"   // the body ends as if it were whole
	Cut        Kind = "cut"   // the connection is closed in the middle
	Reset      Kind = "reset" // the connection is reset in the middle
	Stall      Kind = "stall" // nothing more comes until the client leaves
	Pings      Kind = "pings" // only keep-alives come until the client leaves
	ErrorEvent Kind = "error" // an event with an error comes, and the body ends
)

func (f *Fault) times() int { return max(f.Times, 1) }

// fault returns the fault that the attempt meets, from 1, nil if none, and
// whether the turn is over with it.
func (t *Turn) fault(attempt int) (*Fault, bool) {
	for i := range t.Faults {
		f := &t.Faults[i]
		if attempt -= f.times(); attempt <= 0 {
			return f, f.Final && attempt == 0
		}
	}
	return nil, true
}

package shell

import "github.com/uzda-dev/uzda"

// Remembered is how many sessions are known to have been looked at, at least.
const Remembered = remembered

// Visits is what remembers them.
func Visits() (add func(uzda.SessionID), has func(uzda.SessionID) bool, size func() int) {
	v := &visits{}
	return v.add, v.has, func() int { return len(v.recent) + len(v.older) }
}

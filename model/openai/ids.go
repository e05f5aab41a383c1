package openai

import (
	"hash/fnv"
	"strconv"

	"github.com/uzda-dev/uzda"
)

// maxID is the length over which OpenAI refuses the id of a call.
const maxID = 40

// ids are the names that calls have in the view that was encoded. They depend on
// the view alone, so that it gets the same ones when it is encoded anew.
type ids struct {
	form  string
	of    map[uzda.UseID]string
	taken map[string]bool
}

// add names a call: as its provider did if that fits and is not taken, else after
// the id that the loop gave it. own says that the service itself made the name.
func (d *ids) add(u uzda.ToolUse, own bool) string {
	id := u.Wire
	if id == "" || d.taken[id] || !own && !d.fits(id) {
		id = d.made(string(u.ID))
	}
	d.take(id)
	d.of[u.ID] = id
	return id
}

func (d *ids) take(id string) {
	if d.of == nil {
		d.of, d.taken = map[uzda.UseID]string{}, map[string]bool{}
	}
	d.taken[id] = true
}

// get returns the name of a call whose result is to be sent.
func (d *ids) get(use uzda.UseID) string {
	if id, ok := d.of[use]; ok {
		return id
	}
	return d.made(string(use)) // there is no such call: the service will say so
}

func (d *ids) fits(id string) bool {
	if d.form == IDsNine && len(id) != 9 || len(id) > maxID {
		return false
	}
	for _, c := range []byte(id) {
		if !alnum(c) && (d.form == IDsNine || c != '_' && c != '-') {
			return false
		}
	}
	return true
}

func alnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// made makes a name of the loop's id.
func (d *ids) made(use string) string {
	for n := 0; ; n++ {
		id := d.try(use, n)
		if !d.taken[id] {
			return id
		}
	}
}

func (d *ids) try(use string, n int) string {
	if d.form != IDsNine {
		id := []byte("call_" + use)
		for i, c := range id {
			if !alnum(c) {
				id[i] = '_'
			}
		}
		if n == 0 && len(id) <= maxID {
			return string(id)
		}
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(use + " " + strconv.Itoa(n))) // never fails
	sum := "00000000" + strconv.FormatUint(h.Sum64(), 36)
	sum = sum[len(sum)-9:]
	if d.form == IDsNine {
		return sum
	}
	return "call_" + sum
}

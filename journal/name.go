package journal

import (
	"math/big"
	"os"
	"path/filepath"
	"strings"

	"github.com/uzda-dev/uzda"
)

// name is what the files of a session are called, less their ending: its id, where
// that is in lower case and no name that the store or Windows has for something else.
// Else it is "+", which of its bytes are in upper case as bits of a hexadecimal
// number, "+", and the id in lower case: so no two ids share a file where case does
// not count, and the id can be read from the name.
func name(id uzda.SessionID) string {
	low := strings.ToLower(string(id))
	if low == string(id) && low != ledgerName && !id.Device() {
		return low
	}
	upper := new(big.Int)
	for i := range len(id) {
		if id[i] != low[i] {
			upper.SetBit(upper, i, 1)
		}
	}
	return "+" + upper.Text(16) + "+" + low
}

// named is the session that a name is of, "" if it is of none.
func named(file string) uzda.SessionID {
	text := []byte(file)
	if bits, low, ok := strings.Cut(strings.TrimPrefix(file, "+"), "+"); ok {
		text = []byte(low)
		upper, good := new(big.Int).SetString(bits, 16)
		for i := range text {
			if good && upper.Bit(i) == 1 && text[i] >= 'a' && text[i] <= 'z' {
				text[i] -= 'a' - 'A'
			}
		}
	}
	if id := uzda.SessionID(text); id.Check() == nil && name(id) == file {
		return id
	}
	return ""
}

// rename gives the files of a session that an older program made the names that they
// have now. Those of the ledger are its own.
func (d *disk) rename() error {
	all, err := os.ReadDir(d.dir)
	if err != nil {
		return err
	}
	for _, e := range all {
		ext := filepath.Ext(e.Name())
		old := strings.TrimSuffix(e.Name(), ext)
		id := uzda.SessionID(old)
		if !e.Type().IsRegular() || ext == "" || old == ledgerName || id.Check() != nil || name(id) == old {
			continue
		}
		if err := os.Rename(filepath.Join(d.dir, e.Name()), filepath.Join(d.dir, name(id)+ext)); err != nil && !missing(err) {
			return err
		}
	}
	return nil
}

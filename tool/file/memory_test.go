package file_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/tool/file"
)

// Tools that live for months do not hold every session there was, and one that they
// let go still knows what it read and changed.
func TestManySessions(t *testing.T) { // peer:32
	t.Parallel()
	d := newDesk(t)
	d.put("a.txt", "one\ntwo\n")
	d.ok("read_file", "path", "a.txt")
	d.ok("edit_file", "path", "a.txt", "old", "one", "new", "eins")
	for i := range 2 * file.Remembered {
		if _, err := d.files.Changes(uzda.SessionID(fmt.Sprint("s", i))); err != nil {
			t.Fatal(err)
		}
		if n := d.files.Sessions(); n > file.Remembered {
			t.Fatalf("%d sessions are held", n)
		}
	}
	if c, err := d.files.Changes(session); err != nil || len(c) != 1 {
		t.Fatalf("the change is forgotten: %+v, %v", c, err)
	}
	d.ok("edit_file", "path", "a.txt", "old", "two", "new", "zwei") // what it has seen, too
	if raw, err := os.ReadFile(d.path("a.txt")); err != nil || string(raw) != "eins\nzwei\n" {
		t.Errorf("%q, %v", raw, err)
	}
}

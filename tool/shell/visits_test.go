package shell_test

import (
	"fmt"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/tool/shell"
)

// A tool that lives for months knows the last sessions, those that are used again
// among them, and does not grow with all that there were.
func TestVisits(t *testing.T) { // peer:32
	t.Parallel()
	add, has, size := shell.Visits()
	id := func(i int) uzda.SessionID { return uzda.SessionID(fmt.Sprint("s", i)) }
	if has(id(0)) {
		t.Fatal("nothing was looked at yet")
	}
	for i := range 20 * shell.Remembered {
		add(id(i))
		if i%shell.Remembered == 0 {
			add("often")
		}
		if !has(id(i)) || !has(id(max(0, i-shell.Remembered+1))) || !has("often") {
			t.Fatalf("after %d sessions one of the last is forgotten", i+1)
		}
	}
	if has(id(0)) || size() > 2*shell.Remembered {
		t.Errorf("%d are kept", size())
	}
}

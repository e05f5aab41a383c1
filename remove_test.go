package uzda_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
)

func hashesIn(raw []byte) (out []string) {
	for hash, size := range uzda.BlobsIn(raw) {
		out = append(out, fmt.Sprint(hash, " ", size))
	}
	return out
}

// Whatever names a blob is found, wherever in a body it stands.
func TestBlobsIn(t *testing.T) {
	t.Parallel()
	a, b := uzda.Hash([]byte("a")), uzda.Hash([]byte("b"))
	for _, c := range []struct {
		body string
		want []string
	}{
		{``, nil},
		{`{"x":"` + a[:63] + `"}`, nil},
		{`{"x":"` + a + `0"}`, nil}, // a longer number
		{`{"x":"` + strings.ToUpper(a) + `"}`, nil},
		{`{"$blob":"` + a + `","size":17000}`, []string{a + " 17000"}},
		{`{"$blob":"` + a + `","size":17000,"raw":true}`, []string{a + " 17000"}},
		{`{"full":{"blob":"` + a + `","size":5},"y":"` + b + `"}`, []string{a + " 5", b + " 0"}},
		{`["` + a + `","` + b + `"]`, []string{a + " 0", b + " 0"}},
		{`"` + a + `","size":99999999999999999999`, []string{a + " 0"}},
		{`"` + a + `","size":`, []string{a + " 0"}},
		{a, []string{a + " 0"}},
		{strings.Repeat("f", 300) + `"` + a + `"`, []string{a + " 0"}},
	} {
		for pad := range 70 { // at each place
			body := strings.Repeat(" ", pad) + c.body
			if got := hashesIn([]byte(body)); !slices.Equal(got, c.want) {
				t.Fatalf("%d spaces before %s: %q, want %q", pad, c.body, got, c.want)
			}
		}
	}
}

// It finds what a plain search finds, and all that Spill names.
func FuzzBlobsIn(f *testing.F) {
	a := uzda.Hash([]byte("a"))
	for _, s := range []string{"", a, a + a, `{"$blob":"` + a + `","size":3}`, strings.Repeat("0", 127) + "x" + a, "é" + a + "\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var want []string
		for from := 0; from < len(raw); {
			to := from
			for to < len(raw) && strings.IndexByte("0123456789abcdef", raw[to]) >= 0 {
				to++
			}
			if to-from == 64 {
				want = append(want, string(raw[from:to]))
			}
			from = max(to, from+1)
		}
		var got []string
		for hash := range uzda.BlobsIn(raw) {
			got = append(got, hash)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}

func TestOwns(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"session:s": true, "turn:s/2": true, "s/1.2": true, "s/1.2.1": true, "turn:s/2/x": true,
		"session:s2": false, "turn:s2/1": false, "turn:s-1.0/1": false, "s2/1": false, "day:2031-01-01": false, "s": false, "turn:s": false, "": false,
	} {
		if got := uzda.SessionID("s").Owns(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

// A session's folder is its own, on disks where case does not count and on Windows.
func TestFolder(t *testing.T) { // case:S03
	t.Parallel()
	seen := map[string]uzda.SessionID{}
	for _, id := range []uzda.SessionID{"a", "A", "aB", "Ab", "a.b", "a_b", "con", "CON", "con.x", "com1", "com10", "lpt0", "console", uzda.SessionID(strings.Repeat("a", 100)), uzda.SessionID(strings.Repeat("a", 101))} {
		name := id.Folder()
		if other, ok := seen[strings.ToLower(name)]; ok {
			t.Errorf("%s and %s share the folder %s", id, other, name)
		}
		if seen[strings.ToLower(name)] = id; uzda.SessionID(name).Device() {
			t.Errorf("the folder of %s is the device %s", id, name)
		}
	}
	for id, want := range map[uzda.SessionID]bool{"con": true, "Nul.txt": true, "com0": true, "lpt9.a.b": true, "com10": false, "comx": false, "com": false, "icon": false, "x.con": false} {
		if id.Device() != want {
			t.Errorf("%s is a device: %t", id, !want)
		}
	}
}

package file_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/uzda-dev/uzda/tool/file"
)

// Every path of the safety vectors is tried at the tools; a new kind of vector fails
// the test until it is.
func TestSafetyPaths(t *testing.T) { // case:P06, issue 4 point 2
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "bench", "shell_safety", "vectors.json"))
	if err != nil {
		t.Skip("SKIPPED: no safety vectors here: ", err)
	}
	var all struct {
		Paths []struct{ Category, Case, Expect string }
	}
	if err := json.Unmarshal(raw, &all); err != nil || len(all.Paths) == 0 {
		t.Fatal(err)
	}
	for _, v := range all.Paths {
		try, ok := safety[v.Category]
		if !ok {
			t.Errorf("the vector %s (%s) is not tried", v.Category, v.Case)
			continue
		}
		d := newDesk(t, func(c *file.Config) {
			c.Hide = func(p string) bool {
				base := filepath.Base(p)
				return base == "secrets" || base == ".env" || base == "café" || p == "/etc/hosts"
			}
			c.Protect = func(p string) bool { return base(p) == "uzda.yaml" || strings.HasSuffix(p, "/.uzda/hooks.json") }
		})
		out := d.outside()
		for _, use := range try(d, out) {
			res := d.call(use[0].(string), use[1:]...)
			if text := res.Blocks.String(); (!res.IsError && use[0] != "grep") || strings.Contains(text, secret) {
				t.Errorf("%s: %v: %s", v.Category, use, text)
			}
		}
		intact(t, out)
	}
}

func base(p string) string { return filepath.Base(p) }

// safety makes what each kind of vector needs and returns the uses to refuse; those
// of grep must only not show the secret.
var safety = map[string]func(d *desk, out string) [][]any{
	"dangling-symlink": func(d *desk, out string) [][]any {
		d.link(filepath.Join(out, "new"), "f")
		return [][]any{{"write_file", "path", "f", "content", "x"}}
	},
	"dotdot": func(*desk, string) [][]any { return [][]any{{"read_file", "path", "../../etc/passwd"}} },
	"dotdot-after-symlink": func(d *desk, out string) [][]any {
		d.link(filepath.Join(out, "sub"), "link")
		d.put("inner/secret", "harmless")
		return [][]any{{"read_file", "path", "link/../secret"}, {"write_file", "path", "link/../secret", "content", "x"}}
	},
	"prefix-sibling": func(d *desk, _ string) [][]any {
		put(d.t, d.dir+"-secrets/x", secret)
		d.t.Cleanup(func() { _ = os.RemoveAll(d.dir + "-secrets") })
		return [][]any{{"read_file", "path", d.dir + "-secrets/x"}, {"read_file", "path", "../" + base(d.dir) + "-secrets/x"}}
	},
	"case": func(d *desk, _ string) [][]any {
		d.put(".env", secret)
		return [][]any{{"read_file", "path", ".env"}, {"read_file", "path", ".ENV"}, {"grep", "path", ".Env", "pattern", "."}}
	},
	"unicode-nfd": func(d *desk, _ string) [][]any {
		d.put("café", secret)
		return [][]any{{"read_file", "path", "café"}, {"read_file", "path", "cafe\u0301"}}
	},
	"hardlink": func(d *desk, out string) [][]any {
		if err := os.Link(filepath.Join(out, "secret"), d.path("hard")); err != nil {
			return nil
		}
		return [][]any{{"write_file", "path", "hard", "content", "x"}}
	},
	"proc-root": func(*desk, string) [][]any {
		return [][]any{{"read_file", "path", "/proc/self/root/etc/shadow"}, {"grep", "path", "/proc/self/environ", "pattern", "."}}
	},
	"glob": func(d *desk, _ string) [][]any {
		d.put("secrets/key", secret)
		return [][]any{{"grep", "pattern", "."}, {"grep", "pattern", ".", "all", true}, {"read_file", "path", "secrets/key"}}
	},
	"tool-asymmetry": func(*desk, string) [][]any {
		return [][]any{{"read_file", "path", "/etc/hosts"}, {"grep", "path", "/etc/hosts", "pattern", "no such line"}, {"glob", "pattern", "/etc/h*"}}
	},
	"agent-config": func(d *desk, _ string) [][]any {
		d.put("uzda.yaml", "a: 1\n")
		d.put(".uzda/hooks.json", "{}")
		d.ok("read_file", "path", "uzda.yaml")
		return [][]any{{"write_file", "path", "uzda.yaml", "content", "x"}, {"edit_file", "path", "uzda.yaml", "old", "1", "new", "2"}, {"delete_file", "path", ".uzda", "recursive", true}}
	},
	"null-byte": func(d *desk, _ string) [][]any {
		d.put("a", secret)
		return [][]any{{"read_file", "path", "a\x00.txt"}, {"write_file", "path", "a\x00", "content", "x"}}
	},
}

// With the root of all files as the folder, the system's own files stay closed.
func TestWholeSystem(t *testing.T) { // case:P06
	t.Parallel()
	d := newDesk(t, func(c *file.Config) { c.Roots = []string{"/"} })
	d.put("a", "x\n")
	d.link("/proc/self", "me")
	d.ok("read_file", "path", "a")
	for _, p := range []string{"/proc/self/root/etc/passwd", "me/environ", "/dev/zero", "/sys/kernel", "/proc/self/fd/0"} {
		d.refused([]string{"belongs to the system"}, "read_file", "path", p)
	}
}

// However a file is changed between reading and editing, the edit is refused, and
// what the other one wrote stays.
func TestChangedBetween(t *testing.T) { // T2, issue 4 point 3
	t.Parallel()
	d := newDesk(t)
	r := rand.New(rand.NewPCG(5, 5))
	for i := range 120 {
		text := fmt.Sprintf("one\ntwo\nthree %d\n", i)
		d.put("f", text)
		d.ok("read_file", "path", "f")
		info, err := os.Stat(d.path("f"))
		if err != nil {
			t.Fatal(err)
		}
		other := []byte(text)
		other[r.IntN(len(other))] ^= 1
		switch r.IntN(4) {
		case 0: // in place, the same size and time
			err = os.WriteFile(d.path("f"), other, 0o644)
			if err == nil {
				err = os.Chtimes(d.path("f"), info.ModTime(), info.ModTime())
			}
		case 1: // replaced
			d.put("g", string(other))
			err = os.Rename(d.path("g"), d.path("f"))
		case 2: // grown
			other = append([]byte(text), 'x')
			err = os.WriteFile(d.path("f"), other, 0o644)
		case 3: // cut
			other = []byte(text)[:len(text)-1-r.IntN(3)]
			err = os.Truncate(d.path("f"), int64(len(other)))
		}
		if err != nil {
			t.Fatal(err)
		}
		d.refused([]string{"has changed since"}, "edit_file", "path", "f", "old", "two", "new", "2")
		d.has("f", string(other))
	}
}

// Edits side by side are made one after the other: none is lost.
func TestEditsTogether(t *testing.T) { // T2
	t.Parallel()
	d := newDesk(t)
	var text strings.Builder
	const many = 24
	for i := range many {
		fmt.Fprintf(&text, "<%02d>\n", i)
	}
	d.put("f", text.String())
	d.ok("read_file", "path", "f")
	var wg sync.WaitGroup
	for i := range many {
		wg.Go(func() {
			if res := d.call("edit_file", "path", "f", "old", fmt.Sprintf("<%02d>", i), "new", fmt.Sprintf("[%02d]", i)); res.IsError {
				t.Errorf("%s", res.Blocks)
			}
		})
	}
	wg.Wait()
	d.has("f", strings.NewReplacer("<", "[", ">", "]").Replace(text.String()))
	if _, err := d.files.Undo(t.Context(), session, file.UndoOptions{}); err != nil {
		t.Fatal(err)
	}
	d.has("f", text.String())
}

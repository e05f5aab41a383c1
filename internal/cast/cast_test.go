package cast_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda/internal/cast"
)

func second(string) time.Duration { return time.Second }

// texts are the lines of a picture as a reader sees them; it must be XML.
func texts(t *testing.T, svg []byte) (out []string) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	inside, line := false, ""
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("the picture is no XML: %v\n%s", err, svg)
		}
		switch e := token.(type) {
		case xml.StartElement:
			inside = inside || e.Name.Local == "text"
		case xml.CharData:
			if inside {
				line += string(e)
			}
		case xml.EndElement:
			if e.Name.Local == "text" {
				out, line, inside = append(out, line), "", false
			}
		}
	}
}

// What was printed is what is seen, whatever it is: long lines break where those of a
// terminal do, wide characters take two columns, and nothing can leave the picture.
func TestShow(t *testing.T) {
	t.Parallel()
	printed := "plain\r\n\r\n<b>&\"x\"</b>\x1b[31m red\x1b[0m\x07\n0123456789ABC\n提问提问提问\n"
	s := cast.Show{Title: "a & b", Columns: 10, Rows: 3, Hold: time.Second, Lines: cast.Paced("$ ", "uzda", printed, 10, second)}
	var svg, rec bytes.Buffer
	if err := errors.Join(s.SVG(&svg), s.Cast(&rec)); err != nil {
		t.Fatal(err)
	}
	want := []string{"a & b", "$ uzda", "plain", `<b>&"x"</b`, "> red", "0123456789", "ABC", "提问提问提", "问"}
	if got := texts(t, svg.Bytes()); !slices.Equal(got, want) {
		t.Errorf("the picture shows %q, not %q", got, want)
	}
	if !strings.Contains(svg.String(), "translateY(-108px)") || !strings.Contains(svg.String(), "prefers-reduced-motion") {
		t.Errorf("it does not scroll by the six rows that do not fit, or cannot be stopped:\n%s", &svg)
	}
	lines := strings.Split(strings.TrimSpace(rec.String()), "\n")
	var head struct{ Version, Width, Height int }
	if err := json.Unmarshal([]byte(lines[0]), &head); err != nil || head.Version != 2 || head.Width != 10 || head.Height != 3 {
		t.Errorf("the recording begins with %s: %v", lines[0], err)
	}
	before := -1.0
	for _, l := range lines[1:] {
		var e []any
		if err := json.Unmarshal([]byte(l), &e); err != nil || len(e) != 3 || e[1] != "o" || e[0].(float64) < before {
			t.Fatalf("%s: %v", l, err)
		}
		before = e[0].(float64)
	}
	if len(lines) != 10 {
		t.Errorf("%d lines:\n%s", len(lines), &rec)
	}
}

// Without a line there is a picture, too.
func TestEmpty(t *testing.T) {
	t.Parallel()
	var svg bytes.Buffer
	if err := (cast.Show{Columns: 10, Rows: 3}).SVG(&svg); err != nil {
		t.Fatal(err)
	}
	texts(t, svg.Bytes())
}

// changing is what differs from run to run.
var changing = regexp.MustCompile(`\d+\.\d\d( s)?|\d+ms|06[0-9a-z]{14}`)

// The pictures that the pages show are what the demo prints in a terminal now.
func TestPictures(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/ptmx"); err != nil || testing.Short() {
		t.Skip("SKIPPED: it needs a terminal and some seconds")
	}
	dir := t.TempDir()
	c := exec.Command("go", "run", "./internal/cast/cmd", "-out", dir)
	c.Dir = filepath.Join("..", "..")
	if out, err := c.CombinedOutput(); err != nil {
		if strings.Contains(string(out), "made on Linux") {
			t.Skip("SKIPPED: " + string(out))
		}
		t.Fatalf("%v\n%s", err, out)
	}
	read := func(dir string) (seen []string) {
		svg, err := os.ReadFile(filepath.Join(dir, "demo.svg"))
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range texts(t, svg) {
			// Tools that run side by side end in any order.
			if l = changing.ReplaceAllString(l, "…"); !strings.Contains(l, "describe_table") {
				seen = append(seen, l)
			}
		}
		return seen
	}
	shown, now := read(filepath.Join("..", "..", "docs", "pictures")), read(dir)
	if !slices.Equal(shown, now) {
		t.Errorf("the demo prints other lines than docs/pictures/demo.svg shows; make it anew: go run ./internal/cast/cmd\n%s\n\nnow:\n%s", strings.Join(shown, "\n"), strings.Join(now, "\n"))
	}
}

// Whatever was printed makes XML and JSON.
func FuzzShow(f *testing.F) {
	for _, seed := range []string{"", "a\tb", "\x1b]0;title\x07", "\xff\xfe", "]]>", "\U0001F600", "\u202e", "\ufffe\uffff", "a\rb"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, printed string) {
		s := cast.Show{Title: printed, Columns: 7, Rows: 2, Lines: cast.Paced("$ ", printed, printed, 7, second)}
		var svg, rec bytes.Buffer
		if err := errors.Join(s.SVG(&svg), s.Cast(&rec)); err != nil {
			t.Fatal(err)
		}
		texts(t, svg.Bytes())
		for line := range bytes.Lines(rec.Bytes()) {
			if !json.Valid(line) {
				t.Fatalf("no JSON: %s", line)
			}
		}
	})
}

package release_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"slices"
	"testing"
	"time"

	"github.com/uzda-dev/uzda/internal/release"
)

// packed is what an archive says of a file.
type packed struct {
	name string
	mode fs.FileMode
	at   time.Time
	text string
	who  string
}

func readTar(t *testing.T, data []byte) (out []packed) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if !z.ModTime.IsZero() || z.Name != "" {
		t.Errorf("the gzip header says %q, %s", z.Name, z.ModTime)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		who := h.Uname + h.Gname
		if h.Uid != 0 || h.Gid != 0 {
			who += "somebody"
		}
		out = append(out, packed{h.Name, h.FileInfo().Mode(), h.ModTime.UTC(), string(text), who})
	}
}

func readZip(t *testing.T, data []byte) (out []packed) {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, packed{f.Name, f.Mode(), f.Modified.UTC(), string(text), ""})
	}
	return out
}

// An archive depends on the files alone: not on their order, the zone of the time,
// or who packs it.
func TestArchives(t *testing.T) { // G6
	t.Parallel()
	at := time.Date(2026, 12, 1, 3, 20, 38, 5, time.UTC)
	files := []release.File{
		{Name: "uzda", Mode: 0o755, Data: []byte("program")},
		{Name: "man/uzda.1", Mode: 0o644, Data: []byte("żółć 你好\r\n\x00")},
		{Name: "LICENSE", Mode: 0o644},
	}
	want := []packed{
		{"top/LICENSE", 0o644, at.Truncate(time.Second), "", ""},
		{"top/man/uzda.1", 0o644, at.Truncate(time.Second), "żółć 你好\r\n\x00", ""},
		{"top/uzda", 0o755, at.Truncate(time.Second), "program", ""},
	}
	for _, c := range []struct {
		name string
		pack func(io.Writer, string, []release.File, time.Time) error
		read func(*testing.T, []byte) []packed
	}{{"tar", release.Tar, readTar}, {"zip", release.Zip, readZip}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var one, two bytes.Buffer
			if err := c.pack(&one, "top", files, at); err != nil {
				t.Fatal(err)
			}
			other := slices.Clone(files)
			slices.Reverse(other)
			if err := c.pack(&two, "top", other, at.In(time.FixedZone("there", 5*3600))); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(one.Bytes(), two.Bytes()) {
				t.Error("the order of the files, or the zone, changes the archive")
			}
			if got := c.read(t, one.Bytes()); !slices.Equal(got, want) {
				t.Errorf("it holds\n%v\nwant\n%v", got, want)
			}
		})
	}
}

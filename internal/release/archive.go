package release

import (
	"archive/tar"
	"archive/zip"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"io"
	"io/fs"
	"slices"
	"time"
)

// A File is what an archive holds under a name with slashes.
type File struct {
	Name string
	Mode fs.FileMode
	Data []byte
}

// sorted are the files by name, so that the order in which they were made does not count.
func sorted(files []File) []File {
	return slices.SortedFunc(slices.Values(files), func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
}

// Tar writes files as tar.gz below the folder top. All have the time at, and none an
// owner, so that the bytes depend on the files alone.
func Tar(w io.Writer, top string, files []File, at time.Time) error {
	packed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(packed)
	for _, f := range sorted(files) {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: top + "/" + f.Name, Mode: int64(f.Mode.Perm()), Size: int64(len(f.Data)), ModTime: at.UTC().Truncate(time.Second)}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(f.Data); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return packed.Close()
}

// Zip writes files as Tar does, for systems where people have no tar.
func Zip(w io.Writer, top string, files []File, at time.Time) error {
	z := zip.NewWriter(w)
	z.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(out, flate.BestCompression)
	})
	for _, f := range sorted(files) {
		h := &zip.FileHeader{Name: top + "/" + f.Name, Method: zip.Deflate, Modified: at.UTC().Truncate(time.Second)}
		h.SetMode(f.Mode.Perm())
		in, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := in.Write(f.Data); err != nil {
			return err
		}
	}
	return z.Close()
}

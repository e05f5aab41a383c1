package attach

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/uzda-dev/uzda/internal/charset"
)

// load reads a file that there is. What has no content of its own is not opened: a
// pipe would hold the program up.
func (l Limits) load(dir, path string, room int64) ([]byte, error) {
	refuse := func(hint, format string, args ...any) error { return &Error{path, fmt.Sprintf(format, args...), hint} }
	switch path {
	case "":
		return nil, &Error{`""`, "no file is named", "name a file, in quotes where its name has spaces"}
	case "-":
		return nil, refuse("`--stdin` adds what is piped in to the task, and - in its place reads it", "it is standard input, and files are attached")
	}
	place := path
	if !filepath.IsAbs(place) {
		place = filepath.Join(dir, place)
	}
	info, err := os.Stat(place)
	if err != nil {
		return nil, l.missing(dir, path, err)
	}
	switch m := info.Mode(); {
	case m.IsDir():
		return nil, refuse("name the files in it, or let the agent read the folder: --dir "+path, "it is a folder, and files are attached")
	case !m.IsRegular():
		return nil, refuse("write what it gives into a file, or pipe it in with --stdin", "it is %s, not a file with content of its own", special(m))
	case info.Size() > room:
		return nil, l.tooLarge(path, info.Size(), room)
	}
	f, err := os.OpenFile(place, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, l.missing(dir, path, err)
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !os.SameFile(now, info) {
		return nil, refuse("try again", "it was replaced while it was opened")
	}
	data, err := io.ReadAll(io.LimitReader(f, room+1))
	switch {
	case err != nil:
		return nil, refuse("see what is wrong with the file or the disk", "it cannot be read: %v", plain(err))
	case int64(len(data)) > room:
		return nil, l.tooLarge(path, int64(len(data)), room)
	case len(data) == 0:
		return nil, refuse("see whether it is the file that you mean", "it is empty")
	}
	return data, nil
}

func (l Limits) tooLarge(path string, size, room int64) error {
	what := fmt.Sprintf("it has %s bytes, and the files of a message may have %s", charset.Commas(size), charset.Commas(l.Bytes))
	if room < l.Bytes {
		what = fmt.Sprintf("it has %s bytes; with the files before it that is more than the %s that a message takes", charset.Commas(size), charset.Commas(l.Bytes))
	}
	return &Error{path, what, "put it into the agent's folder and let the agent read what it needs of it"}
}

// missing says why a file cannot be had.
func (l Limits) missing(dir, path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		hint := "see how it is spelt"
		if !filepath.IsAbs(path) {
			hint += "; the path begins in " + dir
		}
		if strings.HasPrefix(path, "~") {
			hint = "a shell takes ~ for your home only outside of quotes: write the whole path"
		}
		return &Error{path, "there is no such file", hint}
	case errors.Is(err, fs.ErrPermission):
		return &Error{path, "you may not read it", "see who may: ls -l " + path}
	}
	return &Error{path, fmt.Sprintf("it cannot be opened: %v", plain(err)), "see how it is spelt"}
}

// plain leaves the path out of an error: it is told before.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func special(m fs.FileMode) string {
	switch {
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}

package file

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/uzda-dev/uzda/internal/charset"
)

// open opens the file of a place for reading. Only a regular file is opened, and
// only the one that was located: what somebody put in its place is refused.
func (p *place) open() (*os.File, fs.FileInfo, error) {
	if err := p.regular(); err != nil {
		return nil, nil, err
	}
	f, err := p.root.OpenFile(p.rel, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, nil, p.trouble("open", err)
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, nil, p.trouble("open", err)
	}
	if !info.Mode().IsRegular() || !os.SameFile(info, p.info) {
		_ = f.Close()
		return nil, nil, refuse("%q was replaced while it was opened: try again", p.shown)
	}
	return f, info, nil
}

// regular refuses what has no bytes of its own.
func (p *place) regular() error {
	switch {
	case p.info == nil:
		return p.missing()
	case p.info.IsDir():
		return refuse("%q is a folder, not a file: see what is in it with glob or read_file", p.shown)
	case !p.info.Mode().IsRegular():
		return refuse("%q is %s, not a file with content: it is left alone", p.shown, kind(p.info.Mode()))
	}
	return nil
}

func kind(m fs.FileMode) string {
	switch {
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	case m&fs.ModeSymlink != 0:
		return "a link"
	}
	return "a special file"
}

// trouble says what could not be done with a place and what to do.
func (p *place) trouble(what string, err error) error {
	switch plain := plainError(err); {
	case errors.Is(err, fs.ErrPermission):
		return refuse("cannot %s %q: the user who runs this may not (%v). Ask the user", what, p.shown, plain)
	case errors.Is(err, fs.ErrNotExist):
		return refuse("cannot %s %q: it is gone. Look with glob where it is", what, p.shown)
	default:
		return refuse("cannot %s %q: %v", what, p.shown, plain)
	}
}

// content is what a file holds.
type content struct {
	data    []byte
	version string
	info    fs.FileInfo // nil: there is no file
	enc     charset.Encoding
	text    bool
}

// load reads a file as a whole, if it is not too large.
func (p *place) load(ctx context.Context, most int64) (*content, error) {
	f, info, err := p.open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > most {
		return nil, refuse("%q has %s bytes, and at most %s can be changed or searched as a whole: use a program for it", p.shown, charset.Commas(info.Size()), charset.Commas(most))
	}
	data := make([]byte, 0, info.Size()+1)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		const step = 4 << 20
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := f.Read(data[len(data):min(cap(data), len(data)+step)])
		data = data[:len(data)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, p.trouble("read", err)
		}
		if int64(len(data)) > most {
			return nil, refuse("%q grows while it is read: try again when it is finished", p.shown)
		}
	}
	c := &content{data: data, version: version(data), info: info}
	c.enc, c.text = charset.Detect(data, "")
	return c, nil
}

// version names content by its SHA-256.
func version(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		_, _ = h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// current returns the version of what is at a place now.
func (p *place) current(ctx context.Context) (string, error) {
	switch {
	case p.info == nil:
		return absent, nil
	case p.info.IsDir():
		return folder, nil
	}
	f, _, err := p.open()
	if err != nil {
		return "", err
	}
	defer f.Close()
	return versionOf(ctx, f)
}

// versionOf is the version of what a reader gives.
func versionOf(ctx context.Context, r io.Reader) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, &patient{ctx, r}); err != nil {
		return "", fmt.Errorf("read: %w", plainError(err))
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// patient ends reading when its context does.
type patient struct {
	ctx context.Context //nolint:containedctx // it lives as long as one call
	r   io.Reader
}

func (p *patient) Read(b []byte) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	return p.r.Read(b)
}

// sameAs says whether a file is the one that was looked at, unchanged as far as
// its data can tell.
func sameAs(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

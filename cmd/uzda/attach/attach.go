// Package attach reads files that a person gives along with a task, as blocks that a
// model can read.
package attach

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/charset"
)

// Limits are what one message may carry; zero means the default.
type Limits struct {
	Files   int           // default 20
	Bytes   int64         // of all files, default 32 MB
	Picture int64         // bytes of one; default 3,932,160, which are 5 MB as providers count them, in base64
	Side    int           // pixels of a picture, default 8,000: more is refused by a provider
	Text    int           // bytes of all texts, default 256 KiB
	Time    time.Duration // for a PDF, default 30 s
}

func (l Limits) filled() Limits {
	l.Files = cmp.Or(l.Files, 20)
	l.Bytes = cmp.Or(l.Bytes, 32_000_000)
	l.Picture = cmp.Or(l.Picture, 5<<20/4*3)
	l.Side = cmp.Or(l.Side, 8000)
	l.Text = cmp.Or(l.Text, 256<<10)
	l.Time = cmp.Or(l.Time, 30*time.Second)
	return l
}

// What a file is.
const (
	Picture = "picture"
	PDF     = "PDF"
	Text    = "text"
)

// A File is what was read of a file.
type File struct {
	Path          string // as it was given
	Name          string // its last part, fit to be shown and framed
	Kind          string
	Type          string // MIME
	Bytes         int64
	Width, Height int    // of a picture
	Pages         int    // of a PDF
	Charset       string // of a text that is no UTF-8
	Secret        bool   // by its name or its content it may hold a key
	text          string
	data          []byte
}

// An Error says what is wrong with a file, and what to do.
type Error struct {
	File, What, Hint string
}

func (e *Error) Error() string { return e.File + ": " + e.What }

// Read reads files; relative paths are below dir. All of them can be sent, or none.
func (l Limits) Read(ctx context.Context, dir string, paths ...string) ([]File, error) {
	l = l.filled()
	if len(paths) > l.Files {
		return nil, &Error{paths[l.Files], fmt.Sprintf("a message takes %d files, and this is one more", l.Files), "give the rest with a later message, or put the files into the agent's folder and say what to read"}
	}
	var out []File
	total, words := int64(0), 0
	for _, p := range paths {
		data, err := l.load(dir, p, l.Bytes-total)
		if err != nil {
			return nil, err
		}
		f := File{Path: p, Name: safeName(p), Bytes: int64(len(data))}
		if err := l.look(ctx, &f, data); err != nil {
			return nil, err
		}
		total += f.Bytes
		if words += len(f.text); words > l.Text {
			return nil, l.tooMuch(&f, words)
		}
		out = append(out, f)
	}
	return out, nil
}

// tooMuch refuses text that would fill the window of most models.
func (l Limits) tooMuch(f *File, words int) error {
	what := fmt.Sprintf("its text has %s bytes, and a message takes %s", charset.Commas(int64(len(f.text))), charset.Commas(int64(l.Text)))
	if words > len(f.text) {
		what = fmt.Sprintf("with it the attached texts have %s bytes, and a message takes %s", charset.Commas(int64(words)), charset.Commas(int64(l.Text)))
	}
	return &Error{f.Path, what, LargeHint(f)}
}

// LargeHint says how a model reads what is too large to be sent as a whole.
func LargeHint(f *File) string {
	if f.Kind == PDF {
		return "attach the pages that matter as a PDF of their own, or turn it into text (pdftotext does) in the agent's folder, and let the agent read what it needs of it"
	}
	return "put it into the agent's folder and let the agent read what it needs of it: read_file takes ranges of lines, grep searches"
}

// look finds out by its bytes what a file is.
func (l Limits) look(ctx context.Context, f *File, data []byte) error {
	f.Secret = secretName(f.Path)
	switch mime := charset.Media(data); {
	case mime != "":
		return l.picture(f, data, mime)
	case isPDF(data):
		return l.pdf(ctx, f, data)
	}
	return l.words(f, data)
}

// String is the file in a line: "picture chart.png, image/png, 640×480, 31 KB".
func (f File) String() string {
	parts := []string{f.Kind + " " + f.Name}
	switch f.Kind {
	case Picture:
		parts = append(parts, f.Type, fmt.Sprintf("%d×%d", f.Width, f.Height))
	case PDF:
		parts = append(parts, pages(f.Pages))
	default:
		if f.Charset != "" {
			parts = append(parts, "in "+f.Charset)
		}
	}
	return strings.Join(append(parts, Size(f.Bytes)), ", ")
}

func pages(n int) string {
	if n == 1 {
		return "1 page"
	}
	return fmt.Sprintf("%d pages", n)
}

// Size is a number of bytes for people.
func Size(n int64) string {
	switch {
	case n == 1:
		return "1 byte"
	case n < 1000:
		return fmt.Sprintf("%d bytes", n)
	case n < 999_500:
		return fmt.Sprintf("%.3g KB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.3g MB", float64(n)/1e6)
}

// Describe is a line for media of a transcript, as [File.String] has it.
func Describe(m uzda.Media) string {
	f := File{Name: cleanName(m.Name), Kind: Picture, Type: m.Type, Bytes: int64(len(m.Data))}
	if f.Name == "" {
		f.Name = "without a name"
	}
	if w, h, err := size(m.Data, charset.Media(m.Data)); err == nil {
		f.Width, f.Height = w, h
		return "[" + f.String() + "]"
	}
	kind := "file"
	if strings.HasPrefix(m.Type, "image/") {
		kind = Picture
	}
	return fmt.Sprintf("[%s %s, %s, %s]", kind, f.Name, m.Type, Size(f.Bytes))
}

// secretName says whether a file is named as files with keys are.
func secretName(path string) bool {
	name := strings.ToLower(filepath.Base(path))
	switch filepath.Ext(name) {
	case ".example", ".sample", ".template", ".dist", ".pub":
		return false
	case ".pem", ".key", ".p12", ".pfx", ".kdbx", ".keystore", ".jks", ".ppk":
		return true
	}
	if name == ".env" || strings.HasPrefix(name, ".env.") || strings.HasPrefix(name, "id_rsa") || strings.HasPrefix(name, "id_ed25519") || strings.HasPrefix(name, "id_ecdsa") {
		return true
	}
	switch name {
	case ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".htpasswd", ".git-credentials", "credentials", "credentials.json", "secrets.json", "secrets.yaml", "secrets.yml":
		return true
	}
	return false
}

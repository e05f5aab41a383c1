package attach

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/uzda-dev/uzda/internal/charset"
)

// words takes a text in any encoding. Its line ends stay as they are.
func (l Limits) words(f *File, data []byte) error {
	f.Kind, f.Type = Text, textType(f.Path)
	enc, ok := charset.Detect(data, "")
	if !ok {
		what := charset.Describe(data)
		return &Error{f.Path, "it is no text, but " + article(what), binaryHint(what)}
	}
	text, err := enc.Decode(data)
	if err != nil {
		return &Error{f.Path, fmt.Sprintf("its text (%s) cannot be read: %v", enc, err), "save it as UTF-8"}
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if strings.TrimSpace(text) == "" {
		return &Error{f.Path, "there is nothing in it but white space", "see whether it is the file that you mean"}
	}
	f.text = text
	if enc.Name != charset.UTF8 {
		f.Charset = enc.String()
	}
	f.Secret = f.Secret || strings.Contains(text, "PRIVATE KEY-----")
	return nil
}

func article(what string) string {
	switch {
	case strings.HasPrefix(what, "binary data"):
		return what
	case strings.ContainsRune("aeioAEIO", rune(what[0])), strings.HasPrefix(what, "MP"):
		return "an " + what
	}
	return "a " + what
}

// binaryHint says what can be done with what no model reads.
func binaryHint(what string) string {
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(what, p) {
				return true
			}
		}
		return false
	}
	switch {
	case has("image", "icon"):
		return "save it as PNG or JPEG"
	case has("Office", "zip archive"):
		return "of a document: save it as PDF or as text; of an archive: unpack it, and attach what is in it"
	case has("archive"):
		return "unpack it, and attach what is in it"
	case has("SQLite"):
		return "let the agent ask it: --db FILE"
	case has("sound", "film"):
		return "sounds and films cannot be sent; attach what was said, as text"
	}
	return "pictures (PNG, JPEG, GIF, WebP), PDF and texts can be attached; a program of yours may turn it into one"
}

// textType is the MIME type of a text by its name.
func textType(path string) string {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".csv":
		return "text/csv"
	case ".tsv":
		return "text/tab-separated-values"
	case ".html", ".htm":
		return "text/html"
	case ".md", ".markdown":
		return "text/markdown"
	case ".json":
		return "application/json"
	case ".xml":
		return "application/xml"
	case ".yaml", ".yml":
		return "application/yaml"
	case ".svg":
		return "image/svg+xml"
	}
	return "text/plain"
}

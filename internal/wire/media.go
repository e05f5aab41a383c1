package wire

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
)

// Picture is the MIME type of a picture that models read (PNG, JPEG, GIF, WebP), by
// its bytes, "" for anything else: providers refuse a type that is wrong.
func Picture(data []byte) string {
	switch mime := http.DetectContentType(data); mime {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return mime
	}
	return ""
}

// IsText says whether media are a text, which every model can read.
func IsText(m *uzda.Media) bool {
	mime, _, _ := strings.Cut(strings.ToLower(m.Type), ";")
	mime = strings.TrimSpace(mime)
	return (strings.HasPrefix(mime, "text/") || slices.ContainsFunc([]string{"json", "xml", "yaml", "javascript"},
		func(kind string) bool { return strings.HasSuffix(mime, kind) })) && utf8.Valid(m.Data) && strings.TrimSpace(string(m.Data)) != ""
}

// RefusesMedia says whether a service refused a request, that had some, for its
// pictures, sounds or documents. As they stand in the view, it would refuse every
// later one too.
func RefusesMedia(err error) bool {
	var p *uzda.ProviderError
	if !errors.As(err, &p) {
		return false
	}
	switch p.Status {
	case http.StatusRequestEntityTooLarge:
		return true
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusInternalServerError:
		text := strings.ToLower(p.Message)
		has := func(part string) bool { return strings.Contains(text, part) }
		return slices.ContainsFunc(mediaWords, has) && slices.ContainsFunc(refusals, has)
	}
	return false
}

// What services say of media that they don't take:
// "Could not process image", "image exceeds 5 MB maximum", "The PDF specified was
// not valid" (Anthropic); "You uploaded an unsupported image", "image_url is only
// supported by certain models" (OpenAI); "content must be a string" (Groq);
// "unknown variant `image_url`, expected `text`" (DeepSeek); "No endpoints found
// that support image input" (OpenRouter); "is not a multimodal model", "At most 0
// image(s) may be provided" (vLLM); "image input is not supported - hint: … mmproj"
// (llama-server); "missing data required for image input" (Ollama).
var (
	mediaWords = []string{"image", "pdf", "document", "audio", "multimodal", "mmproj", "content must be a string"}
	refusals   = []string{"could not process", "cannot process", "failed to process", "exceed", "not valid", "invalid", "does not match", "support", "must be a string",
		"unknown variant", "at most", "not a multimodal", "missing data", "not enabled", "too large", "unknown format", "decode"}
)

// Final is err, but never to be tried again as it is.
func Final(err error) error {
	var p *uzda.ProviderError
	if !errors.As(err, &p) {
		return err
	}
	final := *p
	final.Again = uzda.AgainNo
	return &final
}

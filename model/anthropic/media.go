package anthropic

import (
	"bytes"
	"fmt"
	"image"
	_ "image/gif"  // sizes of pictures
	_ "image/jpeg" // the same
	_ "image/png"  // the same
	"net/http"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/wire"
)

// What the provider takes of one picture and of one document. A session whose
// view holds a larger one would be refused for ever.
const (
	maxImage = 5 << 20 / 4 * 3 // bytes; 5 MiB in base64
	maxSide  = 8000            // pixels
	maxFile  = 22 << 20        // bytes; with base64 a request has 32 MB at most
)

// look finds out what media are, by their bytes: a wrong type is refused too. Why
// says what keeps them from being sent.
func look(m uzda.Media) (kind, mime, why string) {
	if len(m.Data) == 0 {
		return "", "", "it is empty"
	}
	if mime = wire.Picture(m.Data); mime != "" {
		return "image", mime, imageFault(m.Data)
	}
	switch {
	case http.DetectContentType(m.Data) == "application/pdf":
		if len(m.Data) > maxFile {
			return "", "", fmt.Sprintf("it is larger than %d bytes", maxFile)
		}
		return "document", "application/pdf", ""
	case wire.IsText(&m):
		if len(m.Data) > maxFile {
			return "", "", fmt.Sprintf("it is larger than %d bytes", maxFile)
		}
		return "text", "text/plain", ""
	}
	return "", "", "the model reads pictures (PNG, JPEG, GIF, WebP), PDF and text"
}

func imageFault(data []byte) string {
	if len(data) > maxImage {
		return fmt.Sprintf("the picture is larger than %d bytes", maxImage)
	}
	if c, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil && max(c.Width, c.Height) > maxSide {
		return fmt.Sprintf("the picture is wider or higher than %d pixels", maxSide)
	}
	return ""
}

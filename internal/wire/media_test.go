package wire_test

import (
	"errors"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/wire"
)

// What services say of media that they refuse, and what is about something else.
func TestRefusesMedia(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		text   string
		want   bool
	}{
		{400, "messages.0.content.0.image.source.base64.data: image exceeds 5 MB maximum", true},
		{400, "The PDF specified was not valid.", true},
		{400, "Invalid content type. image_url is only supported by certain models.", true},
		{400, "messages[1].content must be a string", true},
		{400, "Failed to deserialize: unknown variant `image_url`, expected `text`", true},
		{404, "No endpoints found that support image input", true},
		{400, "At most 0 image(s) may be provided in one request.", true},
		{400, "m is not a multimodal model", true},
		{500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj", true},
		{500, "this model is missing data required for image input", true},
		{413, "", true},
		{400, "messages: roles must alternate", false},
		{400, "prompt is too long", false},
		{401, "image not supported", false},
		{429, "image tokens exceed the limit", false},
		{500, "internal error", false},
	} {
		err := &uzda.ProviderError{Status: c.status, Message: c.text}
		if got := wire.RefusesMedia(err); got != c.want {
			t.Errorf("%d %q: %v", c.status, c.text, got)
		}
	}
	if wire.RefusesMedia(errors.New("image not supported")) {
		t.Error("an error of no provider refuses media")
	}
}

// Media are looked at by their bytes.
func TestMediaKinds(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{"\x89PNG\r\n\x1a\n": "image/png", "\xff\xd8\xff\xe0": "image/jpeg", "GIF89a": "image/gif", "RIFF....WEBPVP8L": "image/webp", "BM......": "", "text": "", "": ""} {
		if got := wire.Picture([]byte(data)); got != want {
			t.Errorf("%q is %q, not %q", data, got, want)
		}
	}
	for _, c := range []struct {
		mime, data string
		want       bool
	}{
		{"text/plain; charset=utf-8", "a", true}, {"application/json", "{}", true}, {"image/svg+xml", "<svg/>", true}, {"application/x-yaml", "a: 1", true},
		{"text/plain", "\xff", false}, {"text/plain", " \n", false}, {"application/pdf", "%PDF", false}, {"", "a", false},
	} {
		if got := wire.IsText(&uzda.Media{Type: c.mime, Data: []byte(c.data)}); got != c.want {
			t.Errorf("%s %q: %v", c.mime, c.data, got)
		}
	}
	if got := wire.Shown("https://me:secret@host:1/v1"); got != "https://host:1/v1" {
		t.Errorf("it is shown as %s", got)
	}
	var p *uzda.ProviderError
	if err := wire.Final(&uzda.ProviderError{Code: "unknown", Status: 500}); !errors.As(err, &p) || p.Retryable() {
		t.Errorf("%v may be tried again", err)
	}
}

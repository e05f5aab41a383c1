package openai

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/raw"
	"github.com/uzda-dev/uzda/internal/wire"
)

// A view is the messages that were encoded so far, each behind a comma, and what
// the next one depends on.
type view struct {
	*service
	names names
	ids   ids
	out   []byte

	last     string // role of the last message
	blind    bool   // media of this message are left out: the service refused some
	media    int    // bytes of media in out
	pictures int
}

// message appends what a message of the view is on the wire: nothing, one
// message, or several.
func (v *view) message(m *uzda.Message) {
	if m.Role == uzda.Assistant {
		v.assistant(m)
		return
	}
	var rest, found uzda.Blocks
	for _, b := range m.Blocks {
		if r, ok := b.(uzda.ToolResult); ok {
			found = append(found, v.result(&r)...)
		} else {
			rest = append(rest, b)
		}
	}
	if len(found) > 0 {
		rest = append(found, rest...)
	}
	v.user(rest)
}

// begin appends what stands before the content of a message.
func (v *view) begin(role string) {
	v.out = append(append(append(v.out, `,{"role":"`...), role...), '"')
	v.last = role
}

const (
	user      = "user"
	assistant = "assistant"
	tool      = "tool"
)

// result appends a result and returns its media, which no result may hold: they
// come in a message of the user behind all results.
func (v *view) result(r *uzda.ToolResult) (media uzda.Blocks) {
	id := v.ids.get(r.Use)
	var parts []string
	for _, b := range r.Blocks {
		switch b := b.(type) {
		case uzda.Text:
			parts = append(parts, b.Text)
		case uzda.Media:
			if words := v.words(&b); words != "" {
				parts = append(parts, words)
				continue
			}
			parts = append(parts, fmt.Sprintf("[%s: it follows the results]", label(&b)))
			media = append(media, uzda.Text{Text: fmt.Sprintf("[%s, from the result of %s:]", label(&b), id)}, b)
		}
	}
	text := strings.Join(parts, "\n")
	if text == "" {
		text = "(no output)"
	}
	if r.IsError && (len(text) < 5 || !strings.EqualFold(text[:5], "error")) {
		text = "Error: " + text // the wire has no flag for it
	}
	v.answer(id, text)
	return media
}

func (v *view) answer(id, text string) {
	v.begin(tool)
	v.out = raw.AppendString(append(v.out, `,"tool_call_id":`...), id)
	v.out = raw.AppendString(append(v.out, `,"content":`...), text)
	v.out = append(v.out, '}')
}

// user appends what the user says.
func (v *view) user(bs uzda.Blocks) {
	var parts uzda.Blocks
	some := false
	for _, b := range bs {
		switch b := b.(type) {
		case uzda.Text:
			if b.Text != "" {
				parts = append(parts, b)
			}
		case uzda.Media:
			if words := v.words(&b); words != "" {
				parts = append(parts, uzda.Text{Text: words})
			} else {
				parts, some = append(parts, b), true
			}
		}
	}
	if len(parts) == 0 {
		return
	}
	if !some {
		parts = uzda.Say(parts.String())
	}
	switch {
	case v.Alternate && v.last == user:
		v.out = append(v.out[:len(v.out)-len(listEnd)], ',')
	case some || v.Alternate:
		v.bridge()
		v.begin(user)
		v.out = append(v.out, `,"content":[`...)
	default:
		v.bridge()
		v.begin(user)
		v.out = append(raw.AppendString(append(v.out, `,"content":`...), parts.String()), '}')
		return
	}
	v.parts(parts)
	v.out = append(v.out, listEnd...)
}

// listEnd ends a message of the user whose content is an array; where messages
// must alternate it always is, and gives way to what is added.
const listEnd = `]}`

// bridge puts a word of the assistant between a result and the user, for
// services that want it so.
func (v *view) bridge() {
	if v.Bridge && v.last == tool {
		v.out = append(v.out, ',')
		v.out = appendMessage(v.out, assistant, "I have read the results.")
		v.last = assistant
	}
}

func (v *view) parts(bs uzda.Blocks) {
	for i, b := range bs {
		if i > 0 {
			v.out = append(v.out, ',')
		}
		switch b := b.(type) {
		case uzda.Text:
			v.out = append(raw.AppendString(append(v.out, `{"type":"text","text":`...), b.Text), '}')
		case uzda.Media:
			from := len(v.out)
			v.part(&b)
			v.media += len(v.out) - from
			v.pictures++
		}
	}
}

// part appends a picture, a sound or a file with its data.
func (v *view) part(b *uzda.Media) {
	data := func() { v.out = append(base64.StdEncoding.AppendEncode(v.out, b.Data), '"') }
	switch kind(b) {
	case "image":
		v.out = append(append(append(v.out, `{"type":"image_url","image_url":{"url":"data:`...), wire.Picture(b.Data)...), `;base64,`...)
		data()
	case "audio":
		v.out = append(append(append(v.out, `{"type":"input_audio","input_audio":{"format":"`...), sound(b.Type)...), `","data":"`...)
		data()
	default:
		name := b.Name
		if name == "" {
			name = "file.pdf"
		}
		v.out = raw.AppendString(append(v.out, `{"type":"file","file":{"filename":`...), name)
		v.out = append(append(append(v.out, `,"file_data":"data:`...), b.Type...), `;base64,`...)
		data()
	}
	v.out = append(v.out, "}}"...)
}

// kind is how media stand on the wire, "" if they can't. A picture that is none
// would make every later request fail.
func kind(b *uzda.Media) string {
	switch {
	case wire.Picture(b.Data) != "":
		return "image"
	case b.Type == "application/pdf":
		return "file"
	}
	if sound(b.Type) != "" {
		return "audio"
	}
	return ""
}

func sound(mime string) string {
	switch mime {
	case "audio/wav", "audio/x-wav", "audio/wave":
		return "wav"
	case "audio/mpeg", "audio/mp3":
		return "mp3"
	}
	return ""
}

// words are what the model reads in the place of media, "" where they are sent.
func (v *view) words(b *uzda.Media) string {
	k := kind(b)
	switch {
	case wire.IsText(b):
		return fmt.Sprintf("[%s:]\n%s", label(b), b.Data)
	case len(b.Data) == 0:
		return fmt.Sprintf("[%s was left out: it is empty]", label(b))
	case v.blind:
		return fmt.Sprintf("[%s, %d bytes, was left out: %s refused it, or another before]", label(b), len(b.Data), v.Label)
	case k == "image" && v.Images, k == "audio" && v.Audio, k == "file" && v.Files:
		return ""
	}
	if k == "" && strings.HasPrefix(b.Type, "image/") {
		return fmt.Sprintf("[%s, %d bytes, was left out: it is no picture that the model can read]", label(b), len(b.Data))
	}
	return fmt.Sprintf("[%s, %d bytes, was left out: it can't be sent to this model]", label(b), len(b.Data))
}

func label(b *uzda.Media) string {
	if b.Name == "" {
		return b.Type
	}
	return b.Name + " (" + b.Type + ")"
}

// resume is said where the view would end in the assistant's words, which some
// services refuse, and others go on with in the middle.
const resume = "Continue."

// tail returns the message that ends the request, and how many bytes of the view
// it stands in the place of. It becomes no part of the view.
func (v *view) tail(text string) (tail []byte, cut int) {
	if text == "" && (v.last == assistant || v.last == "") {
		text = resume
	}
	if text == "" {
		return nil, 0
	}
	t := *v
	t.out = nil
	if t.Alternate && t.last == user {
		t.out, cut = []byte(listEnd), len(listEnd)
	}
	t.user(uzda.Say(text))
	return t.out, cut
}

package window

import (
	"bytes"
	"image"
	_ "image/gif" // their sizes are read
	_ "image/jpeg"
	_ "image/png"
	"strings"

	"github.com/uzda-dev/uzda"
)

// What a provider puts around things: roles, names of fields, marks of blocks.
const (
	aroundMessage = 4
	aroundCall    = 8
	aroundTool    = 12
)

// sizeOf is about how many tokens a message has.
func sizeOf(m uzda.Message) (n int) {
	for _, b := range m.Blocks {
		n += sizeOfBlock(b)
	}
	return n
}

func sizeOfTool(t uzda.ToolSpec) int {
	return aroundTool + Estimate(t.Name) + Estimate(t.Description) + estimate(t.Input)
}

func sizeOfBlock(b uzda.Block) int {
	switch b := b.(type) {
	case uzda.Text:
		return aroundMessage + Estimate(b.Text)
	case uzda.Thinking:
		return aroundMessage + sizeOfThinking(b)
	case uzda.ToolUse:
		return aroundCall + Estimate(b.Name) + estimate(b.Input)
	case uzda.ToolResult:
		n := aroundCall
		for _, in := range b.Blocks {
			switch in := in.(type) {
			case uzda.Text:
				n += Estimate(in.Text)
			case uzda.Media:
				n += sizeOfMedia(in)
			case uzda.Opaque:
				n += estimate(in.Raw)
			}
		}
		return n
	case uzda.Media:
		return sizeOfMedia(b)
	case uzda.Opaque:
		return aroundMessage + estimate(b.Raw)
	}
	return 0
}

// sizeOfThinking goes by the signature where the text is withheld: it holds the
// text in some form, four of its letters for three bytes.
func sizeOfThinking(t uzda.Thinking) int {
	if t.Text == "" {
		return len(t.Signature) * 3 / 4 / 4
	}
	return Estimate(t.Text)
}

// sizeOfMedia follows the usual rule for pictures, width times height over 750
// and at most 1,600; other media are counted by their bytes, roughly.
func sizeOfMedia(m uzda.Media) int {
	const most = 1600
	if strings.HasPrefix(m.Type, "image/") {
		conf, _, err := image.DecodeConfig(bytes.NewReader(m.Data))
		if err != nil {
			return most
		}
		return min(max(conf.Width*conf.Height/750, 1), most)
	}
	return len(m.Data)/8 + aroundMessage
}

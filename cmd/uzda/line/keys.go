package line

import (
	"bufio"
	"strings"
	"unicode"
	"unicode/utf8"
)

// action is what a key does.
type action int

const (
	nothing action = iota
	insert         // the text of the key
	pasted         // the text, which may have several lines
	enter
	newline // a line end in the message
	left
	right
	wordLeft
	wordRight
	home
	end
	older
	newer
	backspace
	del
	killWord
	killBefore
	killAfter
	yank
	clearScreen
	complete
	interrupt
	eof // at an empty line the end of input, else del
	suspend
)

type key struct {
	do   action
	text string
}

var controls = map[byte]action{
	0x01: home, 0x02: left, 0x03: interrupt, 0x04: eof, 0x05: end, 0x06: right, 0x08: backspace, 0x09: complete,
	0x0a: newline, 0x0b: killAfter, 0x0c: clearScreen, 0x0d: enter, 0x0e: newer, 0x10: older, 0x15: killBefore, 0x17: killWord,
	0x19: yank, 0x1a: suspend, 0x7f: backspace,
}

// meta are keys that are typed with Alt, which sends an escape first.
var meta = map[byte]action{'b': wordLeft, 'f': wordRight, '\r': newline, '\n': newline, 0x7f: killWord, 0x08: killWord}

// sequences are those of the terminals in use, without the escape and the bracket.
var sequences = map[string]action{
	"A": older, "B": newer, "C": right, "D": left, "H": home, "F": end,
	"1~": home, "4~": end, "7~": home, "8~": end, "3~": del,
	"1;5C": wordRight, "1;5D": wordLeft, "1;3C": wordRight, "1;3D": wordLeft, "5C": wordRight, "5D": wordLeft,
	"13;2u": newline, "27;2;13~": newline,
}

const pasteEnds = "\x1b[201~"

// readKey reads one key. It waits for the whole of a rune or of a sequence, however
// its bytes come.
func readKey(r *bufio.Reader) (key, error) {
	c, err := r.ReadByte()
	if err != nil {
		return key{}, err
	}
	switch {
	case c == 0x1b:
		return readEscape(r)
	case c < 0x20 || c == 0x7f:
		return key{do: controls[c]}, nil
	}
	if err := r.UnreadByte(); err != nil {
		return key{}, err
	}
	c1, size, err := r.ReadRune()
	if err != nil {
		return key{}, err
	}
	if c1 == utf8.RuneError && size == 1 || unicode.IsControl(c1) {
		return key{}, nil
	}
	return key{insert, string(c1)}, nil
}

// readEscape reads what follows an escape. The key Escape alone sends nothing
// more; what comes then is a key of its own.
func readEscape(r *bufio.Reader) (key, error) {
	c, err := r.ReadByte()
	if err != nil {
		return key{}, err
	}
	switch {
	case c == '[' || c == 'O':
		return readSequence(r)
	case meta[c] != nothing:
		return key{do: meta[c]}, nil
	}
	return key{}, r.UnreadByte()
}

// readSequence reads a control sequence: parameters, then a final byte (ECMA-48).
func readSequence(r *bufio.Reader) (key, error) {
	const longest = 32
	var seq []byte
	for len(seq) < longest {
		c, err := r.ReadByte()
		if err != nil {
			return key{}, err
		}
		if c < 0x20 || c > 0x7e { // no part of a sequence
			return key{}, r.UnreadByte()
		}
		if seq = append(seq, c); c >= 0x40 {
			break
		}
	}
	if string(seq) == "200~" {
		return readPaste(r)
	}
	return key{do: sequences[string(seq)]}, nil
}

// readPaste reads what the terminal pastes, up to its mark (bracketed paste).
func readPaste(r *bufio.Reader) (key, error) {
	var b strings.Builder
	for b.Len() < mostTyped {
		c, err := r.ReadByte()
		if err != nil {
			return key{}, err
		}
		b.WriteByte(c)
		if c == '~' && strings.HasSuffix(b.String(), pasteEnds) {
			break
		}
	}
	text := strings.TrimSuffix(b.String(), pasteEnds)
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.ToValidUTF8(text, ""))
	text = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) && c != '\n' && c != '\t' {
			return -1
		}
		return c
	}, text)
	return key{pasted, text}, nil
}

package attach

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	_ "image/gif"  // sizes
	_ "image/jpeg" // the same
	_ "image/png"  // the same

	"github.com/uzda-dev/uzda/internal/charset"
)

// picture takes a picture that providers take. One that is broken would be refused
// with each later request of the session, so it may not come into one.
func (l Limits) picture(f *File, data []byte, mime string) error {
	f.Kind, f.Type, f.data = Picture, mime, data
	if f.Bytes > l.Picture {
		return &Error{f.Path, fmt.Sprintf("the picture has %s bytes, and one may have %s", charset.Commas(f.Bytes), charset.Commas(l.Picture)), "make it smaller, or save it as JPEG"}
	}
	var err error
	if f.Width, f.Height, err = size(data, mime); err == nil {
		err = whole(data, mime)
	}
	switch {
	case err != nil:
		return &Error{f.Path, fmt.Sprintf("the picture is broken: %v", err), "open it with a program that shows pictures, and save it anew"}
	case f.Width < 1 || f.Height < 1:
		return &Error{f.Path, fmt.Sprintf("the picture is broken: it has %d×%d pixels", f.Width, f.Height), "open it with a program that shows pictures, and save it anew"}
	case max(f.Width, f.Height) > l.Side:
		return &Error{f.Path, fmt.Sprintf("the picture has %d×%d pixels, and a side may have %s", f.Width, f.Height, charset.Commas(int64(l.Side))), "make it smaller: models see no more than some 1,600 pixels a side anyway"}
	}
	return nil
}

var (
	errCut   = errors.New("it ends too early")
	errParts = errors.New("its parts do not fit together")
)

// size is how many pixels a picture has.
func size(data []byte, mime string) (width, height int, err error) {
	switch mime {
	case "image/webp":
		return webpSize(data)
	case "image/png", "image/jpeg", "image/gif":
		c, _, err := image.DecodeConfig(bytes.NewReader(data))
		if err != nil {
			return 0, 0, errors.New("its header cannot be read")
		}
		return c.Width, c.Height, nil
	}
	return 0, 0, errors.New("it is no picture")
}

// whole says what is wrong with the parts of a picture. No pixel is unpacked.
func whole(data []byte, mime string) error {
	switch mime {
	case "image/png":
		return wholePNG(data)
	case "image/jpeg":
		return wholeJPEG(data)
	case "image/gif":
		return wholeGIF(data)
	}
	return nil // webpSize looks at its parts
}

func wholePNG(data []byte) error {
	const header, around = 8, 12
	some := false
	for at := header; ; {
		if len(data)-at < around {
			return errCut
		}
		n := int64(binary.BigEndian.Uint32(data[at:]))
		if n > int64(len(data)-at-around) {
			return errCut
		}
		kind, end := string(data[at+4:at+8]), at+8+int(n)
		if crc32.ChecksumIEEE(data[at+4:end]) != binary.BigEndian.Uint32(data[end:]) {
			return errors.New("the checksum of a part is wrong")
		}
		some = some || kind == "IDAT" && n > 0
		if kind == "IEND" {
			if !some {
				return errParts
			}
			return nil
		}
		at = end + 4
	}
}

func wholeJPEG(data []byte) error {
	for at := 2; ; {
		for at < len(data) && data[at] == 0xff && at+1 < len(data) && data[at+1] == 0xff {
			at++
		}
		if at+4 > len(data) {
			return errCut
		}
		if data[at] != 0xff {
			return errParts
		}
		kind := data[at+1]
		n := int(binary.BigEndian.Uint16(data[at+2:]))
		if n < 2 {
			return errParts
		}
		if at += 2 + n; kind == 0xda { // the pixels, up to the mark of the end
			if at > len(data) || !bytes.Contains(data[at:], []byte{0xff, 0xd9}) {
				return errCut
			}
			return nil
		}
	}
}

func wholeGIF(data []byte) error {
	const header = 13
	table := func(flags byte) int {
		if flags&0x80 == 0 {
			return 0
		}
		return 3 << (flags&7 + 1)
	}
	if len(data) < header {
		return errCut
	}
	some := false
	for at := header + table(data[10]); at < len(data); {
		switch data[at] {
		case 0x3b:
			if !some {
				return errParts
			}
			return nil
		case 0x21:
			at += 2
		case 0x2c:
			if at+10 > len(data) {
				return errCut
			}
			at, some = at+11+table(data[at+9]), true
		default:
			return errParts
		}
		for at < len(data) && data[at] != 0 {
			at += 1 + int(data[at])
		}
		at++
	}
	return errCut
}

// webpSize reads the first part of a WebP picture.
func webpSize(data []byte) (width, height int, err error) {
	const header = 30
	if len(data) < header {
		return 0, 0, errCut
	}
	if int64(binary.LittleEndian.Uint32(data[4:]))+8 > int64(len(data)) {
		return 0, 0, errCut
	}
	le := func(at, n int) int {
		v := 0
		for i := range n {
			v |= int(data[at+i]) << (8 * i)
		}
		return v
	}
	switch string(data[12:16]) {
	case "VP8X":
		return 1 + le(24, 3), 1 + le(27, 3), nil
	case "VP8L":
		if data[20] != 0x2f {
			return 0, 0, errParts
		}
		bits := le(21, 4)
		return 1 + bits&0x3fff, 1 + bits>>14&0x3fff, nil
	case "VP8 ":
		if string(data[23:26]) != "\x9d\x01\x2a" {
			return 0, 0, errParts
		}
		return le(26, 2) & 0x3fff, le(28, 2) & 0x3fff, nil
	}
	return 0, 0, errParts
}

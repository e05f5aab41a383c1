package charset

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	_ "image/gif"  // the sizes of pictures
	_ "image/jpeg" // the same
	_ "image/png"  // the same
	"strconv"
	"strings"
)

// kinds are what the first bytes of files say, at an offset.
var kinds = []struct {
	at    int
	magic string
	what  string
}{
	{0, "\x89PNG\r\n\x1a\n", "PNG image"},
	{0, "\xFF\xD8\xFF", "JPEG image"},
	{0, "GIF87a", "GIF image"},
	{0, "GIF89a", "GIF image"},
	{8, "WEBPVP8", "WebP image"},
	{0, "II*\x00", "TIFF image"},
	{0, "MM\x00*", "TIFF image"},
	{0, "\x00\x00\x01\x00", "icon"},
	{0, "%PDF-", "PDF document"},
	{0, "PK\x03\x04", "zip archive"},
	{0, "PK\x05\x06", "empty zip archive"},
	{0, "\x1F\x8B\x08", "gzip archive"},
	{0, "BZh", "bzip2 archive"},
	{0, "\xFD7zXZ\x00", "xz archive"},
	{0, "\x28\xB5\x2F\xFD", "zstd archive"},
	{0, "7z\xBC\xAF\x27\x1C", "7-Zip archive"},
	{0, "Rar!\x1A\x07", "RAR archive"},
	{257, "ustar", "tar archive"},
	{0, "\x7FELF", "ELF program"},
	{0, "\xCF\xFA\xED\xFE", "Mach-O program"},
	{0, "\xCA\xFE\xBA\xBE", "Java class or Mach-O program"},
	{0, "\x00asm", "WebAssembly program"},
	{0, "SQLite format 3\x00", "SQLite database"},
	{0, "ID3", "MP3 sound"},
	{0, "OggS", "Ogg sound"},
	{0, "fLaC", "FLAC sound"},
	{8, "WAVE", "WAV sound"},
	{4, "ftyp", "MP4 film"},
	{0, "\x1A\x45\xDF\xA3", "Matroska film"},
	{0, "wOFF", "web font"},
	{0, "wOF2", "web font"},
	{0, "\x00\x01\x00\x00\x00", "TrueType font"},
	{0, "OTTO", "OpenType font"},
	{0, "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", "old Office document"},
	{0, "!<arch>\n", "archive of object files"},
	{0, "PAR1", "Parquet table"},
}

// magic returns what kind of binary file data is by its first bytes, "" if they
// say nothing. Signs that a text may begin with count only beside other bytes.
func magic(data []byte) string {
	for _, k := range kinds {
		if len(data) < k.at+len(k.magic) || string(data[k.at:k.at+len(k.magic)]) != k.magic {
			continue
		}
		part := head(data)
		if printable(k.magic) && bytes.IndexByte(part, 0) < 0 && !strings.HasPrefix(k.magic, "%PDF") && !control(part) {
			continue
		}
		return k.what
	}
	if len(data) > 0x40 && data[0] == 'M' && data[1] == 'Z' {
		at := binary.LittleEndian.Uint32(data[0x3C:])
		if int64(at)+4 <= int64(len(data)) && string(data[at:at+4]) == "PE\x00\x00" {
			return "Windows program"
		}
	}
	return ""
}

func printable(s string) bool {
	for _, c := range []byte(s) {
		if (c < ' ' && c != '\n') || c > '~' {
			return false
		}
	}
	return true
}

func control(part []byte) bool {
	return bytes.ContainsFunc(part, func(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\n\v\f\r\b\a\x1b\x1a", r) })
}

// Describe says what data is, for someone who cannot see it: "PNG image 640×480,
// 12,345 bytes". Data may be the beginning of a file of size bytes: see [DescribeStart].
func Describe(data []byte) string { return DescribeStart(data, int64(len(data))) }

// DescribeStart is Describe for the beginning of a file of size bytes.
func DescribeStart(data []byte, size int64) string {
	what := magic(data)
	switch {
	case size == 0:
		return "empty, 0 bytes"
	case what == "":
		what = "binary data"
		e, ok := DetectStart(data, "")
		if size == int64(len(data)) {
			e, ok = Detect(data, "")
		}
		if ok {
			what = "text in " + e.String()
		}
	case strings.HasSuffix(what, "image"):
		if c, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil {
			what += fmt.Sprintf(" %d×%d", c.Width, c.Height)
		}
	}
	unit := "bytes"
	if size == 1 {
		unit = "byte"
	}
	return what + ", " + Commas(size) + " " + unit
}

// Media returns the MIME type of a picture that models can see, or "".
func Media(data []byte) string {
	switch magic(data) {
	case "PNG image":
		return "image/png"
	case "JPEG image":
		return "image/jpeg"
	case "GIF image":
		return "image/gif"
	case "WebP image":
		return "image/webp"
	}
	return ""
}

// Commas writes a number with a comma between thousands.
func Commas(n int64) string {
	s := strconv.FormatInt(n, 10)
	digits := strings.TrimPrefix(s, "-")
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if n < 0 {
		return "-" + digits
	}
	return digits
}

package ollama

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
)

// maxLine is the most of one line of a reply, in bytes.
const maxLine = 32 << 20

var errLine = fmt.Errorf("a line of the reply is over %d bytes", maxLine)

// A line is one line of a reply. Whole says that its end came; the last may have
// none. Data is good until the next.
type line struct {
	data  []byte
	whole bool
}

// lines reads newline-delimited JSON. It leaves out what is around lines: line
// ends of all kinds, a byte order mark, and the frame of server-sent events, which
// some gateways put around. Empty ones come as well, as signs of life.
func lines(from io.Reader) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		in := bufio.NewReaderSize(from, 32<<10)
		var long []byte
		for first := true; ; {
			part, err := in.ReadSlice('\n')
			if errors.Is(err, bufio.ErrBufferFull) {
				if long = append(long, part...); len(long) > maxLine {
					yield(line{}, errLine)
					return
				}
				continue
			}
			if len(long) > 0 {
				part = append(long, part...)
				long = part[:0]
			}
			if err != nil && !errors.Is(err, io.EOF) {
				yield(line{}, err)
				return
			}
			whole := err == nil
			if first {
				part, first = bytes.TrimPrefix(part, []byte("\ufeff")), false
			}
			if (whole || len(part) > 0) && !yield(line{unframe(part), whole}, nil) || !whole {
				return
			}
		}
	}
}

// unframe returns the JSON of a line.
func unframe(l []byte) []byte {
	l = bytes.Trim(l, " \t\r\n")
	if data, ok := bytes.CutPrefix(l, []byte("data:")); ok {
		l = bytes.TrimLeft(data, " ")
	}
	if string(l) == "[DONE]" {
		return nil
	}
	for _, field := range []string{":", "event:", "id:", "retry:"} {
		if bytes.HasPrefix(l, []byte(field)) {
			return nil
		}
	}
	return l
}

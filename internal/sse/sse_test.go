package sse_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/uzda-dev/uzda/internal/sse"
)

// all collects the events of r, written as "name|data" and ":comment", and the error.
func all(r io.Reader, limit int) (out []string, err error) {
	for e, err := range sse.Read(r, limit) {
		switch {
		case err != nil:
			return out, err
		case e.Comment:
			out = append(out, ":"+string(e.Data))
		default:
			out = append(out, e.Name+"|"+string(e.Data))
		}
	}
	return out, nil
}

var streams = []struct {
	name, in string
	want     []string
}{
	{"nothing", "", nil},
	{"one", "data: a\n\n", []string{"|a"}},
	{"named, with and without a space", "event: ping\ndata:{}\n\n", []string{"ping|{}"}}, // quirk:2
	{"name after data", "data: {}\nevent: ping\n\n", []string{"ping|{}"}},
	{"last name counts", "event: a\nevent: b\ndata: 1\n\n", []string{"b|1"}},
	{"name ends with its event", "event: a\ndata: 1\n\ndata: 2\n\n", []string{"a|1", "|2"}},
	{"a name without data is no event", "event: a\n\ndata: 1\n\n", []string{"|1"}},
	{"CRLF, no blank line at the end", "data: 1\r\n\r\ndata: 2\r\n", []string{"|1", "|2"}}, // quirk:36
	{"CR", "data: 1\r\rdata: 2\r\r", []string{"|1", "|2"}},
	{"mixed line ends", "data: 1\r\n\ndata: 2\n\r\ndata: 3\r\r\ndata: 4\n\r", []string{"|1", "|2", "|3", "|4"}},
	{"CR CR LF is two ends", "data: a\r\r\ndata: b\n\n", []string{"|a", "|b"}},
	{"byte order mark", "\ufeffdata: 1\n\n", []string{"|1"}},
	{"byte order mark only at the start", "data: 1\n\n\ufeffdata: 2\n\ndata: 3\n\n", []string{"|1", "|3"}},
	{"leading blank lines", "\n\r\n\rdata: 1\n\n", []string{"|1"}},
	{"comments", ": OPENROUTER PROCESSING\n\n:\n:x\ndata: 1\n: in the middle\ndata: 2\n\n", []string{":OPENROUTER PROCESSING", ":", ":x", ":in the middle", "|1\n2"}},
	{"lines are joined", "data: a\ndata:\ndata: b\n\n", []string{"|a\n\nb"}},
	{"only one space is taken", "data:  a \ndata:b\n\n", []string{"| a \nb"}},
	{"a tab is data", "data:\ta\n\n", []string{"|\ta"}},
	{"no colon", "data\n\n", []string{"|"}},
	{"no colon twice", "data\ndata\n\n", []string{"|\n"}},
	{"empty data is an event", "event: a\ndata:\n\n", []string{"a|"}},
	{"data with colons", "data: a: b: c\n\n", []string{"|a: b: c"}},
	{"id and retry are left out", "id: 7\nretry: 10\ndata: 1\n\nid: 8\n\n", []string{"|1"}},
	{"unknown fields, fields in other cases", "Data: 1\n data: 2\ndatas: 3\ndata : 4\ndat: 5\n\n", nil},
	{"no blank line at the end", "data: 1\n\ndata: [DONE]\n", []string{"|1", "|[DONE]"}},
	{"no line end at the end", "data: 1\n\ndata: [DONE]", []string{"|1", "|[DONE]"}},
	{"comment without line end", ": bye", []string{":bye"}},
	{"bytes stay as they are", "data: \xff\x00\xc3\n\n", []string{"|\xff\x00\xc3"}},
	{"event names stay as they are", "event:  a b \ndata: 1\n\n", []string{" a b |1"}},
	{"NUL and controls", "data: a\x0bb\x0cc\u2028d\u0085e\n\n", []string{"|a\x0bb\x0cc\u2028d\u0085e"}},
}

// TestRead reads whole streams and the same streams cut at every byte. L2
func TestRead(t *testing.T) {
	t.Parallel()
	for _, s := range streams {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			check := func(how string, r io.Reader) {
				t.Helper()
				got, err := all(r, 0)
				if err != nil || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", s.want) {
					t.Errorf("%s: %q, %v; want %q", how, got, err, s.want)
				}
			}
			check("whole", strings.NewReader(s.in))
			check("byte by byte", iotest.OneByteReader(strings.NewReader(s.in)))
			check("error with the last bytes", iotest.DataErrReader(strings.NewReader(s.in)))
			for i := range s.in {
				check(fmt.Sprintf("cut at %d", i), io.MultiReader(strings.NewReader(s.in[:i]), strings.NewReader(s.in[i:])))
			}
		})
	}
}

// TestAtOnce: an event is there when its blank line is, not when more comes.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"\n\n", "\r\n\r\n", "\r\r", "\r\n\r"} {
		r, w := io.Pipe()
		go func() {
			_, _ = io.WriteString(w, "data: 1"+end)
			// Nothing more is written, and the pipe stays open.
		}()
		for e, err := range sse.Read(r, 0) {
			if string(e.Data) != "1" || err != nil {
				t.Errorf("%q: %q, %v", end, e.Data, err)
			}
			break
		}
		r.Close()
	}
}

// TestCharacters splits TCP writes inside characters and inside "data:". case:T12
func TestCharacters(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("漢字かな🙂é", 3000)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var stream strings.Builder
		for part := text; part != ""; {
			n := min(len(part), 97)
			for n < len(part) && part[n]&0xc0 == 0x80 {
				n++
			}
			stream.WriteString("data: " + part[:n] + "\r\n\r\n")
			part = part[n:]
		}
		rest := stream.String()
		for n := 1; rest != ""; n = n%7 + 1 {
			n = min(n*13, len(rest))
			if _, err := io.WriteString(w, rest[:n]); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			rest = rest[n:]
		}
	}))
	defer srv.Close()
	resp, err := srv.Client().Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got strings.Builder
	for e, err := range sse.Read(resp.Body, 0) {
		if err != nil {
			t.Fatal(err)
		}
		got.Write(e.Data)
	}
	if got.String() != text {
		t.Errorf("%d bytes came, %d were sent, or they differ", got.Len(), len(text))
	}
}

// TestErrors: what the reader says is passed on, and what was not complete is not an event.
func TestErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	got, err := all(io.MultiReader(strings.NewReader("data: 1\n\ndata: 2\n"), iotest.ErrReader(broken)), 0)
	if !errors.Is(err, broken) || fmt.Sprint(got) != "[|1]" {
		t.Errorf("%q, %v", got, err)
	}
	got, err = all(iotest.DataErrReader(io.MultiReader(strings.NewReader("data: 1\n\n"), iotest.ErrReader(io.ErrUnexpectedEOF))), 0)
	if !errors.Is(err, io.ErrUnexpectedEOF) || fmt.Sprint(got) != "[|1]" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err = all(nothing{}, 0); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that reads nothing: %v", err)
	}
}

type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, nil }

// endless never ends a line.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	e.read += len(p)
	return len(p), nil
}

// TestBound: an event that does not end is given up, in one line or in many.
func TestBound(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	line := &endless{}
	if got, err := all(line, limit); err == nil || got != nil || !strings.Contains(err.Error(), "longer than 1048576 bytes") {
		t.Errorf("one line: %q, %v", got, err)
	}
	if line.read > 3*limit {
		t.Errorf("%d bytes were read for a bound of %d", line.read, limit)
	}
	many := strings.Repeat("data: 12345678\n", limit/8)
	if _, err := all(strings.NewReader(many), limit); err == nil {
		t.Error("many lines: no error")
	}
	small := strings.Repeat("data: 12345678\n\n", limit/8)
	if got, err := all(strings.NewReader(small), 100); err != nil || len(got) != limit/8 {
		t.Errorf("many events: %d, %v", len(got), err)
	}
}

// TestStop: a consumer that wants no more is not called again, and nothing more is read.
func TestStop(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"data: 1\n\ndata: 2\n\n", ": 1\n: 2\n", "data: 1"} {
		n := 0
		for _, err := range sse.Read(strings.NewReader(in), 0) {
			if n++; err != nil {
				t.Error(err)
			}
			break
		}
		if n != 1 {
			t.Errorf("%q: %d steps", in, n)
		}
	}
}

// TestLongLine: a line that comes in many reads is looked at once, not at each.
func TestLongLineByteByByte(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	in := "data: " + strings.Repeat("y", size) + "\n\n"
	start := time.Now()
	got, err := all(iotest.OneByteReader(strings.NewReader(in)), 0)
	if err != nil || len(got) != 1 || len(got[0]) != size+1 {
		t.Fatalf("%d events, %v", len(got), err)
	}
	t.Logf("a line of %d bytes, byte by byte: %v", size, time.Since(start))
}

// splitter reads in pieces of random length.
type splitter struct {
	in  []byte
	rng *rand.Rand
}

func (s *splitter) Read(p []byte) (int, error) {
	if len(s.in) == 0 {
		return 0, io.EOF
	}
	n := min(s.rng.IntN(9), len(s.in), len(p))
	copy(p, s.in[:n])
	s.in = s.in[n:]
	return n, nil
}

// FuzzRead: every split of every input gives the same events, which are those of
// an algorithm that reads lines from a whole.
func FuzzRead(f *testing.F) {
	for _, s := range streams {
		f.Add([]byte(s.in), uint64(1))
	}
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		want := simple(in)
		whole, err := all(bytes.NewReader(in), 0)
		if err != nil || fmt.Sprintf("%q", whole) != fmt.Sprintf("%q", want) {
			t.Fatalf("whole: %q, %v; want %q", whole, err, want)
		}
		for i := range uint64(4) {
			got, err := all(&splitter{bytes.Clone(in), rand.New(rand.NewPCG(seed, i))}, 0)
			if err != nil || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
				t.Fatalf("split: %q, %v; want %q", got, err, want)
			}
		}
	})
}

// simple is the algorithm on a whole stream.
func simple(in []byte) (out []string) {
	s := strings.TrimPrefix(string(in), "\ufeff")
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	var data []string
	name := ""
	for line := range strings.SplitSeq(s+"\n\n", "\n") {
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if data != nil {
				out = append(out, name+"|"+strings.Join(data, "\n"))
			}
			data, name = nil, ""
		case field == "":
			out = append(out, ":"+value)
		case field == "data":
			data = append(data, value)
		case field == "event":
			name = value
		}
	}
	return out
}

func BenchmarkRead(b *testing.B) {
	var in bytes.Buffer
	for i := range 1000 {
		fmt.Fprintf(&in, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"word %d\"}}\n\n", i)
	}
	stream := in.Bytes()
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range sse.Read(bytes.NewReader(stream), 0) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 1000 {
			b.Fatal(n)
		}
	}
}

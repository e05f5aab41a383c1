package uzda_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
)

// blobs keeps what is spilled.
type blobs map[string][]byte

func (b blobs) put(data []byte) (string, error) {
	hash := uzda.Hash(data)
	b[hash] = bytes.Clone(data)
	return hash, nil
}

func (b blobs) get(hash string) ([]byte, error) {
	data, ok := b[hash]
	if !ok {
		return nil, uzda.ErrNotFound
	}
	return data, nil
}

// long replaces "@" by as much as makes a string long.
func long(s string) []byte {
	return []byte(strings.ReplaceAll(s, "@", strings.Repeat("x", uzda.LongString)))
}

// What is spilled comes back byte for byte, whatever keys and escapes it has; no
// long string stays, and only long ones go. case:S01, case:S09.
func TestSpill(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		raw   string
		blobs int
	}{
		{`{}`, 0}, {`"@"`, 0}, {`"@x"`, 1}, {`"@é"`, 1}, {`["@x","@x","@y"]`, 2},
		{`{"@xx":"@"}`, 0}, {`{"@xx" : "@xx"}`, 1}, {`{"a":{"b":["@\n"]}}`, 1},
		{`{"a":"@\u0041"}`, 1}, {`{"a":"@\/\ud800\u2028"}`, 1}, {"{\"a\":\"@\xff\"}", 1}, {`{"a":"@\"\\"}`, 1},
		{`{"$blob":"@x"}`, 1}, {`{"$blob":"x","size":1}`, 0}, {`{"$$blob":{"$blob":{"$$$blob":"@x"}}}`, 1},
		{`{"a":1,"$blob":"@x","b":{"$blob":2}}`, 1}, {`{"blob":"@x","$blo":1,"$blobs":2}`, 1}, {`["$blob","$$blob"]`, 0},
		{`{"\u0024blob":"@x","$bl\u006fb":1}`, 1}, {`{"a":"$blob\"","b":"\"$blob\":"}`, 0}, {`{"$blob" :1}`, 0},
		{`{ "$blob":1}`, 0}, {`{"a":"@x","$blob":"` + uzda.Hash([]byte("x")) + `","raw":true}`, 1},
	} {
		raw, kept := long(c.raw), blobs{}
		out, err := uzda.Spill(raw, kept.put)
		if err != nil {
			t.Errorf("%s: %v", c.raw, err)
			continue
		}
		if !json.Valid(out) || len(kept) != c.blobs {
			t.Errorf("%s: %d blobs, want %d, in %.200s", c.raw, len(kept), c.blobs, out)
		}
		back, err := uzda.Inflate(out, kept.get)
		if err != nil || !bytes.Equal(back, raw) {
			t.Errorf("%s: back came %.200s, %v", c.raw, back, err)
		}
		if c.blobs > 0 {
			if _, err := uzda.Inflate(out, blobs{}.get); !errors.Is(err, uzda.ErrNotFound) {
				t.Errorf("%s: without its blobs: %v", c.raw, err)
			}
		}
	}
}

// A blob that cannot be stored is an error, and so is a string that is too large.
func TestSpillRefuses(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	if _, err := uzda.Spill(long(`"@x"`), func([]byte) (string, error) { return "", full }); !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
	huge := bytes.Repeat([]byte("x"), uzda.MaxString+3)
	huge[0], huge[len(huge)-1] = '"', '"'
	if _, err := uzda.Spill(huge, blobs{}.put); !errors.Is(err, uzda.ErrTooLarge) {
		t.Errorf("error %v", err)
	}
}

func FuzzSpill(f *testing.F) {
	for _, s := range []string{
		`{"a":"@"}`, `{"a":"@x","$blob":"@\u0041"}`, `{"$$blob":{"$blob":[{"$blob":"@\n"}]}}`, `["@x","@é","$blob"]`, `{"$blob":1}`,
		`{"k" : "@@", "k":{ "$blob" :null}}`, "\"@\xff\"", `{"$blob`, `"$blob":1`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		raw := long(uzda.Before(s, 200))
		kept := blobs{"x": []byte("y")}
		_, _ = uzda.Inflate(raw, kept.get) // hostile, but no panic
		var line bytes.Buffer
		if json.Compact(&line, raw) != nil {
			return
		}
		raw = line.Bytes()
		out, err := uzda.Spill(raw, kept.put)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(out) {
			t.Fatalf("spilled: %.300s", out)
		}
		back, err := uzda.Inflate(out, kept.get)
		if err != nil || !bytes.Equal(back, raw) {
			t.Fatalf("back came %.300s, %v, want %.300s", back, err, raw)
		}
		// A store sees the same JSON after it was through a second time.
		twice, err := uzda.Spill(out, kept.put)
		if err != nil {
			t.Fatal(err)
		}
		if once, err := uzda.Inflate(twice, kept.get); err != nil || !bytes.Equal(once, out) {
			t.Fatalf("spilled twice and inflated once: %.300s, %v, want %.300s", once, err, out)
		}
	})
}

package uzda_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/journal/journaltest"
)

var update = flag.Bool("update", false, "write the fixtures that are missing")

// bodies returns the sample of every kind by its name.
func bodies(t *testing.T) map[string]uzda.Body {
	t.Helper()
	out := map[string]uzda.Body{}
	for _, b := range journaltest.Bodies() {
		out[b.Kind()] = b
	}
	for name := range uzda.Kinds() {
		if out[name] == nil {
			t.Errorf("journaltest.Bodies has no body of the kind %s", name)
		}
	}
	if len(out) != len(uzda.Kinds()) {
		t.Errorf("%d samples for %d kinds", len(out), len(uzda.Kinds()))
	}
	return out
}

// A field without a value in the samples is a field that no fixture guards.
func TestSamplesSetEveryField(t *testing.T) {
	t.Parallel()
	for name, b := range bodies(t) {
		unset(t, name, reflect.ValueOf(b))
	}
}

func unset(t *testing.T, where string, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			unset(t, where, v.Elem())
			return
		}
		t.Errorf("%s is not set", where)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			if v.IsZero() {
				t.Errorf("%s is not set", where)
			}
			return
		}
		for i := range v.NumField() {
			if f := v.Field(i); f.Kind() == reflect.Slice && f.Len() == 0 && f.Type().Elem() == v.Type() {
				continue // parts have no parts
			}
			unset(t, where+"."+v.Type().Field(i).Name, v.Field(i))
		}
	case reflect.Slice:
		if v.Len() == 0 {
			t.Errorf("%s is not set", where)
		} else if v.Type().Elem().Kind() != reflect.Struct && v.Type().Elem().Kind() != reflect.Interface {
			return
		} else {
			unset(t, fmt.Sprint(where, "[0]"), v.Index(0)) // the first is full, later ones may be sparse
		}
	default:
		if v.IsZero() {
			t.Errorf("%s is not set", where)
		}
	}
}

// Recorded lines of every kind must decode, and encode to the same bytes, for
// ever. A kind may gain fields that are left out when empty: then it gains a
// fixture, NAME.vV-2.json, and the old one stays. Any other change needs a new
// version of the kind, with a function that brings the old one up.
func TestFixtures(t *testing.T) {
	t.Parallel()
	samples := bodies(t)
	for name, version := range uzda.Kinds() {
		var last uzda.Event
		n := 0
		for {
			path := fixture(name, version, n+1)
			if _, err := os.Stat(path); err != nil {
				break
			}
			last = readFixture(t, path)
			n++
		}
		if reflect.DeepEqual(last.Body, samples[name]) {
			continue
		}
		if !*update {
			t.Errorf("the kind %s has no fixture of all its fields: go test -run TestFixtures -update . The last has\n%+v\nthe sample is\n%+v", name, last.Body, samples[name])
			continue
		}
		e := uzda.Event{Seq: 7, At: time.Date(2031, 2, 3, 4, 5, 6, 789000, time.UTC), By: 2, Prev: uzda.Hash([]byte("before")), Body: samples[name]}
		l, err := uzda.Seal(&e, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(fixture(name, version, n+1), l.Append(nil), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func fixture(name string, version, n int) string {
	more := ""
	if n > 1 {
		more = fmt.Sprint("-", n)
	}
	return filepath.Join("testdata", "events", fmt.Sprintf("%s.v%d%s.json", name, version, more))
}

// readFixture decodes a recorded line, which must encode to the same bytes.
func readFixture(t *testing.T, path string) uzda.Event {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	l, ok := uzda.SplitLine(raw)
	if !ok || l.Check() != nil {
		t.Fatalf("%s: no line, or its sum is wrong: %v", path, l.Check())
	}
	e, link, err := uzda.Open(l, nil)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if _, unread := e.Body.(uzda.Unread); unread || e.Seq != 7 || e.By != 2 || link != uzda.Hash(l.Head) {
		t.Errorf("%s: decoded to %+v", path, e)
	}
	again, err := uzda.Seal(&e, nil)
	if err != nil || string(again.Append(nil)) != string(raw) {
		t.Errorf("%s: encodes to\n%swas\n%s(%v)", path, again.Append(nil), raw, err)
	}
	return e
}

// Versions that are over still decode.
func TestOlderFixtures(t *testing.T) {
	t.Parallel()
	older, _ := filepath.Glob(filepath.Join("testdata", "events", "*.json"))
	for _, path := range older {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		l, _ := uzda.SplitLine(raw)
		if e, _, err := uzda.Open(l, nil); err != nil {
			t.Errorf("%s: %v", path, err)
		} else if _, unread := e.Body.(uzda.Unread); unread {
			t.Errorf("%s: this program cannot read it any more", path)
		}
	}
}

// The encoding by hand means what encoding/json would write, decoding it gives
// the event that Seal left, and encoding that gives the same bytes: for random
// bodies of every kind, with odd text, odd JSON and empty lists.
func TestEncodeRandomBodies(t *testing.T) {
	t.Parallel()
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 1))
		for name, sample := range bodies(t) {
			v := reflect.New(reflect.TypeOf(sample)).Elem()
			fill(r, v, 0)
			b := v.Interface().(uzda.Body)
			want, err := json.Marshal(b)
			if err != nil {
				t.Fatalf("seed %d: %s: %v", seed, name, err)
			}
			e := uzda.Event{Seq: 1, At: time.Now(), Body: b}
			l, err := uzda.Seal(&e, nil)
			if err != nil {
				t.Fatalf("seed %d: seal %s: %v\n%s", seed, name, err, want)
			}
			if got, want := meaning(t, l.Body), meaning(t, want); got != want {
				t.Fatalf("seed %d: %s is written\n%s\nencoding/json means\n%s", seed, name, got, want)
			}
			if strings.ContainsAny(string(l.Body), "\n\r") {
				t.Fatalf("seed %d: %s has a line break", seed, name)
			}
			back, _, err := uzda.Open(l, nil)
			if err != nil {
				t.Fatalf("seed %d: open %s: %v", seed, name, err)
			}
			if !reflect.DeepEqual(back, e) {
				t.Fatalf("seed %d: %s comes back\n%#v\nsealed\n%#v", seed, name, back, e)
			}
			again, err := uzda.Seal(&back, nil)
			if err != nil || string(again.Append(nil)) != string(l.Append(nil)) {
				t.Fatalf("seed %d: %s encodes again to\n%s\nwas\n%s", seed, name, again.Body, l.Body)
			}
		}
	}
}

// meaning is JSON with what does not matter made equal.
func meaning(t *testing.T, raw []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

var (
	oddText = []string{
		"", "a", "two\nlines\r\n", "\x00\x1f\x7f\"\\/\b\f", "a\u2028b\u2029", "\xff\xfe", "cut \xe2\x82", "\xed\xa0\x80", "<&>'",
		"👩‍👩‍👧‍👦漢字", `{"$blob":"x"}`, `,"body":null}`, "\u0085\uFEFF\uFFFD", strings.Repeat("long", 50),
	}
	oddJSON = []string{
		`{}`, `{"a": 1}`, " {\"a\":\n[1,\t2]} ", `{"$blob":"x","$$blob":[null]}`, `{"e":"\u0041\/\u2028\ud83d"}`, `{"n":1.50e2,"a":-0.0}`,
		"{\"bad\":\"\xff\"}", `{"<&>":"<&>"}`, "{\"u\":\"\u2028\"}",
	}
	blockTypes = []reflect.Type{
		reflect.TypeFor[uzda.Text](), reflect.TypeFor[uzda.Thinking](), reflect.TypeFor[uzda.Media](),
		reflect.TypeFor[uzda.ToolUse](), reflect.TypeFor[uzda.ToolResult](), reflect.TypeFor[uzda.Opaque](),
	}
)

// fill makes a random value.
func fill(r *rand.Rand, v reflect.Value, depth int) {
	switch v.Type() {
	case reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(oddJSON[r.IntN(len(oddJSON))]))
		return
	case reflect.TypeFor[time.Time]():
		if r.IntN(2) == 0 {
			at := time.Unix(r.Int64N(4e9), r.Int64N(1e9)).In(time.FixedZone("", 60*(r.IntN(100)-50)))
			v.Set(reflect.ValueOf(at))
		}
		return
	case reflect.TypeFor[uzda.Block]():
		b := reflect.New(blockTypes[r.IntN(len(blockTypes))]).Elem()
		fill(r, b, depth+1)
		v.Set(b)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(r, v.Field(i), depth+1)
		}
		if h, ok := v.Addr().Interface().(*uzda.Hold); ok && h.ID == "" {
			*h = uzda.Hold{} // without an id there is no hold
		}
	case reflect.Pointer:
		if r.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem(), depth+1)
		}
	case reflect.Slice:
		if n := r.IntN(4) - 1; n >= 0 && (depth < 8 || n == 0) { // -1: nil
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fill(r, v.Index(i), depth+1)
			}
		}
	case reflect.Map:
		if r.IntN(2) == 0 {
			v.Set(reflect.MakeMap(v.Type()))
			elem := reflect.New(v.Type().Elem()).Elem()
			fill(r, elem, depth+1)
			v.SetMapIndex(reflect.ValueOf("key"), elem)
		}
	case reflect.String:
		v.SetString(oddText[r.IntN(len(oddText))])
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int, reflect.Int64:
		if r.IntN(3) > 0 {
			v.SetInt(r.Int64N(1<<40) - 1<<39)
		}
	case reflect.Uint8:
		v.SetUint(uint64(r.IntN(256)))
	case reflect.Float64:
		v.SetFloat(float64(r.IntN(100)) / 8)
	default:
		panic("fill: " + v.Type().String())
	}
}

// An unknown kind, a newer version and an erased body come back as such.
func TestOpenWhatIsUnknown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind string
		v    int
		need bool
		body string
		want uzda.Body
	}{
		{"dreamt", 1, true, `{"a":1}`, uzda.Unread{Name: "dreamt", V: 1, Need: true, Raw: []byte(`{"a":1}`)}},
		{"dreamt", 1, false, `[]`, uzda.Unread{Name: "dreamt", V: 1, Raw: []byte(`[]`)}},
		{"posted", 2, true, `{"id":[]}`, uzda.Unread{Name: "posted", V: 2, Need: true, Raw: []byte(`{"id":[]}`)}},
		{"streaming", 1, false, `{}`, uzda.Unread{Name: "streaming", V: 1, Raw: []byte(`{}`)}},
		{"posted", 1, true, `null`, uzda.Erased{Name: "posted"}},
		{"noted", 1, false, `{"id":"a","text":"b","more":{"c":1}}`, uzda.Noted{ID: "a", Text: "b"}},
	} {
		head := fmt.Sprintf(`{"seq":3,"at":"2031-01-01T00:00:00Z","kind":%q,"v":%d,"need":%v,"sum":"s"}`, c.kind, c.v, c.need)
		e, _, err := uzda.Open(uzda.Line{Head: []byte(head), Body: []byte(c.body)}, nil)
		if err != nil || e.Seq != 3 || !reflect.DeepEqual(e.Body, c.want) {
			t.Errorf("%s %d: %+v, %v", c.kind, c.v, e.Body, err)
		}
	}
	for _, b := range []uzda.Body{uzda.Streaming{}, uzda.Restarted{}, uzda.Unread{Name: "posted-2"}} {
		if _, err := uzda.Seal(&uzda.Event{Body: b}, nil); err == nil {
			t.Errorf("seal %s: no error", b.Kind())
		}
	}
}

// A body that was changed does not pass the check; one that was erased does.
func TestCheck(t *testing.T) {
	t.Parallel()
	l, err := uzda.Seal(&uzda.Event{Seq: 1, Body: uzda.Noted{ID: "a", Text: "pay 10"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Check(); err != nil {
		t.Error(err)
	}
	changed := l
	changed.Body = []byte(strings.Replace(string(l.Body), "10", "99", 1))
	if changed.Check() == nil {
		t.Error("a changed body passes")
	}
	changed.Body = []byte("null")
	if err := changed.Check(); err != nil {
		t.Errorf("an erased body: %v", err)
	}
}

func FuzzOpen(f *testing.F) {
	for _, b := range journaltest.Bodies() {
		l, err := uzda.Seal(&uzda.Event{Seq: 1, Body: b}, nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(l.Append(nil))
	}
	for _, s := range []string{"", "}", "{}", `{"seq":1,"body":`, `,"body":}`, `{,"body":"$blob":x}`, `{"seq":1,"kind":"x","body":{"$blob"}}`, `{"kind":"noted","body":"$$blob":}` + "\n"} {
		f.Add([]byte(s))
	}
	get := func(hash string) ([]byte, error) { return []byte("blob " + hash), nil }
	f.Fuzz(func(t *testing.T, raw []byte) {
		l, ok := uzda.SplitLine(raw)
		if !ok {
			return
		}
		if got := l.Append(nil); strings.TrimRight(string(raw), "\r\n") != strings.TrimSuffix(string(got), "\n") {
			t.Errorf("split and joined: %q, was %q", got, raw)
		}
		_ = l.Check()
		e, _, err := uzda.Open(l, get)
		if err != nil {
			return
		}
		if _, unread := e.Body.(uzda.Unread); unread {
			return
		}
		if _, erased := e.Body.(uzda.Erased); erased {
			return
		}
		// What can be read can be written, if its time can.
		if y := e.At.Year(); y < 0 || y > 9999 {
			return
		}
		sealed, err := uzda.Seal(&e, nil)
		if err != nil {
			return // for example an item without its JSON
		}
		if again, _, err := uzda.Open(sealed, nil); err != nil || !reflect.DeepEqual(again.Body, e.Body) {
			t.Errorf("written and read: %+v, was %+v (%v)", again, e, err)
		}
	})
}

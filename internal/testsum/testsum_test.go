package testsum_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/internal/testsum"
)

const events = `{"Action":"start","Package":"x/a"}
{"Action":"run","Package":"x/a","Test":"TestGood"}
{"Action":"output","Package":"x/a","Test":"TestGood","Output":"    a_test.go:3: never shown\n"}
{"Action":"pass","Package":"x/a","Test":"TestGood","Elapsed":2.5}
{"Action":"run","Package":"x/a","Test":"TestTable"}
{"Action":"run","Package":"x/a","Test":"TestTable/one"}
{"Action":"pass","Package":"x/a","Test":"TestTable/one","Elapsed":0}
{"Action":"run","Package":"x/a","Test":"TestTable/two"}
{"Action":"output","Package":"x/a","Test":"TestTable/two","Output":"    a_test.go:9: got 1, want 2\n"}
{"Action":"fail","Package":"x/a","Test":"TestTable/two","Elapsed":0}
{"Action":"fail","Package":"x/a","Test":"TestTable","Elapsed":0.1}
{"Action":"run","Package":"x/a","Test":"TestNeeds"}
{"Action":"output","Package":"x/a","Test":"TestNeeds","Output":"=== RUN   TestNeeds\n"}
{"Action":"output","Package":"x/a","Test":"TestNeeds","Output":"    a_test.go:20: SKIPPED: no shared data\n"}
{"Action":"output","Package":"x/a","Test":"TestNeeds","Output":"--- SKIP: TestNeeds (0.00s)\n"}
{"Action":"skip","Package":"x/a","Test":"TestNeeds","Elapsed":0}
{"Action":"fail","Package":"x/a","Elapsed":3}
{"ImportPath":"x/b [x/b.test]","Action":"build-output","Output":"b.go:4:2: undefined: y\n"}
{"ImportPath":"x/b [x/b.test]","Action":"build-fail"}
{"Action":"output","Package":"x/b","Output":"FAIL\tx/b [build failed]\n"}
{"Action":"fail","Package":"x/b","Elapsed":0,"FailedBuild":"x/b [x/b.test]"}
{"Action":"run","Package":"x/c","Test":"TestHangs"}
{"Action":"output","Package":"x/c","Test":"TestHangs","Output":"panic: test timed out\n"}
{"Action":"fail","Package":"x/c","Elapsed":9}
go: a line that is no event
`

func TestRead(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s, err := testsum.Read(strings.NewReader(events), &out, 2)
	if err != nil {
		t.Fatal(err)
	}
	// Two passes (TestGood, TestTable/one); three failures: a subtest, a build,
	// and a test that never ended. TestTable counts through its subtests.
	if got, want := s.String(), "2 passed, 3 failed, 1 skipped"; got != want {
		t.Errorf("counts: %q, want %q", got, want)
	}
	for _, want := range []string{
		"FAIL x/a 3.0s",
		"--- FAIL: x/a TestTable/two", "a_test.go:9: got 1, want 2",
		"--- FAIL: x/b, outside its tests", "b.go:4:2: undefined: y",
		"--- CUT OFF: x/c TestHangs", "panic: test timed out",
		"1  SKIPPED: no shared data",
		"2.50s  x/a TestGood",
		"go: a line that is no event",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "never shown") {
		t.Errorf("the report shows the output of a test that passed:\n%s", out.String())
	}
}

func TestNothingRan(t *testing.T) {
	t.Parallel()
	s, err := testsum.Read(strings.NewReader(""), &bytes.Buffer{}, 10)
	if err != nil || s.String() != "0 passed, 0 failed, 0 skipped" {
		t.Errorf("got %q, %v", s, err)
	}
}

func TestNoEvents(t *testing.T) {
	t.Parallel()
	in := "go: errors parsing go.mod\n" + `{"Action":"exit","Package":"./bench"}` + "\n"
	var out bytes.Buffer
	s, err := testsum.Read(strings.NewReader(in), &out, 10)
	if err != nil || s.String() != "0 passed, 1 failed, 0 skipped" {
		t.Errorf("got %q, %v", s, err)
	}
	for _, want := range []string{"errors parsing go.mod", "./bench"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
}

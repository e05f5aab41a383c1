package resume_test

import (
	"testing"

	"github.com/uzda-dev/uzda/bench/internal/resume"
)

// A session is as large as it should be, and is the same with its checkpoint.
func TestLoad(t *testing.T) {
	t.Parallel()
	s, err := resume.Make(t.Context(), t.TempDir(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	each := s.Bytes / int64(s.Events)
	if s.Events < 1000 || s.Events > 2000 || each < 900 || each > 1400 || s.View < resume.Window*3/4 || s.View > resume.Window {
		t.Errorf("%d events of %d bytes, a view of %d", s.Events, each, s.View)
	}
	slow, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	quick, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d events of %d bytes: %v, with a checkpoint %v", s.Events, each, slow, quick)
}

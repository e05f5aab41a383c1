package resume_test

import (
	"testing"

	"github.com/uzda-dev/uzda/bench/internal/resume"
)

// BenchmarkLoad is resuming from 10,000 events without a checkpoint, and with one.
func BenchmarkLoad(b *testing.B) {
	s, err := resume.Make(b.Context(), b.TempDir(), 10_000)
	if err != nil {
		b.Fatal(err)
	}
	load := func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Load(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("all", load)
	if err := s.Checkpoint(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Run("checkpoint", load)
}

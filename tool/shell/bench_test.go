//go:build unix

package shell_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/uzda-dev/uzda/tool/shell"
)

// What the tool costs over starting the same shell by hand.
func BenchmarkTrue(b *testing.B) {
	b.Run("exec", func(b *testing.B) {
		defer cpu(b)()
		for b.Loop() {
			if _, err := exec.Command("bash", "--noprofile", "--norc", "-c", "true").CombinedOutput(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("tool", func(b *testing.B) {
		s := open(b, shell.Config{Env: os.Environ()})
		defer cpu(b)()
		for b.Loop() {
			s.wants("true", "(no output)")
		}
	})
}

// cpu reports the processor time of an operation, with that of its processes: it
// means something on a busy machine too.
func cpu(b *testing.B) func() {
	b.Helper()
	used := func() (ms float64) {
		for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
			var u syscall.Rusage
			if err := syscall.Getrusage(who, &u); err != nil {
				b.Fatal(err)
			}
			ms += float64(u.Utime.Nano()+u.Stime.Nano()) / 1e6
		}
		return ms
	}
	begun := used()
	return func() { b.ReportMetric((used()-begun)/float64(b.N), "cpu-ms/op") }
}

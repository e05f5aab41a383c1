package proc_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/uzda-dev/uzda/bench/internal/proc"
)

// What this process takes is seen, and what it gives back too.
func TestHeld(t *testing.T) { // not parallel: it counts what the process has
	if !proc.Told() {
		t.Skip("this system does not tell what a process holds")
	}
	rss := proc.Settled()
	block := bytes.Repeat([]byte{1}, 64<<20)
	if more := proc.RSS() - rss; more < 60<<20 {
		t.Errorf("64 MB more, and RSS grew by %d", more)
	}
	if proc.Heap() < 64<<20 {
		t.Errorf("the heap has %d", proc.Heap())
	}
	runtime.KeepAlive(block)
	if peak := proc.Peak(); peak < rss+60<<20 {
		t.Errorf("the peak is %d, after %d and 64 MB", peak, rss)
	}
	fds := proc.Descriptors()
	f, err := os.Open(".")
	if err != nil {
		t.Fatal(err)
	}
	if got := proc.Descriptors(); got != fds+1 {
		t.Errorf("%d descriptors with one more than %d", got, fds)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := proc.Descriptors(); got != fds {
		t.Errorf("%d descriptors, not %d", got, fds)
	}
}

// A process is found by its mark while it runs, and as dead until it is waited for.
func TestMarked(t *testing.T) { // not parallel: it counts dead children
	if !proc.Told() {
		t.Skip("this system does not tell of processes")
	}
	const mark = "PROC_TEST_MARK=x=1"
	c := exec.Command("sleep", "300")
	c.Env = []string{mark}
	if err := c.Start(); err != nil {
		t.Skip(err)
	}
	for range 200 { // until it has begun to be itself
		if proc.Marked(mark) == 1 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got, dead := proc.Marked(mark), proc.Unwaited(); got != 1 || dead != 0 {
		t.Errorf("%d run, %d are dead", got, dead)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for range 200 {
		if proc.Unwaited() == 1 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got, dead := proc.Marked(mark), proc.Unwaited(); got != 0 || dead != 1 {
		t.Errorf("after its end %d run, %d are dead", got, dead)
	}
	_ = c.Wait() // it was killed
	if dead := proc.Unwaited(); dead != 0 {
		t.Errorf("%d are dead after the wait", dead)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"a": "12", "b": "345"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n, size := proc.Files(dir); n != 2 || size != 5 {
		t.Errorf("%d files, %d bytes", n, size)
	}
	if n, _ := proc.Files(filepath.Join(dir, "none")); n != 0 || proc.Size(filepath.Join(dir, "none")) != 0 || proc.Size(filepath.Join(dir, "b")) != 3 {
		t.Errorf("%d files in a folder that is not there", n)
	}
}

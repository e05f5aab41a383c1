//go:build unix

package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
)

// TestMain is also the child that is killed: it runs the story in a folder.
func TestMain(m *testing.M) {
	if dir := os.Getenv("UZDA_TEST_CHILD"); dir != "" {
		os.Exit(child(dir))
	}
	goleak.VerifyTestMain(m)
}

// child runs the story, and kills itself at an append.
func child(dir string) int {
	at, err := strconv.Atoi(os.Getenv("UZDA_TEST_AT"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	j, err := openStore(os.Getenv("UZDA_TEST_STORE"), dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	c := &crasher{store: j, At: at, After: os.Getenv("UZDA_TEST_AFTER") != "", Die: func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
			panic(err)
		}
		select {}
	}}
	r := teller(nil, &world{file: filepath.Join(dir, "effects"), pre: "1"}, c, story)
	if _, err := r.Run(context.Background(), sid); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// Real processes are killed at every append, while this one posts, answers or
// cancels. Effects happen at most once. case:S06 case:P05
func TestKillAtEveryAppend(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"files", "sqlite"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			kills, most := 0, 10
			inputs := []string{"", "post", "cancel", "answer"}
			for n := 1; n <= most; n++ {
				for k, after := range []string{"", "1"} {
					for i, input := range inputs {
						if !full() && (n+k)%len(inputs) != i || testing.Short() && n%4 != 1 {
							continue
						}
						if killed(t, kind, n, after, input) {
							kills++
						}
						if t.Failed() {
							return
						}
					}
				}
			}
			t.Logf("%d processes killed", kills)
			if kills == 0 {
				t.Error("none was killed")
			}
		})
	}
}

// killed runs one story whose first process dies at append n.
func killed(t *testing.T, kind string, n int, after, input string) bool {
	dir := t.TempDir()
	j, err := openStore(kind, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := uzda.CloseStore(j); err != nil {
			t.Error(err)
		}
	}()
	post(t, j, hello("1"))
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "UZDA_TEST_CHILD="+dir, "UZDA_TEST_STORE="+kind, "UZDA_TEST_AT="+strconv.Itoa(n), "UZDA_TEST_AFTER="+after)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for range n { // some way into the story
		if len(events(t, j)) > n {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	disturb(t, j, input)
	dead := <-ended
	var exit *exec.ExitError
	killed := errors.As(dead, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
	if dead != nil && !killed {
		t.Errorf("the child ended with %v", dead)
	}
	w := &world{file: filepath.Join(dir, "effects"), pre: "1"}
	sound(t, w, settle(t, j, func() *agent.Runner { return teller(t, w, j, story) }), j)
	atMostOnce(t, w.file)
	if t.Failed() {
		t.Logf("%s: killed at append %d, after %q, input %q: %s", kind, n, after, input, kinds(t, j))
	}
	return killed
}

// atMostOnce looks at what all processes did.
func atMostOnce(t *testing.T, file string) {
	raw, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	runs := map[string]int{}
	for line := range strings.Lines(string(raw)) {
		runs[strings.TrimSpace(line)]++
	}
	for line, n := range runs {
		if tool, _, _ := strings.Cut(line, " "); n > 1 && tool != "read" && tool != "look" && tool != "put" {
			t.Errorf("%s ran %d times", line, n)
		}
	}
}

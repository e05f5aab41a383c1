//go:build unix

package command_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/uzda-dev/uzda/policy/command"
)

// A lab is a folder in which a shell finds no program but recorders: scripts that
// note their name and their words. Those of wrappers go on with the real one.
type lab struct {
	t             testing.TB
	bin, log, dir string
	shells        []string
	n             int
}

func newLab(t testing.TB) *lab {
	t.Helper()
	root := t.TempDir()
	l := &lab{t: t, bin: filepath.Join(root, "bin"), log: filepath.Join(root, "log"), dir: filepath.Join(root, "a", "b", "c", "d")}
	for _, d := range []string{l.bin, l.dir} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, sh := range []string{"bash", "sh"} {
		if p, err := exec.LookPath(sh); err == nil {
			l.shells = append(l.shells, p)
		}
	}
	if len(l.shells) == 0 {
		t.Skip("SKIPPED: there is no shell to compare with")
	}
	note := "#!/bin/sh\nprintf '%s\\0' \"${0##*/}\" \"$@\" '<end>' >>'" + l.log + "'\n"
	for _, p := range strings.Fields("p0 p1 p2 ls rm grep git a b c1 x rmx tee xp1 sed out f v r E wc") {
		l.write(p, note+"exit 0\n")
	}
	l.write("cat", note+"exec "+look("cat")+"\n") // it reads no file, so that it always ends
	for _, p := range strings.Fields("env timeout nice nohup setsid stdbuf ionice xargs find sh bash time printf sort head") {
		if real := look(p); real != "" {
			l.write(p, note+"exec "+real+" \"$@\"\n")
		}
	}
	return l
}

func look(name string) string {
	p, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return p
}

func (l *lab) write(name, text string) {
	if err := os.WriteFile(filepath.Join(l.bin, name), []byte(text), 0o755); err != nil {
		l.t.Fatal(err)
	}
}

// run returns the words of every program that the shell started.
func (l *lab) run(shell, line string) [][]string {
	l.n++
	dir := filepath.Join(l.dir, strconv.Itoa(l.n))
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
		l.t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(l.log, nil, 0o644); err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(l.t.Context(), 3*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, shell, "-c", line)
	c.Dir, c.Env = dir, []string{"PATH=" + l.bin, "HOME=" + l.dir, "PWD=" + dir}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// Whatever is started holds the other end of this pipe while it lives.
	alive, end, err := os.Pipe()
	if err != nil {
		l.t.Fatal(err)
	}
	defer alive.Close()
	c.ExtraFiles = make([]*os.File, 18)
	c.ExtraFiles[17] = end
	err = c.Start()
	_ = end.Close()
	if err != nil {
		l.t.Fatal(err)
	}
	group := -c.Process.Pid
	c.Cancel = func() error { return syscall.Kill(group, syscall.SIGKILL) }
	_ = c.Wait() // most commands fail
	_ = alive.SetReadDeadline(time.Now().Add(3 * time.Second))
	if _, err := alive.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		_ = syscall.Kill(group, syscall.SIGKILL)
	}
	data, err := os.ReadFile(l.log)
	if err != nil {
		l.t.Fatal(err)
	}
	var out [][]string
	var words []string
	for w := range strings.SplitSeq(string(data), "\x00") {
		if w == "<end>" {
			out, words = append(out, words), nil
		} else {
			words = append(words, w)
		}
	}
	return out
}

// fits says whether a part is the call of these words. A word that is not known
// stands for any number of them.
func fits(words []command.Word, argv []string) bool {
	if len(words) == 0 {
		return len(argv) == 0
	}
	if words[0].Known {
		return len(argv) > 0 && argv[0] == words[0].Text && fits(words[1:], argv[1:])
	}
	for n := range len(argv) + 1 {
		if fits(words[1:], argv[n:]) {
			return true
		}
	}
	return false
}

// judged returns a program that was started and is no part of the report.
func judged(r command.Report, started [][]string) string {
	if len(r.Unsure) > 0 {
		return ""
	}
	for _, argv := range started {
		ok := false
		for _, p := range r.Parts {
			// What a file holds is not looked at; the rule must name the file.
			ok = ok || len(p.Words) > 0 && (p.Words[0].Text == "." || p.Words[0].Text == "source") && p.Spell == command.All
			ok = ok || len(p.Words) > 0 && p.Words[0].Text == argv[0] && fits(p.Words[1:], argv[1:])
		}
		if !ok {
			return fmt.Sprintf("%q", argv)
		}
	}
	return ""
}

// Functions that call themselves would run for ever.
var itself = regexp.MustCompile(`\([ \t\n\\]*\)|function`)

// compare runs a line in each shell and checks the report against it. It returns
// how many programs ran and whether the report was sure.
func (l *lab) compare(line string) (started int, sure bool) {
	if strings.Contains(line, "\x00") || itself.MatchString(line) && !strings.Contains(line, "f1") {
		return 0, false
	}
	for _, shell := range l.shells {
		o := command.Options{Dir: l.dir, Home: l.dir, Bash: filepath.Base(shell) == "bash"}
		r := command.Read(line, o)
		if len(r.Unsure) > 0 {
			continue
		}
		sure = true
		t0 := time.Now()
		ran := l.run(shell, line)
		if d := time.Since(t0); d > time.Second && os.Getenv("UZDA_SLOW") != "" {
			l.t.Logf("slow %v %s: %q", d, shell, line)
		}
		started += len(ran)
		if bad := judged(r, ran); bad != "" {
			l.t.Errorf("%s started %s, which is no part of the report\nline: %s\nparts: %s", filepath.Base(shell), bad, strconv.Quote(line), lines(r))
		}
	}
	return started, sure
}

func lines(r command.Report) string {
	var b strings.Builder
	for _, p := range r.Parts {
		fmt.Fprintf(&b, "%q ", p.Line)
	}
	return b.String()
}

// Whatever a real shell starts was a part of the report, or the report said that
// it is not sure. UZDA_FULL runs more commands, UZDA_SEED others.
// case:P01
func TestStarted(t *testing.T) {
	t.Parallel()
	count, seed := 2000, uint64(1)
	if testing.Short() {
		count = 300
	}
	if os.Getenv("UZDA_FULL") != "" {
		count = 20000
	}
	if s := os.Getenv("UZDA_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	var programs, sure atomic.Int64
	var all sync.WaitGroup
	for worker := range 2 {
		l := newLab(t)
		all.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, uint64(worker)))
			for range count / 2 {
				data := make([]byte, 8+rnd.IntN(90))
				for i := range data {
					data[i] = byte(rnd.Uint32())
				}
				n, ok := l.compare((&gen{data: data}).line())
				programs.Add(int64(n))
				if ok {
					sure.Add(1)
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d commands, %d with a sure report; %d programs were started", count, sure.Load(), programs.Load())
	if int(sure.Load()) < count/4 || int(programs.Load()) < count/2 {
		t.Errorf("too few commands were compared: %d of %d, with %d programs", sure.Load(), count, programs.Load())
	}
}

// FuzzStarted looks for commands by which a shell starts what was not judged.
func FuzzStarted(f *testing.F) {
	for i := range 20 {
		f.Add([]byte(strings.Repeat(string(rune('a'+i)), i+3)))
	}
	l := newLab(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		mine := *l
		mine.t = t
		mine.compare((&gen{data: data}).line())
	})
}

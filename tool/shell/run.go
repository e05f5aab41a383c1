package shell

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uzda-dev/uzda"
)

const (
	grace  = 100 * time.Millisecond // for output of the background, after the shell ended
	polite = 500 * time.Millisecond // from asking processes to end to ending them
	firm   = 300 * time.Millisecond // for those to be gone
	look   = 20 * time.Millisecond  // between two looks
	moment = 3 * time.Millisecond   // for what has happened to be known
)

// A job is a command with all that it started.
type job struct {
	pid     int    // of the shell; also its process group and its session
	born    uint64 // when the shell began, in the system's own unit
	session uzda.SessionID
	head    string // what stands before the command
	mark    string
	began   time.Time
	shell   chan error    // its end
	pumped  chan struct{} // all output was taken
	pipe    *os.File
	inode   uint64 // of the pipe, as /proc names it
	out     *sink
	place   *post
	ended   atomic.Bool // the shell has
	status  error       // how it ended

	mu    sync.Mutex
	known map[int]uint64 // processes that were seen, with when they began
}

// A proc is a running process.
type proc struct {
	pid  int
	born uint64
	name string // its command line
}

// The text around the path of a named pipe that tells where the shell was when it ended.
const (
	prologueHead = "trap '{ command pwd -P || echo; } 1<>"
	prologueTail = " 2>/dev/null || :' EXIT; "
)

// prologue stands before the command on the same line, so that the numbers of lines
// are right.
func prologue(post string) string {
	if post == "" {
		return ""
	}
	return prologueHead + strings.ReplaceAll(quote(post), "'", `'\''`) + prologueTail
}

// withoutPrologue is a command line as the model wrote it.
func withoutPrologue(line string) string {
	before, rest, ok := strings.Cut(line, prologueHead)
	_, after, ended := strings.Cut(rest, prologueTail)
	if !ok || !ended {
		return line
	}
	return before + after
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// tag begins the marks of all uses of a session.
func (s *Shell) tag(id uzda.SessionID) string {
	return uzda.Hash([]byte(s.c.State + "\x00" + string(id)))[:16] + "/"
}

// own names this process among all that run and ran.
func own() string { return fmt.Sprintf("%d.%d", os.Getpid(), birth(os.Getpid())) }

// elsewhere says whether what begins with a name given by own is that of another
// process that still runs.
func elsewhere(name string) bool {
	who, _, _ := strings.Cut(name, "-")
	number, born, _ := strings.Cut(who, ".")
	pid, err := strconv.Atoi(number)
	if err != nil || pid == os.Getpid() {
		return false
	}
	at := birth(pid)
	return at > 0 && strconv.FormatUint(at, 10) == born
}

// start runs a command, in a session of its own and without a terminal.
func (s *Shell) start(command, dir string, use uzda.Use) (*job, error) {
	var salt [6]byte
	_, _ = rand.Read(salt[:]) // it never fails
	name := own() + "-" + hex.EncodeToString(salt[:])
	j := &job{session: use.Session, mark: s.tag(use.Session) + name, began: time.Now(), shell: make(chan error, 1), pumped: make(chan struct{}), known: map[int]uint64{}}
	folder := s.folder(use.Session)
	j.place = newPost(folder, name)
	j.out = &sink{limit: s.c.Spill, users: 2, held: ends{half: half}, open: func() (*os.File, error) { return s.spill(folder, use, hex.EncodeToString(salt[:])) }}
	r, w, err := os.Pipe()
	if err != nil {
		j.place.close()
		return nil, err
	}
	j.head = prologue(j.place.path)
	program := filepath.Base(s.c.Shell)
	args := append(append([]string{program}, plainly[program]...), "-c", j.head+command)
	cmd := &exec.Cmd{
		Path: s.c.Shell, Args: args, Dir: dir, Env: s.environ(dir, j.mark),
		Stdout: w, Stderr: w, SysProcAttr: apart(),
	}
	s.running(j, true)
	err = cmd.Start()
	_ = w.Close()
	if err != nil {
		s.running(j, false)
		_ = r.Close()
		j.place.close()
		if errors.Is(err, tooLong) {
			return nil, errors.New("the command line and the environment are too long for this system; write the text to a file first")
		}
		return nil, err
	}
	j.pid, j.pipe, j.inode = cmd.Process.Pid, r, inodeOf(r)
	j.born = birth(j.pid)
	s.mu.Lock()
	s.jobs[j] = true
	s.mu.Unlock()
	go func() { j.shell <- cmd.Wait() }()
	go j.pump()
	return j, nil
}

// running notes which marks are in use, so that they are not taken for leftovers.
func (s *Shell) running(j *job, yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if yes {
		s.runs[j.mark] = true
	} else {
		delete(s.runs, j.mark)
		delete(s.jobs, j)
	}
}

// pump takes the output until nobody can write any more.
func (j *job) pump() {
	defer close(j.pumped)
	defer j.out.finish()
	defer j.pipe.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := j.pipe.Read(buf)
		j.out.write(buf[:n])
		if err != nil {
			return // the end, or a deadline that was set for it
		}
	}
}

// stop ends the taking of output.
func (j *job) stop() {
	_ = j.pipe.SetReadDeadline(time.Now()) // it is closed already, or this works
	<-j.pumped
}

func (j *job) close() { j.place.close() }

// where is the directory that the shell was in when it ended: "" if it did not say
// so, a blank line if there was none any more.
func (j *job) where() string { return j.place.read() }

// ending says how a command ended.
type ending int

const (
	exited ending = iota
	timeout
	cancelled
)

// wait waits for the shell, not for what it left running, and ends what is to end.
func (s *Shell) wait(ctx context.Context, j *job, r *report) {
	late := time.NewTimer(r.limit)
	defer late.Stop()
	// Now and then a look at what runs, so that a process is known before it leaves
	// all that it could be known by later.
	see := time.NewTimer(grace)
	defer see.Stop()
	for running := true; running; {
		running = false
		select {
		case j.status = <-j.shell:
			j.ended.Store(true)
			r.took = time.Since(j.began)
			s.settle(ctx, j, r)
		case <-see.C:
			j.alive()
			see.Reset(10 * grace)
			running = true
		case <-ctx.Done():
			r.ended = cancelled
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				r.ended, r.turn = timeout, true
			}
		case <-late.C:
			r.ended = timeout
		}
	}
	if r.ended != exited {
		r.took = time.Since(j.began)
		r.stuck = j.end()
	}
	r.exit(j.status)
	if r.kept == nil {
		j.drain()
		s.running(j, false)
	}
}

// settle looks at what the shell left behind.
func (s *Shell) settle(ctx context.Context, j *job, r *report) {
	soon := time.NewTimer(grace)
	defer soon.Stop()
	if !j.quiet() {
		end := time.NewTimer(moment) // the end of the output is on its way
		select {
		case <-j.pumped:
		case <-end.C:
		}
		end.Stop()
	}
	left := j.alive()
	if len(left) > 0 || !j.quiet() {
		select { // some are just about to end, and what they say belongs to the command
		case <-j.pumped:
			if left = j.alive(); len(left) > 0 {
				waitFor(ctx, soon)
			}
		case <-soon.C:
		case <-ctx.Done():
		}
		left = j.alive()
	}
	if len(left) == 0 {
		return
	}
	r.left = left
	if s.c.Keep && ctx.Err() == nil {
		r.kept = j
		return
	}
	r.stuck = j.end()
}

func waitFor(ctx context.Context, t *time.Timer) {
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// quiet says that nobody can write output any more.
func (j *job) quiet() bool {
	select {
	case <-j.pumped:
		return true
	default:
		return false
	}
}

// drain takes what is still in the pipe, once nobody should write.
func (j *job) drain() {
	select {
	case <-j.pumped:
	case <-time.After(grace):
	}
	j.stop()
}

// end ends all processes of the job: asked first, then not. It returns those that
// could not be ended.
func (j *job) end() []proc {
	deadline := time.Now().Add(polite)
	j.signal(false)
	for time.Now().Before(deadline) && !j.gone() {
		time.Sleep(look)
	}
	deadline = time.Now().Add(firm)
	for !j.gone() {
		j.signal(true)
		if time.Now().After(deadline) {
			return j.alive()
		}
		time.Sleep(look / 4)
	}
	return nil
}

// gone says that the shell and all others have ended.
func (j *job) gone() bool {
	if !j.ended.Load() {
		select {
		case j.status = <-j.shell:
			j.ended.Store(true)
		default:
			return false
		}
	}
	return len(j.alive()) == 0
}

// signal tells all processes of the job to end, or ends them. It looks first: who
// loses its parent may be hard to find.
func (j *job) signal(hard bool) {
	all := j.alive()
	if !j.ended.Load() {
		group(j.pid, hard)
	}
	for _, p := range all {
		p.signal(hard)
	}
}

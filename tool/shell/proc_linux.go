package shell

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A stat is what /proc/PID/stat says, see proc(5).
type stat struct {
	pid, parent, group, session int
	state                       byte
	born                        uint64 // ticks since the system began
}

// slurp reads a small file of /proc without the cost of an *os.File.
func slurp(name string, buf []byte) []byte {
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer syscall.Close(fd) //nolint:errcheck // it was only read
	n := 0
	for {
		if n == len(buf) {
			buf = append(buf, make([]byte, len(buf))...)
		}
		m, err := syscall.Read(fd, buf[n:])
		if err == syscall.EINTR {
			continue
		}
		if err != nil || m <= 0 {
			return buf[:n]
		}
		n += m
	}
}

func statOf(pid int, buf []byte) (st stat, ok bool) {
	data := slurp("/proc/"+strconv.Itoa(pid)+"/stat", buf)
	at := bytes.LastIndexByte(data, ')') // the name before it may hold anything
	if at < 0 {
		return st, false
	}
	f := strings.Fields(string(data[at+1:]))
	if len(f) < 20 || f[0] == "Z" || f[0] == "X" {
		return st, false // it has ended; its parent will notice
	}
	st.pid, st.state = pid, f[0][0]
	st.parent, _ = strconv.Atoi(f[1])
	st.group, _ = strconv.Atoi(f[2])
	st.session, _ = strconv.Atoi(f[3])
	st.born, _ = strconv.ParseUint(f[19], 10, 64)
	return st, true
}

// birth is when a process began, 0 if it has ended.
func birth(pid int) uint64 {
	st, _ := statOf(pid, make([]byte, 1024))
	return st.born
}

// all yields every process that has not ended and has a number from low on.
func all(low int, yield func(stat)) {
	dir, err := os.Open("/proc")
	if err != nil {
		return
	}
	names, _ := dir.Readdirnames(-1)
	dir.Close()
	buf := make([]byte, 1024)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid >= low {
			if st, ok := statOf(pid, buf); ok {
				yield(st)
			}
		}
	}
}

// alive returns the processes of the job but the shell itself: those of its session,
// those that left it but carry its mark or still hold its output, what descends from
// them, and what did at an earlier look. A process that drops all of these before it
// is seen is not found; only a sandbox holds that one.
func (j *job) alive() []proc {
	j.mu.Lock()
	defer j.mu.Unlock()
	var others []stat
	mine := map[int]bool{j.pid: true}
	var out []proc
	buf := make([]byte, 16<<10)
	take := func(st stat) {
		mine[st.pid], j.known[st.pid] = true, st.born
		out = append(out, proc{st.pid, st.born, title(st.pid, buf)})
	}
	open := !j.quiet()
	all(j.low(), func(st stat) {
		switch {
		case st.born < j.born || st.pid == j.pid && !j.ended.Load() || st.pid == os.Getpid():
		case j.known[st.pid] == st.born && st.born > 0 || st.session == j.pid || st.group == j.pid || carries(st.pid, j.mark, buf) || open && holds(st.pid, j.inode) && !starting(st):
			take(st)
		default:
			others = append(others, st)
		}
	})
	for grew := true; grew; {
		grew = false
		for i, st := range others {
			if st.pid != 0 && mine[st.parent] {
				take(st)
				others[i].pid, grew = 0, true
			}
		}
	}
	return out
}

// low is the lowest number that a process of the job can have: that of the shell,
// unless the system began again with low ones. That can hardly be within a second;
// later it does not matter what looking at all of them costs.
func (j *job) low() int {
	if time.Since(j.began) > time.Second {
		return 0
	}
	f := strings.Fields(string(slurp("/proc/loadavg", make([]byte, 128))))
	if len(f) == 0 {
		return 0
	}
	if last, err := strconv.Atoi(f[len(f)-1]); err != nil || last < j.pid {
		return 0
	}
	return j.pid
}

// marked returns the processes whose mark begins with tag, is none of those, and is
// of no other process of ours that still runs.
func marked(tag string, but map[string]bool) []proc {
	var out []proc
	buf := make([]byte, 16<<10)
	all(0, func(st stat) {
		for rest := mark(st.pid, buf); ; {
			at := strings.Index(rest, tag)
			if at < 0 {
				return
			}
			m, after, _ := strings.Cut(rest[at:], " ")
			if !but[m] && !elsewhere(m[len(tag):]) {
				out = append(out, proc{st.pid, st.born, title(st.pid, buf)})
				return
			}
			rest = after
		}
	})
	return out
}

func carries(pid int, m string, buf []byte) bool { return strings.Contains(mark(pid, buf), m) }

// mark returns the marks in a process's environment. It is empty where that may not
// be read.
func mark(pid int, buf []byte) string {
	data := slurp("/proc/"+strconv.Itoa(pid)+"/environ", buf)
	const name = markName + "="
	at := 0
	if !bytes.HasPrefix(data, []byte(name)) {
		if at = bytes.Index(data, []byte("\x00"+name)) + 1; at == 0 {
			return ""
		}
	}
	value, _, _ := bytes.Cut(data[at+len(name):], []byte{0})
	return string(value)
}

// holds says whether a process has the pipe open.
func holds(pid int, inode uint64) bool {
	folder := "/proc/" + strconv.Itoa(pid) + "/fd"
	dir, err := os.Open(folder)
	if err != nil {
		return false
	}
	names, _ := dir.Readdirnames(-1)
	dir.Close()
	want := "pipe:[" + strconv.FormatUint(inode, 10) + "]"
	for _, name := range names {
		if to, err := os.Readlink(folder + "/" + name); err == nil && to == want {
			return true
		}
	}
	return false
}

// starting says whether a process is a command of ours that has not begun yet: until
// then it has all that we have open.
func starting(st stat) bool {
	if st.parent != os.Getpid() {
		return false
	}
	a, errA := os.Readlink("/proc/self/exe")
	b, errB := os.Readlink("/proc/" + strconv.Itoa(st.pid) + "/exe")
	return errA == nil && errB == nil && a == b
}

// title is the command line of a process, or its name in brackets.
func title(pid int, buf []byte) string {
	data := slurp("/proc/"+strconv.Itoa(pid)+"/cmdline", buf)
	if line := strings.TrimSpace(strings.ReplaceAll(string(data), "\x00", " ")); line != "" {
		return withoutPrologue(line)
	}
	return "[" + strings.TrimSpace(string(slurp("/proc/"+strconv.Itoa(pid)+"/comm", buf))) + "]"
}

// signal reaches the process and no other that got its number since.
func (p proc) signal(hard bool) {
	h, err := os.FindProcess(p.pid) // holds on to the process, where the kernel can
	if err != nil {
		return
	}
	defer h.Release() //nolint:errcheck // nothing is left to do
	if birth(p.pid) != p.born {
		return
	}
	if hard {
		_ = h.Signal(syscall.SIGKILL) // it may have ended by now, here and below
		return
	}
	_ = h.Signal(syscall.SIGTERM)
	_ = h.Signal(syscall.SIGCONT)
}

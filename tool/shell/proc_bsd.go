//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package shell

import (
	"bufio"
	"bytes"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

func birth(int) uint64 { return 0 }

// alive returns the processes of the job but the shell itself, as far as they stayed
// in its process group or descend from it. One that leaves both is not found here.
func (j *job) alive() []proc {
	type row struct{ parent, group int }
	rows, names := map[int]row{}, map[int]string{}
	data, err := exec.Command("ps", "-A", "-o", "pid=,ppid=,pgid=,state=,command=").Output()
	if err != nil {
		return nil
	}
	for sc := bufio.NewScanner(bytes.NewReader(data)); sc.Scan(); {
		f := strings.Fields(sc.Text())
		if len(f) < 5 || strings.HasPrefix(f[3], "Z") {
			continue
		}
		pid, _ := strconv.Atoi(f[0])
		parent, _ := strconv.Atoi(f[1])
		group, _ := strconv.Atoi(f[2])
		rows[pid], names[pid] = row{parent, group}, strings.Join(f[4:], " ")
	}
	mine := map[int]bool{j.pid: true}
	var out []proc
	for grew := true; grew; {
		grew = false
		for pid, r := range rows {
			if !mine[pid] && (r.group == j.pid || mine[r.parent]) {
				mine[pid], grew = true, true
				out = append(out, proc{pid: pid, name: names[pid]})
			}
		}
	}
	return out
}

// marked finds nothing: the environment of a process cannot be read here.
func marked(string, map[string]bool) []proc { return nil }

func (p proc) signal(hard bool) {
	if hard {
		_ = syscall.Kill(p.pid, syscall.SIGKILL) // it may have ended by now, here and below
		return
	}
	_ = syscall.Kill(p.pid, syscall.SIGTERM)
	_ = syscall.Kill(p.pid, syscall.SIGCONT)
}

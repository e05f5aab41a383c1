//go:build unix

package agent

import (
	"os/exec"
	"syscall"
)

// ownGroup lets a cancelled command end with all that it started.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

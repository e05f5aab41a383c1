//go:build unix

package file

import (
	"io/fs"
	"os"
	"syscall"
)

// noWait keeps a pipe without a writer from holding the program up.
const noWait = syscall.O_NONBLOCK

// names returns how many names a file has.
func names(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink) //nolint:unconvert // it is shorter on other systems
	}
	return 1
}

// own gives a new file the owner of the old one, where that is allowed.
func own(f *os.File, info fs.FileInfo) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(st.Uid), int(st.Gid))
	}
}

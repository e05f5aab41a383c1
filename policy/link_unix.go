//go:build unix

package policy

import (
	"os"
	"syscall"
)

// manyNames says whether a file has more than one name (hard links): what is
// written to it is written to a file elsewhere too.
func manyNames(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Nlink > 1
}

package file

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// copyAttributes gives a new file the extended attributes of the old one (access
// lists, labels). What may not be set is left out.
func copyAttributes(to, from *os.File) {
	src, dst := "/proc/self/fd/"+strconv.Itoa(int(from.Fd())), "/proc/self/fd/"+strconv.Itoa(int(to.Fd()))
	list := make([]byte, 64<<10)
	n, err := syscall.Listxattr(src, list)
	if err != nil {
		return
	}
	value := make([]byte, 64<<10)
	for name := range strings.SplitSeq(strings.TrimRight(string(list[:n]), "\x00"), "\x00") {
		if name == "" {
			continue
		}
		if n, err := syscall.Getxattr(src, name, value); err == nil {
			_ = syscall.Setxattr(dst, name, value[:n], 0)
		}
	}
}

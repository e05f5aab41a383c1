// Package proc says what this process holds: memory, descriptors, goroutines,
// processes that it left behind, files. Most of it needs Linux's /proc; what a
// system does not tell is [Unknown].
package proc

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
)

// Unknown is what cannot be known here.
const Unknown = -1

// Told says whether this system tells what a process holds.
func Told() bool { return RSS() != Unknown }

// RSS is the memory of this process that is in RAM, in bytes.
func RSS() int64 { return status("VmRSS:") }

// Peak is the most memory of this process that was in RAM so far, in bytes. What the
// system tells a parent may count what was there before the program was loaded.
func Peak() int64 { return status("VmHWM:") }

func status(name string) int64 {
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return Unknown
	}
	_, rest, ok := bytes.Cut(raw, []byte(name))
	if !ok {
		return Unknown
	}
	n, err := strconv.ParseInt(strings.Fields(string(rest))[0], 10, 64)
	if err != nil {
		return Unknown
	}
	return n << 10
}

// Settled is RSS after what is garbage was given back to the system.
func Settled() int64 {
	for range 2 { // what has a finaliser goes in the second
		runtime.GC()
	}
	debug.FreeOSMemory()
	return RSS()
}

// Heap is what is in use of the heap, in bytes.
func Heap() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // no heap is that large
}

// Descriptors is how many files, pipes and sockets are open.
func Descriptors() int64 {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return Unknown
	}
	return int64(len(list)) - 1 // but the one that reads the folder
}

// Marked counts the processes besides this one that have a variable, given as
// NAME=VALUE, in the environment that they were started with: also those whose
// parents have ended. A process that is dead and not yet waited for has none.
func Marked(variable string) int64 {
	all, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil || len(all) == 0 {
		return Unknown
	}
	n, self := int64(0), strconv.Itoa(os.Getpid())
	for _, name := range all {
		if filepath.Base(filepath.Dir(name)) == self {
			continue
		}
		raw, err := os.ReadFile(name)
		if err != nil { // it has ended, or is somebody else's
			continue
		}
		for _, kv := range bytes.Split(raw, []byte{0}) {
			if string(kv) == variable {
				n++
				break
			}
		}
	}
	return n
}

// Unwaited counts the children of this process that are dead, and that nobody has
// waited for.
func Unwaited() int64 {
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(all) == 0 {
		return Unknown
	}
	n, self := int64(0), strconv.Itoa(os.Getpid())
	for _, name := range all {
		raw, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		// After the name, which may hold anything: state, parent.
		rest := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
		if len(rest) > 1 && rest[0] == "Z" && rest[1] == self {
			n++
		}
	}
	return n
}

// Files counts what lies in a folder and below, without folders, and its bytes.
func Files(dir string) (n, size int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil { // it went while we looked
			return nil //nolint:nilerr // then it does not count
		}
		if e.IsDir() {
			return nil
		}
		n++
		if info, err := e.Info(); err == nil {
			size += info.Size()
		}
		return nil
	})
	return n, size
}

// Size of a file; 0 if there is none.
func Size(name string) int64 {
	info, err := os.Stat(name)
	if err != nil {
		return 0
	}
	return info.Size()
}

//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package shell

import (
	"errors"
	"os"
	"syscall"
)

// Here New gives an error, and nothing below is called.
const supported = false

var tooLong = errors.New("too long")

func apart() *syscall.SysProcAttr           { return nil }
func group(int, bool)                       {}
func ended(error) (int, string)             { return 0, "" }
func inodeOf(*os.File) uint64               { return 0 }
func birth(int) uint64                      { return 0 }
func (j *job) alive() []proc                { return nil }
func (p proc) signal(bool)                  {}
func marked(string, map[string]bool) []proc { return nil }

type post struct{ path string }

func newPost(string, string) *post { return &post{} }
func (p *post) read() string       { return "" }
func (p *post) close()             {}

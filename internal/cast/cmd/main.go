// Command cmd makes the pictures of the demo that the pages show: it builds the program,
// runs `uzda demo` in a terminal and a home of its own, and draws what came.
//
//	go run ./internal/cast/cmd -out docs/pictures
//
// The demo is done in a tenth of a second. The pictures give each line time to be read;
// nothing else of what was printed is changed but the name of the home folder.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/uzda-dev/uzda/internal/cast"
)

func main() {
	out := flag.String("out", filepath.Join("docs", "pictures"), "folder for demo.svg and demo.cast")
	flag.Parse()
	if err := run(context.Background(), *out); err != nil {
		fmt.Fprintln(os.Stderr, "cast:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out string) error {
	home, err := os.MkdirTemp("", "uzda-cast-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	s := cast.Show{Title: "uzda demo: the model is scripted, all else is real", Columns: 100, Rows: 34, Hold: 8 * time.Second}
	printed, err := demo(ctx, home, s.Columns, s.Rows)
	if err != nil {
		return err
	}
	s.Lines = cast.Paced("$ ", "uzda demo", strings.ReplaceAll(printed, home, "~"), s.Columns, pace)
	return errors.Join(file(filepath.Join(out, "demo.svg"), s.SVG), file(filepath.Join(out, "demo.cast"), s.Cast))
}

// demo builds the program and returns what it prints in a terminal.
func demo(ctx context.Context, home string, columns, rows int) (string, error) {
	bin := filepath.Join(home, "uzda")
	build := exec.CommandContext(ctx, "go", "build", "-o", bin, "./cmd/uzda")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("build uzda (is this the root of the repository?): %w", err)
	}
	c := exec.CommandContext(ctx, bin, "demo")
	c.Dir = home
	c.Env = []string{"HOME=" + home, "UZDA_HOME=" + filepath.Join(home, ".local", "share", "uzda"), "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "NO_COLOR=1"}
	raw, err := inTerminal(c, columns, rows)
	if err != nil {
		return "", fmt.Errorf("uzda demo: %w\n%s", err, raw)
	}
	return string(raw), nil
}

var (
	step  = regexp.MustCompile(`^ +\d+  [a-z_]+ `)
	words = regexp.MustCompile(`^[A-Z][a-z']+ [a-z]`)
)

// pace is as long as one reads.
func pace(line string) time.Duration {
	switch {
	case words.MatchString(line):
		return time.Second
	case step.MatchString(line):
		return 400 * time.Millisecond
	case strings.HasPrefix(line, "── "):
		return 1500 * time.Millisecond
	}
	return 90 * time.Millisecond
}

func file(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

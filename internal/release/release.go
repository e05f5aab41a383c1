// Package release builds the archives that people download, with the same bytes
// whenever the same Go builds the same commit.
package release

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Sums is the file with the checksums of the archives, in the form that
// "sha256sum -c" reads.
const Sums = "SHA256SUMS"

// A Target is a system that archives are built for.
type Target struct{ OS, Arch string }

func (t Target) String() string { return t.OS + "/" + t.Arch }

// Targets are all systems that there are archives for.
func Targets() []Target {
	return []Target{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"}}
}

// ParseTarget finds a target by its name, OS/ARCH.
func ParseTarget(name string) (Target, error) {
	var known []string
	for _, t := range Targets() {
		if t.String() == name {
			return t, nil
		}
		known = append(known, t.String())
	}
	return Target{}, fmt.Errorf("there are no archives for %q; there are for %s", name, strings.Join(known, ", "))
}

// A Plan is what is to be built.
type Plan struct {
	Source  string // the repository
	Out     string // the folder of the archives; it is made
	Version string
	Targets []Target
	At      time.Time // of all files in the archives
	Log     io.Writer // a line when an archive is ready; nil: none
}

// A Built is an archive that is ready.
type Built struct {
	Target
	Name    string // of the file
	Binary  int    // bytes of the program in it
	Archive int    // bytes
	Sum     string // SHA-256, in hex
}

// Build builds the archives and the file of their checksums. That is written last:
// where it stands, all archives that it names are whole.
func (p Plan) Build(ctx context.Context) ([]Built, error) {
	if err := os.MkdirAll(p.Out, 0o755); err != nil { //nolint:gosec // G301: they are for everybody
		return nil, err
	}
	sums := filepath.Join(p.Out, Sums)
	if err := os.Remove(sums); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	tmp, err := os.MkdirTemp("", "uzda-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	w := work{Plan: p, tmp: tmp, done: map[Target]string{}}
	shared, err := w.shared(ctx)
	if err != nil {
		return nil, err
	}
	var all []Built
	for _, t := range p.Targets {
		b, err := w.archive(ctx, t, shared)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t, err)
		}
		if p.Log != nil {
			fmt.Fprintf(p.Log, "%s is ready\n", b.Name)
		}
		all = append(all, b)
	}
	var text strings.Builder
	for _, b := range slices.SortedFunc(slices.Values(all), func(a, b Built) int { return strings.Compare(a.Name, b.Name) }) {
		fmt.Fprintf(&text, "%s  %s\n", b.Sum, b.Name)
	}
	return all, write(sums, []byte(text.String()))
}

// work is a plan that is being built.
type work struct {
	Plan
	tmp  string
	done map[Target]string // programs that are there, and their files
}

// archive builds the program for a target and packs it.
func (w *work) archive(ctx context.Context, t Target, shared []File) (Built, error) {
	top := fmt.Sprintf("uzda_%s_%s_%s", w.Version, t.OS, t.Arch)
	b := Built{Target: t, Name: top + ".tar.gz"}
	program, pack := "uzda", Tar
	if t.OS == "windows" {
		b.Name, program, pack = top+".zip", "uzda.exe", Zip
	}
	name, err := w.compile(ctx, t)
	if err != nil {
		return b, err
	}
	binary, err := os.ReadFile(name)
	if err != nil {
		return b, err
	}
	var packed bytes.Buffer
	if err := pack(&packed, top, append(slices.Clone(shared), File{program, 0o755, binary}), w.At); err != nil {
		return b, err
	}
	b.Binary, b.Archive, b.Sum = len(binary), packed.Len(), fmt.Sprintf("%x", sha256.Sum256(packed.Bytes()))
	return b, write(filepath.Join(w.Out, b.Name), packed.Bytes())
}

// compile builds the program for a target once, as static as Go can, and returns its
// file.
func (w *work) compile(ctx context.Context, t Target) (string, error) {
	if name, ok := w.done[t]; ok {
		return name, nil
	}
	name := filepath.Join(w.tmp, t.OS+"-"+t.Arch+".exe")
	var said bytes.Buffer
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=true", "-ldflags", "-s -w -X main.version="+w.Version, "-o", name, "./cmd/uzda")
	c.Dir, c.Stderr = w.Source, &said
	// What the caller set for other builds must not reach this one.
	c.Env = append(os.Environ(), "GOOS="+t.OS, "GOARCH="+t.Arch, "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly",
		"GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GODEBUG=", "GOFIPS140=off")
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, strings.TrimSpace(said.String()))
	}
	w.done[t] = name
	return name, nil
}

// fromTree are the files of the repository that every archive holds.
var fromTree = []string{"LICENSE", "README.md", "CHANGELOG.md"}

// written are the files that the program itself writes, with its arguments.
var written = []struct {
	name string
	args []string
}{
	{"completions/uzda.bash", []string{"completion", "bash"}},
	{"completions/_uzda", []string{"completion", "zsh"}},
	{"completions/uzda.fish", []string{"completion", "fish"}},
	{"completions/uzda.ps1", []string{"completion", "powershell"}},
	{"man/uzda.1", []string{"manual"}},
}

// shared are the files that all archives have. A program for this machine writes
// some of them, in an empty home.
func (w *work) shared(ctx context.Context) ([]File, error) {
	var files []File
	for _, name := range fromTree {
		data, err := os.ReadFile(filepath.Join(w.Source, name))
		if err != nil {
			return nil, err
		}
		files = append(files, File{name, 0o644, data})
	}
	here, err := w.compile(ctx, Target{runtime.GOOS, runtime.GOARCH})
	if err != nil {
		return nil, fmt.Errorf("for this machine: %w", err)
	}
	home := filepath.Join(w.tmp, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		return nil, err
	}
	for _, f := range written {
		c := exec.CommandContext(ctx, here, f.args...)
		c.Dir, c.Env = home, []string{"HOME=" + home, "UZDA_HOME=" + home}
		data, err := c.Output()
		if err != nil || len(data) == 0 {
			return nil, fmt.Errorf("uzda %s wrote %d bytes: %w", strings.Join(f.args, " "), len(data), err)
		}
		files = append(files, File{f.name, 0o644, data})
	}
	return files, nil
}

// write puts a file into its place whole.
func write(name string, data []byte) error {
	part := name + ".part"
	if err := os.WriteFile(part, data, 0o644); err != nil { //nolint:gosec // G306: it is for everybody
		return err
	}
	return os.Rename(part, name)
}

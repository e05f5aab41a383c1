// Command cmd is what release.sh calls: it reads the arguments, and refuses what
// would not be a release.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"text/tabwriter"

	"github.com/uzda-dev/uzda/internal/release"
)

const about = `Builds the archives that people download into dist/: static binaries for Linux, macOS
and Windows on amd64 and arm64, each with completions, a manual page and the licence,
and SHA256SUMS. The same commit, built by the same Go, gives the same bytes.

  ./release.sh                      version: the tag, else v0.0.0-DATE-COMMIT
  ./release.sh v0.1.0               that version
  ./release.sh --only linux/amd64   one system; may be repeated
  ./release.sh --out DIR            another folder than dist
  ./release.sh --dirty              also with files that are not committed: to try it
  ./release.sh --help               this

It needs a POSIX shell, Go and git, and no network once the modules are there. It
exits 1 if a build failed or files are not committed, 2 if the arguments are wrong.
`

// only is the flag that names targets.
type only []release.Target

func (o *only) String() string { return "" }
func (o *only) Set(name string) error {
	t, err := release.ParseTarget(name)
	if err == nil {
		*o = append(*o, t)
	}
	return err
}

// wrong is a mistake in the arguments.
type wrong struct{ error }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:])
	var w wrong
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case errors.As(err, &w):
		fmt.Fprintf(os.Stderr, "release.sh: %v; see ./release.sh --help\n", err)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "release.sh:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	p := release.Plan{Log: os.Stderr}
	var targets only
	dirty := false
	f := flag.NewFlagSet("release.sh", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&p.Source, "source", ".", "the repository")
	f.StringVar(&p.Out, "out", "", "the folder of the archives")
	f.BoolVar(&dirty, "dirty", false, "also with files that are not committed")
	f.Var(&targets, "only", "OS/ARCH")
	for { // the version may stand before flags and after them
		if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
			fmt.Print(about)
			return err
		} else if err != nil {
			return wrong{err}
		}
		if f.NArg() == 0 {
			break
		}
		if p.Version != "" {
			return wrong{fmt.Errorf("one version, not %q and %q", p.Version, f.Arg(0))}
		}
		if p.Version, args = f.Arg(0), f.Args()[1:]; !release.IsVersion(p.Version) {
			return wrong{fmt.Errorf("%q is no version; one looks like v0.1.0", p.Version)}
		}
	}
	commit, err := release.Head(ctx, p.Source)
	if err != nil {
		return fmt.Errorf("%w\na release is built in a clone: git says which commit it is", err)
	}
	if err := accepts(ctx, p, commit, dirty); err != nil {
		return err
	}
	p.At = commit.At
	if p.Targets = targets; len(targets) == 0 {
		p.Targets = release.Targets()
	}
	if p.Version == "" {
		p.Version = commit.Version()
	}
	if p.Out == "" {
		p.Out = filepath.Join(p.Source, "dist")
	}
	built, err := p.Build(ctx)
	if err != nil {
		return err
	}
	return report(p, commit, built)
}

// accepts refuses what would not be a release.
func accepts(ctx context.Context, p release.Plan, c release.Commit, dirty bool) error {
	if len(c.Dirty) > 0 && !dirty {
		return fmt.Errorf("%d files are not those of the commit, the first: %s\ncommit them, or give --dirty to try a build: it says of itself that it is modified", len(c.Dirty), c.Dirty[0])
	}
	if p.Version == "" {
		return nil
	}
	if id := release.Tagged(ctx, p.Source, p.Version); id != "" && id != c.ID {
		return wrong{fmt.Errorf("the tag %s is commit %.12s, and %.12s is checked out", p.Version, id, c.ID)}
	}
	return nil
}

func report(p release.Plan, c release.Commit, built []release.Built) error {
	const mb = 1e6
	fmt.Printf("\n%s of commit %.12s, built by %s, in %s:\n\n", p.Version, c.ID, runtime.Version(), p.Out)
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ARCHIVE\tSIZE\tPROGRAM\tSHA256")
	for _, b := range built {
		fmt.Fprintf(t, "%s\t%.1f MB\t%.1f MB\t%.12s…\n", b.Name, float64(b.Archive)/mb, float64(b.Binary)/mb, b.Sum)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Printf("\n%s has the checksums: sha256sum -c %s\n", filepath.Join(p.Out, release.Sums), release.Sums)
	return nil
}

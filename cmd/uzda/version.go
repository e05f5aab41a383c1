package main

import (
	"cmp"
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

// version is what release.sh stamps with -ldflags -X. Any other build leaves it
// empty, and what Go itself keeps in the binary says it.
var version string

// journalFormat is what this program writes into uzda.Opened.
const journalFormat = 1

// identity says what this program is: the object of `uzda version`.
type identity struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Date     string `json:"date,omitempty"` // of the commit, RFC 3339
	Modified bool   `json:"modified"`       // built of more than the commit
	Go       string `json:"go"`
	System   string `json:"system"`
	Journal  int    `json:"journal_format"`
	Parts    []part `json:"parts"`
}

// part is a module that the program is built of; ours comes first.
type part struct {
	Module  string `json:"module"`
	Version string `json:"version"`
	Sum     string `json:"sum,omitempty"` // as in go.sum
}

// devel is how Go calls a version that it does not know.
const devel = "(devel)"

// snapshot matches the version that Go gives a commit without a tag: the date and
// the commit stand in it.
const snapshot = `[.-](\d{14})-([0-9a-f]{12})(?:\+[a-z.]+)?$`

// identify says what a program is by the build information and a version that was
// stamped. A build in a clone knows its commit; what came as a module has a version
// only, and that of an untagged commit tells the commit; "go run" and tests know none.
func identify(info *debug.BuildInfo, stamped string) identity {
	me := identity{Version: stamped, Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, Journal: journalFormat, Parts: []part{}}
	if info == nil {
		me.Version = cmp.Or(me.Version, devel)
		return me
	}
	me.Version = cmp.Or(me.Version, info.Main.Version, devel)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			me.Commit = s.Value
		case "vcs.time":
			me.Date = s.Value
		case "vcs.modified":
			me.Modified = s.Value == "true"
		}
	}
	if m := regexp.MustCompile(snapshot).FindStringSubmatch(info.Main.Version); m != nil && me.Commit == "" {
		if at, err := time.Parse("20060102150405", m[1]); err == nil {
			me.Commit, me.Date = m[2], at.Format(time.RFC3339)
		}
	}
	me.Parts = append(me.Parts, part{info.Main.Path, cmp.Or(info.Main.Version, devel), info.Main.Sum})
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		me.Parts = append(me.Parts, part{d.Path, d.Version, d.Sum})
	}
	return me
}

// this is the running program.
func this() identity {
	info, _ := debug.ReadBuildInfo()
	return identify(info, version)
}

func (a *app) versionCommand() *cobra.Command {
	parts := false
	c := &cobra.Command{Use: "version", Short: "the version of the program, and what it is made of",
		Long: `Version says what this program is: its version, the commit that it was built of and
that commit's date, and whether the files were others than those of the commit. It
reads no settings and no store. JSON has the parts always, with their sums.`,
		Example: "  uzda version\n  uzda version --parts\n  uzda version --output-format json", Args: none}
	c.Flags().BoolVar(&parts, "parts", false, "also the modules that it is built of")
	c.RunE = func(c *cobra.Command, _ []string) error {
		format := "text"
		if a.wantsJSON() {
			format = "json"
		}
		if t, ok := c.Flags().Lookup("output-format").Value.(*text); ok && len(t.values) > 0 {
			format = t.values[len(t.values)-1]
		}
		return a.printVersion(format, parts)
	}
	return flags(c, "output-format")
}

// printVersion says what this program is. It reads no settings, so that it works
// whatever is wrong with them.
func (a *app) printVersion(format string, parts bool) error {
	me := this()
	switch format {
	case "json", "stream-json":
		writeJSON(a.out, me)
		return nil
	case "text":
	default:
		return usage("--output-format is text, json or stream-json, not %q", format)
	}
	fmt.Fprintf(a.out, "uzda %s\n%s\n", me.Version, me.source())
	fmt.Fprintf(a.out, "%s, %s, journal format %d\n", me.Go, me.System, me.Journal)
	if !parts {
		return nil
	}
	fmt.Fprintln(a.out, "\nparts:")
	t := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, p := range me.Parts {
		fmt.Fprintf(t, "  %s\t%s\n", p.Module, p.Version)
	}
	return t.Flush()
}

// source says in a line which commit the program was built of.
func (me identity) source() string {
	const short = 12 // as Go writes them
	if me.Commit == "" {
		return "commit not known to this build"
	}
	line := "commit " + me.Commit[:min(short, len(me.Commit))]
	if me.Date != "" {
		line += ", " + me.Date
	}
	if me.Modified {
		line += ", modified"
	}
	return line
}

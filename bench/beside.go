package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/uzda-dev/uzda/bench/internal/page"
	"github.com/uzda-dev/uzda/bench/internal/proc"
	"github.com/uzda-dev/uzda/bench/internal/report"
	"github.com/uzda-dev/uzda/bench/internal/service"
	"github.com/uzda-dev/uzda/bench/internal/startup"
)

// Name of the program that embeds Uzda as those of the peers embed theirs.
const embedded = "embedded"

// others is whether the programs of the peers take part.
type others struct {
	none bool
	dir  string
}

func (o *others) flags(f *flag.FlagSet) {
	f.BoolVar(&o.none, "no-peers", false, "without other frameworks, which are fetched and built the first time")
	f.StringVar(&o.dir, "peers", "", "folder of their programs, if they are built already")
}

// build builds the programs into a folder below dir, as ours is released, and returns
// it; "" if they take no part.
func (o *others) build(ctx context.Context, source, dir string, out io.Writer) (string, error) {
	if o.none || o.dir != "" {
		return o.dir, nil
	}
	source, err := startup.Find(source)
	if err != nil {
		return "", err
	}
	fmt.Fprintln(out, "building the programs of the peers; the first time it takes some minutes")
	dir = filepath.Join(dir, "peers")
	for _, c := range []struct{ module, programs string }{{"bench", "./embedded"}, {"bench/peers", "./..."}} {
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", dir+string(filepath.Separator), c.programs)
		build.Dir, build.Env = filepath.Join(source, c.module), append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
		if said, err := build.CombinedOutput(); err != nil {
			return "", fmt.Errorf("build the programs of %s: %w\n%s\nNothing was measured. Their modules are fetched by go, from its module proxy; --no-peers goes on without them", c.module, err, said)
		}
	}
	return dir, nil
}

// contest lets all contestants run beside each other and says what came of it. With a
// folder of documents all of it goes into performance.md.
func (b *bench) contest(ctx context.Context, a asked, least, most int, out io.Writer) (contest, error) {
	if a.only == alone {
		return contest{}, nil
	}
	rounds, err := b.rounds(ctx, least, most, out)
	if err != nil {
		return contest{}, err
	}
	c := contest{rounds: rounds, rows: report.Rows(rounds), bars: report.Bars(rounds)}
	report.Print(out, c.rows, c.bars)
	var programs []report.Bar
	if b.peers != "" {
		figures, err := b.apart(ctx, "programs", place{Dir: filepath.Join(b.dir, "programs"), Program: b.peers, Rounds: least})
		if err != nil {
			return contest{}, err
		}
		for _, f := range figures {
			programs = append(programs, f.Bar())
		}
		fmt.Fprintln(out)
		report.PrintBars(out, programs)
	}
	if a.docs != "" {
		err = b.publish(a.docs, c, programs)
	}
	c.bars = append(c.bars, programs...)
	return c, err
}

// contest is what came of the contestants.
type contest struct {
	rounds []report.Round
	rows   []report.Row
	bars   []report.Bar
}

// publish puts it into the documents.
func (b *bench) publish(docs string, c contest, programs []report.Bar) error {
	m, err := facts(b.dir)
	if err != nil {
		return err
	}
	peers := min(len(c.rounds), report.PeerRounds)
	var text strings.Builder
	fmt.Fprintf(&text, "%s.\n", m.named())
	if len(programs) == 0 {
		fmt.Fprintf(&text, "Medians of %d rounds, without peers.\n\n", len(c.rounds))
	} else {
		fmt.Fprintf(&text, "Medians of %d rounds, of peers of %d.\n\n", len(c.rounds), peers)
	}
	report.MarkdownRows(&text, c.rows)
	fmt.Fprintln(&text)
	report.Markdown(&text, c.bars)
	if len(programs) > 0 {
		fmt.Fprintln(&text)
		report.Markdown(&text, programs)
	}
	return page.Replace(filepath.Join(docs, "performance.md"), "loops", text.String())
}

// programs measures the programs in a folder: a framework and the task, no more.
func programs(ctx context.Context, p place) (figures []report.Figure, err error) {
	names := []string{embedded}
	for _, peer := range report.Peers() {
		names = append(names, peer.Name)
	}
	for _, name := range names {
		file := program(p.Program, name)
		var wall, rss []float64
		for i := range 2*p.Rounds + 1 {
			s, _, err := startup.Run(ctx, file, p.Dir)
			if err != nil {
				return nil, err
			}
			own, err := peakOf(ctx, file)
			if err != nil {
				return nil, err
			}
			if i > 0 { // the first comes from the disk
				wall, rss = append(wall, millis(s.Wall)), append(rss, float64(own)/1e6)
			}
		}
		if name == embedded {
			name = "uzda"
		}
		figures = append(figures,
			report.Figure{What: "program with " + name + ", MB", Form: "%.1f", Values: []float64{float64(proc.Size(file)) / 1e6}},
			report.Figure{What: "start of it, ms", Form: "%.1f", Values: wall},
			report.Figure{What: "RSS of it at its start, MB", Form: "%.1f", Values: rss})
	}
	return figures, nil
}

// peakOf asks a program for the most memory that it had.
func peakOf(ctx context.Context, program string) (n int64, err error) {
	said, err := service.Command(ctx, program, "peak").Output()
	if err != nil {
		return 0, fmt.Errorf("%s peak: %w", program, err)
	}
	_, err = fmt.Sscan(string(said), &n)
	return n, err
}

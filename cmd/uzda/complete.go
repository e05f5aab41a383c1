package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/cmd/uzda/config"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/sqlite"
)

// What a shell does besides, or instead of, showing our words. They are bits.
const (
	noFiles = cobra.ShellCompDirectiveNoFileComp
	files   = cobra.ShellCompDirectiveDefault
	folders = cobra.ShellCompDirectiveFilterDirs
	byEnd   = cobra.ShellCompDirectiveFilterFileExt // our words are the endings
	asIs    = noFiles | cobra.ShellCompDirectiveKeepOrder
)

// completesAll gives every command below root what a shell can put in the place of
// its arguments and of its flags' values. Both follow from how the command is
// called and from the table of settings, so that a new command has them by itself.
func (a *app) completesAll(root *cobra.Command) {
	for _, c := range root.Commands() {
		a.completesAll(c)
		if c.ValidArgsFunction == nil && c.ValidArgs == nil {
			c.ValidArgsFunction = a.arguments
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() == "bool" {
				return
			}
			// It fails where a command has its own, which is better.
			_ = c.RegisterFlagCompletionFunc(f.Name, func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
				return a.value(c, f, args, typed)
			})
		})
	}
}

var argument = regexp.MustCompile(`^[\["']*([A-Za-z|-]+?)[\]"']*(\.\.\.)?[\]"']*$`)

// arguments completes an argument of a command by its name in how the command is
// called: "resolve SESSION USE yes|no".
func (a *app) arguments(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	names := strings.Fields(c.Use)[1:]
	names = slices.DeleteFunc(names, func(n string) bool { return n == "[flags]" || strings.HasPrefix(n, "-") })
	at, again := len(args), false
	if last := len(names) - 1; last >= 0 && at > last && strings.Contains(names[last], "...") {
		at, again = last, true
	}
	if at >= len(names) {
		return nil, asIs
	}
	m := argument.FindStringSubmatch(names[at])
	if m == nil {
		return nil, asIs
	}
	look := a.peek(c)
	defer look.close()
	var words []string
	switch name := m[1]; {
	case name == "SESSION" || name == "ID":
		words = look.sessions(c, typed)
	case name == "USE" && len(args) > 0:
		words = look.calls(c, args[0])
	case name == "PROVIDER":
		words = look.providers()
	case name == "TOOL":
		words = builtIn
	case name == "FILE":
		return nil, files
	case strings.Contains(name, "|"):
		words = strings.Split(name, "|")
	}
	if again || m[2] != "" {
		words = slices.DeleteFunc(slices.Clone(words), func(w string) bool {
			word, _, _ := strings.Cut(w, "\t")
			return slices.Contains(args, word)
		})
	}
	return from(words, typed), asIs
}

// value completes the value of a flag.
func (a *app) value(c *cobra.Command, f *pflag.Flag, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	look := a.peek(c)
	defer look.close()
	switch f.Name {
	case "model":
		return look.models(typed)
	case "agent":
		if words := from(look.agentNames(), typed); len(words) > 0 {
			return words, noFiles
		}
		return []string{"md"}, byEnd
	case "session":
		return from(look.sessions(c, typed), typed), asIs
	case "allow", "deny":
		return from(builtIn, typed), asIs
	case "scope":
		return from([]string{"once", scopeSession, scopeRule}, typed), asIs
	case "schema":
		return []string{"json"}, byEnd
	case "dir", "add-dir", "trust":
		return nil, folders
	case "attach", "file":
		return nil, files
	}
	for _, k := range config.Keys() {
		switch {
		case k.Flag != f.Name:
		case k.Kind == config.Choice:
			return from(k.Choices, typed), asIs
		case k.Kind == config.Path || k.Kind == config.Paths:
			return nil, files
		}
	}
	return nil, asIs
}

// from are the words that begin as what is typed. A word may have a description
// after a tab.
func from(words []string, typed string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !strings.HasPrefix(w, typed) })
}

// A peek looks at settings and store while somebody types. It says nothing, asks
// no network, makes nothing and upgrades nothing: whatever is wrong, there are just
// no words, and the command itself will say why.
type peek struct {
	*work
	ctx  context.Context
	stop context.CancelFunc
}

func (a *app) peek(c *cobra.Command) *peek {
	const most = 3 * time.Second // then nobody waits for it any more
	quiet := &app{dir: a.dir, env: a.env, in: strings.NewReader(""), err: io.Discard, plain: true, now: a.now,
		out: &output{w: io.Discard, gone: func() {}}, args: a.args, signals: a.signals}
	g := &peek{work: &work{app: quiet, cfg: &config.Config{}}}
	g.ctx, g.stop = context.WithTimeout(a.signals, most)
	if cfg, err := quiet.load(c); err == nil {
		g.cfg = cfg
	}
	return g
}

func (g *peek) close() {
	g.stop()
	g.work.close()
}

// look opens the store, if there is one that needs nothing.
func (g *peek) look() bool {
	if g.store != nil {
		return true
	}
	path := storePath(g.cfg)
	if g.cfg.Data == "" && g.cfg.Store.Path == "" { // the settings cannot be read
		return false
	}
	if g.cfg.Store.Kind == "files" {
		s, err := journal.OpenFiles(path, journal.FilesOptions{Durability: g.cfg.Durability, AsIs: true, Warn: func(string) {}})
		if err != nil {
			return false
		}
		g.store = s
	} else {
		s, err := sqlite.OpenWith(path, sqlite.Options{Durability: g.cfg.Durability, AsIs: true})
		if err != nil {
			return false
		}
		g.store = s
	}
	g.closes = append(g.closes, func() error { return uzda.CloseStore(g.store) })
	return true
}

// sessions are the sessions whose ids begin as what is typed, the last changed
// first, with their tasks. For those who answer only those that wait count; a child
// comes where its parent's id stands already.
func (g *peek) sessions(c *cobra.Command, typed string) (words []string) {
	const most, room = 50, 60
	if !g.look() {
		return nil
	}
	l, ok := g.store.(uzda.Lister)
	if !ok {
		return nil
	}
	answers := c.Name() == "approve" || c.Name() == "deny"
	for info, err := range l.List(g.ctx) {
		if err != nil || len(words) == most {
			break
		}
		id := string(info.ID)
		if !strings.HasPrefix(id, typed) || info.Parent != "" && len(typed) <= len(info.Parent) || answers && info.Status != "waiting" {
			continue
		}
		words = append(words, id+"\t"+info.Status+": "+uzda.OneLine(safe(info.Title), room))
	}
	return words
}

// calls are those of a session that wait for an answer or whose outcome nobody knows.
func (g *peek) calls(c *cobra.Command, name string) (words []string) {
	const room = 60
	if !g.look() {
		return nil
	}
	_, s, err := g.load(g.ctx, name)
	if err != nil {
		return nil
	}
	if c.Name() == "resolve" {
		for _, id := range slices.Sorted(maps.Keys(s.Unknown)) {
			words = append(words, fmt.Sprintf("%s\t%s", id, safe(s.Unknown[id].Tool)))
		}
		return words
	}
	for _, u := range s.Waits() {
		words = append(words, fmt.Sprintf("%s\t%s %s", u.ID, safe(u.Name), uzda.OneLine(safe(string(u.Args())), room)))
	}
	return words
}

// providers are those of the table of models.
func (g *peek) providers() (words []string) {
	t, err := g.table()
	if err != nil {
		return nil
	}
	for _, p := range t.Providers() {
		words = append(words, p.ID+"\t"+p.Name)
	}
	return words
}

// models are the names of the settings, then the models that can be reached, then
// the rest of the table; after "script:" the files of scripts.
func (g *peek) models(typed string) ([]string, cobra.ShellCompDirective) {
	if rest, ok := strings.CutPrefix(typed, "script:"); ok {
		return scripts(g.dir, rest), asIs | cobra.ShellCompDirectiveNoSpace
	}
	var words, others []string
	for _, name := range slices.Sorted(maps.Keys(g.cfg.Models)) {
		words = append(words, name+"\t"+g.cfg.Models[name].ID+", by your settings")
	}
	t, err := g.table()
	if err != nil {
		return from(words, typed), asIs
	}
	for _, id := range t.IDs() {
		word := id
		if info, ok := t.Info(id); ok && info.Window > 0 {
			word += "\twindow " + thousands(info.Window)
		}
		provider, _, _ := strings.Cut(id, "/")
		if slices.Contains(config.Services(), provider) && g.unset(profileOf(provider)) == "" {
			words = append(words, word)
		} else {
			others = append(others, word)
		}
	}
	return from(append(words, others...), typed), asIs
}

// scripts are the folders, and the files that may be scripts, that begin as what is
// typed after "script:".
func scripts(dir, typed string) (words []string) {
	folder, begin := filepath.Split(typed)
	place := folder
	if !filepath.IsAbs(place) {
		place = filepath.Join(dir, place)
	}
	entries, err := os.ReadDir(place)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	for _, e := range entries {
		name := e.Name()
		switch {
		case !strings.HasPrefix(name, begin) || strings.HasPrefix(name, ".") && begin == "" || safe(name) != name:
		case e.IsDir():
			words = append(words, "script:"+folder+name+string(filepath.Separator))
		case slices.Contains([]string{".json", ".yaml", ".yml"}, filepath.Ext(name)):
			words = append(words, "script:"+folder+name)
		}
	}
	return words
}

// Package config reads the settings of the program: from files, the environment
// and flags, each value with the place that it came from.
package config

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/hook"
)

// Config holds every setting, with defaults filled in. Paths are absolute.
type Config struct {
	Model        string
	Agent        string
	Agents       string // folder
	Dir          string
	Dirs         []string // folders besides Dir
	DB           string   // a file or a URL
	System       string   // file
	Schema       string   // file
	Notes        string   // folder
	Verify       string   // command
	OutputFormat string   // text, json or stream-json
	Limits       uzda.Limits
	Context      Context
	Permissions  Permissions
	Shell        Shell
	Fetch        Fetch
	Store        Store
	Durability   string   // power or process
	Prices       string   // file
	CAFile       string   // of certificates
	Trust        []string // folders
	Models       map[string]Model
	Hooks        []hook.Hook // of all files together, the weakest first

	Data     string   // folder of what Uzda keeps
	Own      string   // folder of the user's own files; "" if there is no place for one
	Project  string   // folder of the project's uzda.yaml; "" if there is none
	Trusted  bool     // the user trusts that folder, or without one the working directory
	Files    []string // that were read, the weakest first
	Left     []string // settings of a project that is not trusted, with where: they do not count
	Warnings []string // for people; nothing depends on them

	origins map[string]string // by key
	leftOut map[string]string // keys of a project that is not trusted, with where
	env     map[string]string
	from    origins
	plain   *Config // before an agent's file was taken in; nil: it is that
}

// origins are the places that settings were looked for from.
type origins struct{ dir, home, user string }

// Context says how much of the window a session uses, and how it stays within.
type Context struct {
	Budget  int    // tokens; 0: as the model's window says
	Compact string // auto or off
	Model   string // for summaries; "": the session's own
	Keep    int    // replies that a summary leaves as they are
}

// Permissions are the rules that calls are held against. Rules of all files,
// variables and flags hold together; none replaces another.
type Permissions struct {
	Mode     string // ask, plan, accept-edits, deny or bypass
	Commands string // that only read: allow or ask
	Allow    []Rule
	Ask      []Rule
	Deny     []Rule
}

// Shell says how commands run.
type Shell struct {
	Timeout    time.Duration
	Background string // kill or keep
}

// Fetch says what may be fetched.
type Fetch struct {
	Private []string // hosts on private networks
}

// Store says where sessions are kept.
type Store struct {
	Kind string // sqlite or files
	Path string // a file or a folder
	Warn int    // megabytes from which on its size is told; 0: never
}

// Origin says where the value of a key came from: "flag --model",
// "env UZDA_MODEL", "uzda.yaml:12" or "default".
func (c *Config) Origin(key string) string {
	if o, ok := c.origins[key]; ok {
		return o
	}
	return "default"
}

// LeftOut says where a project that is not trusted sets a key that therefore does
// not count, "" if none does.
func (c *Config) LeftOut(key string) string { return c.leftOut[key] }

// An Item is one setting for display. Value is a string, a number or a list.
type Item struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Origin string `json:"origin"`
}

// Items lists all settings in the order of the table. A rule is an item of its
// own, as each has its origin. Passwords in URLs are hidden.
func (c *Config) Items() []Item {
	var items []Item
	for _, k := range keys {
		if rules, ok := k.field(c).(*[]Rule); ok {
			for _, r := range *rules {
				items = append(items, Item{k.Name, r.Text, r.Origin})
			}
			if len(*rules) == 0 {
				items = append(items, Item{k.Name, nil, "default"})
			}
			continue
		}
		items = append(items, Item{k.Name, shown(k.field(c)), c.Origin(k.Name)})
	}
	items = append(items, c.hookItems()...)
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		m := c.Models[name]
		for _, k := range modelKeys {
			full := strings.Replace(k.Name, "NAME", name, 1)
			if origin, ok := c.origins[full]; ok {
				items = append(items, Item{full, c.shownOf(k, &m), origin})
			}
		}
	}
	return items
}

// shownOf is what is shown of a named model: of a key whether it is there, of
// headers only their names.
func (c *Config) shownOf(k Key, m *Model) any {
	if k.Kind == Variable {
		state := "not set"
		if c.env[m.Key] != "" {
			state = "set"
		}
		return "$" + m.Key + " (" + state + ")"
	}
	return shown(k.model(m))
}

// shown returns what a field holds as it is printed and written as JSON; nil for nothing.
func shown(field any) any {
	switch v := field.(type) {
	case *string:
		if *v == "" {
			return nil
		}
		if u, err := url.Parse(*v); err == nil && u.Host != "" {
			return u.Redacted()
		}
		return *v
	case *int:
		return *v
	case *time.Duration:
		return short(*v)
	case *uzda.Money:
		if *v == 0 {
			return nil
		}
		return *v
	case **float64:
		return *v
	case **int:
		return *v
	case *bool:
		return *v
	case *opposite:
		return !bool(*v)
	case *map[string]string:
		return slices.Sorted(maps.Keys(*v))
	case *[]string:
		return *v
	case *map[string]json.RawMessage:
		return *v
	}
	return nil
}

// short writes a duration without its empty parts: 30m, not 30m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func (i Item) text() string {
	switch v := i.Value.(type) {
	case nil:
		return "-"
	case string:
		if v != strings.TrimSpace(v) || strings.ContainsAny(v, "\n\t") {
			return strconv.Quote(v)
		}
		return v
	case uzda.Money:
		return v.String()
	case *float64:
		return strconv.FormatFloat(*v, 'g', -1, 64)
	case *int:
		return strconv.Itoa(*v)
	case []string, map[string]json.RawMessage:
		raw, err := json.Marshal(v)
		if err != nil {
			return fmt.Sprint(v)
		}
		return string(raw)
	}
	return fmt.Sprint(i.Value)
}

// WriteText prints the settings, and more items, one a line: key, value, origin.
func (c *Config) WriteText(w io.Writer, more ...Item) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, i := range append(c.Items(), more...) {
		text := i.text()
		if k, ok := byName(i.Key); ok && k.Zero != "" && i.Value == 0 {
			text = k.Zero
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", i.Key, text, i.Origin)
	}
	return table.Flush()
}

// WriteJSON prints the settings, and more items, as an array of
// {"key","value","origin"}.
func (c *Config) WriteJSON(w io.Writer, more ...Item) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(append(c.Items(), more...))
}

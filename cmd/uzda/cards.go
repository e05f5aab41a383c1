package main

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/cmd/uzda/config"
	"github.com/uzda-dev/uzda/internal/charset"
	"github.com/uzda-dev/uzda/policy"
)

//go:embed agents/*.md
var embedded embed.FS

// card is an agent as a file describes it: front matter, then its instructions.
type card struct {
	Name    string
	Tools   []string // names; none: all that there are
	Without []string // names that it does not get
	System  string

	file    string        // where it stands, for people
	front   *config.Front // nil: the file has none
	trusted bool          // its file may loosen something
}

// model is the model that the agent's file names; "" if none.
func (c card) model() string {
	if c.front == nil {
		return ""
	}
	return c.front.Model
}

// guided says whether the agent reads the instructions of the folder that it works in.
func (c card) guided() bool { return c.front == nil || c.front.Instructions != "off" }

// readCard reads an agent's file.
func readCard(name, file string, data []byte, trusted bool) (card, error) {
	c := card{Name: name, file: file, trusted: trusted}
	if err := wording(file, data); err != nil {
		return c, err
	}
	body := bytes.ReplaceAll(bytes.TrimPrefix(data, []byte("\ufeff")), []byte("\r\n"), []byte("\n"))
	body = append(body, '\n')
	if rest, ok := bytes.CutPrefix(body, []byte("---\n")); ok {
		front, after, ok := bytes.Cut(append([]byte("\n"), rest...), []byte("\n---\n"))
		if !ok {
			return c, fail(uzda.ConfigError, "end it by a line of three dashes", "%s:1: the front matter does not end; it begins here", file)
		}
		var err error
		if c.front, err = config.ReadFront(file, strings.TrimPrefix(string(front), "\n")); err != nil {
			return c, fail(uzda.ConfigError, "nothing was run; docs/instructions.md says what an agent's file may hold", "%v", err)
		}
		if c.Tools, err = c.ours(c.front.Tools); err != nil {
			return c, err
		}
		if c.Without, err = c.ours(c.front.Without); err != nil {
			return c, err
		}
		body = after
	}
	c.System = strings.TrimSpace(string(body))
	return c, nil
}

// othersTools are tools of other hosts, which this program does not have.
var othersTools = strings.Fields("Agent AskUserQuestion BashOutput EnterPlanMode ExitPlanMode KillBash KillShell LS LSP ListMcpResources NotebookEdit NotebookRead ReadMcpResource Skill SlashCommand Task TaskCreate TaskGet TaskList TaskOutput TaskStop TaskUpdate TodoRead ToolSearch WebSearch")

// wording refuses what is no text for a model: a file that was named by a slip.
func wording(file string, data []byte) error {
	if text := bytes.TrimPrefix(data, []byte("\ufeff")); utf8.Valid(text) && !bytes.ContainsRune(text, 0) {
		return nil
	}
	if charset.Binary(data) {
		return fail(uzda.ConfigError, "name a file of text", "%s is no text: %s", file, charset.Describe(data))
	}
	line := 1
	for l := range bytes.Lines(data) {
		if !utf8.Valid(l) || bytes.ContainsRune(l, 0) {
			break
		}
		line++
	}
	return fail(uzda.ConfigError, "save the file in that encoding", "%s:%d: this is not UTF-8", file, line)
}

// ours are the names of tools in our words. What only another host has is left
// out, with a note; an agent that would be left without any is a mistake, and so is
// a name that nobody knows.
func (c card) ours(names []string) ([]string, error) {
	var out, others []string
	at := ""
	for _, name := range names {
		where := c.front.Place(name)
		name, _, rule := strings.Cut(name, "(")
		tool := policy.ToolName(name)
		switch {
		case rule:
			return nil, fail(uzda.ConfigError, "name the tool here, and write the rule under permissions: allow, ask or deny", "%s: tools has a rule for %s", where, name)
		case slices.Contains(othersTools, name):
			others = append(others, name)
			at = cmp.Or(at, where)
		case !slices.Contains(builtIn, tool) && !strings.HasPrefix(name, "mcp__"):
			hint := "`uzda tools` lists what there is"
			if near := uzda.Nearest(name, append(slices.Clone(builtIn), oursToo...), 1); len(near) > 0 {
				hint = fmt.Sprintf("did you mean %q?", near[0])
			}
			return nil, fail(uzda.ConfigError, hint, "%s: there is no tool %q", where, name)
		case !slices.Contains(out, tool):
			out = append(out, tool)
		}
	}
	if len(others) > 0 {
		c.front.Notes = append(c.front.Notes, fmt.Sprintf("%s: this program has no %s", at, strings.Join(others, ", ")))
	}
	if len(out) == 0 && len(others) > 0 && len(others) == len(c.front.Tools) {
		return nil, fail(uzda.ConfigError, "`uzda tools` lists what there is", "%s: none of the agent's tools is there: %s", at, strings.Join(others, ", "))
	}
	return out, nil
}

// card finds an agent by name or file.
func (w *work) card(name string) (card, error) {
	if strings.HasSuffix(name, ".md") || strings.ContainsRune(name, filepath.Separator) {
		data, err := readFile(name, "agent ("+w.cfg.Origin("agent")+")")
		if err != nil {
			return card{}, err
		}
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(w.dir, path)
		}
		return readCard(strings.TrimSuffix(filepath.Base(name), ".md"), name, data, w.cfg.Trusts(filepath.Dir(path)))
	}
	if w.cfg.Agents != "" { // an untrusted project cannot set it
		path := filepath.Join(w.cfg.Agents, name+".md")
		if data, err := os.ReadFile(path); err == nil {
			return readCard(name, path, data, true)
		}
	}
	data, err := embedded.ReadFile("agents/" + name + ".md")
	if err != nil {
		hint := "embedded agents: coder, data, default; or name a file that ends in .md"
		if near := uzda.Nearest(name, w.agentNames(), 1); len(near) > 0 {
			hint = fmt.Sprintf("did you mean %q? %s", near[0], hint)
		}
		if mine := filepath.Join(w.dir, "agents", name+".md"); w.cfg.Agents == "" && isFile(mine) {
			hint = fmt.Sprintf("%s is in a folder that you do not trust yet: name the file, or say --trust .", mine)
		}
		return card{}, fail(uzda.ConfigError, hint, "agent (%s): there is no agent %q", w.cfg.Origin("agent"), name)
	}
	return readCard(name, embeddedAgent+name, data, true)
}

// agentNames are the agents that can be named without a file.
func (w *work) agentNames() []string {
	names := strings.Fields("coder data default")
	if w.cfg.Agents == "" {
		return names
	}
	files, err := os.ReadDir(w.cfg.Agents)
	if err != nil { // there are none
		return names
	}
	for _, f := range files {
		if name, ok := strings.CutSuffix(f.Name(), ".md"); ok && !f.IsDir() {
			names = append(names, name)
		}
	}
	return names
}

// chosen is the agent that works: that of the session, where it has one, else the
// one that the settings name.
func (w *work) chosen(ofSession string) (card, error) {
	if ofSession == "" {
		return w.card(w.agentName())
	}
	if !strings.HasPrefix(w.cfg.Origin("agent"), "flag ") {
		c, err := w.card(cmp.Or(w.agentFile, ofSession))
		if err != nil {
			return c, fail(uzda.ConfigError, "name its file: --agent FILE.md", "the session's agent %q is not to be had here: %s", ofSession, detail(err))
		}
		return c, nil
	}
	c, err := w.card(w.cfg.Agent)
	if err == nil && c.Name != ofSession {
		return c, fail(uzda.ConfigError, "leave --agent out, or begin another session",
			"the session belongs to the agent %q and keeps it; --agent names %q", ofSession, c.Name)
	}
	return c, err
}

func (w *work) agentName() string {
	switch {
	case w.cfg.Agent != "":
		return w.cfg.Agent
	case w.cfg.DB != "":
		return "data"
	}
	return "default"
}

// take lets the settings be what an agent's file makes of them.
func (w *work) take(c card) {
	if c.front == nil {
		return
	}
	cfg, left := w.cfg.With(c.front, c.trusted)
	w.cfg = cfg
	for _, note := range c.front.Notes {
		w.once("note: " + note)
	}
	if len(left) > 0 {
		w.once(fmt.Sprintf("warning: the agent %s is of a folder that you do not trust, so this of its file is left out: %s\n      If you have read it and trust it: --trust FOLDER, or a line trust: [FOLDER] in your own %s",
			c.Name, strings.Join(left, ", "), config.FileName))
	}
}

// once tells people something, the first time that it is to be told.
func (w *work) once(text string) {
	if w.told == nil {
		w.told = map[string]bool{}
	}
	if !w.told[text] {
		w.told[text] = true
		fmt.Fprintln(w.err, "uzda:", safeLines(text))
	}
}

// dress gives an agent the tools that it may have, with what goes on around them:
// hooks, and the instructions of the folders that they touch.
func (w *work) dress(c card, tools []uzda.Tool) []uzda.Tool {
	var out []uzda.Tool
	for _, t := range tools {
		if slices.Contains(c.Without, t.Spec().Name) {
			continue
		}
		if w.guides != nil {
			t = w.guides.Wrap(t)
		}
		if w.hooks != nil {
			t = w.hooks.Wrap(t)
		}
		out = append(out, t)
	}
	return out
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

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

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/cmd/uzda/config"
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
	c := card{Name: name, trusted: trusted}
	body := bytes.ReplaceAll(bytes.TrimPrefix(bytes.ToValidUTF8(data, []byte("\uFFFD")), []byte("\ufeff")), []byte("\r\n"), []byte("\n"))
	body = append(body, '\n')
	if rest, ok := bytes.CutPrefix(body, []byte("---\n")); ok {
		front, after, ok := bytes.Cut(append([]byte("\n"), rest...), []byte("\n---\n"))
		if !ok {
			return c, fail(uzda.ConfigError, "end it by a line of three dashes", "%s: the front matter does not end", file)
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

// ours are the names of tools in our words. What only another host has is left
// out, with a note; an agent that would be left without any is a mistake, and so is
// a name with a slip.
func (c card) ours(names []string) ([]string, error) {
	var out, others []string
	at := c.front.At
	for _, name := range names {
		name, _, rule := strings.Cut(name, "(")
		near := uzda.Nearest(name, builtIn, 1)
		switch {
		case rule:
			return nil, fail(uzda.ConfigError, "name the tool here, and write the rule under permissions: allow, ask or deny", "%s: tools has a rule for %s", at, name)
		case len(near) > 0 && near[0] != name && policy.ToolName(name) == name && !slices.Contains(othersTools, name) && !strings.HasPrefix(name, "mcp__"):
			return nil, fail(uzda.ConfigError, fmt.Sprintf("did you mean %q?", near[0]), "%s: there is no tool %q", at, name)
		case slices.Contains(othersTools, name):
			others = append(others, name)
		case !slices.Contains(out, policy.ToolName(name)):
			out = append(out, policy.ToolName(name))
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
		if mine := filepath.Join(w.dir, "agents", name+".md"); w.cfg.Agents == "" && isFile(mine) {
			hint = fmt.Sprintf("%s is in a folder that you do not trust yet: name the file, or say --trust .", mine)
		}
		return card{}, fail(uzda.ConfigError, hint, "agent (%s): there is no agent %q", w.cfg.Origin("agent"), name)
	}
	return readCard(name, "the embedded agent "+name, data, true)
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

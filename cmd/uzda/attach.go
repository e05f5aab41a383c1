package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/cmd/uzda/attach"
	"github.com/uzda-dev/uzda/cost"
	"github.com/uzda-dev/uzda/model/ollama"
	"github.com/uzda-dev/uzda/model/route"
	"github.com/uzda-dev/uzda/window"
)

const attachDoc = "send a file along: a picture, the text of a PDF, a text (may be repeated)"

// attached is the flag --attach.
func attached() *text { return &text{kind: "FILE"} }

// attach reads files that a person gives along. It is that person's own act, so no
// rule is asked. Nothing is begun yet: what cannot be sent is refused here. How is
// what the person typed.
func (a *app) attach(ctx context.Context, how string, paths ...string) ([]attach.File, error) {
	files, err := attach.Limits{}.Read(ctx, a.dir, paths...)
	var wrong *attach.Error
	switch {
	case errors.As(err, &wrong):
		return nil, fail(uzda.ConfigError, wrong.Hint, "%s %s", how, wrong)
	case err != nil:
		return nil, fail(uzda.CancelledByUser, "", "%s: %v", how, err)
	}
	return files, nil
}

// takes refuses what the model of the session could not read.
func (r *runner) takes(files []attach.File, how string) error {
	if len(files) == 0 {
		return nil
	}
	for _, f := range files {
		if f.Kind != attach.Picture {
			continue
		}
		if r.blind() {
			return fail(uzda.ConfigError, r.seeing(), "%s %s: %s takes no pictures", how, f.Path, r.uses.ID)
		}
		if f.Type == "image/gif" && r.uses.service == "ollama" {
			return fail(uzda.ConfigError, "save it as PNG or JPEG", "%s %s: Ollama reads no GIF", how, f.Path)
		}
	}
	return r.fitIn(files, how)
}

// blind says whether it is known that the model takes no pictures.
func (r *runner) blind() bool {
	t := r.uses
	switch t.service {
	case "": // a script
		return false
	case "ollama":
		m := r.sent
		if l, ok := m.(*route.Limit); ok {
			m = l.Model
		}
		if o, ok := m.(ollama.Model); ok {
			return !o.Can("vision")
		}
	case "anthropic":
	default:
		if !profileOf(t.service).Images {
			return true
		}
	}
	return r.prices.Model(t.ID).Lacks(cost.Images)
}

// seeing names models that take pictures: of the same provider, else of those that
// can be reached.
func (r *runner) seeing() string {
	const most = 4
	var same, others []string
	for _, id := range r.prices.IDs() {
		m := r.prices.Model(id)
		if !slices.Contains(m.Can, cost.Images) || m.Lacks(cost.Tools) {
			continue
		}
		provider := m.Provider()
		variable, _ := r.firstSet(profileOf(provider).KeyVars)
		switch {
		case provider == r.uses.provider:
			same = append(same, id)
		case variable != "":
			others = append(others, id)
		}
	}
	if len(same) == 0 {
		same = others
	}
	if len(same) == 0 {
		return "name one that does with --model; `uzda models` marks them with i"
	}
	return "models that do: " + strings.Join(same[:min(most, len(same))], ", ") + "; `uzda models` marks them with i"
}

// fitIn refuses what would take more of the model's window than is left for work.
func (r *runner) fitIn(files []attach.File, how string) error {
	const share, picture = 4, 1600
	size := r.info.Window
	if b := r.cfg.Context.Budget; b > 0 && (size == 0 || b < size) {
		size = b
	}
	if size == 0 {
		return nil
	}
	all, largest, at := 0, 0, 0
	for i, f := range files {
		n := window.Estimate(attach.Blocks(f).String())
		if f.Kind == attach.Picture {
			n += picture
		}
		if all += n; n > largest {
			largest, at = n, i
		}
	}
	if all <= size/share {
		return nil
	}
	f := files[at]
	hint := attach.LargeHint(&f)
	if f.Kind == attach.Picture {
		hint = "send fewer of them, or use a model with a larger window"
	}
	what := fmt.Sprintf("takes about %s tokens", thousands(largest))
	if len(files) > 1 {
		what += fmt.Sprintf(", and all that is attached about %s", thousands(all))
	}
	return fail(uzda.ConfigError, hint, "%s %s: it %s; %s have room, a quarter of the window of %s", how, f.Path, what, thousands(size/share), cmp.Or(r.uses.ID, r.info.ID))
}

// tells says what is sent along, and warns of keys.
func (r *runner) tells(files []attach.File) {
	for _, f := range files {
		fmt.Fprintln(r.err, "attached: "+safe(f.String()))
		r.warn(f, r.err)
	}
}

func (r *runner) warn(f attach.File, out interface{ Write([]byte) (int, error) }) {
	if f.Secret {
		fmt.Fprintf(out, "uzda: warning: %s looks like a file with keys or passwords; it is sent to %s as it is\n", safe(f.Name), cmp.Or(r.uses.provider, "the model"))
	}
}

// takeAlong does what /attach says.
func (c *chat) takeAlong(ctx context.Context, path string) error {
	switch path {
	case "":
		if len(c.along) == 0 {
			fmt.Fprintln(c.desk, "Nothing is attached. /attach FILE sends a picture, the text of a PDF or a text with your next message.")
		}
		for _, f := range c.along {
			fmt.Fprintln(c.desk, "goes with your next message: "+safe(f.String()))
		}
		return nil
	case "-":
		c.along = nil
		fmt.Fprintln(c.desk, "Nothing is attached.")
		return nil
	}
	if n := len(path); n > 1 && (path[0] == '"' || path[0] == '\'') && path[n-1] == path[0] {
		path = path[1 : n-1]
	}
	paths := make([]string, 0, len(c.along)+1)
	for _, f := range c.along { // the bounds are for all of them
		paths = append(paths, f.Path)
	}
	files, err := c.attach(ctx, "/attach", append(paths, path)...)
	if err != nil {
		return err
	}
	if err := c.takes(files, "/attach"); err != nil {
		return err
	}
	c.along = files
	f := files[len(files)-1]
	fmt.Fprintln(c.desk, "goes with your next message: "+safe(f.String()))
	c.warn(f, c.desk)
	return nil
}

// completes are the commands that begin like text, and for /attach the files.
func (c *chat) completes(text string) (out []string) {
	const most = 40
	typed, ok := strings.CutPrefix(text, "/attach ")
	if !ok {
		return commandsFrom(text)
	}
	folder, begin := filepath.Split(typed)
	place := folder
	if !filepath.IsAbs(place) {
		place = filepath.Join(c.dir, place)
	}
	entries, err := os.ReadDir(place)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, begin) || strings.HasPrefix(name, ".") && begin == "" || safe(name) != name {
			continue
		}
		if e.IsDir() {
			name += string(filepath.Separator)
		}
		if out = append(out, "/attach "+folder+name); len(out) == most {
			break
		}
	}
	return out
}

// saidIn is what somebody says in a message, with the names of what came along.
func saidIn(blocks uzda.Blocks) string {
	var along []string
	for _, b := range blocks {
		for _, l := range b.Marks() {
			if name, ok := strings.CutPrefix(l.From, "file:"); ok && l.Kind == uzda.Untrusted && !slices.Contains(along, name) {
				along = append(along, name)
			}
		}
	}
	if len(along) == 0 {
		return blocks.String()
	}
	return "[attached: " + strings.Join(along, ", ") + "]\n" + blocks.Words()
}

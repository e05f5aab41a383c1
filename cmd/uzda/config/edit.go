package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"

	"github.com/uzda-dev/uzda"
)

// UserFile is the user's own file of settings, whether it is there or not; "" if
// there is no place for one.
func UserFile(o Options) string {
	l := &loader{Options: o, env: map[string]string{}}
	for _, e := range o.Env {
		if name, value, ok := strings.Cut(e, "="); ok {
			l.env[name] = value
		}
	}
	if l.places() != nil {
		return ""
	}
	return l.userFile()
}

// AddRule adds a rule to a list of permissions in a file of settings, which is
// made if it is not there. Comments, the order, the ends of lines and all else
// stay as they are. It says in which line the rule stands; one that stood there
// already is left alone. The file is replaced at once, or not at all.
func AddRule(path string, list uzda.Decision, rule string) (line int, err error) {
	if err := checkRule("permissions."+string(list), rule); err != nil {
		return 0, fmt.Errorf("add a rule to %s: %w", path, err)
	}
	return addItem(path, "permissions", string(list), rule)
}

// AddTrust adds a folder to those that the user trusts, in the same way.
func AddTrust(path, folder string) (line int, err error) { return addItem(path, "", "trust", folder) }

// addItem adds to a list below a section; "" is the file itself.
func addItem(path, section, list, item string) (line int, err error) {
	fail := func(err error) (int, error) { return 0, fmt.Errorf("add %s to %s: %w", item, path, err) }
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to // a link to the file stays one
	}
	old, err := readSmall(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail(err)
	}
	if len(bytes.TrimSpace(old)) == 0 { // blank lines say nothing that is to stay
		old = nil
	}
	e := &edit{lines: strings.Split(string(old), "\n")}
	line, err = e.add(section, list, item)
	if err != nil {
		return fail(err)
	}
	if line > 0 { // it is there
		return line, nil
	}
	text := strings.Join(e.lines, "\n")
	again := &edit{lines: strings.Split(text, "\n")}
	if line, err = again.add(section, list, item); err != nil || line == 0 || !sameBut(string(old), text) {
		return fail(errors.New("its form is not one that can be added to"))
	}
	if err := replace(path, []byte(text)); err != nil {
		return fail(err)
	}
	return line, nil
}

// An edit is a file of settings as lines, to which one line is added.
type edit struct{ lines []string }

// add finds the rule, and returns its line, or adds it, and returns 0.
func (e *edit) add(section, list, item string) (int, error) {
	text := strings.ReplaceAll(strings.TrimPrefix(strings.Join(e.lines, "\n"), "\ufeff"), "\r\n", "\n")
	if !utf8.ValidString(text) {
		return 0, errors.New("it is not UTF-8")
	}
	tree, err := parse(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("it is no YAML that can be read; `uzda config --check` says where: %w", err)
	case len(tree.Docs) > 1:
		return 0, errors.New("it holds more than one document")
	}
	var root *ast.MappingNode
	for _, d := range tree.Docs {
		switch body := d.Body.(type) {
		case nil:
		case *ast.MappingNode:
			root = body
		default:
			return 0, errors.New("it holds no keys")
		}
	}
	quoted := quote(item)
	if root != nil && root.IsFlowStyle {
		return 0, errors.New("it is written in { }, to which nothing is added")
	}
	name := section
	if section == "" {
		name = list
	}
	var at *ast.MappingValueNode
	if root != nil {
		at = member(root, name)
	}
	switch {
	case at == nil && section == "":
		e.append(list+":", "  - "+quoted)
	case at == nil:
		e.append(section+":", "  "+list+":", "    - "+quoted)
	case section == "":
		return e.list(at, item, quoted)
	default:
		return e.section(at, list, item, quoted)
	}
	return 0, nil
}

// section adds to what stands below permissions.
func (e *edit) section(permissions *ast.MappingValueNode, list, rule, quoted string) (int, error) {
	key := permissions.Key.GetToken().Position
	switch v := permissions.Value.(type) {
	case *ast.NullNode:
		e.insert(key.Line, "  "+list+":", "    - "+quoted)
	case *ast.MappingNode:
		if at := member(v, list); at != nil {
			return e.list(at, rule, quoted)
		}
		if v.IsFlowStyle {
			sep := ", "
			if len(v.Values) == 0 {
				sep = ""
			}
			return 0, e.within(v, '{', list+": ["+quoted+"]"+sep)
		}
		indent := strings.Repeat(" ", max(1, v.Values[0].Key.GetToken().Position.Column-1))
		e.insert(key.Line, indent+list+":", indent+"  - "+quoted)
	default:
		return 0, errors.New("permissions holds no keys")
	}
	return 0, nil
}

// list adds to the list itself.
func (e *edit) list(at *ast.MappingValueNode, rule, quoted string) (int, error) {
	key := at.Key.GetToken().Position
	switch v := at.Value.(type) {
	case *ast.NullNode:
		e.insert(key.Line, strings.Repeat(" ", key.Column-1)+"  - "+quoted)
	case *ast.SequenceNode:
		for _, item := range v.Values {
			if text, isText, ok := scalar(item); ok && isText && strings.TrimSpace(text) == rule {
				return item.GetToken().Position.Line, nil
			}
		}
		if v.IsFlowStyle {
			sep := ", "
			if len(v.Values) == 0 {
				sep = ""
			}
			return 0, e.within(v, '[', quoted+sep)
		}
		return 0, e.after(v, quoted)
	default:
		return 0, errors.New("permissions holds what is no list of rules")
	}
	return 0, nil
}

// after adds an item behind the last one of a list.
func (e *edit) after(v *ast.SequenceNode, quoted string) error {
	last := v.Values[len(v.Values)-1].GetToken().Position.Line
	first := e.lines[v.Values[0].GetToken().Position.Line-1]
	dash := strings.IndexByte(first, '-')
	if dash < 0 || strings.TrimLeft(first[:dash], " \ufeff") != "" {
		return errors.New("the items of its list do not begin their lines")
	}
	for last < len(e.lines) { // lines that go on with the item
		l := strings.TrimRight(e.lines[last], "\r")
		if strings.TrimSpace(l) == "" || len(l)-len(strings.TrimLeft(l, " ")) <= dash {
			break
		}
		last++
	}
	e.insert(last, strings.Repeat(" ", dash)+"- "+quoted)
	return nil
}

// within adds behind an opening bracket.
func (e *edit) within(n ast.Node, open byte, text string) error {
	p := n.GetToken().Position
	line := []rune(e.lines[p.Line-1])
	at := p.Column - 1
	if p.Line == 1 && len(line) > 0 && line[0] == '\ufeff' {
		at++
	}
	if at < 0 || at >= len(line) || line[at] != rune(open) {
		return errors.New("the brackets of its list were not found")
	}
	e.lines[p.Line-1] = string(line[:at+1]) + text + string(line[at+1:])
	return nil
}

// insert adds lines behind a number of lines, with the ends that those around have.
func (e *edit) insert(after int, lines ...string) {
	if after > 0 && strings.HasSuffix(e.lines[after-1], "\r") {
		for i := range lines {
			lines[i] += "\r"
		}
	}
	if after == len(e.lines) { // the last one has no end
		e.lines = append(e.lines, lines...)
		e.lines = append(e.lines, "")
		return
	}
	e.lines = slices.Insert(e.lines, after, lines...)
}

// append adds lines at the end.
func (e *edit) append(lines ...string) {
	n := len(e.lines)
	if n > 0 && strings.TrimLeft(e.lines[n-1], "\ufeff") == "" {
		n--
	}
	cr := n > 0 && strings.HasSuffix(e.lines[n-1], "\r")
	if n < len(e.lines) && e.lines[n] != "" { // only a mark of the byte order
		lines[0] = e.lines[n] + lines[0]
	}
	for i := range lines {
		if cr {
			lines[i] += "\r"
		}
	}
	e.lines = append(append(e.lines[:n], lines...), "")
}

// member finds a key of a map.
func member(m *ast.MappingNode, name string) *ast.MappingValueNode {
	for _, v := range m.Values {
		if v.Key.GetToken().Value == name {
			return v
		}
	}
	return nil
}

// quote writes a text so that YAML takes it for nothing else.
func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		return "''"
	}
	return strings.TrimSpace(b.String())
}

// sameBut says whether the new text is the old one with something added in one place.
func sameBut(old, text string) bool {
	n := 0
	for n < len(old) && n < len(text) && old[n] == text[n] {
		n++
	}
	rest := old[n:]
	return strings.HasSuffix(text, rest)
}

// replace writes a file by its name at once: whoever reads it sees the old one
// or the new one.
func replace(path string, data []byte) error {
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".uzda-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

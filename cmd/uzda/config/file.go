package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// The time of the parser grows with the square of what it reads, and faster the
// deeper that nests; a file over these bounds is none of settings.
const (
	maxFile   = 128 << 10 // bytes
	maxTokens = 10_000
)

// file reads one file of settings into a loader.
type file struct {
	*loader
	name    string // as it is shown
	base    string // folder that paths are relative to
	project bool   // it may be written by somebody whom the user does not know
}

// readFile applies a file; it reports faults and does not stop at the first.
func (l *loader) readFile(path, name string, project bool) {
	f := &file{l, name, filepath.Dir(path), project}
	raw, err := readSmall(path)
	if err != nil {
		l.fault(name, "", "%v", err)
		return
	}
	l.config.Files = append(l.config.Files, path)
	f.read(raw, func(m *ast.MappingNode) { f.section("", m) })
}

func readSmall(path string) ([]byte, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	raw, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > maxFile {
		return nil, fmt.Errorf("over %d bytes: this is no file of settings", maxFile)
	}
	return raw, nil
}

// read gives the map that a file is to top.
func (f *file) read(raw []byte, top func(*ast.MappingNode)) {
	// The parser counts a line twice where a comment ends in \r\n.
	text := strings.ReplaceAll(strings.TrimPrefix(string(raw), "\ufeff"), "\r\n", "\n")
	if at := invalid(text); at >= 0 {
		f.fault(fmt.Sprintf("%s:%d", f.name, 1+strings.Count(text[:at], "\n")), "", "this is not UTF-8; save the file in that encoding")
		return
	}
	tree, err := parse(text)
	if err != nil {
		f.syntax(err)
		return
	}
	if len(tree.Docs) > 1 {
		f.at(tree.Docs[1].Body, "", "a second document begins here; a file of settings is one document, so remove the line ---")
		return
	}
	for _, doc := range tree.Docs {
		switch body := doc.Body.(type) {
		case nil: // empty, or only comments
		case *ast.MappingNode:
			top(body)
		default:
			f.at(body, "", "want keys with values, such as model: anthropic/claude-opus-5-5")
		}
	}
}

func invalid(s string) int {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return i
			}
		}
	}
	return -1
}

// parse keeps a fault of the parser from ending the program.
func parse(text string) (tree *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("this is not YAML that can be read: %v", p)
		}
	}()
	tokens := lexer.Tokenize(text)
	if len(tokens) > maxTokens {
		return nil, fmt.Errorf("it has %d words and signs, over %d: this is no file of settings", len(tokens), maxTokens)
	}
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

// syntax reports what the parser says, in words that tell what to do.
func (f *file) syntax(err error) {
	var e yaml.Error
	if !errors.As(err, &e) || e.GetToken() == nil || e.GetToken().Position == nil {
		f.fault(f.name, "", "%v", err)
		return
	}
	tok, text := e.GetToken(), e.GetMessage()
	line, column := tok.Position.Line, tok.Position.Column
	switch {
	case strings.Contains(text, "tab ") || strings.Contains(text, "\t"):
		text = "a tab cannot indent in YAML; indent with spaces"
	case strings.Contains(text, "mapping value is not allowed"):
		if n := strings.Count(strings.TrimSpace(tok.Origin), "\n"); n > 0 {
			line, column = line+n, 1
			text = "this line is indented deeper than the one above, which already has a value; indent keys of one section alike"
		} else {
			text = "there is a second ': ' in this value; write the value in quotes"
		}
	case strings.Contains(text, "value is not allowed in this context"):
		text = "the indentation fits no line above; indent keys of one section alike"
	case strings.Contains(text, "unexpected key name"):
		text = "want key: value on this line; is there no ':' after the key?"
	default:
		text += "; check the quotes and brackets of this value"
	}
	f.fault(fmt.Sprintf("%s:%d:%d", f.name, line, column), "", "%s", text)
}

// at reports a fault at a node.
func (f *file) at(n ast.Node, key, format string, args ...any) {
	where := f.name
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		n = m.Values[0].Key // the token of a map in lines is its first colon
	}
	if n != nil && n.GetToken() != nil {
		p := n.GetToken().Position
		where = fmt.Sprintf("%s:%d:%d", f.name, p.Line, p.Column)
	}
	f.fault(where, key, format, args...)
}

func (f *file) origin(n ast.Node) string {
	return fmt.Sprintf("%s:%d", f.name, n.GetToken().Position.Line)
}

// entries yields the keys of a map once each, and reports repeats.
func (f *file) entries(within string, m *ast.MappingNode, yield func(name string, key, value ast.Node)) {
	seen := map[string]int{}
	for _, e := range m.Values {
		name, line := e.Key.GetToken().Value, e.Key.GetToken().Position.Line
		switch first, again := seen[name]; {
		case e.Key.IsMergeKey():
			f.at(e.Key, within+name, "<< is not read in settings; write the values themselves")
		case again:
			f.at(e.Key, within+name, "%s is already set in line %d; keep one of them", within+name, first)
		default:
			seen[name] = line
			yield(name, e.Key, e.Value)
		}
	}
}

// section reads the keys below within, which is "" or ends with a dot.
func (f *file) section(within string, m *ast.MappingNode) {
	f.entries(within, m, func(name string, key, value ast.Node) {
		full := within + name
		k, known := byName(full)
		switch {
		case known:
			if v, ok := f.value(k, value); ok && !f.leavesOut(k, v, f.origin(key)) {
				f.set(k, v, f.origin(key))
			}
		case full == "hooks":
			if m, ok := f.mapping(full, value); ok {
				f.hooks(m)
			}
		case full == "models":
			if m, ok := f.mapping(full, value); ok {
				f.models(m)
			}
		case isSection(full):
			if m, ok := f.mapping(full, value); ok {
				f.section(full+".", m)
			}
		default:
			text := unknown(within, name, siblings(within))
			if within == "permissions." {
				text += " (a rule that is not read forbids nothing, so nothing runs)"
			}
			f.at(key, full, "%s", text)
		}
	})
}

// siblings are the names that are known in a section.
func siblings(within string) []string {
	names := map[string]bool{}
	for _, k := range keys {
		if rest, ok := strings.CutPrefix(k.Name, within); ok {
			name, _, _ := strings.Cut(rest, ".")
			names[name] = true
		}
	}
	if within == "" {
		names["models"], names["hooks"] = true, true
	}
	return slices.Sorted(maps.Keys(names))
}

// mapping checks that a section holds keys; an empty one holds none.
func (f *file) mapping(key string, n ast.Node) (*ast.MappingNode, bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n, true
	case *ast.NullNode:
		return nil, false
	}
	f.at(n, key, "%s wants keys below it, indented by two spaces", key)
	return nil, false
}

func (f *file) models(m *ast.MappingNode) {
	f.entries("models.", m, func(name string, key, value ast.Node) {
		if !nameForm.MatchString(name) {
			f.at(key, "models."+name, "%q cannot name a model; want letters, digits, '.', '_' and '-'", name)
			return
		}
		fields, ok := f.mapping("models."+name, value)
		if !ok {
			if _, empty := value.(*ast.NullNode); empty {
				f.at(key, "models."+name, "models.%s is empty; it wants at least id: PROVIDER/ID", name)
			}
			return
		}
		f.model(name, f.origin(key), fields)
	})
}

func (f *file) model(name, origin string, fields *ast.MappingNode) {
	within := "models." + name + "."
	if _, ok := f.named[name]; !ok {
		f.named[name] = origin
	}
	model := f.config.Models[name]
	f.entries(within, fields, func(leaf string, key, value ast.Node) {
		i := slices.IndexFunc(modelKeys, func(k Key) bool { return k.Name == "models.NAME."+leaf })
		if i < 0 {
			var known []string
			for _, k := range modelKeys {
				known = append(known, strings.TrimPrefix(k.Name, "models.NAME."))
			}
			text := fmt.Sprintf("unknown key %q; known here: %s", within+leaf, strings.Join(known, ", "))
			if n := near(leaf, known); n != "" {
				text = fmt.Sprintf("unknown key %q; did you mean %q?", within+leaf, within+n)
			}
			f.at(key, within+leaf, "%s", text)
			return
		}
		k := modelKeys[i]
		k.Name = within + leaf
		if v, ok := f.value(k, value); ok && !f.leavesOut(k, v, f.origin(key)) {
			k.store(k.model(&model), v)
			f.config.origins[k.Name] = f.origin(key)
		}
	})
	f.config.Models[name] = model
}

// value reads the value of a key by its kind.
func (f *file) value(k Key, n ast.Node) (any, bool) {
	fail := func(n ast.Node, format string, args ...any) (any, bool) {
		f.at(n, k.Name, format, args...)
		return nil, false
	}
	switch n.(type) {
	case *ast.NullNode:
		return fail(n, "%s has no value; want %s, or remove the line", k.Name, k.want())
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		return fail(n, "anchors, aliases and tags are not read in settings; write the value itself")
	}
	switch k.Kind {
	case Rules, Texts, Paths:
		return f.list(k, n)
	case Free:
		m, ok := n.(*ast.MappingNode)
		if !ok {
			return fail(n, "%s wants %s", k.Name, k.want())
		}
		return f.options(k, m)
	case Headers:
		m, ok := n.(*ast.MappingNode)
		if !ok {
			return fail(n, "%s wants %s", k.Name, k.want())
		}
		return f.headers(k, m)
	}
	text, isText, ok := scalar(n)
	if !ok {
		return fail(n, "%s wants %s", k.Name, k.want())
	}
	number := k.Kind == Count || k.Kind == Number || k.Kind == Whole
	if written := n.GetToken().Type; number && (written == token.DoubleQuoteType || written == token.SingleQuoteType) {
		return fail(n, "%s is the text %q; want a number, without quotes", k.Name, text)
	}
	if k.Kind == Switch {
		if b, ok := n.(*ast.BoolNode); ok {
			return b.Value, true
		}
		return fail(n, "%s is %q; want %s", k.Name, text, k.want())
	}
	if !isText && !number && k.Kind != Money && k.Kind != Duration {
		return fail(n, "%s is %s, which YAML reads as no text; want %s", k.Name, text, k.want())
	}
	v, err := k.parse(text)
	if err != nil {
		return fail(n, "%v", err)
	}
	if k.Kind == Path {
		v = resolve(text, f.base, f.home)
	}
	return v, true
}

// scalar returns the text of a value that is no list and no map, and whether
// YAML takes it for text.
func scalar(n ast.Node) (text string, isText, ok bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true, true
	case *ast.LiteralNode:
		return n.Value.Value, true, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, false, true
	}
	return "", false, false
}

func (f *file) list(k Key, n ast.Node) (any, bool) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		f.at(n, k.Name, "%s wants %s", k.Name, k.want())
		return nil, false
	}
	rules, texts, good := []Rule{}, []string{}, true
	for _, item := range seq.Values {
		text, isText, ok := scalar(item)
		if !ok || !isText {
			f.at(item, k.Name, "an item of %s is no text; write it in quotes: - \"…\"", k.Name)
			good = false
			continue
		}
		if k.Kind == Rules {
			if err := checkRule(k.Name, text); err != nil {
				f.at(item, k.Name, "%v", err)
				good = false
			}
		}
		if k.Kind == Paths {
			text = resolve(text, f.base, f.home)
		}
		rules, texts = append(rules, Rule{text, f.origin(item)}), append(texts, text)
	}
	if k.Kind == Rules {
		return rules, good
	}
	return texts, good
}

func (f *file) options(k Key, m *ast.MappingNode) (any, bool) {
	out, good := map[string]json.RawMessage{}, true
	f.entries(k.Name+".", m, func(name string, _, value ast.Node) {
		var v any
		err := yaml.NodeToValue(value, &v)
		if err == nil {
			out[name], err = json.Marshal(v)
		}
		if err != nil {
			f.at(value, k.Name+"."+name, "%s.%s cannot be sent as JSON: %v", k.Name, name, err)
			good = false
		}
	})
	return out, good
}

// headers reads a map of texts. A fault never shows the text: it may be a secret.
func (f *file) headers(k Key, m *ast.MappingNode) (any, bool) {
	out, good := map[string]string{}, true
	f.entries(k.Name+".", m, func(name string, key, value ast.Node) {
		text, _, ok := scalar(value)
		switch {
		case !headerForm.MatchString(name):
			f.at(key, k.Name, "%q cannot name a header", name)
		case slices.Contains(notOurs, strings.ToLower(name)):
			f.at(key, k.Name+"."+name, "the header %s is set by the program itself; leave it out", name)
		case !ok || strings.ContainsFunc(text, unicode.IsControl):
			f.at(value, k.Name+"."+name, "%s.%s wants text on one line", k.Name, name)
		default:
			out[name] = text
			return
		}
		good = false
	})
	return out, good
}

// notOurs are headers that a request has by what it is.
var notOurs = strings.Fields("host content-length transfer-encoding connection upgrade te trailer content-type content-encoding accept-encoding")

package policy

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/policy/command"
)

// Rules are three lists. Deny is looked at before Ask, and Ask before Allow; in
// a list the first rule that matches counts.
type Rules struct{ Deny, Ask, Allow []Rule }

// A Rule names a tool, or a tool and what its arguments must be.
type Rule struct {
	// Tool is a tool's name, with * for any run of characters, or a name that
	// other hosts use, such as Bash.
	Tool string
	// Param is the argument that Spec is a pattern of: a name, or a JSON pointer as
	// /order/amount. It is "" where Spec is of a form of the tool's own, such as a
	// command or a path.
	Param string
	Spec  string // "": any use
	More  string // more conditions that must hold too: PARAM:PATTERN, with ", " between
	// Origin says where the rule stands: a flag, file:line, built-in, granted.
	Origin string
	// Dir is the folder that a path /x of the rule is relative to: that of the file
	// which the rule stands in; "": the session's.
	Dir string
}

// aliases are the names that other hosts use, and our tools that they mean.
var aliases = map[string][]string{
	"Bash": {"shell"}, "Read": {"read_file"}, "Edit": {"edit_file", "write_file", "delete_file"}, "MultiEdit": {"edit_file"}, "Write": {"write_file"},
	"Glob": {"glob"}, "Grep": {"grep"}, "WebFetch": {"fetch"}, "TodoWrite": {"todo"},
}

// ToolName returns our name of a tool, given ours or another host's.
func ToolName(name string) string {
	if ours, ok := aliases[name]; ok {
		return ours[0]
	}
	return name
}

// mcpPrefix begins the names of the tools of servers: mcp__SERVER__TOOL.
const mcpPrefix = "mcp__"

const example = `a rule is Tool or Tool(pattern), for example shell, Read, mcp__github__* or pay(to:alice*)`

var (
	ruleBegins = lazily(`^[\pL][\pL\pN_.*-]*\(`)

	toolName  = lazily(`^[\pL\pN_.:/*-]+$`)
	paramName = lazily(`^([\pL_][\pL\pN_.-]*|(/[^/:,()\s]+)+)$`)
)

// lazily compiles a pattern at its first use: classes of Unicode are large, and
// most runs of the program match nothing.
func lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// Parse reads a rule for one of the lists Deny, Ask and Allow. String writes what
// Parse reads.
func Parse(list uzda.Decision, text, origin string) (Rule, error) {
	r, err := parse(strings.TrimSpace(text))
	if err == nil {
		err = r.sound(list)
	}
	if err == nil && list == uzda.Allow {
		err = r.mayAllow()
	}
	if err != nil {
		where := ""
		if origin != "" {
			where = " (" + origin + ")"
		}
		return Rule{}, fmt.Errorf("%s rule %q%s: %w", list, uzda.Clip(text, 120), where, err)
	}
	r.Origin = origin
	return r, nil
}

func parse(text string) (Rule, error) {
	switch {
	case text == "":
		return Rule{}, errors.New("it is empty; " + example)
	case !utf8.ValidString(text):
		return Rule{}, errors.New("it is not UTF-8")
	case strings.ContainsFunc(text, unicode.IsControl):
		return Rule{}, errors.New("it holds a control character; write it on one line")
	}
	tool, spec, has := strings.Cut(text, "(")
	r := Rule{Tool: tool}
	switch {
	case tool == "":
		return r, errors.New("the name of the tool is missing; " + example)
	case strings.TrimSpace(tool) != tool:
		return r, fmt.Errorf("there is a space after %s; write %s(…)", strings.TrimSpace(tool), strings.TrimSpace(tool))
	case strings.Contains(tool, ")"):
		return r, errors.New("a ) stands without a (; " + example)
	case !toolName().MatchString(tool):
		return r, fmt.Errorf("%q is no name of a tool; %s", uzda.Clip(tool, 40), example)
	case !has:
		return r, nil
	case !strings.HasSuffix(spec, ")"):
		if i := strings.LastIndexByte(spec, ')'); i >= 0 {
			return r, fmt.Errorf("behind the ) stands %q; the rule must end with ), and each rule is an item of its own", uzda.Clip(strings.TrimSpace(spec[i+1:]), 40))
		}
		return r, errors.New("the rule must end with ); " + example)
	}
	if second := glued(spec); second != "" {
		return r, fmt.Errorf("a second rule begins at %q; write each rule as an item of its own", uzda.Clip(second, 40))
	}
	spec = strings.TrimSpace(strings.TrimSuffix(spec, ")"))
	if spec == "" {
		return r, fmt.Errorf("the parentheses are empty; write %s for every use", tool)
	}
	r.Spec = spec
	param, value, ok := strings.Cut(spec, ":")
	if ok && r.takes(param) {
		r.Param = param
		value, r.More = r.more(value)
		if r.Spec = strings.TrimSpace(value); r.Spec == "" {
			return r, fmt.Errorf("there is no value after %s:; write %s(%s:*) for any value", param, tool, param)
		}
	}
	return r, nil
}

// glued finds a second rule behind the ) that closes the first one.
func glued(spec string) string {
	depth := 1
	for i, c := range spec {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 {
			if rest := strings.TrimLeft(spec[i+1:], " ;,|&"); ruleBegins().MatchString(rest) {
				return rest
			}
			return ""
		}
	}
	return ""
}

// more cuts a value from the conditions after it. A comma that no condition
// follows belongs to the value.
func (r Rule) more(value string) (first, more string) {
	for at := 0; ; {
		i := strings.IndexByte(value[at:], ',')
		if i < 0 {
			return value, ""
		}
		at += i
		if param, _, ok := strings.Cut(strings.TrimSpace(value[at+1:]), ":"); ok && r.takes(param) {
			return value[:at], strings.TrimSpace(value[at+1:])
		}
		at++
	}
}

// conditions are the arguments that the rule names, each with its pattern.
func (r Rule) conditions() []Rule {
	first := r
	first.More = ""
	list := []Rule{first}
	for rest := r.More; rest != ""; {
		c := Rule{Tool: r.Tool, Dir: r.Dir}
		param, value, _ := strings.Cut(rest, ":")
		value, rest = r.more(value)
		c.Param, c.Spec = param, strings.TrimSpace(value)
		list = append(list, c)
	}
	return list
}

// sound looks for what is wrong in the patterns of a rule.
func (r Rule) sound(list uzda.Decision) error {
	for _, c := range r.conditions() {
		switch kind := c.kind(); {
		case c.Spec == "" && (c.Param != "" || r.More != ""):
			return fmt.Errorf("there is no value after %s:; write %s:* for any value", c.Param, c.Param)
		case c.Spec == "":
		case kind == ofPaths:
			if _, err := parsePattern(c.Spec); err != nil {
				return err
			}
		case kind == ofFetch:
			if err := checkFetch(c, list == uzda.Allow); err != nil {
				return err
			}
		case kind == ofArguments && c.Param != "":
			if _, _, err := parseBound(c.Spec); err != nil {
				return err
			}
		}
	}
	return nil
}

// What a pattern is about.
const (
	ofArguments = iota
	ofCommands
	ofPaths
	ofFetch
	ofNothing // that is known here
)

// kind says what the rule's pattern is about.
func (r Rule) kind() int {
	for _, t := range r.tools() {
		switch {
		case t == "shell" && (r.Param == "" || r.Param == "command"):
			return ofCommands
		case t == "fetch" && (r.Param == "" || r.Param == "url" || r.Param == "domain"):
			return ofFetch
		case files[t] != 0 && (r.Param == "" || r.Param == "path"):
			return ofPaths
		}
	}
	if r.Param == "" && strings.Trim(r.Spec, "*") != "" {
		return ofNothing
	}
	return ofArguments
}

// specials are the tools whose patterns have a form of their own, with the
// arguments that a pattern may name nevertheless.
var specials = map[string][]string{
	"shell": {"command"}, "fetch": {"url", "domain"},
	"read_file": {"path"}, "write_file": {"path", "content"}, "edit_file": {"path", "old", "new"}, "delete_file": {"path"},
	"glob": {"pattern", "path"}, "grep": {"pattern", "path"},
}

// takes says whether a word before a colon is the name of an argument.
func (r Rule) takes(param string) bool {
	if !paramName().MatchString(param) {
		return false
	}
	for _, t := range r.tools() {
		if known, ok := specials[t]; ok {
			return slices.Contains(known, param)
		}
	}
	return true
}

// tools are the names that the rule's name stands for.
func (r Rule) tools() []string {
	if ours, ok := aliases[r.Tool]; ok {
		return append([]string{r.Tool}, ours...)
	}
	return []string{r.Tool}
}

// wide says whether the rule does not name its tool exactly.
func (r Rule) wide() bool {
	if server, ok := strings.CutPrefix(r.Tool, mcpPrefix); ok && !strings.Contains(server, "__") {
		return true // all tools of a server
	}
	return strings.Contains(r.Tool, "*")
}

// mayAllow refuses rules that would allow more than anyone can foresee.
func (r Rule) mayAllow() error {
	prefix, _, star := strings.Cut(r.Tool, "*")
	if !star {
		return nil
	}
	if prefix == "" {
		return errors.New("it would allow tools of any name; put the beginning of the name before *, for example mcp__github__*, or use the mode bypass")
	}
	if server, ok := strings.CutPrefix(prefix, mcpPrefix); strings.HasPrefix(mcpPrefix, prefix) || ok && !strings.Contains(server, "__") {
		return errors.New("it would allow tools of any server; name the server, for example mcp__github__*")
	}
	return nil
}

// String writes the rule as Parse reads it.
func (r Rule) String() string {
	switch {
	case r.Spec == "":
		return r.Tool
	case r.Param == "":
		return r.Tool + "(" + r.Spec + ")"
	case r.More == "":
		return r.Tool + "(" + r.Param + ":" + r.Spec + ")"
	}
	return r.Tool + "(" + r.Param + ":" + r.Spec + ", " + r.More + ")"
}

// bare says whether the rule holds for every use of its tools.
func (r Rule) bare() bool { return strings.Trim(r.Spec, "*") == "" && r.Param == "" && r.More == "" }

// Warning says what a person should know of a rule in a list; it is empty for
// most. A pattern that nothing here can judge counts as the worst: a rule that
// denies or asks holds for every use of its tool, one that allows for none.
func (r Rule) Warning(list uzda.Decision) string {
	switch kind := r.kind(); {
	case kind == ofNothing && list == uzda.Allow:
		return fmt.Sprintf("allow rule %s: the pattern is of no form that is known for %s, so it allows nothing; write %s(ARGUMENT:PATTERN), or allow %s", r, r.Tool, r.Tool, r.Tool)
	case kind == ofNothing:
		return fmt.Sprintf("%s rule %s: the pattern is of no form that is known for %s, so it holds for every use; write %s(ARGUMENT:PATTERN)", list, r, r.Tool, r.Tool)
	case kind == ofCommands && list == uzda.Allow && !r.bare() && strings.HasPrefix(r.Spec, "*"):
		return fmt.Sprintf("allow rule %s: it spells out no word of a command before the *, so it allows nothing; begin it with the program", r)
	case kind == ofCommands && list == uzda.Allow && !r.bare() && strings.Contains(r.Spec, "*"):
		if line, ok := r.everyWord(); ok {
			return fmt.Sprintf("allow rule %s: every word of %s counts, so a rule with a * does not allow it; write the whole command", r, line)
		}
	}
	return ""
}

// everyWord says whether commands that begin with the words before the * are such that
// only a rule of all their words allows them.
func (r Rule) everyWord() (line string, ok bool) {
	lit, _, _ := strings.Cut(spaced(r.Spec), "*")
	head, blank := strings.CutSuffix(lit, " ")
	if !blank {
		return "", false
	}
	rep := command.Read(head+" x", command.Options{Dir: "/", Bash: true})
	if len(rep.Unsure) > 0 || len(rep.Parts) != 1 || rep.Parts[0].Level < command.Unknown || rep.Parts[0].Spell != command.All {
		return "", false
	}
	return head, true
}

// Add parses rules into one of the lists. It returns the warnings; a rule that
// is wrong ends it with an error.
func (rs *Rules) Add(list uzda.Decision, origin string, texts ...string) (warnings []string, err error) {
	return rs.AddFrom("", list, origin, texts...)
}

// AddFrom is Add for rules of a file: dir is the folder that it lies in.
func (rs *Rules) AddFrom(dir string, list uzda.Decision, origin string, texts ...string) (warnings []string, err error) {
	to := map[uzda.Decision]*[]Rule{uzda.Deny: &rs.Deny, uzda.Ask: &rs.Ask, uzda.Allow: &rs.Allow}[list]
	if to == nil {
		return nil, fmt.Errorf("add rules: there is no list %q; the lists are deny, ask and allow", list)
	}
	for _, text := range texts {
		r, err := Parse(list, text, origin)
		if err != nil {
			return warnings, err
		}
		if w := r.Warning(list); w != "" {
			warnings = append(warnings, w)
		}
		r.Dir = dir
		*to = append(*to, r)
	}
	return warnings, nil
}

// Unused returns the rules that name none of the tools, as a rule with a slip in
// its name does.
func (rs Rules) Unused(tools []uzda.ToolSpec) []Rule {
	var out []Rule
	for _, l := range []struct {
		d    uzda.Decision
		list []Rule
	}{{uzda.Deny, rs.Deny}, {uzda.Ask, rs.Ask}, {uzda.Allow, rs.Allow}} {
		for _, r := range l.list {
			if !slices.ContainsFunc(tools, func(t uzda.ToolSpec) bool { return r.names(t.Name, l.d) }) {
				out = append(out, r)
			}
		}
	}
	return out
}

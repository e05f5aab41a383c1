package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// answers are programs that tell something by their exit code, each with the codes
// that are no failure: grep found nothing, diff found a difference.
var answers = map[string][]int{
	"grep": {1}, "egrep": {1}, "fgrep": {1}, "zgrep": {1}, "bzgrep": {1}, "xzgrep": {1}, "rg": {1}, "ag": {1}, "ack": {1}, "look": {1},
	"diff": {1}, "diff3": {1}, "sdiff": {1}, "colordiff": {1}, "zdiff": {1}, "cmp": {1}, "zcmp": {1},
	"test": {1}, "[": {1}, "expr": {1}, "let": {1}, "tty": {1},
	"which": {1}, "type": {1, 127}, "hash": {1}, "pgrep": {1}, "pidof": {1},
}

// gitAnswers are those of git, each with the options that make it one; none: always.
var gitAnswers = map[string][]string{
	"grep": nil, "check-ignore": nil,
	"diff": {"--quiet", "--exit-code", "--no-index"}, "diff-index": {"--quiet", "--exit-code"}, "diff-files": {"--quiet", "--exit-code"}, "diff-tree": {"--quiet", "--exit-code"},
	"merge-base": {"--is-ancestor"}, "ls-files": {"--error-unmatch"}, "show-ref": {"--verify", "--quiet", "-q"}, "rev-parse": {"--quiet", "-q"},
	"symbolic-ref": {"--quiet", "-q"}, "config": {"--get", "--get-all", "--get-regexp", "get"},
}

// wrappers start another program and hand its code on; how many words of their own
// stand before it, besides options and settings.
var wrappers = map[string]int{"command": 0, "builtin": 0, "exec": 0, "env": 0, "nice": 0, "nohup": 0, "time": 0, "sudo": 0, "stdbuf": 0, "timeout": 1}

// valued are options of wrappers that take the next word.
var valued = []string{"-n", "-k", "-s", "-u", "-g", "-C", "-i", "-o", "-e", "--signal", "--kill-after", "--user"}

// answered says that an exit code is the answer of the program that gave it, as far
// as the command line shows which one that was: the last of the last pipeline. A line
// that cannot be read has no answer, and one that ends at its first failure has none
// for certain.
func answered(command string, code int) bool {
	const most = 8 << 10 // bytes; even nested ones are read at once
	if len(command) > most {
		return false
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil || len(f.Stmts) == 0 {
		return false
	}
	for _, s := range f.Stmts[:len(f.Stmts)-1] {
		if strict(s) {
			return false
		}
	}
	return last(f.Stmts, code)
}

// strict says whether a statement is "set -e" or the like.
func strict(s *syntax.Stmt) bool {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok {
		return false
	}
	w := words(call.Args)
	return len(w) > 1 && w[0] == "set" && slices.ContainsFunc(w[1:], func(a string) bool {
		return a == "errexit" || strings.HasPrefix(a, "-") && strings.Contains(a, "e") && !strings.HasPrefix(a, "--")
	})
}

func last(all []*syntax.Stmt, code int) bool {
	return len(all) > 0 && says(all[len(all)-1].Cmd, code)
}

// says says whether a code can be the answer of a command.
func says(c syntax.Command, code int) bool {
	switch c := c.(type) {
	case *syntax.CallExpr:
		return program(words(c.Args), code)
	case *syntax.BinaryCmd:
		if says(c.Y.Cmd, code) {
			return true
		}
		// After && and || the code may be that of what stands before, and where the
		// other never fails it is.
		return (c.Op == syntax.AndStmt || c.Op == syntax.OrStmt) && unfailing(c.Y.Cmd) && says(c.X.Cmd, code)
	case *syntax.Subshell:
		return last(c.Stmts, code)
	case *syntax.Block:
		return last(c.Stmts, code)
	case *syntax.TimeClause:
		return c.Stmt != nil && says(c.Stmt.Cmd, code)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			if last(c.Then, code) {
				return true
			}
		}
	case *syntax.CaseClause:
		return slices.ContainsFunc(c.Items, func(i *syntax.CaseItem) bool { return last(i.Stmts, code) })
	case *syntax.ForClause:
		return last(c.Do, code)
	case *syntax.WhileClause:
		return last(c.Do, code)
	case *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause:
		return code == 1
	}
	return false
}

// program says whether a code is an answer of a program with its arguments.
func program(w []string, code int) bool {
	for len(w) > 0 {
		name := w[0][strings.LastIndexByte(w[0], '/')+1:]
		rest := w[1:]
		switch {
		case name == "command" && len(rest) > 0 && (rest[0] == "-v" || rest[0] == "-V"):
			return code == 1 || code == 127
		case name == "git":
			return code == 1 && git(rest)
		case name == "jq":
			return code == 1 && slices.ContainsFunc(rest, func(a string) bool {
				return a == "--exit-status" || strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.Contains(a, "e")
			})
		case name == "systemctl":
			return code >= 1 && code <= 4 && slices.ContainsFunc(rest, func(a string) bool { return a == "is-active" || a == "is-enabled" || a == "is-failed" })
		}
		own, ok := wrappers[name]
		if !ok {
			return slices.Contains(answers[name], code)
		}
		w = wrapped(rest, own)
	}
	return false
}

// wrapped returns the words of the program that a wrapper starts.
func wrapped(w []string, own int) []string {
	for len(w) > 0 {
		switch {
		case strings.HasPrefix(w[0], "-"):
			if slices.Contains(valued, w[0]) && len(w) > 1 {
				w = w[1:]
			}
		case strings.Contains(w[0], "="):
		case own > 0:
			own--
		default:
			return w
		}
		w = w[1:]
	}
	return nil
}

func git(w []string) bool {
	for len(w) > 0 && strings.HasPrefix(w[0], "-") {
		if (w[0] == "-C" || w[0] == "-c" || w[0] == "--git-dir" || w[0] == "--work-tree") && len(w) > 1 {
			w = w[1:]
		}
		w = w[1:]
	}
	if len(w) == 0 {
		return false
	}
	options, ok := gitAnswers[w[0]]
	return ok && (len(options) == 0 || slices.ContainsFunc(w[1:], func(a string) bool { return slices.Contains(options, a) }))
}

// unfailing says that a command only says something.
func unfailing(c syntax.Command) bool {
	call, ok := c.(*syntax.CallExpr)
	if !ok {
		return false
	}
	w := words(call.Args)
	return len(w) > 0 && slices.Contains([]string{"echo", "printf", "true", ":"}, w[0])
}

// words are the arguments of a call; what is not known before it runs is "$".
func words(args []*syntax.Word) []string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = plainWord(a.Parts)
	}
	return out
}

func plainWord(parts []syntax.WordPart) string {
	text := ""
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			text += strings.ReplaceAll(p.Value, `\`, "")
		case *syntax.SglQuoted:
			text += p.Value
		case *syntax.DblQuoted:
			text += plainWord(p.Parts)
		default:
			text += "$"
		}
	}
	return text
}

package command_test

import (
	"fmt"
	"strings"
)

// A gen writes shell commands as its bytes decide: the same bytes give the same
// command. When they have run out it takes the simplest form.
type gen struct {
	data  []byte
	depth int
	docs  []string // here-documents that begin on the next line
	funcs int
}

func (g *gen) pick(n int) int {
	if len(g.data) == 0 || n < 2 {
		return 0
	}
	b := g.data[0]
	g.data = g.data[1:]
	return int(b) % n
}

func (g *gen) of(list ...string) string { return list[g.pick(len(list))] }

// below writes something smaller, or a plain program where it is deep enough.
func (g *gen) below(f func() string) string {
	if g.depth >= 4 || len(g.data) == 0 {
		return g.name()
	}
	g.depth++
	defer func() { g.depth-- }()
	return f()
}

// name writes the name of a program, also as one who hides it would.
func (g *gen) name() string {
	if g.pick(4) != 3 {
		return g.of("p0", "p1", "p2", "ls", "rm", "cat", `\rm`, "git", "grep", `r"m"`, `$'\x72m'`)
	}
	return g.of(`r"m"`, `\rm`, `'rm'`, `$'\x72m'`, `r''m`, `"rm"`, `$'r\155'`, "r\\\nm", "git", "grep",
		`{rm,x}`, `r?`, `$v`, `"$v"`, `$(p1)`, "`p2`", `$'rm'x`, `"r"'m'`, `${v}rm`, `""rm`, `rm""`, `$""rm`, `r$''m`, `{p1,p2}`, `r\m`, `!`, `x=1`)
}

func (g *gen) word() string {
	var b strings.Builder
	for n := 1 + g.pick(3); n > 0; n-- {
		b.WriteString(g.piece())
	}
	return b.String()
}

func (g *gen) piece() string {
	switch g.pick(24) {
	case 0:
		return g.of("a", "b1", "-x", "--", "x=1", "f.txt", "-", "a#b", "#", "{}", "{", "}", "!", "=", "+", ",", "..", "%", "^", ":", "]", "@", "do", "if", "then", "}", "fi", "in")
	case 1:
		return g.of(`'x y'`, `'a;b'`, `'a|rm'`, `'$(rm)'`, `'&& rm'`, "'\n'", `'"'`, `'\'`, `'#'`, "'`rm`'")
	case 2:
		return g.of(`"x y"`, `"a; rm"`, `"\"; rm \""`, `"$v"`, `"a${v}b"`, `"\$(rm)"`, "\"\\`rm\\`\"", `"'"`, `"#"`, "\"\n\"", `"a\\"`, `"${v:-x y}"`, `"\
"`, `"!"`)
	case 3:
		return g.of(`\;`, `\|`, `\ `, `\"`, `\'`, `\\`, `\$v`, `\#`, "\\\n", `\a`, `\&`, `\(`, "\\`", `\{`, `\*`)
	case 4:
		return g.of(`$'\x61'`, `$'a\nb'`, `$'\''`, `$'\\'`, `$'\101'`, `$'\u0041'`, `$'a\tb'`, `$'\e'`, `$'\cA'`, `$'\"'`, `$'\q'`, `$'\0'`, `$'\x'`)
	case 5:
		return "$(" + g.below(g.list) + ")"
	case 6:
		return `"$(` + g.below(g.list) + `)"`
	case 7:
		return "`" + g.of("p1", "p2 a", "p1; p2", "p1 | p2", "p1 'x'", "p1 && p2") + "`"
	case 8:
		return "${v:-$(" + g.below(g.list) + ")}"
	case 9:
		return g.of("$v", "${v}", "${#v}", "${v%x}", "${v:-a}", "${v:+b}", "$1", "$@", `"$@"`, "$#", "$?", "$((1+2))", "$((2*(1+1)))", "${v/a/b}", "${v:0:1}", "$[1+1]", "$-", "$", "${v//a}", `${v:-"x y"}`, `${v:-'x}y'}`, `"${v:-"x"}"`, `"${v:-'}"`, `${v#"}"}`)
	case 10:
		return g.of("{a,b}", "{a,'b c'}", "{1..3}", "{a,{b,c}}", "{a}", "{,x}", `{a\,b}`, `"{a,b}"`, "{a,b", "a,b}", "x{1,2}y", "{a..}", "${v}{a,b}", "{$v,b}", "{a,b}{c,d}", "{a,b,}", "{}{a,b}", "{{a,b}", "{a,b}}", `{a,"}",b}`)
	case 11:
		return g.of("*", "?", "[a]", "[!a]*", "a*", "~", "~/x", "~root", "x=~", "x=~/a", "a:~")
	case 12:
		return g.of(">(", "<(") + g.below(g.list) + ")"
	case 13:
		return "$((" + g.of("1", "v", "$v", "a[$(p1)]", "$(p2)0", "1+`p1`0", "(1)+(2)", "v++", "v=2", "1<<2", "1 > 0", `"1"`, "v[1]", "1?2:3", "#v") + "))"
	case 14:
		return g.of("$'\\x72m'", `"a"'b'c`, `a"b;c"d`, `''`, `""`, `$""`, `$''`, `"$(p1 "a b" 'c')"`, `"$(p1 ")")"`, `$(p1 ')')`, "$(p1 # )\n)", "$(case x in x) p1;; esac)", "$(cat <<E\n$(p2)\nE\n)", `"${v:-$(p1 "}")}"`, `${v:-"$(p1 '}')"}`, "$(p1;)", "$( (p1) )", "$((p1) )", "$( p1 )", "$(<f)", "$(p1&)")
	default:
		return g.of("a", "b", "c1", "-n", "x.go")
	}
}

func (g *gen) simple() string {
	var b strings.Builder
	if g.pick(6) == 1 {
		b.WriteString(g.of("v=1 ", "v=$(p1) ", "v='a b' ", "v= ", "A=1 v=2 ", `v="$(p2 a)" `, "v+=x ", "v=(a $(p1)) ", "v[0]=$(p2) ", "v=~/x ", "v={a,b} ", "v[$(p1)]=2 "))
		if g.pick(3) == 1 {
			return b.String()
		}
	}
	if g.pick(8) == 1 {
		b.WriteString(g.redirect() + " ")
	}
	b.WriteString(g.name())
	for n := g.pick(4); n > 0; n-- {
		b.WriteString(g.of(" ", "  ", "\t", " \\\n"))
		b.WriteString(g.word())
	}
	if g.pick(5) == 1 {
		b.WriteString(" " + g.redirect())
	}
	return b.String()
}

func (g *gen) redirect() string {
	switch g.pick(5) {
	case 0:
		return g.of(">", ">>", "2>", "&>", ">|", "<>", ">&", "&>>", "1>") + g.of("", " ") + g.of("out", "'o p'", `"out$v"`, "/dev/null", "$(p1)x", "{a,b}")
	case 1:
		return g.of("2>&1", ">&2", "<&0", "2>&-", "<&-", "3>&1", "</dev/null", "{fd}>out", "1>&2")
	case 2:
		return "<<<" + g.word()
	case 3:
		end := g.of("E", "'E'", `"E"`, `\E`, "'E F'", "E$v")
		name := strings.NewReplacer("'", "", `"`, "", `\`, "").Replace(end)
		dash := g.of("", "-")
		g.docs = append(g.docs, g.of("text", "$(p1)", "$v", "`p2`", `\$(rm)`, "a 'b", `"`, "$(p1 \"x\")", "${v:-$(p2)}", "\\\\$(p1)", "$((a[$(p2)]))", "<(rm)", "$", "E2", " E", "a\\\nb", "\\`rm\\`", "$(p1\n)", "#")+"\n"+
			map[string]string{"": "", "-": g.of("", "\t")}[dash]+name+"\n")
		return "<<" + dash + end
	}
	return "<" + g.of(" f", "f", "/dev/null")
}

// code writes a text for a shell, in single quotes.
func (g *gen) code() string {
	docs := g.docs
	g.docs = nil
	s := g.below(g.list)
	s += "\n" + strings.Join(g.docs, "")
	g.docs = docs
	return "'" + strings.ReplaceAll(strings.TrimRight(s, "\n"), "'", `'\''`) + "'"
}

func (g *gen) wrapped() string {
	inner := g.below(g.simple)
	switch g.pick(26) {
	case 13:
		return g.lister() + g.of("", " 2>/dev/null") + " | " + g.of("", "", "sort | ", "head -2 | ", "grep -v x | ", "sort -r | head -1 | ") + g.handed()
	case 14:
		return g.of("v=a; ", "v=rm && ", "v='a b'\n", "v=x; v=rm; ", "v=-x; ", "false && v=a; ", "v=a | ") + g.of(`cat "$v"`, "cat $v", `"$v"`, `$v a`, `sh -c "$v"`, `sh -c 'cat "$v"'`, `eval "$v"`, `ls "a$v"`, `git "$v"`, `env "$v" p1`, `find . -name "$v"`, `xargs "$v"`)
	case 0:
		return g.of("env ", "env A=1 ", "env -i PATH=\"$PATH\" ", "env -u v ", "env -- ", "env -S 'p1 a' ", "env - PATH=\"$PATH\" ", "env -vu v ", "env -S 'p1 \"a b\"' ", "env -S'p2 x' ") + inner
	case 1:
		return g.of("timeout 5 ", "timeout -s KILL 5 ", "timeout -k 1 5 ", "timeout --signal=KILL 5 ", "timeout -- 5 ", "timeout -k1 5 ") + inner
	case 2:
		return g.of("nice ", "nice -n 5 ", "nice -5 ", "nohup ", "setsid -w ", "stdbuf -o0 ", "stdbuf -oL -e 0 ", "nice --adjustment=3 ", "ionice -c3 ", "ionice -c 2 -n 7 ") + inner
	case 3:
		return "printf 'a\\nb c\\n' | " + g.of("xargs ", "xargs -n1 ", "xargs -I{} ", "xargs -0 ", "xargs -n 1 -P2 ", "xargs -I X ", "xargs -i ", "xargs -d '\\n' ", "xargs -t -r ", "xargs -L1 ") + g.of("p1", "p2 {}", "p1 X y", "sh -c 'p1 \"$@\"' _", "{}", "env p1") // fixed: its words are templates
	case 4:
		return g.of("sh -c ", "bash -c ", "sh -ec ", "bash -lc ", "bash -e -c ", "sh -c -- ", "bash +x -c ", "bash --norc -c ", "bash -o pipefail -c ", "bash -euo pipefail -c ", "bash -xc ") + g.code() + g.of("", " a b", " rm")
	case 5:
		return "eval " + g.of(g.code(), inner, `"p1 $(p2)"`, `p1 "a b"`, `'p1' \; p2`, `"$v"`, "-- p1")
	case 6:
		return "echo " + g.of("p1 a", "'p1; p2'", `"p1 'x y'"`, "'p1\np2'", "$v", "-n p1", "-e 'p1\\np2'", `'p1 \x'`) + " | " + g.of("sh", "bash", "bash -s", "bash -s a", "sh -", "sh -e", "tee f | sh", "cat | sh", "env sh", "{ sh; }", "(sh)")
	case 7:
		end := g.of("E", "'E'")
		g.docs = append(g.docs, g.of("p1 a\n", "p1\np2 b\n", "p1 $v\n", "p1 \"x y\"\n", "$(p1)\n", "p1 \\$v\n", "if p1; then p2; fi\n", "")+"E\n")
		return g.of("sh ", "bash ", "bash -s ", "cat | sh ", "sh -s ", "env sh ") + "<<" + end
	case 8:
		return g.of("command ", "command -- ", "command -p ", "command -v ", "exec ", "exec -a x ", "builtin ", "command command ", "! ", "time ", "time -p ", "exec -c ", "coproc ", "builtin command ") + inner
	case 9:
		return "find . -maxdepth 0 " + g.of(`-exec p1 {} \;`, `-exec p1 a {} +`, `-execdir p2 {} \;`, `-exec p1 \; -exec p2 {} \;`, `-type d -exec sh -c 'p1 "$1"' _ {} \;`, `-exec env p1 {} \;`, `\( -exec p1 ';' \)`, `-name '*' -exec p1 "{}" ";"`)
	case 10:
		return "trap " + g.code() + " EXIT"
	case 11:
		return "find . | " + g.of("sh", "cat", "xargs p1", "while read v; do p1 $v; done")
	case 12:
		return g.of("bash <<< ", "sh <<< ") + g.of("p1", "'p1 a'", `"p1 $v"`, `"p1; p2"`)
	default:
		return inner
	}
}

func (g *gen) command() string {
	switch g.pick(20) {
	case 0:
		return "(" + g.below(g.list) + ")"
	case 1:
		return "{ " + g.below(g.list) + g.of("; }", "\n}", " & }")
	case 2:
		return "if " + g.below(g.list) + g.of("; then ", "\nthen ") + g.below(g.list) + g.of("", "; else "+g.below(g.list), "; elif p1; then "+g.below(g.list)) + "; fi"
	case 3:
		if g.pick(2) == 0 {
			return "for v in " + g.of("a b", "*", "a *", "su*", "rm p1", "'a b' x", "-n x", "./* sub", "$(p1)", "[s]ub", "a$v") + "; do " + g.of("", "v=rm; ", "read v; ", "for v in p2; do :; done; ", "v=$v; ", "cd sub; ", "unset v; ") +
				g.of(`cat "$v"`, "ls $v", `grep a "$v" "x$v"`, `p1 "$v"`, `"$v"`, "$v", `sh -c 'p1 "$v"'`, `[ -f "$v" ] && cat "$v"`, `find "$v" | xargs cat`, `case "$v" in a) p1;; esac`, `eval "p1 $v"`, `printf '%s' "$v"`, `rm "$v"`, `xargs "$v"`, `env "$v"`, "p1 ${v%x}") +
				g.of("", "; "+g.below(g.list)) + "; done" + g.of("", `; cat "$v"`, " | cat")
		}
		return "for v in " + g.word() + " " + g.word() + "; do " + g.below(g.list) + "; done" + g.of("", " >out", " | cat")
	case 4:
		return g.of("while false; do ", "until true; do ", "while p1 && false; do ") + g.below(g.list) + "; done"
	case 5:
		return "case " + g.word() + " in " + g.of("a)", "(a|b)", "*)", "$(p1))", `"x y")`, "a*|?)", "'a)')", "''|x)") + " " + g.below(g.list) + g.of(";;", ";&", ";;&", "") + " esac"
	case 6:
		g.funcs++
		if g.depth > 0 { // a function that calls one of another level may call itself
			return g.simple()
		}
		n := fmt.Sprintf("f%d", g.funcs)
		return g.of(n+"() { ", "function "+n+" { ", n+" () { ", "function "+n+"() { ", "ls() { ") + g.below(g.list) + "; }; " + n + " " + g.word()
	case 7:
		return "[[ " + g.of("a == b", "-n $(p1)", `"$v" =~ a`, "$(p1) || a < b", "1 -eq 1", "-f x && ! -d y", "( a == a )", "a[$(p1)] -eq 0", "$v -eq 0", "'a[$(p1)]' -eq 0", "-v v", "x = {a,b}") + " ]]"
	case 8:
		return "((" + g.of("1", "v++", "a[$(p1)]=1", "v = $(p2)0", "1 > 2", "p1", "v=1, 2") + "))"
	case 9:
		return g.of("declare v=$(p1)", "export v=$(p2 a)", "local v=1", "readonly w=`p1`", "v=$(p1)", "v=`p2`", "declare -a v=(a $(p1))", "cd .", "cd sub", "cd ..", "set -- a b", "shift", "set -e", "unset v", "read v", "printf -v v x", "let v=1", "alias rm=p1", "shopt -s extglob", "wait", "v='a[$(p1)]'", "v=p1", "v='p1 a'", "exit", "return", "pwd", ":", "test -n $(p1)", "[ a = $(p1) ]", "hash -p ./x ls", "enable -n test", "set -f", "set -k", "type p1", "v=rm; $v a", "IFS=x")
	case 10, 11, 12, 13:
		return g.wrapped()
	}
	return g.simple()
}

func (g *gen) list() string {
	var b strings.Builder
	for n := g.pick(3); n >= 0; n-- {
		b.WriteString(g.command())
		if n == 0 {
			break
		}
		sep := g.of("; ", " && ", " || ", " | ", " |& ", " & ", "\n", ";", "&&", "|", "\n\n", " # a; rm\n", " &\n", "|\n", "&& \\\n")
		b.WriteString(sep)
		if strings.HasSuffix(sep, "\n") && !strings.HasSuffix(sep, "\\\n") {
			b.WriteString(g.flush())
		}
	}
	return b.String()
}

// flush writes the here-documents that are due.
func (g *gen) flush() string {
	s := strings.Join(g.docs, "")
	g.docs = nil
	return s
}

// line writes a whole command.
func (g *gen) line() string {
	if g.pick(5) == 4 {
		return g.soup()
	}
	s := g.list()
	if len(g.docs) > 0 {
		s += "\n" + g.flush()
	}
	return s
}

// soup puts signs together without care: shells and parsers differ most on what
// nobody would write.
func (g *gen) soup() string {
	tokens := strings.Split(`p1 p2 rm a v $ ( ) { } [ ] [[ ]] (( )) $( $(( ${ }} < > << <<< >> & && | || ; ;; ' " \ # ! = : , * ? - + @ % ^ . x=1 v=( $' $" <( >( >& &> |& if then fi case esac in for do done else elif ' " $( ) }`, " ")
	tokens = append(tokens, " ", " ", " ", " ", "\n", "`", "\t", "\\\n", "E\n", "<<E\n", "\nE\n", "'", `"`)
	var b strings.Builder
	for n := 3 + g.pick(24); n > 0; n-- {
		b.WriteString(tokens[g.pick(len(tokens))])
		if g.pick(3) == 0 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// lister writes a program that prints names, or nearly so.
func (g *gen) lister() string {
	return g.of("find .", "find . -name '*'", "find sub -type d", "find . -print0", "find . -printf '%p x\\n'", "ls", "ls sub", "git ls-files", "grep -rl a .", `find "$v"`, "find *", "printf 'a b\\n'")
}

// handed writes an xargs that hands them on.
func (g *gen) handed() string {
	return g.of("", "timeout 5 ", "env ", "nice ") + g.of("xargs ", "xargs -0 ", "xargs -n1 ", "xargs -I{} ", "xargs -r ", "xargs -I{} -n1 ", "xargs -d '\\n' ", "xargs -P2 ") + g.of("cat", "wc -l", "grep a", "cat {}", "ls {} x", "sed", "rm", "sh", "{}", "env", "p1", "sed -n 1p", "head -1")
}

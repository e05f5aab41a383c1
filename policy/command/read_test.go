package command_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/policy/command"
)

// Nothing that anybody writes makes the reader fall over, and the same line is
// always read the same.
// case:P01
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		"ls | rm x", "echo ${x:-$(rm)} `a` $((1+a[1]))", "cat <<E\nx\nE\n", "find . -exec rm {} + -delete", "env -S 'a b' c",
		"git -C x log --format=%H", "sed -n '1p;s/[/]/x/' f", "awk '{print}' f", "{a,b}{c,d} ~x $'\\x72' \xff\x00\r\u202e", "xargs -I{} a{} -n",
		"sudo -u a A=b ls", "f() { g; }; f", "case a in a) ;; esac", "cd x && cd - && cat ../*", "trap 'a' b; eval c; sh -c 'd'", "printf -v", "test -v", "set -o",
		"go test -o", "curl -o", "dd if= of=", "timeout", "make -j", "git -C", "tar xf a", "[[ -v a[1] ]]", "declare -A x=([a]=b)", "a[1]+=2 b", "{fd}>x ls",
	} {
		f.Add(s, "/srv", "/home/user")
	}
	f.Fuzz(func(t *testing.T, line, dir, home string) {
		for _, bash := range []bool{false, true} {
			o := command.Options{Dir: dir, Home: home, Bash: bash}
			a, b := command.Read(line, o), command.Read(line, o)
			if !reflect.DeepEqual(a, b) {
				t.Errorf("%q is read in two ways: %+v and %+v", line, a, b)
			}
			for _, p := range a.Parts {
				if p.Level != command.Harmless && p.Why == "" || p.Spell == 0 || len(p.Words) == 0 {
					t.Errorf("%q: the part %+v lacks a reason, its words or how many of them count", line, p)
				}
			}
			command.ReadArgs(strings.Fields(line), o)
		}
	})
}

// What is nested deeply, or long, ends soon and without a crash.
func TestDeep(t *testing.T) {
	t.Parallel()
	for _, part := range []string{
		"(", "$(", "{ ", "if ", "! ", "`", "${x:-", "$((", "[[ ( ", "[[ ! ", "a|", "a&&", "a;", "a=(", "x=$(", "case a in a) ", "f() ", "((- ", "$((-", "$((1?", "$((1+", "$((a=", "$((1**", "<(", "\"$(", "while ", "time ",
		"coproc ", "$'", "\\", "{a,", "a[", "$[", "eval ", "sh -c '", "env ", "sudo ", "<<E\n", "a\n", "${x[", "$((x[", "@(", "cd a;", "a b ", "xargs ", "~", "'", "\"", "find -exec ", "for i in a; do ", "[[ a && ", "[[ a == ", "$((~", "$((!", "$((a,", "$((1||",
	} {
		for _, n := range []int{50, 4000, 1<<20/len(part) - 1} {
			if n == 4000 && testing.Short() {
				continue
			}
			line := strings.Repeat(part, n)
			if r := command.Read(line, here); len(r.Parts) > 4096 || len(r.Unsure) > 100 {
				t.Errorf("%q %d times gives %d parts and %d reasons", part, n, len(r.Parts), len(r.Unsure))
			}
		}
	}
}

func BenchmarkRead(b *testing.B) {
	for name, line := range map[string]string{
		"short":  "git status",
		"usual":  `cd src && grep -rn "TODO" --include='*.go' . | head -20`,
		"loop":   `for f in *.go; do if grep -q x "$f"; then sed -i 's/x/y/' "$f"; fi; done > out 2>&1`,
		"script": strings.Repeat("ls -la /tmp | grep foo && echo \"$(date)\" >> log\n", 100),
		"text":   "cat > f <<'E'\n" + strings.Repeat("func f() { return (a | b) }\n", 10000) + "E\n",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				command.Read(line, here)
			}
		})
	}
}

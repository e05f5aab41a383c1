package command_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/policy/command"
)

// RUN stands for a command that leaves a mark.
var hiddenRuns = []string{
	`jobs -x RUN`, `jobs -lx RUN`, `o=-x; jobs $o RUN`, `builtin jobs -x RUN`,
	`sleep 0.1 & wait -n -p 'a[$(RUN)]'`, `sleep 0.1 & wait -fnp 'a[$(RUN)]'`, `sleep 0.1 & wait -n '-pa[$(RUN)]'`,
	`x='-pa[$(RUN)]'; sleep 0.1 & wait -n "$x"`, `x='-pa[$(RUN)]'; sleep 0.1 & wait -n $x`, `sleep 0.1 & wait -n "-p$(echo 'a[$(RUN)]')"`,
	`printf -v a -v 'b[$(RUN)]' x`, `printf '-vb[$(RUN)]' x`, `x='-vb[$(RUN)]'; printf "$x" y`, `y='a[$(RUN)]'; printf -v 'z[y]' 1`,
	`declare -a 'x=($(RUN))'`, `declare -a x; declare 'x=($(RUN))'`, `declare -a x='($(RUN))'`, `y='($(RUN))'; declare -a x="$y"`,
	`y='$(RUN))'; declare -a x="($y"`, `readonly -a 'x=($(RUN))'`, `y='($(RUN))'; export -a "x=$y"`,
	`declare -g -i x='a[$(RUN)]'`, `declare -x -i x='a[$(RUN)]'`, `declare -gi x='a[$(RUN)]'`, `typeset -r -g -i x='a[$(RUN)]'`,
	`declare -g -n x='a[$(RUN)]'; echo $x`, `f() { local -r -i x='a[$(RUN)]'; }; f`,
	`x='a[$(RUN)]'; builtin let x`, `x='a[$(RUN)]'; command let 'y = x'`, `x='a[$(RUN)]'; command let y+=x`, `x='a[$(RUN)]'; let x`,
	`op=-v; y='a[$(RUN)]'; [ "$op" "$y" ]`, `op=-v; y='a[$(RUN)]'; [ ! "$op" "$y" ]`, `op=-v; y='a[$(RUN)]'; [ x = x -a "$op" "$y" ]`,
	`y='a[$(RUN)]'; test -v "$y"`, `op=v; test "-$op" 'a[$(RUN)]'`,
	`RANDOM='a[$(RUN)]'`, `SRANDOM='a[$(RUN)]'`, `OPTIND='a[$(RUN)]'`, `HISTCMD='a[$(RUN)]'`, `read RANDOM <<< 'a[$(RUN)]'`,
	`printf -v RANDOM %s 'a[$(RUN)]'`, `export RANDOM='a[$(RUN)]'`, `: ${x:=1}; for RANDOM in 'a[$(RUN)]'; do :; done`,
	`: {a[$(RUN)]}>/dev/null`, `mapfile -C 'RUN;:' -c1 a <<< x`, `mapfile -tC 'RUN;:' -c1 a <<< x`, `readarray -c 1 -C 'RUN;:' a <<< x`,
	`a=(1); unset 'a[$(RUN)]'`, `a=(1); unset -v 'a[$(RUN)]'`, `y='a[$(RUN)]'; z=1; unset "z[y]"`,
	`y='a[$(RUN)]'; read 'z[y]' <<< 1`, `y='a[$(RUN)]'; declare 'z[y]=1'`, `y='a[$(RUN)]'; declare z[y]=1`, `y='a[$(RUN)]'; [[ -v z[y] ]]`,
	`y='a[$(RUN)]'; [[ 1 -eq y ]]`, `y='a[$(RUN)]'; echo $[y]`, `y='a[$(RUN)]'; echo "${@:y}"`, `y='a[$(RUN)]'; z+=([y]=1)`,
	`declare -A z; unset 'z[$(RUN)]'`, `printf %nabc PATH; sed x`, `trap 'RUN' EXIT`, `y='x[$(RUN)]'; echo ${y@P}`,
}

// What a builtin would run while it sets or reads a variable, or itself, is said: each
// line starts a program in a real bash, and none is
// sure and known without that program.
// S1 case:P01
func TestHiddenRuns(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	for _, line := range hiddenRuns {
		dir := t.TempDir()
		line = strings.ReplaceAll(line, "RUN", "touch mark")
		r := command.Read(line, command.Options{Dir: dir, Home: dir, Bash: true})
		if len(r.Unsure) == 0 && worst(r) < command.Unknown && !strings.Contains(called(r), "touch mark") {
			t.Errorf("%q is sure: %s", line, called(r))
		}
		if err != nil || strings.Contains(line, "PATH") {
			continue
		}
		c := exec.CommandContext(t.Context(), bash, "-c", line)
		c.Dir = dir
		_ = c.Run() // most fail
		if _, err := os.Stat(filepath.Join(dir, "mark")); err != nil {
			t.Logf("this bash runs nothing in %q", line)
		}
	}
}

// What builtins do all day stays sure.
// S1
func TestPlainBuiltins(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"jobs", "jobs -l", "jobs -rp", "wait", "wait %1", "sleep 1 & wait $!", `sleep 1 & wait "$!"`, `sleep 1 & p=$!; wait "$p"`, "wait -n", "wait -fn",
		"wait -n -p done", "printf -v a %s b", "printf '%s\\n' a", "printf '100%%n'", `printf "$x"`, "printf -- -v",
		`[ "$a" = "$b" ]`, `[ -n "$a" ]`, `[ -n "$a" -a -n "$b" ]`, `[ "$a" -eq 1 ] || [ ! -f "$b" ]`, `test "$a"`, `[ "$#" -gt 1 ]`, `[ "$a" != "$b" -o -z "$c" ]`,
		"declare -a x=(1 2)", "declare -A m", "declare x=1", `declare -r x="$y"`, "export A=1 B=2", `export A="$y"`, "readonly x=1", "local x", "declare -- x=1", "declare -a x=($(ls))",
		"command let x=1", "command let 'x = y + 1'", "OPTIND=1", "RANDOM=42", "read -ra list", "read -r a b", "mapfile -t lines < f", "unset a b", "unset -v a",
	} {
		r := command.Read(line, here)
		if len(r.Unsure) > 0 {
			t.Errorf("%q is unsure: %s", line, r.Unsure)
		}
	}
}

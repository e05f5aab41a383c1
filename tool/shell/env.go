package shell

import (
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// mark is the variable by which processes are known as those of a use.
const markName = "UZDA_USE"

// dropped are variables that would make a shell run or show something else than the
// command says: start-up files, functions, options, search paths of cd.
var dropped = []string{
	"BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "BASH_XTRACEFD", "PS4", "PROMPT_COMMAND", "CDPATH", "GLOBIGNORE", "OLDPWD", "PWD",
	"FORCE_COLOR", "CLICOLOR_FORCE", "GIT_PAGER_IN_USE", "SSH_ASKPASS", "SUDO_ASKPASS", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR",
}

// noEditor is a command for programs that pass their editor to a shell.
const noEditor = `echo 'there is no editor here: give the text in the command, for example -m "message", or --no-edit' >&2; false`

// quiet is what keeps programs from asking, paging and painting.
var quiet = []string{
	"TERM=dumb", "NO_COLOR=1", "COLUMNS=120",
	"PAGER=cat", "MANPAGER=cat", "GIT_PAGER=cat", "GH_PAGER=cat", "SYSTEMD_PAGER=cat", "BAT_PAGER=cat", "AWS_PAGER=", "LESS=FRX",
	"EDITOR=false", "VISUAL=false", "GIT_EDITOR=" + noEditor, "GIT_SEQUENCE_EDITOR=" + noEditor,
	"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS_REQUIRE=never", "GCM_INTERACTIVE=never", "GH_PROMPT_DISABLED=1",
	"DEBIAN_FRONTEND=noninteractive", "PIP_NO_INPUT=1", "PYTHONUNBUFFERED=1",
}

// gitSafe are settings that keep a repository's own configuration from starting a
// program by a mere "git status" or "git log". What cannot be set here without breaking
// daily work is judged by the gate: an empty diff.external stops every diff, and filters,
// textconv and the servers of partial clones have names that only the repository knows.
var gitSafe = [][2]string{
	{"core.fsmonitor", "false"}, {"core.pager", "cat"},
	{"log.showSignature", "false"},      // it would start gpg.program
	{"protocol.ext.allow", "never"},     // an address that is a command
	{"safe.bareRepository", "explicit"}, // a plain folder that a clone brought is no repository with a configuration of its own
}

// environ is the environment of a command with a mark.
func (s *Shell) environ(dir, mark string) []string {
	set := map[string]bool{}
	for _, kv := range quiet {
		name, _, _ := strings.Cut(kv, "=")
		set[name] = true
	}
	out := make([]string, 0, len(s.c.Env)+len(quiet)+8)
	git, locale, outer := 0, false, ""
	for _, kv := range s.c.Env {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || name == "" || set[name] || slices.Contains(dropped, name) || strings.HasPrefix(name, "BASH_FUNC_") || s.c.Hide != nil && s.c.Hide(name) {
			continue
		}
		switch name {
		case "GIT_CONFIG_COUNT":
			git, _ = strconv.Atoi(value)
			git = max(git, 0)
			continue
		case markName: // this program runs in a command of another one
			outer = value + " "
			continue
		case "LC_ALL", "LC_CTYPE", "LANG":
			locale = locale || value != ""
		}
		out = append(out, kv)
	}
	out = append(out, quiet...)
	if name := map[string]string{"linux": "C.UTF-8", "darwin": "UTF-8"}[runtime.GOOS]; !locale && name != "" {
		out = append(out, "LC_CTYPE="+name)
	}
	for i, kv := range gitSafe {
		n := strconv.Itoa(git + i)
		out = append(out, "GIT_CONFIG_KEY_"+n+"="+kv[0], "GIT_CONFIG_VALUE_"+n+"="+kv[1])
	}
	return append(out, "GIT_CONFIG_COUNT="+strconv.Itoa(git+len(gitSafe)), "PWD="+dir, markName+"="+outer+mark)
}

package shell

import (
	"regexp"
	"strings"
	"sync"

	"github.com/uzda-dev/uzda"
)

// demands are the words with which programs say that they wanted to ask somebody,
// and what to do instead. The first that fits holds.
var demands = []struct {
	says   *regexp.Regexp
	advice string
}{
	{regexp.MustCompile(`(?im)^there is no editor here|problem with (the|your) editor|EDITOR_FAILED`), `it wanted an editor, and there is none here: give the text in the command, for example -m "message", or --no-edit`},
	{regexp.MustCompile(`(?i)terminal prompts disabled|could not read (Username|Password)|Authentication failed for|Permission denied \(publickey`), "it wanted a name or a password for a server, and nobody is asked here: use credentials that are set up already"},
	{regexp.MustCompile(`(?i)sudo: .*(terminal is required|no tty present|password is required|no password was provided|askpass|must have a tty)`), "sudo wanted a password, and nobody is asked here: do it without sudo, or ask the user to do it"},
	{regexp.MustCompile(`(?i)host key verification failed`), "it wanted to ask whether to trust a host key, and nobody is asked here: ask the user to connect once"},
	{regexp.MustCompile(`(?i)\bnot an? (tty|terminal)\b|inappropriate ioctl for device|requires? an? (interactive )?(tty|terminal)|no tty (present|available)|must be run (from|in) a terminal|open '?/dev/tty|/dev/tty: No such`), "it wanted a terminal, and there is none here: use an option for scripts or plain output"},
	{regexp.MustCompile(`(?i)EOFError|EOF when reading|end of file on stdin|stdin is (closed|not available|empty)|unexpected EOF on (stdin|standard input)`), "it wanted input, and standard input is empty here: use -y or --yes, arguments, a pipe or a here-document"},
	{regexp.MustCompile(`(?i)(\[y(es)?/n(o)?(/[^\]\n]*)?\]|\(y(es)?/n(o)?\)|\[y/n/[^\]\n]*\]|(password|passphrase|username|login)[^\n]{0,60}:|do you want to (continue|proceed)[^\n]*|are you sure[^\n]*|(press|hit) (enter|any key|return)[^\n]*)\s*(abort\.?|aborted\.?)?\s*$`), "it asked a question, and nobody answers here: use -y, --yes or an option that answers it"},
}

// reads are commands that take standard input when they are called so.
var reads = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)(^|[;&(]|\bdo|\bthen)[ \t]*(read(\s+-[a-zA-Z]+)*(\s+[A-Za-z_]\w*)+|cat(\s+-)?|tee\s+\S+|wc(\s+-[a-z]+)?|sort|sed\s+'[^']*'|tr\s+\S+\s+\S+)[ \t]*($|[;&)])`)
})

// demand says that a command wanted something of a person, as far as its words show
// it: "" if not.
func demand(command, output string, code int) string {
	end := uzda.After(output, 4<<10)
	if code == 0 { // it went well, so only a last word counts: a pipe may hide the code
		end = end[strings.LastIndexByte(end, '\n')+1:]
	}
	for _, d := range demands {
		if d.says.MatchString(end) {
			return d.advice
		}
	}
	if (output == "(no output)" || code != 0) && !strings.ContainsAny(command, "|<") && reads().MatchString(command) {
		return "it reads standard input, which is empty here: name a file, or use a pipe or a here-document"
	}
	return ""
}

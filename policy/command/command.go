// Package command says what a shell command would start, read and write.
package command

// Level says what a program does when it is called so.
type Level int

// The levels, from the least to the worst.
const (
	Harmless  Level = iota // it only reads and prints, and starts nothing else
	Changes                // it changes something that can be made again
	Unknown                // nobody knows what it does
	Dangerous              // it destroys what is not kept elsewhere, or takes more rights
)

// Options say where a command would run.
type Options struct {
	Dir  string // absolute: where it begins
	Home string // what ~ is; "": not known
	// Bash says that bash runs it, and no other shell. Otherwise it is unsure where a
	// plain sh would start something else.
	Bash bool
}

// A Report is what a command line would do.
type Report struct {
	// Parts are all programs, builtins and functions that it may start, in the order
	// of the text: those in pipes, lists, branches, loops, functions, traps and
	// substitutions, and those behind wrappers and interpreters that are seen
	// through (sudo, env, xargs, sh -c, find -exec …), each after its wrapper.
	Parts []Part
	// Unsure are reasons why this may not be all: it cannot be parsed, a program's
	// name is not known before it runs, a function hides a name, a text is run as
	// code, a letter looks like another. Whatever rules allow, a person is asked.
	Unsure []string
}

// A Part is one thing that may be started.
type Part struct {
	// Line is the call as rules compare it: the words without quotes, joined by one
	// space each. A word that is not known is as it was written.
	Line  string
	Words []Word // the program's name without a folder first, see Path
	// Program is the path of the program where it was called by one.
	Program string
	Level   Level
	Why     string // in a few words, where the level is not Harmless
	// Wraps says that it starts the part that follows and does nothing else: a rule
	// that denies or asks holds for it too, one that allows is not needed.
	Wraps bool
	// Spell is how many words a rule must spell out to allow the call: "go test *"
	// spells two. All is -1: what it does hangs on every word, as in python3 -c CODE.
	Spell  int
	Reads  []Path // files and folders that it may read
	Writes []Path // that it may make, change or remove, redirections among them
	// Git are the folders where git may begin to look for its repository, absolute; ""
	// is one that is not known before. Other programs have none.
	Git []string
}

// All is a Spell of every word.
const All = -1

// A Word of a call.
type Word struct {
	Text  string // without quotes, or as it is written
	Known bool   // false: a variable, a substitution or a pattern decides
}

// A Path is an operand that names a file, or may name one.
type Path struct {
	Text string // without quotes, as it is written
	Abs  string // absolute, "." and ".." as they are; "" if it is not known before
	Glob bool   // Text is a pattern of the shell
	Deep bool   // what lies below is meant too, as for grep -r
	// Each says that files are named one by one, as find does it: links among them
	// are followed, wherever they lead.
	Each bool
	// Odd are letters that no name here may have, for otherwise it would be something
	// else: an option with -, + or @ in front, several words with a blank, a quote or
	// a sign of a pattern anywhere. Who finds one knows nothing of the path.
	Odd string
	// Tracked says that only files that git knows are meant, in the whole repository
	// around Abs where that is the folder in which git runs: what is in no commit and
	// not added is neither shown nor changed.
	Tracked bool
}

// Package line takes what a person types, a message at a time, while text goes on
// coming above it.
package line

import (
	"io"
	"strings"
)

// Kind says what a person did.
type Kind int

// What a person may do: say something, interrupt what goes on, or end the input.
const (
	Said Kind = iota
	Interrupt
	End
)

// An Input is what a person did.
type Input struct {
	Kind Kind
	Text string
	// To is the number of the prompt under which it was typed: a line that was
	// typed before a question was shown is no answer to it.
	To int
}

// A Desk is where a person reads and types; safe for concurrent use.
type Desk interface {
	// Write shows text above the line that is typed. It is trusted: whoever
	// writes takes control characters of others out before.
	io.Writer
	// Inputs is what the person does, in order. It is never closed; once the input
	// itself has ended nothing comes after its End.
	Inputs() <-chan Input
	// Prompt sets what stands before the line. With always it is shown at once,
	// else when the first key is pressed.
	Prompt(text string, always bool)
	// Ask shows a question, up to the next Prompt. What was being typed is no
	// answer to it, and waits.
	// It returns the number of the question.
	Ask(question string) int
	// Live says that text may be shown before its line has ended.
	Live() bool
	// Close gives the terminal back as it was.
	Close() error
}

// Unfinished says whether a message goes on in the next line: the line ends in a
// backslash, or a block that three backquotes began has not ended.
func Unfinished(text string) bool {
	fences, last := 0, ""
	for l := range strings.Lines(text) {
		last = strings.TrimRight(l, "\r\n")
		if strings.HasPrefix(strings.TrimSpace(last), "```") {
			fences++
		}
	}
	slashes := len(last) - len(strings.TrimRight(last, `\`))
	return fences%2 == 1 || slashes%2 == 1
}

// Goes returns the text with a line end where the next line is to go on.
func Goes(text string) string {
	if n := len(text) - len(strings.TrimRight(text, `\`)); n%2 == 1 {
		text = text[:len(text)-1]
	}
	return text + "\n"
}

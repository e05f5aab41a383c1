// Package crowd is many sessions on one host: what they do, the provider that they
// ask, and how much memory and time they take.
package crowd

import (
	"bytes"
	"fmt"

	"github.com/uzda-dev/uzda/bench/internal/provider"
)

// An Order is what one session is to do. It stands in the words that are posted to
// it, so that a provider that remembers nothing can follow it.
type Order struct {
	Name  int // of the session
	Steps int // calls of a tool before the answer
	Shell int // the step that runs a command, from 1; 0: none does
	Cut   int // the request whose reply breaks off, once
	Hold  int // the request whose reply comes by half, and then nothing
	Ask   int // the step that needs an approval
	Hang  int // the step that runs a command that does not end by itself
}

const form = "order=%d,%d,%d,%d,%d,%d,%d;"

// Text is the order in words.
func (o Order) Text() string {
	return fmt.Sprintf("Read the pages one by one, then say that you are done. "+form, o.Name, o.Steps, o.Shell, o.Cut, o.Hold, o.Ask, o.Hang)
}

// read finds the order in a request.
func read(body []byte) (o Order, err error) {
	i := bytes.Index(body, []byte("order="))
	if i < 0 {
		return o, fmt.Errorf("the request has no order")
	}
	line, _, _ := bytes.Cut(body[i:], []byte(";"))
	_, err = fmt.Sscanf(string(line)+";", form, &o.Name, &o.Steps, &o.Shell, &o.Cut, &o.Hold, &o.Ask, &o.Hang)
	return o, err
}

// Names of the tools that a session is offered.
const (
	Echo = "echo"
	Send = "send" // needs an approval
	// Answer is how each session ends that comes to its end.
	Answer = "All pages are read."
)

// What sessions run in their shell.
const (
	Leaves = "sleep 300 & echo page" // it leaves a process behind
	Hangs  = "sleep 300 & sleep 300" // it does not end
)

// reply is what request n of an order is answered with.
func (o Order) reply(n int) []byte {
	switch {
	case n > o.Steps:
		return provider.End(n, Answer)
	case n == o.Shell:
		return provider.Call(n, "shell", fmt.Sprintf(`{"command":%q}`, Leaves))
	case n == o.Hang:
		return provider.Call(n, "shell", fmt.Sprintf(`{"command":%q}`, Hangs))
	case n == o.Ask:
		return provider.Call(n, Send, fmt.Sprintf(`{"n":%d}`, n))
	}
	return provider.Call(n, Echo, fmt.Sprintf(`{"n":%d}`, n))
}

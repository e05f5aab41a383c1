// Command embedded is Uzda's library in a program that does the task of the
// benchmark and no more, as the programs of the peers are: its size and its start
// are told beside theirs.
package main

import (
	"github.com/uzda-dev/uzda/bench/internal/ours"
	"github.com/uzda-dev/uzda/bench/internal/task"
)

func main() { task.Main(ours.Memory) }

package task

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/uzda-dev/uzda/bench/internal/proc"
)

// Main is the main function of a program that is one contestant: called as
// "PROGRAM as NAME TASK" it does the task, which is JSON, and prints the result.
// Without arguments it does nothing, so that its start can be timed; "PROGRAM peak"
// prints the most memory that it had by then, in bytes.
func Main(c Contestant) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := as(ctx, os.Args[1:], c, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func as(ctx context.Context, args []string, c Contestant, out io.Writer) error {
	if len(args) == 0 {
		return nil
	}
	if len(args) == 1 && args[0] == "peak" {
		_, err := fmt.Fprintln(out, proc.Peak())
		return err
	}
	if len(args) != 3 || args[0] != "as" {
		return fmt.Errorf("want \"as NAME TASK\", got %q", args)
	}
	t := &Task{}
	if err := json.Unmarshal([]byte(args[2]), t); err != nil {
		return fmt.Errorf("read the task: %w", err)
	}
	r, err := t.Run(ctx, c)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(r)
}

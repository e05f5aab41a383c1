package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda/bench/internal/task"
)

// child does a task as a contestant and prints the result as JSON.
func child(ctx context.Context, name, raw string, out io.Writer) error {
	all := entries("")
	i := slices.IndexFunc(all, func(e entry) bool { return e.name == name })
	if i < 0 || all[i].run == nil {
		return fmt.Errorf("there is no contestant %q in this program", name)
	}
	t := &task.Task{}
	if err := json.Unmarshal([]byte(raw), t); err != nil {
		return err
	}
	stop, err := profile(t.Profile)
	if err != nil {
		return err
	}
	r, err := t.Run(ctx, all[i].run)
	if err = errors.Join(err, stop()); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(r)
}

// profile begins to write what a contestant costs: CPU to name.cpu or allocations
// to name.allocs, each alone, since counting one disturbs the other. Without a
// name it does nothing.
func profile(name string) (stop func() error, err error) {
	if name == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(name, ".allocs") {
		runtime.MemProfileRate = 1 // all of them
		return func() error { return errors.Join(pprof.Lookup("allocs").WriteTo(f, 0), f.Close()) }, nil
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, err
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}

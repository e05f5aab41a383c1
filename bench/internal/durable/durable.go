// Package durable is Uzda doing the task with its journal in a file that survives a
// loss of power: the default.
package durable

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/uzda-dev/uzda/bench/internal/ours"
	"github.com/uzda-dev/uzda/bench/internal/task"
	"github.com/uzda-dev/uzda/sqlite"
)

// Run is the contestant.
func Run(ctx context.Context, t *task.Task) (string, error) {
	db, err := sqlite.Open(filepath.Join(t.Dir, "durable.uzda"))
	if err != nil {
		return "", err
	}
	answer, err := ours.Loop(ctx, t, db)
	return answer, errors.Join(err, db.Close())
}

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/uzda-dev/uzda"
	lib "modernc.org/sqlite/lib"
)

var errClosed = errors.New("the store is closed")

// fault is an error of the store itself: what was being done, what is wrong and
// how to mend it.
type fault struct {
	doing, path, wrong, hint string
	class, cause             error
}

func (f *fault) Error() string {
	s := fmt.Sprintf("%s store %s: %s", f.doing, f.path, f.wrong)
	if f.hint != "" {
		s += " (" + f.hint + ")"
	}
	return s
}

// Unwrap returns uzda.ErrStorage and the cause.
func (f *fault) Unwrap() []error { return []error{f.class, f.cause} }

// broken makes an error of the store of what is wrong with it.
func (db *DB) broken(doing, wrong, hint string, cause error) error {
	return &fault{doing: doing, path: db.path, wrong: wrong, hint: hint, class: uzda.ErrStorage, cause: cause}
}

// fault says what an error means. What callers branch on, and contexts, pass as
// they are.
func (db *DB) fault(doing string, err error) error {
	var known *fault
	var taken *uzda.Taken
	var busy *uzda.Busy
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known), errors.As(err, &taken), errors.As(err, &busy),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, uzda.ErrConflict), errors.Is(err, uzda.ErrFenced), errors.Is(err, uzda.ErrNotFound),
		errors.Is(err, uzda.ErrTooLarge), errors.Is(err, uzda.ErrBudget), errors.Is(err, uzda.ErrChild),
		errors.Is(err, uzda.ErrInUse), errors.Is(err, errBad):
		return err
	}
	wrong, hint := err.Error(), ""
	kind := code(err)
	if extended(err) == lib.SQLITE_IOERR_SHMSIZE { // no room for the log's index, 32 KB
		kind = lib.SQLITE_FULL
	}
	switch kind {
	case lib.SQLITE_FULL:
		wrong, hint = "the disk is full", "make room; nothing of this was written, what was there is intact"
	case lib.SQLITE_READONLY:
		wrong, hint = "the file is read-only", "give this user the right to write the file and its folder, or open a copy"
	case lib.SQLITE_CANTOPEN, lib.SQLITE_PERM:
		wrong, hint = "the file cannot be opened or made"+db.closed(), "check that this user may write the file and its folder"
	case lib.SQLITE_NOTADB:
		wrong, hint = "the file is no SQLite database", "name another file, or move this one away"
	case lib.SQLITE_CORRUPT:
		wrong, hint = "the file is corrupt", "put a backup in its place; `sqlite3 FILE .recover` saves what can be read"
	case lib.SQLITE_IOERR:
		wrong, hint = "the disk does not read or write: "+err.Error(), "check the disk and its mount"
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		wrong, hint = "another program keeps it locked", "end or resume the program that holds it"
	case lib.SQLITE_CONSTRAINT:
		wrong, hint = "the indexes do not fit the journals: "+err.Error(), "rebuild them"
	case lib.SQLITE_NOMEM:
		wrong, hint = "out of memory", ""
	}
	return db.broken(doing, wrong, hint, err)
}

// closed says why nothing can be made in the folder of the store, which SQLite does not
// tell: for example that the disk is read-only.
func (db *DB) closed() string {
	f, err := os.CreateTemp(filepath.Dir(db.path), ".probe-*")
	if err == nil {
		_ = errors.Join(f.Close(), os.Remove(f.Name()))
		return ""
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Sprintf(": in the folder %s nothing can be made: %v", filepath.Dir(db.path), err)
}

// errBad marks an error of what the caller gave, not of the store.
var errBad = errors.New("bad argument")

type badArgument struct{ error }

func (b badArgument) Is(target error) bool { return target == errBad }
func (b badArgument) Unwrap() error        { return b.error }

package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"iter"

	"github.com/uzda-dev/uzda"
)

const sqlEvents = `SELECT seq, head, body FROM event WHERE tenant = ? AND session = ? AND seq > ? ORDER BY seq LIMIT 256`

// pageBytes is about how much of a journal is read at a time.
const pageBytes = 1 << 20

// Read yields the events after a number. It reads pages, so that neither a slow
// caller nor one that appends holds anything up.
func (db *DB) Read(ctx context.Context, id uzda.SessionID, after uzda.Seq) iter.Seq2[uzda.Event, error] {
	return func(yield func(uzda.Event, error) bool) {
		if err := id.Check(); err != nil {
			yield(uzda.Event{}, badArgument{err})
			return
		}
		get := func(hash string) ([]byte, error) { return db.Get(ctx, hash, 0, -1) }
		after := max(after, 0)
		for n, l := range db.lines(ctx, id, after, true) {
			var e uzda.Event
			if l.err == nil {
				e, _, l.err = uzda.Open(l.line, get)
			}
			if l.err == nil && e.Seq != n {
				l.err = fmt.Errorf("the event at %d says that it is %d: %w", n, e.Seq, errDamaged)
			}
			if l.err != nil {
				yield(uzda.Event{}, db.damaged(id, n, l.err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// errDamaged is the cause where SQLite is content, but what it keeps is wrong.
var errDamaged = errors.New("the journal is damaged")

// damaged is an error of one session's journal; the others are not concerned.
func (db *DB) damaged(id uzda.SessionID, n uzda.Seq, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	doing := fmt.Sprintf("read event %d of session %s in", n, id)
	if code(err) != 0 {
		return db.fault(doing, err)
	}
	return db.broken(doing, err.Error(), "other sessions are not concerned; put a backup in its place if you have one", err)
}

// lineOf is a stored line or what hinders reading it.
type lineOf struct {
	line uzda.Line
	err  error
}

// lines yields the stored lines after a number. With whole, a number that is
// missing is an error, and the last.
func (db *DB) lines(ctx context.Context, id uzda.SessionID, after uzda.Seq, whole bool) iter.Seq2[uzda.Seq, lineOf] {
	return func(yield func(uzda.Seq, lineOf) bool) {
		for {
			var numbers []uzda.Seq
			var page []uzda.Line
			err := db.read(ctx, func(c *conn) (err error) {
				numbers, page, err = db.page(c, id, after)
				return err
			})
			if err != nil {
				yield(after+1, lineOf{err: err})
				return
			}
			if len(page) == 0 {
				return
			}
			for i, line := range page {
				if whole && numbers[i] != after+1 {
					yield(after+1, lineOf{err: fmt.Errorf("it is missing, the next one is %d: %w", numbers[i], errDamaged)})
					return
				}
				after = numbers[i]
				if !yield(after, lineOf{line: line}) {
					return
				}
			}
		}
	}
}

func (db *DB) page(c *conn, id uzda.SessionID, after uzda.Seq) (numbers []uzda.Seq, page []uzda.Line, err error) {
	bytes := 0
	err = c.each(sqlEvents, []any{db.o.Tenant, string(id), int64(after)}, func(row []driver.Value) error {
		l := uzda.Line{Head: data(row[1]), Body: data(row[2])}
		numbers, page = append(numbers, uzda.Seq(num(row[0]))), append(page, l)
		if bytes += len(l.Head) + len(l.Body); bytes > pageBytes {
			return errStop
		}
		return nil
	})
	if errors.Is(err, errStop) {
		err = nil
	}
	return numbers, page, err
}

// event reads one event inside a transaction.
func (db *DB) event(c *conn, id uzda.SessionID, n uzda.Seq) (uzda.Event, error) {
	row, err := c.one(sqlEvent, db.o.Tenant, string(id), int64(n))
	if err != nil {
		return uzda.Event{}, err
	}
	if row == nil {
		return uzda.Event{}, fmt.Errorf("event %d of session %s, which an input's id names: %w", n, id, uzda.ErrNotFound)
	}
	e, _, err := uzda.Open(uzda.Line{Head: data(row[0]), Body: data(row[1])}, func(hash string) ([]byte, error) {
		return db.getBlob(c, hash, 0, -1)
	})
	return e, err
}

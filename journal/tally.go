package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/uzda-dev/uzda"
)

// tally is the ledger of a folder: ledger.jsonl, one entry a line, read into a
// book as far as this handle has seen it.
type tally struct {
	mu   sync.Mutex
	book *book // nil: to be read from the beginning
	end  int64
}

const ledgerName = "ledger"

// Reserve implements uzda.Ledger.
func (j *Files) Reserve(ctx context.Context, h uzda.Hold) error {
	return j.count(ctx, entry{Reserve: []uzda.Hold{h}}, nil)
}

// Settle implements uzda.Ledger.
func (j *Files) Settle(ctx context.Context, s uzda.Settlement) error {
	return j.count(ctx, entry{Settle: []uzda.Settlement{s}}, nil)
}

// Spent implements uzda.Ledger.
func (j *Files) Spent(ctx context.Context, account string) (settled, held uzda.Money, err error) {
	err = j.ledger(ctx, func(*os.File) error {
		settled, held = j.tally.book.spent(account)
		return nil
	})
	return settled, held, err
}

// ledger calls do with the ledger locked and read to its end.
func (j *Files) ledger(ctx context.Context, do func(f *os.File) error) error {
	j.tally.mu.Lock()
	defer j.tally.mu.Unlock()
	unlock, err := j.disk.lock(ctx, filepath.Join(j.disk.dir, ledgerName+extLock))
	if err != nil {
		return err
	}
	defer unlock()
	path := filepath.Join(j.disk.dir, ledgerName+extEvents)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if missing(err) {
		if f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600); err == nil {
			err = j.disk.syncDir(j.disk.dir)
		}
	}
	if err != nil {
		return fmt.Errorf("open the ledger: %w", err)
	}
	defer f.Close()
	if err := j.replay(f); err != nil {
		j.tally.book = nil
		return fmt.Errorf("read the ledger: %w", err)
	}
	return do(f)
}

// replay takes in what others wrote, and cuts away what a crash tore.
func (j *Files) replay(f *os.File) error {
	t := &j.tally
	info, err := f.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	if t.book == nil || size < t.end {
		t.book, t.end = newBook(), 0
	}
	for raw, err := range lines(f, t.end, size) {
		if err != nil {
			return err
		}
		var e entry
		whole := raw[len(raw)-1] == '\n'
		if err := json.Unmarshal(raw, &e); err != nil {
			if whole && raw[0] != 0 {
				return fmt.Errorf("at byte %d: %w", t.end, err)
			}
			if err := j.disk.cut(f, t.end); err != nil {
				return err
			}
			j.warn(fmt.Sprintf("the ledger: a crash tore the last entry: %d bytes are cut away", size-t.end))
			return nil
		}
		if _, err := t.book.apply(e); err != nil {
			return fmt.Errorf("at byte %d: %w", t.end, err)
		}
		t.end += int64(len(raw))
		if !whole {
			if err := j.disk.writeAt(f, []byte{'\n'}, size); err != nil {
				return err
			}
			t.end++
		}
	}
	return nil
}

// count writes an entry into the ledger, then calls then, and takes the entry
// back if that fails. Meanwhile nobody else sees it.
func (j *Files) count(ctx context.Context, e entry, then func() error) error {
	return j.ledger(ctx, func(f *os.File) error {
		t := &j.tally
		undo, err := t.book.apply(e)
		if err != nil {
			return err
		}
		line, err := json.Marshal(e)
		if err != nil {
			undo()
			return err
		}
		line = append(line, '\n')
		err = j.disk.writeAt(f, line, t.end)
		if err != nil {
			err = fmt.Errorf("write the ledger: %w", err)
		} else if then != nil {
			err = then()
		}
		if err == nil {
			t.end += int64(len(line))
			return nil
		}
		undo()
		if back := j.disk.cut(f, t.end); back != nil {
			t.book = nil // what stands there counts as spent
			return errors.Join(err, fmt.Errorf("take back an entry of the ledger: %w", back))
		}
		return err
	})
}

package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/sqlite"
)

// block takes the lock that writes need, as another program would, and returns
// what frees it.
func block(t testing.TB, path string) (free func()) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	free = sync.OnceFunc(func() {
		if _, err := db.Exec("ROLLBACK"); err != nil {
			t.Error(err)
		}
		db.Close()
	})
	t.Cleanup(free)
	return free
}

// TestCancelled: a caller whose context ends while another program has the lock
// leaves at once, and leaves nothing behind; one that waits gets through.
// case:S03
func TestCancelled(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.uzda")
	db := open(t, path, sqlite.Options{})
	add(t, db, "one", note("before"))
	free := block(t, path)
	waits := func(n int) {
		for db.Queued() < n {
			time.Sleep(time.Millisecond)
		}
	}
	impatient, leave := context.WithCancel(ctx)
	first, second, patient := make(chan error), make(chan error), make(chan error)
	for i, c := range []chan error{first, second, patient} { // the first tries for all, the others wait behind it
		go func() {
			c0, at := impatient, uzda.At{Head: uzda.AnyHead}
			switch c {
			case patient:
				c0 = ctx
			case first:
				at.Reserve = []uzda.Hold{{ID: "h", Amount: 1, Accounts: []uzda.Account{{Name: "a"}}}}
			}
			_, err := db.Append(c0, "one", at, note([]string{"first", "second", "patient"}[i]))
			c <- err
		}()
		waits(i + 1)
	}
	leave()
	for _, c := range []chan error{first, second} {
		if err := <-c; !errors.Is(err, context.Canceled) || errors.Is(err, uzda.ErrStorage) {
			t.Errorf("error %v, want that of the context", err)
		}
	}
	if n := len(read(t, db, "one")); n != 1 {
		t.Errorf("%d events are read while another program writes, want 1", n)
	}
	free()
	if err := <-patient; err != nil {
		t.Errorf("the one that waited: %v", err)
	}
	evs := read(t, db, "one")
	if len(evs) != 2 || evs[1].Body.(uzda.Noted).ID != "patient" {
		t.Errorf("events %v, want before and patient", evs)
	}
	if _, held, err := db.Spent(ctx, "a"); held != 0 || err != nil {
		t.Errorf("the cancelled append holds %s, %v", held, err)
	}
	sound(t, db)
}

// TestBatch: appends that share a transaction fail alone.
func TestBatch(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.uzda")
	db := open(t, path, sqlite.Options{})
	add(t, db, "same", note("first"))
	free := block(t, path)
	const n = 120
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			at := uzda.At{Head: uzda.AnyHead}
			switch i % 3 {
			case 1: // fails after it has written to the ledger
				at.Reserve = []uzda.Hold{{ID: fmt.Sprint(i), Amount: 5, Accounts: []uzda.Account{{Name: "wide"}, {Name: "tight", Limit: 1}}}}
			case 2: // only the first of these finds its head
				at.Head = 1
			}
			id := uzda.SessionID("same")
			if i%3 == 0 {
				id = uzda.SessionID(fmt.Sprint("own", i))
			}
			_, errs[i] = db.Append(ctx, id, at, note(fmt.Sprint(i)))
		})
	}
	for db.Queued() < n {
		time.Sleep(time.Millisecond)
	}
	free()
	wg.Wait()
	won := 0
	for i, err := range errs {
		switch {
		case i%3 == 0 && err != nil:
			t.Errorf("append %d: %v", i, err)
		case i%3 == 1 && !errors.Is(err, uzda.ErrBudget):
			t.Errorf("append %d: %v, want ErrBudget", i, err)
		case i%3 == 2 && err == nil:
			won++
		case i%3 == 2 && !errors.Is(err, uzda.ErrConflict):
			t.Errorf("append %d: %v, want ErrConflict", i, err)
		}
		if i%3 == 0 && len(read(t, db, uzda.SessionID(fmt.Sprint("own", i)))) != 1 {
			t.Errorf("append %d is not there", i)
		}
	}
	if won != 1 || len(read(t, db, "same")) != 2 {
		t.Errorf("%d of the appends at head 1 succeeded, the session has %d events", won, len(read(t, db, "same")))
	}
	if _, held, err := db.Spent(ctx, "wide"); held != 0 || err != nil {
		t.Errorf("failed appends hold %s, %v", held, err)
	}
	sound(t, db)
}

// TestFull: a file that cannot grow fails the appends that do not fit with an
// error that says so, and only those; room makes it work again.
// case:S08
func TestFull(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.uzda")
	db := open(t, path, sqlite.Options{})
	add(t, db, "one", note("before"))
	if err := db.Pragma("max_page_count = 60"); err != nil { // 240 KB
		t.Fatal(err)
	}
	free := block(t, path)
	big := uzda.Noted{ID: "big", Text: strings.Repeat("x", 1<<20)}
	var wg sync.WaitGroup
	var bigErr error
	small := make([]error, 8)
	wg.Go(func() { _, bigErr = db.Append(ctx, "big", uzda.At{Head: uzda.AnyHead}, big) })
	for i := range small {
		wg.Go(func() {
			_, small[i] = db.Append(ctx, "one", uzda.At{Head: uzda.AnyHead}, note(fmt.Sprint(i)))
		})
	}
	for db.Queued() < 1+len(small) {
		time.Sleep(time.Millisecond)
	}
	free()
	wg.Wait()
	storage(t, bigErr, "append to session big", path, "the disk is full", "make room")
	if err := errors.Join(small...); err != nil {
		t.Errorf("small appends beside it: %v", err)
	}
	if n := len(read(t, db, "big")); n != 0 {
		t.Errorf("%d events of the append that failed", n)
	}
	if err := db.Pragma("max_page_count = 1000000"); err != nil {
		t.Fatal(err)
	}
	add(t, db, "big", big)
	if evs := read(t, db, "big"); len(evs) != 1 || evs[0].Body.(uzda.Noted).Text != big.Text {
		t.Error("the append is not there once there is room")
	}
	if n := len(read(t, db, "one")); n != 9 {
		t.Errorf("session one has %d events, want 9", n)
	}
	sound(t, db)
}

// TestSize: what is stored is at most twice what is new: outputs of 5 KB, and
// one string of 10 MB.
// case:S09
func TestSize(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		big  int
	}{{"5 KB outputs", 0}, {"and one of 10 MB", 10 << 20}} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			db := open(t, filepath.Join(dir, "store.uzda"), sqlite.Options{})
			epoch, err := db.Acquire(ctx, "one", "me")
			if err != nil {
				t.Fatal(err)
			}
			content := 0
			put := func(n int) {
				b := uzda.Returned{Result: uzda.ToolResult{Use: "1.0", Blocks: uzda.Say(strings.Repeat("z", n))}}
				if _, err := db.Append(ctx, "one", uzda.At{Head: uzda.AnyHead, Epoch: epoch}, b); err != nil {
					t.Fatal(err)
				}
				content += n
			}
			if test.big > 0 {
				put(test.big)
			}
			for range 100 {
				put(5000)
			}
			if test.big == 0 { // the log alone may have 4 MB while the store is open
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if got := weigh(t, dir); got > 2*content {
				t.Errorf("%d bytes are stored for %d", got, content)
			} else {
				t.Logf("%d bytes are stored for %d: %.2f times", got, content, float64(got)/float64(content))
			}
		})
	}
}

func weigh(t testing.TB, dir string) (n int) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().IsRegular() {
			n += int(info.Size())
		}
	}
	return n
}

// TestBlobRange: ranges of a blob of several parts, at their borders.
func TestBlobRange(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "store.uzda"), sqlite.Options{})
	const part = 256 << 10
	whole := make([]byte, 3*part+17)
	for i := range whole {
		whole[i] = byte(i * 7 >> 3)
	}
	hash, err := db.Put(ctx, whole)
	if err != nil {
		t.Fatal(err)
	}
	for _, off := range []int{0, 1, part - 1, part, part + 1, 3 * part, len(whole) - 1, len(whole), len(whole) + 5} {
		for _, n := range []int{0, 1, 2, part, part + 1, 2*part + 2, len(whole), -1} {
			end := min(off+n, len(whole))
			if n < 0 {
				end = len(whole)
			}
			want := whole[min(off, len(whole)):max(end, min(off, len(whole)))]
			got, err := db.Get(ctx, hash, int64(off), int64(n))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("get %d bytes at %d: %d bytes, %v; want %d", n, off, len(got), err, len(want))
			}
		}
	}
	if _, err := db.Get(ctx, hash, -1, 1); err == nil {
		t.Error("a negative offset is taken")
	}
}

// TestTenants: handles of two tenants share a file, and nothing in it.
func TestTenants(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.uzda")
	a, b := open(t, path, sqlite.Options{Tenant: "a"}), open(t, path, sqlite.Options{Tenant: "b"})
	at := uzda.At{Head: uzda.AnyHead, Claim: []uzda.Claim{{Key: "k", By: uzda.Holder{Session: "one", Use: "1.0"}}},
		Reserve: []uzda.Hold{{ID: "h", Amount: 3, Accounts: []uzda.Account{{Name: "day"}}}}}
	if _, err := a.Append(ctx, "one", at, note("n")); err != nil {
		t.Fatal(err)
	}
	hash, err := a.Put(ctx, []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Keep(ctx, "one", []byte("c")); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Acquire(ctx, "one", "me"); err != nil {
		t.Fatal(err)
	}
	if n := len(read(t, b, "one")); n != 0 {
		t.Errorf("tenant b reads %d events", n)
	}
	for s, err := range b.List(ctx) {
		t.Errorf("tenant b lists %s, %v", s.ID, err)
	}
	if _, err := b.Get(ctx, hash, 0, -1); !errors.Is(err, uzda.ErrNotFound) {
		t.Errorf("tenant b gets a blob: %v", err)
	}
	if c, err := b.Kept(ctx, "one"); c != nil || err != nil {
		t.Errorf("tenant b has a checkpoint: %q, %v", c, err)
	}
	if _, held, err := b.Spent(ctx, "day"); held != 0 || err != nil {
		t.Errorf("tenant b holds %s, %v", held, err)
	}
	if _, err := b.Acquire(ctx, "one", "me"); err != nil {
		t.Errorf("tenant b acquires its session: %v", err)
	}
	if evs, err := b.Append(ctx, "one", at, note("n")); err != nil || evs[0].Seq != 1 {
		t.Errorf("tenant b appends: %v", err)
	}
}

// TestClosed: a closed handle says so, its leases are free, and its lock files
// are gone.
func TestClosed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.uzda")
	a, b := open(t, path, sqlite.Options{}), open(t, path, sqlite.Options{})
	if _, err := a.Acquire(ctx, "one", "a"); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := a.Append(ctx, "one", uzda.At{Head: uzda.AnyHead}, note("x"))
	storage(t, err, "the store is closed")
	for _, err := range a.Read(ctx, "one", 0) {
		storage(t, err, "the store is closed")
	}
	if _, err := a.Acquire(ctx, "one", "a"); !errors.Is(err, uzda.ErrStorage) {
		t.Errorf("acquire: %v", err)
	}
	if epoch, err := b.Acquire(ctx, "one", "b"); err != nil || epoch != 2 {
		t.Errorf("acquire after the other has closed: %d, %v", epoch, err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + ".locks"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the lock files stay: %v", err)
	}
}

package uzda

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"
)

// ErrChild: another session began this one, and is there: it goes with that one.
var ErrChild = errors.New("the session is a part of another")

// ErrInUse: other programs are at work with the store.
var ErrInUse = errors.New("other programs are at work with the store")

// A Remover removes sessions for good. What stays of one is its epoch, so that a
// runner that was stopped for long is fenced also from a new session of the same
// id; what it spent in accounts that others share, as that of a day; and its
// once-keys, which nobody holds then, so that what was done once is not done again.
type Remover interface {
	// Remove removes a session and those that it began by delegation, as one: its
	// events, the ids of its inputs, its index and checkpoint, and the holds and
	// accounts that it alone has (see [SessionID.Owns]). The caller holds the lease,
	// which ends with it; else it is ErrFenced. A session that another one began is
	// ErrChild while that is there. If one that it began is held, it is *Busy; if it
	// has no event, ErrNotFound. seen are the heads, by session, of all that the caller
	// has looked at: if one of them has moved, or there is one that it does not know,
	// it is ErrConflict, so that what was posted just now is not lost; with nil
	// nothing is compared. After an error nothing was removed; after a crash the
	// session is gone, or it is there and can be removed. It returns what was
	// removed, the session first.
	Remove(ctx context.Context, id SessionID, epoch int64, seen map[SessionID]Seq) ([]SessionID, error)
	// Sweep removes the blobs that no event names, and returns their bytes. One
	// that was put within [BlobGrace] stays, since the event that names it may
	// still come. It reads all journals: call it once after many a Remove.
	Sweep(ctx context.Context) (bytes int64, err error)
}

const (
	// BlobGrace is how long a blob that no event names stays after it was put.
	BlobGrace = 24 * time.Hour
	// BlobFresh is how old the time may be that a store has of a blob's last Put.
	// One that is put again later than that gets the new time.
	BlobFresh = time.Hour
)

// A Sizer knows how much room its store takes.
type Sizer interface {
	// Size is in bytes: those on the disk, and those of them that hold something. The
	// others will be used again.
	Size(ctx context.Context) (disk, used int64, err error)
}

// A Shrinker gives the room that holds nothing any more back to the disk. That
// may take as long, and as much room beside the store, as copying it.
type Shrinker interface {
	// Shrink returns ErrInUse, and does nothing, while others run sessions.
	Shrink(ctx context.Context) error
}

// Unseen is ErrConflict if a session that is to go has another head than the caller
// of Remove has seen.
func Unseen(seen map[SessionID]Seq, id SessionID, head Seq) error {
	if was, ok := seen[id]; seen == nil || ok && was == head {
		return nil
	}
	return fmt.Errorf("session %s has changed meanwhile: %w", id, ErrConflict)
}

// Owns says whether a hold or an account is this session's alone, by the name that
// the loop gives it: it counts nothing that outlives the session.
func (id SessionID) Owns(name string) bool {
	return name == "session:"+string(id) ||
		strings.HasPrefix(name, string(id)+"/") || strings.HasPrefix(name, "turn:"+string(id)+"/")
}

// Size is how many bytes an event takes in a store, with the blobs that it names.
func (l Line) Size() int64 {
	n := int64(len(l.Head) + len(l.Body))
	for _, size := range BlobsIn(l.Body) {
		n += size
	}
	return n
}

// BlobsIn yields the hashes in a stored body that may name blobs, with the sizes
// that stand beside them. It takes for one whatever looks like a hash, so that it
// misses none, whichever field it is in.
func BlobsIn(body []byte) iter.Seq2[string, int64] {
	const long = 64 // digits
	return func(yield func(string, int64) bool) {
		// Each row of 64 digits has one at a place 63, 127 and so on.
		for at := long - 1; at < len(body); at += long {
			if !digit(body[at]) {
				continue
			}
			from, to := at, at+1
			for from > 0 && digit(body[from-1]) {
				from--
			}
			for to < len(body) && digit(body[to]) {
				to++
			}
			if to-from == long && !yield(string(body[from:to]), sizeAfter(body[to:])) {
				return
			}
			at += (to - 1 - at) / long * long // it has been looked at
		}
	}
}

func digit(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' }

// sizeAfter reads the size that follows a hash, 0 if none does.
func sizeAfter(rest []byte) int64 {
	text, ok := strings.CutPrefix(string(rest[:min(len(rest), 32)]), `","size":`)
	if !ok {
		return 0
	}
	end := 0
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(text[:end], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/uzda-dev/uzda"
)

// largeSession is from how many bytes on a session is named as large.
const largeSession = 64 << 20

// bulk is a number of bytes for people.
func bulk(n int64) string {
	switch f := float64(n); {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case f < 999.5e3:
		return fmt.Sprintf("%.0f KB", f/1e3)
	case f < 999.95e6:
		return fmt.Sprintf("%.1f MB", f/1e6)
	default:
		return fmt.Sprintf("%.1f GB", f/1e9)
	}
}

// warnSize says once a day that the store has become large.
func (w *work) warnSize(ctx context.Context) {
	z, ok := w.store.(uzda.Sizer)
	limit := int64(w.cfg.Store.Warn) * 1e6
	if !ok || limit == 0 {
		return
	}
	stamp := filepath.Join(w.data(), "size-looked-at")
	if info, err := os.Stat(stamp); err == nil && w.now().Sub(info.ModTime()).Abs() < 24*time.Hour {
		return
	}
	if os.MkdirAll(w.data(), 0o700) != nil || os.WriteFile(stamp, nil, 0o600) != nil || os.Chtimes(stamp, time.Time{}, w.now()) != nil {
		return // a run needs no warning that would come each time
	}
	if disk, _, err := z.Size(ctx); err == nil && disk > limit {
		fmt.Fprintf(w.err, "uzda: the store of sessions takes %s (%s). To look what old ones take: uzda sessions prune --older 30d --dry-run. It is said from %s on (store.warn_mb), once a day.\n",
			bulk(disk), safe(storePath(w.cfg)), bulk(limit))
	}
}

// large names the sessions that alone take much.
func large(rows []uzda.SessionInfo) (out []string) {
	parents := map[uzda.SessionID]uzda.SessionID{}
	for _, r := range rows {
		parents[r.ID] = r.Parent
	}
	for _, r := range rows {
		if r.Size > largeSession {
			root := r.ID     // what another session began goes with that one
			for range rows { // in a damaged store they may stand in a circle
				up := parents[root]
				if _, there := parents[up]; up == "" || !there {
					break
				}
				root = up
			}
			out = append(out, fmt.Sprintf("session %s alone takes about %s: uzda sessions rm %s", r.ID, bulk(r.Size), root))
		}
	}
	return out
}

// examineSize looks at how large the store is.
func (w *work) examineSize(ctx context.Context, found *findings) {
	z, ok := w.store.(uzda.Sizer)
	if !ok {
		return
	}
	disk, used, err := z.Size(ctx)
	if err != nil {
		found.bad("size", err.Error(), "")
		return
	}
	text := "the store takes " + bulk(disk)
	if free := disk - used; free > disk/10 {
		text += fmt.Sprintf("; %s of that hold nothing, and will be used again", bulk(free))
	}
	limit := int64(w.cfg.Store.Warn) * 1e6
	switch free := disk - used; {
	case free > 64<<20 && free > disk/4:
		found.note("size", text, "to give that back to the disk: uzda sessions prune --older 100w --shrink")
	case limit > 0 && disk > limit:
		found.note("size", text, "to look what old sessions take: uzda sessions prune --older 30d --dry-run")
	default:
		found.good("size", "%s", text)
	}
	if rows, err := w.infos(ctx); err == nil {
		for _, l := range large(rows) {
			found.note("size", l, "")
		}
	}
}

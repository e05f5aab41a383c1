package sqlite

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
)

const (
	// Where a session ends, and who holds it: either may be missing.
	sqlTip = `SELECT s.head, s.link, l.epoch, l.until
		FROM (SELECT ? AS tenant, ? AS session) k
		LEFT JOIN session s ON s.tenant = k.tenant AND s.session = k.session
		LEFT JOIN lease l ON l.tenant = k.tenant AND l.session = k.session`

	sqlInsertEvent = `INSERT INTO event (tenant, session, seq, head, body) VALUES (?, ?, ?, ?, ?)`
	sqlEvent       = `SELECT head, body FROM event WHERE tenant = ? AND session = ? AND seq = ?`
	sqlInsertInput = `INSERT INTO input (tenant, session, id, seq) VALUES (?, ?, ?, ?)`
	sqlInput       = `SELECT seq FROM input WHERE tenant = ? AND session = ? AND id = ?`

	sqlOnce  = `SELECT session, use FROM once WHERE tenant = ? AND key = ?`
	sqlClaim = `INSERT INTO once (tenant, key, session, use) VALUES (?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET session = excluded.session, use = excluded.use`
)

// tip is where a session ended when this handle last wrote to it, and its index
// there. The link proves that it still ends there.
type tip struct {
	head uzda.Seq
	link string
	info uzda.SessionInfo
}

// maxKnown bounds the tips that a handle remembers.
const maxKnown = 4096

// appending is one append. Sealing is most of its work, so it is done by the
// caller, after the tip that this handle knows, and done again by the writer
// only where the session has moved since.
type appending struct {
	db     *DB
	id     uzda.SessionID
	at     uzda.At
	bodies []uzda.Body

	from  string // the link that the sealed events go after
	ready bool   // they are sealed
	evs   []uzda.Event
	lines []uzda.Line
	blobs map[string][]byte // of the strings that were taken out
	tip   tip               // after it
	out   []uzda.Event
}

// Append stores bodies in one transaction with what at reserves, settles and
// claims, and with the indexes.
func (db *DB) Append(ctx context.Context, id uzda.SessionID, at uzda.At, bodies ...uzda.Body) ([]uzda.Event, error) {
	if err := uzda.Allowed(id, at, bodies); err != nil {
		return nil, badArgument{err}
	}
	a := &appending{db: db, id: id, at: at, bodies: bodies}
	known, ok := db.tip(id)
	if ok && at.Fits(known.head) == nil {
		if err := a.seal(known.head, known.link, bodies); err != nil {
			return nil, fmt.Errorf("append to session %s: %w", id, err)
		}
		a.tip = known
	}
	if err := db.write(ctx, a.weight(), a.run); err != nil {
		return nil, db.fault("append to session "+string(id)+" in", err)
	}
	db.remember(id, a.tip)
	db.watcher.tell(id, a.tip.head)
	return a.out, nil
}

func (a *appending) weight() int {
	n := 0
	for _, b := range a.blobs {
		n += len(b)
	}
	return n
}

// seal numbers and encodes bodies after a tip.
func (a *appending) seal(head uzda.Seq, link string, bodies []uzda.Body) error {
	a.from, a.ready = link, false
	a.evs = make([]uzda.Event, len(bodies))
	a.lines = make([]uzda.Line, len(bodies))
	now := a.db.o.Now()
	for i, b := range bodies {
		e := &a.evs[i]
		*e = uzda.Event{Seq: head + uzda.Seq(i) + 1, At: now, By: a.at.Epoch, Prev: link, Body: b}
		line, err := uzda.Seal(e, a.spill)
		if err != nil {
			return badArgument{err}
		}
		a.lines[i], link = line, line.Link
	}
	a.ready = true
	return nil
}

// spill keeps a long string for the transaction.
func (a *appending) spill(data []byte) (string, error) {
	hash := uzda.Hash(data)
	if a.blobs == nil {
		a.blobs = map[string][]byte{}
	}
	a.blobs[hash] = data
	return hash, nil
}

// run is the append inside its transaction.
func (a *appending) run(c *conn) error {
	tenant := a.db.o.Tenant
	row, err := c.one(sqlTip, tenant, string(a.id))
	if err != nil {
		return err
	}
	head, link := uzda.Seq(num(row[0])), text(row[1])
	if err := current(a.id, a.at.Epoch, num(row[2]), num(row[3])); err != nil {
		return err
	}
	if err := a.at.Fits(head); err != nil {
		return fmt.Errorf("append to session %s: %w", a.id, err)
	}
	bodies, old, err := a.sift(c)
	if err != nil {
		return err
	}
	if err := a.follow(c, head, link, bodies); err != nil {
		return err
	}
	if len(bodies) > 0 {
		if err := a.account(c); err != nil {
			return err
		}
		if err := a.store(c, head); err != nil {
			return err
		}
	}
	a.out = merge(a.evs, old)
	return nil
}

// follow makes sure that what is sealed goes after the tip of the journal, and
// that the index is the one of that tip.
func (a *appending) follow(c *conn, head uzda.Seq, link string, bodies []uzda.Body) error {
	if !a.ready || a.from != link || len(a.lines) != len(bodies) {
		if err := a.seal(head, link, bodies); err != nil {
			return err
		}
	}
	if a.tip.link != link || a.tip.head != head || a.tip.info.ID == "" {
		info, err := a.db.info(c, a.id)
		if err != nil {
			return err
		}
		a.tip = tip{head, link, info}
	}
	return nil
}

// sift parts the bodies that are new from those whose id the session already
// has: old has an event at the place of each, and nil where a body is new.
func (a *appending) sift(c *conn) (bodies []uzda.Body, old []*uzda.Event, err error) {
	var seen map[string]int // places of new ids
	for i, b := range a.bodies {
		id := inputID(b)
		if id == "" {
			continue
		}
		first := &uzda.Event{}
		if at, ok := seen[id]; ok {
			first.Seq = uzda.Seq(-at - 1) // merge finds it among the new ones
		} else {
			row, err := c.one(sqlInput, a.db.o.Tenant, string(a.id), id)
			if err != nil {
				return nil, nil, err
			}
			if row == nil {
				if seen == nil {
					seen = map[string]int{}
				}
				seen[id] = i
				continue
			}
			if *first, err = a.db.event(c, a.id, uzda.Seq(num(row[0]))); err != nil {
				return nil, nil, err
			}
		}
		if old == nil {
			old = make([]*uzda.Event, len(a.bodies))
		}
		old[i] = first
	}
	if old == nil {
		return a.bodies, nil, nil
	}
	for i, b := range a.bodies {
		if old[i] == nil {
			bodies = append(bodies, b)
		}
	}
	return bodies, old, nil
}

// merge puts the events that were there already at their places.
func merge(evs []uzda.Event, old []*uzda.Event) []uzda.Event {
	if old == nil {
		return evs
	}
	out := make([]uzda.Event, len(old))
	for i, e := range old {
		switch {
		case e == nil:
			out[i], evs = evs[0], evs[1:]
		case e.Seq < 0:
			out[i] = out[-e.Seq-1]
		default:
			out[i] = *e
		}
	}
	return out
}

// inputID is the id as it is stored: what is not UTF-8 is replaced as the
// encoding does.
func inputID(b uzda.Body) string {
	id := uzda.InputID(b)
	if !utf8.ValidString(id) {
		id = string([]rune(id))
	}
	return id
}

// account does what the append reserves, settles and claims. What is settled
// makes room for what is reserved.
func (a *appending) account(c *conn) error {
	for _, s := range a.at.Settle {
		if err := a.db.settle(c, s); err != nil {
			return err
		}
	}
	for _, h := range a.at.Reserve {
		if err := a.db.reserve(c, h); err != nil {
			return err
		}
	}
	for _, k := range a.at.Claim {
		if err := a.db.claim(c, k); err != nil {
			return err
		}
	}
	return nil
}

func (db *DB) claim(c *conn, k uzda.Claim) error {
	row, err := c.one(sqlOnce, db.o.Tenant, k.Key)
	if err != nil {
		return err
	}
	if row != nil {
		by := uzda.Holder{Session: uzda.SessionID(text(row[0])), Use: uzda.UseID(text(row[1]))}
		if by == k.By {
			return nil
		}
		if by != k.Over {
			return &uzda.Taken{Key: k.Key, By: by}
		}
	}
	_, err = c.exec(sqlClaim, db.o.Tenant, k.Key, string(k.By.Session), string(k.By.Use))
	return err
}

// store writes what was sealed: blobs, events and indexes.
func (a *appending) store(c *conn, head uzda.Seq) error {
	tenant, id := a.db.o.Tenant, string(a.id)
	for hash, data := range a.blobs {
		if err := a.db.putBlob(c, hash, data); err != nil {
			return err
		}
	}
	before := a.tip.info
	for i, e := range a.evs {
		line := a.lines[i]
		if _, err := c.exec(sqlInsertEvent, tenant, id, int64(e.Seq), line.Head, line.Body); err != nil {
			return err
		}
		if input := inputID(e.Body); input != "" {
			if _, err := c.exec(sqlInsertInput, tenant, id, input, int64(e.Seq)); err != nil {
				return err
			}
		}
		a.tip.info.Note(e)
		a.tip.info.Size += line.Size()
		a.tip.head, a.tip.link = e.Seq, line.Link
	}
	if head == 0 {
		return a.db.insertSession(c, a.tip)
	}
	return a.db.updateSession(c, before, a.tip)
}

// tip returns what this handle knows of a session's end.
func (db *DB) tip(id uzda.SessionID) (tip, bool) {
	db.mu.Lock()
	defer db.mu.Unlock()
	t, ok := db.known[id]
	return t, ok
}

func (db *DB) remember(id uzda.SessionID, t tip) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if _, ok := db.known[id]; !ok && len(db.known) >= maxKnown {
		for old := range db.known { // any: it only costs sealing once again
			delete(db.known, old)
			break
		}
	}
	db.known[id] = t
}

// Package commits writes by hand what a durable run of Uzda commits: the same rows
// in the same transactions, with the same driver and settings, and nothing besides.
// It looks nothing up. It is what durability costs whoever writes it.
package commits

import (
	"context"
	"database/sql/driver"
	"errors"
	"path/filepath"

	engine "modernc.org/sqlite"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/bench/internal/ours"
	"github.com/uzda-dev/uzda/bench/internal/task"
	"github.com/uzda-dev/uzda/journal"
)

// A commit is what one transaction writes: an append with what it reserves and
// settles, or a checkpoint.
type commit struct {
	seq     uzda.Seq // of the first line
	lines   []uzda.Line
	index   uzda.SessionInfo // after them
	reserve []uzda.Hold
	settle  []settlement
	kept    []byte
}

// A settlement is one with the hold that it ends.
type settlement struct {
	uzda.Hold
	spent uzda.Money
}

// recorder is a store in memory that notes what a durable one would commit. It
// does not say where it has its events, so that it gets checkpoints too.
type recorder struct {
	store
	index   uzda.SessionInfo
	holds   map[string]uzda.Hold
	commits []commit
}

type store interface {
	uzda.Store
	uzda.Ledger
	uzda.Blobs
	uzda.Keeper
}

// Append implements uzda.Journal.
func (r *recorder) Append(ctx context.Context, id uzda.SessionID, at uzda.At, bodies ...uzda.Body) ([]uzda.Event, error) {
	evs, err := r.store.Append(ctx, id, at, bodies...)
	if err != nil {
		return evs, err
	}
	c := commit{seq: evs[0].Seq, reserve: at.Reserve}
	for _, s := range at.Settle {
		c.settle = append(c.settle, settlement{r.holds[s.ID], s.Spent})
	}
	for _, h := range at.Reserve {
		r.holds[h.ID] = h
	}
	r.index.ID = id
	for _, e := range evs {
		r.index.Note(e)
		line, err := uzda.Seal(&e, nil) // sealed again, it is the same
		if err != nil {
			return nil, err
		}
		r.index.Size += line.Size()
		c.lines = append(c.lines, line)
	}
	c.index = r.index
	r.commits = append(r.commits, c)
	return evs, nil
}

// Keep implements uzda.Keeper.
func (r *recorder) Keep(ctx context.Context, id uzda.SessionID, data []byte) error {
	r.commits = append(r.commits, commit{kept: data})
	return r.store.Keep(ctx, id, data)
}

// Run is the contestant. It records a run in memory, and is measured from there on.
// No string of the task is so long that it would be a blob.
func Run(ctx context.Context, t *task.Task) (string, error) {
	r := &recorder{store: journal.Memory(), holds: map[string]uzda.Hold{}}
	answer, err := ours.Loop(ctx, t, r)
	if err != nil {
		return "", err
	}
	t.Restart()
	return answer, write(filepath.Join(t.Dir, "by-hand.db"), string(r.index.ID), r.commits)
}

// pragmas are those of Uzda's store; what is durable depends on them.
const pragmas = "?_pragma=busy_timeout(0)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=temp_store(MEMORY)&_pragma=journal_size_limit(4194304)"

// The tables of Uzda's store that the run writes to, but for the tenant.
const schema = `
	CREATE TABLE event (id INTEGER PRIMARY KEY, session TEXT NOT NULL, seq INTEGER NOT NULL, head BLOB NOT NULL, body BLOB NOT NULL, UNIQUE (session, seq));
	CREATE TABLE session (session TEXT PRIMARY KEY, head INTEGER NOT NULL, link TEXT NOT NULL, agent TEXT NOT NULL, title TEXT NOT NULL, status TEXT NOT NULL,
		created INTEGER NOT NULL, updated INTEGER NOT NULL, steps INTEGER NOT NULL, tokens INTEGER NOT NULL, cost INTEGER NOT NULL, bytes INTEGER NOT NULL) WITHOUT ROWID;
	CREATE TABLE hold (id TEXT PRIMARY KEY, accounts TEXT NOT NULL, amount INTEGER NOT NULL, spent INTEGER) WITHOUT ROWID;
	CREATE TABLE account (name TEXT PRIMARY KEY, settled INTEGER NOT NULL, held INTEGER NOT NULL) WITHOUT ROWID;
	CREATE TABLE kept (session TEXT PRIMARY KEY, data BLOB NOT NULL)`

const (
	sqlEvent   = "INSERT INTO event (session, seq, head, body) VALUES (?, ?, ?, ?)"
	sqlSession = `INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET head = excluded.head, link = excluded.link,
		status = excluded.status, updated = excluded.updated, steps = excluded.steps, tokens = excluded.tokens, cost = excluded.cost, bytes = excluded.bytes`
	sqlHold   = "INSERT INTO hold (id, accounts, amount) VALUES (?, ?, ?)"
	sqlSettle = "UPDATE hold SET spent = ? WHERE id = ?"
	sqlCharge = "INSERT INTO account VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET settled = settled + excluded.settled, held = held + excluded.held"
	sqlKeep   = "INSERT INTO kept VALUES (?, ?) ON CONFLICT DO UPDATE SET data = excluded.data"
)

func write(path, session string, commits []commit) (err error) {
	raw, err := (&engine.Driver{}).Open(path + pragmas)
	if err != nil {
		return err
	}
	c := &conn{raw: raw, stmts: map[string]driver.StmtExecContext{}}
	defer func() { err = errors.Join(err, c.close()) }()
	c.exec(schema)
	for _, one := range commits {
		if err := c.commit(session, one); err != nil {
			return err
		}
	}
	return nil
}

// conn is the driver's connection without database/sql, which costs more than an
// insert.
type conn struct {
	raw   driver.Conn
	stmts map[string]driver.StmtExecContext
	args  []driver.NamedValue
	err   error // the first
}

func (c *conn) commit(session string, one commit) error {
	c.exec("BEGIN IMMEDIATE")
	for _, s := range one.settle {
		for _, a := range s.Accounts {
			c.exec(sqlCharge, a.Name, int64(s.spent), -int64(s.Amount))
		}
		c.exec(sqlSettle, int64(s.spent), s.ID)
	}
	for _, h := range one.reserve {
		names := ""
		for _, a := range h.Accounts {
			c.exec(sqlCharge, a.Name, int64(0), int64(h.Amount))
			names += a.Name + " "
		}
		c.exec(sqlHold, h.ID, names, int64(h.Amount))
	}
	for i, l := range one.lines {
		c.exec(sqlEvent, session, int64(one.seq)+int64(i), l.Head, l.Body)
	}
	if n := len(one.lines); n > 0 {
		x := one.index
		c.exec(sqlSession, session, int64(x.Head), one.lines[n-1].Link, x.Agent, x.Title, x.Status,
			x.Created.UnixMicro(), x.Updated.UnixMicro(), int64(x.Steps), int64(x.Tokens), int64(x.Cost), x.Size)
	}
	if one.kept != nil {
		c.exec(sqlKeep, session, one.kept)
	}
	c.exec("COMMIT")
	return c.err
}

// exec runs a statement, unless one before it has failed.
func (c *conn) exec(query string, args ...any) {
	if c.err != nil {
		return
	}
	s := c.stmts[query]
	if s == nil {
		p, err := c.raw.Prepare(query)
		if err != nil {
			c.err = err
			return
		}
		s = p.(driver.StmtExecContext)
		c.stmts[query] = s
	}
	c.args = c.args[:0]
	for i, a := range args {
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	_, c.err = s.ExecContext(context.Background(), c.args)
}

func (c *conn) close() error {
	var err error
	for _, s := range c.stmts {
		err = errors.Join(err, s.(driver.Stmt).Close())
	}
	return errors.Join(err, c.raw.Close())
}

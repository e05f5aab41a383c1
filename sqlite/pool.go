package sqlite

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"
)

// pool is the connections that read. None is kept while a caller looks at what
// was read, so that reading within reading cannot run dry.
type pool struct {
	dial func() (*conn, error)
	free chan struct{} // has one for each connection that may be in use

	mu     sync.Mutex
	idle   []*conn
	closed bool
}

func newPool(dial func() (*conn, error)) *pool {
	return &pool{dial: dial, free: make(chan struct{}, max(4, 2*runtime.GOMAXPROCS(0)))}
}

// with calls fn with a connection. fn may be called again if the store was
// locked for a moment, as it is while another process recovers the log.
func (p *pool) with(ctx context.Context, fn func(c *conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case p.free <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-p.free }()
	start := time.Now()
	for {
		err := p.try(fn)
		if !isBusy(err) || time.Since(start) > patience {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond + rand.N(5*time.Millisecond)):
		}
	}
}

func (p *pool) try(fn func(c *conn) error) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return errClosed
	}
	var c *conn
	if n := len(p.idle); n > 0 {
		c, p.idle = p.idle[n-1], p.idle[:n-1]
	}
	p.mu.Unlock()
	if c == nil {
		var err error
		if c, err = p.dial(); err != nil {
			return err
		}
	}
	err := fn(c)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errors.Join(err, c.close())
	}
	p.idle = append(p.idle, c)
	return err
}

func (p *pool) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	var err error
	for _, c := range p.idle {
		err = errors.Join(err, c.close())
	}
	p.idle = nil
	return err
}

// read calls fn, perhaps more than once, with a connection to read from.
func (db *DB) read(ctx context.Context, fn func(c *conn) error) error {
	if db.pool == nil {
		return db.write(ctx, 0, fn)
	}
	return db.pool.with(ctx, fn)
}

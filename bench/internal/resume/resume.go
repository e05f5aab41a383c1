// Package resume measures how long a new process takes to have a long session again.
package resume

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/session"
	"github.com/uzda-dev/uzda/sqlite"
)

// Window is how many bytes the view has before it is compacted, and at the end at
// least three quarters of it: about 100,000 tokens.
const Window = 400 << 10

// A Session is one that lies in a store.
type Session struct {
	Events int
	Bytes  int64 // of all events, as they are stored
	View   int   // bytes of the blocks that the model would see
	path   string
	id     uzda.SessionID
	agent  agent.Agent
}

// Make makes a session of so many events, or a few more, in a folder of its own.
// Their bodies have about 1 KB each on average.
func Make(ctx context.Context, dir string, events int) (*Session, error) {
	s := &Session{path: filepath.Join(dir, "long.uzda"), agent: agent.Agent{Model: mute{}}}
	db, err := sqlite.Open(s.path)
	if err != nil {
		return nil, err
	}
	h := s.host(db)
	s.id, err = h.Open(ctx, uzda.Opening{Agent: "a"})
	if err == nil {
		err = s.fill(ctx, db, events)
	}
	return s, errors.Join(err, h.Close(), db.Close())
}

func (s *Session) host(db *sqlite.DB) *session.Host {
	return session.New(session.Config{Store: db, Manual: true, Agents: map[string]agent.Agent{"a": s.agent}})
}

// fill appends what a runner would have, without asking a model.
func (s *Session) fill(ctx context.Context, db *sqlite.DB, events int) error {
	epoch, err := db.Acquire(ctx, s.id, "bench")
	if err != nil {
		return err
	}
	now, err := agent.Load(ctx, db, s.id)
	if err != nil {
		return err
	}
	const batch = 1000 // as few as make it quick
	var bodies []uzda.Body
	add := func(b uzda.Body) {
		bodies = append(bodies, b)
		now.Fold(uzda.Event{Seq: now.Head + 1, Body: b})
	}
	add(uzda.Equipped{Tools: []uzda.ToolSpec{{Name: "page", Effects: uzda.Effects{ReadOnly: true}}}, Limits: uzda.Limits{}.OrDefault()})
	for more := true; more; {
		turn(now, add)
		s.View = size(now)
		if s.View > Window {
			add(compacted(now))
		}
		more = int(now.Head) < events || s.View < Window*3/4 || s.View > Window
		if len(bodies) < batch && more {
			continue
		}
		at := uzda.At{Head: now.Head - uzda.Seq(len(bodies)), Epoch: epoch}
		stored, err := db.Append(ctx, s.id, at, bodies...)
		if err != nil {
			return err
		}
		for _, e := range stored {
			raw, err := json.Marshal(e.Body)
			if err != nil {
				return err
			}
			s.Bytes += int64(len(raw))
		}
		bodies = bodies[:0]
	}
	s.Events = int(now.Head)
	return db.Release(ctx, s.id, epoch)
}

func kilo(n int) string { return strings.Repeat("0123456789abcdef", n*64) }

// turn adds the nine events of a turn with one call.
func turn(s *agent.State, add func(uzda.Body)) {
	add(uzda.Posted{Blocks: uzda.Say("go on")})
	add(uzda.Asked{})
	input, _ := json.Marshal(map[string]string{"text": kilo(2)}) // a string
	add(uzda.Said{Stop: uzda.StopUse, Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Blocks{uzda.ToolUse{Name: "page", Input: input}}}})
	id := s.Uses[0].ID
	add(uzda.Judged{Use: id})
	add(uzda.Started{Use: id, Attempt: 1})
	add(uzda.Returned{Result: uzda.ToolResult{Use: id, Blocks: uzda.Say(kilo(4))}})
	add(uzda.Asked{})
	add(uzda.Said{Stop: uzda.StopEnd, Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Say(kilo(2))}})
	add(uzda.Ended{Outcome: uzda.Finished, Reason: uzda.EndTurn})
}

// compacted is an edit that leaves the last turn and a summary of 2 KB.
func compacted(s *agent.State) uzda.Body {
	first := s.View[0].Seq
	return uzda.Edited{What: "compact", From: first, To: s.View[len(s.View)-5].Seq,
		With: []uzda.Entry{{Seq: first, Message: uzda.Message{Role: uzda.User, Blocks: uzda.Say(kilo(2))}}}}
}

func size(s *agent.State) (n int) {
	for _, e := range s.View {
		n += e.Message.Blocks.Size()
	}
	return n
}

// Checkpoint lets a runner look at the session, which leaves a checkpoint.
func (s *Session) Checkpoint(ctx context.Context) error {
	db, err := sqlite.Open(s.path)
	if err != nil {
		return err
	}
	h := s.host(db)
	_, err = h.Run(ctx, s.id)
	if err == nil {
		var raw []byte
		if raw, err = db.Kept(ctx, s.id); err == nil && raw == nil {
			err = errors.New("the runner left no checkpoint")
		}
	}
	return errors.Join(err, h.Close(), db.Close())
}

// Load opens the store, loads the session and returns how long both took.
func (s *Session) Load(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	db, err := sqlite.Open(s.path)
	if err != nil {
		return 0, err
	}
	h := s.host(db)
	state, err := h.State(ctx, s.id)
	took := time.Since(began)
	if err == nil && (int(state.Head) < s.Events || size(state) != s.View) {
		err = fmt.Errorf("it has %d events and a view of %d bytes, not %d and %d", state.Head, size(state), s.Events, s.View)
	}
	return took, errors.Join(err, h.Close(), db.Close())
}

// mute is a model that is never asked.
type mute struct{}

func (mute) Stream(context.Context, *uzda.Request) iter.Seq2[uzda.Chunk, error] {
	return func(yield func(uzda.Chunk, error) bool) { yield(nil, errors.New("nothing is to be asked")) }
}

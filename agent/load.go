package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/uzda-dev/uzda"
)

// codec numbers the shape of State; a checkpoint of another one is dropped.
const codec = 4

const (
	every  = 1000 // events that may follow a checkpoint while a turn runs
	seldom = 20   // events that are worth a checkpoint at rest
)

// A checkpoint is a line with this, and after it the view as lines of a journal:
// only that encoding gives what providers sent back byte for byte.
type checkpoint struct {
	Codec int             `json:"codec"`
	Head  uzda.Seq        `json:"head"`
	Seal  string          `json:"seal"` // of the event Head, so that another history is noticed
	Sum   string          `json:"sum"`  // of State and the view
	State json.RawMessage `json:"state"`
}

// Load folds a session, from its checkpoint where there is a good one.
func Load(ctx context.Context, j uzda.Journal, id uzda.SessionID) (*State, error) {
	s, _, _, err := load(ctx, j, id)
	return s, err
}

func load(ctx context.Context, j uzda.Journal, id uzda.SessionID) (s *State, kept uzda.Seq, seal string, err error) {
	s = &State{}
	if k, ok := j.(uzda.Keeper); ok {
		if raw, err := k.Kept(ctx, id); err == nil && raw != nil {
			s, seal = decodeCheckpoint(raw)
		}
	}
	if s.Head > 0 && !follows(ctx, j, id, s.Head, seal) {
		s = &State{}
	}
	kept = s.Head
	for e, err := range j.Read(ctx, id, s.Head) {
		if err != nil {
			return nil, 0, "", fmt.Errorf("read session %s: %w", id, err)
		}
		s.Fold(e)
		seal = sealOf(e)
	}
	return s, kept, seal, nil
}

// follows says whether the journal has the event that a checkpoint was made at.
// A journal that was restored, or lost its end, has another one or none.
func follows(ctx context.Context, j uzda.Journal, id uzda.SessionID, head uzda.Seq, seal string) bool {
	for e, err := range j.Read(ctx, id, head-1) {
		return err == nil && e.Seq == head && sealOf(e) == seal
	}
	return false
}

// sealOf tells an event, with all that came before it, from any other.
func sealOf(e uzda.Event) string { return e.Prev + "/" + e.Sum }

// lines is the view of a checkpoint, encoded once: between edits it only grows.
type lines struct {
	gen, n int
	text   []byte
}

func (l *lines) follow(s *State) error {
	if l.gen != s.Gen {
		*l = lines{gen: s.Gen}
	}
	more := 0
	for _, e := range s.View[l.n:] {
		more += e.Message.Blocks.Size() + 512
	}
	l.text = slices.Grow(l.text, more)
	for _, e := range s.View[l.n:] {
		line, err := uzda.Seal(&uzda.Event{Seq: e.Seq, By: int64(e.Edit), Body: uzda.Said{Message: e.Message}}, nil)
		if err != nil {
			return err
		}
		l.n, l.text = l.n+1, line.Append(l.text)
	}
	return nil
}

// encodeCheckpoint is the inverse of decodeCheckpoint.
func encodeCheckpoint(s *State, seal string, view []byte) ([]byte, error) {
	bare := *s
	bare.View = nil
	state, err := plainJSON(&bare)
	if err != nil {
		return nil, err
	}
	head, err := plainJSON(checkpoint{codec, s.Head, seal, uzda.Hash(state, view), state})
	if err != nil {
		return nil, err
	}
	return append(append(head, '\n'), view...), nil
}

// plainJSON does not escape HTML, which would change the bytes of raw JSON.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// decodeCheckpoint returns an empty state for one that is wrong: it is only a cache.
func decodeCheckpoint(raw []byte) (*State, string) {
	head, view, _ := bytes.Cut(raw, []byte("\n"))
	var c checkpoint
	if json.Unmarshal(head, &c) != nil || c.Codec != codec || c.Sum != uzda.Hash(c.State, view) {
		return &State{}, ""
	}
	s := &State{}
	if json.Unmarshal(c.State, s) != nil || s.Head != c.Head {
		return &State{}, ""
	}
	for line := range bytes.Lines(view) {
		l, ok := uzda.SplitLine(line)
		if !ok {
			return &State{}, ""
		}
		e, _, err := uzda.Open(l, nil)
		said, ok := e.Body.(uzda.Said)
		if err != nil || !ok {
			return &State{}, ""
		}
		s.View = append(s.View, uzda.Entry{Seq: e.Seq, Edit: uzda.Seq(e.By), Message: said.Message})
	}
	return s, c.Seal
}

// checkpoint keeps the state: in the middle of a turn seldom, at rest whenever
// enough has changed. One that cannot be kept costs time, no more.
func (r *run) checkpoint(ctx context.Context, middle bool) error {
	k, ok := r.Store.(uzda.Keeper)
	_, resident := r.Store.(uzda.Resident)
	if behind := r.s.Head - r.kept; !ok || resident || middle && behind < every || !middle && behind < seldom {
		return nil
	}
	err := r.lines.follow(r.s)
	if err != nil {
		return fmt.Errorf("encode the view of session %s: %w", r.id, err)
	}
	raw, err := encodeCheckpoint(r.s, r.seal, r.lines.text)
	if err != nil {
		return fmt.Errorf("encode the state of session %s: %w", r.id, err)
	}
	r.kept = r.s.Head
	if err := k.Keep(ctx, r.id, raw); err != nil {
		r.debug("keep a checkpoint", "session", r.id, "error", err)
	}
	return nil
}

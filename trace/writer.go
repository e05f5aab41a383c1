package trace

import (
	"io"
	"sync"

	"github.com/uzda-dev/uzda"
)

// A Writer follows sessions live and writes each span as a line of JSON when it
// ends. Safe for concurrent use. The form is that of [WriteJSONL]; the lines
// stand in the order in which spans ended.
type Writer struct {
	mu sync.Mutex
	w  io.Writer
	b  *Builder
}

// NewWriter writes to w.
func NewWriter(w io.Writer, o Options) *Writer { return &Writer{w: w, b: NewBuilder(o)} }

// Event takes an event of a session. After an error the spans of the event are lost.
func (w *Writer) Event(id uzda.SessionID, e uzda.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return WriteJSONL(w.w, w.b.Event(id, e))
}

// Close writes what is open as unfinished, and the spans of sessions. It does
// not close what it writes to.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return WriteJSONL(w.w, w.b.Close())
}

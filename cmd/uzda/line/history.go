package line

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// History remembers messages in a file that only its owner can read, a line of
// JSON each; safe for concurrent use, also by several programs.
type History struct {
	path string
	keep func(string) string
	mu   sync.Mutex
	all  []string
}

const (
	mostKept = 1000
	longest  = 16 << 10 // bytes of a message that is remembered
)

// OpenHistory reads the history. A file that cannot be read is an empty one. keep
// returns what may be remembered of a text, as without secrets; nil: all.
func OpenHistory(path string, keep func(string) string) *History {
	h := &History{path: path, keep: keep}
	f, err := os.Open(path)
	if err != nil {
		return h
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 8*longest)
	n := 0
	for ; s.Scan(); n++ {
		var text string
		if json.Unmarshal(s.Bytes(), &text) == nil && text != "" {
			h.all = append(h.all, text)
		}
	}
	if len(h.all) > mostKept {
		h.all = h.all[len(h.all)-mostKept:]
	}
	if n > 2*mostKept {
		h.shorten()
	}
	return h
}

// shorten writes the file anew, with what is kept.
func (h *History) shorten() {
	f, err := os.CreateTemp(filepath.Dir(h.path), ".history-*")
	if err != nil {
		return
	}
	enc := json.NewEncoder(f)
	for _, text := range h.all {
		if err == nil {
			err = enc.Encode(text)
		}
	}
	if f.Close() != nil || err != nil || os.Rename(f.Name(), h.path) != nil {
		os.Remove(f.Name()) // the old one stays
	}
}

// Add remembers a message. One that begins with a space is not remembered, nor is
// the same twice in a row.
func (h *History) Add(text string) {
	if strings.TrimSpace(text) == "" || text[0] == ' ' || len(text) > longest {
		return
	}
	if h.keep != nil {
		text = h.keep(text)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.all); n > 0 && h.all[n-1] == text {
		return
	}
	h.all = append(h.all, text)
	if os.MkdirAll(filepath.Dir(h.path), 0o700) != nil {
		return
	}
	f, err := os.OpenFile(h.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return // it is remembered until the program ends
	}
	json.NewEncoder(f).Encode(text) //nolint:errcheck // as above
	f.Close()                       // as above
}

// Back returns the n-th message from the end, from 1.
func (h *History) Back(n int) (string, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n < 1 || n > len(h.all) {
		return "", false
	}
	return h.all[len(h.all)-n], true
}

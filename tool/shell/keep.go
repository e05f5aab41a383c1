package shell

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
)

// keep notes a job whose background goes on.
func (s *Shell) keep(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[j.session] = append(slices.DeleteFunc(s.kept[j.session], func(old *job) bool {
		if old.quiet() && len(old.alive()) == 0 {
			delete(s.runs, old.mark)
			return true
		}
		return false
	}), j)
}

// Kept returns the background processes that go on in a session, as lines for people.
func (s *Shell) Kept(id uzda.SessionID) []string {
	s.mu.Lock()
	jobs := slices.Clone(s.kept[id])
	s.mu.Unlock()
	var out []string
	for _, j := range jobs {
		out = append(out, lines(j.alive())...)
	}
	return out
}

// Reap ends the background processes of a session, also those that a crash of this
// program left; those of another process that still runs are not touched. It returns
// what it ended, as lines for people. Called before the first command, it lets the
// model know of it too, by the result of that.
func (s *Shell) Reap(id uzda.SessionID) []string {
	s.mu.Lock()
	jobs := s.kept[id]
	delete(s.kept, id)
	s.mu.Unlock()
	var out []string
	for _, j := range jobs {
		out = append(out, lines(j.alive())...)
		j.end()
		j.drain()
		s.running(j, false)
	}
	lost := lines(s.lost(id))
	s.mu.Lock()
	if len(lost) > 0 && !s.looked(id) {
		s.told[id] = append(s.told[id], lost...)
	}
	s.mu.Unlock()
	return append(out, lost...)
}

// Close ends the background processes of all sessions.
func (s *Shell) Close() error {
	s.mu.Lock()
	var ids []uzda.SessionID
	for id := range s.kept {
		ids = append(ids, id)
	}
	s.mu.Unlock()
	for _, id := range ids {
		s.Reap(id)
	}
	return nil
}

// remembered is how many sessions are known to have been looked at, at least. To
// look again at one that was forgotten costs time, no more.
const remembered = 5000

// visits are the last sessions that were looked at; a program that runs for months
// has too many to know them all.
type visits struct{ recent, older map[uzda.SessionID]bool }

func (v *visits) has(id uzda.SessionID) bool { return v.recent[id] || v.older[id] }

func (v *visits) add(id uzda.SessionID) {
	if v.recent == nil || len(v.recent) >= remembered {
		v.older, v.recent = v.recent, map[uzda.SessionID]bool{}
	}
	v.recent[id] = true
}

// looked says whether a session was looked at for leftovers, or runs a command now;
// the lock is held.
func (s *Shell) looked(id uzda.SessionID) bool {
	if s.seen.has(id) {
		return true
	}
	for j := range s.jobs {
		if j.session == id {
			return true
		}
	}
	return len(s.kept[id]) > 0
}

// leftovers ends what commands of the session left that ran when this program
// crashed; it looks once a session.
func (s *Shell) leftovers(id uzda.SessionID) []string {
	s.mu.Lock()
	seen := s.looked(id)
	s.seen.add(id)
	lost := s.told[id]
	delete(s.told, id)
	s.mu.Unlock()
	if seen {
		return nil
	}
	lost = append(lost, lines(s.lost(id))...)
	tidy(s.folder(id)) // now nobody makes a file there any more
	if len(lost) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("processes of an earlier command, from before a restart, still ran and were ended: %s", strings.Join(lost, "; "))}
}

// lost ends the processes with a mark of the session that no running command has.
func (s *Shell) lost(id uzda.SessionID) []proc {
	tag := s.tag(id)
	left := func() []proc {
		s.mu.Lock()
		defer s.mu.Unlock()
		return marked(tag, s.runs)
	}
	first := left()
	deadline := time.Now().Add(polite)
	for now := first; len(now) > 0 && time.Now().Before(deadline.Add(firm)); now = left() {
		for _, p := range now {
			p.signal(time.Now().After(deadline))
		}
		time.Sleep(look)
	}
	return first
}

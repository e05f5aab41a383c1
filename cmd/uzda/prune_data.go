package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/tool/shell"
)

// perSession are the folders of the data folder that have a folder for each session.
var perSession = []string{"files", "guide", "notes", "shell", "todo", "verify"}

// dataOf are the files and folders beside the store that belong to a session. Notes
// in a folder that the person named are the person's.
func (w *work) dataOf(id uzda.SessionID) []string {
	traces := filepath.Join(w.cfg.Data, "traces", string(id)+".jsonl")
	out := []string{traces, traces + ".new"}
	for _, name := range perSession {
		out = append(out, filepath.Join(w.cfg.Data, name, id.Folder()))
	}
	return out
}

// dropData removes what belongs to sessions that are gone.
func (p *pruning) dropData(ids []uzda.SessionID) {
	for _, id := range ids {
		for _, path := range p.dataOf(id) {
			size := sizeIn(path)
			if err := os.RemoveAll(path); err != nil {
				fmt.Fprintln(p.err, "uzda: warning: of a session that is gone this could not be removed:", err)
				continue
			}
			p.data += size
		}
	}
	_ = os.Remove(p.intention()) // what stays is done again
}

// sizeIn is how many bytes the files below a path have.
func sizeIn(path string) (n int64) {
	_ = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

// An intent names a session that is to go, so that its files go too if the program
// ends between the two.
type intent struct {
	Store   string         `json:"store"`
	Session uzda.SessionID `json:"session"`
}

// intention is the file of intents of this process.
func (p *pruning) intention() string {
	return filepath.Join(p.cfg.Data, "removing", fmt.Sprintf("%d.jsonl", os.Getpid()))
}

// intend writes down what is to go.
func (p *pruning) intend(k kin) error {
	var text []byte
	for _, one := range k.all {
		raw, err := json.Marshal(intent{storePath(p.cfg), one.ID})
		if err != nil {
			return err
		}
		text = append(append(text, raw...), '\n')
	}
	path := p.intention()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// finishData does what a program that was killed has left undone: a session that is
// not there any more, but was when it was to go, has no files either.
func (p *pruning) finishData(ctx context.Context) {
	left, _ := filepath.Glob(filepath.Join(p.cfg.Data, "removing", "*.jsonl"))
	for _, path := range left {
		info, err := os.Stat(path)
		// A list that is new may be of a program that is at it right now.
		if err == nil && p.finishOne(ctx, path, time.Since(info.ModTime()) < time.Minute) {
			os.Remove(path)
		}
	}
}

// finishOne says whether nothing of a list is left to do. What of a fresh one is
// still there may go any moment.
func (p *pruning) finishOne(ctx context.Context, path string, fresh bool) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	done := true
	for s := bufio.NewScanner(f); s.Scan(); {
		var one intent
		if json.Unmarshal(s.Bytes(), &one) != nil || one.Session.Check() != nil {
			continue
		}
		if one.Store != storePath(p.cfg) { // that store knows whether it is there
			done = false
			continue
		}
		there := false
		for _, err := range p.store.Read(ctx, one.Session, 0) {
			if there = true; err != nil { // nobody knows: look again another time
				done = false
			}
			break
		}
		if there {
			done = done && !fresh
		} else {
			for _, path := range p.dataOf(one.Session) {
				done = os.RemoveAll(path) == nil && done
			}
		}
	}
	return done
}

// reapKin ends what commands of a session that was not brought to its end have left
// running.
func (p *pruning) reapKin(k kin) {
	if k.open() == "" {
		return
	}
	for _, dir := range []string{p.outputs(), filepath.Join(p.cfg.Data, "verify")} {
		sh, err := shell.New(shell.Config{State: dir})
		if err != nil {
			return // then no command has run here
		}
		for _, one := range k.all {
			for _, l := range sh.Reap(one.ID) {
				fmt.Fprintln(p.err, "uzda: ended, since a command of session", one.ID, "had left it running:", safe(l))
			}
		}
	}
}

package window

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
)

// Dedupe puts a placeholder in the place of each result that a later one of the
// same call repeats: of the same read-only tool with the same input, also where the
// outcome has changed since, or of any tool where the outcomes are the same to the
// byte. The newest stays. Nothing from the message fixed on is replaced. It reports
// false where there is nothing to do.
func Dedupe(view []uzda.Entry, fixed int, tools []uzda.ToolSpec) (uzda.Edited, bool) {
	fixed = min(max(fixed, 0), len(view))
	uses := usesOf(view)
	newest := map[string]place{}
	later := map[uzda.UseID]uzda.ToolResult{} // by those that they repeat
	for i := len(view) - 1; i >= 0; i-- {
		for j, b := range slices.Backward(view[i].Message.Blocks) {
			r, ok := b.(uzda.ToolResult)
			u, known := uses[r.Use]
			if !ok || !known || isPlaceholder(r) || wholeSize(r) > 0 && r.Full == nil {
				continue
			}
			key := callKey(u)
			at, found := newest[key]
			if !found {
				newest[key] = place{i, j}
				continue
			}
			last := view[at.entry].Message.Blocks[at.block].(uzda.ToolResult)
			same := sameResult(r, last)
			if i < fixed && r.Blocks.Size() >= least && (same || !r.IsError && !last.IsError && readOnly(tools, u.Name)) {
				later[r.Use] = last
			}
			if last.IsError && !r.IsError { // what it said before it failed
				newest[key] = place{i, j}
			}
		}
	}
	if len(later) == 0 {
		return uzda.Edited{}, false
	}
	return editResults(uzda.MoveDedupe, view[:fixed], func(_ int, r uzda.ToolResult) (uzda.ToolResult, bool) {
		last, ok := later[r.Use]
		if !ok {
			return r, false
		}
		u := uses[r.Use]
		how := "a newer outcome"
		if sameResult(r, last) {
			how = "the same"
		}
		text := fmt.Sprintf("%s%s, %s; %s is at use %s", repeatMark, nameOf(r, u), extent(r), how, last.Use)
		return replaced(r, text+warnAgain(r, u, tools)+wayBack(r, tools)+"]")
	})
}

// A place is where a result lies in a view.
type place struct{ entry, block int }

// callKey is the same for calls that ask for the same.
func callKey(u uzda.ToolUse) string {
	if u.Name == "read_file" {
		if key, ok := rangeKey(u.Input); ok {
			return key
		}
	}
	return u.Name + "\x00" + string(uzda.Canonical(u.Input))
}

// rangeKey is the same for reads of the same lines of a file, however they are
// written.
func rangeKey(input json.RawMessage) (string, bool) {
	var in struct {
		Path          string
		Offset, Limit int
	}
	d := json.NewDecoder(bytes.NewReader(input))
	d.DisallowUnknownFields()
	if d.Decode(&in) != nil || in.Path == "" {
		return "", false
	}
	const most = 2000 // lines of a page, where no limit is given
	if in.Limit <= 0 || in.Limit > most {
		in.Limit = most
	}
	if in.Offset == 0 {
		in.Offset = 1
	}
	if !strings.Contains(in.Path, "..") { // behind a link, .. leads elsewhere
		in.Path = path.Clean(in.Path)
	}
	return fmt.Sprintf("read_file\x00%s\x00%d\x00%d", in.Path, in.Offset, in.Limit), true
}

// sameResult says that two results tell the model the same.
func sameResult(a, b uzda.ToolResult) bool {
	return a.IsError == b.IsError && slices.EqualFunc(a.Blocks, b.Blocks, func(x, y uzda.Block) bool {
		switch x := x.(type) {
		case uzda.Text:
			y, ok := y.(uzda.Text)
			return ok && x.Text == y.Text
		case uzda.Media:
			y, ok := y.(uzda.Media)
			return ok && x.Type == y.Type && bytes.Equal(x.Data, y.Data)
		case uzda.Opaque:
			y, ok := y.(uzda.Opaque)
			return ok && bytes.Equal(x.Raw, y.Raw)
		}
		return false
	})
}

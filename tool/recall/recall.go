// Package recall is the tool by which a model reads the earlier record of its session.
package recall

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/schema"
)

//go:embed recall.md
var description string

// Name is the name of the tool. What it answered is not searched again.
const Name = "recall"

// Bounds of one answer, in bytes.
const (
	Page  = 8000   // where no limit is given
	Most  = 30_000 // whatever limit is given
	least = 500
)

const inputSchema = `{"type":"object","additionalProperties":false,"required":["query"],"properties":{` +
	`"query":{"type":"string","description":"a number such as 12.1 or 12, a range such as 12-20, or words to look for"},` +
	`"offset":{"type":"integer","minimum":0,"description":"where to go on, as the last answer said; default 0"},` +
	`"limit":{"type":"integer","minimum":1,"description":"bytes of the answer, 500 to 30000; default 8000"}}}`

type input struct {
	Query  string `json:"query"`
	Offset int    `json:"offset,omitempty"`
	Limit  int    `json:"limit,omitempty"`
}

// Recall is the tool `recall`. It reads the journal of the session that calls it,
// up to that call, and nothing else: neither what is erased, nor what was posted
// but has not reached the model, nor its own earlier answers. The labels of what it
// finds are on its result. It is safe for concurrent use.
type Recall struct {
	journal uzda.Journal
	spec    uzda.ToolSpec
	in      *schema.Schema
}

var (
	_ uzda.Tool    = (*Recall)(nil)
	_ uzda.Checker = (*Recall)(nil)
)

// New returns the tool over a journal. Outputs that were cut are read whole where
// the journal is also [uzda.Blobs].
func New(j uzda.Journal) *Recall {
	in, err := schema.Compile([]byte(inputSchema))
	if err != nil {
		panic(err)
	}
	return &Recall{journal: j, in: in, spec: uzda.ToolSpec{
		Name: Name, Description: strings.TrimSpace(description), Input: in.JSON(),
		Effects: uzda.Effects{ReadOnly: true, Idempotent: true}, Source: "built-in",
	}}
}

// Spec says what the tool is.
func (r *Recall) Spec() uzda.ToolSpec { return r.spec }

// Check validates the input. A query that came as a number keeps its digits.
func (r *Recall) Check(raw json.RawMessage) (json.RawMessage, error) {
	out, err := r.in.Coerce(raw)
	if err != nil {
		if out = quoted(raw); out == nil {
			return nil, err
		}
		if out, err = r.in.Coerce(out); err != nil {
			return nil, err
		}
	}
	_, err = parse(out)
	return out, err
}

// quoted makes text of a query that is a number: 12.10 is the tenth call, not the first.
func quoted(raw json.RawMessage) json.RawMessage {
	var in map[string]json.RawMessage
	var n json.Number
	if json.Unmarshal(raw, &in) != nil || json.Unmarshal(in["query"], &n) != nil || len(in["query"]) == 0 || in["query"][0] == '"' {
		return nil
	}
	in["query"] = json.RawMessage(strconv.Quote(n.String()))
	out, err := json.Marshal(in)
	if err != nil {
		return nil
	}
	return out
}

func parse(raw json.RawMessage) (input, error) {
	var in input
	if err := json.Unmarshal(raw, &in); err != nil {
		return in, fmt.Errorf("the input cannot be read: %w", err)
	}
	if strings.TrimSpace(in.Query) == "" {
		return in, errors.New(`/query is empty: give a number such as "12.1", a range such as "12-20", or words to look for`)
	}
	if in.Limit == 0 {
		in.Limit = Page
	}
	in.Limit = min(max(in.Limit, least), Most)
	return in, nil
}

// Call looks up a number or a range, or searches.
func (r *Recall) Call(ctx context.Context, use uzda.Use) (uzda.Result, error) {
	in, err := parse(use.Input)
	if err != nil {
		return uzda.Result{Blocks: uzda.Say(err.Error()), IsError: true, Code: uzda.CodeInvalidInput}, nil
	}
	rec := record{journal: r.journal, id: use.Session, before: math.MaxInt64}
	rec.blobs, _ = r.journal.(uzda.Blobs)
	if seq, _, ok := parseUse(string(use.ID)); ok {
		rec.before = seq
	}
	a := &answer{input: in}
	if err := rec.answer(ctx, a); err != nil {
		return uzda.Result{}, fmt.Errorf("recall from session %s: %w", use.Session, err)
	}
	if a.text == "" {
		return uzda.Result{Blocks: uzda.Say("Nothing was found."), IsError: a.failed}, nil
	}
	return uzda.Result{Blocks: append(uzda.Say(a.text), a.media...), IsError: a.failed, Labels: a.labels}, nil
}

// An answer is made for one input.
type answer struct {
	input
	text   string
	media  uzda.Blocks
	labels []uzda.Label
	failed bool
}

// fail says why there is nothing.
func (a *answer) fail(format string, args ...any) {
	a.text, a.failed = fmt.Sprintf(format, args...), true
}

// answer takes a query for a number or a range where the session has it, and for
// words where not: "48213" may be a port.
func (r record) answer(ctx context.Context, a *answer) (err error) {
	q := strings.TrimSpace(a.Query)
	number := strings.Trim(q, "[]# ")
	found, looked := false, true
	if seq, n, ok := parseUse(number); ok {
		found, err = r.result(ctx, seq, n, a)
	} else if seq, ok := parseSeq(number); ok {
		found, err = r.event(ctx, seq, a)
	} else if from, to, ok := parseRange(number); ok {
		found, err = r.overview(ctx, from, to, a)
	} else {
		looked = false
	}
	if found || err != nil {
		return err
	}
	return r.search(ctx, q, looked, a)
}

func parseSeq(s string) (uzda.Seq, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return uzda.Seq(n), err == nil && n > 0 && s[0] != '+'
}

// parseUse reads the number of a use, such as 12.1.
func parseUse(s string) (seq uzda.Seq, n int, ok bool) {
	a, b, dot := strings.Cut(s, ".")
	seq, ok = parseSeq(a)
	nth, ok2 := parseSeq(b)
	return seq, int(nth), dot && ok && ok2 && nth < math.MaxInt32
}

func parseRange(s string) (from, to uzda.Seq, ok bool) {
	for _, sep := range []string{"..", "-", "–", "—"} {
		a, b, cut := strings.Cut(s, sep)
		if !cut {
			continue
		}
		from, ok = parseSeq(strings.TrimSpace(a))
		to, ok2 := parseSeq(strings.TrimSpace(b))
		return from, to, ok && ok2 && from <= to
	}
	return 0, 0, false
}

package tool

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/uzda-dev/uzda"
)

// An Error is a failure that the model reads: what is wrong and what to do. A
// plain error is one too; this one also says its code and whether anything
// happened.
type Error struct {
	Text   string
	Code   uzda.Code   // default failed
	Effect uzda.Effect // default: what the runner takes for likely; EffectNone if nothing happened
}

// Errorf makes an [Error].
func Errorf(format string, args ...any) *Error { return &Error{Text: fmt.Sprintf(format, args...)} }

func (e *Error) Error() string { return e.Text }

// Fatal marks an error that ends the turn, since no model can do anything about
// it: a closed database, a missing credential. It is nil for nil.
func Fatal(err error) error {
	if err == nil {
		return nil
	}
	return &fatal{err}
}

type fatal struct{ err error }

func (f *fatal) Error() string { return f.err.Error() }
func (f *fatal) Unwrap() error { return f.err }

// Transient marks an error that may be gone in a moment: a busy server, a cut
// connection. [Retry] repeats the call if the tool is read-only or idempotent;
// otherwise the mark means nothing. It is nil for nil.
func Transient(err error) error {
	if err == nil {
		return nil
	}
	return &transient{err}
}

type transient struct{ err error }

func (t *transient) Error() string { return t.err.Error() }
func (t *transient) Unwrap() error { return t.err }

// settle turns the error of an attempt into what the runner takes: a result
// for the model, or a Go error where the turn ends.
func settle(ctx context.Context, spec uzda.ToolSpec, res uzda.Result, err error) (uzda.Result, error) {
	if err == nil {
		return res, nil
	}
	if f := (*fatal)(nil); errors.As(err, &f) {
		return uzda.Result{}, err
	}
	if e := (*Error)(nil); errors.As(err, &e) {
		code := e.Code
		if code == "" {
			code = uzda.CodeFailed
		}
		return failure(err.Error(), code, e.Effect), nil
	}
	if ctx.Err() != nil {
		return uzda.Result{}, err // whoever ended it knows why, and says so
	}
	if timedOut(err) {
		// That nobody answered does not mean that nothing happened.
		effect := uzda.EffectUnknown
		if spec.Effects.ReadOnly {
			effect = uzda.EffectNone
		}
		return failure(err.Error(), uzda.CodeTimeout, effect), nil
	}
	return failure(err.Error(), uzda.CodeFailed, ""), nil
}

func failure(text string, code uzda.Code, effect uzda.Effect) uzda.Result {
	const most = 8 << 10
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	if text == "" {
		text = "the tool failed without saying why"
	}
	return uzda.Result{Blocks: uzda.Say(uzda.Clip(text, most)), IsError: true, Code: code, Effect: effect}
}

// crashed is the result of a panic. The model learns what happened; the stack
// is for people.
func crashed(p any) uzda.Result {
	res := failure(fmt.Sprintf("the tool crashed: %v. This is a fault of the tool, so the same call will crash again.", p), uzda.CodeFailed, "")
	res.People = uzda.Say(uzda.Clip(string(debug.Stack()), 8<<10))
	return res
}

// timedOut says whether a deadline of the function's own has passed.
func timedOut(err error) bool {
	var t interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}

// final says whether an error already says what becomes of the call.
func final(err error) bool {
	var f *fatal
	var e *Error
	return errors.As(err, &f) || errors.As(err, &e)
}

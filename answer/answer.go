// Package answer makes agents answer with JSON that fits a schema.
package answer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/internal/schema"
	"github.com/uzda-dev/uzda/session"
)

// A Form is a JSON Schema that an answer must fit. Its zero value is of no use;
// see [New] and [Of]. Safe for concurrent use.
type Form struct {
	schema *schema.Schema
	then   agent.Verifier
}

var _ agent.Verifier = Form{}

// New makes a form of a schema. It must describe an object, since that is what
// providers hold their models to; put a list into a member of one.
func New(raw json.RawMessage) (Form, error) {
	s, err := schema.Compile(raw)
	if err != nil {
		return Form{}, fmt.Errorf("schema of the answer: %w", err)
	}
	return Form{schema: s}, nil
}

// Of makes a form of a struct type: names by json tags, descriptions by doc tags,
// as for the input of a tool. It panics on a type that no schema can describe.
func Of[T any]() Form {
	s, err := schema.Of(reflect.TypeFor[T]())
	if err != nil {
		panic(fmt.Sprintf("answer.Of: %v", err)) // a first run finds it
	}
	return Form{schema: s}
}

// Schema is the schema as providers are told it; never change it.
func (f Form) Schema() json.RawMessage { return f.schema.JSON() }

// Fit returns the agent with the form: the provider holds the model to it where
// it can, the model is told, and what does not fit goes back to it, as often as
// Limits.Rejections allows. A verifier that the agent has is asked after that.
func (f Form) Fit(a agent.Agent) agent.Agent {
	a.Params.Schema = f.Schema()
	a.System = strings.TrimSpace(a.System + "\n\n" + fmt.Sprintf(told, f.Schema()))
	f.then = a.Verify
	a.Verify = f
	return a
}

const told = `When you are done, answer with one JSON object and nothing else: no words around it, no code fence. It must fit this JSON Schema:
%s`

// Read returns the object of an answer, checked. What models add is taken off
// (white space, a code fence, words around the object), and what is meant is
// mended where nothing is lost ("5" for a number). The error says what is wrong
// with each field.
func (f Form) Read(text string) (json.RawMessage, error) {
	found := objects(text)
	if len(found) == 0 {
		return nil, errors.New("the answer holds no JSON object")
	}
	var first error
	for i, raw := range found {
		out, err := f.schema.Coerce(raw)
		if err == nil {
			for _, other := range found[i+1:] {
				if _, err := f.schema.Coerce(other); err == nil {
					return nil, errors.New("the answer holds more than one object that fits; it must be exactly one")
				}
			}
			return out, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// Verify checks an answer, and after that what the agent's own verifier says.
func (f Form) Verify(ctx context.Context, w agent.Work) (bool, string, error) {
	if _, err := f.Read(w.Answer); err != nil {
		return false, fmt.Sprintf("Your answer does not fit the schema:\n%v\nAnswer again with the whole JSON object and nothing else.", err), nil
	}
	if f.then == nil {
		return true, "", nil
	}
	return f.then.Verify(ctx, w)
}

// String says what checks.
func (f Form) String() string {
	if f.then == nil {
		return "the schema of the answer"
	}
	return "the schema of the answer, then " + f.then.String()
}

// As decodes the answer of an agent that a form of T was fitted to.
func As[T any](text string) (T, error) {
	var v T
	raw, err := Of[T]().Read(text)
	if err != nil {
		return v, fmt.Errorf("read the answer: %w", err)
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("read the answer: %w", err)
	}
	return v, nil
}

// Ask is [session.Host.Ask] with an answer of type T. The agent must have been
// made by Of[T]().Fit.
func Ask[T any](ctx context.Context, host *session.Host, agentName, task string) (T, error) {
	text, err := host.Ask(ctx, agentName, task)
	if err != nil {
		var none T
		return none, err
	}
	return As[T](text)
}

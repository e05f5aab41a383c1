package uzda

import "context"

// A Gate decides whether a use may run; safe for concurrent use. The strictest
// verdict of all gates wins, and a gate that errs denies.
type Gate interface {
	Check(ctx context.Context, a Action) (Verdict, error)
}

// An Action is a use with what a gate may know of it.
type Action struct {
	Session SessionID
	Use     Use
	Spec    ToolSpec
	Dir     string             // of the session; Use.Dir is where the use runs
	Mode    string             // permission mode
	Failed  int                // uses that failed in a row, since one went well or a person ruled
	Labels  []Label            // of the session
	Inputs  map[string][]Label // labels by JSON pointer into the input
	Grants  []Grant            // what people allowed so far
}

// Decision is what a gate says.
type Decision string

// The decisions, from loose to strict.
const (
	Allow Decision = "allow"
	Ask   Decision = "ask"
	Deny  Decision = "deny"
)

func (d Decision) rank() int {
	switch d {
	case Allow:
		return 0
	case Ask:
		return 1
	}
	return 2 // what is not known is denied
}

// Stricter says whether d is stricter than e.
func (d Decision) Stricter(e Decision) bool { return d.rank() > e.rank() }

// A Verdict is a decision with its reason, the rule that gave it and where the
// rule stands.
type Verdict struct {
	Decision Decision `json:"decision"`
	Reason   string   `json:"reason,omitempty"`
	Rule     string   `json:"rule,omitempty"`
	Origin   string   `json:"origin,omitempty"`
	// Unattended: it would have been asked, but nobody could be.
	Unattended bool `json:"unattended,omitempty"`
}

// Scope says how far an approval reaches.
type Scope string

// The scopes of an answer.
const (
	ScopeOnce    Scope = "once"    // this use
	ScopeSession Scope = "session" // what Rule names, in this session
)

// A Grant is a rule that a person allowed for the session.
type Grant struct {
	Rule string `json:"rule"` // in the form Tool or Tool(pattern)
	Use  UseID  `json:"use"`  // that it was asked for
	By   string `json:"by,omitempty"`
}

// A Redactor hides what must not reach the journal, and so neither the model.
type Redactor interface {
	// Redact returns text with what must not be seen replaced, and says how many
	// places that were. In the model's own words only the exact values of secrets
	// that Uzda holds are replaced, by {{secret:NAME}}.
	Redact(text string, own bool) (clean string, found int)
	// Reveal puts the values back into the input of a tool that is about to run.
	Reveal(input []byte) []byte
}

// A Tailer is a [Redactor] for text that comes in pieces.
type Tailer interface {
	Redactor
	// Begun returns how many bytes at the end of text may be the beginning of a
	// value of a secret: they are shown once it is known what follows.
	Begun(text string) int
}

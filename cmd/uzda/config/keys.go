package config

import (
	"strings"

	"github.com/uzda-dev/uzda"
)

// Kind is the shape of a setting's value.
type Kind string

// The kinds, with what is written for them.
const (
	Text     Kind = "text"
	Path     Kind = "path"     // of a file or folder; relative to the file that names it, else to the working directory
	Choice   Kind = "choice"   // one of Key.Choices
	Count    Kind = "count"    // a whole number from 1 on
	Number   Kind = "number"   // from 0 on
	Duration Kind = "duration" // with its unit: 90s, 30m, 2h
	Money    Kind = "money"    // dollars: 5, 0.25 or $0.25
	Rules    Kind = "rules"    // a list of permission rules: Tool or Tool(pattern)
	Texts    Kind = "texts"    // a list of texts
	Paths    Kind = "paths"    // a list of paths
	Free     Kind = "free"     // a map of anything
	Whole    Kind = "whole"    // a whole number from 0 on
	URL      Kind = "URL"      // of a service: http or https
	Variable Kind = "variable" // the name of an environment variable: $NAME
	Headers  Kind = "headers"  // a map of texts; one that is $NAME is the value of that variable
	Switch   Kind = "true or false"
)

// A Key is one setting: where it can be set, what it holds, and what it is for.
type Key struct {
	Name    string // as in uzda.yaml, with dots
	Kind    Kind
	Env     string // "" if no variable sets it
	Flag    string // without dashes; "" if no flag sets it
	Default string // as it would be written; "" for none
	Choices []string
	Example string // for the template, where there is no default
	Doc     string // one sentence
	Zero    string // what 0 means, of a count that may be 0; "": it may not

	loosens *loosening // when a project must be trusted to set it; nil: never
	field   func(*Config) any
	model   func(*Model) any // of a key of a named model
}

// Keys is the one table of settings: the files, the environment, the flags, the
// defaults, the schema for editors, the template and the page in docs all come
// from it. The order is that of the template. What it holds is not to be changed.
func Keys() []Key { return keys }

var modes = []string{"ask", "plan", "accept-edits", "deny", "bypass"}

var keys = []Key{
	{Name: "model", Kind: Text, Env: "UZDA_MODEL", Flag: "model", Example: "anthropic/claude-opus-5-5",
		Doc:   "The model that answers: PROVIDER/ID, a name from models, script:FILE or replay:FILE. With none, the keys in the environment decide, then local servers.",
		field: func(c *Config) any { return &c.Model }},
	{Name: "agent", Kind: Text, Env: "UZDA_AGENT", Flag: "agent", Example: "default",
		Doc:     "The agent that works: a name or a file. With none it is data where a database is named, else default.",
		loosens: asFile,
		field:   func(c *Config) any { return &c.Agent }},
	{Name: "agents", Kind: Path, Env: "UZDA_AGENTS", Example: "agents",
		Doc:     "The folder of the project's own agents, *.md. With none it is agents beside the project's uzda.yaml, where you trust that folder.",
		loosens: always,
		field:   func(c *Config) any { return &c.Agents }},
	{Name: "dir", Kind: Path, Env: "UZDA_DIR", Flag: "dir", Example: ".",
		Doc:     "The folder that the agent works on. With none it is the working directory. Settings are read from the working directory upwards, not from here.",
		loosens: outside,
		field:   func(c *Config) any { return &c.Dir }},
	{Name: "dirs", Kind: Paths, Env: "UZDA_DIRS", Flag: "add-dir", Example: "../shared",
		Doc:     "More folders that files and commands of the agent may use, besides dir.",
		loosens: always,
		field:   func(c *Config) any { return &c.Dirs }},
	{Name: "db", Kind: Path, Env: "UZDA_DB", Flag: "db", Example: "shop.db",
		Doc:     "The database that the agent may query: a file, or the URL of a server.",
		loosens: outside,
		field:   func(c *Config) any { return &c.DB }},
	{Name: "system", Kind: Path, Env: "UZDA_SYSTEM", Flag: "system", Example: "prompt.md",
		Doc:     "A file with the system prompt, in place of the agent's.",
		loosens: always,
		field:   func(c *Config) any { return &c.System }},
	{Name: "schema", Kind: Path, Env: "UZDA_SCHEMA", Flag: "schema", Example: "invoice.schema.json",
		Doc:     "A file with a JSON Schema that the answer must fit: the answer is then one JSON object.",
		loosens: outside,
		field:   func(c *Config) any { return &c.Schema }},
	{Name: "notes", Kind: Path, Env: "UZDA_NOTES", Example: "notes",
		Doc:     "The folder of the agents' notes, one folder in it a session. With none it is in the data folder.",
		loosens: outside,
		field:   func(c *Config) any { return &c.Notes }},
	{Name: "verify", Kind: Text, Env: "UZDA_VERIFY", Flag: "verify", Example: "go test ./...",
		Doc:     "A command that must exit 0 before a turn counts as done.",
		loosens: always,
		field:   func(c *Config) any { return &c.Verify }},
	{Name: "output_format", Kind: Choice, Env: "UZDA_OUTPUT_FORMAT", Flag: "output-format", Default: "text", Choices: []string{"text", "json", "stream-json"},
		Doc:   "How results are printed.",
		field: func(c *Config) any { return &c.OutputFormat }},

	{Name: "limits.max_steps", Kind: Count, Env: "UZDA_MAX_STEPS", Flag: "max-steps", Default: "50",
		Doc:   "Asks of the model in a turn, children counted.",
		field: func(c *Config) any { return &c.Limits.Steps }},
	{Name: "limits.max_tool_calls", Kind: Count, Env: "UZDA_MAX_TOOL_CALLS", Flag: "max-tool-calls", Default: "200",
		Doc:   "Tool calls in a turn, failed ones too.",
		field: func(c *Config) any { return &c.Limits.Calls }},
	{Name: "limits.max_tokens", Kind: Count, Env: "UZDA_MAX_TOKENS", Flag: "max-tokens", Default: "2000000",
		Doc:   "Tokens in a turn: in, out and cached.",
		field: func(c *Config) any { return &c.Limits.Tokens }},
	{Name: "limits.max_time", Kind: Duration, Env: "UZDA_MAX_TIME", Flag: "timeout", Default: "30m",
		Doc:   "Time of a turn in which the model or a tool works; waiting for people is free.",
		field: func(c *Config) any { return &c.Limits.Time }},
	{Name: "limits.max_cost", Kind: Money, Env: "UZDA_MAX_COST", Flag: "max-cost", Default: "5",
		Doc:     "Dollars in a turn.",
		loosens: higher,
		field:   func(c *Config) any { return &c.Limits.Cost }},
	{Name: "limits.repeat", Kind: Count, Env: "UZDA_REPEAT", Default: "4",
		Doc:   "Equal steps before the model is told; one more ends the turn.",
		field: func(c *Config) any { return &c.Limits.Repeat }},
	{Name: "limits.continuations", Kind: Count, Env: "UZDA_CONTINUATIONS", Default: "5",
		Doc:   "How often a paused reply is continued.",
		field: func(c *Config) any { return &c.Limits.Continuations }},
	{Name: "limits.rejections", Kind: Count, Env: "UZDA_REJECTIONS", Default: "3",
		Doc:   "Failed verifications before the turn ends.",
		field: func(c *Config) any { return &c.Limits.Rejections }},
	{Name: "limits.depth", Kind: Count, Env: "UZDA_DEPTH", Default: "1",
		Doc:     "How deep agents may start agents.",
		loosens: higher,
		field:   func(c *Config) any { return &c.Limits.Depth }},
	{Name: "limits.children", Kind: Count, Env: "UZDA_CHILDREN", Default: "8",
		Doc:     "Agents that a turn may start.",
		loosens: higher,
		field:   func(c *Config) any { return &c.Limits.Children }},
	{Name: "limits.output", Kind: Count, Env: "UZDA_OUTPUT", Default: "32000",
		Doc:   "Bytes of a tool's result that the model sees.",
		field: func(c *Config) any { return &c.Limits.Output }},

	{Name: "budget.session", Kind: Money, Env: "UZDA_BUDGET_SESSION", Example: "20",
		Doc:     "Dollars for all turns of a session; without it there is no such cap.",
		loosens: higher,
		field:   func(c *Config) any { return &c.Limits.SessionCost }},
	{Name: "budget.day", Kind: Money, Env: "UZDA_BUDGET_DAY", Example: "50",
		Doc:     "Dollars for all sessions of a day in UTC; without it there is no such cap.",
		loosens: higher,
		field:   func(c *Config) any { return &c.Limits.DayCost }},

	{Name: "context.budget", Kind: Count, Env: "UZDA_CONTEXT_BUDGET", Flag: "context-budget", Example: "100000",
		Doc:   "Tokens of the model's window that requests are to stay under. With none, or 0, it is the whole window, at most 320,000.",
		Zero:  "the window",
		field: func(c *Config) any { return &c.Context.Budget }},
	{Name: "context.compact", Kind: Choice, Env: "UZDA_CONTEXT_COMPACT", Default: "auto", Choices: []string{"auto", "off"},
		Doc:   "Whether what the model sees is shortened when it nears the budget, or only when a person asks for it.",
		field: func(c *Config) any { return &c.Context.Compact }},
	{Name: "context.model", Kind: Text, Env: "UZDA_CONTEXT_MODEL", Example: "anthropic/claude-haiku-5-5",
		Doc:   "The model that writes summaries, named as the one that answers. With none the session's own writes them.",
		field: func(c *Config) any { return &c.Context.Model }},
	{Name: "context.keep", Kind: Count, Env: "UZDA_CONTEXT_KEEP", Default: "6",
		Doc:   "Replies at the end that a summary leaves as they are, with the results of their calls; fewer where they would not fit.",
		field: func(c *Config) any { return &c.Context.Keep }},

	{Name: "permissions.mode", Kind: Choice, Env: "UZDA_PERMISSION_MODE", Flag: "permission-mode", Default: "ask", Choices: modes,
		Doc:     "What happens to a call that no rule decides.",
		loosens: looser,
		field:   func(c *Config) any { return &c.Permissions.Mode }},
	{Name: "permissions.allow", Kind: Rules, Env: "UZDA_ALLOW", Flag: "allow", Example: "Read(./**)",
		Doc:     "Calls that run without a question.",
		loosens: always,
		field:   func(c *Config) any { return &c.Permissions.Allow }},
	{Name: "permissions.ask", Kind: Rules, Env: "UZDA_ASK", Example: "Bash(git push *)",
		Doc:   "Calls that a person is asked about.",
		field: func(c *Config) any { return &c.Permissions.Ask }},
	{Name: "permissions.deny", Kind: Rules, Env: "UZDA_DENY", Flag: "deny", Example: "Read(./.env)",
		Doc:   "Calls that never run.",
		field: func(c *Config) any { return &c.Permissions.Deny }},

	{Name: "permissions.commands", Kind: Choice, Env: "UZDA_PERMISSIONS_COMMANDS", Default: "allow", Choices: []string{"ask", "allow"},
		Doc:     "Whether commands that only read files of the folders, such as ls or git log, run where no rule is about them, or are asked about.",
		loosens: looser,
		field:   func(c *Config) any { return &c.Permissions.Commands }},

	{Name: "shell.timeout", Kind: Duration, Env: "UZDA_SHELL_TIMEOUT", Default: "2m",
		Doc:   "How long a command may run where the model names no time; it may name up to ten minutes, or this where it is longer.",
		field: func(c *Config) any { return &c.Shell.Timeout }},
	{Name: "shell.background", Kind: Choice, Env: "UZDA_SHELL_BACKGROUND", Default: "kill", Choices: []string{"kill", "keep"},
		Doc:     "What becomes of processes that a command leaves behind: they are ended with it, or kept until the program ends.",
		loosens: looser,
		field:   func(c *Config) any { return &c.Shell.Background }},
	{Name: "fetch.private", Kind: Texts, Env: "UZDA_FETCH_PRIVATE", Example: "wiki.example.com",
		Doc:     "Hosts that fetch may reach although their addresses are of this machine or a private network.",
		loosens: always,
		field:   func(c *Config) any { return &c.Fetch.Private }},

	{Name: "store.kind", Kind: Choice, Env: "UZDA_STORE", Default: "sqlite", Choices: []string{"sqlite", "files"},
		Doc:   "What sessions are kept in: one SQLite file, or JSON lines in a folder.",
		field: func(c *Config) any { return &c.Store.Kind }},
	{Name: "store.path", Kind: Path, Env: "UZDA_STORE_PATH", Example: "sessions.uzda",
		Doc:     "Where that file or folder is. With none it is in the data folder.",
		loosens: always,
		field:   func(c *Config) any { return &c.Store.Path }},
	{Name: "store.warn_mb", Kind: Count, Env: "UZDA_STORE_WARN_MB", Default: "1024",
		Doc:   "From how many megabytes on a run says, once a day, that the store is large; 0 for never.",
		Zero:  "never",
		field: func(c *Config) any { return &c.Store.Warn }},
	{Name: "durability", Kind: Choice, Env: "UZDA_DURABILITY", Default: "power", Choices: []string{"power", "process"},
		Doc:     "What a stored step survives: the loss of power, or only the death of the process, which is faster.",
		loosens: looser,
		field:   func(c *Config) any { return &c.Durability }},
	{Name: "prices", Kind: Path, Env: "UZDA_PRICES", Example: "prices.json",
		Doc:     "A file with prices, windows and abilities of models; it is stronger than what providers say and than the built-in table.",
		loosens: always,
		field:   func(c *Config) any { return &c.Prices }},
	{Name: "http.ca_file", Kind: Path, Env: "UZDA_CA_FILE", Example: "company-ca.pem",
		Doc:     "A file of certificates (PEM) that are trusted besides the system's, for all that goes over the network. Proxies come from HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY.",
		loosens: always,
		field:   func(c *Config) any { return &c.CAFile }},
	{Name: "trust", Kind: Paths, Env: "UZDA_TRUST", Flag: "trust", Example: "~/src/shop",
		Doc:     "Folders whose uzda.yaml may loosen things, those below them too. Only your own file, the variable and the flag count.",
		loosens: always,
		field:   func(c *Config) any { return &c.Trust }},
}

// Services are the words before the slash of a model's id that the program knows
// how to reach, and what a profile can be.
func Services() []string { return services }

var services = strings.Fields("anthropic openai azure openrouter groq mistral deepseek xai gemini perplexity together ollama llama vllm")

// modelKeys are the settings of a named model; NAME stands for its name.
var modelKeys = []Key{
	{Name: "models.NAME.id", Kind: Text, Example: "anthropic/claude-haiku-5-5",
		Doc:     "The model: PROVIDER/ID.",
		loosens: takesOver,
		model:   func(m *Model) any { return &m.ID }},
	{Name: "models.NAME.max_tokens", Kind: Count, Example: "16384",
		Doc:   "Tokens of a reply.",
		model: func(m *Model) any { return &m.Params.MaxTokens }},
	{Name: "models.NAME.temperature", Kind: Number, Example: "0.2",
		Doc:   "The temperature, where the model has one.",
		model: func(m *Model) any { return &m.Params.Temperature }},
	{Name: "models.NAME.effort", Kind: Text, Example: "high",
		Doc:   "How much the model thinks, in its provider's words.",
		model: func(m *Model) any { return &m.Params.Effort }},
	{Name: "models.NAME.stops", Kind: Texts, Example: "END",
		Doc:   "Texts at which a reply ends.",
		model: func(m *Model) any { return &m.Params.Stops }},
	{Name: "models.NAME.tool_choice", Kind: Text, Example: "auto",
		Doc:   "Which tools it calls: auto (as it likes), any (at least one), none, or the tool of this name. It holds for every reply: with any or a tool's name the turn ends only by a limit.",
		model: func(m *Model) any { return &m.Params.Choice }},
	{Name: "models.NAME.parallel_calls", Kind: Switch, Example: "false",
		Doc:   "Whether a reply may hold several calls, where its provider can be told; without it, it may.",
		model: func(m *Model) any { return (*opposite)(&m.Params.NoParallel) }},
	{Name: "models.NAME.strict", Kind: Switch, Example: "true",
		Doc:   "Whether its provider holds the inputs of calls to the tools' schemas, where it can. They are checked in any case.",
		model: func(m *Model) any { return &m.Params.Strict }},
	{Name: "models.NAME.options", Kind: Free, Example: "{}",
		Doc:     "Parameters that only its provider knows, sent as they are.",
		loosens: always,
		model:   func(m *Model) any { return &m.Params.Options }},
	{Name: "models.NAME.window", Kind: Count, Example: "200000",
		Doc:   "Tokens of its window. It is stronger than what the provider and the table say; for Ollama it is the window that is asked for.",
		model: func(m *Model) any { return &m.Window }},
	{Name: "models.NAME.max_output", Kind: Count, Example: "64000",
		Doc:   "Tokens of its longest reply, stronger than what the provider and the table say.",
		model: func(m *Model) any { return &m.MaxOutput }},
	{Name: "models.NAME.fallback", Kind: Texts, Example: "openai/gpt-6.1-sol",
		Doc:   "Models that answer in its place, in this order, while it is overloaded or cannot be reached: PROVIDER/ID or names from models. Each is asked with its own parameters; fallbacks of theirs do not count.",
		model: func(m *Model) any { return &m.Fallback }},
	{Name: "models.NAME.retries", Kind: Whole, Example: "4",
		Doc:   "How often a request that failed is sent again before the turn ends or a fallback answers; without it 4.",
		model: func(m *Model) any { return &m.Retries }},
	{Name: "models.NAME.requests_per_minute", Kind: Count, Example: "50",
		Doc:   "Requests that are sent in a minute at most; what is more waits. Without it the provider's headers decide.",
		model: func(m *Model) any { return &m.RequestsPerMinute }},
	{Name: "models.NAME.tokens_per_minute", Kind: Count, Example: "400000",
		Doc:   "Tokens of input and output in a minute at most, in the same way.",
		model: func(m *Model) any { return &m.TokensPerMinute }},
	{Name: "models.NAME.base", Kind: URL, Example: "https://models.example.com/v1",
		Doc:     "Where its service is, in place of the provider's own place.",
		loosens: always,
		model:   func(m *Model) any { return &m.Base }},
	{Name: "models.NAME.key", Kind: Variable, Example: "$EXAMPLE_API_KEY",
		Doc:     "The variable that holds its key, in place of the provider's usual one; never the key itself.",
		loosens: always,
		model:   func(m *Model) any { return &m.Key }},
	{Name: "models.NAME.profile", Kind: Choice, Example: "openai", Choices: services,
		Doc:     "Whose ways its service has, where the word before the slash of the id does not say it.",
		loosens: takesOver,
		model:   func(m *Model) any { return &m.Profile }},
	{Name: "models.NAME.headers", Kind: Headers, Example: "{X-Team: $TEAM}",
		Doc:     "Headers that its requests carry besides.",
		loosens: always,
		model:   func(m *Model) any { return &m.Headers }},
	{Name: "models.NAME.ca_file", Kind: Path, Example: "models-ca.pem",
		Doc:     "Like http.ca_file, for this model alone.",
		loosens: always,
		model:   func(m *Model) any { return &m.CAFile }},
}

// opposite is a switch that is kept as what it is not.
type opposite bool

// byName finds a key outside models.
func byName(name string) (Key, bool) {
	for _, k := range keys {
		if k.Name == name {
			return k, true
		}
	}
	return Key{}, false
}

// sections are the names that hold other keys.
func isSection(name string) bool {
	for _, k := range keys {
		if strings.HasPrefix(k.Name, name+".") {
			return true
		}
	}
	return false
}

// A Rule is a permission rule with the place where it was written.
type Rule struct {
	Text   string `json:"rule"`
	Origin string `json:"origin"`
}

// A Model is a model with parameters under a name of one's own. Zero means what
// its provider and the table say.
type Model struct {
	ID                string // PROVIDER/ID
	Params            uzda.Params
	Window            int // tokens
	MaxOutput         int // tokens
	Fallback          []string
	Retries           *int
	RequestsPerMinute int
	TokensPerMinute   int
	Base              string            // URL
	Key               string            // name of a variable
	Profile           string            // one of Services
	Headers           map[string]string // values that begin with $ name variables
	CAFile            string
}

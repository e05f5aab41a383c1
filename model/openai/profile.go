package openai

import (
	"slices"
	"strings"
)

// A Profile is how a service differs from Chat Completions as most services speak
// it. It is data: a service that is not here is a Profile of your own, whose zero
// fields are the common case, or [Custom] with a base URL.
type Profile struct {
	Name     string   // first part of a model's id, as in "groq/llama-4"; tells profiles apart
	Label    string   // for people; default Name
	Base     string   // base URL, up to what stands before /chat/completions
	BaseVars []string // variables of the environment that replace Base, the first that is set
	KeyVars  []string // variables that hold the key, the first that is set
	Auth     string   // how the key is sent: AuthBearer, AuthHeader or AuthNone
	Path     string   // of a request below a Base without a path; {model} is the model; default /chat/completions
	Version  string   // default of the query parameter api-version; "": it is not sent
	Local    bool     // the model runs on this machine or network: slow to begin, free, its window is a setting of ours

	// What a request may say.
	MaxTokens     string   // member that bounds the reply; default max_tokens
	NoStream      bool     // replies are asked for in one piece
	NoStreamUsage bool     // stream_options is not known
	CacheKey      bool     // prompt_cache_key is known: the session's id
	Effort        string   // members that say how hard to think, "%s" is the word; "": it can't be said
	EffortOff     string   // the same for the effort "none", where that is said otherwise
	FixedTemp     []string // beginnings of models that take no temperature
	Parallel      bool     // parallel_tool_calls is known
	Choice        string   // the word for "some tool", default required; ChoiceNone: tool_choice is not known
	Schema        string   // how the answer's schema is said: SchemaNative, SchemaObject or SchemaNone
	SchemaAlone   bool     // the answer's schema can't be said beside tools, or keeps the model from calling them: then it stands in the system prompt
	Strict        bool     // tools can be strict
	Dialect       string   // of JSON Schema: DialectPlain, DialectOpenAI or DialectGemini
	System        string   // role of the system prompt; default system

	// What a message may hold.
	Images    bool     // image_url with data in it
	Audio     bool     // input_audio, wav and mp3
	Files     bool     // file, PDF
	IDs       string   // form of the ids of calls: IDsShort or IDsNine
	Thinks    string   // member in which a thought goes back that has no item; "": none does
	Drop      []string // members of a reply's message that must not go back and say nothing
	CallExtra string   // members for the first call of a message that another model made, or that lost its signature
	Bridge    bool     // a user's message must not follow a result: an assistant's stands between
	Alternate bool     // two messages of the user must not follow each other: they become one

	// What a reply may be like.
	Markup   bool // calls and thoughts may come as text, in the model's own markup
	Apart    bool // completion_tokens leave the reasoning out
	NoFinish bool // the finish reason may be missing in a reply that is whole

	// What else the service tells.
	Window string // where the window stands: WindowModels, WindowLlama or WindowOllama
	Count  string // path that counts the tokens of a request, below the server's root; "": none does
}

// Ways to send a key.
const (
	AuthBearer = ""        // Authorization: Bearer KEY
	AuthHeader = "api-key" // api-key: KEY
	AuthNone   = "none"    // a key is sent if there is one, and not missed
)

// ChoiceNone is the Choice of services that don't know tool_choice.
const ChoiceNone = "none"

// Ways to say the schema of an answer. Where the service can't hold the model to
// it, it stands in the system prompt.
const (
	SchemaNative = ""       // response_format json_schema
	SchemaObject = "object" // response_format json_object
	SchemaNone   = "none"
)

// Dialects of JSON Schema.
const (
	DialectPlain  = ""
	DialectOpenAI = "openai"
	DialectGemini = "gemini"
)

// Forms of the ids of calls.
const (
	IDsShort = ""     // letters, digits, _ and -, at most 40
	IDsNine  = "nine" // exactly nine letters and digits
)

// Places where a model's window stands.
const (
	WindowModels = ""       // in the list of models, if at all
	WindowLlama  = "llama"  // /props of llama-server, for a slot
	WindowOllama = "ollama" // /api/ps and /api/show of Ollama
)

// orDefault gives zero fields their meaning. The zero Profile is OpenAI's.
func (p Profile) orDefault() Profile {
	if p.Name == "" {
		p = OpenAI()
	}
	fill := func(to *string, value string) {
		if *to == "" {
			*to = value
		}
	}
	fill(&p.Label, p.Name)
	fill(&p.Path, chatPath)
	fill(&p.MaxTokens, "max_tokens")
	fill(&p.Choice, "required")
	fill(&p.System, "system")
	return p
}

// cloud says whether a local server passes a model's requests on to ollama.com.
func (p *Profile) cloud(model string) bool {
	return p.Window == WindowOllama && (strings.HasSuffix(model, "-cloud") || strings.HasSuffix(model, ":cloud"))
}

const chatPath = "/chat/completions"

// drops says whether a member of a message is left out of what goes back.
func (p *Profile) drops(member string) bool { return slices.Contains(p.Drop, member) }

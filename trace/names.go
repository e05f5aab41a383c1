package trace

import "strings"

// Attributes of OpenTelemetry's conventions for generative AI (repository
// semantic-conventions-genai, v0.1.0). They are written here because no Go
// package holds them any more. Input tokens include the cached ones.
const (
	Operation       = "gen_ai.operation.name"
	Provider        = "gen_ai.provider.name"
	Conversation    = "gen_ai.conversation.id" // the session
	Compacted       = "gen_ai.conversation.compacted"
	AgentName       = "gen_ai.agent.name"
	RequestModel    = "gen_ai.request.model"
	RequestMax      = "gen_ai.request.max_tokens"
	RequestTemp     = "gen_ai.request.temperature"
	RequestLevel    = "gen_ai.request.reasoning.level"
	ResponseModel   = "gen_ai.response.model"
	FinishReasons   = "gen_ai.response.finish_reasons"
	InputTokens     = "gen_ai.usage.input_tokens"
	OutputTokens    = "gen_ai.usage.output_tokens"
	CacheReadTokens = "gen_ai.usage.cache_read.input_tokens"
	CacheWriteToken = "gen_ai.usage.cache_write.input_tokens"
	ToolName        = "gen_ai.tool.name"
	ToolCallID      = "gen_ai.tool.call.id"
	ToolType        = "gen_ai.tool.type"
	ErrorType       = "error.type"

	// Content: left out by [Options.NoContent].
	SystemText    = "gen_ai.system_instructions"
	InputMessages = "gen_ai.input.messages"
	OutputMessage = "gen_ai.output.messages"
	ToolArguments = "gen_ai.tool.call.arguments"
	ToolResult    = "gen_ai.tool.call.result"
)

// Attributes that the conventions lack.
const (
	What         = "uzda.span"     // session, turn, ask, side, tool, approval, verify, edit or late
	Tokens       = "uzda.tokens"   // in, out and cached
	Cost         = "uzda.cost_usd" // as recorded
	CostUnknown  = "uzda.cost.price_unknown"
	LowerBound   = "uzda.cost.lower_bound"
	Held         = "uzda.held_usd" // of an ask that nothing came back from
	ErrorText    = "uzda.error"
	Ordinal      = "uzda.ask" // of the ask in the session
	Attempts     = "uzda.attempts"
	Tried        = "uzda.tried" // the attempts before the last
	Stop         = "uzda.stop"
	Request      = "uzda.request_id" // the provider's, for its support
	ActiveMS     = "uzda.active_ms"  // measured by the runner; start and end are for display
	PromptHash   = "uzda.prompt.hash"
	PromptTail   = "uzda.prompt.tail"
	ContextSize  = "uzda.context.tokens"
	ContextCache = "uzda.context.share_cache_read"   // 0 to 1
	ContextTools = "uzda.context.share_tool_results" // 0 to 1, by size in bytes
	ContextPeak  = "uzda.context.peak_tokens"
	Steps        = "uzda.steps"
	Calls        = "uzda.tool_calls"
	Edits        = "uzda.edits"
	Outcome      = "uzda.outcome"
	Reason       = "uzda.reason"
	Detail       = "uzda.detail"
	Waits        = "uzda.waits_for"
	Resumed      = "uzda.resumed" // how often another runner went on with the turn
	Use          = "uzda.use"
	Effect       = "uzda.effect"
	Effects      = "uzda.effects"
	Verdict      = "uzda.verdict"
	VerdictText  = "uzda.verdict.reason"
	VerdictRule  = "uzda.verdict.rule"
	VerdictBy    = "uzda.verdict.by"
	Preview      = "uzda.preview"
	For          = "uzda.for" // of a side call
	EditFrom     = "uzda.edit.from"
	EditTo       = "uzda.edit.to"
	EditWith     = "uzda.edit.with"
	SystemHash   = "uzda.version.system"
	ToolsHash    = "uzda.version.tools"
	ParamsHash   = "uzda.version.params"
	Program      = "uzda.version.program"
	ChildTokens  = "uzda.child.tokens"
	ChildCost    = "uzda.child.cost_usd"
	// ParentSession and ParentSpan stand where a child is shown without its parent.
	ParentSession = "uzda.parent.session"
	ParentSpan    = "uzda.parent.span"
)

// providers maps our names of providers to those of the conventions, where they differ.
var providers = map[string]string{"responses": "openai", "gemini": "gcp.gemini"}

// split parts "provider/name"; a name without a provider has none.
func split(model string) (provider, name string) {
	p, n, ok := strings.Cut(model, "/")
	if !ok {
		return "", model
	}
	if other := providers[p]; other != "" {
		p = other
	}
	return p, n
}

package openai

import "strings"

// Profiles returns the profiles of all services that are known, by name.
func Profiles() map[string]Profile {
	all := map[string]Profile{}
	for _, p := range []Profile{OpenAI(), Azure(), OpenRouter(), Groq(), Mistral(), DeepSeek(), XAI(), Gemini(),
		Perplexity(), Together(), OllamaCompat(), LlamaServer(), VLLM(), Custom()} {
		all[p.Name] = p
	}
	return all
}

const effort = `"reasoning_effort":%s`

// OpenAI is OpenAI's own service. Its reasoning models take no temperature.
func OpenAI() Profile {
	return Profile{Name: "openai", Label: "OpenAI", Base: "https://api.openai.com/v1",
		BaseVars: []string{"OPENAI_BASE_URL"}, KeyVars: []string{"OPENAI_API_KEY"},
		MaxTokens: "max_completion_tokens", CacheKey: true, Effort: effort, FixedTemp: []string{"o1", "o3", "o4", "gpt-5", "gpt-6"},
		Parallel: true, Strict: true, Dialect: DialectOpenAI, Images: true, Audio: true, Files: true}
}

// Azure is OpenAI's models at Azure. Base is the resource's URL; a model is the
// name of a deployment. A Base with a path, such as …/openai/v1 or …/models, is
// taken as it is.
func Azure() Profile {
	p := OpenAI()
	p.Name, p.Label, p.Base = "azure", "Azure OpenAI", ""
	p.BaseVars, p.KeyVars = []string{"AZURE_OPENAI_ENDPOINT"}, []string{"AZURE_OPENAI_API_KEY"}
	p.CacheKey = false // its versions refuse what they don't know
	p.Auth, p.Path, p.Version = AuthHeader, "/openai/deployments/{model}"+chatPath, "2024-10-21"
	return p
}

// OpenRouter passes requests on to many services; reasoning goes back in
// reasoning_details.
func OpenRouter() Profile {
	return Profile{Name: "openrouter", Label: "OpenRouter", Base: "https://openrouter.ai/api/v1",
		BaseVars: []string{"OPENROUTER_BASE_URL"}, KeyVars: []string{"OPENROUTER_API_KEY"},
		Effort: `"reasoning":{"effort":%s}`, EffortOff: `"reasoning":{"enabled":false}`,
		Parallel: true, Dialect: DialectOpenAI, Images: true, Audio: true, Files: true, Thinks: "reasoning", NoFinish: true}
}

// Groq refuses members of a message that it does not know, also its own.
func Groq() Profile {
	return Profile{Name: "groq", Label: "Groq", Base: "https://api.groq.com/openai/v1",
		BaseVars: []string{"GROQ_BASE_URL"}, KeyVars: []string{"GROQ_API_KEY"},
		MaxTokens: "max_completion_tokens", Effort: effort, Parallel: true, Dialect: DialectOpenAI,
		SchemaAlone: true, Images: true, Thinks: "reasoning", Drop: []string{"channel"}}
}

// Mistral wants ids of nine characters, and an assistant's message between a
// result and what the user says next.
func Mistral() Profile {
	return Profile{Name: "mistral", Label: "Mistral", Base: "https://api.mistral.ai/v1",
		BaseVars: []string{"MISTRAL_BASE_URL"}, KeyVars: []string{"MISTRAL_API_KEY"},
		NoStreamUsage: true, Effort: effort, Parallel: true, Choice: "any", Dialect: DialectOpenAI,
		Images: true, IDs: IDsNine, Drop: []string{"index"}, Bridge: true}
}

// DeepSeek wants the reasoning back while a turn goes on.
func DeepSeek() Profile {
	return Profile{Name: "deepseek", Label: "DeepSeek", Base: "https://api.deepseek.com",
		BaseVars: []string{"DEEPSEEK_BASE_URL"}, KeyVars: []string{"DEEPSEEK_API_KEY"},
		Effort: `"thinking":{"type":"enabled"}`, EffortOff: `"thinking":{"type":"disabled"}`,
		Schema: SchemaObject, Thinks: "reasoning_content"}
}

// XAI counts reasoning beside the completion.
func XAI() Profile {
	return Profile{Name: "xai", Label: "xAI", Base: "https://api.x.ai/v1",
		BaseVars: []string{"XAI_BASE_URL"}, KeyVars: []string{"XAI_API_KEY"},
		MaxTokens: "max_completion_tokens", Effort: effort, Parallel: true, Dialect: DialectOpenAI,
		Images: true, Thinks: "reasoning_content", Apart: true}
}

// Gemini is Google's endpoint in OpenAI's form. Thoughts are counted in the total
// only. Calls of other models carry the word that its documentation names for
// history without signatures.
func Gemini() Profile {
	return Profile{Name: "gemini", Label: "Gemini", Base: "https://generativelanguage.googleapis.com/v1beta/openai",
		BaseVars: []string{"GEMINI_BASE_URL"}, KeyVars: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
		Effort: effort, SchemaAlone: true, Dialect: DialectGemini, Images: true, Audio: true, Apart: true,
		CallExtra: `"extra_content":{"google":{"thought_signature":"skip_thought_signature_validator"}}`}
}

// Perplexity answers from the web; its messages must alternate.
func Perplexity() Profile {
	return Profile{Name: "perplexity", Label: "Perplexity", Base: "https://api.perplexity.ai",
		BaseVars: []string{"PERPLEXITY_BASE_URL"}, KeyVars: []string{"PERPLEXITY_API_KEY", "PPLX_API_KEY"},
		Effort: effort, Images: true, Alternate: true}
}

// Together serves open models.
func Together() Profile {
	return Profile{Name: "together", Label: "Together", Base: "https://api.together.xyz/v1",
		BaseVars: []string{"TOGETHER_BASE_URL"}, KeyVars: []string{"TOGETHER_API_KEY"},
		Effort: effort, SchemaAlone: true, Dialect: DialectOpenAI, Images: true, Thinks: "reasoning", Markup: true}
}

// OllamaCompat is Ollama's endpoint in OpenAI's form. It can't set the window;
// the native adapter can.
func OllamaCompat() Profile {
	return Profile{Name: "ollama", Label: "Ollama", Base: "http://127.0.0.1:11434/v1",
		BaseVars: []string{"OLLAMA_HOST"}, KeyVars: []string{"OLLAMA_API_KEY"}, Auth: AuthNone, Local: true,
		Effort: effort, Choice: ChoiceNone, SchemaAlone: true, Images: true, Thinks: "reasoning", Markup: true, Window: WindowOllama}
}

// LlamaServer is the server of llama.cpp.
func LlamaServer() Profile {
	return Profile{Name: "llama", Label: "llama-server", Base: "http://127.0.0.1:8080/v1",
		BaseVars: []string{"LLAMA_BASE_URL"}, KeyVars: []string{"LLAMA_API_KEY"}, Auth: AuthNone, Local: true,
		Effort: effort, Parallel: true, SchemaAlone: true, Images: true, Audio: true, Thinks: "reasoning_content", Markup: true,
		Window: WindowLlama, Count: "/v1/chat/completions/input_tokens"}
}

// VLLM is a server of vLLM.
func VLLM() Profile {
	return Profile{Name: "vllm", Label: "vLLM", Base: "http://127.0.0.1:8000/v1",
		BaseVars: []string{"VLLM_BASE_URL"}, KeyVars: []string{"VLLM_API_KEY"}, Auth: AuthNone, Local: true,
		MaxTokens: "max_completion_tokens", Effort: effort, Parallel: true, SchemaAlone: true, Images: true, Audio: true,
		Thinks: "reasoning", Markup: true, Count: "/tokenize"}
}

// Custom is any other service; [Model.Base] says where it is. It asks for little
// and takes much.
func Custom() Profile {
	return Profile{Name: "custom", Label: "the service", Auth: AuthNone,
		Effort: effort, SchemaAlone: true, Dialect: DialectOpenAI, Images: true, Drop: []string{"index", "padding", "channel"}, Markup: true}
}

// takesTemperature says whether a model may be given one.
func (p *Profile) takesTemperature(model string) bool {
	for _, begin := range p.FixedTemp {
		if strings.HasPrefix(model, begin) {
			return false
		}
	}
	return true
}

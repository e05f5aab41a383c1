// Command fantasy is Charm's fantasy doing the task of the benchmark, put together
// as its documentation tells.
package main

import (
	"context"

	"charm.land/fantasy"
	"charm.land/fantasy/providers/openaicompat"

	"github.com/uzda-dev/uzda/bench/internal/task"
)

func main() { task.Main(run) }

func run(ctx context.Context, t *task.Task) (string, error) {
	provider, err := openaicompat.New(openaicompat.WithBaseURL(t.URL), openaicompat.WithAPIKey(task.Key))
	if err != nil {
		return "", err
	}
	model, err := provider.LanguageModel(ctx, task.Model)
	if err != nil {
		return "", err
	}
	echo := fantasy.NewAgentTool(task.Tool, task.Description,
		func(_ context.Context, in task.Input, _ fantasy.ToolCall) (fantasy.ToolResponse, error) {
			return fantasy.NewTextResponse(t.Echo(in)), nil
		})
	agent := fantasy.NewAgent(model, fantasy.WithSystemPrompt(task.System), fantasy.WithTools(echo))
	result, err := agent.Stream(ctx, fantasy.AgentStreamCall{Prompt: task.Question})
	if err != nil {
		return "", err
	}
	return result.Response.Content.Text(), nil
}

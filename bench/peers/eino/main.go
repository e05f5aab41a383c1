// Command eino is ByteDance's eino, its agent development kit, doing the task of the
// benchmark, put together as its documentation tells.
package main

import (
	"context"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"

	"github.com/uzda-dev/uzda/bench/internal/task"
)

func main() { task.Main(run) }

func run(ctx context.Context, t *task.Task) (string, error) {
	model, err := openai.NewChatModel(ctx, &openai.ChatModelConfig{Model: task.Model, BaseURL: t.URL, APIKey: task.Key})
	if err != nil {
		return "", err
	}
	echo, err := utils.InferTool(task.Tool, task.Description,
		func(_ context.Context, in task.Input) (string, error) { return t.Echo(in), nil })
	if err != nil {
		return "", err
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "bench", Description: "Reads pages.", Instruction: task.System, Model: model,
		ToolsConfig:   adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{echo}}},
		MaxIterations: 2 * t.Steps, // its limit of 20 would end the work
	})
	if err != nil {
		return "", err
	}
	answer := ""
	events := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, EnableStreaming: true}).Query(ctx, task.Question)
	for {
		event, ok := events.Next()
		if !ok {
			return answer, nil
		}
		if event.Err != nil {
			return "", event.Err
		}
		if event.Output == nil || event.Output.MessageOutput == nil {
			continue
		}
		message, err := event.Output.MessageOutput.GetMessage()
		if err != nil {
			return "", err
		}
		answer = message.Content
	}
}

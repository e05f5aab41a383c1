// Command toolrunner is the tool runner of Anthropic's SDK doing the task of the
// benchmark, put together as its documentation tells.
package main

import (
	"context"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/toolrunner"

	"github.com/uzda-dev/uzda/bench/internal/task"
)

func main() { task.Main(run) }

func run(ctx context.Context, t *task.Task) (string, error) {
	client := anthropic.NewClient(option.WithBaseURL(strings.TrimSuffix(t.URL, "/v1")), option.WithAPIKey(task.Key))
	echo, err := toolrunner.NewBetaToolFromBytes(task.Tool, task.Description, []byte(task.Schema),
		func(_ context.Context, in task.Input) (anthropic.BetaToolResultBlockParamContentUnion, error) {
			return anthropic.BetaToolResultBlockParamContentUnion{OfText: &anthropic.BetaTextBlockParam{Text: t.Echo(in)}}, nil
		})
	if err != nil {
		return "", err
	}
	runner := client.Beta.Messages.NewToolRunnerStreaming([]anthropic.BetaTool{echo}, anthropic.BetaToolRunnerParams{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{
			Model:     task.Model,
			MaxTokens: 16384,
			System:    []anthropic.BetaTextBlockParam{{Text: task.System}},
			Messages:  []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(task.Question))},
		},
	})
	for stream, err := range runner.AllStreaming(ctx) {
		if err != nil {
			return "", err
		}
		for _, err := range stream {
			if err != nil {
				return "", err
			}
		}
	}
	if err := runner.Err(); err != nil {
		return "", err
	}
	var text strings.Builder
	for _, block := range runner.LastMessage().Content {
		text.WriteString(block.Text)
	}
	return text.String(), nil
}

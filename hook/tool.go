package hook

import (
	"context"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/around"
)

// Wrap returns a tool after whose calls the hooks of PostToolUse run, or of
// PostToolUseFailure where the result is an error. What they say follows the
// result, and is recorded with it. A tool that the host binds to itself (one that
// delegates) and one that no hook is for is returned as it is.
func (s *Set) Wrap(t uzda.Tool) uzda.Tool {
	if !s.Has(PreToolUse, PostToolUse, PostToolUseFailure) || strings.HasPrefix(t.Spec().Source, "agent ") {
		return t
	}
	return around.Tool(t, func(ctx context.Context, use uzda.Use, next func(context.Context, uzda.Use) (uzda.Result, error)) (uzda.Result, error) {
		res, err := next(ctx, use)
		said := s.takeRemarks(use)
		if err != nil || res.Pending != nil {
			return res, err
		}
		said = append(said, s.after(ctx, use, res)...)
		if len(said) == 0 {
			return res, nil
		}
		res.Blocks = slices.Clone(res.Blocks)
		for _, text := range said {
			res.Blocks = append(res.Blocks, uzda.Text{Text: text})
		}
		return res, nil
	})
}

func (s *Set) takeRemarks(use uzda.Use) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	said := s.remarks[useKey(use)]
	delete(s.remarks, useKey(use))
	return said
}

// after runs the hooks that look at a result.
func (s *Set) after(ctx context.Context, use uzda.Use, res uzda.Result) (said []string) {
	event := PostToolUse
	if res.IsError {
		event = PostToolUseFailure
	}
	if ctx.Err() != nil || !s.Has(event) {
		return nil
	}
	outs := s.run(ctx, call{At: At{use.Session, use.Dir, ""}, event: event, names: s.names(use.Name), fields: func(name string) map[string]any {
		f := s.toolFields(name, use)
		text := uzda.Clip(res.Blocks.String(), maxIn)
		if res.IsError {
			f["error"] = text
		} else {
			f["tool_response"] = map[string]any{"text": text, "is_error": false}
		}
		return f
	}})
	if why, halted := s.halt(use.Session, outs); halted {
		said = append(said, "The "+why+".")
	}
	for _, o := range outs {
		if why, yes := o.blocks(); yes {
			said = append(said, "The "+o.hook.String()+" found a fault after this call; its effect stays:\n"+s.clean(why))
		}
		if text := s.clean(o.context(false)); text != "" {
			said = append(said, "From the "+o.hook.String()+", after this call:\n"+text)
		}
		if len(o.Specific.Output) > 0 {
			s.warn("%s wants another result, which hooks cannot set here", o.hook)
		}
	}
	return said
}

package journaltest

import (
	"encoding/json"
	"time"

	"github.com/uzda-dev/uzda"
)

// Bodies returns a body of every kind that is stored, with every field set, as
// decoding gives it.
func Bodies() []uzda.Body {
	at := time.Date(2031, 2, 3, 4, 5, 6, 789_000_000, time.UTC)
	labels := uzda.Meta{Labels: []uzda.Label{{Kind: uzda.Untrusted, From: "1.1"}, {Kind: uzda.Private}}}
	usage := uzda.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, CacheLong: 5, AtLeast: true}
	verdict := uzda.Verdict{Decision: uzda.Ask, Reason: "it writes", Rule: "Write(*)", Origin: "uzda.yaml:3", Unattended: true}
	limits := uzda.Limits{
		Steps: 1, Calls: 2, Tokens: 3, Time: 4 * time.Second, Cost: 5 * uzda.Dollar, SessionCost: 6, DayCost: 7,
		Depth: 8, Children: 9, Repeat: 10, Continuations: 11, Rejections: 12, Output: 13,
	}
	effects := uzda.Effects{ReadOnly: true, Idempotent: true, Irreversible: true, OpenWorld: true, Independent: true}
	result := uzda.ToolResult{
		Meta: labels, Use: "4.1", Blocks: uzda.Say("no such order", labels.Labels...), IsError: true, Code: uzda.CodeFailed,
		Effect: uzda.EffectUnknown, Full: &uzda.Full{Blob: uzda.Hash([]byte("all")), Size: 3}, People: uzda.Say("| a |", labels.Labels...),
	}
	blocks := uzda.Blocks{
		uzda.Text{Meta: labels, Text: "Zażółć gęślą jaźń\n"},
		uzda.Thinking{Meta: labels, Text: "hm", Signature: "c2ln"},
		uzda.Media{Meta: labels, Type: "image/png", Name: "a.png", Data: []byte{0, 1, 254, 255}},
		uzda.ToolUse{Meta: labels, ID: "4.1", Wire: "toolu_1", Name: "find", Input: []byte(`{"q":"a","n":1.50}`), Raw: "{q:"},
		result,
		uzda.Opaque{Meta: labels, Origin: "anthropic", Raw: []byte(`{"type":"server_tool_use","x":[1,2]}`)},
	}
	message := uzda.Message{
		Role: uzda.Assistant, Blocks: blocks,
		Origin:  &uzda.Origin{Profile: "anthropic", Base: "https://example.com", Account: "f1", Model: "m"},
		Items:   []uzda.Item{{Blocks: 2, Raw: []byte(`{"type":"text","text":"x"}`)}, {Raw: []byte(`[]`)}},
		Repairs: []uzda.Repair{{Block: -1, What: "left out an empty text"}},
	}
	temperature := 0.5
	return []uzda.Body{
		uzda.Posted{ID: "in-1", Blocks: uzda.Say("hello", labels.Labels...), Turn: true, By: "ann"},
		uzda.Answered{ID: "in-2", Use: "4.1", Hash: "h", Verdict: verdict, Scope: uzda.ScopeSession, Rule: "Write(*)", By: "ann"},
		uzda.Cancelled{ID: "in-3", Turn: 1, Why: "changed my mind", By: "ann"},
		uzda.Delivered{ID: "in-4", Result: result, Spent: uzda.Spend{Steps: 1, Calls: 2, Tokens: 3, Cost: 4}, By: "ann"},
		uzda.Late{ID: "in-5", Result: result, By: "ann"},
		uzda.Resolved{ID: "in-6", Use: "4.1", Took: true, By: "ann"},
		uzda.Noted{ID: "in-7", Text: "look here", By: "ann"},
		uzda.Opened{Format: 1, Agent: "shop", Parent: "root", Use: "2.1", Depth: 1, Scope: "mission", Budget: limits,
			Charge: []uzda.Account{{Name: "turn:root/1", Limit: uzda.Dollar}}, Dir: "/srv", By: "uzda 0", With: map[string]string{"db": "/srv/shop.db"}},
		uzda.Equipped{
			Model: uzda.ModelInfo{ID: "script/x", Window: 1000, MaxOutput: 100, Free: true},
			Params: uzda.Params{
				MaxTokens: 1, Temperature: &temperature, Effort: "high", Stops: []string{"END"}, Choice: "auto", NoParallel: true, Strict: true,
				Schema: []byte(`{"type":"object"}`), Options: map[string]json.RawMessage{"b": []byte(`1`), "a": []byte(`{"c":"<&>"}`)},
			},
			System: "Be brief.",
			Tools: []uzda.ToolSpec{{
				Name: "find", Description: "Find.", Input: []byte(`{"type":"object"}`), Effects: effects,
				Once: true, Final: true, Unchecked: true, Source: "go",
			}},
			Mode: "ask", Limits: limits, Verify: "go test", MayBeMute: true, Budget: 800,
		},
		uzda.Asked{
			Ordinal: 1, Model: "script/x", Hash: "h", Tail: "2 steps left", Max: 100, Tokens: 110, Counted: true,
			Hold: uzda.Hold{ID: "ask:one/9", Accounts: []uzda.Account{{Name: "turn:one/1", Limit: uzda.Dollar}}, Amount: uzda.Dollar / 3},
		},
		uzda.Judged{Use: "4.1", Verdict: verdict, By: "rules", Hash: "h", Input: []byte(`{"q":"a"}`), Preview: "find a", Labels: 2, Grants: 1},
		uzda.Started{Use: "4.1", Attempt: 1, Spec: "s", Effects: effects, Args: "a", Key: "k", Once: true},
		uzda.Edited{ID: "in-8", What: "compact", From: 1, To: 4, With: []uzda.Entry{{Seq: 4, Edit: 13, Message: message}}, Only: true, Undo: 3, By: "ann",
			Saved: &uzda.Saving{Before: 9000, After: 3000, Messages: 4, Facts: 12, Lost: 3, Restored: 2, Requests: 1, Cost: 5, Why: "4 messages"}},
		uzda.Missed{Ask: 3, What: "compact", Why: "the summary was empty"},
		uzda.Weighed{Ask: 3, Items: []uzda.Weight{{Name: "tools", Tokens: 90, Percent: 9.5, Count: 2, Parts: []uzda.Weight{{Name: "find", Tokens: 50, Percent: 5.2, Count: 1}}}},
			Total: 90, Window: 1000, Budget: 947, Percent: 9.5, State: "ok", Factor: 1.1, Calibrated: true, Fixed: 9},
		uzda.Parked{On: uzda.WaitApproval, Uses: []uzda.UseID{"4.1", "4.2"}, Until: at},
		uzda.Ended{Outcome: uzda.Stopped, Reason: uzda.MaxCost, Detail: "5 dollars", Hint: "raise --max-cost"},
		uzda.Tried{Ask: 1, Use: "4.1", Attempt: uzda.Attempt{N: 2, Model: "m", Free: true, Error: "529", WaitMS: 500, Usage: usage}},
		uzda.Broken{Text: "half a", Code: "cut", Error: "EOF", Hint: "again", Usage: usage, Cost: 7, Active: time.Second, Unknown: true, Tokens: 213000, Window: 200000},
		uzda.Said{
			Message: message, Stop: uzda.StopUse, Raw: "tool_calls", Detail: "none", Usage: usage,
			Cost: 1_234_567_890_123, Unknown: true, Active: 3 * time.Millisecond, Model: "b/y", Request: "req_1",
		},
		uzda.Used{For: "compact", Model: "script/x", Usage: usage, Cost: 9, Unknown: true, Active: 2},
		uzda.Returned{
			Result: result, Fatal: "disk on fire", Active: 5,
			Pending: &uzda.Pending{On: "timer", Ref: "r", Until: at, Hold: uzda.Spend{Steps: 1, Calls: 2, Tokens: 3, Cost: 4}},
		},
		uzda.Verified{OK: true, By: "go test", Blocks: uzda.Say("fine", labels.Labels...), Usage: usage, Cost: 1, Active: 6},
	}
}

package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/window"
)

// talks reads the recorded conversations of three requests and more. The last request
// of each holds what was said before.
func talks(shared string, price uzda.Price) ([]talk, error) {
	dir := filepath.Join(shared, "cassettes")
	f, err := os.Open(filepath.Join(dir, "INDEX.tsv"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := csv.NewReader(f)
	in.Comma, in.LazyQuotes = '\t', true
	files := map[string][]string{}
	var names []string
	for {
		row, err := in.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", f.Name(), err)
		}
		if len(row) > 4 && strings.Contains(row[4], "multi-turn") && parserOf(row[1]) != nil {
			if files[row[3]] == nil {
				names = append(names, row[3])
			}
			files[row[3]] = append(files[row[3]], row[0])
		}
	}
	slices.Sort(names)
	var out []talk
	for _, name := range names {
		t, err := readTalk(dir, name, files[name])
		if err != nil {
			return nil, err
		}
		if t.factor > 0 {
			t.price = price
			out = append(out, t)
		}
	}
	return out, nil
}

type cassette struct {
	API      string
	Turn     int
	Request  struct{ Body json.RawMessage }
	Response struct{ Body json.RawMessage }
}

func parserOf(api string) func(json.RawMessage) (uzda.Head, []uzda.Entry, error) {
	switch api {
	case "anthropic-messages":
		return fromMessages
	case "openai-chat", "openai-compat":
		return fromChat
	}
	return nil
}

// readTalk makes a talk of the files of a conversation; its factor is 0 where it
// has no request that grew out of another, or says nothing of its tokens.
func readTalk(dir, name string, files []string) (talk, error) {
	var all []cassette
	for _, file := range files {
		raw, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return talk{}, err
		}
		var c cassette
		if err := json.Unmarshal(raw, &c); err != nil {
			return talk{}, fmt.Errorf("read %s: %w", file, err)
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b cassette) int { return a.Turn - b.Turn })
	last := all[len(all)-1]
	head, entries, err := parserOf(last.API)(last.Request.Body)
	if err != nil {
		return talk{}, fmt.Errorf("read %s: %w", name, err)
	}
	t := talk{set: "cassettes", name: name, head: head, entries: entries}
	whole := uzda.Valid(entries) == nil
	if n := counted(last.Response.Body); whole && n > 0 && len(all) > 2 {
		t.factor = float64(n) / float64(window.Weigh(uzda.View{Head: head, Entries: entries}).Total)
	}
	return t, nil
}

var usage = regexp.MustCompile(`\\?"(input_tokens|prompt_tokens|cache_read_input_tokens|cache_creation_input_tokens)\\?":\s*(\d+)`)

// counted is what a recorded reply says of the tokens of its request; 0: nothing.
func counted(body json.RawMessage) int {
	most := map[string]int{}
	for _, m := range usage.FindAllSubmatch(body, -1) {
		n, err := strconv.Atoi(string(m[2]))
		if err == nil {
			most[string(m[1])] = max(most[string(m[1])], n)
		}
	}
	total := 0
	for _, n := range most {
		total += n
	}
	return total
}

// view gathers messages; those of one role that follow each other become one.
type view struct {
	entries []uzda.Entry
	ids     map[string]uzda.UseID
}

func (v *view) add(role uzda.Role, blocks ...uzda.Block) {
	if len(blocks) == 0 {
		return
	}
	if n := len(v.entries); n > 0 && v.entries[n-1].Message.Role == role {
		m := &v.entries[n-1].Message
		m.Blocks = append(m.Blocks, blocks...)
		return
	}
	v.entries = append(v.entries, uzda.Entry{Seq: uzda.Seq(len(v.entries) + 1), Message: uzda.Message{Role: role, Blocks: blocks}})
}

// use names a call as the loop does.
func (v *view) use(wire, name string, input json.RawMessage) uzda.ToolUse {
	seq, n := len(v.entries)+1, 1
	for _, id := range v.ids {
		if strings.HasPrefix(string(id), strconv.Itoa(seq)+".") {
			n++
		}
	}
	id := uzda.UseID(fmt.Sprintf("%d.%d", seq, n))
	v.ids[wire] = id
	return uzda.ToolUse{ID: id, Wire: wire, Name: name, Input: uzda.Canonical(input)}
}

// words are the text of content, which is a string or parts.
func words(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct{ Text string }
	if json.Unmarshal(raw, &parts) != nil {
		return string(raw)
	}
	var all []string
	for _, p := range parts {
		all = append(all, p.Text)
	}
	return strings.Join(all, "\n")
}

// fromMessages reads the body of a request to Anthropic's Messages.
func fromMessages(raw json.RawMessage) (uzda.Head, []uzda.Entry, error) {
	var in struct {
		Model  string
		System json.RawMessage
		Tools  []struct {
			Name, Description string
			Schema            json.RawMessage `json:"input_schema"`
		}
		Messages []struct {
			Role    uzda.Role
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return uzda.Head{}, nil, err
	}
	h := uzda.Head{Model: in.Model, System: words(in.System)}
	for _, t := range in.Tools {
		h.Tools = append(h.Tools, uzda.ToolSpec{Name: t.Name, Description: t.Description, Input: t.Schema, Effects: uzda.Effects{ReadOnly: true}})
	}
	v := view{ids: map[string]uzda.UseID{}}
	for _, m := range in.Messages {
		var parts []struct {
			Type, ID, Name, Text, Thinking string
			Input, Content                 json.RawMessage
			Use                            string `json:"tool_use_id"`
		}
		if json.Unmarshal(m.Content, &parts) != nil {
			v.add(m.Role, uzda.Text{Text: words(m.Content)})
			continue
		}
		var blocks []uzda.Block
		for _, p := range parts {
			switch p.Type {
			case "text":
				blocks = append(blocks, uzda.Text{Text: p.Text})
			case "thinking":
				blocks = append(blocks, uzda.Thinking{Text: p.Thinking})
			case "tool_use":
				blocks = append(blocks, v.use(p.ID, p.Name, p.Input))
			case "tool_result":
				blocks = append(blocks, uzda.ToolResult{Use: v.ids[p.Use], Blocks: uzda.Say(words(p.Content))})
			}
		}
		v.add(m.Role, blocks...)
	}
	return h, v.entries, nil
}

// fromChat reads the body of a request to OpenAI's Chat Completions.
func fromChat(raw json.RawMessage) (uzda.Head, []uzda.Entry, error) {
	type function struct {
		Name, Description, Arguments string
		Parameters                   json.RawMessage
	}
	var in struct {
		Model    string
		Tools    []struct{ Function function }
		Messages []struct {
			Role    string
			Content json.RawMessage
			Calls   []struct {
				ID       string
				Function function
			} `json:"tool_calls"`
			Call string `json:"tool_call_id"`
		}
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return uzda.Head{}, nil, err
	}
	h := uzda.Head{Model: in.Model}
	for _, t := range in.Tools {
		h.Tools = append(h.Tools, uzda.ToolSpec{Name: t.Function.Name, Description: t.Function.Description, Input: t.Function.Parameters, Effects: uzda.Effects{ReadOnly: true}})
	}
	v := view{ids: map[string]uzda.UseID{}}
	for _, m := range in.Messages {
		text := words(m.Content)
		switch m.Role {
		case "system", "developer":
			h.System += text
		case "tool":
			v.add(uzda.User, uzda.ToolResult{Use: v.ids[m.Call], Blocks: uzda.Say(text)})
		case "assistant":
			var blocks []uzda.Block
			if text != "" && text != "null" {
				blocks = append(blocks, uzda.Text{Text: text})
			}
			for _, c := range m.Calls {
				blocks = append(blocks, v.use(c.ID, c.Function.Name, json.RawMessage(c.Function.Arguments)))
			}
			v.add(uzda.Assistant, blocks...)
		default:
			v.add(uzda.User, uzda.Text{Text: text})
		}
	}
	return h, v.entries, nil
}

package anthropic

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/raw"
)

// kept is what else is known of the view that is encoded. All of it follows from
// the view alone, so that a restart finds it again.
type kept struct {
	state
	ids   map[uzda.UseID]string // what uses are called on the wire
	taken map[string]bool       // by what they are called
	open  map[string]bool       // calls of the provider's own tools without a result so far
	since *rewind               // before the first message that holds one of them
}

// state is what the end of the encoded view means for what comes next.
type state struct {
	role uzda.Role // of the last message, which is open
	last int       // where the last block ends that can bear a cache marker: in front of its brace; 0: none
	past int       // the same in front of the newest reply

	answers   bool // the last message of the user begins with results
	paused    bool // the provider stopped in the middle of its own work: nothing may come after
	fresh     bool // no reply yet to the newest message of the user without results
	bare      bool // the first reply to it does not begin with thinking
	thinking  bool // there is thinking in the view
	media     bool // there are pictures or documents
	calls     bool // there are calls
	container container
}

// A rewind is a point of the view to which the encoded bytes can be cut back.
type rewind struct {
	state
	size  int // of the bytes
	entry int
}

// A container is where the provider runs code. Calls that the code makes can only
// be answered with its name in the request.
type container struct {
	ID      string    `json:"id"`
	Expires time.Time `json:"expires_at"`
}

// A viewer appends messages to what is encoded of the view.
type viewer struct {
	*kept
	view        []uzda.Entry
	out         []byte
	origin      uzda.Origin
	names       names
	mute, blind uzda.Seq        // thinking, and media, of messages before these are left out
	skip        map[string]bool // calls of the provider's own tools that are left out
}

// open begins a block of a message: in the one that is open if that has its role.
func open(dst []byte, last, role uzda.Role) []byte {
	switch last {
	case role:
		return append(dst, ',')
	case "":
	default:
		dst = append(dst, "]},"...)
	}
	return append(append(append(dst, `{"role":"`...), role...), `","content":[`...)
}

// begin begins a block. The first message must be the user's.
func (v *viewer) begin(role uzda.Role) {
	if v.role == "" && role == uzda.Assistant {
		v.out = appendText(open(v.out, "", uzda.User), resume)
		v.role = uzda.User
	}
	if v.role == uzda.User && role == uzda.Assistant {
		v.past = v.last
	}
	v.out = open(v.out, v.role, role)
	v.role = role
}

func (v *viewer) entry(i int) {
	if v.view[i].Message.Role != uzda.Assistant {
		v.user(i)
		return
	}
	before := rewind{v.state, len(v.out), i}
	v.assistant(i)
	if len(v.kept.open) == 0 {
		v.since = nil
	} else if v.since == nil {
		v.since = &before
	}
}

// user writes a message of the user. Results stand in front of all else, as they
// do in a valid view.
func (v *viewer) user(i int) {
	e := &v.view[i]
	type piece struct {
		raw  []byte
		ours bool
	}
	var pieces []piece
	w := writer{blind: e.Seq < v.blind}
	put := func(block []byte, ours bool) {
		if block != nil {
			pieces = append(pieces, piece{block, ours})
		}
	}
	results := false
	for _, b := range e.Message.Blocks {
		if r, ok := b.(uzda.ToolResult); ok {
			put(w.result(v.id(r.Use, ""), r), true)
			results = true
		}
	}
	for _, b := range e.Message.Blocks {
		switch b := b.(type) {
		case uzda.Text:
			put(w.text(b.Text), true)
		case uzda.Media:
			put(w.media(b), true)
		case uzda.Opaque: // blocks of the wire's own, which a program may post
			if _, err := raw.Parse(b.Raw); err == nil && b.Origin == v.origin.Profile {
				put(b.Raw, false)
			}
		}
	}
	if len(pieces) == 0 {
		return
	}
	if v.answers = results || v.answers && v.role == uzda.User; !v.answers {
		v.interrupt(i)
		v.fresh, v.bare = true, false
	}
	v.paused, v.media = false, v.media || w.showed
	for _, p := range pieces {
		v.begin(uzda.User)
		v.out = append(v.out, p.raw...)
		if p.ours {
			v.last = len(v.out) - 1
		}
	}
}

// interrupt takes back the calls of the provider's own tools that have no result
// when the user speaks before message i: the provider cannot go on with them any
// more, and refuses them without a result. It is the one place where bytes that
// were sent may change.
func (v *viewer) interrupt(i int) {
	r := v.since
	if r == nil {
		return
	}
	v.out, v.state, v.since = v.out[:r.size], r.state, nil
	v.skip, v.kept.open = v.kept.open, nil
	for j := r.entry; j < i; j++ {
		v.entry(j)
	}
	v.skip = nil
}

// assistant writes a reply: what came, if it came from here, else what others
// understand of it.
func (v *viewer) assistant(i int) {
	e := &v.view[i]
	m := &e.Message
	own := m.Origin != nil && *m.Origin == v.origin
	first, last := "", ""
	put := func(kind string, block []byte) {
		if block == nil {
			return
		}
		v.begin(uzda.Assistant)
		v.out = append(v.out, block...)
		if last = kind; first == "" {
			first = kind
		}
	}
	items := m.Items
	if !own || !covers(items, len(m.Blocks)) {
		items = nil
	}
	parts := make([]json.RawMessage, 0, len(m.Blocks)) // items by block
	for _, it := range items {
		for range it.Blocks {
			if it.Blocks > 1 || !isObject(it.Raw) {
				it.Raw = nil
			}
			parts = append(parts, it.Raw)
		}
	}
	for at, b := range m.Blocks {
		switch mended := repaired(m.Repairs, at); {
		case !own:
			put(v.translated(b))
		case mended || len(parts) == 0:
			put(v.said(b, nil, mended, e.Seq))
		default:
			put(v.said(b, parts[at], false, e.Seq))
		}
	}
	if last == "" {
		return
	}
	// A pause ends in a block of the provider's own, which one differs.
	v.paused = last != "text" && last != "thinking" && last != "tool_use"
	if v.fresh {
		v.fresh, v.bare = false, first != "thinking"
	}
}

// covers says whether items describe n blocks.
func covers(items []uzda.Item, n int) bool {
	for _, it := range items {
		if n -= it.Blocks; it.Blocks < 0 || n < 0 {
			return false
		}
	}
	return n == 0
}

func repaired(rs []uzda.Repair, block int) bool {
	for _, r := range rs {
		if r.Block == block {
			return true
		}
	}
	return false
}

// said is a block as this provider said it: the item, or else the same encoded. A
// thought that was mended has lost its proof, and is left out.
func (v *viewer) said(b uzda.Block, item json.RawMessage, mended bool, seq uzda.Seq) (kind string, block []byte) {
	switch b := b.(type) {
	case uzda.ToolUse:
		return "tool_use", v.use(b, item)
	case uzda.Thinking:
		if seq < v.mute || mended {
			return "", nil
		}
		v.thinking = true
		if item != nil {
			return "thinking", item
		}
		return "thinking", appendThinking(nil, b)
	case uzda.Text:
		if item != nil && !blank(b.Text) {
			return "text", item
		}
	case uzda.Opaque:
		return v.opaque(b, item, seq)
	}
	return v.translated(b)
}

func (v *viewer) opaque(b uzda.Opaque, item json.RawMessage, seq uzda.Seq) (kind string, block []byte) {
	o, err := raw.Parse(b.Raw)
	if err != nil || b.Origin != v.origin.Profile {
		return "", nil
	}
	if c := o.Get("container"); c != nil && o.Get("type") == nil {
		_ = json.Unmarshal(c, &v.container) // without an id it is not sent
		return "", nil
	}
	switch kind = str(o.Get("type")); {
	case kind == "redacted_thinking":
		if seq < v.mute {
			return "", nil
		}
		v.thinking = true
		kind = "thinking"
	case strings.HasSuffix(kind, "_tool_use"): // server_tool_use, mcp_tool_use
		id := str(o.Get("id"))
		if v.skip[id] {
			return "", nil
		}
		if v.kept.open == nil {
			v.kept.open = map[string]bool{}
		}
		v.kept.open[id] = true
	case strings.HasSuffix(kind, "_tool_result"):
		delete(v.kept.open, str(o.Get("tool_use_id")))
	}
	if item == nil {
		item = b.Raw
	}
	return kind, item
}

// translated is a block that somebody else said.
func (v *viewer) translated(b uzda.Block) (kind string, block []byte) {
	switch b := b.(type) {
	case uzda.Text:
		return "text", writer{}.text(b.Text)
	case uzda.ToolUse:
		return "tool_use", v.use(b, nil)
	case uzda.Media:
		return "text", writer{}.text(remark(b, "it was part of a reply"))
	}
	return "", nil
}

// use is a call. An item keeps its bytes but for an id or a name that cannot go
// back.
func (v *viewer) use(u uzda.ToolUse, item json.RawMessage) []byte {
	v.calls = true
	id := v.id(u.ID, u.Wire)
	if o, err := raw.Parse(item); err == nil && item != nil {
		if got := str(o.Get("id")); got != id {
			o.Set("id", appendString(nil, id))
			item = o.Append(nil)
		}
		if !nameFits(str(o.Get("name"))) {
			o.Set("name", appendString(nil, v.names.wire(u.Name)))
			item = o.Append(nil)
		}
		return item
	}
	return appendUse(nil, id, v.names.wire(u.Name), u.Input)
}

// id is what a use is called on the wire: as its provider called it if that can
// be sent and is not another's, else by its own name.
func (v *viewer) id(use uzda.UseID, wireID string) string {
	if id, ok := v.ids[use]; ok && use != "" {
		return id
	}
	id := wireID
	if !nameFits(id) || v.taken[id] {
		base := "toolu_" + strings.Map(func(r rune) rune {
			if r < 0x80 && nameFits(string(r)) {
				return r
			}
			return '_'
		}, uzda.Before(string(use), 40))
		id = base
		for n := 2; v.taken[id]; n++ {
			id = base + "_" + strconv.Itoa(n)
		}
	}
	v.ids[use], v.taken[id] = id, true
	return id
}

// str is the text of a JSON string, "" of anything else.
func str(raw json.RawMessage) (s string) {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	_ = json.Unmarshal(raw, &s) // no string is ""
	return s
}

// word is str without an allocation for the words that come by the thousand.
func word(raw json.RawMessage) string {
	switch string(raw) {
	case `"text"`:
		return "text"
	case `"ping"`:
		return "ping"
	case `"tool_use"`:
		return "tool_use"
	case `"thinking"`:
		return "thinking"
	case `"end_turn"`:
		return "end_turn"
	case `"message_start"`:
		return "message_start"
	case `"message_delta"`:
		return "message_delta"
	case `"message_stop"`:
		return "message_stop"
	case `"content_block_start"`:
		return "content_block_start"
	case `"content_block_stop"`:
		return "content_block_stop"
	case `"content_block_delta"`:
		return "content_block_delta"
	case `"text_delta"`:
		return "text_delta"
	case `"thinking_delta"`:
		return "thinking_delta"
	case `"input_json_delta"`:
		return "input_json_delta"
	}
	return str(raw)
}

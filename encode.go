package uzda

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"
)

// A Line is an event as it is stored.
type Line struct {
	Head []byte // the envelope without its body, a JSON object
	Body []byte // the body, JSON; long strings stand in it as blobs
	Link string // SHA-256 of Head: what the next event carries as Prev
}

// Append writes the line as one JSON object and a newline: the body is the last
// member, so that it is the head, opened again.
func (l Line) Append(dst []byte) []byte {
	dst = append(append(append(dst, l.Head[:len(l.Head)-1]...), bodyKey...), l.Body...)
	return append(dst, '}', '\n')
}

var bodyKey = []byte(`,"body":`)

// SplitLine parts what Append wrote; ok is false if raw is no such line.
func SplitLine(raw []byte) (l Line, ok bool) {
	raw = bytes.TrimRight(raw, "\r\n")
	at := bytes.Index(raw, bodyKey)
	if at < 0 || raw[len(raw)-1] != '}' {
		return l, false
	}
	l.Head = append(raw[:at:at], '}')
	l.Body = raw[at+len(bodyKey) : len(raw)-1]
	return l, len(l.Body) > 0
}

// Seal encodes e, fills its Sum and gives long strings to put (see Spill), which
// may be nil: then they stay where they are. It makes e what [Open] will give:
// the time in UTC and whole microseconds, text in UTF-8, empty lists as they are read.
func Seal(e *Event, put func(data []byte) (hash string, err error)) (Line, error) {
	l := Line{Head: make([]byte, 0, 256), Body: make([]byte, 0, 512)}
	if err := l.Seal(e, put); err != nil {
		return Line{}, err
	}
	return l, nil
}

// Seal is the function [Seal] in the room that the line has already: what it held
// is gone.
func (l *Line) Seal(e *Event, put func(data []byte) (hash string, err error)) error {
	name := e.Body.Kind()
	c, ok := codecs[name]
	if !ok || c.class == ClassTransient {
		return fmt.Errorf("encode event: the kind %q is not stored", name)
	}
	body, err := appendBody(l.Body[:0], e.Body)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	settled, body, err := settle(e.Body, body)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	if put != nil {
		if body, err = Spill(body, put); err != nil {
			return fmt.Errorf("encode %s: %w", name, err)
		}
	}
	e.Body, e.Sum = settled, Hash(body)
	e.At = e.At.UTC().Truncate(time.Microsecond)
	head := l.Head[:0]
	head = append(strconv.AppendInt(append(head, `{"seq":`...), int64(e.Seq), 10), `,"at":"`...)
	head = append(e.At.AppendFormat(head, time.RFC3339Nano), `","kind":"`...)
	head = append(append(head, name...), `","v":`...)
	head = strconv.AppendInt(head, int64(c.v), 10)
	if c.need {
		head = append(head, `,"need":true`...)
	}
	if e.By != 0 {
		head = strconv.AppendInt(append(head, `,"by":`...), e.By, 10)
	}
	head = append(append(append(head, `,"sum":"`...), e.Sum...), '"')
	if e.Prev != "" {
		head = append(append(append(head, `,"prev":"`...), e.Prev...), '"')
	}
	head = append(head, '}')
	l.Head, l.Body, l.Link = head, body, Hash(head)
	return nil
}

type envelope struct {
	Seq  Seq       `json:"seq"`
	At   time.Time `json:"at"`
	Kind string    `json:"kind"`
	V    int       `json:"v"`
	Need bool      `json:"need"`
	By   int64     `json:"by"`
	Sum  string    `json:"sum"`
	Prev string    `json:"prev"`
}

// Open decodes a line. Blobs come from get; with nil they stay blobs. Old
// versions are brought up; kinds that are unknown, or newer than this program,
// become [Unread]; a body that is null is [Erased].
func Open(l Line, get func(hash string) ([]byte, error)) (e Event, link string, err error) {
	var env envelope
	if err := json.Unmarshal(l.Head, &env); err != nil {
		return e, "", fmt.Errorf("decode event: %w", err)
	}
	e = Event{Seq: env.Seq, At: env.At, By: env.By, Sum: env.Sum, Prev: env.Prev}
	link = Hash(l.Head)
	if string(l.Body) == "null" || len(l.Body) == 0 {
		e.Body = Erased{env.Kind}
		return e, link, nil
	}
	raw := json.RawMessage(l.Body)
	if get != nil {
		if raw, err = Inflate(raw, get); err != nil {
			return e, link, fmt.Errorf("read %s %d: %w", env.Kind, env.Seq, err)
		}
	}
	c, ok := codecs[env.Kind]
	if !ok || c.class == ClassTransient || env.V > c.v {
		e.Body = Unread{Name: env.Kind, V: env.V, Need: env.Need, Raw: raw}
		return e, link, nil
	}
	for v := env.V; v < c.v; v++ {
		up := c.up[v]
		if up == nil {
			return e, link, fmt.Errorf("decode %s %d: there is no version %d of this kind", env.Kind, env.Seq, v)
		}
		if raw, err = up(raw); err != nil {
			return e, link, fmt.Errorf("bring up %s %d from version %d: %w", env.Kind, env.Seq, v, err)
		}
	}
	if e.Body, err = c.decode(raw); err != nil {
		return e, link, fmt.Errorf("decode %s %d: %w", env.Kind, env.Seq, err)
	}
	return e, link, nil
}

// Check verifies that a line's body is the one that its head was sealed with.
// An erased body cannot be checked, and passes.
func (l Line) Check() error {
	var env envelope
	if err := json.Unmarshal(l.Head, &env); err != nil {
		return fmt.Errorf("the envelope is no JSON: %w", err)
	}
	if string(l.Body) != "null" && len(l.Body) > 0 && Hash(l.Body) != env.Sum {
		return fmt.Errorf("the body of event %d (%s) is not the one that was recorded", env.Seq, env.Kind)
	}
	return nil
}

// Hash is the SHA-256 in hex of its parts, joined by NUL.
func Hash(parts ...[]byte) string {
	var sum [32]byte
	if len(parts) == 1 {
		sum = sha256.Sum256(parts[0])
	} else {
		h := sha256.New()
		for i, p := range parts {
			if i > 0 {
				h.Write([]byte{0})
			}
			h.Write(p)
		}
		h.Sum(sum[:0])
	}
	var text [2 * sha256.Size]byte
	hex.Encode(text[:], sum[:])
	return string(text[:])
}

// appendBody writes the kinds of every step by hand, since encoding/json costs
// more than the rest of a step, and the others by reflection.
func appendBody(dst []byte, b Body) ([]byte, error) {
	var err error
	switch b := b.(type) {
	case Asked:
		dst = appendInt(append(dst, '{'), `"ordinal":`, int64(b.Ordinal))
		dst = appendStr(dst, `,"model":`, b.Model)
		dst = appendStr(dst, `,"hash":`, b.Hash)
		dst = appendOpt(dst, `,"tail":`, b.Tail)
		dst = appendInt(dst, `,"max_tokens":`, int64(b.Max))
		if b.Hold.ID != "" {
			dst = appendHold(append(dst, `,"hold":`...), b.Hold)
		}
		dst = appendInt(dst, `,"tokens":`, int64(b.Tokens))
		return append(appendFlag(dst, `,"counted":true`, b.Counted), '}'), nil
	case Judged:
		dst = appendStr(append(dst, '{'), `"use":`, string(b.Use))
		dst = appendVerdict(append(dst, `,"verdict":`...), b.Verdict)
		dst = appendOpt(dst, `,"by":`, b.By)
		dst = appendStr(dst, `,"hash":`, b.Hash)
		if len(b.Input) > 0 {
			if dst, err = appendRaw(append(dst, `,"input":`...), b.Input); err != nil {
				return nil, err
			}
		}
		dst = appendOpt(dst, `,"preview":`, b.Preview)
		if b.Labels != 0 {
			dst = appendInt(dst, `,"labels":`, int64(b.Labels))
		}
		if b.Grants != 0 {
			dst = appendInt(dst, `,"grants":`, int64(b.Grants))
		}
		return append(dst, '}'), nil
	case Started:
		dst = appendStr(append(dst, '{'), `"use":`, string(b.Use))
		dst = appendInt(dst, `,"attempt":`, int64(b.Attempt))
		dst = appendStr(dst, `,"spec":`, b.Spec)
		if b.Effects != (Effects{}) {
			dst = appendEffects(append(dst, `,"effects":`...), b.Effects)
		}
		dst = appendStr(dst, `,"args":`, b.Args)
		dst = appendStr(dst, `,"key":`, b.Key)
		return append(appendFlag(dst, `,"once":true`, b.Once), '}'), nil
	case Said:
		if dst, err = appendMessage(append(dst, `{"message":`...), b.Message); err != nil {
			return nil, err
		}
		dst = appendStr(dst, `,"stop":`, string(b.Stop))
		dst = appendOpt(dst, `,"raw":`, b.Raw)
		dst = appendOpt(dst, `,"detail":`, b.Detail)
		dst = appendUsage(dst, b.Usage)
		dst = appendMoney(dst, b.Cost)
		dst = appendActive(appendFlag(dst, `,"price_unknown":true`, b.Unknown), b.Active)
		dst = appendOpt(dst, `,"model":`, b.Model)
		return append(appendOpt(dst, `,"request":`, b.Request), '}'), nil
	case Returned:
		if dst, err = appendResult(append(dst, `{"result":`...), b.Result); err != nil {
			return nil, err
		}
		if b.Pending != nil {
			if dst, err = appendJSON(append(dst, `,"pending":`...), b.Pending); err != nil {
				return nil, err
			}
		}
		dst = appendOpt(dst, `,"fatal":`, b.Fatal)
		return append(appendActive(dst, b.Active), '}'), nil
	}
	return appendJSON(dst, b)
}

func appendHold(dst []byte, h Hold) []byte {
	dst = appendStr(append(dst, '{'), `"id":`, h.ID)
	if h.Accounts == nil {
		dst = append(dst, `,"accounts":null`...)
	} else {
		dst = append(dst, `,"accounts":[`...)
		for i, a := range h.Accounts {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendStr(dst, `{"name":`, a.Name), `,"limit":`...)
			dst = append(a.Limit.append(dst), '}')
		}
		dst = append(dst, ']')
	}
	return append(h.Amount.append(append(dst, `,"amount":`...)), '}')
}

func appendVerdict(dst []byte, v Verdict) []byte {
	dst = appendStr(dst, `{"decision":`, string(v.Decision))
	dst = appendOpt(dst, `,"reason":`, v.Reason)
	dst = appendOpt(dst, `,"rule":`, v.Rule)
	dst = appendOpt(dst, `,"origin":`, v.Origin)
	return append(appendFlag(dst, `,"unattended":true`, v.Unattended), '}')
}

// appendEffects writes effects of which at least one is set.
func appendEffects(dst []byte, e Effects) []byte {
	start := len(dst)
	dst = appendFlag(dst, `,"read_only":true`, e.ReadOnly)
	dst = appendFlag(dst, `,"idempotent":true`, e.Idempotent)
	dst = appendFlag(dst, `,"irreversible":true`, e.Irreversible)
	dst = appendFlag(dst, `,"open_world":true`, e.OpenWorld)
	dst = appendFlag(dst, `,"independent":true`, e.Independent)
	dst[start] = '{' // for the first comma
	return append(dst, '}')
}

func appendMessage(dst []byte, m Message) ([]byte, error) {
	dst, err := appendBlocks(append(appendStr(append(dst, '{'), `"role":`, string(m.Role)), `,"blocks":`...), m.Blocks)
	if err != nil {
		return nil, err
	}
	if o := m.Origin; o != nil {
		dst = appendStr(append(dst, `,"origin":{`...), `"profile":`, o.Profile)
		dst = appendOpt(dst, `,"base":`, o.Base)
		dst = appendOpt(dst, `,"account":`, o.Account)
		dst = append(appendStr(dst, `,"model":`, o.Model), '}')
	}
	if len(m.Items) > 0 {
		dst = append(dst, `,"items":[`...)
		for i, it := range m.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, '{')
			if it.Blocks != 0 {
				dst = append(appendInt(dst, `"blocks":`, int64(it.Blocks)), ',')
			}
			if dst, err = appendRaw(append(dst, `"raw":`...), it.Raw); err != nil {
				return nil, err
			}
			dst = append(dst, '}')
		}
		dst = append(dst, ']')
	}
	if len(m.Repairs) > 0 {
		if dst, err = appendJSON(append(dst, `,"repairs":`...), m.Repairs); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func appendBlocks(dst []byte, bs Blocks) ([]byte, error) {
	dst = append(dst, '[')
	for i, b := range bs {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendBlock(dst, b); err != nil {
			return nil, fmt.Errorf("block %d: %w", i, err)
		}
	}
	return append(dst, ']'), nil
}

func appendBlock(dst []byte, b Block) ([]byte, error) {
	var err error
	switch b := b.(type) {
	case Text:
		if dst, err = appendLabels(append(dst, `{"text":{`...), b.Labels); err != nil {
			return nil, err
		}
		return append(appendStr(dst, `"text":`, b.Text), '}', '}'), nil
	case ToolUse:
		if dst, err = appendLabels(append(dst, `{"use":{`...), b.Labels); err != nil {
			return nil, err
		}
		dst = appendStr(dst, `"name":`, b.Name)
		dst = appendOpt(dst, `,"id":`, string(b.ID))
		dst = appendOpt(dst, `,"wire":`, b.Wire)
		if len(b.Input) > 0 {
			if dst, err = appendRaw(append(dst, `,"input":`...), b.Input); err != nil {
				return nil, err
			}
		}
		return append(appendOpt(dst, `,"raw":`, b.Raw), '}', '}'), nil
	case ToolResult:
		if dst, err = appendResult(append(dst, `{"result":`...), b); err != nil {
			return nil, err
		}
		return append(dst, '}'), nil
	case Thinking:
		return appendJSON(dst, anyBlock{Thinking: &b})
	case Media:
		return appendJSON(dst, anyBlock{Media: &b})
	case Opaque: // by hand, so that its JSON keeps its bytes
		if dst, err = appendLabels(append(dst, `{"opaque":{`...), b.Labels); err != nil {
			return nil, err
		}
		dst = append(appendStr(dst, `"origin":`, b.Origin), `,"raw":`...)
		if len(b.Raw) == 0 {
			return append(dst, `null}}`...), nil
		}
		if dst, err = appendRaw(dst, b.Raw); err != nil {
			return nil, err
		}
		return append(dst, '}', '}'), nil
	}
	return nil, fmt.Errorf("unknown type %T", b)
}

func appendResult(dst []byte, r ToolResult) ([]byte, error) {
	dst, err := appendLabels(append(dst, '{'), r.Labels)
	if err != nil {
		return nil, err
	}
	dst = append(appendStr(dst, `"use":`, string(r.Use)), `,"blocks":`...)
	if dst, err = appendBlocks(dst, r.Blocks); err != nil {
		return nil, err
	}
	dst = appendFlag(dst, `,"is_error":true`, r.IsError)
	dst = appendOpt(dst, `,"code":`, string(r.Code))
	dst = appendOpt(dst, `,"effect":`, string(r.Effect))
	if r.Full != nil {
		if dst, err = appendJSON(append(dst, `,"full":`...), r.Full); err != nil {
			return nil, err
		}
	}
	if len(r.People) > 0 {
		if dst, err = appendBlocks(append(dst, `,"people":`...), r.People); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func appendLabels(dst []byte, ls []Label) ([]byte, error) {
	if len(ls) == 0 {
		return dst, nil
	}
	dst, err := appendJSON(append(dst, `"labels":`...), ls)
	return append(dst, ','), err
}

func appendUsage(dst []byte, u Usage) []byte {
	if u == (Usage{}) {
		return dst
	}
	dst = append(dst, `,"usage":{`...)
	start := len(dst)
	put := func(key string, n int) {
		if n != 0 {
			if len(dst) > start {
				dst = append(dst, ',')
			}
			dst = appendInt(dst, key, int64(n))
		}
	}
	put(`"input":`, u.Input)
	put(`"output":`, u.Output)
	put(`"cache_read":`, u.CacheRead)
	put(`"cache_write":`, u.CacheWrite)
	put(`"cache_write_1h":`, u.CacheLong)
	if u.AtLeast {
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(dst, `"at_least":true`...)
	}
	return append(dst, '}')
}

func appendMoney(dst []byte, m Money) []byte {
	if m == 0 {
		return dst
	}
	return m.append(append(dst, `,"cost":`...))
}

func appendActive(dst []byte, d time.Duration) []byte {
	if d == 0 {
		return dst
	}
	return appendInt(dst, `,"active":`, int64(d))
}

func appendInt(dst []byte, key string, n int64) []byte {
	return strconv.AppendInt(append(dst, key...), n, 10)
}

func appendStr(dst []byte, key, s string) []byte { return appendString(append(dst, key...), s) }

func appendOpt(dst []byte, key, s string) []byte {
	if s == "" {
		return dst
	}
	return appendStr(dst, key, s)
}

func appendFlag(dst []byte, member string, on bool) []byte {
	if !on {
		return dst
	}
	return append(dst, member...)
}

// appendRaw writes raw as it is, but on one line: journals are lines.
func appendRaw(dst []byte, raw json.RawMessage) ([]byte, error) {
	if bytes.ContainsAny(raw, "\n\r") || !json.Valid(raw) {
		buf := bytes.NewBuffer(dst)
		if err := json.Compact(buf, raw); err != nil {
			return nil, fmt.Errorf("raw JSON: %w", err)
		}
		return buf.Bytes(), nil
	}
	return append(dst, raw...), nil
}

// appendJSON writes v by reflection, without escaping HTML.
func appendJSON(dst []byte, v any) ([]byte, error) {
	buf := bytes.NewBuffer(dst)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}

const hexDigits = "0123456789abcdef"

// appendString writes a JSON string; what is not UTF-8 becomes U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, s[from:i]...), "\uFFFD"...)
				from = i + 1
			}
			i += n
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}

package wire

import (
	"bytes"
	"encoding/json"
	"html"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// report is what an error's body says, in whatever dialect.
type report struct {
	texts     []string      // for people, the most telling first
	words     []string      // codes and types, lower case
	headers   []http.Header // that the body quotes
	number    int           // a status in the body
	status    int
	wait      time.Duration
	request   string
	via       string // the provider behind a router
	plain     bool   // the error is a plain string: Ollama, xAI
	anthropic bool   // the shape of Messages
	html      bool
	slot      int // tokens of a slot of llama-server
	prompt    int // tokens of the request, as llama-server counts it
}

const (
	maxDepth = 6        // how deep errors are looked for in errors
	maxSaid  = 16 << 10 // bytes of a text; what is shown is cut at characters
)

// read takes a body apart. Nothing in it is trusted to have a shape.
func read(body []byte, contentType string) *report {
	r := &report{}
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\ufeff")))
	if len(body) == 0 {
		return r
	}
	if body[0] == '<' || isHTML(contentType) && body[0] != '{' && body[0] != '[' {
		r.texts = []string{"the answer is " + page(body)}
		r.html = true
		return r
	}
	// A stream's error, where only one line of it holds it.
	if line, ok := bytes.CutPrefix(lastData(body), []byte("data:")); ok {
		body = bytes.TrimSpace(line)
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(body)) // what follows the first value is left out
	dec.UseNumber()                               // 1e400 is no float64
	if dec.Decode(&v) != nil {
		r.text(string(body))
		return r
	}
	r.any(v, 0)
	return r
}

// lastData is the first data line of a stream's events that has an error, else
// the body.
func lastData(body []byte) []byte {
	if !bytes.HasPrefix(body, []byte("data:")) && !bytes.HasPrefix(body, []byte("event:")) {
		return body
	}
	for line := range bytes.Lines(body) {
		if bytes.HasPrefix(line, []byte("data:")) && bytes.Contains(line, []byte("rror")) {
			return line
		}
	}
	return body
}

func (r *report) text(s string) {
	if s = strings.TrimSpace(s); s != "" && len(r.texts) < 8 {
		r.texts = append(r.texts, s[:min(len(s), maxSaid)])
	}
}

func (r *report) say(s string) {
	s = strings.ToLower(strings.TrimSpace(s))
	if n, err := strconv.Atoi(s); err == nil {
		r.numbered(float64(n))
	} else if s != "" && len(s) < 120 && len(r.words) < 64 {
		r.words = append(r.words, s)
	}
}

func (r *report) numbered(n float64) {
	if n >= 400 && n < 600 && n == math.Trunc(n) && r.number == 0 {
		r.number = int(n)
	}
}

func (r *report) any(v any, depth int) {
	if depth > maxDepth {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		r.object(v, depth)
	case []any:
		for i, one := range v {
			if i == 8 {
				break
			}
			r.any(one, depth+1)
		}
	case string:
		r.string(v, depth)
	}
}

// string takes a text, which may be the JSON of an error that somebody passed on.
func (r *report) string(s string, depth int) {
	if t := strings.TrimSpace(s); strings.HasPrefix(t, "{") && len(t) < maxFault {
		var v map[string]any
		dec := json.NewDecoder(strings.NewReader(t))
		dec.UseNumber()
		if dec.Decode(&v) == nil {
			r.object(v, depth+1)
			return
		}
	}
	r.text(s)
}

// object reads the members that errors have, in an order that brings the most
// telling text first.
func (r *report) object(o map[string]any, depth int) {
	if depth > maxDepth {
		return
	}
	r.anthropic = r.anthropic || o["type"] == "error"
	if s, ok := o["request_id"].(string); ok && r.request == "" {
		r.request = s
	}
	if s, ok := o["provider_name"].(string); ok && r.via == "" {
		r.via = s
	}
	if s, ok := o["error"].(string); ok {
		r.plain = true
		r.string(s, depth)
	}
	for _, name := range []string{"code", "type", "status", "reason", "error_code", "quotaId", "quota_limit", "name", "__type", "error_type"} {
		switch v := o[name].(type) {
		case string:
			r.say(v)
		case json.Number:
			r.numbered(number(v))
		}
	}
	for _, name := range []string{"raw_status_code", "status_code", "statusCode", "http_code"} {
		r.numbered(number(o[name]))
	}
	for name, to := range map[string]*int{"n_ctx": &r.slot, "n_prompt_tokens": &r.prompt} {
		if n := number(o[name]); n >= 1 && n < 1e9 {
			*to = int(n)
		}
	}
	for _, name := range []string{"message", "error", "error_message", "error_msg", "msg", "detail", "title"} {
		if s, isText := o[name].(string); isText {
			if name != "error" {
				r.string(s, depth)
			}
			continue
		}
		r.any(o[name], depth+1)
	}
	for _, name := range []string{"errors", "details", "innererror", "inner_error", "metadata", "violations", "response", "raw", "base_resp", "status_msg"} {
		if _, isText := o[name].(string); isText && name == "details" {
			continue // Azure's copy of the message
		}
		r.any(o[name], depth+1)
	}
	r.hints(o)
}

// hints are waits in the body.
func (r *report) hints(o map[string]any) {
	switch d := o["retryDelay"].(type) { // of google.rpc.RetryInfo
	case string:
		r.wait = max(r.wait, span(d))
	case map[string]any:
		r.wait = max(r.wait, seconds(number(d["seconds"])+number(d["nanos"])/1e9))
	}
	for _, name := range []string{"estimated_time", "retry_after", "retryAfter", "retry_after_seconds"} {
		switch v := o[name].(type) {
		case json.Number:
			r.wait = max(r.wait, seconds(number(v)))
		case string:
			r.wait = max(r.wait, span(v))
		}
	}
	if o["quota_limit_value"] == "0" || o["quotaValue"] == "0" {
		r.words = append(r.words, "quota_limit_0")
	}
	if quoted, ok := o["headers"].(map[string]any); ok && len(r.headers) < 4 {
		h := http.Header{}
		for name, v := range quoted {
			switch v := v.(type) {
			case string:
				h.Set(name, v)
			case json.Number:
				h.Set(name, v.String())
			}
		}
		r.headers = append(r.headers, h)
	}
}

// number is a number of JSON, or of a string of its; else 0.
func number(v any) float64 {
	switch v := v.(type) {
	case json.Number:
		n, _ := v.Float64()
		return n
	case string:
		n, _ := strconv.ParseFloat(v, 64)
		return n
	}
	return 0
}

func isHTML(contentType string) bool {
	media := mediaType(contentType)
	return media == "text/html" || media == "application/xhtml+xml"
}

var tags = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`<[^>]*>`)
})

func unescape(s string) string { return html.UnescapeString(tags().ReplaceAllString(s, "")) }

package fetch

import (
	"context"
	"errors"
	"io"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/uzda-dev/uzda"
)

// A page is what a person would read of an HTML page.
type page struct {
	title   string
	text    string
	refresh string // where browsers are sent on to
	hidden  int    // bytes of text that the page hides
	scripts int
	cut     bool // there is more
}

// An element is open: its end has not come yet.
type element struct {
	tag    string
	hidden bool // it and all in it
}

// A reader turns tokens into calls of a writer. It builds no tree: what is nested
// without end, closed in the wrong order or not at all costs no more than its bytes.
type reader struct {
	page
	z     *html.Tokenizer
	base  *url.URL
	open  []element
	count map[string]int // of open elements by tag
	over  int            // elements too deep to be kept
	css   sheet
	based bool
	w     *writer
}

// maxDepth is how many elements are open at once; what lies deeper belongs to the
// deepest of them.
const maxDepth = 200

// convert writes HTML as Markdown, or as text without marks, of limit bytes at most.
func convert(ctx context.Context, src string, at *url.URL, limit int, bald bool) page {
	r := &reader{z: html.NewTokenizer(strings.NewReader(src)), base: at, count: map[string]int{}}
	r.w = newWriter(limit+utf8.UTFMax, bald) // so that it is known that there is more
	for !r.w.full() && ctx.Err() == nil {
		if r.z.Next() == html.ErrorToken {
			break
		}
		r.token()
	}
	r.cut = r.w.full() && !errors.Is(r.z.Err(), io.EOF)
	for len(r.open) > 0 {
		r.pop()
	}
	r.text = r.w.String()
	r.cut = r.cut || r.w.budget.lost || len(r.text) > limit
	r.text = uzda.Before(r.text, limit)
	return r.page
}

func (r *reader) token() {
	switch t := r.z.Token(); t.Type {
	case html.TextToken:
		r.say(t.Data)
	case html.StartTagToken, html.SelfClosingTagToken:
		r.start(t)
	case html.EndTagToken:
		r.end(t.Data)
	}
}

func (r *reader) say(text string) {
	in := ""
	if n := len(r.open); n > 0 {
		in = r.open[n-1].tag
	}
	switch {
	case in == "style":
		r.css.add(text)
	case in == "title" && r.title == "" && r.count["svg"] == 0:
		r.title = strings.Join(strings.Fields(clean(text)), " ")
	case silent(in):
	case r.hiding():
		r.hidden += len(strings.TrimSpace(text))
	default:
		seen := clean(text)
		r.hidden += max(0, invisible(text, seen))
		r.w.text(seen)
	}
}

// invisible counts the bytes of characters that nobody sees; a few soft hyphens are
// no message.
func invisible(text, seen string) int {
	const few = 16
	if n := len(text) - strings.Count(text, "\r") - len(seen); n > few {
		return n
	}
	return 0
}

func (r *reader) hiding() bool { return len(r.open) > 0 && r.open[len(r.open)-1].hidden }

// silent are elements whose text is not for reading.
func silent(tag string) bool {
	switch tag {
	case "script", "style", "title", "template", "noscript", "noembed", "noframes", "iframe", "object", "svg", "canvas",
		"audio", "video", "select", "datalist", "textarea", "annotation", "annotation-xml", "head":
		return true
	}
	return false
}

func void(tag string) bool {
	switch tag {
	case "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input", "keygen", "link", "meta", "param", "source", "track", "wbr":
		return true
	}
	return false
}

func (r *reader) start(t html.Token) {
	tag := t.Data
	switch tag {
	case "html", "body": // whole pages are hidden until a script shows them
		r.end("head")
		return
	case "base", "meta":
		r.meta(t)
		return
	case "script":
		r.scripts++
	}
	r.imply(tag)
	hidden := r.hiding() || silent(tag) && tag != "head" || r.conceals(t)
	if tag == "head" {
		return // its parts are silent by themselves
	}
	if void(tag) {
		if !hidden {
			r.w.void(tag, r.attributes(t))
		}
		return
	}
	if tag == "iframe" && !r.hiding() {
		if src := r.link(attr(t, "src")); src != "" {
			r.w.void("frame", attributes{src: src})
		}
	}
	if len(r.open) >= maxDepth {
		r.over++
		return
	}
	r.open = append(r.open, element{tag, hidden})
	r.count[tag]++
	if !hidden {
		r.w = r.w.enter(tag, r.attributes(t))
	}
}

func (r *reader) pop() {
	last := r.open[len(r.open)-1]
	r.open = r.open[:len(r.open)-1]
	r.count[last.tag]--
	if !last.hidden {
		r.w = r.w.leave(last.tag)
	}
}

// end closes an element and all that is still open in it. An end that belongs to
// nothing in the same cell of a table is ignored.
func (r *reader) end(tag string) {
	if r.over > 0 && tag != "html" && tag != "body" {
		r.over--
		return
	}
	if r.count[tag] == 0 {
		return
	}
	r.close(tag, func(e string) bool { return cell(e) && !tabular(tag) })
}

// close closes the innermost open element with a tag, unless a wall stands before it.
func (r *reader) close(tag string, wall func(string) bool) {
	for i := range slices.Backward(r.open) {
		if r.open[i].tag == tag {
			for len(r.open) > i {
				r.pop()
			}
			return
		}
		if wall(r.open[i].tag) {
			return
		}
	}
}

func cell(tag string) bool { return tag == "td" || tag == "th" || tag == "caption" }

func tabular(tag string) bool {
	switch tag {
	case "table", "tbody", "thead", "tfoot", "tr", "td", "th", "caption":
		return true
	}
	return false
}

// imply closes what the start of an element ends, where authors may leave the end out.
func (r *reader) imply(tag string) {
	shut := func(what, walls string) {
		if r.count[what] > 0 {
			r.close(what, func(e string) bool { return strings.Contains(walls, " "+e+" ") })
		}
	}
	const inTable = " table "
	switch tag {
	case "li":
		shut("li", " ul ol menu td th caption table ")
	case "dt", "dd":
		shut("dt", " dl td th table ")
		shut("dd", " dl td th table ")
	case "td", "th":
		shut("td", inTable+"tr ")
		shut("th", inTable+"tr ")
	case "tr", "tbody", "thead", "tfoot":
		shut("caption", inTable)
		shut("tr", inTable)
		if tag != "tr" {
			shut("tbody", inTable)
			shut("thead", inTable)
			shut("tfoot", inTable)
		}
	case "option":
		shut("option", " select datalist ")
	case "a":
		shut("a", " td th table ")
	}
	if block(tag) {
		shut("p", " td th caption table button object li blockquote ")
	}
}

// block are elements that stand on lines of their own.
func block(tag string) bool {
	switch tag {
	case "address", "article", "aside", "blockquote", "center", "details", "dialog", "dir", "div", "dl", "fieldset", "figcaption", "figure",
		"footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "hr", "li", "dt", "dd", "main", "menu", "nav", "ol", "p", "pre",
		"search", "section", "summary", "table", "ul":
		return true
	}
	return false
}

// conceals says whether an element is not shown.
func (r *reader) conceals(t html.Token) bool {
	for _, a := range t.Attr {
		switch a.Key {
		case "hidden":
			return true
		case "aria-hidden":
			if strings.EqualFold(a.Val, "true") {
				return true
			}
		case "style":
			if hides().MatchString(a.Val[:min(len(a.Val), 4096)]) {
				return true
			}
		case "id":
			if r.css.hides("#" + a.Val) {
				return true
			}
		case "class":
			for c := range strings.FieldsSeq(a.Val) {
				if r.css.hides("." + c) {
					return true
				}
			}
		}
	}
	return t.Data == "dialog" && !slices.ContainsFunc(t.Attr, func(a html.Attribute) bool { return a.Key == "open" })
}

func attr(t html.Token, key string) string {
	for _, a := range t.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// meta reads what concerns the page as a whole.
func (r *reader) meta(t html.Token) {
	if t.Data == "base" {
		if u := r.link(attr(t, "href")); u != "" && !r.based {
			if base, err := url.Parse(u); err == nil {
				r.base, r.based = base, true
			}
		}
		return
	}
	if _, to, ok := strings.Cut(attr(t, "content"), "="); ok && strings.EqualFold(attr(t, "http-equiv"), "refresh") {
		r.refresh = r.link(strings.Trim(to, ` "'`))
	}
}

// link returns a link as an absolute URL of the web, "" if it is none or leads to a
// place in the same page.
func (r *reader) link(ref string) string {
	ref = strings.Map(func(c rune) rune {
		if c == '\t' || c == '\n' || c == '\r' {
			return -1 // as browsers do
		}
		return c
	}, strings.TrimSpace(ref))
	if ref == "" || ref[0] == '#' || len(ref) > maxURL {
		return ""
	}
	u, err := r.base.Parse(ref)
	if err != nil {
		return ""
	}
	switch u.Scheme {
	case "http", "https", "mailto", "tel", "ftp":
		return clean(strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29", "<", "%3C", ">", "%3E", "\n", "").Replace(u.String()))
	}
	return ""
}

// attributes are what the writer needs of a start tag.
type attributes struct {
	href, src, alt, class string
	span, down, from      string // columns, rows; the first number of a list
}

func (r *reader) attributes(t html.Token) attributes {
	switch t.Data {
	case "a":
		return attributes{href: r.link(attr(t, "href"))}
	case "img":
		return attributes{src: r.link(attr(t, "src")), alt: clean(attr(t, "alt"))}
	case "input":
		return attributes{class: attr(t, "type")}
	case "td", "th":
		return attributes{span: attr(t, "colspan"), down: attr(t, "rowspan")}
	case "ol":
		return attributes{from: attr(t, "start")}
	case "pre", "code", "div":
		return attributes{class: attr(t, "class")}
	}
	return attributes{}
}

// bare returns HTML without scripts, styles and comments.
func bare(src string, limit int) string {
	z := html.NewTokenizer(strings.NewReader(src))
	var b strings.Builder
	skip := ""
	for b.Len() <= limit {
		t := z.Next()
		if t == html.ErrorToken {
			break
		}
		raw := string(z.Raw())
		name, _ := z.TagName()
		tag := string(name)
		switch {
		case t == html.CommentToken:
		case skip != "":
			if t == html.EndTagToken && tag == skip {
				skip = ""
			}
		case t == html.StartTagToken && (tag == "script" || tag == "style" || tag == "template"):
			skip = tag
		default:
			b.WriteString(raw)
		}
	}
	return b.String()
}

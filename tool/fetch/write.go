package fetch

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/uzda-dev/uzda"
)

// A writer writes Markdown for a reader, not for a renderer: characters of the page
// stay as they are, since names_like_this are read and copied. Its size is bounded.
type writer struct {
	b      strings.Builder
	budget *budget // shared with the cells of tables
	bald   bool    // text without marks

	gap     int      // line breaks that the next text needs before it
	low     int      // how many indents reach over that gap
	space   bool     // white space came
	fresh   bool     // nothing stands yet in this item, quote or heading
	heading bool     // inside of one, which is one line
	start   string   // what begins the next line, once: "## "
	marks   []mark   // open emphasis and links
	indents []indent // of open quotes and lists
	pre     *fence   // inside of pre
	quiet   int      // inside of inline code
	tables  []*table // open ones, nil where one is too deep
	lists   []int    // the next number of each open list, -1 for bullets
	parent  *writer  // of a cell
	cells   int      // this is the cell of a cell of …
	loose   int      // open cells that belong to no table
}

// A budget is the bytes that may still be written.
type budget struct {
	left int
	lost bool // something was not written
}

// A mark is written with the first text in it, and closed only if it was.
type mark struct {
	tag, open, close string
	written          bool
}

// An indent stands before each line; the first line of an item has its bullet.
type indent struct {
	tag, first, rest string
}

func newWriter(limit int, bald bool) *writer {
	return &writer{budget: &budget{left: limit}, bald: bald, fresh: true}
}

func (w *writer) full() bool { return w.budget.left <= 0 }

func (w *writer) String() string { return strings.TrimRight(w.root().b.String(), " \n") }

// root is the writer of the page, also while a cell is written.
func (w *writer) root() *writer {
	for w.parent != nil {
		w = w.parent
	}
	return w
}

func (w *writer) put(s string) {
	if len(s) > w.budget.left {
		s = uzda.Before(s, w.budget.left)
		w.budget.left, w.budget.lost = 0, true
	}
	w.budget.left -= len(s)
	w.b.WriteString(s)
}

// lines asks for n line breaks before the next text.
func (w *writer) lines(n int) {
	w.space = false
	if w.fresh {
		return
	}
	if len(w.lists) > 0 {
		n = min(n, 1)
	}
	w.ask(n)
}

func (w *writer) ask(n int) {
	if w.gap == 0 {
		w.low = len(w.indents)
	}
	w.gap = max(w.gap, n)
}

// begin writes what stands before text: breaks, indents, marks.
func (w *writer) begin() {
	if w.gap > 0 || w.b.Len() == 0 {
		if w.b.Len() == 0 {
			w.gap = 1
		}
		w.newline(w.gap)
	} else if w.space {
		w.put(" ")
	}
	w.gap, w.space, w.fresh = 0, false, false
	w.put(w.start)
	w.start = ""
	for i := range w.marks {
		if !w.marks[i].written {
			w.put(w.marks[i].open)
			w.marks[i].written = true
		}
	}
}

// newline begins a line after n breaks with the indents of what is open.
func (w *writer) newline(n int) {
	if w.b.Len() > 0 {
		for range n - 1 {
			w.put("\n" + strings.TrimRight(w.prefix(w.low, false), " "))
		}
		w.put("\n")
	}
	w.put(w.prefix(len(w.indents), true))
}

func (w *writer) prefix(n int, first bool) string {
	var b strings.Builder
	for i := range w.indents[:n] {
		in := &w.indents[i]
		if first && in.first != "" {
			b.WriteString(in.first)
			in.first = ""
			continue
		}
		b.WriteString(in.rest)
	}
	return b.String()
}

// text writes text with white space as HTML has it.
func (w *writer) text(s string) {
	if w.pre != nil {
		if w.pre.b.Len() <= w.budget.left {
			w.pre.b.WriteString(s)
		}
		return
	}
	for s != "" && !w.full() {
		word := strings.TrimLeftFunc(s, white)
		if len(word) < len(s) {
			w.space = true
		}
		end := strings.IndexFunc(word, white)
		if end < 0 {
			end = len(word)
		}
		if end > 0 {
			w.word(word[:end])
		}
		s = word[end:]
	}
}

func (w *writer) word(s string) {
	w.begin()
	w.put(s)
}

// white is the space that HTML joins; a no-break space stays.
func white(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\r' || r == '\f' }

func (w *writer) mark(tag, open, end string) {
	const most = 16
	if w.bald {
		open, end = "", ""
	}
	if w.quiet > 0 && tag != "a" || len(w.marks) >= most {
		open, end = "", ""
	}
	w.marks = append(w.marks, mark{tag: tag, open: open, close: end})
}

func (w *writer) unmark(tag string) {
	n := len(w.marks) - 1
	if n < 0 || w.marks[n].tag != tag {
		return
	}
	if w.marks[n].written {
		w.put(w.marks[n].close)
	}
	w.marks = w.marks[:n]
}

// indent opens a quote or an item. Many of them in one another get no more space.
func (w *writer) indent(tag, first, rest string) {
	const most = 12
	if len(w.indents) >= most {
		first, rest = "", ""
	}
	w.indents = append(w.indents, indent{tag, first, rest})
}

func (w *writer) dedent(tag string) {
	if n := len(w.indents) - 1; n >= 0 && w.indents[n].tag == tag {
		w.indents = w.indents[:n]
		w.low = min(w.low, n)
	}
}

// item begins an item of a list.
func (w *writer) item() {
	w.lines(1)
	bullet := "- "
	if n := len(w.lists) - 1; n >= 0 && w.lists[n] >= 0 {
		bullet = strconv.Itoa(w.lists[n]) + ". "
		w.lists[n]++
	}
	w.indent("li", bullet, strings.Repeat(" ", len(bullet)))
	w.anew()
}

// anew begins something with a line of its own.
func (w *writer) anew() {
	if w.b.Len() > 0 {
		w.ask(1)
	}
	w.fresh = true
}

// A fence is code that keeps its lines.
type fence struct {
	b    strings.Builder
	lang string
}

func (w *writer) code() {
	f := w.pre
	w.pre = nil
	text := strings.TrimRight(strings.TrimPrefix(f.b.String(), "\n"), " \n")
	if text == "" {
		return
	}
	bar := "```"
	for strings.Contains(text, bar) && len(bar) < 20 {
		bar += "`"
	}
	if w.bald {
		bar, f.lang = "", ""
	}
	if bar != "" {
		text = bar + f.lang + "\n" + text + "\n" + bar
	}
	w.paste(text)
}

// paste writes lines as they are, apart from what stands around them.
func (w *writer) paste(text string) {
	if w.b.Len() > 0 {
		w.ask(2)
	}
	marks := w.marks // emphasis does not reach into it
	w.marks = nil
	w.begin()
	for i, l := range strings.Split(text, "\n") {
		if i > 0 && l == "" {
			w.put("\n" + strings.TrimRight(w.prefix(len(w.indents), false), " "))
			continue
		}
		if i > 0 {
			w.newline(1)
		}
		w.put(l)
		if w.full() {
			break
		}
	}
	w.marks = marks
	w.ask(2)
}

// language reads the language of code from its class: language-go, lang-go,
// highlight-source-go.
func language(class string) string {
	for c := range strings.FieldsSeq(class) {
		for _, prefix := range []string{"language-", "lang-", "highlight-source-"} {
			l, ok := strings.CutPrefix(c, prefix)
			if ok && len(l) <= 20 && strings.IndexFunc(l, func(r rune) bool {
				return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("+#-_", r)
			}) < 0 {
				return l
			}
		}
	}
	return ""
}

package fetch

import (
	"strconv"
	"strings"
)

// enter begins an element and returns the writer to go on with.
func (w *writer) enter(tag string, a attributes) *writer {
	if w.pre != nil {
		w.inCode(tag, a)
		return w
	}
	switch tag {
	case "a":
		if a.href == "" {
			w.mark(tag, "", "")
		} else {
			w.mark(tag, "[", "]("+a.href+")")
		}
	case "b", "strong":
		w.mark(tag, "**", "**")
	case "i", "em":
		w.mark(tag, "*", "*")
	case "del", "s", "strike":
		w.mark(tag, "~~", "~~")
	case "sup":
		w.mark(tag, "^", "")
	case "q":
		w.mark(tag, "“", "”")
	case "code", "kbd", "samp", "tt":
		w.mark(tag, "`", "`")
		w.quiet++
	case "button", "label":
		w.space = true
	case "h1", "h2", "h3", "h4", "h5", "h6":
		w.lines(2)
		w.anew()
		w.heading = true
		if !w.bald {
			w.start = strings.Repeat("#", int(tag[1]-'0')) + " "
		}
	case "pre":
		w.pre = &fence{lang: language(a.class)}
	case "table", "caption", "tr", "td", "th":
		return w.enterTable(tag, a)
	default:
		w.enterBlock(tag, a)
	}
	return w
}

func (w *writer) enterBlock(tag string, a attributes) {
	switch tag {
	case "ul", "menu", "dir":
		w.lines(2)
		w.lists = append(w.lists, -1)
	case "ol":
		w.lines(2)
		from, err := strconv.Atoi(a.from)
		if err != nil || from < 0 || from > 1e6 {
			from = 1
		}
		w.lists = append(w.lists, from)
	case "li":
		w.item()
	case "dt":
		w.lines(1)
	case "dd":
		w.lines(1)
		w.indent(tag, ": ", "  ")
		w.anew()
	case "blockquote":
		w.lines(2)
		w.indent(tag, "> ", "> ")
		w.anew()
	case "div", "figcaption", "option":
		w.lines(1)
	default:
		if block(tag) {
			w.lines(2)
		}
	}
}

// inCode: between pre and its end only lines count.
func (w *writer) inCode(tag string, a attributes) {
	switch {
	case tag == "code" && w.pre.lang == "":
		w.pre.lang = language(a.class)
	case (block(tag) || tag == "tr") && w.pre.b.Len() > 0 && !strings.HasSuffix(w.pre.b.String(), "\n"):
		w.text("\n")
	}
}

// leave ends an element that was entered.
func (w *writer) leave(tag string) *writer {
	if w.pre != nil {
		if tag == "pre" {
			w.code()
		} else {
			w.inCode(tag, attributes{}) // its end is the end of a line too
		}
		return w
	}
	switch tag {
	case "code", "kbd", "samp", "tt":
		w.quiet--
		w.unmark(tag)
	case "a", "b", "strong", "i", "em", "del", "s", "strike", "sup", "q":
		w.unmark(tag)
	case "button", "label":
		w.space = true
	case "h1", "h2", "h3", "h4", "h5", "h6":
		w.start, w.heading = "", false
		w.lines(2)
	case "table", "caption", "tr", "td", "th":
		return w.leaveTable(tag)
	case "ul", "menu", "dir", "ol":
		w.lists = w.lists[:len(w.lists)-1]
		w.lines(2)
	case "li", "dd", "blockquote":
		w.dedent(tag)
		if w.lines(1); tag == "blockquote" {
			w.lines(2)
		}
	default:
		w.enterBlock(tag, attributes{}) // the same breaks
	}
	return w
}

// void writes an element that has no end.
func (w *writer) void(tag string, a attributes) {
	if w.pre != nil {
		if tag == "br" {
			w.text("\n")
		}
		return
	}
	switch tag {
	case "br":
		w.space = true
		if !w.heading && !w.fresh {
			w.space = false
			w.ask(min(w.gap+1, 2))
		}
	case "hr":
		if w.lines(2); !w.bald && w.b.Len() > 0 {
			w.word("---")
			w.lines(2)
		}
	case "img":
		switch alt := strings.Join(strings.Fields(a.alt), " "); {
		case alt == "": // decoration
		case a.src == "" || w.bald:
			w.word(alt)
		default:
			w.word("![" + alt + "](" + a.src + ")")
		}
	case "frame":
		if a.src != "" && !w.bald {
			w.lines(1)
			w.word("[frame](" + a.src + ")")
			w.lines(1)
		}
	case "input":
		w.space = true
	}
}

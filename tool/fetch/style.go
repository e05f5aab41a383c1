package fetch

import (
	"regexp"
	"strings"
	"sync"
)

// Expressions are compiled when they are first used: it takes a millisecond, and most
// runs read no page.
var (
	hides = lazily(`(?i)(?:^|[;{\s])(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|opacity\s*:\s*0*\.?0+\s*(?:[;!}]|$)|font-size\s*:\s*(?:0+(?:\.0+)?(?:px|pt|r?em|%)?|[01](?:\.\d+)?p[xt])\s*(?:[;!}]|$)|` +
		`color\s*:\s*transparent|(?:max-)?(?:height|width)\s*:\s*0(?:px)?\s*(?:[;!}]|$)|text-indent\s*:\s*-\d{3,}|(?:left|top|right)\s*:\s*-\d{3,}|clip\s*:\s*rect\(\s*[01](?:px)?[\s,]+[01](?:px)?[\s,]|content-visibility\s*:\s*hidden)`)
	shows  = lazily(`(?i)(?:^|[;{\s])display\s*:\s*[^n;\s]|visibility\s*:\s*visible|opacity\s*:\s*(?:1|0?\.[1-9])`)
	single = lazily(`^[.#][\w-]{1,100}$`)
	parts  = lazily(`[.#][\w-]{1,100}`)
)

func lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// A sheet knows the classes and ids that a page's own style hides. It reads rules of
// one class or id; what a browser would need its whole machinery for, it leaves.
type sheet struct {
	hidden map[string]bool
	shown  map[string]bool // another rule shows it in some state: then it may be seen
}

// add reads a style element.
func (s *sheet) add(css string) {
	const most = 256 << 10
	css = css[:min(len(css), most)]
	depth, at, from := 0, "", 0
	for i := 0; i < len(css); i++ {
		switch css[i] {
		case '{':
			if depth == 0 {
				at = css[from:i]
			}
			depth++
			from = i + 1
		case '}':
			if depth == 1 && !strings.Contains(at, "@") { // a rule for print does not count
				s.rule(at, css[from:i])
			}
			depth = max(depth-1, 0)
			from = i + 1
		}
	}
}

func (s *sheet) rule(selectors, body string) {
	const most = 10_000
	if i := strings.LastIndex(selectors, "*/"); i >= 0 {
		selectors = selectors[i+2:]
	}
	hide, show := hides().MatchString(body), shows().MatchString(body)
	if !hide && !show || len(s.hidden)+len(s.shown) > most {
		return
	}
	for sel := range strings.SplitSeq(selectors, ",") {
		sel = strings.TrimSpace(sel)
		if hide && single().MatchString(sel) {
			set(&s.hidden, sel)
		} else if show && !hide {
			for _, p := range parts().FindAllString(sel, 8) {
				set(&s.shown, p)
			}
		}
	}
}

func set(m *map[string]bool, key string) {
	if *m == nil {
		*m = map[string]bool{}
	}
	(*m)[key] = true
}

func (s *sheet) hides(name string) bool { return s.hidden[name] && !s.shown[name] }

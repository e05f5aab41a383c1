// Package page puts what a program has measured into a page of the documents, between
// two marks, so that no figure is copied by hand.
package page

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// Replace puts text between the lines "<!-- figures:NAME -->" and
// "<!-- end:NAME -->" of a Markdown file, in place of what was there.
func Replace(file, name, text string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	from, to := fmt.Appendf(nil, "<!-- figures:%s -->\n", name), fmt.Appendf(nil, "<!-- end:%s -->\n", name)
	head, rest, begun := bytes.Cut(raw, from)
	_, tail, ended := bytes.Cut(rest, to)
	if !begun || !ended {
		return fmt.Errorf("%s has no place for the figures: put the lines %s and %s where they belong", file, bytes.TrimSpace(from), bytes.TrimSpace(to))
	}
	out := bytes.Join([][]byte{head, from, []byte("\n" + strings.Trim(text, "\n") + "\n\n"), to, tail}, nil)
	return os.WriteFile(file, out, 0o644) //nolint:gosec // a page
}

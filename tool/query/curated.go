package query

import (
	"slices"
	"strings"
)

// curated is what people wrote about a database.
type curated struct {
	about  string
	tables map[string]*aboutTable // by lower-case name
	order  []string               // names as written
}

type aboutTable struct {
	about   string
	columns map[string]string // by lower-case name
}

// table returns what is known of a table, never nil.
func (c curated) table(name string) *aboutTable {
	if t := c.tables[strings.ToLower(name)]; t != nil {
		return t
	}
	return &aboutTable{}
}

func (t *aboutTable) column(name string) string { return t.columns[strings.ToLower(name)] }

// firstLine is what list_tables shows of a table.
func (t *aboutTable) firstLine() string {
	line, _, _ := strings.Cut(t.about, "\n")
	return line
}

// parseCurated reads the form that the package comment describes. Nothing is an
// error: what it cannot place belongs to what stands before it.
func parseCurated(text string) curated {
	c := curated{tables: map[string]*aboutTable{}}
	var table *aboutTable
	column := ""
	for line := range strings.Lines(strings.TrimPrefix(text, "\uFEFF")) {
		line = strings.TrimRight(line, " \t\r\n")
		trimmed := strings.TrimSpace(line)
		name, isTable := strings.CutPrefix(line, "## ")
		key, about, isColumn := columnLine(trimmed)
		switch {
		case isTable:
			name = unquote(name)
			if table = c.tables[strings.ToLower(name)]; table == nil {
				table = &aboutTable{columns: map[string]string{}}
				c.tables[strings.ToLower(name)] = table
				c.order = append(c.order, name)
			}
			column = ""
		case table != nil && isColumn:
			column = strings.ToLower(key)
			table.columns[column] = about
		case table == nil:
			if !strings.HasPrefix(line, "# ") {
				c.about = join(c.about, trimmed)
			}
		case column != "" && trimmed != "" && line != trimmed: // indented: goes on
			table.columns[column] += " " + trimmed
		default:
			table.about, column = join(table.about, trimmed), ""
		}
	}
	c.about = strings.TrimSpace(c.about)
	for _, t := range c.tables {
		t.about = strings.TrimSpace(t.about)
	}
	return c
}

// columnLine takes "- name: text" apart.
func columnLine(line string) (name, about string, ok bool) {
	if !strings.HasPrefix(line, "- ") && !strings.HasPrefix(line, "* ") {
		return "", "", false
	}
	name, about, ok = strings.Cut(line[2:], ":")
	name = unquote(name)
	if !ok || name == "" || strings.ContainsAny(name, " \t") {
		return "", "", false
	}
	return name, strings.TrimSpace(about), true
}

func unquote(s string) string { return strings.Trim(strings.TrimSpace(s), "`\"[]") }

func join(a, b string) string {
	if a == "" {
		return b
	}
	return strings.TrimRight(a+"\n"+b, " ")
}

// strangers are tables that the text names and the database lacks.
func (c curated) strangers(known []string) []string {
	var out []string
	for _, n := range c.order {
		if !slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, n) }) {
			out = append(out, n)
		}
	}
	return out
}

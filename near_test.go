package uzda_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
)

func TestNearest(t *testing.T) { // case:T07 case:U09
	t.Parallel()
	known := []string{"run_query", "list_tables", "describe_table", "notes", "read_output", "max_steps", "żółw"}
	for _, tt := range []struct {
		name string
		want []string
	}{
		{"runQuery", []string{"run_query"}},
		{"run_qurey", []string{"run_query"}},
		{"query", []string{"run_query"}},
		{"list-table", []string{"list_tables"}},
		{"note", []string{"notes"}},
		{"notse", []string{"notes"}},
		{"maxsteps", []string{"max_steps"}},
		{"zolw", nil},
		{"żołw", []string{"żółw"}},
		{"x", nil},
		{"", nil},
		{"send_mail", nil},
		{strings.Repeat("run_query", 1000), []string{"run_query"}},
	} {
		if got := uzda.Nearest(tt.name, known, 1); !slices.Equal(got, tt.want) {
			t.Errorf("%.20q: got %q, want %q", tt.name, got, tt.want)
		}
	}
	if got := uzda.Nearest("table", known, 5); !slices.Equal(got, []string{"list_tables", "describe_table"}) {
		t.Errorf("several: %q", got)
	}
	if got := uzda.Nearest("notes", []string{"notes", "notes"}, 3); len(got) != 1 {
		t.Errorf("twice the same: %q", got)
	}
}

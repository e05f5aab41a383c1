package query

import (
	"slices"
	"strings"

	"modernc.org/sqlite"
)

// Pragmas that only read. Those with a parameter take the name of a table or
// index; every other would set something.
var (
	plainPragmas = []string{
		"application_id", "collation_list", "compile_options", "data_version", "encoding", "freelist_count",
		"function_list", "journal_mode", "module_list", "page_count", "page_size", "pragma_list", "schema_version",
		"table_list", "user_version",
	}
	namedPragmas = []string{
		"foreign_key_list", "index_info", "index_list", "index_xinfo", "table_info", "table_list", "table_xinfo",
	}
)

func pragmaAllowed(name string, arg bool) bool {
	name = strings.ToLower(name)
	if arg {
		return slices.Contains(namedPragmas, name)
	}
	return slices.Contains(plainPragmas, name)
}

// Functions that reach out of the database or into the connection. SQLite's
// build has few of them; a list costs nothing.
var forbiddenFunctions = []string{
	"edit", "eval", "fts3_tokenizer", "load_extension", "readfile", "rbu_target_name", "sqlite_log",
	"sqlite_rename_column", "sqlite_rename_table", "sqlite_rename_test", "sqlite_rename_quotefix", "sqlite_drop_column",
	"sqlite_add_constraint", "sqlite_drop_constraint", "writefile", "zipfile",
}

// Aggregates that heed no limit of SQLite and so could fill the memory.
var boundless = []string{"json_group_array", "json_group_object", "jsonb_group_array", "jsonb_group_object"}

// A refused error says what the authorizer refused.
type refused struct{ what, hint string }

func (r refused) Error() string { return "not allowed: " + r.what }

const readOnlyHint = "the database is open for reading only; write a plain SELECT over its tables"

// authorizer lets SQLite compile what reads and nothing else. It is asked for
// every statement, also those behind views, table functions and virtual tables.
func authorizer(no *refused) sqlite.AuthorizerFn {
	deny := func(what, hint string) sqlite.AuthorizerReturnCode {
		*no = refused{what, hint}
		return sqlite.AuthorizerDeny
	}
	return func(action sqlite.AuthorizerActionCode, a, b, _, _ string) sqlite.AuthorizerReturnCode {
		switch action {
		case sqlite.AuthSelect, sqlite.AuthRead, sqlite.AuthRecursive:
			return sqlite.AuthorizerOK
		case sqlite.AuthFunction:
			switch name := strings.ToLower(b); {
			case slices.Contains(forbiddenFunctions, name):
				return deny("the function "+b, readOnlyHint)
			case slices.Contains(boundless, name):
				return deny("the function "+b+", whose size cannot be limited", "select the rows, or use group_concat(quote(column))")
			}
			return sqlite.AuthorizerOK
		case sqlite.AuthPragma:
			if !pragmaAllowed(a, b != "") {
				return deny("PRAGMA "+a, readOnlyHint)
			}
			return sqlite.AuthorizerOK
		case sqlite.AuthInsert, sqlite.AuthUpdate, sqlite.AuthDelete:
			// An R-tree prepares the statements that would change its shadow
			// tables when it is opened. A statement of the model never gets so
			// far, and query_only and mode=ro keep these from running.
			for _, end := range []string{"_node", "_rowid", "_parent"} {
				if strings.HasSuffix(a, end) {
					return sqlite.AuthorizerOK
				}
			}
		}
		return deny("a change of the database", readOnlyHint)
	}
}

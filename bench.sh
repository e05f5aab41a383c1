#!/bin/sh
# Runs Uzda and a hand-written loop on the same work, and holds the result
# against the bars of docs/performance.md, which says what is measured and how.
# It needs a POSIX shell and Go, and a machine that is otherwise idle.
#
#   ./bench.sh                 a table for people, in one to three minutes
#   ./bench.sh --quick         fewer rounds: a first look, less sure
#   ./bench.sh --json FILE     also all figures, as JSON
#   ./bench.sh --profile DIR   instead: profiles of each run, for go tool pprof
#   ./bench.sh --help          all arguments
#
# It exits 0 if all bars hold, 13 if one is missed, 1 if a run failed, 2 if the
# arguments are wrong.
set -eu

command -v go >/dev/null 2>&1 || {
	echo "bench.sh: this needs Go, of the version that go.mod names: see https://go.dev/doc/install" >&2
	exit 1
}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
# As the program is built.
(cd "$(dirname "$0")/bench" && GOWORK=off CGO_ENABLED=0 go build -trimpath -o "$tmp/bench" .) || exit 1
"$tmp/bench" "$@"

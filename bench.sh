#!/bin/sh
# Runs Uzda, a hand-written loop and other frameworks on the same work, and holds
# the result against the bars of docs/performance.md, which says what is measured
# and how. It needs a POSIX shell and Go, and a machine that is otherwise idle. The
# first time it fetches and builds the other frameworks, which takes some minutes.
#
#   ./bench.sh                 a table for people, in some minutes
#   ./bench.sh --quick         fewer rounds: a first look, less sure
#   ./bench.sh --no-peers      without the other frameworks: nothing is fetched
#   ./bench.sh --json FILE     also all figures, as JSON
#   ./bench.sh --only whole    only start, resume, delay and sessions side by side
#   ./bench.sh --docs docs     also put the figures into docs/performance.md
#   ./bench.sh --profile DIR   instead: profiles of our runs, for go tool pprof
#   ./bench.sh --help          all arguments
#
# It exits 0 if all bars hold, 13 if one is missed, 1 if a run failed or something
# could not be built, 2 if the arguments are wrong.
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
"$tmp/bench" --source "$(dirname "$0")" "$@"

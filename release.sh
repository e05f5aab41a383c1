#!/bin/sh
# Builds the archives that people download into dist/, with their checksums. What
# it can do and what it refuses, ./release.sh --help says. It needs a POSIX shell,
# Go and git.
set -eu

command -v go >/dev/null 2>&1 || {
	echo "release.sh: this needs Go, of the version that go.mod names: see https://go.dev/doc/install" >&2
	exit 1
}
source=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
# For this machine, whatever the caller builds for.
(cd "$source" && GOWORK=off GOOS='' GOARCH='' CGO_ENABLED=0 GOFLAGS=-mod=readonly go build -o "$tmp/release" ./internal/release/cmd) || exit 1
"$tmp/release" --source "$source" "$@"

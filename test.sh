#!/bin/sh
# Runs the tests of Uzda. It needs a POSIX shell, Go and git; it installs what
# else the tests need, where it may.
#
#   ./test.sh           everything that a change must pass
#   ./test.sh --quick   short tests only, from the cache where nothing changed
#   ./test.sh --full    also the long crash matrices (UZDA_FULL=1)
#   ./test.sh -- ARGS   ARGS go to "go test", for example: -- -run Fold
#
# It prints the ten slowest tests and closes with "N passed, N failed, N skipped".
# It exits 1 if a test failed or none ran. With CI=true a missing service fails.
set -eu
cd "$(dirname "$0")"

die() {
	printf 'test.sh: %s\n' "$*" >&2
	exit 2
}

usage() { sed -n '2,/^set -eu/s/^# \{0,1\}//p' test.sh; }

mode=default
while [ $# -gt 0 ]; do
	case $1 in
	--quick) mode=quick ;;
	--full) mode=full ;;
	--help | -h)
		usage
		exit 0
		;;
	--)
		shift
		break
		;;
	*) die "unknown argument $1; see ./test.sh --help" ;;
	esac
	shift
done

# need COMMAND PACKAGE: a command that the tests run, and the package that has it.
need() {
	command -v "$1" >/dev/null 2>&1 && return 0
	sudo=
	if [ "$(id -u)" != 0 ]; then
		sudo='sudo -n'
		if ! sudo -n true 2>/dev/null; then
			die "the tests need $1; install $2 and run this again"
		fi
	fi
	command -v apt-get >/dev/null 2>&1 || die "the tests need $1; install it (Debian's package is $2) and run this again"
	printf 'installing %s, which has %s\n' "$2" "$1"
	{ $sudo apt-get update -qq && $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$2"; } >&2 ||
		die "installing $2, which has $1, did not work; install it by hand and run this again"
	command -v "$1" >/dev/null 2>&1 || die "$2 is installed, but there is still no $1 on the PATH"
}

command -v go >/dev/null 2>&1 || die "the tests need Go, of the version that go.mod names: see https://go.dev/doc/install"
need git git

# A test must not see who runs it: no settings of Uzda, no keys, no workspace around.
for name in $(env | sed -n 's/^\(UZDA_[A-Za-z0-9_]*\)=.*/\1/p'); do
	case $name in
	UZDA_SHARED | UZDA_FULL) ;;
	*) unset "$name" ;;
	esac
done
unset ANTHROPIC_API_KEY ANTHROPIC_BASE_URL OPENAI_API_KEY OPENAI_BASE_URL GEMINI_API_KEY OLLAMA_HOST
export GOWORK=off
# Our flags come after those of the caller, so that go.mod is never changed.
export GOFLAGS="${GOFLAGS:+$GOFLAGS }-mod=readonly"
# The binary is built without CGO, so it is tested without.
export CGO_ENABLED=0

case $mode in
quick) set -- -short -timeout=5m "$@" ;;
default) set -- -count=1 -timeout=15m "$@" ;;
full)
	export UZDA_FULL=1
	set -- -count=1 -timeout=60m "$@"
	;;
esac

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
go build -o "$tmp/testsum" ./internal/testsum/cmd

# Every module but the one that only pins tools, and those that are test data.
modules() {
	find . -name go.mod -not -path './tools/*' -not -path '*/testdata/*' -not -path '*/node_modules/*' -not -path './.*/*' |
		sed 's,/go\.mod$,,' | sort
}
modules >"$tmp/modules"

all() {
	while read -r dir; do
		# A failed test is an event of its own; "exit" tells also what came before any.
		(cd "$dir" && go test -json "$@" ./...) 2>&1 || printf '{"Action":"exit","Package":"%s"}\n' "$dir"
	done <"$tmp/modules"
}
all "$@" | "$tmp/testsum"

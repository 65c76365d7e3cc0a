# SPDX-License-Identifier: GPL-2.0
# KTAP for tests that are scripts; to be read by them. A case is a command that succeeds.
cases=0 bad=0

start() {
	echo "KTAP version 1"
	work=$(mktemp -d "${TMPDIR:-/tmp}/tally-test-XXXXXX")
	trap 'rm -rf "$work"' EXIT
}

note() {
	sed 's/^/# /'
}

# result NAME COMMAND...: the case NAME is good if COMMAND succeeds; what it prints is a note.
result() {
	name=$1
	shift
	cases=$((cases + 1))
	if "$@" >"$work/result" 2>&1; then
		echo "ok $cases - $name"
	else
		head -n 40 "$work/result" | note
		echo "not ok $cases - $name"
		bad=$((bad + 1))
	fi
}

skip() {
	cases=$((cases + 1))
	echo "ok $cases - $1 # SKIP $2"
}

finish() {
	echo "1..$cases"
	[ $bad = 0 ]
	exit
}

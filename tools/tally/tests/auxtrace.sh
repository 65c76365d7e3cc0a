#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Files with an AUX area: perf reads their records, and decodes the branches that are in the area.
. "$(dirname "$0")/lib/ktap.sh"

# perf_of FORM COMMAND ARGUMENT...: perf reads the file, a pipe as its input: perf 6.1 fails where it can seek.
perf_of() {
	form=$1
	shift
	case $form in
	pipe) cat "$work/pipe" | perf "$@" -i - ;;
	*) perf "$@" -i "$work/$form" ;;
	esac
}

dump_has() {
	grep -q "$1" "$work/dump" || { cat "$work/errors"; head -n 60 "$work/dump"; return 1; }
}

# The branches of the piece as perf prints them: from the n-th address to the n-th.
branches_are_dumped() {
	sed -n 's/^\.  [0-9a-f]*: .* \([0-9a-f]*\) -> \([0-9a-f]*\) .*/\1 \2/p' "$work/dump" |
		awk '$1 == sprintf("%x", 4198400 + 16 * n) && $2 == sprintf("%x", 4202496 + 16 * n) { n++ }
		     END { exit n != 100 }'
}

# The same as samples that perf synthesizes. It leaves out the last branch of a piece.
branches_are_decoded() {
	perf_of "$1" script --itrace=b -F comm,ip,addr 2>"$work/errors" >"$work/branches"
	awk '$1 == "traced" && $2 == sprintf("%x", 4198400 + 16 * n) &&
	     $4 == sprintf("%x", 4202496 + 16 * n) { n++ }
	     END { exit n < 99 }' "$work/branches" || {
		cat "$work/errors"
		head -n 20 "$work/branches"
		return 1
	}
}

# A pipe has its header as records, too.
check_says() {
	"$TALLY" check "$work/$1" | tee "$work/check"
	grep -q ': [58] records, 0 samples, 0 lost, 2400 bytes of AUX areas, 0 errors$' "$work/check"
}

script_says() {
	"$TALLY" script --all "$work/$1" >"$work/script" &&
		grep -q "PERF_RECORD_AUXTRACE_INFO type 2" "$work/script" &&
		grep -q "PERF_RECORD_ID_INDEX 1 entries" "$work/script" &&
		grep -q "PERF_RECORD_AUXTRACE size 0x960 offset 0 idx 0" "$work/script"
}

# What perf finds in the records; of a directory it reads these, and not what is in the pieces.
perf_finds() {
	perf_of "$1" script -D >"$work/dump" 2>"$work/errors"
	result "perf finds AUXTRACE_INFO: $1" dump_has 'PERF_RECORD_AUXTRACE_INFO type: 2'
	result "perf finds the type of the PMU in it: $1" dump_has 'PMU Type  *77'
	result "perf finds the id, the buffer and the task in ID_INDEX: $1" \
		dump_has ' id: 1001  idx: 0  cpu: -1  tid: 100'
	result "perf finds the position and the size of the piece: $1" \
		dump_has 'PERF_RECORD_AUXTRACE size: 0x960  offset: 0  ref: 0x1  idx: 0  tid: 100  cpu: -1'
	[ "$1" = dir ] && return
	result "perf finds the branches in the piece: $1" dump_has 'Intel BTS data: size 2400 bytes'
	result "perf prints each of them: $1" branches_are_dumped
	result "perf decodes the branches: $1" branches_are_decoded "$1"
}

start
export HOME="$work"
for form in file zstd pipe dir; do
	if ! "$O/tests/auxtrace" "$work/$form" $form 2>"$work/errors"; then
		note <"$work/errors"
		skip "an AUX area: $form" "no file could be made"
		continue
	fi
	result "tally check counts its bytes: $form" check_says $form
	result "tally script prints its records: $form" script_says $form
	if ! command -v perf >/dev/null; then
		skip "perf reads it: $form" "no perf"
		continue
	fi
	perf_finds $form
done
finish

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A file with an AUX area: perf reads its records, and decodes the branches that are in the area.
. "$(dirname "$0")/lib/ktap.sh"

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
	perf script --itrace=b -F comm,ip,addr -i "$work/file" 2>"$work/errors" >"$work/branches"
	awk '$1 == "traced" && $2 == sprintf("%x", 4198400 + 16 * n) &&
	     $4 == sprintf("%x", 4202496 + 16 * n) { n++ }
	     END { exit n < 99 }' "$work/branches" || {
		cat "$work/errors"
		head -n 20 "$work/branches"
		return 1
	}
}

check_says() {
	"$TALLY" check "$work/file" | tee "$work/check"
	grep -q ': 4 records, 0 samples, 0 lost, 2400 bytes of AUX areas, 0 errors$' "$work/check"
}

start
if ! "$O/tests/auxtrace" "$work/file" 2>"$work/errors"; then
	note <"$work/errors"
	skip "an AUX area" "no file could be made"
	finish
fi
result "tally check counts its bytes" check_says
result "tally script prints its records" sh -c '"$0" script --all "$1" | grep -q \
	"PERF_RECORD_AUXTRACE size 0x960 offset 0 idx 0"' "$TALLY" "$work/file"
if ! command -v perf >/dev/null; then
	skip "perf reads it" "no perf"
	finish
fi
perf script -D -i "$work/file" >"$work/dump" 2>"$work/errors"
result "perf finds AUXTRACE_INFO" dump_has 'PERF_RECORD_AUXTRACE_INFO type: 2'
result "perf finds the type of the PMU in it" dump_has 'PMU Type  *77'
result "perf finds the position and the size of the piece" \
	dump_has 'PERF_RECORD_AUXTRACE size: 0x960  offset: 0  ref: 0x1  idx: 0  tid: 100  cpu: -1'
result "perf finds the branches in the piece" dump_has 'Intel BTS data: size 2400 bytes'
result "perf prints each of them" branches_are_dumped
result "perf decodes the branches" branches_are_decoded
finish

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The profile of a real program with known work, xz -1 on a part of perf itself: the match finder
# with hash chains finds repetitions, the fast optimizer chooses among them, the range coder writes.
tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/programs/lib.sh"

input=/tmp/profile.input
head -c 2000000 /usr/bin/perf >$input
xz="xz -1 -c $input"
finder="lzma_mf_hc4_find hc_find_func lzma_mf_hc4_skip lzma_mf_find move_pos memcmp lzma_memcmplen"
coder="rc_encode lzma_lzma_encode lzma2_encode length match literal_matched rc_shift_low"
chooser="lzma_lzma_optimum_fast"

sum() {		# SYMBOL...: their shares together, in thousandths
	total=0
	for symbol; do
		total=$((total + $(share $symbol)))
	done
	echo $total
}

with_children() {	# SYMBOL
	perf report --stdio --children -g none -i $data -F overhead_children,sym 2>/dev/null |
		awk -v sym="$1" '$NF == sym { sub("%", "", $1); print int($1 * 10); exit }'
}

profile_is() {
	: >$out
	within "match finder, per thousand" "$(sum $finder)" 250 550 &&
		within "range coder, per thousand" "$(sum $coder)" 300 650 &&
		within "choice of a match, per thousand" "$(sum $chooser)" 60 250 &&
		within "all of these, per thousand" "$(sum $finder $coder $chooser)" 930 1000 &&
		within "what lz_encode calls, per thousand" "$(with_children lz_encode)" 940 1000 &&
		within "what main calls, per thousand" "$(with_children main)" 960 1000
}

if ! have_cycles; then
	skip "cycles:u" "no cycle counter"
	skip "as many samples as periods" "no cycle counter"
else
	period=200003
	count=$(perf stat -x, -e cycles:u $xz 2>&1 >/dev/null | cut -d, -f1)
	timeout 60 perf record -q -g -e cycles:u -c $period -o $data $xz 2>$out >/dev/null && profile_is
	result $? "cycles:u"
	# Starting a program takes some, and not always as many.
	samples=$(perf script -F ip -i $data -G 2>/dev/null | grep -c .)
	: >$out
	within samples "$samples" $((count / period - 1)) $((count / period + 1))
	result $? "as many samples as periods"
fi

timeout 60 perf record -q -g -e cpu-clock:u -F 4000 -o $data $xz 2>$out >/dev/null && profile_is
result $? "cpu-clock:u"

rm $input
finish

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# tally record with an AUX area: what the software PMU "test_aux" writes when its event stops is in the
# file, once, in order. The PMU needs the kernel parameter perf_test_aux.
tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/programs/lib.sh"
burst=512	# bytes of a burst: words, each of which is its position in the area

if [ ! -e /sys/bus/event_source/devices/test_aux ] || [ ! -e /usr/bin/tally ]; then
	skip "AUX areas by tally record" "no PMU test_aux, or no tally"
	finish
	exit
fi

recorded() {
	rm -rf $data
	timeout 60 tally record -q -o $data "$@" >$out 2>&1 && tally check $data >>$out
}

# Bytes that "tally check" finds in pieces.
aux_bytes() {
	tally check $data | sed -n 's/.* \([0-9]*\) bytes of AUX areas.*/\1/p'
}

# Bytes that the AUX records have.
aux_sizes() {
	tally script --all $data | sed -n 's/.*PERF_RECORD_AUX offset .* size \([0-9a-fx]*\) .*/\1/p' |
		{ sum=0; while read -r size; do sum=$((sum + size)); done; echo $sum; }
}

# The pieces: place in the file, bytes, position. Behind each record of 48 bytes are its words.
words_are_positions() {
	tally script --all $data | sed -n \
		's/^\(0x[0-9a-f]*\) .*_AUXTRACE size \([0-9a-fx]*\) offset \([0-9a-fx]*\) .*/\1 \2 \3/p' >$list
	while read -r place size position; do
		od -An -v -t u8 -j $((place + 48)) -N $((size)) $data | awk -v position=$((position)) '
			{ for (i = 1; i <= NF; i++) { bad += $i != position; position += 8 } }
			END { exit bad > 0 }' || {
			echo "piece at $place, position $position: other words" >>$out
			return 1
		}
	done <$list
	[ -s $list ]
}

# All that was written is there: pieces, and records of their sizes.
complete() {	# LEAST
	bytes=$(aux_bytes)
	within "bytes" "$bytes" "$1" 100000000 && is "bytes by AUX records" "$(aux_sizes)" "$bytes" &&
		words_are_positions
}

recorded -m 8,4 -e test_aux/config=$burst/ -- $hot calls 1000 && complete $burst
result $? "what the PMU writes is in the file"

# An area has 32 bursts: when it is full the event is off, and on again when the area was emptied.
recorded -m 8,4 -e test_aux/config=$burst/ -- sh -c 'for i in $(seq 200); do sleep 0.01; done' &&
	complete $((64 * burst))
result $? "more than an area holds"

recorded -m 8,4 --per-thread -e test_aux/config=$burst/ -- $hot calls 1000 && complete $burst &&
	is "buffers" "$(tally script --all $data | grep -c 'PERF_RECORD_AUXTRACE .* idx [1-9]')" 0
result $? "of a thread on any CPU"

rm -rf $data
tally record -q -m 8,4 -o - -e test_aux/config=$burst/ -- $hot calls 1000 >$data 2>$out && complete $burst
result $? "a pipe"

tally record -q -m 8,4 -e cs -o $data true >$out 2>&1
is status $? 2 && grep -q 'no event has a PMU with an AUX area' $out
result $? "an event without an area is refused"
finish

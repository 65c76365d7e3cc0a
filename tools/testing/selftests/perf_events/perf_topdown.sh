#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Top-down metrics as perf stat shows them. The emulator has fixed fractions: of 255 slots 102
# retire, 25 are lost to bad speculation, 51 to the front end and 77 to the back end. Of these 12 are
# heavy operations, 16 those of mispredicted branches, 32 of fetch latency, 64 wait for memory; parts
# with 4 metrics do not have that.

tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/programs/lib.sh"

work=$tests/programs/hot
csv=/tmp/topdown.csv

# perf stat into $csv: value,unit,event,running,percent,metric,name
stat() {
	rm -f $csv $out
	timeout 60 perf stat -x, -o $csv "$@" >$out 2>&1
	cat $csv >>$out
}

# The metric of this name, as perf prints it; it has no fixed column.
metric() {	# NAME
	awk -F, -v name="$1" '{ for (i = 2; i <= NF; i++)
		if ($i == name || $i == "%  " name) print $(i - 1) }' $csv
}

count() {	# EVENT
	awk -F, -v event="$1" '$3 == event { print $1 }' $csv
}

# The count of a metric in 100,000ths of the slots, and its fraction: within 0.1 %.
share() {	# EVENT FRACTION
	slots=$(count slots)
	[ "${slots:-0}" -gt 100000 ] || return 1
	want=$(($2 * 100000 / 255))
	within "$1" $(($(count "$1") * 100000 / slots)) $((want - want / 1000 - 1)) \
		$((want + want / 1000 + 1))
}

shares() {
	share topdown-retiring 102 && share topdown-bad-spec 25 && share topdown-fe-bound 51 &&
		share topdown-be-bound 77
}

stat --topdown $work && is metrics "$(grep -o '40.0,9.8,20.0,30.2' $csv)" 40.0,9.8,20.0,30.2
result $? "--topdown"

events=/sys/bus/event_source/devices/cpu/events
level2=40.0,9.8,20.0,30.2,4.7,35.3,6.3,3.5,12.5,7.5,25.1,5.1
stat --topdown --td-level 2 $work
if [ -e $events/topdown-heavy-ops ]; then
	is metrics "$(grep -o "$level2" $csv)" $level2
else
	is error "$(grep -o 'The max level is 1' $out | head -n 1)" "The max level is 1"
fi
result $? "--topdown --td-level 2"

stat -M TopdownL1 $work && is retiring "$(metric tma_retiring)" 40.0 &&
	is "bad speculation" "$(metric tma_bad_speculation)" 9.8 &&
	is frontend "$(metric tma_frontend_bound)" 20.0 &&
	is backend "$(metric tma_backend_bound)" 30.2
result $? "-M TopdownL1"

stat -d $work && shares && is retiring "$(metric Retiring)" 40.0 &&
	is "bad speculation" "$(metric 'Bad Speculation')" 9.8 &&
	is frontend "$(metric 'Frontend Bound')" 20.0 &&
	is backend "$(metric 'Backend Bound')" 30.2
result $? "-d"

group='{slots,topdown-retiring,topdown-bad-spec,topdown-fe-bound,topdown-be-bound}'

stat -e "$group" $work && shares
result $? "a group of a command"

stat -a -e "$group" $work && shares
result $? "a group of all CPUs"

if [ -e $events/topdown-heavy-ops ]; then
	half=topdown-heavy-ops,topdown-br-mispredict,topdown-fetch-lat,topdown-mem-bound
	stat -e "${group%\}},$half}" $work && shares && share topdown-heavy-ops 12 &&
		share topdown-br-mispredict 16 && share topdown-fetch-lat 32 && share topdown-mem-bound 64
	result $? "a group of both levels"
fi

# Fields of a line: the count, its unit, the name, the time running, its part of the time enabled.
stat -e "$group" -e "$group" -e cycles $work rounds 20000 &&
	is "groups that counted" "$(awk -F, '$3 == "slots" && $1 > 100000' $csv | wc -l)" 2 &&
	is "groups that waited" "$(awk -F, '$3 == "slots" && $5 < 90' $csv | wc -l)" 2
result $? "two groups take turns"

stat -e topdown-retiring $work
[ "$(count topdown-retiring)" = "<not supported>" ]
result $? "a metric alone is not supported"

finish

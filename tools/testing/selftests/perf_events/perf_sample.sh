#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Debian's perf record of the processor's counters where instructions are the clock: numbers of samples
# that follow from the program, and shares of time to a percent.
tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/programs/lib.sh"

if ! have_cycles || ! have_instructions; then
	skip "sampling to the number" "instructions are not counted exactly"
	finish
	exit
fi

# The period settles, and may beat with the rounds.
record -g -e cycles:u $hot rounds 60000 && shares_are 90
result $? "-g -e cycles:u: shares of the functions"

# The share of hot_a is 75 %, and of 80 samples it scatters by 5 %.
# as_many_as_periods EVENT PERIOD SLACK
as_many_as_periods() {
	count=$(perf stat -x, -e "$1" $hot rounds 10000 2>&1 | cut -d, -f1)
	want=$((count / $2))
	record -c "$2" -e "$1" $hot rounds 10000 && within samples "$(lines .)" $((want - 1)) $((want + 1)) &&
		within "in the loops" "$(lines ' hot_[ab]$')" $((want * 98 / 100 - 1)) $((want + 1)) &&
		within "in hot_a" "$(lines ' hot_a$')" $((want * (75 - $3) / 100)) $((want * (75 + $3) / 100))
	result $? "-c $2 -e $1: as many samples as periods"
}
for event in cycles:u instructions:u; do
	as_many_as_periods $event 100003 4
	as_many_as_periods $event 1000003 15
done

# The leader's samples bring what both have counted: a cycle is an instruction here.
count=$(perf stat -x, -e cycles:u $hot rounds 10000 2>&1 | cut -d, -f1)
want=$((count / 100003))
fields=comm,event,period,time
record -c 100003 -e '{cycles:u,instructions:u}:S' $hot rounds 10000 &&
	within "the leader's" "$(lines ' cycles:u')" $((want - 1)) $((want + 1)) &&
	within "the other's" "$(lines 'instructions:u')" $((want - 1)) $((want + 1)) &&
	within "cycles" "$(awk '/ cycles:u/ { sum += $(NF - 1) } END { printf "%d\n", sum }' $list)" \
		$((count - 150000)) $((count + 150000)) &&
	within "instructions" "$(awk '/instructions:u/ { sum += $(NF - 1) } END { printf "%d\n", sum }' $list)" \
		$((count - 150000)) $((count + 150000))
result $? "a group that its leader samples: counts of both"
fields=comm,pid,tid,cpu,time,event,ip,sym

for rate in 250 1000 4000; do
	rounds=$((rate > 250 ? 40000 : 100000))
	record -F $rate -e cycles:u $hot rounds $rounds &&
		within "samples a second" "$(rate)" $((rate * 85 / 100)) $((rate * 112 / 100))
	result $? "-F $rate -e cycles:u"
done

for event in cpu-clock:u task-clock:u; do
	record -F 2000 -e $event $hot rounds 40000 && shares_are 60 &&
		within "samples a second" "$(rate)" 1700 2240
	result $? "-F 2000 -e $event"
done

# In the kernel, too, and only there. In user space some ten instructions of each call are spent.
record -e cycles -c 10007 $hot calls 20000 && within "in the kernel" "$(lines 'ffff[0-9a-f]*')" 100 100000 &&
	within "in user space" "$(grep -vc 'ffff[0-9a-f]* ' $list)" 3 100000
result $? "-e cycles: kernel and user"

# The interrupt of a period that ends after the system call has masked interrupts for its return is
# taken in user space: these are a quarter to a third of a call's instructions on arm64. A period may
# beat with the calls, so there are several.
in_kernel=0 in_user=0 kernel_only=0
for period in 100003 70001 49999 30011; do
	record -e cycles:k -c $period $hot calls 20000 || kernel_only=1
	in_kernel=$((in_kernel + $(lines 'ffff[0-9a-f]* ')))
	in_user=$((in_user + $(grep -vc 'ffff[0-9a-f]* ' $list)))
done
[ $kernel_only = 0 ] && within "in the kernel" $in_kernel 700 100000 &&
	within "in user space" $in_user 0 $(((in_kernel + in_user) / 2))
result $? "-e cycles:k"

finish

# SPDX-License-Identifier: GPL-2.0
# For tests in shell: results in KTAP, and comparisons that print what they found. Sourced, with the
# directory of the tests in $tests. After a failure the contents of $out are printed.

out=/tmp/test.out
run=0
failed=0
skipped=0

result() {	# GOOD NAME
	run=$((run + 1))
	if [ "$1" = 0 ]; then
		echo "ok $run - $2"
	else
		failed=$((failed + 1))
		tail -n 40 $out | sed 's/^/# /'
		echo "not ok $run - $2"
	fi
}

skip() {	# NAME WHY
	run=$((run + 1)) skipped=$((skipped + 1))
	echo "ok $run - $1 # SKIP $2"
}

is() {		# WHAT HAVE EXPECTED
	[ "$2" = "$3" ] || { echo "$1: $2, expected $3" >>$out; return 1; }
}

within() {	# WHAT HAVE LEAST MOST; whole numbers
	[ "$2" -ge "$3" ] 2>/dev/null && [ "$2" -le "$4" ] || {
		echo "$1: $2, expected $3 to $4" >>$out
		return 1
	}
}

finish() {
	echo "1..$run"
	echo "# Totals: pass:$((run - failed - skipped)) fail:$failed xfail:0 xpass:0 skip:$skipped error:0"
	[ $failed = 0 ]
}

# --- recording a program, hot; hot.c gives the shares of its functions

hot=$tests/programs/hot
calls=syscalls:sys_enter_getppid
data=/tmp/perf.data
list=/tmp/samples	# one sample a line

# perf record into $data, then its samples into $list in the fields of $fields.
fields=comm,pid,tid,cpu,time,event,ip,sym
record() {
	rm -f $data $list
	timeout 60 perf record -q -T --sample-cpu -o $data "$@" >$out 2>&1 || return
	samples
}

# perf record looks at data_head twice before it reads. It reads a record written in between again the
# next time. Such a pair stands side by side and has one time.
samples() {	# [FILE]
	perf script --no-inline --ns -i "${1:-$data}" -F $fields 2>>$out | uniq >$list
}

report() {	# OPTION...
	perf report --stdio --no-children -g none -i $data "$@" 2>/dev/null | grep -v '^#' | grep . >>$out
}

lines() {	# PATTERN: how many samples have it
	grep -c -e "$1" $list
}

# A symbol's share of the period, in thousandths, by perf report.
share() {	# SYMBOL
	report -F overhead,sym
	awk -v sym="$1" '$NF == sym { sub("%", "", $1); share = $1 * 10 } END { printf "%d\n", share }' $out
}

shares_are() {	# SLACK
	a=$(share hot_a) b=$(share hot_b)
	within "hot_a, per thousand" "$a" $((750 - $1)) $((750 + $1)) &&
		within "hot_b, per thousand" "$b" $((250 - $1)) $((250 + $1))
}

# Values of an event's argument: how many, how many different, the smallest, the greatest.
values() {	# NAME
	sed -n "s/.* $1=\\([0-9]*\\).*/\\1/p" $list | sort -n | awk '
		{ n++; different += n == 1 || $1 != last; last = $1 }
		n == 1 { first = $1 }
		END { print n + 0, different + 0, first + 0, last + 0 }'
}

# Samples for each second between the first and the last. perf writes "12.345678:".
rate() {
	awk '{ for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+\.[0-9]+:$/) t = $i + 0 }
		NR == 1 { first = t } END { printf "%d\n", (NR - 1) / (t - first) }' $list
}

# Is a processor's counter there, and does it count instructions?
have_cycles() {
	perf stat -x, -e cycles:u $hot rounds 100 2>&1 | grep -q '^[1-9]'
}

have_instructions() {
	count=$(perf stat -x, -e instructions:u $hot rounds 1000 2>&1 | cut -d, -f1)
	[ "$count" -ge 8000000 ] 2>/dev/null && [ "$count" -lt 8200000 ]
}

# Where the time of the host is the clock it must not limit the number of samples. The rate can be set
# only while there is a limit.
unlimited() {
	for setting in perf_cpu_time_max_percent=25 perf_event_max_sample_rate=100000 perf_cpu_time_max_percent=0; do
		echo "${setting#*=}" >"/proc/sys/kernel/${setting%=*}"
	done
}

# --- memory samples

# perf c2c reads the nodes of the memory, which a kernel without CONFIG_NUMA does not show: the machine
# has one.
nodes() {
	[ -d /sys/devices/system/node ] && return
	SYSFS_PATH=/tmp/sys
	export SYSFS_PATH
	mkdir -p $SYSFS_PATH/devices/system/node/node0
	ln -sf /sys/* $SYSFS_PATH 2>/dev/null
	ln -sf /sys/devices/* $SYSFS_PATH/devices 2>/dev/null
	ln -sf /sys/devices/system/* $SYSFS_PATH/devices/system
	echo 0 >$SYSFS_PATH/devices/system/node/online
	cat /sys/devices/system/cpu/online >$SYSFS_PATH/devices/system/node/node0/cpulist
	sed 's/^/Node 0 /' /proc/meminfo >$SYSFS_PATH/devices/system/node/node0/meminfo
}

echo "KTAP version 1"
mkdir -p /tmp
: >$out

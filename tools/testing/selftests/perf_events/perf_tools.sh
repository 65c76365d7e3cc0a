#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# perf of Debian beyond record and stat: top, trace, sched, lock, probe, script.
# What each prints is compared with what the measured program, hot, does.
tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/programs/lib.sh"
unlimited

case $(uname -m) in
aarch64) third=%x2 getppid=173 ;;
*)       third=%dx getppid=110 ;;
esac

# --- top

# Its standard input must stay open, or perf reads its end as keys.
screens() {	# SECONDS OPTION...
	seconds=$1
	shift
	sleep $((seconds + 1)) | timeout -s INT $seconds perf top --stdio -d 2 -F 1000 "$@" >$out 2>&1
}

# The hottest function of the last screen and its share in percent.
top_of_screen() {
	awk '/PerfTop:/ { first = 1 } /%/ && first && $1 ~ /^[0-9.]+%$/ { line = int($1) " " $NF; first = 0 }
		END { print line }' $out
}

$hot until /tmp/end &
hot_pid=$!
for event in cycles:u cpu-clock:u; do
	if [ $event = cycles:u ] && ! have_cycles; then
		skip "top -e $event" "no cycle counter"
		continue
	fi
	# A slow kernel takes longer until the shares of a screen are those of more than a few samples.
	for seconds in 7 30 80; do
		screens $seconds -e $event -p $hot_pid
		set -- $(top_of_screen)
		[ "$2" != hot_a ] || [ "$1" -lt 55 ] || [ "$1" -gt 95 ] || break
	done
	is "hottest function" "$2" hot_a && within "its share" "$1" 55 95
	result $? "top --stdio -e $event -p"
done

# And longer to list its symbols.
for seconds in 7 30 80; do
	screens $seconds -e cpu-clock
	set -- $(top_of_screen)
	! grep -q ' hot_a$' $out || [ "${1:-0}" -lt 20 ] || break
done
within "share of the hottest" "$1" 20 100 && grep -q ' hot_a$' $out
result $? "top --stdio, of everything"
: >/tmp/end
wait
rm -f /tmp/end

# --- trace

# calls, errors of a system call in the summary
summary() {
	awk -v name="$1" '$1 == name { print $2, $3 }' $out
}

if perf trace -o $out true 2>&1 | grep -qi 'not a perf-command\|audit'; then
	skip "trace" "perf was built without it"
else
	timeout 60 perf trace -s -o $out $hot calls 100 >/dev/null 2>&1
	is getppid "$(summary getppid)" "100 0" && is pread64 "$(summary pread64)" "50 0" &&
		is execve "$(summary execve)" "1 0" && is close "$(summary close)" "1 0"
	result $? "trace -s: calls of each kind"

	timeout 60 perf trace -o $out $hot calls 20 >/dev/null 2>&1
	is getppid "$(grep -c ' hot/[0-9]* getppid()' $out)" 20 &&
		is "pread64 with its arguments and result" \
			"$(grep -c 'pread64(fd: [0-9]*, buf: 0x[0-9a-f]*, count: 3) *= 3' $out)" 10 &&
		is exit_group "$(grep -c 'exit_group()' $out)" 1
	result $? "trace: arguments and results"

	timeout 60 perf trace -e getppid,close -o $out $hot calls 20 >/dev/null 2>&1
	is getppid "$(grep -c 'getppid()' $out)" 20 && is close "$(grep -c 'close(fd: ' $out)" 1 &&
		is others "$(grep -c 'pread64' $out)" 0
	result $? "trace -e: two kinds of calls"

	# On one CPU: perf trace takes one CPU's records after the other's, and when a fork follows what
	# the child did, it forgets that.
	timeout 60 taskset 1 perf trace -s -o $out sh -c "$hot calls 30; $hot calls 12; true" >/dev/null 2>&1
	is getppid "$(awk '$1 == "getppid" && $2 > 1 { print $2 }' $out | sort -n | xargs)" "12 30"
	result $? "trace -s: children"

	# That each is there on whichever CPU; the shell itself makes one call.
	fields=comm,tid,cpu,time,event,trace
	record -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit -c 1 sh -c "$hot calls 30; $hot calls 12; true" &&
		is "entries by children" "$(lines '^ *hot .*:sys_enter: NR '$getppid)" 42 &&
		is "exits by children" "$(lines '^ *hot .*:sys_exit: NR '$getppid)" 42
	result $? "raw system calls of children"

	$hot pingpong 3000000 &
	pid=$!
	usleep 300000
	timeout -s INT 3 perf trace -s -p $pid -o $out >/dev/null 2>&1
	kill $pid
	wait
	set -- $(summary write) $(summary read)
	# As many as the other, but for what a loaded host makes perf lose.
	within write "$1" 20 10000000 &&
		within "reads against writes" "$(($3 - $1))" "-$(($1 / 50 + 20))" "$(($1 / 50 + 20))"
	result $? "trace -p"

	timeout 60 perf trace --no-syscalls -e sched:sched_process_fork,sched:sched_process_exec -o $out \
		$hot pingpong 1 >/dev/null 2>&1
	is forks "$(grep -c 'sched:sched_process_fork' $out)" 1 &&
		is execs "$(grep -c 'sched:sched_process_exec.*hot' $out)" 1
	result $? "trace --no-syscalls -e sched:*"
fi

# --- sched

timeout 60 perf sched record -o $data $hot pingpong 500 >$out 2>&1
status=$?
perf sched latency -i $data >$out 2>/dev/null
row() {		# TASK COLUMN, of perf sched latency
	awk -F'|' -v task="$1" -v column="$2" '$1 ~ "^ *" task ":" { print $column + 0; exit }' $out
}
runtime() {	# TASK, us by sched latency
	awk -F'|' -v task="$1" '$1 ~ "^ *" task ":" { print int($2 * 1000); exit }' $out
}
runtimes() {	# TASK, us by the records of that process
	pid=$(sed -n "s/^ *$1:\([0-9]*\) .*/\1/p" $out)
	perf script -i $data -F event,trace 2>/dev/null |
		awk -F'[= ]' -v pid="$pid" '
			/sched_stat_runtime:/ && $0 ~ " pid=" pid " " { sub(/.*runtime=/, ""); n += $1 }
			END { print int(n / 1000) }'
}
# perf leaves out switches from a task that is still runnable.
ping=$(runtimes ping) pong=$(runtimes pong)
within "switches of ping" "$(row ping 3)" 1 1200 && within "switches of pong" "$(row pong 3)" 1 1200 &&
	within "runtime of ping" "$ping" 500 60000000 && within "runtime of pong" "$pong" 500 60000000 &&
	within "that of ping in the table" "$(runtime ping)" $((ping - 1)) $((ping + 1)) &&
	within "that of pong in the table" "$(runtime pong)" $((pong - 1)) $((pong + 1)) && [ $status = 0 ]
result $? "sched record, sched latency"

perf sched timehist -s -i $data >$out 2>/dev/null
within "runs of ping" "$(awk '$1 ~ /^ping\[/ { print $3; exit }' $out)" 200 2000 &&
	within "runs of pong" "$(awk '$1 ~ /^pong\[/ { print $3; exit }' $out)" 200 2000
result $? "sched timehist"

fields=comm,pid,tid,cpu,time,event,trace
samples
switches=$(lines 'sched_switch: prev_comm=ping')
perf sched map -i $data >$out 2>/dev/null
within "lines of the map" "$(grep -c ' secs' $out)" "$switches" 100000 && grep -q '=> ping:' $out &&
	grep -q '=> pong:' $out
result $? "sched map"

# --- lock

timeout 60 perf lock record -o $data $hot contend 3000 >$out 2>&1
fields=comm,time,event,trace
samples
begun=$(lines 'lock:contention_begin') ended=$(lines 'lock:contention_end')
perf lock contention -i $data >$out 2>&1
set -- $(awk '$1 ~ /^[0-9]+$/ { n += $1 } END { print n + 0 }' $out) \
	$(awk '$1 ~ /^[0-9]+$/ && /rwsem:W/ { n += $1 } END { print n + 0 }' $out)
within "contended by the records" "$begun" 1 10000000 && within "ends against begins" $((ended - begun)) -5 5 &&
	within "contended" "$1" $((begun - 5)) $((begun + 5)) && within "for writing the address space" "$2" 1 "$begun"
result $? "lock record, lock contention"

# --- probe

perf probe -q -d '*' >/dev/null 2>&1
if ! perf probe -q -x $hot 'probed value' >$out 2>&1; then
	skip "probe -x" "$(head -n 1 $out)"
else
	perf stat -x, -e probe_hot:probed $hot probed 1234 >$out 2>&1
	is hits "$(cut -d, -f1 $out)" 1234
	result $? "probe -x: hits of a uprobe"

	record -e probe_hot:probed $hot probed 1000 && set -- $(values value) && is values "$*" "1000 1000 0 999"
	result $? "probe -x: its argument, by the debug information"

	results() {
		sed -n 's/.* result=\(0x[0-9a-f]*\).*/\1/p' $list
	}
	perf probe -q -x $hot 'probed%return result=$retval' >$out 2>&1 &&
		record -e probe_hot:probed__return $hot probed 1000 && set -- $(values result) &&
		is values "$((${1:-0})) $(results | sort -u | wc -l)" "1000 1000" &&
		is "last" $(($(results | tail -n 1))) 1000
	result $? "probe -x: what a function returns"

	perf probe -l >$out 2>&1
	is probes "$(grep -c "probe_hot:probed.* in $hot" $out)" 2
	result $? "probe -l"
	perf probe -q -d 'probe_hot:*' >/dev/null 2>&1
fi

if ! perf probe -q "read_of_three=vfs_read count=$third:u64" >$out 2>&1; then
	skip "probe" "$(head -n 1 $out)"
else
	perf stat -x, -e probe:read_of_three --filter 'count == 3' $hot calls 600 >$out 2>&1
	is hits "$(cut -d, -f1 $out)" 300
	result $? "probe: hits of a kprobe, by its argument"

	record -e probe:read_of_three $hot calls 400 && is "reads of three" "$(lines 'count=3$')" 200
	result $? "probe: the argument in each record"

	perf probe -q "read_done=vfs_read%return got=\$retval:s64" >$out 2>&1 &&
		record -e probe:read_done__return $hot calls 400 && is "reads that got three" "$(lines 'got=3$')" 200
	result $? "probe: what a kernel function returns"
	perf probe -q -d 'probe:*' >/dev/null 2>&1
fi

# --- script, and reports of a file

fields=comm,pid,tid,cpu,time,period,event,ip,sym,dso,addr
task='^ *hot +[0-9]+/[0-9]+ +\[00[01]\] +[0-9]+\.[0-9]{9}'
place='[0-9a-f]+ [^ ]+ \(.+\)'
record -d -c 3 -e page-faults:u $hot rounds 1 &&
	is "records in this form" "$(grep -cE "$task: +3 +page-faults:u: +$place +$place\$" $list)" \
		"$(lines .)" && within records "$(lines .)" 3 1000
result $? "script -F: every field has its value"

perf buildid-list -i $data >$out 2>&1
grep -qE "^[0-9a-f]{40} $hot\$" $out
result $? "buildid-list"

fields=comm,time,event
record -e $calls -c 1 $hot calls 100
perf inject -b -i $data -o $data.new >$out 2>&1 && samples $data.new && is samples "$(lines getppid)" 100
result $? "inject -b"
rm -f $data.new

# Without tracepoints, of which perf stat does not note what a report needs.
rm -f $data
count=$(perf stat record -o $data -e page-faults $hot calls 100 2>&1 | awk '/page-faults/ { print $1 }')
perf stat report -i $data >$out 2>&1
is count "$(awk '/page-faults/ && $1 ~ /^[0-9]+$/ { print $1 }' $out)" "$count" && within count "$count" 10 1000
result $? "stat record, stat report"

timeout 60 perf kmem record -o $data $hot contend 50 >$out 2>&1
perf kmem --slab stat -i $data >$out 2>&1
within "slab allocations" "$(awk '/Total bytes requested:/ { gsub(",", "", $NF); print $NF }' $out)" 1000 2000000000
result $? "kmem record, kmem stat"

finish

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# perf stat of Debian in the guest, in its usual forms. It measures a program that makes 1000 system
# calls of one kind for a word on its command line, so that counts are known exactly.

tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/programs/lib.sh"

work=$tests/inherit

# perf stat, one line for each event: value,unit,event,running,percent...
stat() {
	rm -f $out
	timeout 60 perf stat -x, -o $out "$@" >/tmp/perf_stat.stdout 2>&1 || {
		cat /tmp/perf_stat.stdout >>$out
		return 1
	}
}

# Sum of the counts of an event in the output; FIELD is where the name stands.
sum() {		# EVENT [FIELD]
	awk -F, -v event="$1" -v field="${2:-3}" \
		'index($field, event) { sum += $(field - 2); n++ }
		END { if (n) printf "%d\n", sum; else print "none" }' $out
}

stat -e $calls $work calls && is calls "$(sum $calls)" 1000
result $? "a command"

stat -e $calls $work fork-calls && is calls "$(sum $calls)" 2000
result $? "a command and its children"

stat --no-inherit -e $calls $work fork-calls && is calls "$(sum $calls)" 1000
result $? "--no-inherit"

stat -a -e $calls $work fork-calls && is calls "$(sum $calls)" 2000
result $? "-a"

stat -a -A -e $calls taskset -c 1 $work fork-calls &&
	is "CPU 0" "$(grep ^CPU0, $out | cut -d, -f2)" 0 &&
	is "CPU 1" "$(grep ^CPU1, $out | cut -d, -f2)" 2000
result $? "-a -A: each CPU"

stat -C 1 -e $calls taskset -c 1 $work fork-calls && is "CPU 1" "$(sum $calls)" 2000 &&
	stat -C 0 -e $calls taskset -c 1 $work fork-calls && is "CPU 0" "$(sum $calls)" 0
result $? "-C"

stat -C 0-1 -e $calls taskset -c 1 $work fork-calls && is "both CPUs" "$(sum $calls)" 2000
result $? "-C 0-1"

stat -r 5 -e $calls $work calls && is "mean of five" "$(sum $calls)" 1000
result $? "-r 5"

# Waits until perf has so many events, which it then enables at once.
wait_for_events() {	# HOW_MANY
	for i in $(seq 300); do
		[ "$(ls -l /proc/$(pidof perf)/fd 2>/dev/null | grep -c perf_event)" -ge "$1" ] && break
		usleep 100000
	done
	usleep 500000
}

# A process with four threads that is running already; they make their calls once it is measured.
attach() {	# OPTION...; "pid" and "tid" stand for the process and for one of its threads
	rm -f /tmp/go /tmp/end
	$work threads &
	pid=$!
	until [ "$(ls /proc/$pid/task | wc -l)" = 4 ]; do usleep 100000; done
	set -- "$1" "$2" $(ls /proc/$pid/task)
	case $2 in
	tid) set -- "$1" "$5" 1 ;;
	pid) set -- "$1" $pid 4 ;;
	esac
	(wait_for_events $3; : >/tmp/go; usleep 700000; : >/tmp/end) &
	stat -e $calls $1 $2
	status=$?
	wait $pid
	return $status
}

attach -p pid && is "four threads" "$(sum $calls)" 4000
result $? "-p: a running process with threads"

attach -t tid && is "one thread" "$(sum $calls)" 1000
result $? "-t: one thread of it"

attach "--per-thread -p" pid && is "lines of 1000" "$(grep -c ,1000, $out)" 4
result $? "--per-thread"

# Two CPUs, for as long as it took, by the time that begins each line.
stat -I 100 -e cpu-clock -a sleep 1 && within "lines" "$(grep -c cpu-clock $out)" 5 100 &&
	passed=$(tail -n 1 $out | awk -F, '{ printf "%d\n", $1 * 1000 }') && within "ms passed" "$passed" 950 30000 &&
	within "ms of two CPUs" "$(sum cpu-clock 4)" $((passed * 17 / 10)) $((passed * 23 / 10))
result $? "-I 100"

# The program starts at once; counting begins later, when it has made its calls.
stat -D 2500 -e $calls,task-clock sh -c "$work calls; sleep 5; $work calls" && is calls "$(sum $calls)" 1000
result $? "-D 2500"

stat -D -1 -e $calls $work calls && is calls "$(sum $calls)" 0
result $? "-D -1: never enabled"

stat -e "{$calls,task-clock,page-faults}" -e "{$calls,context-switches}" $work calls &&
	is "both groups" "$(sum $calls)" 2000 && is "running all the time" "$(cut -d, -f5 $out | grep -vc '^100.00$')" 2
result $? "groups"

stat -e task-clock,context-switches,cpu-migrations,page-faults,minor-faults,major-faults,cpu-clock \
	$work fork-calls && is "events without a count" "$(grep -c '^<not' $out)" 0 &&
	within page-faults "$(sum page-faults)" 10 2000 &&
	is minor-faults "$(sum minor-faults)" "$(sum page-faults)" && is major-faults "$(sum major-faults)" 0
result $? "software events"

# One more where the kernel clears the page that the word is in.
address=$($work address)
stat -e "mem:$address:w" $work write && within writes "$(sum mem:)" 1000 1001
result $? "-e mem:address:w"

stat -e "mem:$address:rw" $work write && within accesses "$(sum mem:)" 1000 1001
result $? "-e mem:address:rw"

tracing=/sys/kernel/tracing
symbol=$(awk '$3 ~ /^__(x64|arm64)_sys_getppid$/ { print $3; exit }' /proc/kallsyms)
echo "p:perf_stat/getppid $symbol" >$tracing/kprobe_events &&
	stat -e perf_stat:getppid $work fork-calls && is hits "$(sum perf_stat:getppid)" 2000
result $? "-e a kprobe"
echo "-:perf_stat/getppid" >>$tracing/kprobe_events

stat -e 'sched:sched_process_fork,sched:sched_process_exec' $work fork-calls &&
	is forks "$(sum sched:sched_process_fork)" 1 && is execs "$(sum sched:sched_process_exec)" 1
result $? "-e sched:*"

stat -e raw_syscalls:sys_enter --filter 'id == 173 || id == 110' $work calls &&
	is calls "$(sum raw_syscalls)" 1000
result $? "--filter"

# cgroups
if [ -e /cgroup/cgroup.procs ] && echo +pids >/cgroup/cgroup.subtree_control; then
	mkdir -p /cgroup/one /cgroup/two
	mkdir -p /sys/fs/cgroup
	mount -t cgroup2 none /sys/fs/cgroup 2>/dev/null
	in_cgroups() {
		sh -c 'echo $$ >/cgroup/one/cgroup.procs; exec '"$work calls"
		sh -c 'echo $$ >/cgroup/two/cgroup.procs; exec '"$work fork-calls"
		$work calls
	}
	measure_cgroups() {	# HOW_MANY OPTION...
		rm -f $out /tmp/end
		nr=$1
		shift
		timeout 60 perf stat -x, -o $out -a -e $calls "$@" \
			sh -c 'until [ -e /tmp/end ]; do usleep 100000; done' >/tmp/perf_stat.stdout 2>&1 &
		pid=$!
		wait_for_events $((2 * nr))
		in_cgroups
		: >/tmp/end
		wait $pid || { cat /tmp/perf_stat.stdout >>$out; return 1; }
	}
	of() { awk -F, -v name="$1" '$4 == name { sum += $1 } END { printf "%d\n", sum }' $out; }
	measure_cgroups 1 -G one && is "first" "$(of one)" 1000
	result $? "-G one"
	measure_cgroups 2 --for-each-cgroup one,two && is first "$(of one)" 1000 && is second "$(of two)" 2000
	result $? "--for-each-cgroup one,two"
	umount /sys/fs/cgroup 2>/dev/null
	rmdir /cgroup/one /cgroup/two
else
	skip "-G" "no cgroup2"
fi

# Hardware, where instructions are counted. The emulator of x86 counts them exactly only while they
# are its clock; CPUID shows whether they are.
exact() { [ "$(uname -m)" != x86_64 ] || "$tests/x86_pmu" exact; }
if perf stat -x, -e instructions:u true 2>&1 | grep -q '^[1-9]' && exact; then
	stat -e instructions:u,cycles:u $work loop &&
		within instructions "$(sum instructions:u)" 40000000 40100000 &&
		is "running all the time" "$(cut -d, -f5 $out | grep -c '^100.00$')" 2
	result $? "instructions of a loop"
	stat -a -e instructions:u taskset -c 1 $work loop &&
		within instructions "$(sum instructions:u)" 40000000 42000000
	result $? "-a: instructions of a loop"
	many=$(for i in 1 2 3 4 5 6 7 8; do printf 'instructions:u,cycles:u,'; done)
	stat -e "${many%,}" sh -c "$work loop; $work loop; $work loop; $work loop; $work loop" &&
		is "events without a count" "$(grep -c '^<not' $out)" 0 &&
		within "mean of the estimates" $(($(sum instructions:u) / 8)) 192000000 208000000
	result $? "16 events: percentages and estimates"
	stat -r 3 -e '{instructions:u,cycles:u}' $work loop && within mean "$(sum instructions:u)" 40000000 40100000
	result $? "-r 3 of a group"
	# Cache events count nothing here, or are not supported; events multiplexed with them are estimated.
	stat -d -d $work loop && within instructions "$(sum instructions)" 36000000 100000000 &&
		is "events of caches" "$(grep -c 'L1-dcache-loads\|LLC-loads\|dTLB-loads\|iTLB-loads' $out)" 4
	result $? "-d -d"
else
	skip "hardware" "no instruction counter"
fi

rm -f /tmp/go /tmp/end
finish

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# perf record of Debian in the guest, in its usual forms; perf report and perf script show what was
# recorded, of which tasks and in which buffers.
tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/programs/lib.sh"
unlimited

# --- where time is spent. On a fast machine there are a few hundred samples; shares of them scatter by 2 %.

event="cpu-clock:u -F 1000"
unwound="$event"
if have_cycles; then
	# On arm64 perf requests registers, to unwind, that the clock does not have.
	unwound="cycles:u -F 1000"

	record -g -e cycles:u $hot rounds 60000 && shares_are 90
	result $? "-g -e cycles:u: shares of the functions"

	report -F overhead,period,sample -s comm,dso
	within "hot's share of its own time" \
		"$(awk '$NF == "hot" && $(NF - 1) == "hot" { sub("%", "", $1); print int($1 * 10) }' $out)" 950 1000
	result $? "report by program and file"

	perf report --stdio --children -g caller -i $data 2>/dev/null >$out
	within "main with what it calls" \
		"$(awk '$NF == "main" && $3 == "hot" { print int($1 * 10); exit }' $out)" 950 1000 &&
		within "outer with what it calls" \
			"$(awk '$NF == "outer" && $3 == "hot" { print int($1 * 10); exit }' $out)" 660 840
	result $? "report --children"

	record -a -e cycles -c 500009 sh -c "taskset 1 $hot rounds 30000; taskset 2 $hot rounds 30000" &&
		within "samples of hot on CPU 0" "$(lines '^ *hot .*\[000\].* hot_[ab]$')" 60 4000 &&
		within "samples of hot on CPU 1" "$(lines '^ *hot .*\[001\].* hot_[ab]$')" 60 4000
	result $? "-a: both CPUs"

	record -C 1 -e cycles -c 500009 sh -c "taskset 1 $hot rounds 30000; taskset 2 $hot rounds 30000" &&
		is "samples on CPU 0" "$(lines '\[000\]')" 0 &&
		within "samples of hot on CPU 1" "$(lines '^ *hot .*\[001\].* hot_[ab]$')" 60 4000
	result $? "-C 1"
else
	skip "-e cycles" "no cycle counter"
fi

# The clock replaces a cycle counter where there is none.
record -F 1000 -e cpu-clock:u $hot rounds 100000 && shares_are 90 && within "samples a second" "$(rate)" 150 1100
result $? "-F 1000 -e cpu-clock:u"

record -F 1000 -e task-clock:u $hot rounds 100000 && shares_are 90 && within "samples a second" "$(rate)" 150 1100
result $? "-F 1000 -e task-clock:u"

# 32-bit frames, to the last one; above it lies argc, in the place of a return address.
if [ "$(uname -m)" = x86_64 ]; then
	record -g -e $event "$tests/programs/hot32" &&
		perf script -F ip,sym -i $data 2>>$out |
			awk 'BEGIN {
					RS = ""
					chain = "inner\n[^\n]* middle\n[^\n]* outer\n[^\n]* _start\n"
				}
				/inner/ { n++ }
				$0 ~ chain "[^\n]* 1 [[]unknown[]]$" { whole++ }
				END { print n + 0, whole + 0 }' >$list &&
		read -r n whole <$list && within "samples of inner" "$n" 20 2000 &&
		within "with the whole chain, of $n" "$whole" $((n - 1)) "$n"
	result $? "-g of a 32-bit program"
else
	skip "-g of a 32-bit program" "not an x86"
fi

# --- tasks and CPUs

# A background program that runs until a file exists.
begin() {
	rm -f /tmp/end
	$hot "$@" &
	pid=$!
	usleep 300000
}

# Half a second at 1000 Hz, and the time that perf needs to start and stop.
most=3500

thread() {	# NAME
	grep -l "^$1$" /proc/$pid/task/*/comm | cut -d/ -f5
}

begin until /tmp/end
$hot rounds 1000000 &
other=$!
record -e $event -p $pid usleep 500000 && within samples "$(lines .)" 30 $most &&
	is "of others" "$(grep -vc " $pid/$pid " $list)" 0 && shares_are 100
result $? "-p: a running process, and no other"
: >/tmp/end
kill $other
wait

begin threads 10000000
record -e $event -p $pid usleep 500000 &&
	within "samples of thread_a" "$(lines '^ *thread_a .* hot_a$')" 20 $most &&
	within "samples of thread_b" "$(lines '^ *thread_b .* hot_b$')" 20 $most &&
	is "of others" "$(grep -vc " $pid/" $list)" 0
result $? "-p: its threads"

tid=$(thread thread_a)
record -e $event -t "$tid" usleep 500000 && within samples "$(lines '^ *thread_a .* hot_a$')" 30 $most &&
	is "of others" "$(grep -vc " $pid/$tid " $list)" 0
result $? "-t: one thread"

record -e $event --per-thread -p $pid usleep 500000 &&
	within "samples of thread_a" "$(lines '^ *thread_a .* hot_a$')" 20 $most &&
	within "samples of thread_b" "$(lines '^ *thread_b .* hot_b$')" 20 $most &&
	is "of others" "$(grep -vc " $pid/" $list)" 0
result $? "--per-thread"
kill $pid
wait

# The shell calls getppid() as well.
record -e $calls -c 1 sh -c "$hot calls 100; $hot calls 50" && is samples "$(lines '^ *hot .*getppid')" 150
result $? "a command and its children"

record -e $calls -c 1 -i sh -c "$hot calls 100; true" && is "of the child" "$(lines '^ *hot ')" 0 &&
	within "of the shell" "$(lines '^ *sh .*getppid')" 1 2
result $? "--no-inherit"

# With PERF_SAMPLE_PERIOD, which perf requests, each hit is a sample, as on the stock kernel.
record -e $calls -c 7 taskset 1 $hot calls 703 && is samples "$(lines getppid)" 703
result $? "-c 7"

record -e $calls -c 1 -D 2500 sh -c "$hot calls 30; sleep 5; $hot calls 40" && is samples "$(lines getppid)" 40
result $? "-D 2500"

record -e raw_syscalls:sys_enter --filter 'id == 173 || id == 110' $hot calls 60 && is samples "$(lines sys_enter)" 60
result $? "--filter"

# --- call chains

# The functions of each sample on one line, innermost first, each name once where it is repeated.
chains() {
	perf script --no-inline -i $data -F ip,sym 2>>$out | awk '
		NF < 2 { if (line) print line; line = last = ""; next }
		$2 != last { line = line " " $2; last = $2 }
		END { if (line) print line }' >$list
	head -n 5 $list >>$out
}

chains_are_right() {
	chains
	all=$(lines .)
	within "chains" "$all" 100 5000 &&
		within "hot_a inner outer round_of_both rounds main" \
			"$(lines '^ hot_a inner outer round_of_both rounds main ')" \
			$((all * 62 / 100)) $((all * 85 / 100)) &&
		within "hot_b round_of_both rounds main" \
			"$(lines '^ hot_b round_of_both rounds main ')" $((all * 15 / 100)) $((all * 36 / 100)) &&
		within "hot_a without its callers" \
			"$(grep hot_a $list | grep -vc 'inner outer round_of_both rounds main ')" 0 $((all / 50))
}

# Where a function has no frame of its own yet, or never has, as the C library's system calls, frame
# pointers lead past its caller. arm64 has that one in the link register; the emulator's samples fall on
# the beginnings of functions most of the time.
caller_is_lost="the frame pointer is the caller's where the samples fall"

for kind in fp dwarf dwarf,1024; do
	if [ $kind = fp ] && [ "$(uname -m)" = x86_64 ]; then
		skip "--call-graph $kind" "$caller_is_lost"
		continue
	fi
	rm -f $data
	timeout 60 perf record -q -o $data --call-graph $kind -e $unwound $hot rounds 60000 >$out 2>&1 &&
		chains_are_right
	result $? "--call-graph $kind"
done

# Through the kernel and out again.
rm -f $data
# behind the C library's system call, x86's frame pointers lead to main's caller
to=main
[ "$(uname -m)" != x86_64 ] || to=__libc_start_call_main
timeout 60 perf record -q -o $data -g -e $calls -c 1 $hot calls 20 >$out 2>&1 && chains &&
	within "the system call and $to" "$(lines "syscall.* $to ")" 20 20
result $? "-g of a tracepoint: from the kernel to main"

# --- buffers: a uprobe's argument shows which records are there

contiguous() {	# NR FIRST LAST: of all values from FIRST to LAST, once each
	set -- "$@" $(values value)
	is records "$4" "$1" && is "different values" "$5" "$1" && is "first value" "$6" "$2" &&
		is "last value" "$7" "$3"
}

fields=comm,tid,time,event,trace
if ! perf probe -q -x $hot 'probed value' >$out 2>&1; then
	why=$(head -n 1 $out)
	for name in uprobe --overwrite "--overwrite --switch-output" "--switch-output=128K"; do
		skip "$name" "perf probe: $why"
	done
else
	record -e probe_hot:probed $hot probed 5000 && contiguous 5000 0 4999
	result $? "a uprobe: all values, once each"

	# Each CPU has the newest of its own.
	record --overwrite -m 4 -e probe_hot:probed taskset 1 $hot probed 20000 &&
		set -- $(values value) && within "newest records" "$1" 100 19000 &&
		contiguous "$1" $((20000 - $1)) 19999
	result $? "--overwrite: the newest, without a hole"

	# Each value of each run follows the one before, whatever file it is in: perf looks into one CPU's buffer
	# after the other, and the program may move meanwhile. What perf has read twice may be in two files.
	rm -f $data $data.*
	timeout 60 perf record -q -T --sample-cpu -o $data --switch-output=128K -e probe_hot:probed \
		sh -c "for i in 1 2 3 4 5 6 7 8 9; do $hot probed 1500; usleep 300000; done" >$out 2>&1
	status=$?
	: >/tmp/all
	: >/tmp/lost
	for file in $data.[0-9]*; do
		samples $file
		cat $list >>/tmp/all
		perf script --show-lost-events -i $file 2>/dev/null | grep 'PERF_RECORD_LOST lost' >>/tmp/lost
	done
	cp /tmp/all $list
	set -- $(sed -n 's/^ *[^ ]* *\([0-9]*\) *\([0-9.]*\): .* value=\([0-9]*\).*/\2 \1 \3/p' $list |
		awk '{ printf "%020.9f %d %d\n", $1, $2, $3 }' | sort | awk '
		{ $0 = $2 " " $3 }
		seen[$1, $2]++ { next }
		{ n++; jumps += $2 != next_value[$1] + 0; next_value[$1] = $2 + 1 } END { print n + 0, jumps + 0 }')
	lost=$(awk '{ n += $NF } END { print n + 0 }' /tmp/lost)
	# Some of the few records that are not samples may be among the lost.
	[ $status = 0 ] && within files "$(ls $data.[0-9]* | wc -l)" 3 12 &&
		within "values, and lost where the host was too slow" \
			$(($1 + lost)) 13500 $((13500 + (lost ? 20 : 0))) &&
		within "out of order" "$2" 0 "$(wc -l </tmp/lost)"
	result $? "--switch-output=128K: nothing is missing between the files"
	rm -f $data.*

	# Snapshots of a buffer that is written over, one for each signal, and one at the end.
	rm -f /tmp/first
	(timeout 60 perf record -q -o $data --overwrite -m 4 --switch-output=signal -e probe_hot:probed \
		sh -c "$hot probed 3000; : >/tmp/first; sleep 4; $hot probed 5000; sleep 1" >$out 2>&1) &
	waiter=$!
	until [ -e /tmp/first ] || ! kill -0 $waiter 2>/dev/null; do usleep 100000; done
	sleep 1
	kill -USR2 $(pidof perf)
	wait $waiter
	set -- $data.[0-9]*
	is snapshots $# 2 && samples "$1" && set -- "$2" $(values value) && within "in the first" "$2" 10 3000 &&
		is "newest of the first" "$5" 2999 && samples "$1" && set -- $(values value) &&
		within "in the second" "$1" 10 5000 && is "newest of the second" "$4" 4999
	result $? "--overwrite --switch-output=signal: a snapshot on demand"
	rm -f $data.*
	perf probe -q -d 'probe_hot:*' >/dev/null 2>&1
fi

# A buffer of one page, and more than its reader can take: what is not there is counted as lost. Of the
# few records that are not samples some may be among the lost.
fields=comm,tid,time,event
record -m 1 -e $calls -c 1 $hot calls 100000
status=$?
lost=$(perf report --stdio -s comm -i $data 2>/dev/null | awk '/^# Total Lost Samples:/ { print $NF }')
[ $status = 0 ] && within lost "$lost" 1 99999 &&
	within "samples and lost" "$(($(lines getppid) + lost))" 100000 100020
result $? "-m 1: samples and lost make what happened"

# --- fields

fields=comm,pid,tid,cpu,time,period,event,trace
# A task that is switched out before it sleeps is not woken.
record -R -a -e 'sched:*' $hot pingpong 200
status=$?
switches() {	# FROM TO
	lines "sched:sched_switch: prev_comm=$1 prev_pid=[0-9]* .* ==> next_comm=$2 next_pid=[0-9]* "
}
fork=sched:sched_process_fork
within "switches from ping to pong" "$(switches ping pong)" 100 400 &&
	within "switches from pong to ping" "$(switches pong ping)" 100 400 &&
	within "wakeups of pong" "$(lines 'sched:sched_wakeup: comm=pong pid=[0-9]* .*target_cpu=000')" 1 400 &&
	is forks "$(lines "$fork: comm=\(ping\|hot\) pid=[0-9]* child_comm=\1")" 1 &&
	is execs "$(lines "sched:sched_process_exec: filename=$hot ")" 1 &&
	is "exit of pong" "$(lines 'sched:sched_process_exit: comm=pong ')" 1 && [ $status = 0 ]
result $? "-R -a -e sched:*: the fields of a trace event"

# The task that writes the record is the one that is switched out, at that time on that CPU.
thread='s/^ *\(.*[^ ]\)  *\([0-9]*\)\/\([0-9]*\)'
sed -n "$thread .*sched:sched_switch: prev_comm=\(.*\) prev_pid=\([0-9]*\) .*/\3 \5/p" $list |
	awk '$1 != $2 { wrong++; print "# thread " $1 " writes of " $2 } END { print NR, wrong + 0 }' >$out
set -- $(tail -n 1 $out)
within switches "$1" 200 100000 && is "not by the thread that they are about" "$2" 0
result $? "sched_switch: pid and prev_pid"

awk '{ match($0, /\[[0-9]+\]/); cpu = substr($0, RSTART, RLENGTH)
	for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+\.[0-9]+:$/) { t = $i + 0; break }
	back += t < last[cpu]; last[cpu] = t; n++ }
	END { print n, back + 0 }' $list >>$out
set -- $(tail -n 1 $out)
within records "$1" 600 100000 && is "back in time on their CPU" "$2" 0
result $? "time goes forward on each CPU"

fields=comm,time,addr,ip,sym,period,event
record -d -c 1 -e page-faults:u $hot rounds 1
status=$?
set -- $(perf stat -x, -e page-faults:u $hot rounds 1 2>&1 | cut -d, -f1)
[ $status = 0 ] && within "faults" "$(lines 'page-faults:u: *[0-9a-f]')" $(($1 - 2)) $(($1 + 2)) &&
	is "without an address" "$(lines 'page-faults:u: *0 ')" 0
result $? "-d -e page-faults: an address for each fault"

perf evlist -v -i $data >$out 2>&1
grep -q 'sample_period, sample_freq.*1,.*sample_type.*ADDR.*exclude_kernel.*1' $out
result $? "evlist -v"

finish

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# tally in the guest: what it counts and samples of programs with known numbers, and what it and
# Debian's perf read in each other's files.
tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/programs/lib.sh"
compare=/usr/lib/tally/compare.sh
if [ ! -e $compare ]; then
	result 1 "tally is installed"
	finish
	exit
fi
. $compare

TALLY=tally
work=/tmp/tally.work
inherit=$tests/inherit
mkdir -p $work
unlimited

# tally stat; sum gives the count of an event.
counted() {
	rm -f $out
	timeout 60 tally stat -x, -o $out "$@" >/tmp/tally.stdout 2>&1 || {
		cat /tmp/tally.stdout >>$out
		return 1
	}
}

sum() {		# EVENT [FIELD]
	awk -F, -v event="$1" -v field="${2:-3}" \
		'index($field, event) { sum += $(field - 2); n++ }
		END { if (n) printf "%d\n", sum; else print "none" }' $out
}

# A recording of tally that "tally check" accepts.
recorded() {
	rm -rf $data
	timeout 60 tally record -q -o $data "$@" >$out 2>&1 && verified $data
}

verified() {	# FILE...
	for file; do
		tally check "$file" >>$out 2>&1 || return
	done
}

# What "tally check" counts in a file.
number_of() {	# samples|lost [FILE]
	tally check "${2:-$data}" | sed -n "s/.*[ ,]\\([0-9]*\\) $1,.*/\\1/p"
}

# A comparison of compare.sh; what differs is printed after a failure.
same() {	# COMMAND...
	"$@" >>$out 2>&1
}

# --- tally stat

counted -e $calls,dummy $hot calls 1000 && is calls "$(sum $calls)" 1000 && is dummy "$(sum dummy)" 0
result $? "stat: a command"

counted -e $calls $inherit fork-calls && is calls "$(sum $calls)" 2000 &&
	counted -i -e $calls $inherit fork-calls && is "calls without children" "$(sum $calls)" 1000
result $? "stat: children, and -i"

counted -a -A -e $calls taskset -c 1 $inherit fork-calls &&
	is "CPU 0" "$(grep ^CPU0, $out | cut -d, -f3)" 0 && is "CPU 1" "$(grep ^CPU1, $out | cut -d, -f3)" 2000
result $? "stat -a -A: each CPU"

counted -r 3 -e "{$calls,page-faults}" $inherit calls && is "mean of three" "$(sum $calls)" 1000
result $? "stat -r 3 of a group"

tally stat -e mem:0x1001/8:w true >$out 2>&1
is status $? 1 && grep -q '^tally stat: mem:0x1001/8:w: bp_.*0x1001' $out
result $? "stat: the kernel's reason for a refusal"

if have_instructions; then
	counted -e instructions:u $hot rounds 1000 && ours=$(sum instructions:u) &&
		within "instructions of 1000 rounds" "$ours" 8000000 8200000 &&
		theirs=$(perf stat -x, -e instructions:u $hot rounds 1000 2>&1 | cut -d, -f1) &&
		within "instructions that perf counts" "$theirs" $((ours - 3000)) $((ours + 3000))
	result $? "stat: instructions of a loop"
else
	skip "stat: instructions of a loop" "no instruction counter"
fi

# Where hot_a() begins: a sample in it has its address and its distance from there.
hot_a() {
	tally script $data | sed -n 's/.* \([0-9a-f]*\) hot_a+0x\([0-9a-f]*\) .*/0x\1 0x\2/p' | {
		read -r ip distance
		echo $((ip - distance))
	}
}

getppid=$(awk '$3 ~ /^__(x64|arm64)_sys_getppid$/ { print $3; exit }' /proc/kallsyms)
recorded -F 1000 -e cpu-clock:u $hot rounds 20000 && address=$(hot_a) &&
	within "address of hot_a" "$address" $((0x400001)) $((0x4fffff)) &&
	counted -e "$(printf mem:0x%x:x:u $address)" $hot rounds 1000 &&
	is "breakpoints" "$(sum mem:)" 1000 &&
	counted -e "$(printf uprobe:%s:0x%x $hot $((address - 0x400000)))" $hot rounds 1000 &&
	is "uprobes" "$(sum uprobe:)" 1000 && counted -e "kprobe:$getppid" $hot calls 1000 &&
	is "kprobes" "$(sum kprobe:)" 1000
result $? "stat: a breakpoint, a uprobe and a kprobe by their names"

# --- tally record

for form in file pipe zstd dir; do
	case $form in
	file) recorded -e $calls -c 1 $hot calls 150 ;;
	pipe) rm -rf $data
	      tally record -q -o - -e $calls -c 1 $hot calls 150 >$data 2>$out && verified $data ;;
	zstd) recorded -z -e $calls -c 1 $hot calls 150 ;;
	dir)  recorded --dir --threads 2 -e $calls -c 1 $hot calls 150 ;;
	esac
	is status $? 0 && is "samples by tally check" "$(number_of samples)" 150 &&
		is "lost" "$(number_of lost)" 0 &&
		is "lines of tally script" "$(tally script $data | grep -c getppid)" 150 &&
		is "lines of perf script" "$(perf script -F comm,event -i $data 2>>$out | grep -c getppid)" 150 &&
		same same_samples $data && same same_fields $data
	result $? "record: each of 150 calls; $form"
done

recorded -F 4000 -e cpu-clock:u $hot rounds 50000 && shares_are 90 && same same_table $data &&
	within "hot_a by tally report" \
		"$(tally report $data | awk '$NF == "hot_a" { print int($1 * 10) }')" 660 840 &&
	within "outer and what it calls by tally report" \
		"$(tally report --children $data | awk '$NF == "hot_a" { print int($1 * 10) }')" 660 840
result $? "record, report: shares of the functions, as perf sees them"

recorded -g -F 4000 -e cpu-clock:u $hot rounds 50000 && same same_chains $data &&
	within "main with what it calls" \
		"$(tally report --children $data | awk '$NF == "main" { print int($1 * 10) }')" 950 1000
result $? "record -g: the same call chains for both"

recorded --call-graph dwarf,1024 -F 2000 -e cpu-clock:u $hot rounds 25000 && same same_samples $data &&
	tally_chains $data >$list && n=$(lines '^ | hot_a+') && within "samples of hot_a" "$n" 20 5000 &&
	within "with all callers" "$(lines '^ | hot_a+.* | inner+.* | outer+.* | main+')" $((n - 1)) "$n"
result $? "record --call-graph dwarf"

recorded -a -e cpu-clock -F 500 sh -c "taskset 1 $hot rounds 20000; taskset 2 $hot rounds 20000" &&
	same same_samples $data && fields=comm,cpu,ip,sym samples && within "samples of hot on CPU 0" \
		"$(lines '^ *hot .*\[000\].* hot_[ab]$')" 20 4000 &&
	within "samples of hot on CPU 1" "$(lines '^ *hot .*\[001\].* hot_[ab]$')" 20 4000
result $? "record -a: both CPUs"

recorded -e "{$calls,page-faults}:S" -c 1 $hot calls 100 && is samples "$(number_of samples)" 100 &&
	is "lines of tally script" "$(tally script $data | grep -c getppid)" 100 &&
	is "lines of perf script" "$(perf script -F event,period -i $data 2>>$out | grep -c ' 1 .*getppid')" 100
result $? "record: a group that its leader samples"

# A buffer of 4096 bytes has room for 51 records of 80 bytes; that of the exit has 88.
recorded --overwrite -m 1 -e $calls,syscalls:sys_enter_exit_group -c 1 taskset 1 $hot calls 1000 &&
	is samples "$(number_of samples)" 51 && is "the last" "$(tally script $data | tail -n 1 |
		grep -c 'sys_enter_exit_group: error_code: 0x0*0 ')" 1 &&
	is "calls by perf script" "$(perf script -F event -i $data 2>>$out | grep -c getppid)" 50 &&
	same same_samples $data
result $? "record --overwrite: the newest records"

# CPU time of a recorder without the program, ms.
cost() {	# COMMAND...
	rm -f $work/cost
	timeout 60 tally stat -i -x, -e task-clock -o $work/cost -- "$@" >>$out 2>&1
	cut -d. -f1 $work/cost
}

# The sums of both recorders, which take turns in this guest: rows of ms, samples, lost records.
compare_costs() {	# ROUNDS OPTION...
	rounds=$1
	shift
	for recorder in perf tally; do
		rm -f $work/$recorder.sums
	done
	while [ $rounds -gt 0 ]; do
		for recorder in perf tally; do
			file=$work/$recorder
			rm -rf $file
			ms=$(cost $recorder record -q -a "$@" -e cpu-clock -o $file $hot rounds 10000)
			echo "$ms $(number_of samples $file) $(number_of lost $file)" >>$file.sums
		done
		verified $work/tally || return
		rounds=$((rounds - 1))
	done
}

total() {	# RECORDER FIELD
	awk -v field="$2" 'NF == 3 { sum += $field; n++ } END { print n == NR && n ? sum : "none" }' \
		$work/$1.sums
}

# Two CPUs of an emulator share its instruction clock by turns that end at timers: one of them may hardly
# run when both have a timer of 10 us. So the second CPU is off here.
# A recorder takes samples of itself, too, so the one that needs more CPU time has more of them.
# With KASAN most of the time is the kernel's, which both recorders use: there tally may need as much,
# and a sample takes longer than the shortest period.
share=2 fastest=20000
! grep -q ' kasan_report$' /proc/kallsyms || share=1 fastest=10000
second=/sys/devices/system/cpu/cpu1/online
echo 0 >$second
for options in "-F max" "-g -F 10000"; do
	: >$out
	compare_costs 3 $options
	status=$?
	least=$([ "$options" = "-F max" ] && echo $fastest || echo 2000)
	for recorder in perf tally; do
		echo "# record -a $options: $recorder $(total $recorder 1) ms," \
			"$(total $recorder 2) samples, $(total $recorder 3) lost"
	done
	is status $status 0 && within "ms of perf" "$(total perf 1)" 2 100000 &&
		within ms "$(total tally 1)" 1 $(($(total perf 1) / share))
	result $? "record -a $options: at most 1/$share of perf record's CPU time"
	within "samples of perf" "$(total perf 2)" $least 100000 &&
		within samples "$(total tally 2)" $least 100000 &&
		is "lost records" "$(total tally 3)" 0
	result $? "record -a $options: samples of all rounds, none is lost"
done
echo 1 >$second

# --- sections of the header

workload="$hot rounds 30000"
their_record() {	# FILE OPTION...
	file=$1
	shift
	rm -rf "$file"
	timeout 60 perf record -q -o "$file" "$@" >$out 2>&1
}

machine='^# (hostname|os release|arch|nrcpus|cpudesc|cpuid|total mem|pmu map|cpu)'
header_of() {
	perf report --header-only -I -i "$1" 2>>$out | grep -E "$machine" >"$1.header"
}

their_record $work/perf -e cpu-clock $workload && recorded -e cpu-clock $workload &&
	header_of $work/perf && header_of $data && within lines "$(wc -l <$data.header)" 5 100 &&
	same diff $work/perf.header $data.header
result $? "perf report --header-only: the machine as perf describes it"

attrs_of() {
	perf evlist -v -i "$1" 2>>$out | grep -v dummy | tr ',' '\n' |
		grep -E 'sample_freq|inherit|freq|sample_id_all|CALLCHAIN' |
		sed 's/|CPU//; s/|LOST//; s/|ID|/|/; s/|IDENTIFIER//; s/|REGS_USER//' >"$1.attrs"
}

their_record $work/perf -g -F 1000 -e cpu-clock -e faults true &&
	recorded -g -F 1000 -e cpu-clock -e faults true && attrs_of $work/perf && attrs_of $data &&
	within lines "$(wc -l <$data.attrs)" 6 100 && same diff $work/perf.attrs $data.attrs
result $? "perf evlist -v: the attrs of perf record"

their_record $work/perf -e cpu-clock $workload && recorded -e cpu-clock $workload &&
	perf buildid-list -i $work/perf 2>>$out | sort >$work/perf.ids &&
	perf buildid-list -i $data 2>>$out | sort >$work/tally.ids &&
	is "with hot" "$(grep -cE "^[0-9a-f]{40} $hot\$" $work/tally.ids)" 1 &&
	is "of perf, and not of tally" "$(grep -v vdso $work/perf.ids | grep -cvxF -f $work/tally.ids)" 0
result $? "perf buildid-list: those of perf record"

# --- what perf wrote

their_record $work/file -g -e cpu-clock $workload
their_record $work/events -e '{cpu-clock,task-clock},page-faults' $workload
perf record -q -e cpu-clock,page-faults -o - $workload >$work/pipe 2>>$out
their_record $work/zstd -z -a -e cpu-clock $workload
their_record $work/dir --threads -a -e cpu-clock $workload
their_record $work/trace -e $calls -e sched:sched_process_exec $hot calls 20
for form in file events pipe zstd dir trace; do
	: >$out
	verified $work/$form && within samples "$(number_of samples $work/$form)" 20 100000 &&
		same same_samples $work/$form
	result $? "what perf wrote: $form"
done
same same_table $work/file && same same_table $work/events && same same_fields $work/trace
result $? "what perf wrote: the tables of report, the fields of tracepoints"

rm -rf $work $data*
finish

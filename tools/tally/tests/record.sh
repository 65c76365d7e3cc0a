#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# tally record: files that "tally check" accepts, and that perf reads with the same contents.
# TALLY is the program, by default the one in PATH.
. "$(dirname "$0")/lib/compare.sh"
tally=${TALLY:-tally}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
number=0 failed=0
command -v perf >/dev/null || no_perf=1

# result STATUS NAME
result() {
	number=$((number + 1))
	[ "$1" = 0 ] || { failed=$((failed + 1)); printf 'not '; }
	echo "ok $number - $2"
}

# compare NAME COMMAND...: the command succeeds; skipped without perf.
compare() {
	name=$1
	shift
	if [ "$no_perf" ]; then
		number=$((number + 1))
		echo "ok $number - $name # SKIP no perf"
		return
	fi
	"$@"
	result $? "$name"
}

# recorded FILE ARGUMENT...: a recording that "tally check" has no complaint about.
recorded() {
	file=$1
	shift
	$tally record -q -o "$file" "$@" >/dev/null || return 1
	$tally check "$file" >"$dir/check" || { sed 's/^/# /' "$dir/check"; return 1; }
}

work='i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done'

same_header() {
	perf record -q -e cpu-clock -o "$dir/perf" -- sh -c "$work" >/dev/null 2>&1 || return 1
	for file in perf plain; do
		machine_lines "$dir/$file" >"$dir/$file.header"
	done
	[ "$(wc -l <"$dir/plain.header")" -ge 10 ] && diff "$dir/perf.header" "$dir/plain.header"
}

same_attrs() {
	perf record -q -g -F 1000 -e cpu-clock -e faults -o "$dir/perf" -- true >/dev/null 2>&1 ||
		return 1
	recorded "$dir/tally" -g -F 1000 -e cpu-clock -e faults -- true || return 1
	for file in perf tally; do
		perf evlist -v -i "$dir/$file" | grep -v dummy | tr ',' '\n' |
			grep -E 'sample_freq|inherit|freq|sample_id_all|CALLCHAIN' |
			sed 's/|CPU//; s/|LOST//; s/|ID|/|/; s/|IDENTIFIER//' >"$dir/$file.attrs"
	done
	[ -s "$dir/tally.attrs" ] && diff "$dir/perf.attrs" "$dir/tally.attrs"
}

same_samples() {
	[ "$(perf script -i "$1" -F ip 2>/dev/null | grep -c .)" = "$(samples "$1")" ]
}

# The switch away from sleep is a sample of sleep itself; that to it is one of the task before, which
# may be one that the host does not show.
decodes_tracepoints() {
	recorded "$dir/switches" -e sched:sched_switch,sched:sched_wakeup -a -- sleep 0.2 &&
		perf script -i "$dir/switches" 2>/dev/null |
			grep -q 'sched:sched_switch: prev_comm=sleep .*next_comm=' &&
		$tally record -q -o - -e sched:sched_switch -a -- sleep 0.2 |
			perf script -i - 2>/dev/null | grep -q 'sched:sched_switch: prev_comm=sleep .*next_comm='
}

# cost COMMAND...: milliseconds of CPU time of the command itself; its children are not counted.
cost() {
	$tally stat -i -x, -e task-clock -o "$dir/cost" -- "$@" >/dev/null 2>&1 || return 1
	sed 's/\..*//' "$dir/cost"
}

# A file for each reading thread, and none of those of the recording before.
writes_directories() {
	recorded "$dir/files" --dir --threads 2 -a -e cpu-clock -- sleep 0.3 &&
		recorded "$dir/files" --dir --threads 1 -e faults -c 1 -- true &&
		[ "$(ls "$dir/files" | xargs)" = "data data.0" ] && [ -d "$dir/files.old" ] &&
		[ "$(samples "$dir/files")" -gt 5 ]
}

# The newest faults of a program; its last part is true. A page has 102 records of 40 bytes; on the
# way to its CPU the program may use another page.
keeps_newest() {
	many='ls -lR /usr/share/doc >/dev/null; exec env -i true'
	recorded "$dir/all" -e faults -c 1 -- sh -c "$many" &&
		recorded "$dir/newest" --overwrite -m 1 -e faults -c 1 -- taskset -c 0 sh -c "$many" &&
		echo "# $(samples "$dir/newest") of about $(samples "$dir/all") samples" &&
		[ "$(samples "$dir/all")" -gt 250 ] && [ "$(samples "$dir/newest")" -ge 102 ] &&
		[ "$(samples "$dir/newest")" -le 204 ] &&
		$tally script "$dir/newest" | tail -n 1 | grep -q '^ *true '
}

samples() {
	$tally check "$1" | sed -n 's/.* records, \([0-9]*\) samples.*/\1/p'
}

lost() {
	$tally check "$1" | sed -n 's/.* samples, \([0-9]*\) lost.*/\1/p'
}

# At most half of the CPU time of perf record, and no more lost records.
costs_half() {
	theirs=$(cost perf record -q -a -g -F 10000 -e cpu-clock -o "$dir/perf" -- sleep 2)
	ours=$(cost $tally record -q -a -g -F 10000 -e cpu-clock -o "$dir/tally" -- sleep 2)
	echo "# perf record: $theirs ms, $(lost "$dir/perf") lost;" \
		"tally record: $ours ms, $(lost "$dir/tally") lost"
	[ "$theirs" ] && [ "$ours" ] && [ $((2 * ours)) -le "$theirs" ] &&
		[ "$(lost "$dir/tally")" -le "$(lost "$dir/perf")" ]
}

# Every object that perf found hits in has the same build id here.
same_build_ids() {
	perf record -q -e cpu-clock -o "$dir/perf" -- sh -c "$work" >/dev/null 2>&1
	perf buildid-list -i "$dir/perf" 2>/dev/null | grep -v vdso | sort >"$dir/perf.ids"
	perf buildid-list -i "$dir/plain" 2>/dev/null | sort >"$dir/plain.ids"
	[ -s "$dir/perf.ids" ] && [ -s "$dir/plain.ids" ] &&
		! grep -vxF -f "$dir/plain.ids" "$dir/perf.ids"
}

# ends_full FILE COMMANDS ARGUMENT...: the command stops the recorder, runs COMMANDS, which make more
# records than the buffers of a page have room for, and ends: none follows those that are lost.
ends_full() {
	file=$1 commands=$2
	shift 2
	rm -f "$dir/ended"
	$tally record -q -m 1 -o "$file" "$@" -- sh -c "$commands" "$dir/ended" &
	until [ -s "$dir/ended" ] && grep -q '^State:.*Z' "/proc/$(cat "$dir/ended")/status"; do
		kill -0 $! || return 1
		sleep 0.1
	done
	kill -CONT $!
	wait $! && $tally check "$file" >"$dir/check" || { sed 's/^/# /' "$dir/check"; return 1; }
}

counts_last_losses() {
	many='for i in 1 2; do ls -lR /usr/share/doc >/dev/null; done; echo $$ >"$0"'
	rm -f "$dir/ended"
	recorded "$dir/all" -e faults -c 1 -- sh -c "$many" "$dir/ended" && rm "$dir/ended" || return 1
	ends_full "$dir/end" "kill -STOP \$PPID; $many" -e faults -c 1 || return 1
	echo "# $(samples "$dir/end") samples and $(lost "$dir/end") lost of about $(samples "$dir/all")"
	[ "$(lost "$dir/end")" -gt 50 ] &&
		[ $(($(samples "$dir/end") + $(lost "$dir/end"))) -ge $(($(samples "$dir/all") - 20)) ]
}

# One sample, then records without samples in several rounds, then those that are lost.
loses_behind_rounds() {
	ends_full "$dir/end" 'while [ $((i += 1)) -lt 1000000 ]; do :; done
		for i in 1 2 3; do env true; sleep 0.7; done; kill -STOP $PPID
		for i in $(seq 100); do env true; done; echo $$ >"$0"' -e cpu-clock -c 200000000 || return 1
	echo "# $(samples "$dir/end") samples and $(lost "$dir/end") lost"
	[ "$(samples "$dir/end")" -ge 1 ] && [ "$(lost "$dir/end")" -gt 50 ]
}

echo "KTAP version 1"

recorded "$dir/plain" -e cpu-clock -- sh -c "$work"
result $? "a command"
recorded "$dir/faults" -e faults -c 1 -- true
result $? "each fault"
recorded "$dir/chains" -e cpu-clock -g -- sh -c "$work"
result $? "call chains"
recorded "$dir/dwarf" -e cpu-clock --call-graph dwarf,4096 -- sh -c "$work"
result $? "stack dumps"
recorded "$dir/all" -a -e cpu-clock -- sleep 0.3
result $? "all CPUs"
recorded "$dir/two" -e cpu-clock,faults -k monotonic -- sh -c "$work"
result $? "two events, times of another clock"
recorded "$dir/group" -e '{faults,cs}:S' -c 5 -- sh -c "$work"
result $? "a group that its leader samples"
recorded "$dir/threads" -a --threads 2 -e cpu-clock -- sleep 0.3
result $? "two reading threads"
$tally record -q -o - -e faults -c 1 -- true | $tally check - >/dev/null
result $? "a pipe"
$tally record -q -o - -e faults -c 1 -- echo printed 2>"$dir/printed" >"$dir/pipe" &&
	$tally check "$dir/pipe" >/dev/null && [ "$(cat "$dir/printed")" = printed ]
result $? "what a command prints is not in the pipe"
if $tally record -q -z -o "$dir/zstd" -e faults -c 1 -- true 2>"$dir/error"; then
	$tally check "$dir/zstd" >/dev/null
	result $? "compressed"
else
	number=$((number + 1))
	echo "ok $number - compressed # SKIP built without zstd"
fi

sleep 5 &
$tally record -e cs -o "$dir/attach" -p $! 2>"$dir/progress" &
sleep 0.5
kill -TERM $!
wait $! && $tally check "$dir/attach" >/dev/null &&
	grep -q 'tally record: [0-9]* samples, 0 lost, [0-9.]* MB in' "$dir/progress"
result $? "a signal ends it with a complete file"
ends_by_signals() {
	for signal in INT HUP QUIT USR1 USR2 XCPU; do
		$tally record -e faults -c 1 -o "$dir/signal" -- sh -c "echo; exec sleep 20" \
			>"$dir/begun" 2>"$dir/progress" &
		until [ -s "$dir/begun" ] || ! kill -0 $!; do sleep 0.1; done
		kill -$signal $!
		wait $! && $tally check "$dir/signal" >/dev/null && [ "$(samples "$dir/signal")" -gt 10 ] &&
			grep -q 'tally record: [1-9][0-9]* samples, 0 lost' "$dir/progress" ||
			{ echo "# SIG$signal"; return 1; }
		rm "$dir/begun"
	done
}
# The shell lets programs in the background ignore SIGINT, as this sleep does.
ends_by_signals
result $? "each signal that ends it leaves a complete file"
sleep 0.6 &
first=$!
sh -c 'sleep 1.2; exec true' &
$tally record -q -e faults -c 1 -o "$dir/both" -p $first,$!
$tally check "$dir/both" >/dev/null && [ "$(samples "$dir/both")" -gt 10 ]
result $? "a process is recorded when another has ended"
$tally record -q -e faults -o "$dir/status" -- sh -c 'exit 5'
[ $? = 5 ]
result $? "exit status of the command"
$tally record -q -e faults -o "$dir/status" -- sh -c 'kill -KILL $$'
[ $? = 137 ]
result $? "exit status of a command that a signal has killed"
timeout 10 $tally record -q -a -D 300 -e cpu-clock -o "$dir/delay" -- true &&
	$tally check "$dir/delay" >/dev/null
result $? "a command that ends before the delay"
# What is mapped while nothing is sampled: the command's own programs, and those of another process.
delay_of_command() {
	recorded "$dir/late" -D 400 -e cpu-clock -- awk 'BEGIN { while (i < 1e8) i++ }' &&
		table_has "$dir/late"
}
delay_of_all() {
	{ sleep 0.4; exec timeout 3 awk 'BEGIN { while (1) i++ }'; } &
	recorded "$dir/late" -a -D 1200 -F 200 -e cpu-clock -- sleep 1.8 && table_has "$dir/late"
	status=$?
	kill $!
	return $status
}
# Samples of awk, all of them of the time after the delay, by its name and in its file.
table_has() {
	$tally report "$1" >"$dir/table" 2>&1
	grep -Eq '^ *[0-9.]+% +awk +[a-z]*awk ' "$dir/table" || { head -n 20 "$dir/table" | sed 's/^/# /'; return 1; }
}
delay_of_command
result $? "programs of a command that starts before the delay is over"
delay_of_all
result $? "programs that start on all CPUs before the delay is over"
# records_as_nobody ARGUMENT...: a recording without rights, into a pipe.
records_as_nobody() {
	[ "$(id -u)" != 0 ] || set -- setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
	"$@" -o - -- true 2>"$dir/error" >/dev/null
}
if records_as_nobody $tally record -e cpu-clock:u; then
	records_as_nobody $tally record -D 10 -e cpu-clock:u &&
		! grep 'kernel is not measured' "$dir/error"
	result $? "a delay without rights leaves nothing out that was named"
else
	number=$((number + 1))
	echo "ok $number - a delay without rights # SKIP $(head -n 1 "$dir/error")"
fi
# Busy CPUs make the recording longer than the sleep, and may join two lines.
shows_progress() {
	shown='s/^\[ tally record: \([0-9]*\) samples, [0-9]* lost, [0-9.]* MB in .* \]$/\1/p'
	begun=$(date +%s%3N)
	script -qec "$tally record -a -e cpu-clock -o $dir/shown -- sleep 3.6" /dev/null </dev/null |
		tr '\r' '\n' | sed -n "$shown" >"$dir/lines"
	most=$((($(date +%s%3N) - begun) / 1000 + 1))
	lines=$(wc -l <"$dir/lines")
	[ "$lines" -ge 3 ] && [ "$lines" -le $most ] && sort -nu "$dir/lines" | cmp -s - "$dir/lines" &&
		[ "$(tail -n 1 "$dir/lines")" = "$(samples "$dir/shown")" ] && return
	echo "# at least 3 lines and at most $most expected:" $(cat "$dir/lines")
	return 1
}
if command -v script >/dev/null; then
	shows_progress
	result $? "the progress line, each second on a terminal"
else
	number=$((number + 1))
	echo "ok $number - the progress line, each second on a terminal # SKIP no script(1)"
fi

writes_directories
result $? "a directory"
keeps_newest
result $? "the newest records replace the oldest"
counts_last_losses
result $? "records that are lost after the last one of a buffer are counted"
loses_behind_rounds
result $? "they are counted behind rounds without samples"
$tally record -q -e 'faults/aux-sample-size=64/' -o "$dir/none" -- true 2>"$dir/error"
[ $? = 2 ] && grep -q 'faults/aux-sample-size=64/: .* not supported' "$dir/error"
result $? "a term that is not supported is refused"
$tally record -q -m 8,4 -e cs -o "$dir/none" -- true 2>"$dir/error"
[ $? = 2 ] && grep -q 'no event has a PMU with an AUX area' "$dir/error" &&
	! $tally record -q -m 8, -e cs -o "$dir/none" -- true 2>"$dir/error" && [ ! -e "$dir/none" ]
result $? "an AUX area without an event for it is refused"

if [ -d /sys/kernel/tracing/events ] || [ -d /sys/kernel/debug/tracing/events ]; then
	compare "perf decodes tracepoints" decodes_tracepoints
else
	number=$((number + 1))
	echo "ok $number - perf decodes tracepoints # SKIP no tracefs"
fi
compare "perf reads the same header as its own" same_header
compare "perf reads the same attrs as its own" same_attrs
compare "perf finds as many samples" same_samples "$dir/faults"
compare "perf finds as many samples in a directory" same_samples "$dir/files"
compare "perf finds as many samples of those that overwrite others" same_samples "$dir/newest"
compare "build ids are those of perf" same_build_ids
compare "half of the CPU time of perf record, at most as many lost records" costs_half
echo "1..$number"
exit $((failed > 0))

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# tally stat: its outputs. TALLY is the program, by default the one in PATH.
tally=${TALLY:-tally}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
number=0 failed=0

# result STATUS NAME
result() {
	number=$((number + 1))
	[ "$1" = 0 ] || { failed=$((failed + 1)); printf 'not '; }
	echo "ok $number - $2"
}

# count FILE PATTERN LINES: the file has so many lines that match.
count() {
	n=$(grep -c -E -e "$2" "$1")
	[ "$n" = "$3" ] || { echo "# $n instead of $3 lines match $2:"; sed 's/^/#  /' "$1"; return 1; }
}

echo "KTAP version 1"
echo "1..14"

$tally stat -e faults,task-clock -o "$dir/table" -- true &&
	count "$dir/table" '^ +[0-9,]+ +faults +# +[0-9.]+ [KM]?/sec' 1 &&
	count "$dir/table" 'msec task-clock +# +[0-9.]+ CPUs utilized' 1 &&
	count "$dir/table" 'seconds time elapsed' 1
result $? "table"

$tally stat -x';' -e faults:u,dummy -o "$dir/csv" -- true &&
	count "$dir/csv" '^[0-9]+;;faults:u;[0-9]+;100.00;;$' 1 &&
	count "$dir/csv" '^0;;dummy;[0-9]+;100.00;;$' 1 && count "$dir/csv" . 2
result $? "CSV has the fields of perf-stat(1)"

$tally stat -j -e faults,dummy -o "$dir/json" -- true &&
	count "$dir/json" '^\{"counter-value" : "[0-9]+\.0+", "unit" : "", "event" : "faults", .*\}$' 1 &&
	count "$dir/json" . 2
result $? "JSON, an object a line"

$tally stat -I 100 -x, -e task-clock -o "$dir/interval" -- sleep 0.45 &&
	count "$dir/interval" '^0\.[1-9][0-9]+,([0-9.]+|<not counted>),msec,task-clock,' 5
result $? "an interval every 100 ms and a last one"

$tally stat -r 3 -x, -e faults -o "$dir/repeat" -- true &&
	count "$dir/repeat" '^[0-9]+,,faults,[0-9.]+%,[0-9]+,100.00,,$' 1
result $? "repeats with their deviation"

cpus=$(getconf _NPROCESSORS_ONLN 2>/dev/null || nproc)
$tally stat -a -A -x, -e cs -o "$dir/cpus" -- true &&
	count "$dir/cpus" '^CPU[0-9]+,1,[0-9]+,,cs,' "$cpus"
result $? "each CPU"

$tally stat -e dummy -o "$dir/status" -- sh -c 'exit 7'
[ $? = 7 ]
result $? "exit status of the command"

sleep 0.3 &
$tally stat -p $! -e cs -x, -o "$dir/pid" && count "$dir/pid" '^[0-9]+,,cs,[0-9]+,100.00,,$' 1
result $? "a process until it ends"

$tally stat -e no-such-event true 2>"$dir/error"
[ $? = 2 ] && count "$dir/error" 'no-such-event: no such event' 1
result $? "an event that does not exist"

$tally stat -e cs -o "$dir/signal" -x, -- sleep 30 &
sleep 0.5
kill -INT $!
wait $!
count "$dir/signal" '^[0-9]+,,cs,' 1
result $? "a signal ends the command, and prints"

$tally stat -e cs -o "$dir/ignored" -x, -- sleep 9 2>"$dir/error" &
sleep 0.5
began=$(date +%s)
kill -INT $!
wait $!
[ $? = 0 ] && [ $(($(date +%s) - began)) -lt 6 ] && count "$dir/ignored" '^[0-9]+,,cs,' 1 &&
	count "$dir/error" 'tally stat: the command still runs' 1
result $? "a command that ignores the signal is left to itself"

$tally stat -e dummy -o "$dir/status" -- sh -c 'kill -KILL $$'
[ $? = 137 ]
result $? "exit status of a command that a signal has killed"

timeout 10 $tally stat -a -D 300 -x, -e cpu-clock -o "$dir/delay" -- true &&
	count "$dir/delay" ',cpu-clock,' 1
result $? "a command that ends before the delay"

for mount in /cgroup /sys/fs/cgroup /sys/fs/cgroup/unified; do
	[ ! -e "$mount/cgroup.subtree_control" ] ||
		echo +pids >"$mount/cgroup.subtree_control" 2>/dev/null
	mkdir "$mount/tally-stat" 2>/dev/null || continue
	[ -e "$mount/tally-stat/cgroup.procs" ] && break
	rmdir "$mount/tally-stat"
done
if [ -d "$mount/tally-stat" ]; then
	sh -c 'while :; do :; done' &
	busy=$!
	echo $busy >"$mount/tally-stat/cgroup.procs"
	$tally stat -G tally-stat -x, -e cpu-clock -o "$dir/cgroup" -- sleep 0.5 &&
		count "$dir/cgroup" "^tally-stat,$cpus,[1-9][0-9.]*,msec,cpu-clock," 1
	result $? "a cgroup"
	kill $busy
	wait $busy 2>/dev/null
	rmdir "$mount/tally-stat"
else
	echo "ok $((number + 1)) - a cgroup # SKIP no cgroup2"
fi

exit $((failed > 0))

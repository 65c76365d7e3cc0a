#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# tally top: finds the busiest program and its function. TALLY is the program, by default in PATH.
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

echo "KTAP version 1"
echo "1..7"

sh -c 'while :; do :; done' &
busy=$!
$tally top -e cpu-clock -p $busy -d 0.5 -n 2 -E 5 >"$dir/busy" &&
	[ "$(grep -c '^tally top: [1-9][0-9]* samples, .* 0 lost$' "$dir/busy")" = 2 ] &&
	[ "$(grep -c '^ *[0-9.]*%' "$dir/busy")" -le 10 ] &&
	grep -q '^ *[0-9.]*%  [^ ]*\(sh\|busybox\|libc\)[^ ]* *\[\.\]' "$dir/busy"
result $? "a busy process, two updates"

$tally top -e cpu-clock,faults -d 0.3 -n 1 >"$dir/all" && grep -q '^cpu-clock$' "$dir/all" &&
	grep -q '^faults$' "$dir/all"
result $? "all CPUs, two events"

$tally top -e cpu-clock -p $busy -d 60 >"$dir/signal" &
sleep 1
kill -TERM $!
wait $! && grep -q '^tally top: [1-9]' "$dir/signal"
result $? "a signal ends it after a last update"

# Between two updates it sleeps while no buffer has filled: these have room for seconds.
switches() {
	sed -n 's/^voluntary_ctxt_switches:[^0-9]*//p' "/proc/$1/status"
}
$tally top -e cpu-clock -F 100 -p $busy -d 30 >"$dir/asleep" &
top=$!
sleep 1
before=$(switches $top)
sleep 2
after=$(switches $top)
kill -TERM $top
wait $top
echo "# $((after - before)) times woken in 2 s"
[ "$before" ] && [ "$after" = "$before" ]
result $? "between two updates nothing wakes it"

# A buffer has room for 512 records of 32 bytes; in 2 s there are up to 8000.
$tally top -e cpu-clock -c 250000 -m 4 -p $busy -d 2 -n 1 >"$dir/full" &&
	awk 'NR == 1 { print "#", $0; exit !($3 > 512 && $(NF - 1) == 0) }' "$dir/full"
result $? "a buffer that fills is emptied before it is full"

$tally top -e cpu-clock -p $busy -d 60 >"$dir/ended" &
top=$!
sleep 1
kill $busy
wait $busy 2>/dev/null
started=$(date +%s)
wait $top && grep -q '^tally top: [1-9]' "$dir/ended" && [ $(($(date +%s) - started)) -lt 10 ]
result $? "the end of its process ends it"

$tally top -e no-such-event 2>"$dir/error"
[ $? = 2 ] && grep -q 'no such event' "$dir/error"
result $? "an event that does not exist"

exit $((failed > 0))

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
echo "1..4"

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

kill $busy
wait $busy 2>/dev/null
$tally top -e no-such-event 2>"$dir/error"
[ $? = 2 ] && grep -q 'no such event' "$dir/error"
result $? "an event that does not exist"

exit $((failed > 0))

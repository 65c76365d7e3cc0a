#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The library of tally on this kernel: its own tests of opening, of buffers, and of counters that a
# program reads without a system call. Hosts of tools/tally/tests seldom have counters.
tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/programs/lib.sh"

for test in open ring self; do
	: >$out
	if [ ! -x /usr/lib/tally/$test ]; then
		result 1 "$test is installed"
		continue
	fi
	/usr/lib/tally/$test >/tmp/tally.out 2>&1
	status=$?
	: >/tmp/tally.cases
	# Its cases are cases of this test; notes stand before the case that they are of.
	while IFS= read -r line; do
		case $line in
		"ok "*"# SKIP "*)
			name=${line#ok * - }
			skip "$test: ${name%% # SKIP*}" "${line#*# SKIP }" ;;
		"ok "*) result 0 "$test: ${line#ok * - }" ;;
		"not ok "*) result 1 "$test: ${line#not ok * - }"; : >$out ;;
		"# Totals"*) continue ;;
		"#"*) echo "${line#\# }" >>$out; continue ;;
		*) continue ;;
		esac
		echo "$line" >>/tmp/tally.cases
	done </tmp/tally.out
	[ -s /tmp/tally.cases ] && { [ $status = 0 ] || grep -q '^not ok' /tmp/tally.cases; }
	result $? "$test: ends with its results"
done
finish

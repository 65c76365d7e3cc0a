#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Cgroups as targets: what runs in one is counted and sampled, in children of it as well, and
# nothing else is. TALLY is the program, by default the one in PATH.
. "$(dirname "$0")/lib/ktap.sh"
tally=${TALLY:-tally}

# The mount of cgroup2 in which this test may make a cgroup; empty without one.
find_mount() {
	for mount in /cgroup /sys/fs/cgroup /sys/fs/cgroup/unified; do
		[ -e "$mount/cgroup.subtree_control" ] && mkdir "$mount/$cgroup" 2>/dev/null &&
			return
	done
	mount=
}

# busy PROGRAM: runs a program of this name without end; $! is its process.
busy() {
	cp "$(command -v dash || command -v sh)" "$work/$1"
	"$work/$1" -c 'while :; do :; done' &
	running="$running $!"
}

clean_up() {
	kill $running
	wait $running 2>/dev/null
	# A cgroup is empty some time after its last task has ended.
	for try in 1 2 3 4 5 6 7 8 9 10; do
		rmdir "$mount/$cgroup/child" "$mount/$cgroup-idle" "$mount/$cgroup" 2>/dev/null
		[ -e "$mount/$cgroup" ] || break
		sleep 0.1
	done
	rm -rf "$work"
}

counts_inside() {
	$tally stat -G "$cgroup,$cgroup-idle" -x, -e cpu-clock -o "$work/stat" -- sleep 0.5
	cat "$work/stat"
	grep -q "^$cgroup,[0-9]*,[1-9][0-9]*[.0-9]*,msec,cpu-clock," "$work/stat" &&
		grep -q "^$cgroup-idle,[0-9]*,\(0.00\|<not counted>\),msec,cpu-clock,0," "$work/stat"
}

# samples_only CGROUP PROGRAM: the samples of a cgroup are all of one program, or there are none.
samples_only() {
	$tally record -q -G "$1" -e cpu-clock -o "$work/data" -- sleep 0.5 || return 1
	$tally check "$work/data"
	found=$($tally script "$work/data" | awk '{ print $1 }' | sort -u | xargs)
	echo "samples of: $found"
	[ "$found" = "$2" ]
}

refuses() {
	$tally stat -G "$cgroup-none" -e cs true 2>"$work/errors"
	[ $? = 1 ] && grep -q "$cgroup-none: no such cgroup" "$work/errors" &&
		! $tally record -q -G "$cgroup" -p $$ -o "$work/none" 2>"$work/errors" &&
		grep -q 'tasks exclude all CPUs and cgroups' "$work/errors"
}

start
cgroup=tally-$$
find_mount
if [ ! "$mount" ]; then
	skip "cgroups as targets" "no cgroup2 to make a cgroup in"
	finish
fi
trap clean_up EXIT
mkdir "$mount/$cgroup-idle" "$mount/$cgroup/child"
busy outside
busy within
within=$!
echo $within >"$mount/$cgroup/cgroup.procs"
result "what runs in a cgroup is counted for it, not for another" counts_inside
result "what runs in it is sampled, and nothing else" samples_only "$cgroup" within
result "an absolute path is the same cgroup" samples_only "$mount/$cgroup" within
echo $within >"$mount/$cgroup/child/cgroup.procs"
result "what runs in a child of it is sampled" samples_only "$cgroup" within
result "no sample for a cgroup without tasks" samples_only "$cgroup-idle" ""
result "what is no cgroup is refused, and tasks beside a cgroup" refuses
finish

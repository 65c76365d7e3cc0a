#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# perf and tally read each other's files: the content of what they print is compared.
. "$(dirname "$0")/lib/ktap.sh"
. "$(dirname "$0")/lib/compare.sh"

workload() {
	"$@" sh -c 'for i in 1 2 3 4; do ls -lR /usr/share/doc >/dev/null; done'
}

start
export HOME="$work"
if ! workload perf record -q -e cpu-clock -o "$work/file" 2>"$work/errors"; then
	note <"$work/errors"
	skip "perf and tally read each other's files" "perf cannot record here"
	finish
fi
workload perf record -q -e cpu-clock -g -o "$work/chains" 2>/dev/null
workload perf record -q -e '{cpu-clock,task-clock},page-faults' -o "$work/events" 2>/dev/null
workload perf record -q -e cpu-clock,page-faults -o - >"$work/pipe" 2>/dev/null
workload perf record -q -e cpu-clock -a -z -o "$work/zstd" 2>/dev/null
workload perf record -q -e cpu-clock -a --threads -o "$work/dir" 2>/dev/null

for form in file chains events pipe zstd dir; do
	[ -e "$work/$form" ] || continue
	result "tally verifies what perf wrote: $form" checked "$work/$form"
	result "the samples of perf script: $form" same_samples "$work/$form"
done
for form in file chains events; do
	result "the table of perf report: $form" same_table "$work/$form"
done

if perf record -q -e sched:sched_process_exec,syscalls:sys_enter_openat -o "$work/trace" \
		ls >/dev/null 2>&1; then
	perf record -q -e syscalls:sys_enter_openat -o - ls 2>/dev/null >"$work/trace-pipe"
	result "the fields of tracepoints: file" same_fields "$work/trace"
	result "tally verifies what perf wrote: trace-pipe" checked "$work/trace-pipe"
else
	skip "the fields of tracepoints" "perf cannot record them here"
fi

# A recording of the same workload.
tally_records() {
	form=$1
	set -- "$TALLY" record -q -g -e cpu-clock,page-faults
	case $form in
	file) workload "$@" -o "$work/tally-file" ;;
	zstd) workload "$@" -z -o "$work/tally-zstd" ;;
	dir) workload "$@" --dir --threads 2 -o "$work/tally-dir" ;;
	pipe) workload "$@" -o - >"$work/tally-pipe" ;;
	esac
}

# The names of its events, with their frequency. perf adds modifiers to the names in a pipe.
perf_lists() {
	perf evlist -v -i "$1" 2>/dev/null | sed -n 's/^\([a-z-]*\):\([HG]*:\)* .*sample_freq.*: 4000,.*/\1/p' |
		xargs >"$work/names"
	echo "cpu-clock page-faults" | diff - "$work/names"
}

# What perf describes in a file of its own and in this one.
perf_describes() {
	machine_lines "$work/file" >"$work/a"
	machine_lines "$1" >"$work/b"
	[ "$(wc -l <"$work/a")" -ge 10 ] && diff "$work/a" "$work/b"
}

# The build ids that perf finds are those of the objects.
perf_finds_build_ids() {
	perf buildid-list -i "$1" 2>/dev/null >"$work/ids"
	grep -q '^[0-9a-f]\{40\} /.*/ls$' "$work/ids" && grep -q '/libc[.-]' "$work/ids" &&
		while read -r id path; do
			[ ! -f "$path" ] || readelf -n "$path" | grep -q "Build ID: $id" || {
				echo "$path: $id"
				return 1
			}
		done <"$work/ids"
}

for form in file zstd dir pipe; do
	tally_records $form 2>&1 | note
	result "tally verifies what it recorded: $form" checked "$work/tally-$form"
	result "the samples of what tally recorded: $form" same_samples "$work/tally-$form"
	result "the table of what tally recorded: $form" same_table "$work/tally-$form" \
		"$([ $form = pipe ] || echo --no-group)"
	result "perf evlist -v of what tally recorded: $form" perf_lists "$work/tally-$form"
	# A pipe has no section of build ids.
	[ $form = pipe ] || result "perf buildid-list of what tally recorded: $form" \
		perf_finds_build_ids "$work/tally-$form"
	result "perf report --header-only of what tally recorded: $form" \
		perf_describes "$work/tally-$form"
done

for form in file zstd dir swapped; do
	from="$work/events"
	[ $form = swapped ] && "$O/tests/convert" file "$from" "$work/plain" && from="$work/plain"
	"$O/tests/convert" $form "$from" "$work/to-$form" 2>&1 | note
	result "tally verifies what it wrote: $form" checked "$work/to-$form"
	result "perf reads what tally wrote: $form" perf_reads "$work/events" "$work/to-$form"
	result "perf reads the header that tally wrote: $form" \
		perf_reads_header "$work/events" "$work/to-$form"
	result "perf reads the build ids that tally wrote: $form" \
		perf_reads_build_ids "$work/events" "$work/to-$form"
done
for form in pipe pipe-zstd; do
	"$O/tests/convert" $form "$work/events" "$work/to-$form" 2>&1 | note
	result "tally verifies what it wrote: $form" checked "$work/to-$form"
	result "perf reads what tally wrote: $form" perf_reads "$work/events" "$work/to-$form"
done
finish

# SPDX-License-Identifier: GPL-2.0
# What perf and tally print of a file, in a form that can be compared. To be read by tests on the host
# and in the guest, with the directory $work for files and the program $TALLY. A difference is printed.

# The lines of a table: percentage, thread, file and kind; names differ in versions of symbols. Left out
# are entries of a PLT and functions of the vDSO, which perf has names for: tally counts their addresses.
perf_table() {
	perf report --stdio --no-children $2 -g none -i "$1" 2>/dev/null | table
}

tally_table() {
	"$TALLY" report -i "$1" 2>/dev/null | table
}

table() {
	sed -n '/\[.\] 0x/d; /@plt/d; /\[.\] \.plt/d; / \[vdso\] /d
		s/^ *\([0-9.]*%\)  *\([^ ]*\)  *\([^ ]*\)  *\(\[.\]\).*/\1 \2 \3 \4/p' | sort
}

# The second argument is the option of perf, --no-group if there is none. perf 6.1 crashes at times if a
# pipe is read with it: before the events are read, it writes to the first one.
same_table() {
	perf_table "$1" "${2---no-group}" >"$work/perf.table"
	tally_table "$1" >"$work/tally.table"
	[ -s "$work/perf.table" ] && diff "$work/perf.table" "$work/tally.table"
}

# Of each sample: pid/tid, time, period, event. The thread of a task that exits is -1.
perf_samples() {
	perf script -i "$1" -F pid,tid,time,period,event -G --ns 2>/dev/null |
		awk '{ sub(":$", "", $2); sub(":.*", "", $4); print $1, $2, $3, $4 }'
}

tally_samples() {
	"$TALLY" script -i "$1" 2>/dev/null |
		awk '/^ *[^ \t].* -?[0-9]+\/-?[0-9]+ / {
			for (i = 1; i <= NF; i++) if ($i ~ /^-?[0-9]+\/-?[0-9]+$/) break
			j = i + 1; if ($j ~ /^\[/) j++
			sub(":$", "", $j); event = $(j + 2); sub(":.*", "", event)
			print $i, $j, $(j + 1), event }'
}

same_samples() {
	perf_samples "$1" | sort >"$work/perf.samples"
	tally_samples "$1" | sort >"$work/tally.samples"
	[ -s "$work/perf.samples" ] && diff "$work/perf.samples" "$work/tally.samples"
}

checked() {
	"$TALLY" check --max 10 "$1"
}

# perf reads the file in the second argument as it reads the first.
perf_reads() {
	for args in "report --stdio --no-children -g none" "script -G" "evlist" "evlist -v"; do
		perf $args -i "$1" 2>/dev/null >"$work/expected"
		perf $args -i "$2" 2>"$work/errors" >"$work/seen"
		[ -s "$work/expected" ] || { echo "perf $args: nothing"; return 1; }
		grep -Ev 'Total Lost Samples|\(Tip:|^# Tip:' "$work/expected" | sed 's/size: [0-9]*, //' >"$work/a"
		grep -Ev 'Total Lost Samples|\(Tip:|^# Tip:' "$work/seen" | sed 's/size: [0-9]*, //' >"$work/b"
		diff "$work/a" "$work/b" || { echo "perf $args"; cat "$work/errors"; return 1; }
	done
}

form_lines='captured on|header version|data offset|data size|feat offset|missing features'
form_lines="$form_lines|event : name|perf version|compressed|contains samples with compressed"
form_lines="$form_lines|directory data version"

# The lines of the header that do not depend on the form of the file.
header_lines() {
	perf report --header-only -I -i "$1" 2>"$work/errors" |
		grep -Ev "^# ($form_lines)"
}

perf_reads_header() {
	header_lines "$1" >"$work/a"
	header_lines "$2" >"$work/b"
	[ -s "$work/a" ] && diff "$work/a" "$work/b" || { cat "$work/errors"; return 1; }
}

# What the header has of the machine, a PMU a line. perf 6.12 adds "cpu" where there is none.
machine_lines() {
	perf report --header-only -i "$1" 2>/dev/null |
		grep -E '^# (hostname|os release|arch|nrcpus|cpudesc|cpuid|total mem|pmu map)' |
		awk '/^# pmu mappings: / {
				n = split(substr($0, 17), pmu, ", ")
				for (i = 1; i <= n; i++) print "# pmu " pmu[i]
				next
			}
			{ print }' | sort |
		if [ -e /sys/bus/event_source/devices/cpu ]; then cat; else grep -v '^# pmu cpu = 4$'; fi
}

perf_reads_build_ids() {
	perf buildid-list -i "$1" 2>/dev/null | sort >"$work/a"
	perf buildid-list -i "$2" 2>/dev/null | sort >"$work/b"
	[ -s "$work/a" ] && diff "$work/a" "$work/b"
}

# The fields of tracepoints, without the address that follows them.
perf_fields() {
	perf script -F trace -i "$1" 2>/dev/null | sed 's/^ *//; s/ *$//'
}

tally_fields() {
	"$TALLY" script "$1" 2>"$work/errors" |
		sed -n 's/^.* [0-9]* [a-z]*:[a-z_]*: \(.*\)$/\1/p' |
		sed 's/ *[0-9a-f]* \[unknown\] (.*//; s/ *[0-9a-f]* [^ ]*+[0-9a-fx]* (.*//'
}

same_fields() {
	perf_fields "$1" >"$work/perf.fields"
	tally_fields "$1" >"$work/tally.fields"
	[ -s "$work/perf.fields" ] && diff "$work/perf.fields" "$work/tally.fields"
}

# The call chains up to main(), one a line, innermost first. There are no addresses: perf prints the
# offsets in the files.
one_a_line() {
	awk 'NF && !/^ *[^ \t].*:$/ { sub(/^[ \t]*[0-9a-f]+ /, ""); line = line " | " $0 }
		!NF { if (line) print line; line = "" }
		END { if (line) print line }' | sed 's/ | __libc_start_call_main.*//' | sort
}

perf_chains() {
	perf script --no-inline -i "$1" -F ip,sym,symoff,dso 2>/dev/null | one_a_line
}

tally_chains() {
	"$TALLY" script "$1" 2>"$work/errors" | grep -v '^ *[^ \t].*: *$' | one_a_line
}

same_chains() {
	perf_chains "$1" >"$work/perf.chains"
	tally_chains "$1" >"$work/tally.chains"
	[ -s "$work/perf.chains" ] && diff "$work/perf.chains" "$work/tally.chains"
}

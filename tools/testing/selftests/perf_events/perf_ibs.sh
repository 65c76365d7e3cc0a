#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# perf record, perf mem and perf c2c of Debian with AMD's instruction based sampling, on a program
# with known loads and stores, memory.S: the instruction, the address, the kind, the source, the
# snoop, the TLB, the lock and the latency of each sample. Those are the emulator's rules for an
# address, see tools/testing/qemu/README.md.
tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/programs/lib.sh"
# As many samples as there are: one for each 4112 instructions, which take a nanosecond each.
cd /proc/sys/kernel || exit 1
echo 25 >perf_cpu_time_max_percent
echo 10000000 >perf_event_max_sample_rate
echo 0 >perf_cpu_time_max_percent

program=$tests/programs/memory-amd
# A multiple of 16 that is longer than the kernel's part of a sample, on a debug kernel, too.
period=4112
runs=24
least=4
stores=1
# The part of a debug kernel differs from sample to sample: some instructions have few samples.
grep -q ' kasan_report$' /proc/kallsyms && period=65552 runs=96 least=1 stores=0
# Before Zen 4 another core's cache is one of another node, and a sample does not show whether the line was
# modified there.
hitm=N/A remote="Remote node, same socket Any cache hit"
[ ! -e /sys/bus/event_source/devices/ibs_op/caps/zen4_ibs_extensions ] ||
	hitm=HitM remote="Remote core, same node Any cache hit"
mkdir -p /tmp/ibs
cd /tmp/ibs || exit 1

# Each run begins after another number of instructions.
cat >runs <<END
#!/bin/sh
for i in \$(seq $runs); do
	(
		n=\$i
		while [ \$n -gt 0 ]; do n=\$((n - 1)); done
		exec $program
	)
done
END
chmod +x runs

# The known instructions: address, kind, level, snoop, TLB, lock, latency. A level that is no load's
# beyond L2 is not available, and those without data have nothing.
known() {
	cat <<-END
	load+0x0 501608 LOAD Remote $hitm L1 N/A 128
	load+0x8 500cc0 LOAD L2 N/A L1 N/A 32
	load+0x10 501100 LOAD L3 N/A L1 N/A 64
	load+0x18 501a80 LOAD Local N/A L1 N/A 256
	load+0x20 502c80 LOAD L2 N/A L2 N/A 32
	load+0x28 500880 LOAD L2 N/A L1 N/A 16
	load+0x30 0 N/A N/A N/A N/A N/A 0
	load+0x31 0 N/A N/A N/A N/A N/A 0
	load+0x34 0 N/A N/A N/A N/A N/A 0
	store+0x0 501600 STORE N/A N/A L1 N/A 0
	store+0xc 500cc0 STORE L2 N/A L1 N/A 0
	store+0x18 501c40 STORE L1 N/A L1 N/A 0
	store+0x24 501c48 LOAD L1 N/A L1 Yes 0
	store+0x2c 0 N/A N/A N/A N/A N/A 0
	store+0x2d 0 N/A N/A N/A N/A N/A 0
	store+0x30 0 N/A N/A N/A N/A N/A 0
	END
}

# Records the runs twice, and collects the samples. From a sample in a loop to the next one there are
# always so many instructions, a period and a part of the handler: if that number and the length of
# the loop, 9 or 7, have a divisor, some instructions have no sample. With 16 more they have none.
record_runs() {	# WORD...: perf's, and "--" if its options end before -c
	: >all
	for c in $period $((period + 16)); do
		rm -f perf.data
		timeout 60 perf "$@" -c $c ./runs >$out 2>&1 && accesses || return
		cat $list >>all
	done
	cp $list last
	cp all $list
}

# The samples of the loops in perf.data, one a line as above, into $list. The tool writes "ADDRESS CODE
# |OP LOAD|LVL L3 or L3 hit|SNP N/A|TLB L1 hit|LCK No|BLK  N/A 128 IP SYMBOL".
accesses() {
	perf script -F addr,data_src,weight,ip,sym,symoff 2>>$out >samples
	awk -F'|' '
		/ load\+0x([12]?[0-9a-f]|3[0-4])$/ || / store\+0x([12]?[0-9a-f]|30)$/ {
			split($1, at, " ")
			split($2, op, " "); split($3, level, " "); split($4, snoop, " ")
			split($5, tlb, " "); split($6, lock, " ")
			n = split($0, words, " ")
			print words[n], at[1], op[2], level[2], snoop[2], tlb[2], lock[2],
				words[n - 2]
		}' samples >$list
}

# Each known instruction has samples, and there are no others.
are_known() {
	is "other samples" "$(grep -v -x -F -f known $list | sort | uniq -c | sort -nr | head -n 8)" "" || return
	while read -r access; do
		within "samples of $access" "$(grep -c -x -F -e "$access" $list)" $least 100000 || return
	done <known
}

known >known
record_runs record -q -e ibs_op// -d -W && are_known
result $? "perf record of ibs_op with addresses and latencies"

record_runs record -q -e ibs_op/cnt_ctl=1/ -d -W && are_known
result $? "perf record of ops"

record_runs record -q -e cycles:pp -d -W && are_known &&
	is "the event's PMU" "$(perf evlist 2>/dev/null)" cycles:pp
result $? "perf record of precise cycles"

record_runs mem record && are_known
result $? "perf mem record"

# A row of the report, which is of the last perf.data: so many samples of the loops have the address.
perf mem report --stdio -s symbol_daddr,mem,tlb,locked >report 2>>$out
row() {		# DATA ADDRESS LEVEL TLB LOCKED [KIND]
	have=$(awk -v data="] $1 " -v level=" $3 " -v tlb=" $4 " -v locked=" $5 " '
		index($0, data) && index($0, level) && index($0, tlb) && index($0, locked) { n += $2 }
		END { print n + 0 }' report)
	want=$(grep -c "^[^ ]* $2 ${6-[A-Z]*} " last)
	both=$(grep -c "^[^ ]* $2 ${6-[A-Z]*} " $list)
	is "samples of $1 in the report" "$have" "$want" && within "samples of $1" "$both" 4 100000 || {
		cat report >>$out
		return 1
	}
}
row ram+0x0 501a80 "Local RAM or RAM hit" "L1 hit" N/A && row l3+0x0 501100 "L3 or L3 hit" "L1 hit" N/A &&
	row fill+0x0 502c80 "L2 or L2 hit" "L2 hit" N/A && row quick+0x0 500880 "L2 or L2 hit" "L1 hit" N/A &&
	row l2+0x0 500cc0 "L2 or L2 hit" "L1 hit" N/A && row l1+0x0 501c40 "L1 or L1 hit" "L1 hit" N/A &&
	row l1+0x8 501c48 "L1 or L1 hit" "L1 hit" Yes && row shared+0x8 501608 "$remote" "L1 hit" N/A &&
	row shared+0x0 501600 "N/A" "L1 hit" N/A
result $? "perf mem report"

nodes
modified() {
	grep -c '^load+0x0 501608 ' last
}

# The reports are of one of the two recordings, one that has the line.
record_runs c2c record -- && are_known && { [ "$(modified)" -ge 2 ] || {
	perf c2c record -- -c $period ./runs >$out 2>&1 && accesses && cp $list last
}; }
result $? "perf c2c record"

# A count of the statistics, of all samples, those of other code included.
count_is() {	# NAME PATTERN
	is "$1" "$(sed -n "s|^ *$1 *: *\\([0-9]*\\)\$|\\1|p" stats)" "$(grep -c -e "$2" samples)"
}
perf c2c report --no-source --stats --stdio >stats 2>>$out && cat stats >>$out &&
	count_is "Load Operations" "|OP LOAD|" && count_is "Store Operations" "|OP STORE|" &&
	count_is "Load L1D hit" "|OP LOAD|LVL L1 " && count_is "Load L2D hit" "|OP LOAD|LVL L2 " &&
	count_is "Load Remote HITM" "|OP LOAD|.*|SNP HitM|"
result $? "perf c2c report, the counts"

# The line, with a row for each run that has found it modified: the sum of a field of the rows.
sum_of() {	# FIELD
	awk -v field=$1 '$2 == "0x501600" && NF > 20 { sum += $field } END { print sum + 0 }' report
}

# Of the words of the lines, how many have this offset, code and symbol; with more words between.
words_of() {	# OFFSET CODE [LATENCY] SYMBOL
	grep -c " $1  *N/A  *0  *$2  *$3 .*\[\.\] $4 " report
}

# All HITMs are remote ones, of the second word, which is loaded; the first one is stored to.
perf c2c report --no-source --stdio --full-symbols >report 2>>$out && cat report >>$out
lines=$(grep -c '^ *[0-9]*  *0x501600  *N/A' report)
found=$(modified)
within loads "$found" 2 100000 && if [ $hitm = N/A ]; then
	is lines "$lines" 0
else
	within lines "$lines" 1 100 &&
		is "all HITMs" "$(sum_of 6)" "$found" && is "local HITMs" "$(sum_of 7)" 0 &&
		is "remote HITMs" "$(sum_of 8)" "$found" && is loads "$(sum_of 10)" "$found" &&
		is records "$(sum_of 9)" $((found + $(sum_of 11))) &&
		within stores "$(sum_of 11)" $stores "$(grep -c '^store+0x0 501600 ' last)" &&
		is "words that are loaded" "$(words_of 0x8 0x4010c6 128 load)" "$lines" &&
		within "words that are stored to" "$(words_of 0x0 0x401030 0 store)" $stores "$lines"
fi
result $? "perf c2c report, the line"

finish

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# perf mem and perf c2c of Debian on a program with known loads and stores, memory.S: the
# instruction, the address, the kind, the source, the TLB, the lock and the latency of each sample.
tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/programs/lib.sh"
# As many samples as there are: one for each 300 instructions, which take a nanosecond each.
cd /proc/sys/kernel || exit 1
echo 25 >perf_cpu_time_max_percent
echo 10000000 >perf_event_max_sample_rate
echo 0 >perf_cpu_time_max_percent
echo 1000 >/sys/bus/event_source/devices/cpu/perf_event_mux_interval_ms

program=$tests/programs/memory
period=131
each=152	# samples of each instruction: 20000 / 131
halved=1 stores=4 collide=0
model=$(sed -n 's/^model[[:space:]]*: //p' /proc/cpuinfo | head -n 1)
case $model in
# Sapphire Rapids has two latencies: that of the caches is half of the other. And there mem-loads-aux,
# in the group of loads, and stores need counter 0: they take turns, from task to task.
143) halved=2 stores=0 ;;
# On Sandy Bridge loads and stores need counter 3.
42) stores=0 ;;
# Records of Haswell do not name their counter. If an instruction ends the periods of both events, both
# have its one record.
60) collide=3 ;;
esac
# The handler of a debug kernel is longer than a period: both end in it more often.
if grep -q kasan_report /proc/kallsyms; then collide=$((collide ? 60 : 3)); fi
mkdir -p /tmp/mem
cd /tmp/mem || exit 1

# The known accesses: instruction, address, kind, level, snoop, TLB, lock, latency. A store of the
# parts that record only whether it hit L1 has the rest of it missing, but on Sandy Bridge, which
# records misses of the second TLB and locks.
known_loads() {
	cat <<-END
	load+0x0 5015c8 LOAD L3 HitM L1 No $((128 / halved))
	load+0x8 500cc0 LOAD L2 None L1 No $((32 / halved))
	load+0x10 501100 LOAD L3 None L1 No $((64 / halved))
	load+0x18 501a80 LOAD Local Hit L1 No $((256 / halved))
	load+0x20 502c80 LOAD LFB/MAB None L2 No $((32 / halved))
	store+0x24 501c48 LOAD L1 None L1 Yes $((512 / halved))
	END
}

known_stores() {
	if [ $halved = 2 ]; then
		cat <<-END
		store+0x0 5015c0 STORE L3 HitM L1 No
		store+0xc 500cc0 STORE L2 None L1 No
		store+0x18 501c40 STORE L1 None L1 No
		store+0x24 501c48 STORE L1 None L1 Yes
		END
	elif [ "$model" = 42 ]; then
		cat <<-END
		store+0x0 5015c0 STORE L1-miss N/A L2 No
		store+0xc 500cc0 STORE L1-miss N/A L2 No
		store+0x18 501c40 STORE L1 N/A L2 No
		store+0x24 501c48 STORE L1 N/A L2 Yes
		END
	else
		cat <<-END
		store+0x0 5015c0 STORE L1-miss N/A N/A N/A
		store+0xc 500cc0 STORE L1-miss N/A N/A N/A
		store+0x18 501c40 STORE L1 N/A N/A N/A
		store+0x24 501c48 STORE L1 N/A N/A N/A
		END
	fi
}

# The samples in perf.data, one a line as above, into $list; there is no latency of stores alone. The
# tool writes "TID ADDRESS CODE |OP LOAD|LVL L3 or L3 hit|SNP HitM|TLB L1 or L2 hit|LCK No|BLK  N/A 128 IP SYMBOL".
accesses() {	# [KIND]
	weight=weight,
	[ "$1" != store ] || weight=
	perf script -F tid,addr,data_src,${weight}ip,sym,symoff 2>>$out | awk -F'|' '
		/OP/ {
			split($1, at, " ")
			split($2, op, " "); split($3, level, " "); split($4, snoop, " ")
			split($5, tlb, " "); split($6, lock, " ")
			n = split($0, words, " ")
			if ($3 ~ /miss/)
				level[2] = level[2] "-miss"
			print words[n], at[2], op[2], level[2], snoop[2], tlb[2], lock[2],
				op[2] == "LOAD" ? words[n - 2] : ""
		}' | sed 's/ $//' >$list
}

# A load that has the record of a store; the instruction is both.
collision="store+0x24 501c48 LOAD L1 None L1 No 0"

no_others() {	# KNOWN
	grep -v -x -F -f "$1" $list >others
	within collisions "$(grep -c -x -F "$collision" others)" 0 $collide &&
		is "other samples" "$(grep -v -x -F "$collision" others | sort | uniq -c | sort -nr |
			head -n 8)" ""
}

# All samples are known ones, and each access is there as often as it is executed.
are_known() {	# KNOWN
	no_others "$1" || return
	while read -r access; do
		within "samples of $access" "$(grep -c -x -F -e "$access" $list)" $((each - 3)) $((each + 3)) ||
			return
	done <"$1"
}

memory() {	# OPTION... of perf mem, "record" and its options
	rm -f perf.data
	timeout 90 perf mem "$@" $program >$out 2>&1 && accesses "$2"
}

known_loads >loads
known_stores >stores
sort loads stores >all
if [ $stores = 0 ]; then cp loads both; else cp all both; fi

memory -t load record --all-user -c $period && are_known loads
result $? "perf mem record of loads"

# perf mem report weighs a sample by its latency; of 1024 cycles a round l1 has 512.
perf mem -t load report --stdio -s symbol_daddr,mem,snoop,tlb,locked 2>/dev/null >report
row() {		# DATA SHARE WORDS: the share within 1 %, the words in the row
	awk -v data="$1" -v want="$2" -v words="$3" '
		$0 ~ "\\[\\.\\] " data "[ +]" && $0 ~ words {
			sub("%", "", $1)
			share += $1
		}
		END { exit !(share > want - 1 && share < want + 1) }' report || {
		echo "report of $1: not $2 % with $3" >>$out
		cat report >>$out
		return 1
	}
}
row shared 12.5 "L3.*HitM.*L1.*No" && row l2 3.1 "L2.*None.*L1.*No" && row l3 6.3 "L3.*None.*L1.*No" &&
	row ram 25 "RAM.*Hit.*L1.*No" && row l1 50 "L1.*None.*L1.*Yes" &&
	row fill 3.1 "LFB.*None.*L2 miss.*No"
result $? "perf mem report of loads"

memory -t store record --all-user -c $period && are_known stores
result $? "perf mem record of stores"

if [ $stores = 0 ]; then
	memory record --all-user -c $period && no_others all &&
		within samples "$(wc -l <$list)" $((each / 2)) 100000
else
	memory record --all-user -c $period && are_known both
fi
result $? "perf mem record of both"

awk -v least=$((100 / halved)) '$NF > least' loads >slow
memory -t load record --ldlat 100 --all-user -c $period && are_known slow
result $? "perf mem record of loads above a latency"

# At the frequency that is perf's own: fewer samples, all known ones.
memory record --all-user && no_others all && within samples "$(wc -l <$list)" 5 100000
result $? "perf mem record as it is"

nodes
shared=$((stores ? 2 : 1))	# accesses to the shared line in a round
kinds=
[ $stores != 0 ] || kinds="-e ldlat-loads"
shared_line() {	# OPTION... of perf c2c record
	rm -f perf.data
	timeout 90 perf c2c record $kinds "$@" $program >$out 2>&1 && accesses
}

# Without the lines of the source, for which it runs a tool of the compiler.
c2c_report() {
	perf c2c report --no-source --stats --stdio >stats 2>>$out &&
		perf c2c report --no-source --stdio --full-symbols >report 2>>$out
}

# A count of the statistics: so many times the samples of an instruction.
count_is() {	# NAME TIMES
	within "$1" "$(sed -n "s|^ *$1 *: *\\([0-9]*\\)\$|\\1|p" stats)" $((each * $2 - 5)) $((each * $2 + 5))
}

# Fields of the row of the report that begins with these: a space separates fields.
row_of() {	# FIRST FIELD...
	tr -s ' ' <report | sed -n "s/^ $1 //p" | head -n 1 | cut -d' ' -f"$2"
}

# The loops that have samples, with the number of their threads; 1 if these differ.
loops() {
	perf script -F tid,ip,sym 2>/dev/null | awk 'NF { print $3, $1 }' | sort -u | awk '
		{ n[$1]++; tid[$1] = $2 }
		END { print n["load"], n["store"], tid["load"] != tid["store"] }'
}

shared_line --all-user -- -c $period && are_known both && is "threads" "$(loops)" "1 1 1"
result $? "perf c2c record"

c2c_report && cat stats >>$out && count_is "Load Operations" 6 && count_is "Load Local HITM" 1 &&
	count_is "Load Fill Buffer Hit" 1 && count_is "Load L1D hit" 1 && count_is "Load L2D hit" 1 &&
	count_is "Load LLC hit" 2 && count_is "Load Local DRAM" 1 && count_is "Store Operations" $stores &&
	count_is "Total Merged records" $shared && is "lines" "$(grep -c 'Total Shared Cache Lines *: *1$' stats)" 1
result $? "perf c2c report, the counts"

# The line: its address; all HITMs, local ones; its records, loads and stores. Then its words: offset
# and code, the share of the HITMs, the symbol.
cat report >>$out
is address "$(row_of 0 1)" 0x5015c0 && is "share" "$(row_of 0 4)" 100.00% &&
	within "local HITMs" "$(row_of 0 6)" $((each - 3)) $((each + 3)) &&
	within records "$(row_of 0 8)" $((each * shared - 5)) $((each * shared + 5)) &&
	within loads "$(row_of 0 9)" $((each - 3)) $((each + 3)) &&
	within stores "$(row_of 0 10)" $((each * (shared - 1) - 3)) $((each * (shared - 1) + 3)) &&
	is "the word that is stored to" "$(grep -c ' 0x0 .* 0x401030 .*\[\.\] store ' report)" $((shared - 1)) &&
	is "the word that is loaded" \
		"$(grep -c "100\\.00%.* 0x8 .* 0x4010c6  *0  *$((128 / halved)) .*\\[\\.\\] load " report)" 1
result $? "perf c2c report, the line"

# At the frequency that is perf's own: the samples are known ones.
shared_line --all-user && no_others all && within samples "$(wc -l <$list)" 5 100000
result $? "perf c2c record as it is"

finish

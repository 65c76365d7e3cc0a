#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# perf of Debian with branch records of a program with known branches, branches.S: what record,
# script and report show is compared with the labels of that program.
tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/programs/lib.sh"
unlimited

program=$tests/programs/branches
pairs=/tmp/pairs	# one entry a line: from/to
stacks=/tmp/stacks
depth=$(cat /sys/bus/event_source/devices/cpu/caps/branches)

# The program's branches of a kind, as label+offset. "call" has the address of "loop", "leaf_1" that of
# "level".
branches_of() {
	for kind in "$@"; do
		case $kind in
		cond)	  echo skip/even back/call sys_back/syscalls last/leaf_2 deep_back/deep ;;
		jmp)	  echo jump/ind_call ;;
		ind_jmp)  echo ind_jump/after ;;
		call)	  echo call/f deep_call/leaf_1 leaf_1/leaf inner/leaf_1 leaf_2/leaf ;;
		ind_call) echo ind_call/ind_f ;;
		ret)	  echo f/jump ind_f/ind_jump leaf/leaf_1+0x5 leaf/level_ret \
				level_ret/leaf_2 level_ret/deep_call+0x5 ;;
		esac
	done
}

# What perf record took: $pairs, without "+0x0", and the number of samples in $samples.
branches() {	# OPTION...
	rm -f $data
	timeout 60 perf record -q -o $data -e instructions:u -c 997 "$@" $program >$out 2>&1 || return
	perf script -i $data -F brstacksym 2>>$out | grep / >$stacks
	samples=$(wc -l <$stacks)
	tr -s ' ' '\n' <$stacks | sed -n 's/+0x0\>//g; s|^\([^/]*/[^/]*\)/.*|\1|p' >$pairs
}

of_pair() {	# FROM/TO: how many entries have it
	grep -c -x -F -e "$1" $pairs
}

# Each entry is one of the kinds; each branch of the loop, $1, is there as often as it is executed.
pairs_are() {	# LOOP KIND...
	loop=$1
	shift
	branches_of "$@" | tr ' ' '\n' >/tmp/known
	is "other branches" "$(grep -v -x -F -f /tmp/known $pairs | sort | uniq -c | head -n 5)" "" || return
	within "entries of $samples samples" "$(wc -l <$pairs)" $((samples * depth / 3)) $((samples * depth)) || return
	most=$(of_pair "${loop%% *}")
	for pair in $loop; do
		within "entries of $pair beside $most" "$(of_pair "$pair")" $((most * 8 / 10)) $((most * 12 / 10)) ||
			return
	done
}

filter() {	# NAME LOOP KIND...
	name=$1
	shift
	branches -j "$name,u" && within samples "$samples" 100 150 && pairs_are "$@"
	result $? "-j $name,u"
}

all="call/f f/jump jump/ind_call ind_call/ind_f ind_f/ind_jump ind_jump/after back/call"
branches -b && within samples "$samples" 130 150 && pairs_are "$all" cond jmp ind_jmp call ind_call ret &&
	within "entries of skip/even, in even rounds" "$(of_pair skip/even)" \
		$(($(of_pair back/call) * 4 / 10)) $(($(of_pair back/call) * 6 / 10))
result $? "-b"

# The same entries by their addresses, with what was predicted: "skip" never is, a direct call always. The
# program is static, so its text begins at 0x401000.
perf script -i $data -F brstack 2>/dev/null | tr -s ' ' '\n' >$list
by_address() {	# PAIR ADDRESSES
	is "entries of $1 by address" "$(grep -c -F -e "$2" $list)" "$(of_pair "$1")"
}
by_address call/f 0x401010/0x401059/P/ && by_address f/jump 0x401059/0x401015/P/ &&
	by_address ind_call/ind_f 0x401018/0x40105a/ && by_address ind_jump/after 0x40101a/0x40101d/ &&
	by_address skip/even 0x401021/0x401024/M/ && by_address back/call 0x401027/0x401010/
result $? "script -F brstack"

# A share is that of the entries.
perf report --stdio -i $data 2>/dev/null | grep '\[' >$out
shares_of_pairs() {
	for pair in $all; do
		part=$(($(of_pair "$pair") * 1000 / $(wc -l <$pairs)))
		within "share of $pair, per thousand" "$(awk -v from="${pair%/*}" -v to="${pair#*/}" '
			$5 == from && $7 == to { sub("%", "", $1); n += $1 * 10 }
			END { print int(n) }' $out)" $((part - 2)) $((part + 2)) || return
	done
}
shares_of_pairs
result $? "report by source and target"

# annotate: of the times that the code with an instruction was executed, the share in which it branches,
# and the share of those that were predicted; "skip" branches in every other round, which is predicted
# never, "back" always. "after" is the target of a branch each time.
annotated() {	# SYMBOL MARK: the numbers behind MARK at the symbol's first instruction, per thousand
	perf annotate --stdio -i $data -s "$1" 2>/dev/null >$out
	awk -v mark="$2" '/^ +[0-9.]+ :/ {
		for (i = 1; i <= NF; i++)
			if ($i ~ "^[" mark "][0-9.]+%$") {
				sub("%", "", $i); sub("[(]p:", "", $(i + 1)); sub("%[)]", "", $(i + 1))
				print int(substr($i, 2) * 10), int($(i + 1) * 10)
			}
		exit }' $out
}
set -- $(annotated skip -) && within "skip, taken" "${1:-}" 400 600 && is "skip, predicted" "${2:-}" 0 &&
	set -- $(annotated back -) && within "back, taken" "${1:-}" 990 1000 &&
	within "back, predicted" "${2:-}" 990 1000 &&
	set -- $(annotated after +) && within "after, entered" "${1:-}" 990 1000
result $? "annotate"

# report --branch-history: behind a sample in "skip" are target and source of each branch that led there.
history="after ind_jump ind_jump ind_f ind_f ind_call ind_call jump jump f f call call back"
branches -b -g && perf report --branch-history --stdio --no-children -g caller,0.5,callee -i $data \
		2>/dev/null >$out &&
	is "what led to skip" "$(awk '/\] skip / { on = 1; next }
		on && /[a-z]/ { sub("^[ |-]*", ""); print $1; if (++n == 14) exit }' $out |
		tr '\n' ' ')" "$history "
result $? "report --branch-history"

filter any "$all" cond jmp ind_jmp call ind_call ret
filter any_call "call/f ind_call/ind_f" call ind_call
filter any_ret "f/jump ind_f/ind_jump" ret
filter ind_call ind_call/ind_f ind_call
filter ind_jmp ind_jump/after ind_jmp
filter cond back/call cond

# --- the calls that have not returned: "inner" for each level, below it the call of the first one. Calls
# beyond the depth take the places of the oldest ones, which are missing on the way back.

# The callers of hot's samples up to main, a line each. A leaf has no frame: without branch records its caller
# is missing. On one CPU: each CPU's event has periods of its own.
callers() {	# fp|lbr
	rm -f $data
	timeout 60 taskset 1 perf record -q -o $data -e instructions:u -c 99991 --call-graph "$1" $hot rounds 3000 \
		>$out 2>&1 &&
		perf script -i $data -F ip,sym 2>>$out | awk '
			BEGIN { RS = ""; FS = "\n" }
			{
				chain = ""
				for (i = 1; i <= NF; i++) {
					split($i, word, " ")
					chain = chain word[2] " "
					if (word[2] == "main")
						break
				}
				print chain
			}'
}

# The chains of a twentieth of the samples or more, and that many samples of each.
chains() {
	sort "$1" | uniq -c | awk -v n="$(wc -l <"$1")" '$1 >= n / 20 { print }'
}

if grep -q AuthenticAMD /proc/cpuinfo; then
	skip "--call-graph lbr" "no call-stack mode"
	skip "--call-graph lbr and fp" "no call-stack mode"
else
	hot_chains=$(printf '%s \n' "hot_a inner outer round_of_both rounds main" "hot_b round_of_both rounds main")
	callers fp >/tmp/fp && callers lbr >/tmp/lbr && within "samples by fp" "$(wc -l </tmp/fp)" 240 250 &&
		is "samples by lbr" "$(wc -l </tmp/lbr)" "$(wc -l </tmp/fp)" &&
		is "chains by lbr" "$(chains /tmp/lbr | sed 's/^ *[0-9]* //')" "$hot_chains" &&
		is "but for the leaf's caller those by fp" \
			"$(chains /tmp/lbr | sed 's/\(hot_[ab]\) [^ ]*/\1/')" "$(chains /tmp/fp)"
	result $? "--call-graph lbr and fp"
	rm -f $data
	timeout 60 perf record -q -o $data -e instructions:u -c 997 --call-graph lbr $program >$out 2>&1 &&
		perf script -i $data -F ip,sym 2>>$out | awk '
			BEGIN { RS = ""; FS = "\n" }
			/inner/ {
				n++
				i = NF
				end = $i ~ / deep_call$/
				i -= end
				while (i > 0 && $i ~ / inner$/)
					i--
				# The target of the last call, and its source if that is "leaf_1" or "leaf_2".
				whole += i <= 2
				ended += end
				deepest = NF > deepest ? NF : deepest
			}
			END { print n + 0, whole + 0, ended + 0, deepest + 0 }' >$list &&
		read -r n whole ended deepest <$list && within "samples in the recursion" "$n" 25 35 &&
		is "with calls of the recursion alone, of $n" "$whole" "$n" &&
		within "with the first call" "$ended" 12 18 &&
		within "entries of the deepest" "$deepest" $depth $((depth + 1))
	result $? "--call-graph lbr"
fi

finish

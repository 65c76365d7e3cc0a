#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Symbols of programs that are compiled here: functions, names of C++ and Rust, inlined functions,
# unwinding.
. "$(dirname "$0")/lib/ktap.sh"

source_code() {
	cat <<'END'
volatile unsigned long sink;
namespace shop {
struct counter {
	__attribute__((always_inline)) inline void inlined_part(unsigned long n)
	{
		for (unsigned long i = 0; i < n; i++)
			sink += i * i;
	}
	__attribute__((noinline)) void innermost(unsigned long n)
	{
		inlined_part(n);
		sink++;
	}
};
}
__attribute__((noinline)) void middle_function(shop::counter &c, unsigned long n)
{
	c.innermost(n);
	sink++;
}
__attribute__((noinline)) void outer_function(shop::counter &c, unsigned long n)
{
	middle_function(c, n);
	sink++;
}
/* A symbol without a type, as hand-written assembly has. */
asm(".text\n.globl plain_label\nplain_label:\n.rept 4096\nnop\n.endr\nret");
extern "C" void plain_label();
int main()
{
	shop::counter c;
	for (int i = 0; i < 200000; i++)
		plain_label();
	outer_function(c, 150000000);
	return 0;
}
END
}

# Functions with the names that rustc gives, by its first scheme and by its present one.
rust_code() {
	cat <<'END'
void old_scheme(unsigned long n) __asm__("_ZN5hello4work17h0123456789abcdefE");
void new_scheme(unsigned long n) __asm__("_RNvCs15kBYyAo9fc_7mycrate7example");
volatile unsigned long sink;
__attribute__((noinline)) void old_scheme(unsigned long n) { while (n--) sink++; }
__attribute__((noinline)) void new_scheme(unsigned long n) { while (n--) sink++; }
int main(void)
{
	old_scheme(100000000);
	new_scheme(100000000);
	return 0;
}
END
}

# Functions with several names: perf shows a strong one before a weak one, a global one before a local
# one, one with fewer underscores in front, a longer one.
alias_code() {
	cat <<'END'
volatile unsigned long sink;
#define BODY	{ for (unsigned long i = 0; i < n; i++) sink++; }
#define ALIAS(name, of, ...) \
	void name(unsigned long n) __attribute__((alias(#of), used __VA_ARGS__))
__attribute__((noinline)) void __strong(unsigned long n) BODY
ALIAS(weak_but_longer, __strong, , weak);
__attribute__((noinline)) void ___global(unsigned long n) BODY
static ALIAS(local_but_longer, ___global);
__attribute__((noinline)) void __underscores(unsigned long n) BODY
ALIAS(plain, __underscores);
__attribute__((noinline)) void brief(unsigned long n) BODY
ALIAS(a_long_name, brief);
int main(void)
{
	unsigned long n = 50000000;

	__strong(n);
	___global(n);
	__underscores(n);
	brief(n);
	return 0;
}
END
}

# A program with one function, which is not where that of another name is.
one_function() {	# NAME
	cat <<END
volatile unsigned long sink;
$([ "$1" = early ] || echo 'asm(".skip 8192, 0x90");')
__attribute__((noinline)) void $1(unsigned long n) { while (n--) sink++; }
int main(void)
{
	$1(100000000);
	return 0;
}
END
}

# The program is another one while it is recorded: the first one's functions are not known any more.
replaced() {
	for one in early late; do
		one_function $one >"$work/one.c"
		gcc -O1 -o "$work/$one" "$work/one.c" || return 1
	done
	"$TALLY" record -q -F 200 -e cpu-clock:u -o "$work/replaced" "$@" -- \
		sh -c 'cp "$0/early" "$0/one" && "$0/one" && rm "$0/one" && cp "$0/late" "$0/one" && "$0/one"' \
		"$work" || return 1
	"$TALLY" report "$work/replaced" >"$work/report" 2>"$work/errors"
	cat "$work/errors" "$work/report"
	[ "$(grep -c '[0-9]%  one  *one  *\[\.\] late$' "$work/report")" = 1 ] &&
		[ "$(grep -c '[0-9]%  one  *one  *\[\.\] 0x' "$work/report")" -ge 1 ]
}

# has PATTERN FILE: most samples of the program match.
has() {
	grep -Eq "$1" "$2" || { head -5 "$2"; return 1; }
}

start
export HOME="$work"
source_code >"$work/code.cc"
if ! g++ -g -O2 -fomit-frame-pointer -o "$work/program" "$work/code.cc" 2>"$work/errors"; then
	skip "symbols" "no C++ compiler"
	finish
fi
if ! perf record -q -e cpu-clock:u --call-graph dwarf,4096 -F 200 -o "$work/data" "$work/program" \
		2>"$work/errors"; then
	note <"$work/errors"
	skip "symbols" "perf cannot record here"
	finish
fi
"$TALLY" report "$work/data" >"$work/report" 2>&1
"$TALLY" export "$work/data" >"$work/folded" 2>&1
"$TALLY" export --inline "$work/data" >"$work/inlined" 2>&1
result "a C++ function by its name" has 'program +program +\[\.\] shop::counter::innermost' "$work/report"
result "a label of assembly" has 'program +program +\[\.\] plain_label' "$work/report"
result "the callers are found without frame pointers" \
	has 'main;outer_function.*;middle_function.*;shop::counter::innermost' "$work/folded"
result "an inlined function is shown in its caller" \
	has 'innermost\(unsigned long\)[^;]*;shop::counter::inlined_part\(unsigned long\) ' "$work/inlined"
result "the weight of all samples stays the same" [ \
	"$(awk '{ s += $NF } END { print s }' "$work/folded")" = \
	"$(awk '{ s += $NF } END { print s }' "$work/inlined")" ]
rust_code >"$work/rust.c"
gcc -O1 -o "$work/rust" "$work/rust.c" &&
	perf record -q -e cpu-clock:u -F 200 -o "$work/rust.data" "$work/rust" 2>"$work/errors"
"$TALLY" report "$work/rust.data" >"$work/report" 2>&1
result "a function of Rust by its name, without the hash" \
	has 'rust +rust +\[\.\] hello::work$' "$work/report"
result "a function of Rust by its name, in the present scheme" \
	has 'rust +rust +\[\.\] mycrate::example$' "$work/report"
alias_code >"$work/alias.c"
gcc -O1 -o "$work/alias" "$work/alias.c" 2>"$work/errors" &&
	perf record -q -e cpu-clock:u -F 1000 -o "$work/alias.data" "$work/alias" 2>>"$work/errors"
note <"$work/errors"
"$TALLY" export "$work/alias.data" 2>&1 | sed -n 's/^alias;\(.*\) [0-9]*$/\1/p' | sort |
	grep -Ex '___global|__strong|a_long_name|plain' >"$work/names"
result "of several names of a function the one that perf shows" [ "$(wc -l <"$work/names")" = 4 ]
perf script -F ip,sym -i "$work/alias.data" 2>/dev/null | awk '/n|_/ { print $2 }' | sort -u |
	grep -Ex '___global|__strong|a_long_name|plain' >"$work/perf-names"
result "perf shows these names" diff "$work/perf-names" "$work/names"
strip "$work/program"
"$TALLY" report "$work/data" >"$work/report" 2>"$work/errors"
result "without symbols the reason is given" has 'program: no symbols' "$work/errors"
g++ -O1 -o "$work/program" "$work/code.cc"
"$TALLY" report "$work/data" >"$work/report" 2>"$work/errors"
result "a program that was compiled anew is not used" has 'has changed since' "$work/errors"
result "a program that is replaced while it is recorded" replaced
result "a program that is replaced, with build ids in the records" replaced --buildid-mmap
finish

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What a user reads: help texts, man pages, completion in bash, messages about arguments.
. "$(dirname "$0")/lib/ktap.sh"
here=$(cd "$(dirname "$0")/.." && pwd)
commands="stat record top report script check flame export"

# The options of a command's help text, and those of its man page, one a line.
help_options() {
	"$TALLY" "$1" --help | grep -oE -- '(^|[ ,;[])--?[a-zA-Z][a-z-]*' | grep -o -- '-.*' | sort -u
}

man_options() {
	sed 's/\\f.//g; s/\\-/-/g' "$here/man/tally-$1.1" | sed -n '/^\.SH OPTIONS/,/^\.SH EXIT/p' |
		grep -oE -- '(^|[ ,;[])--?[a-zA-Z][a-z-]*' | grep -o -- '-.*' | sort -u
}

# Each option of the help is in the manual; its texts may name options of other commands, too.
manual_has_options() {
	help_options "$1" >"$work/help"
	man_options "$1" >"$work/man"
	[ -s "$work/help" ] && ! grep -vxF -f "$work/man" "$work/help"
}

# The options that begin a paragraph of the manual are in the help, as long or as short ones.
help_has_options() {
	sed 's/\\f.//g; s/\\-/-/g' "$here/man/tally-$1.1" |
		sed -n '/^\.TP/{n;s/^\.[BI]R* //;s/"//g;p}' | grep -oE -- '(^|[ ,;])--?[a-zA-Z][a-z-]*' |
		grep -o -- '-.*' >"$work/man"
	help_options "$1" >"$work/help"
	[ -s "$work/man" ] && ! grep -vxF -f "$work/help" "$work/man"
}

lists_commands() {
	sed 's/\\-/-/g' "$here/man/tally.1" >"$work/man"
	for command in $commands; do
		"$TALLY" --help | grep -q "^  $command " &&
			grep -q "tally-$command (1)" "$work/man" || { echo "$command"; return 1; }
	done
	[ "$("$TALLY" --help | grep -c '^  [a-z]')" = "$(echo $commands | wc -w)" ]
}

# A man page without a complaint of its formatter.
renders() {
	groff -man -Tascii -ww "$1" 2>&1 >"$work/page" | tee "$work/warnings"
	[ -s "$work/page" ] && [ ! -s "$work/warnings" ]
}

# completes WORDS WORD...: what bash offers for the last word has all of WORDS.
completes() {
	wanted=$1
	shift
	bash -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tally
		printf "%s\n" "${COMPREPLY[@]}"' "$here/completion.bash" "$TALLY" "$@" >"$work/words"
	for word in $wanted; do
		grep -qxe "$word" "$work/words" && continue
		echo "no $word for $*:"
		cat "$work/words"
		return 1
	done
}

# says STATUS TEXT ARGUMENT...: the first line of its messages, and the exit status.
says() {
	status=$1 text=$2
	shift 2
	"$TALLY" "$@" >"$work/output" 2>"$work/errors"
	[ $? = "$status" ] && [ "$(head -n 1 "$work/errors")" = "$text" ] && return
	cat "$work/errors"
	return 1
}

start
result "the commands are in the help and in the manual" lists_commands
for command in $commands; do
	result "$command: the manual has each option of the help" manual_has_options $command
	result "$command: the help has each option of the manual" help_has_options $command
done
if command -v groff >/dev/null; then
	for page in "$here"/man/*.[17]; do
		result "$(basename "$page") is rendered without a warning" renders "$page"
	done
else
	skip "man pages are rendered" "no groff"
fi
result "completion: commands" completes "$commands" ""
result "completion: the rest of a command" completes "record report" re
result "completion: short and long options" completes "-F -C -g --call-graph --dir" record -
result "completion: values" completes "fp dwarf lbr" record --call-graph ""
result "completion: formats" completes "folded pprof firefox" export -f ""
cat >"$work/none" <"$here/completion.bash"
result "a command that does not exist" says 2 "tally: nothing is not a command" nothing
result "an option that does not exist" says 2 \
	"tally script: unrecognized option '--nothing'" script --nothing
result "a number that is none" says 2 "tally record: 'often' makes no sense" record -F often true
result "nothing to record" says 2 "tally record: what to record? a command, -a, -p, -t or -G" record
result "a program that does not exist" says 1 \
	"tally record: /no/program: No such file or directory" record -e dummy -o "$work/data" /no/program
for command in report script flame export; do
	result "$command: a file that does not exist" says 1 \
		"tally $command: $work/missing: No such file or directory" $command "$work/missing"
	result "$command: a file of another kind, with the offset" says 1 \
		"tally $command: $work/none: at offset 0: no perf.data: it does not begin with PERFILE2" \
		$command "$work/none"
done
finish

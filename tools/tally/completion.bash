# SPDX-License-Identifier: GPL-2.0
# Completion of tally for bash: source this file, or install it as
# /usr/share/bash-completion/completions/tally. Commands and options are those of the help texts.

_tally_words() {
	"${COMP_WORDS[0]}" "$@" 2>/dev/null
}

_tally() {
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local command=${COMP_WORDS[1]} words

	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ]; then
		words=$(_tally_words --help | sed -n 's/^  \([a-z]*\) .*/\1/p')
	elif [ "$previous" = -f ] || [ "$previous" = --format ]; then
		[ "$command" = export ] && words='folded pprof firefox'
	elif [ "$previous" = -s ] || [ "$previous" = --sort ]; then
		words='comm pid dso symbol cpu'
	elif [ "$command" = record ] && [ "$previous" = --call-graph ]; then
		words='fp dwarf lbr'
	elif [ "$command" = record ] && { [ "$previous" = -k ] || [ "$previous" = --clockid ]; }; then
		words='monotonic monotonic_raw boottime realtime tai'
	elif [ "${current#-}" != "$current" ]; then
		words=$(_tally_words "$command" --help | grep -oE -- '(^|[ ,;[])--?[a-zA-Z][a-z-]*' |
			grep -o -- '-.*' | sort -u)
	fi
	COMPREPLY=($(compgen -W "$words" -- "$current"))
}

complete -o bashdefault -o default -F _tally tally

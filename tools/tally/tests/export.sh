#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The formats of "tally export" are what their readers expect.
. "$(dirname "$0")/lib/ktap.sh"

# Decodes profile.proto: prints each chain, the outermost function first, with its values.
pprof_chains() {
	python3 - "$1" <<'END'
import gzip, sys

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at

def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value = data[at:at + size]
            assert len(value) == size
            at += size
        else:
            raise SystemExit(f'wire type {key & 7}')
        yield key >> 3, value

def one(message, number):
    return [value for key, value in fields(message) if key == number]

profile = list(fields(gzip.open(sys.argv[1]).read()))
get = lambda number: [value for key, value in profile if key == number]
strings = [value.decode() for value in get(6)]
assert strings[0] == ''
functions = {one(f, 1)[0]: strings[one(f, 2)[0]] for f in get(5)}
locations = {one(l, 1)[0]: functions[one(one(l, 4)[0], 1)[0]] for l in get(4)}
mappings = {one(m, 1)[0] for m in get(3)}
assert all(set(one(l, 2)) <= mappings for l in get(4))
types = [strings[one(t, 1)[0]] for t in get(1)]
print('types', *types)
for sample in get(2):
    label = one(sample, 3)[0]
    assert strings[one(label, 1)[0]] == 'thread'
    chain = [strings[one(label, 2)[0]]] + [locations[l] for l in reversed(one(sample, 1))]
    print(';'.join(chain), *one(sample, 2))
END
}

# Resolves the tables of the Firefox profiler: prints each chain, with its number of samples.
firefox_chains() {
	python3 - "$1" <<'END'
import collections, json, sys

profile = json.load(open(sys.argv[1]))
chains = collections.Counter()
for thread in profile['threads']:
    for name in ('samples', 'stackTable', 'frameTable', 'funcTable', 'resourceTable'):
        table = thread[name]
        for column, cells in table.items():
            if isinstance(cells, list) and len(cells) != table['length']:
                raise SystemExit(f'{name}.{column}: {len(cells)} cells of {table["length"]}')
    stacks, frames, functions = thread['stackTable'], thread['frameTable'], thread['funcTable']
    assert thread['samples']['time'] == sorted(thread['samples']['time'])
    for stack in thread['samples']['stack']:
        names = []
        while stack is not None:
            assert stacks['prefix'][stack] is None or stacks['prefix'][stack] < stack
            function = frames['func'][stacks['frame'][stack]]
            names.append(thread['stringArray'][functions['name'][function]])
            stack = stacks['prefix'][stack]
        chains[';'.join([thread['name']] + names[::-1])] += 1
for chain, count in chains.items():
    print(chain, count)
END
}

start
if ! "$O/tests/flame_file" "$work/made" 2>"$work/errors"; then
	skip "export" "no file could be made"
	finish
fi
cat >"$work/expected" <<'END'
program;busy_outer 250
program;busy_outer;busy_inner 500
program;idle 250
END
"$TALLY" export "$work/made" | sort >"$work/folded"
result "folded stacks" diff "$work/expected" "$work/folded"
"$TALLY" export -f pprof -o "$work/pprof" "$work/made"
pprof_chains "$work/pprof" >"$work/all" 2>&1
grep ';' "$work/all" | sed 's/ 1 / /' | sort >"$work/chains"
result "pprof: types" grep -qx 'types samples cpu-clock' "$work/all"
result "pprof: chains" diff "$work/expected" "$work/chains"
"$TALLY" export -f firefox -o "$work/firefox" "$work/made"
firefox_chains "$work/firefox" 2>&1 | sort >"$work/chains"
sed 's/ [0-9]*$/ 1/' "$work/expected" >"$work/ones"
result "firefox: chains" diff "$work/ones" "$work/chains"
if perf record -q -e cpu-clock -g -o "$work/data" ls -lR /usr/share/doc >/dev/null 2>&1; then
	"$TALLY" export "$work/data" 2>/dev/null | sort >"$work/folded"
	"$TALLY" export -f pprof -o "$work/pprof" "$work/data" 2>/dev/null
	pprof_chains "$work/pprof" 2>&1 | grep -v ^types | sed 's/ [0-9]* \([0-9]*\)$/ \1/' |
		sort >"$work/chains"
	result "pprof of a recorded file has the chains of folded stacks" \
		diff "$work/folded" "$work/chains"
	"$TALLY" export -f firefox -o "$work/firefox" "$work/data" 2>/dev/null
	firefox_chains "$work/firefox" 2>&1 | sed 's/ [0-9]*$//' | sort >"$work/chains"
	# Functions of one name in two places are two lines there, one name here.
	sed 's/ [0-9]*$//' "$work/folded" | sort -u >"$work/names"
	result "firefox of a recorded file has the chains of folded stacks" \
		diff "$work/names" "$work/chains"
else
	skip "export of a recorded file" "perf cannot record here"
fi
finish

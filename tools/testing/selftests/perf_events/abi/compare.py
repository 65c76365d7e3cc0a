#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""compare.py - is our linux/perf_event.h the ABI of the base kernel's?

usage: compare.py --ours DIR --stock DIR --scratch DIR

DIR holds linux/perf_event.h. All names are taken from the two headers themselves: a constant,
macro, structure or field that only one of them has is a failure, as is one that differs in value,
type, size or place. Each target that a compiler is here for is checked, then that the check is
able to fail: it must object to every one of a list of altered copies of our header.

Prints KTAP. Exit status: 0 no failures, 1 failures.
"""
import argparse
import os
import re
import shutil
import sys

from dwarf import Header, run

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = '#include <linux/perf_event.h>\n'
# What the header pulls in: not ours, so what is the same in both is not reported.
PRELUDE = '#include <linux/types.h>\n#include <linux/ioctl.h>\n#include <asm/byteorder.h>\n'

# The system's headers for a target that has none installed: they differ in what is not used here.
X86_HEADERS = ['-idirafter', '/usr/include/x86_64-linux-gnu', '-idirafter', '/usr/include']
ARM_HEADERS = ['-idirafter', '/usr/aarch64-linux-gnu/include']
X86, ARM64 = 'x86_64-linux-gnu-', 'aarch64-linux-gnu-'
TARGETS = {
    'x86_64': [X86 + 'gcc'],
    'x86_64 C++': [X86 + 'g++'],
    'arm64': [ARM64 + 'gcc'],
    'arm64 big-endian': [ARM64 + 'gcc', '-mbig-endian'],
    'i386': [X86 + 'gcc', '-m32'] + X86_HEADERS,
    'arm (32-bit)': ['clang', '--target=armv7-linux-gnueabihf', '-nostdinc'] + ARM_HEADERS,
}

# What the check must notice: target, pattern, replacement, what the message must name.
MUTANTS = [
    ('x86_64', r'(PERF_COUNT_SW_DUMMY\s*=) 9', r'\1 13', 'PERF_COUNT_SW_DUMMY'),
    ('x86_64', r'(define PERF_ATTR_SIZE_VER3\s+)96', r'\g<1>88', 'PERF_ATTR_SIZE_VER3'),
    ('x86_64', r'(define PERF_FLAG_FD_OUTPUT\s+)\(1UL << 1\)', r'\1(1 << 1)',
     'PERF_FLAG_FD_OUTPUT'),
    ('x86_64', r'#define PERF_MEM_HOPS_2\s.*', '', 'PERF_MEM_HOPS_2'),
    ('x86_64', r'\tPERF_RECORD_MAX,', '\tPERF_RECORD_NEW,\n\tPERF_RECORD_MAX,', 'PERF_RECORD_NEW'),
    ('x86_64', r'\tPERF_TXN_SYNC\s.*', '', 'PERF_TXN_SYNC'),
    ('x86_64', r'(#define PERF_PMU_TYPE_SHIFT)', r'#define PERF_EXTRA 1\n\1', 'PERF_EXTRA'),
    ('x86_64', r'(#define PERF_MEM_S\(a, s\))', r'#define PERF_OTHER(a) (a)\n\1', 'PERF_OTHER'),
    ('x86_64', r'<< PERF_MEM_##a##_SHIFT\)', r'<< (PERF_MEM_##a##_SHIFT + 1))',
     'PERF_MEM_S(OP, LOAD)'),
    ('x86_64', r'__s32(\s+clockid)', r'__u32\1', 'clockid'),
    ('x86_64', r'(precise_ip\s*: ) 2', r'\1 3', 'mmap_data'),
    ('x86_64', r'aux_pause(\s*:  1,\s*)aux_resume', r'aux_resume\1aux_pause', 'aux_pause'),
    ('x86_64', r'__u64\tconfig3;', '', 'config3'),
    ('x86_64', r'__reserved\[928\]', '__reserved[920]', 'data_head'),
    ('x86_64', r'union perf_sample_weight \{', 'union perf_weight {', 'perf_weight'),
    ('arm64 big-endian', r'mem_blk(\s*:  3,\s*)mem_snoopx(\s*:  2)',
     r'mem_snoopx\2,\n mem_blk :  3', 'mem_blk'),
    ('arm64 big-endian', r'__u16\tvar3_w;\n(\s*)__u16\tvar2_w;\n(\s*__u32)',
     r'__u16\tvar2_w;\n\1__u16\tvar3_w;\n\2', 'var2_w'),
    ('i386', r"_IOW\('\$', 6, char \*\)", r"_IOW('$', 6, __u64)", 'PERF_EVENT_IOC_SET_FILTER'),
    ('i386', r"_IOR\('\$', 7, __u64 \*\)", r"_IOR('$', 7, __u64)", 'PERF_EVENT_IOC_ID'),
]


class Ktap:
    def __init__(self):
        self.run = self.failed = self.skipped = 0
        print('KTAP version 1')

    def result(self, good, name, notes=()):
        self.run += 1
        self.failed += not good
        print('%s %d - %s' % ('ok' if good else 'not ok', self.run, name))
        for note in notes:
            print('# ' + note)

    def skip(self, name, why):
        self.run += 1
        self.skipped += 1
        print('ok %d - %s # SKIP %s' % (self.run, name, why))

    def finish(self):
        print('1..%d' % self.run)
        print('# Totals: pass:%d fail:%d xfail:0 xpass:0 skip:%d error:0'
              % (self.run - self.failed - self.skipped, self.failed, self.skipped))
        return 1 if self.failed else 0


def mem_pairs(macros):
    """Every use of PERF_MEM_S() that the header has names for."""
    names = {name for name, _, _ in macros}
    fields = [m.group(1) for m in (re.match(r'PERF_MEM_(\w+)_SHIFT$', n) for n in names) if m]
    return sorted('PERF_MEM_S(%s, %s)' % (f, n[len('PERF_MEM_%s_' % f):]) for f in fields
                  for n in names if n.startswith('PERF_MEM_%s_' % f) and not n.endswith('_SHIFT'))


def macro_family(name):
    """Which result a macro is reported under."""
    return 'macros %s*' % '_'.join(name.split('_')[:2])


def macros_of(header, common):
    """{family: {macro: facts}} for what linux/perf_event.h adds to @common."""
    listed = [m for m in header.macros(SOURCE) if m not in common]
    found, wanted = {}, {}
    for name, parameters, body in listed:
        if parameters:
            found.setdefault('macros with parameters', {})[name] = parameters.replace(' ', '')
        elif body:
            wanted[name] = name
        else:
            found.setdefault('empty macros', {})[name] = 'defined'
    wanted.update((pair, pair) for pair in mem_pairs(listed))
    for name, facts in header.values(SOURCE, wanted).items():
        found.setdefault(macro_family(name), {})[name] = facts
    return found


def inventory(compiler, include, scratch):
    """Everything that the header declares: {group: {item: facts}}."""
    header = Header(compiler, include, os.path.join(scratch, 'abi.o'))
    found = header.types(SOURCE)
    found.update(macros_of(header, set(header.macros(PRELUDE))))
    return found, header.types(PRELUDE)


def differences(group, ours, stock):
    for item in sorted(set(ours) | set(stock)):
        a, b = ours.get(item, 'missing'), stock.get(item, 'missing')
        if a != b:
            yield '%s %s: ours %s, stock %s' % (group, item, a, b)


def compare(compiler, ours, stock, scratch):
    """[(group, number of items, [differences])], without what both include."""
    found, prelude = inventory(compiler, ours, scratch)
    wanted, _ = inventory(compiler, stock, scratch)
    for group in sorted(set(found) | set(wanted)):
        a, b = found.get(group, {}), wanted.get(group, {})
        if a == b and group in prelude:
            continue
        yield group, len(b), list(differences(group, a, b))


def check_target(ktap, target, args):
    compiler = TARGETS[target]
    if not shutil.which(compiler[0]):
        ktap.skip(target, 'no ' + compiler[0])
        return
    items = 0
    for group, count, bad in compare(compiler, args.ours, args.stock, args.scratch):
        items += count
        ktap.result(not bad, '%s: %s, %d items' % (target, group, count), bad)
    # 573 in 6.12, and an ABI does not shrink: a parser that finds none of it must not pass.
    ktap.result(items >= 570, '%s: compared %d items' % (target, items))


def check_users(ktap, target, args):
    """users.c compiles without a warning."""
    compiler = TARGETS[target]
    name = '%s: a program that uses every attr field compiles' % target
    if not shutil.which(compiler[0]):
        ktap.skip(name, 'no ' + compiler[0])
        return
    language = 'c++' if '++' in compiler[0] else 'c'
    try:
        run(compiler + ['-I' + args.ours, '-ffreestanding', '-Wall', '-Wextra', '-Werror', '-x',
                        language, '-c', '-o', os.path.join(args.scratch, 'users.o'),
                        os.path.join(HERE, 'users.c')])
        ktap.result(True, name)
    except RuntimeError as error:
        ktap.result(False, name, str(error).split('\n'))


def check_fields_used(ktap, args):
    """users.c names every field of struct perf_event_attr: it cannot fall behind."""
    found, _ = inventory(TARGETS['x86_64'], args.ours, args.scratch)
    with open(os.path.join(HERE, 'users.c')) as f:
        words = set(re.findall(r'\w+', f.read()))
    left = sorted(set(found['struct perf_event_attr']) - words - {'sizeof'})
    ktap.result(not left, 'that program names every field of struct perf_event_attr',
                ['not used: ' + name for name in left])


def check_mutant(ktap, mutant, args):
    target, pattern, replacement, named = mutant
    name = 'notices, on %s, a change of %s' % (target, named)
    if not shutil.which(TARGETS[target][0]):
        ktap.skip(name, 'no ' + TARGETS[target][0])
        return
    with open(os.path.join(args.ours, 'linux', 'perf_event.h')) as f:
        text, changed = re.subn(pattern, replacement, f.read())
    if changed != 1:
        ktap.result(False, name, ['the pattern fits %d places: %s' % (changed, pattern)])
        return
    folder = os.path.join(args.scratch, 'mutant')
    os.makedirs(os.path.join(folder, 'linux'), exist_ok=True)
    with open(os.path.join(folder, 'linux', 'perf_event.h'), 'w') as f:
        f.write(text)
    bad = [b for _, _, notes in compare(TARGETS[target], folder, args.stock, args.scratch)
           for b in notes]
    seen = [b for b in bad if named in b]
    ktap.result(bool(seen), name, seen[:1] or bad)


def main():
    parser = argparse.ArgumentParser()
    for option in ('--ours', '--stock', '--scratch'):
        parser.add_argument(option, required=True)
    args = parser.parse_args()
    os.makedirs(args.scratch, exist_ok=True)
    ktap = Ktap()
    for target in TARGETS:
        check_target(ktap, target, args)
    for target in TARGETS:
        check_users(ktap, target, args)
    check_fields_used(ktap, args)
    for mutant in MUTANTS:
        check_mutant(ktap, mutant, args)
    return ktap.finish()


if __name__ == '__main__':
    sys.exit(main())

# SPDX-License-Identifier: GPL-2.0
"""Debian's sparse on what Kbuild has compiled of ours, for each architecture.

The command lines are those that Kbuild keeps beside the objects, with the flags that it would give
to sparse itself ("make C=1"): nothing is compiled again.
"""
import os
import re
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from source import ARCHES, BUILD, TOP, Case, Finding, c_files, functions, text_of

# What the base's Makefiles add to CHECKFLAGS.
FLAGS = ['-D__linux__', '-Dlinux', '-D__STDC__', '-Dunix', '-D__unix__', '-Wbitwise',
         '-Wno-return-void', '-Wno-unknown-attribute', '-mlittle-endian', '-D__CHECKER__']
FLAGS_OF = {'arm64': ['-D__aarch64__', '--arch=arm64'],
            'x86_64': ['-D__x86_64__', '--arch=x86_64']}
LINE = re.compile(r'(?P<path>[^:\s]+):(?P<line>\d+):\d+: (?P<level>error|warning): (?P<text>.*)')
# Message types for the list of exceptions; others are SPARSE.
TYPES = {'context imbalance': 'CONTEXT', 'address spaces': 'ADDRESS_SPACE',
         'too long token expansion': 'TOKEN_EXPANSION'}
IMBALANCE = re.compile(r"context imbalance in '(\w+)'")
# Locks that the end of a scope gives back: sparse does not know the attribute cleanup.
SCOPED = re.compile(r'\b(?:guard|scoped_guard|scoped_cond_guard|CLASS)\s*\(')
FOLDERS = ('arch', 'drivers', 'include', 'kernel', 'lib', 'mm')


def command_of(objects, arch, source):
    """The command line of sparse for a source file; None if Kbuild has not compiled it."""
    path = Path(source)
    note = objects / path.parent / f'.{path.stem}.o.cmd'
    if not (objects / path.with_suffix('.o')).exists() or not note.exists():
        return None
    words = shlex.split(note.read_text().split('\n', 1)[0].split(':=', 1)[1].split(' ; ')[0])
    words = words[next(n for n, word in enumerate(words) if word.startswith('-')):]
    kept, skip = [], False
    for word in words:
        if not skip and word != '-c' and word != '-o' and not word.startswith('-Wp,-MMD'):
            kept.append(word)
        skip = word == '-o'
    return ['sparse', *FLAGS, *FLAGS_OF[arch], *kept]


def name_in_tree(path, sources, objects):
    """A path that sparse prints, relative to the source tree."""
    path = os.path.normpath(os.path.join(objects, path))
    for root in (*sources, str(TOP)):
        if path.startswith(root + '/'):
            return path[len(root) + 1:]
    return path


def is_scoped(path, function):
    lines = text_of(path).splitlines()[function.line - 1:function.end]
    return bool(SCOPED.search('\n'.join(lines)))


def finding_of(source, path, line, message):
    """The finding for a message of sparse; None if it is about a lock that a guard gives back.

    A message about locks names a function; its place may be an inline function of a header.
    """
    found = IMBALANCE.search(message)
    named = [(home, function) for home in (source, path) for function in functions(home)
             if found and function.name == found[1]]
    around = [(path, function) for function in functions(path) if function.line <= line <= function.end]
    if named:
        if any(is_scoped(*place) for place in named + around):
            return None
        return Finding(named[0][0], named[0][1].line, 'CONTEXT', message)
    kind = next((kind for words, kind in TYPES.items() if words in message), 'SPARSE')
    return Finding(path, line, kind, message)


def run_sparse(objects, arch, source, ours):
    """(True if it was compiled, the findings in our files)."""
    command = command_of(objects, arch, source)
    if not command:
        return False, []
    done = subprocess.run(command, cwd=objects, text=True, errors='replace', stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    roots = [str((objects / 'source').resolve()), str(BUILD / 'src/overlay')]
    findings = []
    for line in done.stderr.splitlines():
        found = LINE.match(line)
        path = name_in_tree(found['path'], roots, objects) if found else None
        if found and path in ours:
            findings.append(finding_of(source, path, int(found['line']), found['text']))
        elif found and found['level'] == 'error' or 'too many' in line:
            # What cannot be parsed ends the analysis of the file that includes it.
            findings.append(Finding(source, 1, 'SPARSE_ERROR', f'sparse gives up: {line}'))
    if done.returncode not in (0, 1):
        findings.append(Finding(source, 1, 'SPARSE_ERROR', f'sparse exits with {done.returncode}'))
    return True, [finding for finding in findings if finding]


def cases():
    sources = [path for path in c_files(*FOLDERS) if path.endswith('.c')]
    ours = set(c_files())
    compiled = set()
    for arch in ARCHES:
        objects = (BUILD / arch).resolve()
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(lambda path: run_sparse(objects, arch, path, ours), sources))
        examined = {path for path, (built, _) in zip(sources, results) if built}
        compiled |= examined
        found = {finding for _, findings in results for finding in findings}
        yield Case(f'sparse {arch}', len(examined), list(found))
    never = [Finding(path, 1, 'NOT_COMPILED', 'is compiled for no architecture: add its option to '
                     'configs/ours.config') for path in sources if path not in compiled]
    yield Case('every C file of the kernel is compiled', len(sources), never)

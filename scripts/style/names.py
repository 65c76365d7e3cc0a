# SPDX-License-Identifier: GPL-2.0
"""Names of static functions show in a back trace where they are: no one-word name, none twice in a folder."""
from collections import defaultdict
from pathlib import PurePath

from source import Case, Finding, c_files, functions

# A test is a program of its own: another one can have a function of the same name.
FOLDERS = ('kernel/events', 'arch/x86/events', 'arch/arm64/kernel/perf', 'tools/tally/lib',
           'tools/tally/cmd')


def cases():
    files = c_files(*FOLDERS)
    single, places = [], defaultdict(dict)
    for path in files:
        for function in functions(path):
            if not function.static or '(' in function.name:
                continue
            if '_' not in function.name.strip('_'):
                single.append(Finding(path, function.line, 'ONE_WORD', f'static {function.name}() has a '
                                      'name of one word'))
            places[str(PurePath(path).parent), function.name].setdefault(path, function.line)
    twice = [Finding(path, line, 'SAME_NAME', f'static {name}() is in ' +
                     ', '.join(PurePath(other).name for other in found if other != path) + ' too')
             for (_, name), found in sorted(places.items()) if len(found) > 1
             for path, line in found.items()]
    yield Case('static functions with one-word names', len(files), single)
    yield Case('static functions of the same name in a folder', len(files), twice)

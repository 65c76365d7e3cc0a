# SPDX-License-Identifier: GPL-2.0
"""No function is longer than 60 lines, from the first of its head to its closing brace."""
from source import Case, Finding, c_files, functions

LIMIT = 60


def cases():
    files = c_files()
    findings = []
    for path in files:
        for function in functions(path):
            lines = function.end - function.line + 1
            if lines > LIMIT:
                findings.append(Finding(path, function.line, 'LENGTH',
                                        f'{function.name}() has {lines} lines, {LIMIT} at most'))
    yield Case('length of functions', len(files), findings)

# SPDX-License-Identifier: GPL-2.0
"""Functions have 60 lines at most, from the first of the head to the closing brace; test files 900."""
import re

from source import Case, Finding, c_files, functions, text_of

LIMIT = 60
FILE_LIMIT = 900
TESTS = re.compile(r'tools/testing/|.*/tests/')


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
    tests = [path for path in files if TESTS.match(path)]
    lengths = {path: text_of(path).count('\n') for path in tests}
    yield Case('length of test files', len(tests), [
        Finding(path, 1, 'FILE_LENGTH', f'has {lines} lines, {FILE_LIMIT} at most')
        for path, lines in lengths.items() if lines > FILE_LIMIT])

# SPDX-License-Identifier: GPL-2.0
"""No line of C, of a Makefile or of a page is wider than 100 columns, and none of a script than 120.

A tab is up to eight columns.
"""
from source import Case, Finding, all_files, text_of

SUFFIXES = ('.c', '.h', '.S', '.rst', 'Makefile', 'Kconfig', 'Kconfig.debug')
LIMIT, SCRIPT_LIMIT = 100, 120


def limit_of(path):
    """The limit for a file; 0 if there is none."""
    if path.endswith(SUFFIXES):
        return LIMIT
    is_script = path.endswith(('.sh', '.py')) or text_of(path).startswith('#!')
    return SCRIPT_LIMIT if is_script else 0


def cases():
    files = [path for path in all_files() if limit_of(path)]
    findings = []
    for path in files:
        limit = limit_of(path)
        for number, line in enumerate(text_of(path).splitlines(), 1):
            width = len(line.expandtabs(8))
            if width > limit:
                findings.append(Finding(path, number, 'WIDTH', f'{width} columns, {limit} at most'))
    yield Case('line width', len(files), findings)

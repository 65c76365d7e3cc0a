# SPDX-License-Identifier: GPL-2.0
"""Functions, members and files that the documentation names are in the sources; see docnames."""
import re
import subprocess

from source import TOP, Case, Finding, all_files

LINE = re.compile(r'(?P<path>[^:]+):(?P<line>\d+): (?P<text>.*)')


def cases():
    pages = [path for path in all_files() if path.endswith('.rst') or path == 'README.md']
    done = subprocess.run([TOP / 'scripts/style/docnames'], cwd=TOP, text=True, errors='replace',
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    findings = []
    for line in done.stdout.splitlines():
        found = LINE.match(line)
        findings.append(Finding(found['path'], int(found['line']), 'NAME', found['text']) if found else
                        Finding('scripts/style/docnames', 1, 'OUTPUT', line))
    if done.returncode and not findings:
        findings.append(Finding('scripts/style/docnames', 1, 'STATUS', f'exits with {done.returncode}'))
    yield Case('names in the documentation', len(pages), findings)

# SPDX-License-Identifier: GPL-2.0
"""The base's kernel-doc -none -Wall prints nothing."""
import re
import subprocess

from source import STOCK, TOP, Case, Finding, c_files

LINE = re.compile(r'(?P<path>[^:]+):(?P<line>\d+): (?P<text>.*)')


def cases():
    files = c_files()
    done = subprocess.run(['perl', STOCK / 'scripts/kernel-doc', '-none', '-Wall', *files], cwd=TOP,
                          text=True, errors='replace', stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    findings = []
    for line in done.stdout.splitlines():
        found = LINE.match(line)
        if found:
            findings.append(Finding(found['path'], int(found['line']), 'KERNEL_DOC', found['text']))
        elif line.strip() and not re.match(r'\d+ warnings? as errors|\d+ errors?$', line):
            findings.append(Finding('scripts/style/kernel_doc.py', 1, 'OUTPUT', line))
    if done.returncode and not findings:
        findings.append(Finding('scripts/style/kernel_doc.py', 1, 'STATUS',
                                f'kernel-doc exits with {done.returncode}'))
    yield Case('kernel-doc -Wall', len(files), findings)

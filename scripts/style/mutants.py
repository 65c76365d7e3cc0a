# SPDX-License-Identifier: GPL-2.0
"""Each mutant of the tests applies to the sources; see scripts/mutants."""
import re
import subprocess

from source import TOP, Case, Finding, all_files

FOLDER = 'tools/testing/selftests/perf_events/mutants'
LINE = re.compile(r'ERROR\s+(?P<name>[\w-]+): (?P<text>.*)')


def cases():
    patches = [path for path in all_files() if path.startswith(FOLDER + '/') and path.endswith('.patch')]
    done = subprocess.run([TOP / 'scripts/mutants', '--check'], cwd=TOP, text=True, errors='replace',
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    findings = []
    for line in done.stdout.splitlines():
        found = LINE.match(line)
        findings.append(Finding(f'{FOLDER}/{found["name"]}.patch', 1, 'MUTANT', found['text']) if found else
                        Finding('scripts/style/mutants.py', 1, 'OUTPUT', line))
    if done.returncode and not findings:
        findings.append(Finding('scripts/style/mutants.py', 1, 'STATUS',
                                f'scripts/mutants exits with {done.returncode}'))
    yield Case('mutants apply', len(patches), findings)

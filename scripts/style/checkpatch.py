# SPDX-License-Identifier: GPL-2.0
"""The base's checkpatch --strict on all C files and headers.

The findings of a file are kept in build/style until the file, the script or its options change. Each
file has a process of its own: checkpatch reports an identifier in CamelCase once in a process.
"""
import hashlib
import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

from source import BUILD, STOCK, TOP, Case, Finding, c_files

OPTIONS = ('--strict', '--terse', '--showfile', '--show-types', '--no-summary')
KEPT = BUILD / 'style/checkpatch.json'
LINE = re.compile(r'(?P<path>[^:]+):(?P<line>\d+): (?:ERROR|WARNING|CHECK):(?P<type>\w+): (?P<text>.*)')


def make_tree():
    """A folder from which the files have their names, and where checkpatch may leave its cache."""
    tree = BUILD / 'style'
    tree.mkdir(parents=True, exist_ok=True)
    for name in {path.split('/', 1)[0] for path in c_files()}:
        link = tree / name
        if not link.is_symlink():
            link.symlink_to(TOP / name)


def check(path):
    """The findings in a file; anything else that checkpatch prints is a finding too."""
    # Without a .git the script leaves out spdxcheck, which is for patches.
    done = subprocess.run(['perl', STOCK / 'scripts/checkpatch.pl', f'--root={STOCK}', *OPTIONS, '-f',
                           path], cwd=BUILD / 'style', env=dict(os.environ, GIT_DIR='/nonexistent'),
                          text=True, errors='replace', stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    findings = []
    for line in done.stdout.splitlines():
        found = LINE.match(line)
        if found:
            findings.append(Finding(found['path'], int(found['line']), found['type'], found['text']))
        elif line.strip():
            findings.append(Finding('scripts/style/checkpatch.py', 1, 'OUTPUT', line))
    if done.returncode not in (0, 1) or done.returncode and not findings:
        findings.append(Finding('scripts/style/checkpatch.py', 1, 'STATUS',
                                f'checkpatch exits with {done.returncode} on {path}'))
    return findings


def key_of(path, script):
    """What the findings in a file depend on."""
    parts = script, ' '.join(OPTIONS).encode(), path.encode(), (TOP / path).read_bytes()
    return hashlib.sha256(b'\0'.join(parts)).hexdigest()


def kept_findings():
    """The findings of earlier runs by key."""
    try:
        return {key: [Finding(*cells) for cells in found]
                for key, found in json.loads(KEPT.read_text()).items()}
    except (OSError, ValueError, TypeError):
        return {}


def keep_findings(kept):
    new = KEPT.with_suffix(f'.{os.getpid()}')
    new.write_text(json.dumps(kept, indent=0, sort_keys=True))
    new.rename(KEPT)


def cases():
    files = c_files()
    make_tree()
    script = (STOCK / 'scripts/checkpatch.pl').read_bytes()
    keys = {path: key_of(path, script) for path in files}
    old = kept_findings()
    changed = [path for path in files if keys[path] not in old]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = dict(zip(changed, pool.map(check, changed)))
    results.update((path, old[keys[path]]) for path in files if path not in results)
    # A failure of the script itself is not kept.
    keep_findings({keys[path]: found for path, found in results.items()
                   if all(finding.path == path for finding in found)})
    yield Case('checkpatch --strict', len(files), [finding for path in files for finding in results[path]])

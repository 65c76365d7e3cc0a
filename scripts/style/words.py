# SPDX-License-Identifier: GPL-2.0
"""Comments do not make persons of code: such words are below LIMIT per 1,000 in every folder.

The comments of C files and scripts count, and all text of pages. What a patch adds counts as the file
would, and the reason in front of it as a page.
"""
import re
from collections import Counter, defaultdict
from pathlib import PurePath

from source import Case, Finding, all_files, comments, comments_in, text_of

LIMIT = 2.0
PERSONS = re.compile(
    r"\b(who|whoever|whose|whom|somebody|someone|nobody|anybody|everybody|tells?|told|hears?|heard|"
    r"comes?|came|go|goes|gone|went|anew|see to|says?|said|knows|knew|wants?|wanted|asks?|asked)\b", re.I)
WORD = re.compile(r"[A-Za-z][A-Za-z']*")


def script_comments(path):
    """The comments of a script or Makefile; Python's documentation strings too."""
    text = text_of(path)
    for number, line in enumerate(text.splitlines(), 1):
        found = re.match(r'(?:[^\'"]*\s)?#(?!!)\s?(.*)', line)
        if found:
            yield number, found[1]
    if 'python' in text.split('\n', 1)[0] or path.endswith('.py'):
        for found in re.finditer(r'"""(.*?)"""', text, re.S):
            yield text.count('\n', 0, found.start()) + 1, found[1]


def patch_comments(path):
    """The text in front of a patch, and the comments of C in the lines that it adds."""
    lines = text_of(path).splitlines()
    start = next((n for n, line in enumerate(lines) if line.startswith(('--- ', 'diff '))), len(lines))
    yield 1, '\n'.join(lines[:start])
    added = (line[1:] if line.startswith('+') and not line.startswith('+++ ') else '' for line in lines)
    yield from comments_in('\n'.join(added))


def comments_of(path):
    """(line, text) of what is read as English in a file; None for a file without comments."""
    if path.endswith(('.c', '.h')):
        return comments(path)
    if path.endswith('.patch'):
        return patch_comments(path)
    if path.endswith(('.rst', '.md')) or re.fullmatch(r'.*/man/.*\.\d', path):
        return [(1, text_of(path))]
    if path.endswith(('.sh', '.py', 'Makefile', '.list', '.config')) or text_of(path).startswith('#!'):
        return script_comments(path)
    return None


def persons_in(line, text):
    """The words of the list in a comment, each with its line."""
    for found in PERSONS.finditer(text):
        yield line + text.count('\n', 0, found.start()), found[1].lower()


def cases():
    words, hits = Counter(), defaultdict(list)
    examined = 0
    for path in all_files():
        found = comments_of(path)
        if found is None:
            continue
        folder = str(PurePath(path).parent)
        examined += 1
        for line, text in found:
            text = re.sub(r'SPDX-License-Identifier:.*', '', text)
            words[folder] += len(WORD.findall(text))
            hits[folder] += [(path, *hit) for hit in persons_in(line, text)]
    findings = []
    for folder, found in sorted(hits.items()):
        rate = 1000 * len(found) / words[folder]
        if rate >= LIMIT:
            findings += [Finding(path, line, 'PERSON', f'"{word}" in a comment ({folder}: {rate:.1f} such '
                                 f'words per 1,000, below {LIMIT:g} allowed)')
                         for path, line, word in found]
    yield Case('words that make persons of code', examined, findings)

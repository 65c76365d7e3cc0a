# SPDX-License-Identifier: GPL-2.0
"""The project's files as the style checks see them: lists, comments, functions."""
import os
import re
import subprocess
from collections import namedtuple
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
BUILD = TOP / os.environ.get('BUILD', 'build')
STOCK = Path(os.environ.get('STOCK') or TOP / 'build/src/stock')
ARCHES = ('arm64', 'x86_64')

# path: relative to TOP; type: what scripts/style/exceptions may name beside the check.
Finding = namedtuple('Finding', 'path line type text')
# One result: its name, how many files were examined, the findings.
Case = namedtuple('Case', 'name examined findings')
Function = namedtuple('Function', 'name static line end')

TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
DIRECTIVE = re.compile(r'^[ \t]*#(?:[^\n\\]|\\.|\\\n)*', re.M)
ATTRIBUTE = re.compile(r'\b(?:__attribute__|__printf|__scanf|__aligned|__section|__must_hold|__acquires|'
                       r'__releases|__cond_acquires|__alloc_size|__diag\w*|__free|__typeof__|typeof|'
                       r'__nonnull|__counted_by|_Alignas|asm|__no_sanitize)\s*\(')


@lru_cache(None)
def all_files():
    """Every file that git tracks or would add, as it is on disk."""
    done = subprocess.run(['git', 'ls-files', '-co', '--exclude-standard'], cwd=TOP, check=True,
                          stdout=subprocess.PIPE, text=True)
    return tuple(sorted(name for name in set(done.stdout.splitlines()) if (TOP / name).is_file()))


def c_files(*folders):
    """Our C files and headers, those below folders if there are any."""
    return [name for name in all_files() if name.endswith(('.c', '.h')) and
            (not folders or name.startswith(tuple(folder + '/' for folder in folders)))]


@lru_cache(None)
def exceptions():
    """The lines of the list of exceptions as (line, cells)."""
    lines = (Path(__file__).with_name('exceptions')).read_text().splitlines()
    return tuple((number, tuple(line.split('\t'))) for number, line in enumerate(lines, 1)
                 if line and not line.startswith('#'))


def matching_exceptions(check, path, kind):
    """The numbers of the lines that allow a finding."""
    return [number for number, cells in exceptions() if len(cells) == 3 and
            fnmatch(path, cells[0]) and cells[1] in (check, kind)]


@lru_cache(None)
def text_of(path):
    return (TOP / path).read_text(errors='replace')


def line_of(text, offset):
    return text.count('\n', 0, offset) + 1


def comments_in(text):
    """Each comment in the text of a C file as (line, text)."""
    for found in TOKEN.finditer(text):
        if found[0].startswith('/'):
            yield line_of(text, found.start()), found[0]


def comments(path):
    """Each comment of a C file as (line, text)."""
    return comments_in(text_of(path))


def blank(found):
    """The newlines of what is removed, so that lines keep their numbers."""
    return ' ' + '\n' * found[0].count('\n')


@lru_cache(None)
def code_of(path):
    """A C file without comments, strings and preprocessor directives."""
    return DIRECTIVE.sub(blank, TOKEN.sub(blank, text_of(path)))


def includes(path):
    """Each #include of a C file as (line, name); the name keeps its quotes or brackets."""
    for number, line in enumerate(text_of(path).splitlines(), 1):
        found = re.match(r'\s*#\s*include\s+(["<][^">]+[">])', line)
        if found:
            yield number, found[1]


def matching(code, offset, opening, closing):
    """The offset behind the bracket that closes the one at offset."""
    depth = 0
    for found in re.compile(f'[{re.escape(opening + closing)}]').finditer(code, offset):
        depth += 1 if found[0] == opening else -1
        if not depth:
            return found.end()
    return len(code)


def declarations(code):
    """What stands outside of braces: (start, end, text); what begins a block has its end."""
    start, position = 0, 0
    stop = re.compile(r'[;{(]')
    while True:
        found = stop.search(code, position)
        if not found:
            return
        if found[0] == '(':
            position = matching(code, found.start(), '(', ')')
            continue
        text = code[start:found.start()]
        begin = start + len(text) - len(text.lstrip())
        if found[0] == ';':
            start = position = found.end()
            continue
        position = matching(code, found.start(), '{', '}')
        if re.search(r'=\s*$', text) or not is_function(text):
            # An initializer or a type: its declaration ends with the semicolon.
            continue
        yield begin, position, text
        start = position


def without_attributes(text):
    while (found := ATTRIBUTE.search(text)):
        text = text[:found.start()] + text[matching(text, found.end() - 1, '(', ')'):]
    return text


def is_function(text):
    """True if what stands before a block is the head of a function."""
    head, parenthesis, _ = without_attributes(text).partition('(')
    return bool(parenthesis) and '=' not in head and not head.lstrip().startswith('typedef')


def name_of(text):
    """The identifier before the first parenthesis; the argument too where that is a macro."""
    found = re.search(r'(\w+)\s*\(\s*(\w*)', without_attributes(text))
    if not found:
        return '?'
    return f'{found[1]}({found[2]})' if found[1].isupper() or 'DEFINE' in found[1] else found[1]


@lru_cache(None)
def functions(path):
    """The functions that a C file defines."""
    code = code_of(path)
    return tuple(Function(name_of(text), bool(re.search(r'\bstatic\b', text)), line_of(code, begin),
                          line_of(code, end)) for begin, end, text in declarations(code))

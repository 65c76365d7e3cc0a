# SPDX-License-Identifier: GPL-2.0
"""The folders of kernel/events are layers: each needs only itself and those below.

Shown on the objects of each architecture (what one needs, another defines) and on the #include lines.
Files that need each other in a circle are six at most, all in one folder. Of a driver for CPU PMUs two
files at most need each other.
"""
import os
import re
import subprocess
from collections import defaultdict
from pathlib import Path, PurePath

from source import ARCHES, BUILD, Case, Finding, c_files, includes, matching_exceptions

ROOT = 'kernel/events'
LAYERS = ('core', 'output', 'pmus', 'event', 'sched', 'ops', 'uapi')
# Tests reach everywhere; uprobes.c is the base's.
OUTSIDE = ('tests',)
CIRCLE = 6
DRIVERS = {'arm64': 'arch/arm64/kernel/perf', 'x86_64': 'arch/x86/events'}
DRIVER_CIRCLE = 2
DEFINED, NEEDED = 'TDBRVWC', 'Uwv'


def layer_of(path):
    """The folder of a file below ROOT as a number from 1; 0 for what is in no layer."""
    parts = PurePath(path).relative_to(ROOT).parts
    return LAYERS.index(parts[0]) + 1 if parts[0] in LAYERS else 0


def misplaced(files):
    """Files below ROOT that are in no layer."""
    return [Finding(path, 1, 'NO_LAYER', f'is in none of the folders {", ".join(LAYERS)}')
            for path in files if not layer_of(path) and
            PurePath(path).relative_to(ROOT).parts[0] not in OUTSIDE]


def symbols(arch, objects):
    """Each line of nm as (object, kind, name)."""
    tool = 'nm' if os.uname().machine in (arch, {'arm64': 'aarch64'}.get(arch)) else \
        {'arm64': 'aarch64-linux-gnu-nm', 'x86_64': 'x86_64-linux-gnu-nm'}[arch]
    done = subprocess.run([tool, '-A', *objects], check=True, text=True, stdout=subprocess.PIPE)
    for line in done.stdout.splitlines():
        path, rest = line.split(':', 1)
        *_, kind, name = rest.split()
        yield path, kind, name


def edges_of(arch, sources):
    """{(source, source that it needs): a symbol}, from the objects of an architecture."""
    objects = {}
    for path in sources:
        name = BUILD / arch / Path(path).with_suffix('.o')
        if name.exists():
            objects[str(name)] = path
    owner, needs = {}, []
    for name, kind, symbol in symbols(arch, objects) if objects else ():
        if kind in DEFINED:
            owner[symbol] = objects[name]
        elif kind in NEEDED:
            needs.append((objects[name], symbol))
    edges = {}
    for path, symbol in needs:
        if symbol in owner and owner[symbol] != path:
            edges.setdefault((path, owner[symbol]), []).append(symbol)
    return set(objects.values()), edges


def upward(edges):
    return [Finding(path, 1, symbol, f'layer {layer_of(path)} needs {symbol} of {other}, '
                    f'layer {layer_of(other)}')
            for (path, other), found in edges.items() for symbol in found
            if layer_of(other) > layer_of(path)]


def resolve(path, name, headers):
    """The header below ROOT that an #include means; None for one of the rest of the kernel."""
    word = name[1:-1]
    for folder in (PurePath(path).parent, PurePath(ROOT), PurePath(ROOT).parent, PurePath('')):
        found = os.path.normpath(folder / word)
        if found in headers:
            return found
    same = [header for header in headers if header.endswith('/' + os.path.basename(word))]
    return same[0] if name.startswith('"') and len(same) == 1 else None


def include_edges(files):
    headers = {path for path in files if path.endswith('.h')}
    for path in files:
        for number, name in includes(path):
            other = resolve(path, name, headers)
            if other and other != path:
                yield path, number, other


def circles(pairs):
    """The strongly connected parts of a graph that have more than one node (Tarjan)."""
    graph = defaultdict(set)
    for path, other in pairs:
        graph[path].add(other)
    number, low, stack, found = {}, {}, [], []

    def visit(node):
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in number:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], number[other])
        if low[node] == number[node]:
            part = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(part) > 1:
                found.append(sorted(part))

    for node in sorted(graph):
        if node not in number:
            visit(node)
    return found


def without_exceptions(edges):
    """The edges that are not only there by allowed findings."""
    return [(path, other) for (path, other), found in edges.items() if layer_of(other) <= layer_of(path)
            or not all(matching_exceptions('layers', path, symbol) for symbol in found)]


def bad_circles(pairs, reasons):
    """Findings for circles that are too large; reasons gives a pair's symbols, or nothing."""
    for part in circles(pairs):
        folders = {str(PurePath(path).parent) for path in part}
        if len(part) > CIRCLE or len(folders) > 1:
            links = [f'{PurePath(path).stem} -> {PurePath(other).stem} '
                     f'({", ".join(reasons.get((path, other), ()))})'
                     for path, other in sorted(pairs) if path in part and other in part]
            yield Finding(part[0], 1, 'CIRCLE', f'{len(part)} files in {len(folders)} folders need each '
                          f'other: {"; ".join(links)}')


def driver_case(arch):
    folder = DRIVERS[arch]
    sources = [path for path in c_files(folder) if path.endswith('.c') and '/tests/' not in path]
    examined, edges = edges_of(arch, sources)
    found = [part for part in circles(edges) if len(part) > DRIVER_CIRCLE]
    return Case(f'circles of files in {folder}', len(examined), [
        Finding(part[0], 1, 'CIRCLE', f'{len(part)} files need each other: {", ".join(part)}')
        for part in found])


def cases():
    files = [path for path in c_files(ROOT) if not re.match(rf'{ROOT}/({"|".join(OUTSIDE)})/', path)]
    sources = [path for path in files if path.endswith('.c')]
    yield Case('every file of kernel/events is in a layer', len(files), misplaced(files))
    for arch in ARCHES:
        examined, edges = edges_of(arch, sources)
        empty = [layer for layer in LAYERS if not any(layer_of(path) == LAYERS.index(layer) + 1
                                                      for path in examined)]
        findings = [Finding(f'{ROOT}/{layer}', 1, 'NO_OBJECTS', f'has no objects for {arch}; run make '
                            f'kernel ARCH={arch}') for layer in empty]
        yield Case(f'layers of kernel/events on {arch}', len(examined), findings + upward(edges))
        yield Case(f'circles of files on {arch}', len(examined),
                   list(bad_circles(without_exceptions(edges), edges)))
        yield driver_case(arch)
    lines = list(include_edges(files))
    yield Case('no #include of a higher layer', len(lines), [
        Finding(path, number, 'INCLUDE', f'layer {layer_of(path)} includes {other}, layer '
                f'{layer_of(other)}') for path, number, other in lines if layer_of(other) > layer_of(path)])
    yield Case('circles of headers', len(lines),
               list(bad_circles({(path, other) for path, _, other in lines}, {})))

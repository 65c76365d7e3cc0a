# SPDX-License-Identifier: GPL-2.0
"""Functions that the list of regressions names are in the sources; see scripts/regressions."""
import importlib.util
from importlib.machinery import SourceFileLoader

from source import TOP, Case, Finding


def load():
    """scripts/regressions as a module; its name has no suffix."""
    loader = SourceFileLoader('regressions_script', str(TOP / 'scripts/regressions'))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def cases():
    script = load()
    rows, path = script.read_list(), str(script.LIST.relative_to(TOP))
    findings = [Finding(path, row.line, 'NAME', f'{name} not found') for row, name in script.stale_names(rows)]
    yield Case('names in the list of regressions', len(rows), findings)

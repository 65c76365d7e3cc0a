# SPDX-License-Identifier: GPL-2.0
"""What a C header declares, read from the compiler's own words.

Nothing is run, so the target may be any that a compiler on this machine builds objects for. Types
and enumerators are those of debug information (through readelf). Macros are listed by the
preprocessor; their values become enumerators of a generated source and take the same way.
"""
import re
import subprocess

DIE = re.compile(r'^\s*<(\d+)><([0-9a-f]+)>: Abbrev Number: \d+(?: \((DW_TAG_\w+)\))?')
ATTRIBUTE = re.compile(r'^\s*<[0-9a-f]+>\s+DW_AT_(\w+)\s*: (.*)$')
FORM = re.compile(r'^\((?:alt )?\w+\) ?(?:\((?:indirect [^)]*|offset: \w+)\): )?')
DEFINE = re.compile(r'^#define (\w+)(\([^)]*\))?(?: (.*))?$', re.M)
FLAGS = ['-ffreestanding', '-g', '-gdwarf-5', '-gno-column-info',
         '-fno-eliminate-unused-debug-types']


class Die:
    """One debug information entry: tag, attributes as text, children."""
    def __init__(self, tag):
        self.tag, self.attributes, self.children = tag, {}, []

    def name(self):
        return self.attributes.get('name', '')

    def number(self, attribute, default=0):
        value = self.attributes.get(attribute)
        return default if value is None else int(value.split()[0], 0)


def run(command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(' '.join(command) + '\n' + done.stderr)
    return done.stdout


def read_dies(path):
    """({offset: Die}, top level entries) of an object file."""
    dies, stack = {}, []
    top = Die('root')
    for line in run(['readelf', '-W', '--debug-dump=info', path]).split('\n'):
        start = DIE.match(line)
        if start and start.group(3):
            level, die = int(start.group(1)), Die(start.group(3))
            dies[int(start.group(2), 16)] = die
            del stack[level:]
            (stack[-1] if stack else top).children.append(die)
            stack.append(die)
            continue
        attribute = ATTRIBUTE.match(line)
        if attribute and stack:
            value = FORM.sub('', attribute.group(2)).strip()
            stack[-1].attributes[attribute.group(1)] = value
    return dies, top.children[0].children


class Types:
    """Names and shapes of types, independent of the typedefs on the way."""
    def __init__(self, dies):
        self.dies = dies

    def target(self, die):
        reference = re.search(r'<(?:0x)?([0-9a-f]+)>', die.attributes.get('type', ''))
        return self.dies[int(reference.group(1), 16)] if reference else None

    def strip(self, die):
        while die and die.tag in ('DW_TAG_typedef', 'DW_TAG_const_type', 'DW_TAG_volatile_type'):
            die = self.target(die)
        return die

    def describe(self, die):
        die = self.strip(die)
        if die is None:
            return 'void'
        if die.tag == 'DW_TAG_array_type':
            return self.describe(self.target(die)) + ''.join(
                '[%s]' % self.length(c) for c in die.children if c.tag == 'DW_TAG_subrange_type')
        if die.tag == 'DW_TAG_pointer_type':
            return self.describe(self.target(die)) + ' *'
        return die.name() or die.tag

    @staticmethod
    def length(subrange):
        if 'count' in subrange.attributes:
            return subrange.number('count')
        return subrange.number('upper_bound') + 1 if 'upper_bound' in subrange.attributes else ''

    def fields(self, die, base=0):
        """(name, first bit, bits or None, type) of a struct or union, anonymous ones opened up."""
        for member in die.children:
            if member.tag != 'DW_TAG_member':
                continue
            first = base + member.number('data_bit_offset',
                                         8 * member.number('data_member_location'))
            kind = self.strip(self.target(member))
            if not member.name():
                yield from self.fields(kind, first)
            else:
                bits = member.number('bit_size') if 'bit_size' in member.attributes else None
                yield member.name(), first, bits, self.describe(kind)


def types_of(dies, top):
    """{group: {item: facts}} for tagged structs and unions, and for enums by tag or first name."""
    types, found = Types(dies), {}
    for die in top:
        kind = die.tag[len('DW_TAG_'):].split('_')[0]
        if kind in ('structure', 'union') and 'byte_size' in die.attributes and die.name():
            keyword = 'union' if kind == 'union' else 'struct'
            group = found.setdefault('%s %s' % (keyword, die.name()), {})
            group['sizeof'] = '%d bytes' % die.number('byte_size')
            for name, first, bits, text in types.fields(die):
                place = 'byte %d' % (first // 8)
                if bits:
                    place = 'bits %d..%d' % (first, first + bits - 1)
                group[name] = '%s, %s' % (place, text)
        elif kind == 'enumeration':
            first = die.children[0].name() if die.children else ''
            group = found.setdefault('enum ' + (die.name() or '{ %s ... }' % first), {})
            group['sizeof'] = '%d bytes' % die.number('byte_size')
            for constant in die.children:
                group[constant.name()] = hex(constant.number('const_value') % (1 << 64))
    return found


class Header:
    """A header as one compiler sees it, with the given directory before the system's."""
    def __init__(self, compiler, include, scratch):
        self.compiler = compiler + ['-I' + include]
        self.object = scratch

    def compile(self, source, extra=()):
        language = 'c++' if '++' in self.compiler[0] else 'c'
        run(self.compiler + FLAGS + list(extra) + ['-x', language, '-c', '-o', self.object, '-'],
            source)
        return read_dies(self.object)

    def macros(self, source):
        """[(name, parameters or None, body)]"""
        text = run(self.compiler + ['-ffreestanding', '-x', 'c', '-E', '-dM', '-'], source)
        return [m.groups() for m in DEFINE.finditer(text)]

    def values(self, source, expressions):
        """{name: facts} of integer constant expressions given as {name: expression}."""
        names = list(expressions)
        for i, name in enumerate(names):
            e = expressions[name]
            source += ('enum { v_%d = (%s) };\nenum { s_%d = sizeof(%s) };\n'
                       'enum { m_%d = (__typeof__(%s))-1 < 0 };\n' % (i, e, i, e, i, e))
        _, top = self.compile(source)
        got = {c.name(): c.number('const_value') for die in top
               if die.tag == 'DW_TAG_enumeration_type' for c in die.children}
        return {name: '%s, %s %d bytes' % (hex(got['v_%d' % i] % (1 << 64)),
                                           'signed' if got['m_%d' % i] else 'unsigned',
                                           got['s_%d' % i]) for i, name in enumerate(names)}

    def types(self, source):
        return types_of(*self.compile(source))

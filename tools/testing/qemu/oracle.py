# SPDX-License-Identifier: GPL-2.0
"""What branches, precise and ibs share: each boots a guest on some machines and checks its records of a program.

SCRIPT QEMU [MACHINE...] runs the machines side by side, JOBS of them, and prints a table. With --ktap it prints KTAP,
with --list the names of its machines, for scripts/check. KERNEL is stock, ours or debug. A machine of flag O is left
out on the stock kernel, unless it is named.
"""
import base64
import gzip
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
BUILD = TOP / os.environ.get('BUILD', 'build')
KERNEL = os.environ.get('KERNEL') or 'stock'
CROSS = '' if platform.machine() in ('x86_64', 'AMD64') else 'x86_64-linux-gnu-'


class Guests:
    """The guests that run."""

    def __init__(self):
        self.lock, self.processes, self.stopped = threading.Lock(), set(), False

    def run(self, command, **options):
        """The output of a guest."""
        with self.lock:
            if self.stopped:
                raise SystemExit(130)
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                       errors='replace', **options)
            self.processes.add(process)
        output = process.communicate()[0]
        with self.lock:
            self.processes.discard(process)
        return output

    def stop(self, *_):
        """SIGINT or SIGTERM: scripts/boot takes its guest along."""
        # The lock is never held by the main thread, which runs this.
        with self.lock:
            self.stopped = True
            for process in self.processes:
                process.terminate()
        raise SystemExit(130)


GUESTS = Guests()


def instructions_of(path):
    """The instructions of a program as (address, operation, operands)."""
    text = subprocess.run([CROSS + 'objdump', '-d', '--no-show-raw-insn', path], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    return [(int(at, 16), op, re.sub(r' <.*', '', arg))
            for at, op, arg in re.findall(r'^ +([0-9a-f]+):\t((?:lock )?\S+) *(.*)$', text, re.M)]


def boot(kind, qemu, machine, script, archive, append=''):
    """Runs a script in a guest; returns its output and the kernel's log."""
    log = BUILD / f'log/{kind}-{KERNEL}-{machine}.log'
    log.parent.mkdir(parents=True, exist_ok=True)
    guest = BUILD / 'guest-x86_64'
    image = BUILD / ('x86_64' if KERNEL == 'ours' else f'{KERNEL}-x86_64') / 'arch/x86/boot/bzImage'
    if not image.exists():
        sys.exit(f'error: {image} is not built')
    rows = (TOP / 'tools/testing/qemu/pmus').read_text()
    cpu = re.search(rf'^{machine}\s+(.*)$', rows, re.M)[1]
    # The calibration of the APIC's timer waits for 100 ms of instructions, a third of such a guest's time.
    append += '' if KERNEL == 'stock' else ' nolapic_timer'
    with tempfile.NamedTemporaryFile('w', suffix='.job') as job:
        job.write(script)
        job.flush()
        output = GUESTS.run(
            [TOP / 'scripts/boot', 'x86_64', image, log, job.name, guest / 'base.cpio', guest / 'perf.cpio', archive],
            env=dict(os.environ, QEMU=qemu, CPU=cpu, SMP='1', ICOUNT='0,sleep=off', TIMEOUT='900',
                     APPEND=f'{append} {os.environ.get("APPEND", "")}'))
    return output, log.read_text(errors='replace')


def text_of(output, run):
    """What the guest has printed for a run."""
    found = re.search(rf'^@@ {run} (\S+)', output, re.M)
    return gzip.decompress(base64.b64decode(found[1])).decode() if found else ''


def log_row(log, missing=''):
    """The row for the kernel's log; missing: what it lacks."""
    bad = re.search(r'.*(WARNING:|unchecked MSR|Uhhuh|BUG:).*', log)
    return 'log', bad[0] if bad else missing or 'clean', not bad and not missing


class Table:
    """Prints the rows, and counts them."""

    def __init__(self, kind, ktap):
        self.kind, self.ktap, self.passed, self.failed = kind, ktap, 0, 0

    def add(self, machine, what, figures, good):
        self.passed, self.failed = self.passed + good, self.failed + (not good)
        if self.ktap:
            word = 'ok' if good else 'not ok'
            print(f'# {figures}\n{word} {self.passed + self.failed} - {machine} {what}', flush=True)
        else:
            what = f'{KERNEL} {self.kind}: {machine} {what}'
            print(f'{what:<56}{"ok" if good else "FAILED":<8}{figures}', flush=True)

    def close(self):
        print(f'1..{self.passed + self.failed}' if self.ktap else
              f'{self.passed} passed, {self.failed} failed, 0 skipped')


def main(kind, source, program_class, machines, check_machine):
    """machines: their names; check_machine(qemu, name, program, archive) gives rows: what, figures, is it right?"""
    arguments = [arg for arg in sys.argv[1:] if not arg.startswith('--')]
    if '--list' in sys.argv:
        print('\n'.join(machines))
        return 0
    qemu, names = arguments[0], arguments[1:] or list(machines)
    for name in set(names) - set(machines):
        sys.exit(f'error: {kind} does not know {name}; its machines are {" ".join(machines)}')
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, GUESTS.stop)
    table = Table(kind, '--ktap' in sys.argv)
    with tempfile.TemporaryDirectory() as work:
        binary = Path(work) / 'job.program'
        subprocess.run([CROSS + 'gcc', '-static', '-nostdlib', '-no-pie', '-o', binary, source], check=True)
        program = program_class(binary)
        archive = Path(work) / 'program.cpio'
        with archive.open('wb') as out:
            subprocess.run(['cpio', '-o', '-H', 'newc', '-R', '0:0', '--quiet'], input=b'job.program\n', stdout=out,
                           cwd=work, check=True)
        with ThreadPoolExecutor(int(os.environ.get('JOBS') or 2)) as pool:
            results = pool.map(lambda name: list(check_machine(qemu, name, program, archive)), names)
            for name, rows in zip(names, results):
                for row in rows:
                    table.add(name, *row)
    table.close()
    return table.failed != 0

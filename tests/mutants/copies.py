"""Copies of the tree, each with a complete build folder of its own, in which mutants are built and tested.

The folder `clean` holds the sources as they are, and what make built of them. A copy is made equal to `clean` before each
mutant: every file whose time or size differs is put back with its time, so that make builds only what a mutant changes."""
import filecmp
import math
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

BUILD = "build"
# Builds of their own within the build folder, whose objects are not compared.
OWN_BUILDS = {"variants", "sanitized", "aarch64"}
# Code that newer compilers refuse, and that no programmer would leave.
REFUSED_WARNINGS = re.compile(r"\[-W(int-conversion|incompatible-pointer-types|implicit-function-declaration)\]")
# Bounds for a program that runs away, with the seconds of CPU as first argument: no core file, files of 9 GiB (tests have
# sparse ones of 8), and 4 GiB of memory except where a sanitizer reserves far more than it uses.
LIMITED = 'ulimit -c 0; ulimit -f 18874368; ulimit -t "$1"; shift; exec "$@"'
LIMITED_MEMORY = "ulimit -d 4194304; " + LIMITED
RESERVES_MEMORY = re.compile(r"sanit|fuzz|\b(system|popen|execvp?|execve|posix_spawnp?)\(")
# What a program that has used its CPU time ends with, and a shell whose program has.
OUT_OF_TIME = (-signal.SIGXCPU, -signal.SIGKILL, 128 + signal.SIGXCPU, 128 + signal.SIGKILL)
# Seconds of wall-clock time for each second of CPU time. No test waits long for anything but the CPU, which may be busy.
WALL_SECONDS = 15


class Stopped(Exception):
    """The user ends the run."""


class Processes:
    """The process groups that run at present, so that all of them can be ended at once."""

    def __init__(self):
        self.lock, self.running, self.is_stopped = threading.Lock(), set(), False

    def run(self, command, folder, environment, seconds=None):
        """The exit status, the output, and the seconds of CPU of the command and of all that it waited for. The status is
        None if it ran longer than `seconds` of wall-clock time."""
        with tempfile.TemporaryFile() as log:
            with self.lock:
                if self.is_stopped:
                    raise Stopped
                process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log,
                                           stderr=subprocess.STDOUT, start_new_session=True)
                self.running.add(process)
            status, cpu = self.wait(process, seconds)
            if self.is_stopped:
                raise Stopped
            log.seek(0)
            return status, log.read(1 << 20).decode("utf-8", "replace"), cpu

    def wait(self, process, seconds):
        """Waits for the process, and ends what it left behind in its group."""
        end, pause, pid = time.monotonic() + (seconds or float("inf")), 0.002, 0
        while not pid and time.monotonic() < end:
            time.sleep(pause)
            pause = min(2 * pause, 0.1)
            with self.lock: # stop() may not end a group whose number another one has by now
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                if pid:
                    self.running.discard(process)
        self.end(process)
        if not pid:
            with self.lock:
                _, status, usage = os.wait4(process.pid, 0)
                self.running.discard(process)
        process.returncode = os.waitstatus_to_exitcode(status)
        return process.returncode if pid else None, usage.ru_utime + usage.ru_stime

    @staticmethod
    def end(process):
        """Ends the process and whatever is in its group."""
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass

    def stop(self):
        with self.lock:
            self.is_stopped = True
            for process in self.running:
                self.end(process)


PROCESSES = Processes()


def files_of(root):
    """The files of the working tree that belong to it, sorted; without git, all but hidden and built ones."""
    listed = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=root, capture_output=True)
    if listed.returncode == 0 and listed.stdout:
        names = listed.stdout.decode().split("\0")
    else:
        names = [os.path.relpath(os.path.join(folder, name), root)
                 for folder, _, files in os.walk(root) for name in files]
        names = [name for name in names if not re.match(r"(build|\.git|\.cache)", name)]
    return sorted(name for name in set(names) if name and os.path.isfile(os.path.join(root, name)))


def snapshot(folder):
    """The time and size of each file below a folder. Links are not followed."""
    found, pending = {}, [""]
    while pending:
        below = pending.pop()
        with os.scandir(os.path.join(folder, below)) as entries:
            for entry in entries:
                name = os.path.join(below, entry.name)
                if entry.is_dir(follow_symlinks=False):
                    pending.append(name)
                else:
                    status = entry.stat(follow_symlinks=False)
                    found[name] = (status.st_mtime_ns, status.st_size)
    return found


def put(source, target):
    """Copies a file or a link with its time."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_symlink() or target.exists():
        target.unlink()
    shutil.copy2(source, target, follow_symlinks=False)


class Copy:
    """One copy of the tree."""

    def __init__(self, folder, variables, cases=0):
        """`cases` is the FIRN_TEST_SEED, which says what cases of a long test are taken."""
        self.folder, self.variables, self.cases = Path(folder), variables, cases
        self.scratch = self.folder.with_name(self.folder.name + "-tmp")

    def environment(self):
        """That of the caller, without what make and its variables added to it."""
        own = {"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "N", "SEED", "STAGE", "REPORT", "LIMIT", "DIR",
               "AGAIN", "ONLY"} | {word.split("=")[0] for word in self.variables}
        self.scratch.mkdir(parents=True, exist_ok=True)
        return {**{name: value for name, value in os.environ.items() if name not in own}, "BUILD": BUILD,
                "SANITIZED": BUILD + "/sanitized", "TMPDIR": str(self.scratch), "LC_ALL": "C",
                "FIRN_TEST_SEED": str(self.cases)}

    def make(self, goals, options=("-j1",)):
        """Runs make without -Werror: a warning is no sign that a test would give. Returns status and output."""
        status, output, _ = PROCESSES.run(["make", "--no-print-directory", "-s", *options, "BUILD=" + BUILD, "WERROR=", "JOBS=1",
                                          *self.variables, *goals], self.folder, self.environment())
        return status, output

    def run(self, test, source, variables, seconds):
        """Runs a test that may take so many seconds of CPU, in one process: its status, or None if it was stopped after
        too long, and the seconds of CPU that it took. The source tells what it runs."""
        text = (self.folder / source).read_text()
        limited = LIMITED if "sanitized" in test.name or RESERVES_MEMORY.search(text) else LIMITED_MEMORY
        status, _, cpu = PROCESSES.run(["sh", "-c", limited, "sh", str(math.ceil(seconds)), test.command], self.folder,
                                       {**self.environment(), **variables}, WALL_SECONDS * seconds)
        shutil.rmtree(self.scratch, ignore_errors=True)
        return (None if status in OUT_OF_TIME else status), cpu

    def restore(self, clean, wanted):
        """Makes this copy equal to `clean`, whose snapshot is `wanted`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        there = snapshot(self.folder)
        for name in there.keys() - wanted.keys():
            (self.folder / name).unlink()
        for name, stamp in wanted.items():
            if there.get(name) != stamp:
                put(clean.folder / name, self.folder / name)

    def changed_objects(self, clean, names):
        """Those of the objects whose code differs from the clean one's. Debug information does not count."""
        return [name for name in names if not same_code(clean.folder / name, self.folder / name, self.scratch)]


def same_code(a, b, scratch):
    if filecmp.cmp(a, b, shallow=False):
        return True
    scratch.mkdir(parents=True, exist_ok=True)
    stripped = [scratch / "a.o", scratch / "b.o"]
    for source, target in zip((a, b), stripped):
        subprocess.run(["objcopy", "--strip-debug", source, target], check=True)
    return filecmp.cmp(*stripped, shallow=False)


def update_clean(root, clean):
    """Copies to `clean` what changed in the working tree. A copied file is new to make."""
    names = files_of(root)
    for name in names:
        source, target = Path(root, name), clean.folder / name
        if not target.exists() or not filecmp.cmp(source, target, shallow=False):
            put(source, target)
            os.utime(target)
    kept = set(names) | {".cache"}
    for name in snapshot(clean.folder):
        if name not in kept and not name.startswith(BUILD + "/"):
            (clean.folder / name).unlink()
    link = clean.folder / ".cache"
    if not link.is_symlink() and Path(root, ".cache").exists():
        link.symlink_to(Path(root, ".cache").resolve())


def objects_by_source(clean):
    """For each source and header, the objects that were compiled from it."""
    found = {}
    for folder, below, names in os.walk(clean.folder / BUILD):
        below[:] = sorted(set(below) - OWN_BUILDS)
        for name in sorted(names):
            if name.endswith(".d"):
                target = os.path.relpath(os.path.join(folder, name[:-1] + "o"), clean.folder)
                if not (clean.folder / target).exists():
                    continue
                rule = Path(folder, name).read_text().replace("\\\n", " ").split("\n")[0]
                for source in rule.partition(":")[2].split():
                    found.setdefault(source, []).append(target)
    return found

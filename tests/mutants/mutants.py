"""Plants one small fault at a time and sees whether the tests notice: `make mutants N=400 SEED=1`.

    mutants.py [--number N] [--seed SEED] [--stage 1|2] [--limit SECONDS] [--only WORDS] [--mutant-seconds SECONDS]
               [--minutes MINUTES] [--jobs JOBS] [--folder FOLDER] [--report] [--again] [VARIABLE=VALUE]...

N / 4 mutants are drawn in each of plan, schedules, compiler and runtime. Stage 1 runs what `make test` runs, of that the tests
that run the changed line (reach.py), those nearest to the file first, and stops at the first that fails; stage 2 runs the further
tests of `make test-all` on what stage 1 lets live. A test that takes five times as much CPU time as on the clean tree, and more than 20 seconds, counts
as failed. The variables are make's: PORTABLE=1, CC=clang.

Results are appended to FOLDER/results-SEED. A run that was stopped goes on where it was. One with --again asks the tests that
no run has asked yet about each survivor: first quick tests (--limit 1) about all mutants, then all tests about those that live."""
import argparse
import json
import os
import queue
import random
import re
import signal
import sys
import threading
import time
import zlib
from pathlib import Path

import selection
from copies import BUILD, PROCESSES, Copy, Stopped, objects_by_source, snapshot, update_clean, REFUSED_WARNINGS
from draw import FOLDERS, OPS, Draw
from faults import change, planted
from reach import Reach
from results import KILLED, REJECTED, Results, read_equivalents, report

ROOT = Path(__file__).resolve().parent.parent.parent
LEAST_SECONDS, TIMES_AS_LONG, LONGEST = 20, 5, 1800
COMPILE_ERROR = re.compile(r"^\S+\.(c|h|def):\d+:\d+: (fatal )?error:", re.MULTILINE)
BATCH = 8 # tests that are linked together, after the nearest one


def say(text):
    print(f"{time.strftime('%H:%M:%S')}  {text}", flush=True)


class Run:
    """The clean tree, the copies, the tests and the results of one run."""

    def __init__(self, options):
        self.options = options
        self.folder = Path(options.folder).resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.draw = Draw(ROOT, options.seed)
        self.results = Results(self.folder / f"results-{options.seed}", self.draw.tree())
        self.wanted = {f: options.number // 4 + (i < options.number % 4) for i, f in enumerate(FOLDERS)}
        self.equivalents = read_equivalents(ROOT / "tests/mutants/equivalent")
        cases = zlib.crc32(options.seed.encode())
        self.clean = Copy(self.folder / "clean", options.variables, cases)
        self.copies = [Copy(self.folder / f"copy-{i}", options.variables, cases) for i in range(options.jobs)]
        self.reach = Reach(self.folder / "clean", self.folder, self.draw.tree(), options.variables, cases)
        self.tests, self.seconds = {}, {}
        self.lock = threading.Condition()
        self.next = dict.fromkeys(FOLDERS, 0)
        self.accepted, self.pending = dict.fromkeys(FOLDERS, 0), dict.fromkeys(FOLDERS, 0)
        self.changes = set() # (file, after) of every mutant so far, so that none is drawn twice

    # --- before the first mutant ---

    def prepare(self, stage):
        """Builds the clean tree with the tests of the stage, and runs each on it: its time counts, and whether it passes."""
        say(f"stage {stage}: building the clean tree")
        if stage == 1:
            update_clean(ROOT, self.clean)
            status, output = self.clean.make(["all", f"{BUILD}/generate"], (f"-j{self.options.jobs}", "-k"))
            if status != 0:
                raise SystemExit(f"the clean tree does not build:\n{output[-3000:]}")
        tests = self.listed(stage)
        self.with_sets = selection.needs_sets([*tests, *self.tests.get(1, [])])
        # A test that does not build fails below.
        selection.build(self.clean, tests, self.with_sets, (f"-j{self.options.jobs}", "-k"))
        self.clean_files = snapshot(self.clean.folder)
        self.objects = objects_by_source(self.clean)
        self.tests[stage] = self.measure(tests)
        self.reach.measure(self.tests[stage], self.options.jobs, lambda work: self.in_every_copy(lambda _: work()),
                           say)
        seconds = sum(self.seconds[selection.key(test)] for test in self.tests[stage])
        say(f"stage {stage}: {len(self.tests[stage])} tests, {seconds:.0f} s")

    def listed(self, stage):
        tests = selection.tests_of(self.clean, stage)
        limit, only = self.options.limit, self.options.only.split()
        tests = [test for test in tests if not only or any(word in test.name for word in only)]
        return [test for test in tests if not limit or test.seconds <= limit]

    def measure(self, tests):
        """Runs the tests whose time is not known. Returns those that pass on the clean tree within the limit; the others
        are named."""
        path = self.folder / "times.json"
        times = json.loads(path.read_text()) if path.exists() else {}
        limit = self.options.limit or LONGEST
        waiting = queue.SimpleQueue()
        for test in tests:
            seconds, result = times.get(selection.key(test), (0, "unknown"))
            if result != "passed" and not (result == "stopped" and seconds > limit):
                waiting.put(test)
        say(f"{waiting.qsize()} of {len(tests)} tests are timed on the clean tree")

        def work(copy):
            copy.restore(self.clean, self.clean_files)
            while True:
                try:
                    test = waiting.get_nowait()
                except queue.Empty:
                    return
                status, seconds = copy.run(test, selection.source_of(test), selection.environment(test), 2 * limit)
                with self.lock:
                    times[selection.key(test)] = (seconds, {0: "passed", None: "stopped"}.get(status, "failed"))
                    path.write_text(json.dumps(times, indent=1))

        self.in_every_copy(work)
        results = {selection.key(test): times[selection.key(test)] for test in tests}
        for result, reason in (("failed", "fail on the clean tree"), ("stopped", "take too long")):
            names = sorted(name for name in results if results[name][1] == result)
            if names:
                say(f"left out, because they {reason}: {' '.join(names)}")
        self.seconds.update((name, seconds) for name, (seconds, result) in results.items() if result == "passed")
        return [test for test in tests if self.seconds.get(selection.key(test), limit + 1) <= limit]

    def in_every_copy(self, work):
        """Calls work(copy) for all copies at once, and waits. An exception of one ends the run."""
        failures = []

        def guarded(copy):
            try:
                work(copy)
            except Stopped:
                pass
            except BaseException as failure: # noqa: B902
                failures.append(failure)
                PROCESSES.stop()

        threads = [threading.Thread(target=guarded, args=(copy,)) for copy in self.copies]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        if PROCESSES.is_stopped:
            raise Stopped

    # --- one mutant ---

    def plant(self, copy, id, name, fault):
        """Makes a mutant, or finds out why it is none. Returns the entry of stage 1, so far without a result."""
        text = self.draw.texts[name]
        before, after = change(text, fault)
        entry = {"id": id, "stage": 1, "file": name, "line": fault.line, "kind": fault.kind, "before": before, "after": after}
        objects = self.objects.get(name, [])
        with self.lock:
            is_new = (name, fault.edits) not in self.changes
            self.changes.add((name, fault.edits))
        if not is_new:
            return {**entry, "result": "drawn before"}
        if not objects:
            return {**entry, "result": "absent"}
        self.write(copy, name, fault)
        if name == OPS:
            status, _ = copy.make(["generate"])
            objects = sorted({o for s, of in self.objects.items() if s.startswith("plan/generated/") for o in of})
            if status != 0:
                return {**entry, "result": "uncompiled"}
        status, output = copy.make(objects)
        if status != 0 or REFUSED_WARNINGS.search(output):
            return {**entry, "result": "uncompiled"}
        if not copy.changed_objects(self.clean, objects):
            return {**entry, "result": "unchanged"}
        return entry

    def write(self, copy, name, fault):
        copy.restore(self.clean, self.clean_files)
        path = copy.folder / name
        path.unlink()
        path.write_text(planted(self.draw.texts[name], fault))

    def ask(self, copy, entry, tests, most_seconds=None):
        """Runs the tests, the nearest first, until one fails. Returns the entry with the result; that of a mutant that lives
        has the names of the tests that passed, which are not asked again."""
        begin, run = time.monotonic(), 0
        passed = set(entry.get("passed", ()))
        tests = [test for test in tests if selection.key(test) not in passed]
        order = selection.order(copy, tests, entry["file"], entry["line"], self.reach, self.seconds)
        start = 0
        while start < len(order):
            batch = order[start:start + (BATCH if start else 1)]
            start += len(batch)
            status, output = selection.build(copy, batch, self.with_sets)
            if status != 0:
                result = "uncompiled" if COMPILE_ERROR.search(output) else "killed"
                return {**entry, "result": result, "by": "the build", "seconds": round(time.monotonic() - begin, 1)}
            for test in batch:
                if most_seconds and time.monotonic() - begin > most_seconds:
                    return {**entry, "result": "survived", "cut": True, "tests": run, "passed": sorted(passed),
                            "seconds": round(time.monotonic() - begin, 1)}
                if selection.same_program(copy, self.clean, test):
                    passed.add(selection.key(test))
                    continue
                run += 1
                most = max(LEAST_SECONDS, TIMES_AS_LONG * self.seconds[selection.key(test)])
                status, _ = copy.run(test, selection.source_of(test), selection.environment(test), most)
                if status != 0:
                    return {**entry, "result": "timeout" if status is None else "killed", "by": selection.key(test),
                            "seconds": round(time.monotonic() - begin, 1)}
                passed.add(selection.key(test))
        return {**entry, "result": "survived", "tests": run, "passed": sorted(passed),
                "seconds": round(time.monotonic() - begin, 1)}

    # --- all mutants ---

    def take(self):
        """The id of the next candidate, or None if each folder has as many mutants as are wanted."""
        with self.lock:
            while True:
                open_folders = [f for f in FOLDERS if self.accepted[f] + self.pending[f] < self.wanted[f]]
                if open_folders:
                    folder = min(open_folders, key=lambda f: self.accepted[f] + self.pending[f])
                    self.next[folder] += 1
                    self.pending[folder] += 1
                    return folder, self.next[folder] - 1
                if not any(self.pending.values()) or PROCESSES.is_stopped:
                    return None
                self.lock.wait(1)

    def decide(self, folder, is_mutant):
        with self.lock:
            self.pending[folder] -= 1
            self.accepted[folder] += is_mutant
            self.lock.notify_all()

    def stage_1(self, copy):
        while (taken := self.take()) is not None:
            folder, index = taken
            id = f"{folder}-{index}"
            name, fault = self.draw.candidate(folder, index)
            known = self.results.of(id, 1)
            if known and known["result"] != "drawn before":
                with self.lock:
                    self.changes.add((name, fault.edits))
            if known and not (self.options.again and known["result"] == "survived"):
                entry = known
            else:
                with self.lock:
                    if known:
                        self.changes.discard((name, fault.edits))
                self.out_of_time()
                entry = self.plant(copy, id, name, fault)
                if "result" not in entry:
                    entry = self.ask(copy, {**entry, "passed": (known or {}).get("passed", [])}, self.tests[1])
                self.results.append(entry)
                self.tell(entry)
            self.decide(folder, entry["result"] not in REJECTED)

    def stage_2(self, copy):
        known = {selection.key(test) for test in self.tests[1]}
        further = [test for test in self.tests[2] if selection.key(test) not in known]
        while True:
            with self.lock:
                if not self.survivors:
                    return
                id, first = self.survivors.pop(0)
            self.out_of_time()
            folder, index = id.split("-")
            name, fault = self.draw.candidate(folder, int(index))
            self.write(copy, name, fault)
            if name == OPS:
                copy.make(["generate"])
            entry = self.ask(copy, {**first, "stage": 2}, further, self.options.mutant_seconds)
            self.results.append(entry)
            self.tell(entry)

    def out_of_time(self):
        if time.monotonic() > self.options.end:
            PROCESSES.stop()
            raise Stopped

    def tell(self, entry):
        if entry["result"] in REJECTED:
            return
        say(f"{entry['id']}  {entry['file']}:{entry['line']}  {entry['result']}  {entry.get('by', '')}  {entry['seconds']} s")

    def all_stages(self):
        self.prepare(1)
        self.in_every_copy(self.stage_1)
        if self.options.stage == 2:
            self.prepare(2)
            self.survivors = [(id, stages[1]) for id, stages in sorted(self.results.found.items())
                              if stages[1]["result"] == "survived" and (2 not in stages or self.options.again and
                                                                        stages[2]["result"] not in KILLED)]
            self.in_every_copy(self.stage_2)

    def print_report(self):
        print("\n".join(report(self.results, self.wanted, self.equivalents)), flush=True)
        print(f"\nnot drawn: plan/generated and {len([n for n in self.draw.not_drawn if '/generated/' not in n])} files "
              f"for other machines; {len(self.draw.texts)} files are drawn from, {sum(map(len, self.draw.lines.values()))} lines")


def seed_of_report(parser, options):
    """The seed whose results are printed: the one that is asked for, or the only one that there is."""
    seeds = sorted(path.name.removeprefix("results-") for path in Path(options.folder).glob("results-*"))
    if options.seed in seeds or not options.seed and len(seeds) == 1:
        return options.seed or seeds[0]
    parser.error(f"{options.folder} has no results of SEED={options.seed}; it has {', '.join(seeds) or 'none'}" if options.seed
                 else f"SEED is missing; {options.folder} has the results of {', '.join(seeds) or 'none'}")


def options_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--number", type=int, default=400)
    parser.add_argument("--seed", default="")
    parser.add_argument("--stage", type=int, choices=(1, 2), default=2)
    parser.add_argument("--limit", type=float, default=0, help="only tests that take no longer, in seconds")
    parser.add_argument("--only", default="", help="only tests whose names contain one of these words")
    parser.add_argument("--mutant-seconds", type=float, default=3600, help="of stage 2, for each mutant")
    parser.add_argument("--minutes", type=float, default=0, help="when the run ends, finished or not")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--folder", default=str(ROOT / "build/mutants"))
    parser.add_argument("--report", action="store_true", help="print what is known, and test nothing")
    parser.add_argument("--again", action="store_true", help="ask the tests that were not asked yet about the survivors")
    parser.add_argument("variables", nargs="*")
    options = parser.parse_args(arguments)
    if options.number < 1:
        parser.error(f"N is {options.number}: at least one mutant is drawn")
    if not re.fullmatch(r"[\w.-]*", options.seed):
        parser.error(f"the seed {options.seed!r} names a file: letters, digits, '.', '_' and '-' only")
    if options.report:
        options.seed = seed_of_report(parser, options)
    options.end = time.monotonic() + 60 * options.minutes if options.minutes else float("inf")
    if not options.seed:
        options.seed = str(random.SystemRandom().randrange(10**6))
        print(f"SEED={options.seed}", flush=True)
    return options


def main():
    options = options_of(sys.argv[1:])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: threading.Thread(target=PROCESSES.stop).start())
    run = Run(options)
    try:
        if not options.report:
            run.all_stages()
    except Stopped:
        say("stopped; the same command goes on from here")
    run.print_report()


if __name__ == "__main__":
    main()

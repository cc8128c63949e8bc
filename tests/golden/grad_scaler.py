#!/usr/bin/env python3
"""The behaviour of the gradient scaler, step by step, for scripted sequences of finite and overflowing gradients.

This models the rules only; it was written from their description, without use of libfirn: the rules of update(), the
counters, the skip, the clamp at both ends, the fatal stop, static scaling, and the counters of steps and schedules that
stand still when a step is skipped.

Writes grad_scaler.def beside this script; tests/unit/test_grad_scaler.c includes it:
  SCALER_SEQUENCE(name, settings)      settings: keys of precision, for the recipe grad_scaler.yaml
  SCALER_STEP(overflow, scale used, scale after, steps, overflows, skipped in all, optimizer steps, learning rate, fatal)

Run: python3 tests/golden/grad_scaler.py    Neither the build nor the tests need it."""
import random
import struct
from pathlib import Path


def single(x):
    """The binary32 number nearest to x."""
    return struct.unpack("<f", struct.pack("<f", x))[0]


# The schedule of grad_scaler.yaml: a line from RATE to 0 over DECAY optimizer steps.
RATE, DECAY = 0.0009765625, 64


class Dynamic:
    def __init__(self, init=None, steps_per_increase=2000, minimum=2.0**-14, maximum=None, tolerance=0.0, kind="float16"):
        usual = 2.0**31 if kind == "cbfloat16" else 2.0**15
        self.maximum = usual if maximum is None else maximum
        self.minimum = minimum
        self.scale = min(self.maximum, usual if init is None else init)
        self.steps_per_increase = steps_per_increase
        self.tolerance = single(tolerance)
        self.steps = self.overflows = self.skipped = 0

    def is_skipped(self, overflow):
        self.skipped += overflow
        return overflow

    def update(self, overflow):
        """Returns True if the run must end, because the gradients overflow even at the smallest scale."""
        self.steps += 1
        self.overflows += overflow
        if self.tolerance < single(self.overflows / self.steps):
            self.scale /= 2
            self.steps = self.overflows = 0
        if self.steps_per_increase < self.steps:
            self.scale *= 2
            self.steps = self.overflows = 0
        self.scale = min(self.scale, self.maximum)
        before_the_floor = self.scale
        self.scale = max(self.scale, self.minimum)
        return before_the_floor < self.scale


class Static:
    """Does not test for overflow, so an overflow reaches the parameters."""

    steps = overflows = skipped = 0

    def __init__(self, scale):
        self.scale = scale

    def is_skipped(self, overflow):
        return False

    def update(self, overflow):
        return False


SEQUENCES = []


def sequence(name, script, kind="float16", factor="dynamic", more=(), **arguments):
    settings = [f"fp16_type={kind}", f"loss_scaling_factor={factor}"]
    names = {"init": "initial_loss_scale", "minimum": "min_loss_scale", "maximum": "max_loss_scale",
             "tolerance": "overflow_tolerance", "steps_per_increase": "steps_per_increase"}
    settings += [f"{names[key]}={value!r}" for key, value in arguments.items()]
    settings += more
    scaler = Dynamic(kind=kind, **arguments) if factor == "dynamic" else Static(factor)
    steps, taken = [], 0
    for mark in script:
        overflow = mark == "x"
        used, rate = scaler.scale, single(RATE * ((DECAY - taken) / DECAY) + 0.0 * (taken / DECAY))
        if not scaler.is_skipped(overflow):
            taken += 1
        fatal = scaler.update(overflow)
        steps.append((overflow, used, scaler.scale, scaler.steps, scaler.overflows, scaler.skipped, taken, rate, fatal))
        if fatal:
            break
    SEQUENCES.append((name, settings, steps))


def noise(seed, length, share):
    generator = random.Random(seed)
    return "".join("x" if generator.random() < share else "." for _ in range(length))


# --- one rule each ---
sequence("nothing overflows", "." * 12)
sequence("the first step overflows", "x...")
sequence("the last step overflows", "....x")
sequence("every other step overflows", "x.x.x.x.x.x.")
sequence("overflows in a row", "..xxxxx..")
sequence("growth comes one step late", "." * 6, steps_per_increase=3, maximum=2.0**20)
sequence("growth again and again", "." * 17, steps_per_increase=3, maximum=2.0**24, init=1.0)
sequence("growth after every step but one", "." * 9, steps_per_increase=1, maximum=2.0**30, init=4.0)
sequence("an overflow restarts the wait for growth", "..x..x....", steps_per_increase=3, maximum=2.0**20)
sequence("an overflow on the step of growth", "...x....", steps_per_increase=3, maximum=2.0**20)
sequence("growth stops at the maximum", "." * 14, steps_per_increase=2, maximum=2.0**17)
sequence("the maximum is no power of two", "." * 10, steps_per_increase=1, maximum=50000.0)
sequence("halves from a maximum that is no power of two", "x.x..x...", steps_per_increase=1, maximum=50000.0)
sequence("an initial scale above the maximum is lowered", "..x..", init=2.0**20, maximum=1024.0)
sequence("an initial scale is no power of two", ".x.x.", init=3.0)
# --- the floor ---
sequence("the floor is reached and held", "xx....", init=4.0, minimum=1.0)
sequence("below the floor the run ends", "xxx...", init=4.0, minimum=1.0)
sequence("at the floor from the start", "..x...", init=1.0, minimum=1.0)
sequence("the floor is no power of two", "x.xx", init=5.0, minimum=1.5)
sequence("the usual floor", "x" * 32)
sequence("grown back from the floor", "xx...x..xx", init=4.0, minimum=1.0, steps_per_increase=1)
# --- tolerance: an early overflow always halves the scale, a late one is skipped without halving ---
sequence("tolerance, early overflow", "x.....", tolerance=0.5)
sequence("tolerance, overflow at exactly the share", ".x....", tolerance=0.5)
sequence("tolerance, overflow just above the share", ".xx...", tolerance=0.5)
sequence("tolerance, late overflows are forgiven", "." * 9 + "x" + "." * 9 + "x...", tolerance=0.1)
sequence("tolerance of a third", "..x..x..xx..", tolerance=0.3333333432674408)
sequence("tolerance of one never halves", "xxxxxx..x", tolerance=1.0)
sequence("tolerance and growth on one step", "...x...x", tolerance=0.3, steps_per_increase=3, maximum=2.0**20)
sequence("a forgiven overflow does not restart the wait", "....x....", tolerance=0.25, steps_per_increase=6,
         maximum=2.0**20)
# --- the other types, static scaling, clipping ---
sequence("cbfloat16 begins at 2^31", "x..x.", kind="cbfloat16")
sequence("bfloat16 may be scaled too", ".x..", kind="bfloat16")
sequence("static scaling skips nothing", "...x..", factor=128.0)
sequence("static scaling of one", "..x.", factor=1.0)
sequence("clipping by norm", "..x..x.", more=["max_gradient_norm=0.0001"])
sequence("clipping by value", "..x..x.", more=["max_gradient_value=0.0001"])
# --- all rules together ---
for seed in range(6):
    sequence(f"noise {seed}", noise(seed, 40, 0.15), steps_per_increase=4, init=256.0, minimum=2.0, maximum=4096.0,
             tolerance=(0.0, 0.2)[seed % 2])


def main():
    lines = ["/* Written by grad_scaler.py; do not edit. */", "/* clang-format off */"]
    for name, settings, steps in SEQUENCES:
        lines.append(f'SCALER_SEQUENCE("{name}", "{" ".join(settings)}")')
        for overflow, used, after, count, overflows, skipped, taken, rate, fatal in steps:
            lines.append(f"SCALER_STEP({int(overflow)}, {used.hex()}f, {after.hex()}f, {count}, {overflows}, {skipped}, "
                         f"{taken}, {rate.hex()}f, {int(fatal)})")
    Path(__file__).with_suffix(".def").write_text("\n".join(lines) + "\n")


main()

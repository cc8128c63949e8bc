#!/usr/bin/env python3
"""An oracle of the schedules: the value of each class of a recipe, from the formulas of the reference and the choices in
schedules/SCHEDULES.md, in decimal arithmetic of 50 digits. It shares nothing with schedules/ except that document. Each
number of a recipe is first rounded to the nearest binary64.

Run: python3 tests/golden/schedules.py
         writes schedules.def beside this script, which tests/unit/test_schedules.c includes:
         SCHEDULE_CASE(lines of a recipe, true for the weight decay, false for the learning rate)
         SCHEDULE_VALUE(case, step, bits of binary32, binary64)
     python3 tests/golden/schedules.py check FIRNC RECIPE STEPS
         compares every step below STEPS of every case with what `firnc schedule` prints; RECIPE supplies the other keys.

Firn can be built and run without this script; `make test-long` runs the second form."""
import json
import math
import subprocess
import struct
import sys
from decimal import ROUND_FLOOR, Decimal as D, getcontext
from fractions import Fraction
from multiprocessing import Pool
from pathlib import Path

getcontext().prec = 50


# --- functions --------------------------------------------------------------------------------------------------------

def arctangent_of_inverse(n):
    total, power, k = D(0), D(1) / n, 0
    while abs(power) > D(10) ** -55:
        total += power / (2 * k + 1) * (-1 if k % 2 else 1)
        power /= n * n
        k += 1
    return total


PI = 4 * (4 * arctangent_of_inverse(5) - arctangent_of_inverse(239))


def cosine(x):
    x = x % (2 * PI)
    if x > PI:
        x = 2 * PI - x
    if x > PI / 2:
        return -cosine(PI - x)
    total, term, k, square = D(0), D(1), 0, x * x
    while abs(term) > D(10) ** -56:
        total += term
        term *= -square / ((k + 1) * (k + 2))
        k += 2
    return total


def floor(x):
    return x.to_integral_value(rounding=ROUND_FLOOR)


def power(x, y):
    """0 to the 0 is 1."""
    if y == 0:
        return D(1)
    if x == 0:
        return D(0)
    return x ** int(y) if y == floor(y) else (y * x.ln()).exp()


def rounded(x, digits, smallest):
    """The binary number of so many digits nearest to x, ties to even; smallest is the exponent of the last place of a
    subnormal."""
    if x == 0:
        return 0.0
    exponent = max(math.frexp(float(x))[1] - digits, smallest)  # may be one too large, which loses no significant digit
    unit = Fraction(2) ** exponent
    exact = Fraction(x) / unit
    if abs(exact) < Fraction(2) ** (digits - 1) and exponent > smallest:
        unit, exact = unit / 2, exact * 2
    return float(round(exact) * unit)


def bits_of(single):
    """The bits of a binary32 number that a Python float holds."""
    return struct.unpack("<I", struct.pack("<f", single))[0]


# --- the classes ------------------------------------------------------------------------------------------------------

def number(x):
    return D(float(x))


def constant(s, t):
    return s["initial"]


def polynomial(s, t):
    exponent = s.get("power", D(1))
    if t >= s["total_iters"]:
        return s["end"]
    return (s["initial"] - s["end"]) * power(1 - t / s["total_iters"], exponent) + s["end"]


def exponential(s, t):
    exponent = t / s["total_iters"]
    return s["initial"] * power(s["decay_rate"], floor(exponent) if s.get("staircase") else exponent)


def inverse_time(s, t):
    quotient = power(t, s["step_exponent"]) / s["total_iters"]
    if s.get("staircase"):
        nearest = quotient.to_integral_value()
        quotient = nearest if abs(quotient - nearest) < D(10) ** -40 else floor(quotient)
    return s["initial"] / (1 + s["decay_rate"] * quotient)


def inverse_square_root(s, t):
    return s.get("initial", D(1)) * s.get("scale", D(1)) / max(t, s.get("warmup_steps", D(1))).sqrt()


def cosine_from_to(begin, end, part):
    return end + (begin - end) * (1 + cosine(PI * part)) / 2


def cosine_decay(s, t):
    return cosine_from_to(s["initial"], s["end"], min(t, s["total_iters"]) / s["total_iters"])


def cosine_annealing(s, t):
    return cosine_from_to(s["initial"], s.get("eta_min", D(0)), t / s["T_max"])


def warm_restarts(s, t):
    return cosine_from_to(s["initial"], s.get("eta_min", D(0)), (t % s["T_0"]) / s["T_0"])


def passed(milestones, t):
    return sum(1 for m in milestones if m <= t)


def multi_step(s, t):
    return s["initial"] * s["gamma"] ** passed(s["milestones"], t)


def step(s, t):
    return s["initial"] * power(s["gamma"], t // s["step_size"])


def piecewise(s, t):
    return s["values"][passed(s["milestones"], t)]


def multiplicative(s, t):
    return s["initial"] * power(s["coefficient"], t)


def cyclic(s, t):
    up = s.get("step_size_up", D(2000))
    total = up + s.get("step_size_down", up)
    ratio, cycle = up / total, floor(1 + t / total)
    x = 1 + t / total - cycle
    x = (t - (cycle - 1) * total) / total
    height = x / ratio if x <= ratio else (x - 1) / (ratio - 1)
    mode = s.get("mode", "triangular")
    factor = {"triangular": D(1), "triangular2": D(2) ** -(cycle - 1),
              "exp_range": power(s.get("gamma", D(1)), t) if mode == "exp_range" else D(1)}[mode]
    return s["initial"] + (s["end"] - s["initial"]) * height * factor


def one_cycle(s, t):
    total, part = s.get("total_steps", D(1000)), s.get("pct_start", number(0.3))
    begin, peak, end = s["initial"], s["end"], s["initial"] / s.get("final_div_factor", D(10000))
    knots = [(part * total - 1, begin, peak)]
    if s.get("three_phase"):
        knots += [(2 * part * total - 2, peak, begin), (total - 1, begin, end)]
    else:
        knots += [(total - 1, peak, end)]
    start = D(0)
    for knot, a, b in knots:
        if t <= knot or knot == knots[-1][0]:
            done = (t - start) / (knot - start)
            return a + (b - a) * done if s.get("anneal_strategy") == "linear" else cosine_from_to(a, b, done)
        start = knot


def lambdas(s, t):
    """An expression is a function here and text in the recipe."""
    value = D(1)
    for one in s["lambda"]:
        factor = one[1](t) if isinstance(one, tuple) else number(one[int(min(t, len(one) - 1))])
        value *= s["initial"] * factor
    return value


def sequential(s, t):
    start, value = D(0), None
    for child in s["schedulers"]:
        if value is None or t >= start:
            value = evaluate(child, t - start)
        start += child[1].get("total_iters", child[1].get("total_steps", D(0)))
    return value


def chained(s, t):
    value = evaluate(s["schedulers"][0], t)
    for child in s["schedulers"][1:]:
        value *= evaluate(child, t) / evaluate_initial(child)
    return value


CLASSES = {
    "ConstantLR": constant, "PolynomialLR": polynomial, "LinearLR": polynomial, "ExponentialLR": exponential,
    "InverseExponentialTimeDecayLR": inverse_time, "InverseSquareRootDecayLR": inverse_square_root,
    "CosineDecayLR": cosine_decay, "CosineAnnealingLR": cosine_annealing,
    "CosineAnnealingWarmRestarts": warm_restarts, "MultiStepLR": multi_step, "StepLR": step,
    "PiecewiseConstantLR": piecewise, "MultiplicativeLR": multiplicative, "CyclicLR": cyclic, "OneCycleLR": one_cycle,
    "LambdaLR": lambdas, "SequentialLR": sequential, "ChainedLR": chained, "ChainedScheduler": chained,
}

# The oracle's name of a setting, if it differs from the recipe's.
INNER = {"initial_learning_rate": "initial", "learning_rate": "initial", "base_lr": "initial",
         "end_learning_rate": "end", "max_lr": "end", "learning_rates": "values", "lr_lambda": "lambda"}

# The names in the weight decay versions of the classes.
DECAY = {"initial_learning_rate": "initial_val", "learning_rate": "val", "base_lr": "base_val",
         "end_learning_rate": "end_val", "max_lr": "max_val", "learning_rates": "vals", "lr_lambda": "val_lambda"}


def prepared(case):
    """(class, settings) with the oracle's names and exact numbers."""
    name, settings = case
    made = {}
    for key, value in settings.items():
        if key == "schedulers":
            value = [prepared(child) for child in value]
        elif isinstance(value, list) and key != "lr_lambda":
            value = [number(v) for v in value]
        elif key == "lr_lambda":
            value = value if isinstance(value[0], (tuple, list)) else [value]
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            value = number(value)
        made[INNER.get(key, key)] = value
    return name, made


def evaluate(case, t):
    return CLASSES[case[0]](case[1], t)


def evaluate_initial(case):
    settings = case[1]
    return settings["values"][0] if "values" in settings else settings["initial"]


def recipe_of(case, decay):
    """The same case in the form of the recipe, for JSON."""
    name, settings = case
    made = {}
    for key, value in settings.items():
        if key == "schedulers":
            value = [recipe_of(child, decay) for child in value]
        elif key == "lr_lambda":
            value = [one[0] if isinstance(one, tuple) else one for one in value] \
                if isinstance(value[0], (tuple, list)) else value
        if key != T or "schedulers" not in settings:  # the length of a sequence is determined by its parts
            made[DECAY.get(key, key) if decay else key] = value
    if decay:
        name = "ChainedWD" if name == "ChainedScheduler" else \
            name[:-2] + "WD" if name.endswith("LR") else name + "WD"
    return {name: made}


# --- the cases --------------------------------------------------------------------------------------------------------

LR, T = "initial_learning_rate", "total_iters"


def decay(name, begin, end, total, **more):
    return name, {LR: begin, "end_learning_rate": end, T: total, **more}


EXPRESSIONS = [
    ("0.95 ** (t / 1000)", lambda t: power(number(0.95), t / 1000)),
    ("where(t < 4000, (t + 1) / 4000, sqrt(4000 / (t + 1)))",
     lambda t: (t + 1) / 4000 if t < 4000 else (4000 / (t + 1)).sqrt()),
    ("min((t + 1) ** -0.5, (t + 1) * 4000 ** -1.5)",
     lambda t: min((1 / (t + 1)).sqrt(), (t + 1) * power(D(4000), number(-1.5)))),
    ("1.5 + 0.5 * cos(2 * pi * t / 7000) * exp(-t / 1e5) - 0.25 * sin(t / 3e3)",
     lambda t: number(1.5) + cosine(2 * PI * t / 7000) / 2 * (-t / 100000).exp() - cosine(PI / 2 - t / 3000) / 4),
    ("1 + log(1 + floor(t / 100)) - max(-t, -(2 + 1)) * (t >= 50000)",
     lambda t: 1 + (1 + floor(t / 100)).ln() - (max(-t, D(-3)) if t >= 50000 else 0)),
    ("-2 ** 2 + 4 + 2 ** -3 ** 2 * 512 - 1 + pow(2, 0.5)", lambda t: D(2).sqrt()),
]

CASES = [
    ("ConstantLR", {"learning_rate": 0.1}),
    decay("LinearLR", 0.0, 6e-4, 1600),
    decay("LinearLR", 1.0, 1e-30, 199999),
    decay("LinearLR", 0.1, 0.3, 3, cycle=True),
    decay("PolynomialLR", 6e-4, 0.0, 150000),
    decay("PolynomialLR", 6e-4, 0.0, 150000, power=2),
    decay("PolynomialLR", 1e-3, 1e-5, 200000, power=0.5, cycle=True),
    decay("PolynomialLR", 0.0, 1e-3, 99991, power=1.3),
    decay("PolynomialLR", 1e-3, 1e-4, 200000, power=0.0),
    ("ExponentialLR", {LR: 0.1, T: 1000, "decay_rate": 0.96}),
    ("ExponentialLR", {LR: 1e-4, T: 3000, "decay_rate": 1.07}),
    ("ExponentialLR", {LR: 0.1, T: 777, "decay_rate": 0.9, "staircase": True}),
    ("InverseExponentialTimeDecayLR", {LR: 0.1, "step_exponent": 1, T: 1000, "decay_rate": 0.5}),
    ("InverseExponentialTimeDecayLR", {LR: 0.1, "step_exponent": 0.5, T: 10, "decay_rate": 0.5, "staircase": True}),
    ("InverseExponentialTimeDecayLR", {LR: 0.1, "step_exponent": 2, T: 7, "decay_rate": 1e-6, "staircase": True}),
    ("InverseExponentialTimeDecayLR", {LR: 0.1, "step_exponent": 1.7, T: 30, "decay_rate": 0.01}),
    ("InverseSquareRootDecayLR", {LR: 1.0, "scale": 0.03125, "warmup_steps": 4000}),
    ("InverseSquareRootDecayLR", {}),
    decay("CosineDecayLR", 1e-3, 0.0, 200000),
    decay("CosineDecayLR", 0.0, 3e-4, 200000),
    decay("CosineDecayLR", 0.1, 0.01, 1),
    decay("CosineDecayLR", 6e-4, 6e-5, 123457),
    ("CosineAnnealingLR", {LR: 0.05, "T_max": 40000}),
    ("CosineAnnealingLR", {LR: 0.05, "T_max": 999, "eta_min": 1e-6}),
    ("CosineAnnealingWarmRestarts", {LR: 0.05, "T_0": 3001, "T_mult": 1, "eta_min": 0.001}),
    ("MultiStepLR", {LR: 0.1, "gamma": 0.1, "milestones": [10, 30000, 30001, 120000]}),
    ("StepLR", {LR: 0.1, "step_size": 30, "gamma": 0.999}),
    ("StepLR", {LR: 0.1, "step_size": 25000, "gamma": 0.5}),
    ("PiecewiseConstantLR", {"learning_rates": [0.1, 0.2, 0.05], "milestones": [100, 150000]}),
    ("MultiplicativeLR", {LR: 0.1, "coefficient": 0.9999}),
    ("MultiplicativeLR", {LR: 1e-3, "coefficient": 1.0001}),
    ("CyclicLR", {"base_lr": 1e-4, "max_lr": 1e-2}),
    ("CyclicLR", {"base_lr": 0.0, "max_lr": 1e-2, "step_size_up": 333, "step_size_down": 1777, "mode": "triangular2",
                  "scale_mode": "iterations"}),
    ("CyclicLR", {"base_lr": 1e-4, "max_lr": 1e-2, "step_size_up": 5000, "mode": "exp_range", "gamma": 0.99995}),
    ("OneCycleLR", {LR: 0.004, "max_lr": 0.1, "total_steps": 200001}),
    ("OneCycleLR", {LR: 0.004, "max_lr": 0.1, "total_steps": 200001, "three_phase": True, "pct_start": 0.25,
                    "anneal_strategy": "linear"}),
    ("OneCycleLR", {LR: 0.004, "max_lr": 0.1, "three_phase": True, "final_div_factor": 10}),
    ("LambdaLR", {LR: 0.5, "lr_lambda": [EXPRESSIONS[0]]}),
    ("LambdaLR", {LR: 1e-3, "lr_lambda": [EXPRESSIONS[1]]}),
    ("LambdaLR", {LR: 1e-3, "lr_lambda": [EXPRESSIONS[2]]}),
    ("LambdaLR", {LR: 1e-3, "lr_lambda": [EXPRESSIONS[3]]}),
    ("LambdaLR", {LR: 1e-3, "lr_lambda": [EXPRESSIONS[4]]}),
    ("LambdaLR", {LR: 0.3, "lr_lambda": [EXPRESSIONS[5], EXPRESSIONS[0], [1.0, 0.7, 0.3, 0.11]]}),
    ("LambdaLR", {LR: 0.3, "lr_lambda": [1.0, 0.7, 0.3, 0.11]}),
    ("SequentialLR", {"schedulers": [
        decay("LinearLR", 0.0, 6e-4, 1600), decay("LinearLR", 6e-4, 0.0, 150000)]}),
    ("SequentialLR", {"schedulers": [
        ("ConstantLR", {"learning_rate": 1e-4, T: 10}),
        ("SequentialLR", {T: 4990, "schedulers": [
            decay("LinearLR", 1e-4, 1e-2, 90), decay("CosineDecayLR", 1e-2, 1e-3, 900),
            ("StepLR", {LR: 1e-3, "step_size": 100, "gamma": 0.9, T: 4000})]}),
        decay("CosineDecayLR", 5e-3, 5e-6, 50000), ("ConstantLR", {"learning_rate": 5e-6})], "milestones": [
            10, 5000, 55000]}),
    ("ChainedScheduler", {"schedulers": [
        decay("LinearLR", 0.0, 6e-4, 1600), ("StepLR", {LR: 0.3, "step_size": 1000, "gamma": 0.97}),
        ("CosineAnnealingLR", {LR: 0.7, "T_max": 5000, "eta_min": 0.1}),
        ("PiecewiseConstantLR", {"learning_rates": [0.1, 0.2], "milestones": [100]}),
        ("LambdaLR", {LR: 0.7, "lr_lambda": [EXPRESSIONS[0]]})]}),
]


def ends_of(case):
    """Steps at which a part of the schedule begins or ends."""
    settings = case[1]
    ends = [settings[key] for key in ("total_iters", "T_max", "T_0", "step_size", "step_size_up", "total_steps",
                                      "warmup_steps") if key in settings]
    ends += settings.get("milestones", [])
    if "step_size_up" in settings:
        ends.append(settings["step_size_up"] + settings.get("step_size_down", settings["step_size_up"]))
    for child in settings.get("schedulers", []):
        ends += ends_of(child)
    return [int(end) for end in ends]


def steps_of(case, seed, count):
    steps = {0, 1, 2, 199999, 200000}
    for end in ends_of(case):
        steps |= {max(end + d, 0) for d in (-2, -1, 0, 1)}
    state = seed
    while len(steps) < count:
        state = (state * 6364136223846793005 + 1442695040888963407) % 2 ** 64
        steps.add((state >> 33) % 200001)
    return sorted(steps)


# --- the two forms ----------------------------------------------------------------------------------------------------

def write():
    with open(Path(__file__).parent / "schedules.def", "w") as out:
        out.write("/* Written by schedules.py; do not edit. */\n/* clang-format off */\n")
        for place, case in enumerate(CASES):
            inner = prepared(case)
            text = json.dumps(json.dumps([recipe_of(case, place % 2 == 1)]))
            out.write(f"SCHEDULE_CASE({text}, {'true' if place % 2 == 1 else 'false'})\n")
            for step in steps_of(inner, place, 40):
                exact = evaluate(inner, D(step))
                out.write(f"SCHEDULE_VALUE({place}, {step}, 0x{bits_of(rounded(exact, 24, -149)):08x}, "
                          f"{rounded(exact, 53, -1074).hex()})\n")


def ordered(single):
    """Maps floats to integers such that neighbouring floats are neighbouring integers."""
    bits = bits_of(single)
    return bits if bits < 1 << 31 else (1 << 31) - bits


def check_case(firnc, recipe, steps, place):
    case = CASES[place]
    inner, decay_too = prepared(case), place % 2 == 1
    lines = subprocess.run(
        [firnc, "schedule", recipe, "--range", f"0:{steps}", "--set", f"trainer.init.loop.num_steps={steps}",
         "--set", "trainer.init.optimizer={SGD: {lr: 0.5}}",
         "--set", "trainer.init.schedulers=" + json.dumps([recipe_of(case, decay_too)])],
        check=True, capture_output=True, text=True).stdout.splitlines()
    column = lines[0].split(",").index("weight_decay" if decay_too else "learning_rate")
    assert len(lines) == steps + 1
    apart, at = 0, 0
    for step in range(steps):
        exact = rounded(evaluate(inner, D(step)), 24, -149)
        here = abs(ordered(float(lines[step + 1].split(",")[column])) - ordered(exact))
        apart, at = max((apart, at), (here, step))
    print(f"{case[0]}: at most {apart} ulp apart, at step {at}", flush=True)
    return apart


def check(firnc, recipe, steps):
    with Pool() as pool:
        apart = pool.starmap(check_case, [(firnc, recipe, steps, place) for place in range(len(CASES))], chunksize=1)
    print(f"{len(CASES)} schedules, {steps} steps each: at most {max(apart)} ulp apart")
    sys.exit(max(apart) > 1)


if __name__ == "__main__":
    if len(sys.argv) == 5 and sys.argv[1] == "check":
        check(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        write()

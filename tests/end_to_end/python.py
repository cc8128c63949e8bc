"""python.py RECIPES FIRN FOLDER: what tests/end_to_end/python.sh asks of the package firn. Prints what is wrong, and
exits with 1."""

import os
import random
import re
import subprocess
import sys
import threading

import firn
import numpy as np

recipes, program, folder = sys.argv[1:]
failures = 0


def check(what, good):
    global failures
    if not good:
        failures += 1
        print("FAILED:", what)


def refused(what, kind, words, function, *arguments, **named):
    try:
        function(*arguments, **named)
    except kind as error:
        check("%s: %r is not in %r" % (what, words, str(error)), words in str(error))
        return error
    check(what + ": accepted", False)
    return kind()


def path(name):
    return os.path.join(folder, name)


def firn_program(*words):
    return subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout


def digest_of(plan, *words):
    """The digest of firn train on the same samples."""
    plan.save(path("plan"))
    if os.path.exists(path("checkpoint")):
        os.unlink(path("checkpoint"))
    firn_program("train", path("plan"), "--pub", path("test.pub.pem"), "--checkpoint", path("checkpoint"), *words)
    return firn_program("digest", path("checkpoint")).split()[1]


generator = np.random.default_rng(7)
x = generator.integers(0, 256, (64, 784), dtype=np.uint8)
y = generator.integers(0, 10, 64, dtype=np.uint8)
np.save(path("x.npy"), x)
np.save(path("y.npy"), y)
records = ("--data", path("x.npy"), "--labels", path("y.npy"))
mlp, gpt2, key = recipes + "/small_mlp.yaml", recipes + "/small_gpt2.yaml", path("test.key.pem")

# --- training: the bits of firn train ---

plan = firn.compile(mlp, key=key)
run = firn.Run(plan, x, y)
rows = run.train()
check("40 rows", [r["step"] for r in rows] == list(range(1, 41)) and rows[-1]["loss"] < rows[0]["loss"])
wanted = digest_of(plan, *records)
check("the digest of records", run.digest() == wanted)
check("the end of a run", refused("a step more", firn.RunError, "; compile a plan", run.step).name == "RUN_COMPLETE")
for name, data, labels in (("copies", x.astype(np.float64), y.astype(np.int64)), ("Fortran", np.asfortranarray(x), y)):
    other = firn.Run(plan, data, labels, threads=1, kernels="plain")
    other.train(7)
    other.train()
    check("the digest of " + name, other.digest() == wanted)
check("no copy", firn.Run(plan, x, y)._arrays[0] is x)

run = firn.Run(plan, x, y)
run.train(20)
run.save(path("half"))
with open(path("pem"), "w") as file:
    file.write("-----BEGIN EC PRIVATE KEY-----\n")
for save in run.save, plan.save:
    refused("a key is not replaced", firn.RunError, "pem: holds a key, which is never replaced; give another name", save, path("pem"))
rest = firn.Run(plan, x, y)
rest.load(path("half"))
check("20 steps are left", len(rest.train()) == 20 and rest.digest() == wanted)
rest.load(path("checkpoint"))
check("a checkpoint of firn", rest.digest() == wanted)
stops = []
check("a callback ends", len(firn.Run(plan, x, y).train(callback=lambda r: stops.append(r) or len(stops) < 3)) == 3)

pushed = firn.compile(mlp, key=key, source="push")
wanted = digest_of(pushed, *records)
batches = [(x[i * 8 % 64 : i * 8 % 64 + 8], y[i * 8 % 64 : i * 8 % 64 + 8]) for i in range(40)]
run = firn.Run(pushed)
for batch in batches:
    run.step(batch)
check("the digest of pushed batches", run.digest() == wanted)
for count in (3, 16):
    refused("a batch of %d" % count, firn.RunError, "and a step takes 8", firn.Run(pushed).step, (x[:count], y[:count]))
run = firn.Run(pushed, data=(batch for batch in batches))
check("the digest of a generator", len(run.train()) == 40 and run.digest() == wanted)

text = np.frombuffer(b"Snow that has been pressed until it no longer moves. " * 40, dtype=np.uint8)
text.tofile(path("text"))
plan = firn.compile(gpt2, key=key, set={"trainer.init.loop.num_steps": 5})
language = firn.Run(plan, text)
language.train()
check("the digest of text", language.digest() == digest_of(plan, "--data", path("text")))

# --- evaluating ---

plan = firn.compile(mlp, key=key)
training = firn.Run(plan, x, y)
training.train()
digest_of(plan, *records)
evaluation = firn.compile(mlp, "eval", key=key, set={"trainer.validate.val_dataloader.held_out_per_mille": 0})
evaluation.save(path("eval.plan"))
value = firn.Run(evaluation, x, y, owner=training).evaluate()
said = firn_program("eval", path("eval.plan"), "--pub", path("test.pub.pem"), "--checkpoint", path("checkpoint"), *records)
check("evaluate: %r is not %s" % (value, said), float(said.split()[0]) == float("%.9g" % value))
loaded = firn.Run(evaluation)
loaded.load(path("checkpoint"))
other = firn.Run(loaded.plan, x, y, owner=training)
check("evaluate of other data, for one call", other.evaluate(x[:40], y[:40]) != value and other.evaluate() == value)
check("evaluate after load, twice", loaded.evaluate(x, y) == value and loaded.evaluate() == value)
prediction = firn.Run(
    firn.compile(mlp, "predict", key=key, set={"trainer.validate.val_dataloader.held_out_per_mille": 0}), owner=training
)
logits = prediction.predict(x[:61])["logits"]
check("predict has a row for each sample", logits.shape == (61, 10))
check("predict has the same rows again", prediction.predict(x[:61])["logits"].shape == (61, 10))
kept = firn.Run(prediction.plan, data=x[:61])
check("predict keeps the data of the run", [kept.predict()["logits"].shape[0] for _ in range(2)] == [61, 61])
check("predict of other data", kept.predict(x[:3])["logits"].shape[0] == 3 and kept.predict()["logits"].shape[0] == 61)
whole = prediction.predict(x)["logits"]
check("predict does not depend on the batch", np.array_equal(whole[:61], logits))
check("predict has what evaluate counts", abs(float(np.mean(np.argmax(whole, axis=1) == y)) - value) < 1e-6)

decoding = firn.Run(firn.compile(gpt2, "decode", key=key), owner=language)
ids = decoding.generate("Snow", 6)
check("generate", len(ids) == 6 and ids == decoding.generate(list(b"Snow"), 6) and max(ids) < 256)
draws = {tuple(decoding.generate("Snow", 6, temperature=1.5, seed=s)) for s in range(4)}
check("generate draws", len(draws) > 1 and draws == {tuple(decoding.generate("Snow", 6, temperature=1.5, seed=s)) for s in range(4)})

# --- checkpoints: the data, and text ---

def resumes(name, steps, data, labels, *words):
    """What firn train --resume says of a checkpoint that Python has saved, with these files."""
    np.save(path("d.npy"), data)
    np.save(path("l.npy"), labels)
    done = subprocess.run([program, "train", path("plan"), "--pub", path("test.pub.pem"), "--checkpoint", path(name), "--resume", "--steps",
                           str(steps), "--data", path("d.npy"), "--labels", path("l.npy"), *words], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


plan = firn.compile(mlp, key=key)
plan.save(path("plan"))
for name, data, labels in (("as they are", x, y), ("other types", x.astype(np.float64), y.astype(np.int64)), ("in Fortran's order", np.asfortranarray(x), y),
                           ("of three extents", x.reshape(64, 28, 28), y)):
    run = firn.Run(plan, data, labels)
    run.train(3)
    if os.path.exists(path("hashed.columns")):
        os.unlink(path("hashed.columns"))  # of the data before
    run.save(path("hashed"))
    code, said = resumes("hashed", 2, data, labels)
    check("arrays %s: %s" % (name, said), code == 0 and "not compared" not in said)
    run.train(2)
    check("arrays %s: the digest" % name, firn_program("digest", path("hashed")).split()[1] == run.digest())
    code, said = resumes("hashed", 2, data, (labels + 1) % 10)
    check("arrays %s, other labels: %s" % (name, said), code == 3 and "CHECKPOINT_OTHER_DATA" in said and "--allow-other-data" in said)
run = firn.Run(plan)
run.load(path("hashed"))
check("a checkpoint of other data loads", run.digest() == firn_program("digest", path("hashed")).split()[1])
run.bind(x, y)
evaluated = firn.Run(evaluation, x, y, owner=run)
before = run._origins
os.unlink(path("hashed.columns"))
evaluated.evaluate(x[:8], y[:8])
run.save(path("hashed"))
check("the data after an evaluation", run._origins is before and resumes("hashed", 1, x, y)[0] == 0)

language.save(path("text.checkpoint"))
firn.compile(gpt2, key=key, set={"trainer.init.loop.num_steps": 5}).save(path("text.plan"))
done = subprocess.run([program, "train", path("text.plan"), "--pub", path("test.pub.pem"), "--data", path("text"), "--checkpoint",
                       path("text.checkpoint"), "--resume"], capture_output=True, text=True)
check("text has the hash of its file: " + done.stderr, done.returncode == 5)
alone = firn.Run(firn.compile(gpt2, "decode", key=key))
alone.load(path("text.checkpoint"))
check("a decode plan takes the checkpoint of a training", alone.generate("Snow", 6) == ids)
for words, values in (("tokens", dict(tokens=2.5)), ("tokens", dict(tokens=-1)), ("temperature", dict(temperature=-1.0)), ("top_p", dict(top_p=0)),
                      ("top_k", dict(top_k=-1)), ("seed", dict(seed=-1)), ("temperature", dict(temperature=float("nan"))), ("seed", dict(seed=2**64))):
    refused("generate %r" % values, firn.RunError, words + ": ", alone.generate, "Snow", **{"tokens": 2, **values})

# --- labels that are ignored ---

ignoring = firn.compile(mlp, key=key, set={"trainer.init.model.ignore_index": -100, "trainer.fit.train_dataloader.label_type": "int32"})
ignoring.save(path("plan"))
holes = np.where(np.arange(64) % 3 == 0, -100, y.astype(np.int32))
run = firn.Run(ignoring, x, holes.astype(np.int32))
run.train(4)
run.save(path("holes"))
code, said = resumes("holes", 2, x, holes.astype(np.int32))
check("labels of -100: " + said, code == 0 and "not compared" not in said)
run.train(2)
check("labels of -100: the digest", firn_program("digest", path("holes")).split()[1] == run.digest())
run = firn.Run(ignoring, x, holes.astype(np.int64))
run.train(6)
check("labels of -100 as int64", firn_program("digest", path("holes")).split()[1] == run.digest())
error = refused("the number of -100 as a class", firn.RunError, "which is no class; give classes from 0 to 9", firn.Run, ignoring, x, y.astype(np.int32) + 1)

# --- refusals ---

recipe = {"trainer": {"init": {"model": {"name": "mlq"}}}}
error = refused("a dict", firn.RecipeError, "firnc: recipe:", firn.compile, recipe)
check("line and mend: %r" % error, error.line is not None and error.path.startswith("trainer") and error.mend != "")
refused("a file", firn.RecipeError, "cannot be opened", firn.compile, path("none.yaml"))
refused("float labels", firn.RunError, "no uint8; mend the value, or change feature_type or label_type", firn.Run, plan, x, y + 0.5)
refused("short labels", firn.RunError, "the arrays have 64 and 63 records", firn.Run, plan, x, y[:63])
refused("no labels", firn.RunError, "give data, labels", firn.Run, plan, x)
refused("shapes", firn.RunError, "a record of the plan has 784 elements", firn.Run, plan, x[:, :783], y)
refused("masked values", firn.RunError, "give array.filled", firn.Run, plan, np.ma.array(x, mask=x > 0), y)
refused("another file", firn.RunError, "names no file", training.save, path("one\0two"))
for steps in (-5, 2.5, True, float("nan")):
    refused("steps %r" % steps, firn.RunError, "is no number of steps", training.train, steps)
check("no steps", training.train(0) == [] and not os.path.exists(path("one")))
refused("damage", firn.RunError, "; ", firn.Run, firn.Plan(plan.data[:700] + b"damage" + plan.data[706:], plan.public_key), x, y)
refused("a folder", OSError, "", training.save, path("none/checkpoint"))
# Errors of a file name it, and every code of plan/errors.def has a mend.
with open(path("no.ckpt"), "wb") as file:
    file.write(b"no checkpoint")
refused("no checkpoint", firn.RunError, path("no.ckpt") + ": the checkpoint is incomplete or damaged", training.load, path("no.ckpt"))
firn.compile(mlp).save(path("other.plan"))  # signed with a key that was made for it
other = firn.Plan.load(path("other.plan"), path("test.pub.pem"))
refused("another key", firn.RunError, path("other.plan") + ": the plan was signed with another key (WRONG_KEY); give", firn.Run, other)
with open(recipes + "/../../plan/errors.def") as file:
    codes = re.findall(r'FIRN_ERROR\((\w+), (-\d+), "(.*)"\)', file.read())
for name, code, text in codes:
    error = firn._status(Exception(int(code), name, text))
    check("a mend of " + name, error.mend != "" and str(error) == "%s (%s); %s" % (text, name, error.mend))
check("codes", len(codes) > 80)
refused("an eval plan does not train", firn.RunError, "WRONG_MODE", loaded.step)

# --- threads ---

busy = firn.Run(firn.compile(mlp, key=key, set={"trainer.init.loop.num_steps": 100000}), x, y)
seen = []


def go_on():
    try:
        while not seen:
            busy.step()
    except RuntimeError as raised:
        seen.append(raised)


threads = [threading.Thread(target=go_on) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
check("a second thread", "another thread is in this run" in str(seen[0]))
plans = []
threads = [threading.Thread(target=lambda: plans.append(firn.compile(mlp, key=key).data)) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
check("compilations wait", len(plans) == 4 and len(set(plans)) == 1 and plans[0] == plan.data)

# --- 1,000 calls that are wrong, or nearly ---

random.seed(1)
odd = [
    None, True, -1, 0, 3, 2**70, 0.5, float("nan"), "", "x", "\0", "\ud800", b"", b"x" * 64, object(), [], (), {}, [None], {"a": {}},
    (x, y), (x[:8], y[:8]), (x, x, x, x), [b"x"], iter([1]), np.zeros(0), np.zeros((), np.uint8), np.array([object()]), np.array("x"),
    np.zeros(3, "i4,f4"), x[::-2], x[:, ::-1], y, y[:1], y.astype(">i4"), np.array([1 + 2j]), np.full(64, 255, np.uint8),
    np.full(64, np.inf), memoryview(b"abc"), plan, firn.Plan(b"", plan.public_key), firn.Plan(plan.data[:300], plan.public_key),
    firn.Plan(plan.data, b"\0" * 64), pushed, evaluation, training, loaded, firn.Run, path("half"), path("none/x"), mlp, lambda row: 1 / 0,
]  # fmt: skip
bare = firn._firn.Instance.__new__(firn._firn.Instance)
targets = [firn.compile, firn.Plan, firn.Plan.load, firn.Run, firn._firn.compile, firn._firn.read_key, firn._firn.Instance]
for owner in (training, loaded, prediction, decoding, firn.Run(pushed), firn.Run.__new__(firn.Run)):
    targets += [getattr(owner, n) for n in ("bind", "step", "evaluate", "predict", "generate", "state", "load", "train")]
for owner in (bare, training._instance, decoding._instance):
    targets += [getattr(owner, n) for n in dir(owner) if not n.startswith("_") and n != "save"]
names = ["labels", "weights", "threads", "kernels", "owner", "set", "onnx", "source", "samples", "key", "target", "temperature", "top_k"]
raised = 0
for number in range(1000):
    target = random.choice(targets)
    arguments = [random.choice(odd) for _ in range(random.randrange(4))]
    named = {random.choice(names): random.choice(odd)} if random.random() < 0.3 else {}
    if target == firn.Run and "threads" not in named:
        named["threads"] = 1
    try:
        target(*arguments, **named)
    except Exception:
        raised += 1
check("%d of 1,000 calls raise" % raised, raised > 600)
check("a run after them", firn.Run(plan, x, y).step()["loss"] == rows[0]["loss"])
sys.exit(1 if failures else 0)

"""Firn in Python: compile a recipe to a signed plan, and run it on NumPy arrays.

    plan = firn.compile("mlp.yaml")
    run = firn.Run(plan, data=images, labels=classes)   # uint8 [N, 784] and uint8 [N], as the recipe says
    for row in run:                                     # {"step": 1, "loss": 2.3, ...}
        print(row["loss"])
    weights = run.state()                               # {"fc1.weight": float32 [64, 784], ...}

The bits are those of `firn train` on the same samples: `run.digest()` is what `firn digest` prints of its checkpoint.
No call ends the process or writes to standard error. A refusal is a firn.Error, whose text says what was found and
what to do, and whose attributes have the line and the mend.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import tempfile
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Union

import numpy as np

from . import _firn

__all__ = ["compile", "Plan", "Run", "Error", "RecipeError", "RunError", "OutOfMemory"]

Row = Dict[str, Any]
Arrays = Union[np.ndarray, Sequence[np.ndarray]]

# ElementType of plan.fbs; bfloat16 and cbfloat16 have no NumPy type, and are given as their 16 bits.
_TYPES = ["float32", "float16", "uint16", "uint16", "int32", "int64", "uint8", "uint16", "int16", "int8", "bool"]
_STATE = ("parameter", "buffer", "optimizer_state", "counter")  # the first roles of plan.fbs
_BFLOAT16 = 2


# --- errors -----------------------------------------------------------------------------------------------------------


class Error(Exception):
    """What firn refuses. str(error) is one line.

    line: of the recipe, or None. mend: what to do, or "". messages: all lines, with warnings before it.
    """

    line: Optional[int] = None
    mend: str = ""
    messages: Sequence[str] = ()


class RecipeError(Error):
    """A recipe, or a file that it names, is wrong. path: the key, such as "trainer.init.seed", or ""."""

    path: str = ""


class RunError(Error):
    """A plan, a checkpoint or data is refused, or a step failed. code and name are those of plan/errors.def."""

    code: int = 0
    name: str = ""


class OutOfMemory(Error, MemoryError):
    """There is not enough memory; nothing was kept."""


_MENDS = {
    "ARGUMENT": "look at the types and ranges in the method's help",
    "ALREADY_PROGRAMMED": "make another Run",
    "WRONG_MODE": "train by step(), evaluate and predict by a plan that was compiled with mode eval or predict",
    "WRONG_KEY": "give the public key of the plan's signer",
    "NO_STATE": "call load(), or make the run with its plan",
    "NO_METRIC": "compile it with a metric, or call predict()",
    "RUN_COMPLETE": "compile a plan with more steps",
    "DATA_TOO_SHORT": "give more samples, or compile with a smaller batch",
    "DATA_TYPE": "give an array for each stream that run.streams lists",
    "DATA_RANGE": "the recipe's vocabulary or number of classes must cover every value",
    "NOT_ENOUGH_PUSHED": "call step(batch) with a whole batch",
    "NO_RING": 'compile with source="push", or give the data when the run is made',
    "CHECKPOINT_MISSING": "give the file that save() or firn train --checkpoint wrote",
    "CHECKPOINT_OTHER_RUN": "load it with the plan that wrote it",
    "KERNELS_UNKNOWN": 'give "plain", or None for the fastest of this machine',
    "CHECKPOINT_OTHER_DATA": "give the arrays of that run",
    "STORAGE_FULL": "make room on the disk, or save elsewhere",
    "LOSS_NOT_FINITE": "lower the learning rate; the state is that before the step",
    "LOSS_SCALE_FLOOR": "lower the learning rate, or compile without a half type",
    "NO_ROWS": "give labels of which some are classes, and weights of which some are not 0",
    "NO_RESULT": "call evaluate() first",
    "POISONED": "load() a checkpoint, or make the run anew",
    "NOT_OPEN": "make another run with its plan",
    "SHARED": "call it on the run that is the owner",
    "OTHER_OWNER": "give the training of the same recipe as owner",
    "UNSIGNED": "sign it by firnc sign and firnc attach",
    "NUMERICS_VERSION": "compile it again with this version",
    "FORMAT_VERSION": "compile it again with this version, or use a newer one",
    "CHECKPOINT_DAMAGED": "use another copy; a damaged one is never read in part",
    "CHECKPOINT_OTHER_MODEL": "evaluate with a plan of the same architecture, frozen weights and statistics",
    "CHECKPOINT_VERSION": "use the firn that wrote it",
    "CHECKPOINT_OTHER_PREPROCESSING": "evaluate with a plan of the same recipe, or by firn eval --allow-other-preprocessing",
    "CHECKPOINT_OTHER_SPLIT": "evaluate with the held_out_per_mille of its training, or by firn eval --allow-other-split",
    "CHECKPOINT_AUTHENTICATION": "read it by firn --device-key; Python has no keys of devices",
    "STORAGE": "look at the folder and the disk; only a regular file is replaced",
}
# The mend of an error that has none above, by the least code that it holds for: plans, checkpoints, the port, numbers.
_MENDS_BY_CODE = (
    (-99, "look at the types and ranges in the method's help"),
    (-299, "get the plan again from where it came"),
    (-499, "compile the plan again, with this version of firn"),
    (-599, "give the file that save() or firn train --checkpoint wrote, or another copy of it"),
    (-699, "look at the file, or at the arrays that were given"),
    (-799, "lower the learning rate, or load an earlier checkpoint"),
)


def _refuse(text: str, mend: str, kind: type = RunError) -> Error:
    error = kind("%s; %s" % (text, mend))
    error.mend = mend
    return error


def _keep_key(path: str) -> None:
    """Refuses a file that begins as keys in PEM do: a secret key that is replaced cannot be made again."""
    if os.path.isfile(path):
        with open(path, "rb") as file:
            if file.read(11) == b"-----BEGIN ":
                raise _refuse("%s: holds a key, which is never replaced" % path, "give another name, or move it away")


def _status(raised: Exception, file: str = "") -> RunError:
    """The error of a call of libfirn; file: what it is about, or ""."""
    code, name, text = raised.args
    mend = _MENDS.get(name) or next(mend for least, mend in _MENDS_BY_CODE if code >= least)
    error = RunError("%s%s (%s); %s" % (file + ": " if file else "", text, name, mend))
    error.code, error.name, error.mend = code, name, mend
    return error


def _recipe_error(outcome: int, messages: List[str]) -> Error:
    text = messages[-1] if messages else "firnc: no message"
    if outcome == 2:
        error: Error = OutOfMemory(text)
    else:
        error = RecipeError(text)
        place = re.match(r"firnc: .*?:(\d+): (?:([A-Za-z_][\w.]*): )?", text)
        if place is not None:
            error.line = int(place.group(1))
            error.path = place.group(2) or ""
    error.mend = text.rsplit("; ", 1)[1] if "; " in text else ""
    error.messages = messages
    return error


# --- compiling --------------------------------------------------------------------------------------------------------


class Plan:
    """A signed plan in memory.

    data: the bytes of the file. public_key: 64 bytes that verify it. warnings: lines of the compiler.
    """

    def __init__(self, data: bytes, public_key: bytes, warnings: Sequence[str] = ()) -> None:
        if not isinstance(data, bytes) or not isinstance(public_key, bytes):
            raise TypeError("a plan is made of bytes; read one by Plan.load(path, public_key)")
        if len(public_key) != 64:
            raise _refuse("a public key has 64 bytes, and this one %d" % len(public_key), "give that of the signer")
        self.data, self.public_key, self.warnings = data, public_key, tuple(warnings)
        self._file = ""  # for messages: where it was read from

    @classmethod
    def load(cls, path: Union[str, os.PathLike], public_key: Union[str, os.PathLike]) -> "Plan":
        """Reads a plan that firnc wrote, and its public key (.pub.pem)."""
        with open(os.fspath(path), "rb") as file:  # a number would be a descriptor
            plan = cls(file.read(), _firn.read_key(os.fspath(public_key)))
        plan._file = os.fsdecode(path)
        return plan

    def save(self, path: Union[str, os.PathLike]) -> None:
        """Writes the plan under a temporary name beside it, then renames it. Whoever reads it needs the public key: that of
        compile's `key`, or else `public_key`, whose secret half was made for this plan and is gone."""
        path = os.fspath(path)
        _keep_key(path)
        handle, name = tempfile.mkstemp(dir=os.path.dirname(path) or ".", prefix=os.path.basename(path) + ".")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(self.data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise

    def __repr__(self) -> str:
        return "firn.Plan(%d bytes)" % len(self.data)


def _setting(key: str, value: Any) -> str:
    return "%s=%s" % (key, value if isinstance(value, str) else json.dumps(value))


def compile(
    recipe: Union[str, os.PathLike, Mapping[str, Any]],
    mode: str = "train",
    *,
    onnx: Union[str, os.PathLike, None] = None,
    set: Optional[Mapping[str, Any]] = None,
    source: str = "data",
    weights: Union[str, os.PathLike, None] = None,
    hugging_face: Union[str, os.PathLike, None] = None,
    statistics: Union[str, os.PathLike, None] = None,
    target: Optional[str] = None,
    samples: int = 0,
    allow_unmatched: bool = False,
    key: Union[str, os.PathLike, None] = None,
) -> Plan:
    """Freezes a recipe into a plan.

    recipe: the name of a YAML file, or the same as a dict. mode: "train", "eval", "predict" or "decode" (text).
    onnx: a model file, the recipe's trainer.init.model.onnx. set: keys to change, {"trainer.init.seed": 7}.
    source: "push" makes a plan whose steps take batches, Run.step(batch). samples: of an epoch. target: "host" or the
    name of a machine. key: the secret key (.key.pem) that signs; None makes one for this plan alone. All else is as
    `firnc compile` has it. Raises RecipeError with line, path and mend.
    """
    if source not in ("data", "push"):
        raise _refuse("source: %r is no source" % (source,), 'write "data" or "push"', RecipeError)
    if not isinstance(samples, int) or not 0 <= samples < 2**64:
        raise _refuse("samples: %r is no number of samples" % (samples,), "write a whole number", RecipeError)
    settings = [_setting(k, v) for k, v in (set or {}).items()]
    if onnx is not None:
        settings.append(_setting("trainer.init.model.onnx", os.path.abspath(os.fspath(onnx))))
    files = [None if f is None else os.fspath(f) for f in (weights, hugging_face, statistics, target)]
    key = None if key is None else os.fspath(key)
    written = None
    try:
        if isinstance(recipe, Mapping):
            handle, written = tempfile.mkstemp(suffix=".yaml", prefix="recipe-")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(recipe, file, indent=1, allow_nan=False)
        name = written if written is not None else os.fspath(recipe)
        outcome, said, plan, public_key = _firn.compile(
            name, mode, settings, source == "push", *files, samples, bool(allow_unmatched), key
        )
    finally:
        if written is not None:
            os.unlink(written)
    if written is not None:
        said = said.replace(written, "recipe")
    messages = said.splitlines()
    if outcome != 0:
        raise _recipe_error(outcome, messages)
    return Plan(plan, public_key, messages)


# --- data -------------------------------------------------------------------------------------------------------------


_IGNORED = -100  # in labels, as PyTorch has it: the label that the loss of the plan ignores


def _number_ignored(array: Any, element: int, ignored: Optional[tuple]) -> Any:
    """Labels with the plan's number in place of -100, in a copy if there is any."""
    labels = np.asarray(array)
    if ignored is None or labels.dtype.kind not in "iuf" or _TYPES[element].startswith("float"):
        return array
    label, unclassed = ignored
    wrong = (labels >= label) | ((labels < 0) & (labels != _IGNORED))
    if unclassed and bool(np.any(wrong)):
        at = int(np.argmax(np.ravel(wrong)))
        mend = "give classes from 0 to %d, and -100 where a row does not count" % (label - 1)
        raise _refuse("labels has %r at place %d, which is no class" % (np.ravel(labels)[at].item(), at), mend)
    if labels.dtype.kind == "u" or not bool(np.any(labels == _IGNORED)):
        return array
    wide = labels if labels.dtype.kind == "f" or labels.dtype.itemsize > 4 else labels.astype(np.int64)
    return np.where(labels == _IGNORED, label, wide)


def _origin(given: Any, read: np.ndarray, numbered: bool) -> Union[np.ndarray, tuple]:
    """What the hash of the data needs of an array of the user: its elements, if a file of it is read as it is, or its
    shape. read: the array as the plan reads it. numbered: -100 may have become another label there."""
    array = np.asarray(given)
    if array.dtype != read.dtype or (array.flags.f_contiguous and not array.flags.c_contiguous):
        return array.shape
    return np.ascontiguousarray(array) if numbered else read


def _data_hash(origins: Sequence[Any], read: Sequence[np.ndarray], text: bool) -> bytes:
    """The hash that firn computes of the files that numpy.save writes of the user's arrays (runtime/DATA.md); of text in
    bytes that of the text itself. read: the arrays as the plan reads them."""
    lines = hashlib.sha256()
    for name, origin, rows in zip(("data", "labels", "weights"), origins, read):
        if isinstance(origin, tuple):
            head = ("rows of firn, 1: %s %r\n" % (rows.dtype, origin)).encode()
            rows = np.where(np.isnan(rows), np.float32(np.nan), rows) if rows.dtype == np.float32 else rows
        else:
            file = io.BytesIO()
            np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(origin))
            head, rows = (b"" if text and origin.dtype == np.uint8 else file.getvalue()), origin
        found = hashlib.sha256(head)
        found.update(rows.data)
        lines.update(("%s %s\n" % (name, found.hexdigest())).encode())
    return lines.digest()


def _convert(array: Any, element: int, name: str) -> np.ndarray:
    """An array of the plan's type, in C order: the same memory where it is so already, else a copy of equal values."""
    if np.ma.is_masked(array):
        raise _refuse("%s has masked values, which a plan would read" % name, "give array.filled(value)")
    array = np.asarray(array)
    wanted = np.dtype(_TYPES[element])
    if array.dtype == wanted:
        return np.ascontiguousarray(array)
    if array.dtype.kind not in "biuf" or array.dtype.hasobject:
        mend = "give an array of %s: number what are names" % wanted
        raise _refuse("%s is an array of %s, and the plan reads %s" % (name, array.dtype, wanted), mend)
    with np.errstate(all="ignore"):
        copy = np.ascontiguousarray(array.astype(wanted))
    rounds = wanted == np.float32 and array.dtype == np.float64  # once, as firn rounds data files
    good = np.isfinite(copy) == np.isfinite(array) if rounds else copy == array
    if not bool(np.all(good)):
        at = int(np.argmin(np.ravel(good)))
        mend = "mend the value, or change feature_type or label_type of the recipe"
        raise _refuse("%s has %r at place %d, which is no %s" % (name, np.ravel(array)[at].item(), at, wanted), mend)
    return copy


def _streams(given: Sequence[Any], wanted: Sequence[tuple], window: int, ignored: Optional[tuple]) -> List[np.ndarray]:
    """Arrays for the streams of a plan: samples, labels, weights."""
    names = ("data", "labels", "weights")
    if len(given) != len(wanted):
        raise _refuse(
            "the plan reads %d arrays, and there %s %d" % (len(wanted), "is" if len(given) == 1 else "are", len(given)),
            "give " + ", ".join(names[: len(wanted)]),
        )
    arrays = []
    for name, value, (element, record, _) in zip(names, given, wanted):
        if name == "labels" and not window:
            value = _number_ignored(value, element, ignored)
        array = _convert(value, element, name)
        if array.size == 0 or array.size % record != 0 or (not window and array.size // record != _length(array)):
            raise _refuse(
                "%s has the shape %r, and a record of the plan has %d elements" % (name, array.shape, record),
                "give [samples, %d], or the extents of the recipe" % record if record > 1 else "give one for each sample",
            )
        arrays.append(array)
    counts = [a.size // s[1] for a, s in zip(arrays, wanted)]
    if not window and len(frozenset(counts)) > 1:
        raise _refuse("the arrays have %s records" % " and ".join(map(str, counts)), "give as many of one as of the other")
    return arrays


def _length(array: np.ndarray) -> int:
    return array.shape[0] if array.ndim > 0 else 1


def _path(path: Union[str, os.PathLike]) -> str:
    """The name of a file; a name with a NUL would be another one for the system."""
    name = os.fspath(path)
    if not isinstance(name, str) or "\0" in name:
        raise _refuse("%r names no file" % (name,), "give a str without a NUL, or a path")
    return name


# --- running ----------------------------------------------------------------------------------------------------------


class Run:
    """One run of a plan, with its state in memory.

    plan: of any mode. data, labels, weights: arrays [samples, ...]; of text one array of ids. They are read in place if
    they have the plan's types and C order (run.streams), so do not change them during a step; else they are copied
    once, and a number that is no such number is refused. Of a plan that was compiled with source="push", data may be an
    iterable of batches (data,), (data, labels) or (data, labels, weights), which step() takes one by one. threads: None
    for all CPUs; the bits do not depend on it. kernels: None for the fastest set. owner: a train run whose parameters
    this evaluation uses in place.

    A run is used by one thread at a time; a second one gets RuntimeError. Other runs may run beside it.
    """

    def __init__(
        self,
        plan: Plan,
        data: Any = None,
        labels: Any = None,
        weights: Any = None,
        *,
        threads: Optional[int] = None,
        kernels: Optional[str] = None,
        owner: Optional["Run"] = None,
    ) -> None:
        if not isinstance(plan, Plan):
            raise TypeError("plan is %s; give what firn.compile or Plan.load returned" % type(plan).__name__)
        if owner is not None and not isinstance(owner, Run):
            raise TypeError("owner is %s; give the run that trains" % type(owner).__name__)
        threads = _firn.cpus if threads is None else threads
        if not isinstance(threads, int) or not 1 <= threads <= 256:
            raise _refuse("threads: %r is no number of threads" % (threads,), "write one from 1 to 256")
        self.plan, self._batches, self._owner = plan, None, owner
        try:
            inner = None if owner is None else owner._instance
            self._instance = _firn.Instance(plan.data, plan.public_key, threads, kernels, inner)
            self.info: Row = self._instance.describe()
            self._wanted = [self._instance.stream(i) for i in range(self.info["streams"])]
            self._ignored = self._instance.ignored()
            self._instance.initialise()  # with an owner only what is not the owner's
        except _firn.StatusError as raised:
            raise _status(raised, plan._file) from None
        self._arrays: List[np.ndarray] = []
        self._origins: List[Any] = []
        given = [a for a in (data, labels, weights) if a is not None]
        if self.info["ring"] and given:
            if len(given) > 1 or not hasattr(data, "__iter__") or isinstance(data, np.ndarray):
                raise _refuse("the plan takes batches", "give step(batch) one after the other, or data=iterable of them")
            self._batches = iter(data)
        elif given:
            self.bind(*given)

    @property
    def streams(self) -> List[Row]:
        """What the plan reads: the type, the elements of a record, and the limit that integers must be below (0: none)."""
        return [{"type": _TYPES[e], "record": r, "limit": n} for e, r, n in self._wanted]

    @property
    def batch(self) -> int:
        """Samples of one step."""
        return self.info["samples"] * self.info["micro_batches"]

    def bind(self, *arrays: Any) -> None:
        """Gives the run other data, with the same types: data, labels, weights."""
        converted = _streams(arrays, self._wanted, self.info["window"], self._ignored)
        numbered = self._ignored is not None and not self.info["window"]
        self._take(converted, [_origin(a, c, numbered and i == 1) for i, (a, c) in enumerate(zip(arrays, converted))])

    def _take(self, converted: List[np.ndarray], origins: List[Any]) -> None:
        self._call(self._instance.bind, [(a, e, r) for a, (e, r, _) in zip(converted, self._wanted)])
        self._arrays, self._origins = converted, origins

    def _call(self, function: Callable, *arguments: Any, file: str = "") -> Any:
        try:
            return function(*arguments)
        except _firn.StatusError as raised:
            raise _status(raised, file) from None

    def _push(self, batch: Any) -> None:
        given = batch if isinstance(batch, (tuple, list)) else (batch,)
        arrays = _streams(given, self._wanted, self.info["window"], self._ignored)
        samples = arrays[0].size // self._wanted[0][1]
        if samples != self.batch:
            raise _refuse("the batch has %d samples, and a step takes %d" % (samples, self.batch), "give %d" % self.batch)
        self._call(self._instance.push, arrays, samples)

    # --- training ---

    def step(self, batch: Any = None) -> Row:
        """Runs one step. batch: of a plan with source="push", (data, labels, weights) as it needs them.

        Returns the row of the log: step, loss, learning_rate, loss_scale, gradient_norm (NaN: not computed), skipped.
        """
        if batch is not None:
            self._push(batch)
        elif self._batches is not None:
            self._push(next(self._batches))
        try:
            return self._instance.step()
        except _firn.StatusError as raised:
            raise _status(raised) from None

    def __iter__(self) -> Iterator[Row]:
        """The remaining steps of the plan, one after the other; ends with the run, or with the batches of data."""
        while True:
            try:
                yield self.step()
            except StopIteration:
                return
            except RunError as error:
                if error.name == "RUN_COMPLETE":
                    return
                raise

    def train(self, steps: Optional[int] = None, callback: Optional[Callable[[Row], Any]] = None) -> List[Row]:
        """Runs so many steps, None: all that are left. callback(row) after each; if it returns False the training ends.

        Returns the rows.
        """
        if steps is not None and (not isinstance(steps, (int, np.integer)) or isinstance(steps, bool) or steps < 0):
            raise _refuse("steps: %r is no number of steps" % (steps,), "give a whole number, or None for all")
        rows: List[Row] = []
        if steps == 0:
            return rows
        for row in self:
            rows.append(row)
            if (callback is not None and callback(row) is False) or (steps is not None and len(rows) >= steps):
                break
        return rows

    # --- evaluating ---

    def _evaluate(self, arrays: Sequence[Any], ready: bool = False) -> Iterator[int]:
        """Runs all batches. ready: the arrays are the plan's already."""
        if self.info["ring"]:  # such data has no end
            raise _refuse("the plan takes pushed samples", "generate() with a plan of mode decode, or compile it anew")
        if not arrays and not self._arrays:
            raise _refuse("the run has no data", "give arrays here, or to Run")
        own, origins = self._arrays, self._origins
        try:
            if arrays and ready:
                self._take(list(arrays), origins)
            elif arrays:
                self.bind(*arrays)
            self._call(self._instance.restart)
            while True:
                rows = self._call(self._instance.eval_step)
                if rows is None:
                    return
                yield rows
        finally:
            if arrays and own:
                self._take(own, origins)

    def evaluate(self, *arrays: Any) -> float:
        """The metric of an eval plan over all data: that of the run, or arrays (data, labels, weights) for this call.

        Arrays that a run without data is given become its own.
        """
        for _ in self._evaluate(arrays):
            pass
        return self._call(self._instance.metric, 0)

    def predict(self, *arrays: Any) -> Dict[str, np.ndarray]:
        """The outputs of a plan of mode predict, by name, with a row for each sample [samples, ...]."""
        if not self.info["outputs"]:
            raise _refuse("the plan has no outputs", 'compile it with mode="predict"')
        found: Dict[str, List[np.ndarray]] = {}
        own = self._arrays
        given = [np.asarray(a) for a in (arrays or own)]
        samples, batch = (_length(given[0]) if given else 0), self.batch
        if not self.info["window"] and not self.info["short_batch"] and samples % batch:
            more = batch - samples % batch  # rows depend on their own sample alone, so the last one may be repeated
            given = [np.concatenate([a, np.repeat(a[-1:], more, axis=0)]) for a in given]
        for rows in self._evaluate(given, not arrays):
            for position in range(self.info["outputs"]):
                name, element, _, extents, data = self._call(self._instance.output, position)
                found.setdefault(name, []).append(_tensor(data, element, extents)[: None if self.info["window"] else rows])
        if arrays and not own:
            self.bind(*arrays)
        whole = {name: np.concatenate(parts) for name, parts in found.items()}
        return {n: a if self.info["window"] else a[:samples] for n, a in whole.items()}

    def generate(
        self,
        prompt: Union[str, bytes, Sequence[int]],
        tokens: int,
        *,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
    ) -> List[int]:
        """The ids that follow a prompt, by a plan of mode decode. prompt: ids, or text whose bytes are the ids."""
        ids = list(prompt.encode() if isinstance(prompt, str) else prompt)
        if not ids:
            raise _refuse("there is no prompt", "give at least one token")
        if not isinstance(tokens, (int, np.integer)) or isinstance(tokens, bool) or tokens < 0:
            raise _refuse("tokens: %r is no number of tokens" % (tokens,), "give a whole number")
        for name, value, least, most in (("temperature", temperature, 0, 1e30), ("top_p", top_p, 1e-30, 1)):
            if not isinstance(value, (int, float, np.floating)) or not least <= value <= most:
                raise _refuse("%s: %r is none" % (name, value), "give a number from %g to %g" % (least, most))
        for name, value, end in (("top_k", top_k, 2**32), ("seed", seed, 2**64)):
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not 0 <= value < end:
                raise _refuse("%s: %r is none" % (name, value), "give a whole number from 0")
        context, classes, _ = self._call(self._instance.begin_text)
        if len(ids) + tokens > context + 1:
            raise _refuse("%d tokens and %d more are beyond the context of %d" % (len(ids), tokens, context), "give a shorter prompt, or ask for fewer tokens")
        for token in ids:
            if not isinstance(token, (int, np.integer)) or not 0 <= token < classes:
                raise _refuse("%r is no token" % (token,), "ids are whole numbers below %d" % classes)
            self._call(self._instance.decode, int(token))
        found: List[int] = []
        while len(found) < tokens:
            if found:
                self._call(self._instance.decode, found[-1])
            found.append(self._call(self._instance.sample, temperature, top_k, top_p, seed))
        return found

    # --- the state ---

    def state(self, optimizer: bool = False) -> Dict[str, np.ndarray]:
        """Copies of parameters and buffers by name; with optimizer=True also what the optimizer keeps, and counters.

        bfloat16 comes as float32 with the same values; cbfloat16 as its 16 bits.
        """
        roles = _STATE if optimizer else _STATE[:2]
        found, position = {}, 0
        while True:
            tensor = self._call(self._instance.tensor, position)
            if tensor is None:
                return found
            name, element, role, extents, data = tensor
            if name and data is not None and role < len(roles):
                found[name] = _tensor(data, element, extents)
            position += 1

    def digest(self) -> str:
        """SHA-256 of the whole state, as `firn digest` prints it."""
        return self._call(self._instance.digest).hex()

    def save(self, path: Union[str, os.PathLike]) -> None:
        """Writes a checkpoint as `firn train --checkpoint` does; the file is replaced as a whole. `firn train --resume` then
        takes the same data only, as files that numpy.save wrote of the arrays."""
        _keep_key(_path(path))
        if self._arrays:
            found = _data_hash(self._origins, self._arrays, bool(self.info["window"]))
            self._call(self._instance.set_data_hash, found)
        self._call(self._instance.save, _path(path), file=_path(path))

    def load(self, path: Union[str, os.PathLike]) -> None:
        """Restores a checkpoint: of this run, or for an evaluation of one with the same model."""
        self._call(self._instance.restore, _path(path), file=_path(path))


def _tensor(data: bytes, element: int, extents: Sequence[int]) -> np.ndarray:
    array = np.frombuffer(data, dtype=_TYPES[element]).reshape(extents)
    return (array.astype(np.uint32) << 16).view(np.float32) if element == _BFLOAT16 else array.copy()

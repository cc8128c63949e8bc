"""Compares the gradients of single ONNX operators, imported and trained for one step, with PyTorch's in float64.

    gradients.py PROGRAM [--only WORD] [--write]

PROGRAM is build/tests/onnx_run (run.c). Every operand is computed from a parameter (a product with a number of the data,
then a reshape), so that its gradient is that of the parameter. The loss is the sum of the outputs times fixed numbers.
Extents of 1 and odd extents are on purpose. The numbers with which the outputs are multiplied are parameters, too: their
gradients are the outputs.

--write keeps the first row of each operator and the rows that are called `kept`, with what PyTorch computes of them, in
kept_rows.npz; kept_rows.py runs these without PyTorch and onnx."""
import argparse
import functools
import sys
import warnings

warnings.filterwarnings("ignore")
import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper, numpy_helper

from kept_rows import BOUND, run, write

node = helper.make_node

OPSET = 23
ROWS = []
KEPT = set()


def row(name, op, function, *shapes, attributes=None, constants=None, prepare=None, outputs=1, weighed=None):
    """op: an operator, or a function that makes nodes of the names of their operands, the last of which makes y_0. shapes: of
    the operands that have gradients. constants: position -> array of the operands that have none; None: left out; of a function
    also name -> array. prepare: makes the values of the operands suitable. weighed: how many of the outputs the loss reads."""
    if all(op != other[1] for other in ROWS):
        KEPT.add(name)
    ROWS.append((name, op, function, shapes, attributes or {}, constants or {}, prepare, outputs, weighed or outputs))


def kept(name, *arguments, **options):
    row(name, *arguments, **options)
    KEPT.add(name)


def positive(*values):
    return [np.abs(v) + 0.3 for v in values]


def apart_from_zero(*values):
    return [v + np.sign(v) * 0.1 for v in values]


def ints(*values):
    return np.array(values, np.int64)


def reals(*values):
    return np.array(values, np.float32)


# --- elementwise ---
for op, function, prepare in (
        ("Relu", F.relu, apart_from_zero), ("Sigmoid", torch.sigmoid, None), ("Tanh", torch.tanh, None), ("Erf", torch.erf, None),
        ("Softplus", F.softplus, None), ("HardSwish", F.hardswish, None), ("Exp", torch.exp, None), ("Log", torch.log, positive),
        ("Sqrt", torch.sqrt, positive), ("Reciprocal", torch.reciprocal, apart_from_zero), ("Neg", torch.neg, None),
        ("Abs", torch.abs, apart_from_zero), ("Identity", lambda x: x * 1, None), ("Elu", F.elu, apart_from_zero),
        ("LeakyRelu", lambda x: F.leaky_relu(x, 0.01), apart_from_zero), ("Gelu", F.gelu, None),
        ("HardSigmoid", lambda x: torch.clamp(0.2 * x + 0.5, 0, 1), None)):
    row(op, op, function, (3, 1, 7), prepare=prepare)
for op, function, prepare in (
        ("Sin", torch.sin, None), ("Cos", torch.cos, None), ("Tan", torch.tan, lambda x: [np.tanh(x)]), ("Atan", torch.atan, None),
        ("Asin", torch.asin, lambda x: [np.tanh(x)]), ("Acos", torch.acos, lambda x: [np.tanh(x)]), ("Sinh", torch.sinh, None), ("Cosh", torch.cosh, None),
        ("Asinh", torch.asinh, lambda x: [x * np.exp(3 * x)]), ("Acosh", torch.acosh, lambda x: [1 + np.abs(x) + 0.01]),
        ("Atanh", torch.atanh, lambda x: [0.9 * np.tanh(x)]), ("Celu", F.celu, apart_from_zero)):
    kept(op, op, function, (3, 1, 7), prepare=prepare)
kept("Celu alpha", "Celu", lambda x: F.celu(x, 0.7), (2, 3, 5), attributes={"alpha": 0.7}, prepare=apart_from_zero)
kept("Shrink", "Shrink", lambda x: F.softshrink(x, 0.4), (3, 7), attributes={"lambd": 0.4, "bias": 0.4})
kept("Shrink hard", "Shrink", lambda x: F.hardshrink(x, 0.4), (3, 7), attributes={"lambd": 0.4})
kept("Mod", "Mod", torch.fmod, (3, 7), (7,), attributes={"fmod": 1}, prepare=apart_from_zero)
for op, function in (("Mish", F.mish), ("Selu", F.selu), ("Softsign", F.softsign)):
    row(op, op, function, (3, 1, 7), prepare=apart_from_zero)
for op, function in (("Floor", torch.floor), ("Ceil", torch.ceil), ("Sign", torch.sign), ("Round", torch.round)):
    kept(op, lambda x, o=op: [node(o, [x], ["whole"], "whole"), node("Mul", [x, "whole"], ["y_0"], "op")], lambda x, f=function: x * f(x), (3, 1, 7),
         prepare=lambda x: [np.round(x * 4) / 2])
row("ThresholdedRelu", "ThresholdedRelu", lambda x: F.threshold(x, 0.3, 0.0), (3, 7), attributes={"alpha": 0.3})
row("Elu alpha", "Elu", lambda x: F.elu(x, 0.7), (2, 1, 1, 3, 1, 5), attributes={"alpha": 0.7})
row("LeakyRelu slope", "LeakyRelu", lambda x: F.leaky_relu(x, 0.3), (13,), attributes={"alpha": 0.3})
row("Gelu tanh", "Gelu", lambda x: F.gelu(x, approximate="tanh"), (5, 3), attributes={"approximate": "tanh"})
row("HardSigmoid other", "HardSigmoid", lambda x: torch.clamp(0.3 * x + 0.4, 0, 1), (11,), attributes={"alpha": 0.3, "beta": 0.4})
row("Clip", "Clip", lambda x: torch.clamp(x, -0.5, 0.8), (4, 5), constants={1: np.float32(-0.5), 2: np.float32(0.8)})
row("Clip low", "Clip", lambda x: torch.clamp(x, min=0.1), (9,), constants={1: np.float32(0.1)})
row("PRelu", "PRelu", lambda x, s: torch.where(x > 0, x, s * x), (2, 3, 5), (3, 1))
row("Cast", "Cast", lambda x: x * 1, (3, 3), attributes={"to": TensorProto.FLOAT})
row("Dropout off", "Dropout", lambda x: x * 1, (3, 3))
for op, function in (("Add", torch.add), ("Sub", torch.sub), ("Mul", torch.mul), ("Div", torch.div),
                     ("Max", torch.maximum), ("Min", torch.minimum)):
    for a, b in (((3, 5), (3, 5)), ((2, 3, 1, 5), (4, 1)), ((5,), (3, 1, 1)), ((1,), (7,)), ((2, 1, 3), (1,))):
        row(f"{op} {list(a)} {list(b)}", op, function, a, b, prepare=apart_from_zero)
row("Max of three", "Max", lambda a, b, c: torch.maximum(torch.maximum(a, b), c), (3, 4), (4,), (3, 1))
row("Min of three", "Min", lambda a, b, c: torch.minimum(torch.minimum(a, b), c), (3, 4), (4,), (3, 1))
row("Sum", "Sum", lambda a, b, c: a + b + c, (3, 4), (4,), (3, 1))
row("Mean", "Mean", lambda a, b, c: (a + b + c) / 3, (3, 4), (4,), (3, 1))
row("Pow", "Pow", torch.pow, (3, 5), (5,), prepare=lambda a, b: [np.abs(a) + 0.4, b])
for exponent in (2.0, 3.0, 0.5, -1.0, 1.7):
    row(f"Pow {exponent}", "Pow", lambda a, e=exponent: torch.pow(a, e), (2, 7), constants={1: np.float32(exponent)}, prepare=positive)
row("Pow of a negative base", "Pow", lambda a: torch.pow(a, 3), (2, 7), constants={1: np.float32(3)})
CONDITION = np.array([[True, False, True, False, True]])
row("Where", "Where", lambda a, b: torch.where(torch.tensor(CONDITION), a, b), (3, 5), (3, 1), constants={0: CONDITION})


# --- truth values, which choose between two operands ---
def choose(name, function, *conditions, **options):
    """The last of the conditions, which are nodes, has the result `chosen`."""
    kept(name, lambda a, b: [*conditions, node("Where", ["chosen", a, b], ["y_0"], "op")], function, (3, 5), (3, 5), **options)


for op, function in (("Equal", torch.eq), ("Less", torch.lt), ("LessOrEqual", torch.le), ("Greater", torch.gt), ("GreaterOrEqual", torch.ge)):
    choose(op, lambda a, b, f=function: torch.where(f(torch.floor(a), torch.floor(b)), a, b), node("Floor", ["x_0"], ["low_a"], "low_a"),
           node("Floor", ["x_1"], ["low_b"], "low_b"), node(op, ["low_a", "low_b"], ["chosen"], "compare"))
for op, function in (("And", torch.logical_and), ("Or", torch.logical_or), ("Xor", torch.logical_xor)):
    choose(op, lambda a, b, f=function: torch.where(f(a > b, a > 0), a, b), node("Greater", ["x_0", "x_1"], ["more"], "more"),
           node("Greater", ["x_0", "zero"], ["above"], "above"), node(op, ["more", "above"], ["chosen"], "join"), constants={"zero": np.float32(0)})
choose("Not", lambda a, b: torch.where(a > b, b, a), node("Greater", ["x_0", "x_1"], ["more"], "more"), node("Not", ["more"], ["chosen"], "not"))
choose("IsNaN", lambda a, b: torch.where(a < 0, a, b), node("Log", ["x_0"], ["log"], "log"), node("IsNaN", ["log"], ["chosen"], "is_nan"))
for negative in (0, 1):
    choose(f"IsInf {negative}", lambda a, b, n=negative: torch.where(a <= 0 if n else torch.zeros_like(a) > 0, a, b), node("Relu", ["x_0"], ["limited"], "limit"),
           node("Log", ["limited"], ["log"], "log"), node("IsInf", ["log"], ["chosen"], "is_inf", detect_negative=negative))

# --- sums ---
for axes, keep in (((1,), 1), ((0, 2), 0)):
    for op, function, prepare in (("ReduceL1", lambda x, a, k: x.abs().sum(a, k), apart_from_zero), ("ReduceSumSquare", lambda x, a, k: x.pow(2).sum(a, k), None),
                                  ("ReduceLogSum", lambda x, a, k: x.sum(a, k).log(), positive), ("ReduceLogSumExp", torch.logsumexp, None)):
        kept(f"{op} {list(axes)}", op, lambda x, f=function, a=axes, k=keep: f(x, a, bool(k)), (3, 5, 7), attributes={"keepdims": keep}, constants={1: ints(*axes)},
             prepare=prepare)
for op, function in (("ReduceSum", torch.sum), ("ReduceMean", torch.mean), ("ReduceMax", torch.amax), ("ReduceMin", torch.amin),
                     ("ReduceL2", lambda x, dim, keepdim: x.pow(2).sum(dim, keepdim).sqrt())):
    for axes, keep in (((1,), 1), ((0, 2), 0), ((-1,), 0), ((0, 1, 2), 1)):
        row(f"{op} {list(axes)} {keep}", op, lambda x, f=function, a=axes, k=keep: f(x, dim=a, keepdim=bool(k)), (3, 1, 7),
            attributes={"keepdims": keep}, constants={1: ints(*axes)})
for axes, keep in (((1,), 1), ((0, 2), 0)):
    kept(f"ReduceProd {list(axes)}", "ReduceProd", lambda x, a=axes, k=keep: functools.reduce(lambda y, d: y.prod(d, keepdim=True), a, x).reshape(
        (3, 1, 7) if k else (5,)), (3, 5, 7), attributes={"keepdims": keep}, constants={1: ints(*axes)})
for axis in (-1, 0, 1):
    row(f"Softmax {axis}", "Softmax", lambda x, a=axis: F.softmax(x, a), (3, 4, 5), attributes={"axis": axis})
    row(f"LogSoftmax {axis}", "LogSoftmax", lambda x, a=axis: F.log_softmax(x, a), (3, 4, 5), attributes={"axis": axis})
row("CumSum", "CumSum", lambda x: x.cumsum(1), (3, 5), constants={1: np.int64(1)})
row("CumSum reverse", "CumSum", lambda x: x.flip(0).cumsum(0).flip(0), (3, 5), constants={1: np.int64(0)}, attributes={"reverse": 1})
row("CumSum exclusive", "CumSum", lambda x: x.cumsum(1) - x, (3, 5), constants={1: np.int64(1)}, attributes={"exclusive": 1})

# --- products ---
for a, b in (((3, 5), (5, 4)), ((2, 3, 5), (5, 4)), ((2, 3, 5), (2, 5, 1)), ((4, 1, 3, 5), (2, 5, 7)), ((5,), (5, 3)), ((3, 5), (5,)), ((5,), (5,)),
             ((3, 5), (2, 5, 3))):
    row(f"MatMul {list(a)} {list(b)}", "MatMul", torch.matmul, a, b)
for ta in (0, 1):
    for tb in (0, 1):
        row(f"Gemm {ta}{tb}", "Gemm",
            lambda a, b, c, ta=ta, tb=tb: 0.7 * ((a.T if ta else a) @ (b.T if tb else b)) + 1.3 * c,
            (5, 3) if ta else (3, 5), (4, 5) if tb else (5, 4), (4,), attributes={"transA": ta, "transB": tb, "alpha": 0.7, "beta": 1.3})
row("Gemm column", "Gemm", lambda a, b, c: a @ b + c, (3, 5), (5, 4), (3, 1))
for equation, *shapes in (("ij,jk->ik", (3, 5), (5, 4)), ("bij,bjk->bik", (2, 3, 5), (2, 5, 4)), ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 1, 5)),
                          ("bqhd,bkhd->bhqk", (2, 3, 4, 5), (2, 3, 4, 5)), ("i,j->ij", (3,), (4,)), ("ijk,k->ij", (2, 3, 4), (4,)),
                          ("ij->ji", (3, 4)), ("ij->i", (3, 4)), ("...ij,...jk->...ik", (2, 3, 5), (2, 5, 4))):
    row(f"Einsum {equation}", "Einsum", lambda *xs, e=equation: torch.einsum(e, *xs), *shapes, attributes={"equation": equation})

for equation, shape in (("bii->bi", (2, 4, 4)), ("ijji->j", (3, 2, 2, 3)), ("ii->", (5, 5))):
    kept(f"Einsum {equation}", "Einsum", lambda x, e=equation: torch.einsum(e, x), shape, attributes={"equation": equation})

for equation, *shapes in (("bij,jkl,il->bk", (2, 3, 4), (4, 5, 2), (3, 2)), ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)),
                          ("ij,ij,ij->i", (3, 4), (3, 4), (3, 4)), ("i,j,k,l", (2,), (3,), (1,), (2,))):
    kept(f"Einsum {equation}", "Einsum", lambda *xs, e=equation: torch.einsum(e, *xs), *shapes, attributes={"equation": equation})

# --- images ---
row("Conv", "Conv", lambda x, w, b: F.conv2d(x, w, b), (2, 3, 7, 5), (4, 3, 3, 2), (4,))
row("Conv strided", "Conv", lambda x, w: F.conv2d(x, w, stride=(2, 3), padding=(1, 2)), (1, 2, 7, 8), (3, 2, 3, 3),
    attributes={"strides": [2, 3], "pads": [1, 2, 1, 2]})
row("Conv uneven pads", "Conv", lambda x, w: F.conv2d(F.pad(x, (2, 1, 0, 1)), w), (1, 2, 5, 4), (3, 2, 3, 3), attributes={"pads": [0, 2, 1, 1]})
row("Conv dilated", "Conv", lambda x, w: F.conv2d(x, w, dilation=(2, 1)), (1, 2, 7, 5), (3, 2, 3, 2), attributes={"dilations": [2, 1]})
row("Conv groups", "Conv", lambda x, w, b: F.conv2d(x, w, b, groups=2, padding=1), (1, 4, 5, 3), (6, 2, 3, 3), (6,),
    attributes={"group": 2, "pads": [1, 1, 1, 1]})
row("Conv depthwise", "Conv", lambda x, w: F.conv2d(x, w, groups=3, padding=1), (2, 3, 5, 3), (3, 1, 3, 3),
    attributes={"group": 3, "pads": [1, 1, 1, 1]})
row("Conv 1-D", "Conv", lambda x, w, b: F.conv1d(x, w, b, stride=2, padding=1), (2, 3, 9), (4, 3, 3), (4,), attributes={"strides": [2], "pads": [1, 1]})
row("Conv 1x1", "Conv", lambda x, w: F.conv2d(x, w), (2, 3, 1, 1), (5, 3, 1, 1))
row("ConvTranspose", "ConvTranspose", lambda x, w, b: F.conv_transpose2d(x, w, b, stride=2), (2, 3, 4, 3), (3, 2, 2, 2), (2,), attributes={"strides": [2, 2]})
row("ConvTranspose pads", "ConvTranspose", lambda x, w: F.conv_transpose2d(x, w, stride=(2, 3), padding=1, output_padding=(1, 0)), (1, 3, 4, 3), (3, 2, 3, 4),
    attributes={"strides": [2, 3], "pads": [1, 1, 1, 1], "output_padding": [1, 0]})
row("ConvTranspose 1-D", "ConvTranspose", lambda x, w: F.conv_transpose1d(x, w, stride=2, padding=1), (2, 3, 5), (3, 4, 4), attributes={"strides": [2], "pads": [1, 1]})
row("MaxPool", "MaxPool", lambda x: F.max_pool2d(x, 2), (2, 3, 6, 5), attributes={"kernel_shape": [2, 2], "strides": [2, 2]})
row("MaxPool overlapping", "MaxPool", lambda x: F.max_pool2d(x, 3, 2, 1), (2, 3, 7, 5), attributes={"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]})
row("MaxPool 1-D", "MaxPool", lambda x: F.max_pool1d(x, 3, 1), (2, 3, 7), attributes={"kernel_shape": [3], "strides": [1]})
row("AveragePool", "AveragePool", lambda x: F.avg_pool2d(x, (2, 3)), (2, 3, 6, 7), attributes={"kernel_shape": [2, 3], "strides": [2, 3]})
row("AveragePool pads", "AveragePool", lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), (2, 3, 7, 5),
    attributes={"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]})
row("AveragePool counted", "AveragePool", lambda x: F.avg_pool2d(x, 3, 2, 1), (2, 3, 7, 5),
    attributes={"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "count_include_pad": 1})
row("GlobalAveragePool", "GlobalAveragePool", lambda x: x.mean((2, 3), keepdim=True), (2, 3, 5, 7))
# volumes
kept("Conv 3-D", "Conv", lambda x, w, b: F.conv3d(x, w, b, stride=(2, 1, 2), padding=(1, 0, 1)), (2, 3, 5, 4, 6), (4, 3, 3, 2, 3), (4,),
    attributes={"strides": [2, 1, 2], "pads": [1, 0, 1, 1, 0, 1]})
kept("Conv 3-D plane", "Conv", lambda x, w: F.conv3d(x, w), (2, 3, 5, 4, 3), (4, 3, 1, 2, 2))
kept("Conv 3-D dilated", "Conv", lambda x, w: F.conv3d(F.pad(x, (0, 0, 0, 0, 2, 1)), w, dilation=(2, 1, 1)), (1, 2, 4, 3, 3), (3, 2, 3, 2, 1),
    attributes={"dilations": [2, 1, 1], "pads": [2, 0, 0, 1, 0, 0]})
kept("Conv 3-D groups", "Conv", lambda x, w, b: F.conv3d(x, w, b, groups=2, padding=1), (1, 4, 3, 3, 4), (6, 2, 3, 3, 3), (6,),
    attributes={"group": 2, "pads": [1] * 6})
kept("Conv 3-D depthwise", "Conv", lambda x, w: F.conv3d(x, w, groups=3, padding=(1, 1, 0)), (2, 3, 4, 3, 3), (3, 1, 3, 3, 1),
    attributes={"group": 3, "pads": [1, 1, 0, 1, 1, 0]})
kept("ConvTranspose 3-D", "ConvTranspose", lambda x, w, b: F.conv_transpose3d(x, w, b, stride=(2, 1, 2), padding=(1, 0, 1), output_padding=(1, 0, 0)),
    (2, 3, 3, 2, 4), (3, 2, 3, 2, 3), (2,), attributes={"strides": [2, 1, 2], "pads": [1, 0, 1, 1, 0, 1], "output_padding": [1, 0, 0]})
kept("ConvTranspose 3-D groups", "ConvTranspose", lambda x, w: F.conv_transpose3d(x, w, stride=2, groups=2), (1, 4, 2, 3, 2), (4, 2, 2, 2, 2),
    attributes={"strides": [2, 2, 2], "group": 2})
kept("MaxPool 3-D", "MaxPool", lambda x: F.max_pool3d(x, (2, 3, 2), (2, 1, 2), (1, 1, 0)), (2, 3, 5, 4, 6),
    attributes={"kernel_shape": [2, 3, 2], "strides": [2, 1, 2], "pads": [1, 1, 0, 1, 1, 0]})
kept("MaxPool 3-D ceil", "MaxPool", lambda x: F.max_pool3d(x, 3, 2, 0, ceil_mode=True), (1, 2, 6, 5, 4),
    attributes={"kernel_shape": [3, 3, 3], "strides": [2, 2, 2], "ceil_mode": 1})
kept("AveragePool 3-D", "AveragePool", lambda x: F.avg_pool3d(x, (2, 3, 2), 2, (1, 1, 0), count_include_pad=False), (2, 3, 5, 4, 6),
    attributes={"kernel_shape": [2, 3, 2], "strides": [2, 2, 2], "pads": [1, 1, 0, 1, 1, 0]})
kept("AveragePool 3-D counted", "AveragePool", lambda x: F.avg_pool3d(x, (3, 2, 2), 2, 1), (2, 3, 5, 4, 6),
    attributes={"kernel_shape": [3, 2, 2], "strides": [2, 2, 2], "pads": [1] * 6, "count_include_pad": 1})
kept("GlobalAveragePool 3-D", "GlobalAveragePool", lambda x: x.mean((2, 3, 4), keepdim=True), (2, 3, 2, 5, 3))
kept("GlobalMaxPool 3-D", "GlobalMaxPool", lambda x: x.amax((2, 3, 4), keepdim=True), (2, 3, 2, 5, 3))
kept("LRN", "LRN", lambda x: F.local_response_norm(x, 3, 0.7, 0.6, 1.2), (2, 5, 3, 4), attributes={"size": 3, "alpha": 0.7, "beta": 0.6, "bias": 1.2})
kept("LRN five", "LRN", lambda x: F.local_response_norm(x, 5), (2, 7, 6), attributes={"size": 5})
row("Resize nearest", "Resize", lambda x: F.interpolate(x, scale_factor=2, mode="nearest"), (1, 2, 3, 5),
    attributes={"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}, constants={1: None, 2: reals(1, 1, 2, 2)})
row("Resize linear", "Resize", lambda x: F.interpolate(x, size=(7, 4), mode="bilinear", align_corners=False), (2, 2, 3, 5),
    attributes={"mode": "linear", "coordinate_transformation_mode": "half_pixel"}, constants={1: None, 2: None, 3: ints(2, 2, 7, 4)})

for align in (False, True):
    for size in ((7, 4), (2, 9)):
        kept(f"Resize cubic {size} {align}", "Resize", lambda x, a=align, s=size: F.interpolate(x, size=s, mode="bicubic", align_corners=a), (1, 2, 4, 5),
             attributes={"mode": "cubic", "coordinate_transformation_mode": "align_corners" if align else "half_pixel", "cubic_coeff_a": -0.75},
             constants={1: None, 2: None, 3: ints(1, 2, *size)})
for mode in ("linear", "cubic"):
    kept(f"Resize {mode} antialias", "Resize", lambda x, m=mode: F.interpolate(x, size=(3, 9), mode="bi" + m, align_corners=False, antialias=True), (1, 2, 8, 5),
         attributes={"mode": mode, "antialias": 1, "exclude_outside": 1, "cubic_coeff_a": -0.5}, constants={1: None, 2: None, 3: ints(1, 2, 3, 9)})

SAMPLES = np.random.default_rng(5).standard_normal((2, 3, 2, 2)).astype(np.float32)
VOLUME_SAMPLES = np.random.default_rng(6).standard_normal((2, 2, 1, 3, 3)).astype(np.float32)
for mode in ("linear", "cubic"):
    for padding in ("zeros", "border", "reflection"):
        for align in (0, 1):
            kept(f"GridSample {mode} {padding} {align}", "GridSample",
                 lambda x, g, m=mode, p=padding, a=align: F.grid_sample(x, g, {"linear": "bilinear", "cubic": "bicubic"}[m], p, bool(a)), (2, 3, 4, 5), (2, 3, 2, 2),
                 attributes={"mode": mode, "padding_mode": padding, "align_corners": align})
for padding in ("zeros", "border", "reflection"):
    kept(f"GridSample nearest {padding}", "GridSample", lambda x, p=padding: F.grid_sample(x, torch.tensor(SAMPLES, dtype=x.dtype), "nearest", p, False), (2, 3, 4, 5),
         attributes={"mode": "nearest", "padding_mode": padding}, constants={1: SAMPLES})
for padding in ("zeros", "reflection"):
    kept(f"GridSample 3-D {padding}", "GridSample", lambda x, g, p=padding: F.grid_sample(x, g, "bilinear", p, False), (2, 2, 3, 4, 5), (2, 2, 1, 3, 3),
         attributes={"mode": "linear", "padding_mode": padding})
kept("GridSample 3-D nearest", "GridSample", lambda x: F.grid_sample(x, torch.tensor(VOLUME_SAMPLES, dtype=x.dtype), "nearest", "border", False), (2, 2, 3, 4, 5),
     attributes={"mode": "nearest", "padding_mode": "border"}, constants={1: VOLUME_SAMPLES})



def unpool(x, **options):
    pooled, places = F.max_pool2d(x, 2, 2, return_indices=True)
    return F.max_unpool2d(pooled, places, 2, 2, **options)


def pool_and_unpool(*more):
    return lambda x: [helper.make_node("MaxPool", [x], ["pooled", "places"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
                      helper.make_node("MaxUnpool", ["pooled", "places", *more], ["y_0"], "op", kernel_shape=[2, 2], strides=[2, 2])]


kept("MaxUnpool", pool_and_unpool(), unpool, (2, 3, 4, 6))
kept("MaxUnpool larger", pool_and_unpool("shape"), lambda x: F.pad(unpool(x), (0, 1, 0, 2)), (2, 3, 4, 6), constants={"shape": ints(2, 3, 6, 7)})
kept("Col2Im", "Col2Im", lambda x: F.fold(x, (5, 6), (2, 3), padding=(1, 0), stride=(2, 1)), (2, 12, 12), constants={1: ints(5, 6), 2: ints(2, 3)},
     attributes={"pads": [1, 0, 1, 0], "strides": [2, 1]})
kept("Col2Im dilated", "Col2Im", lambda x: F.fold(x, (5, 6), (2, 2), dilation=2), (1, 8, 12), constants={1: ints(5, 6), 2: ints(2, 2)},
     attributes={"dilations": [2, 2]})

# --- spectra ---
parts = lambda z: torch.view_as_real(z) if z.is_complex() else z[..., None]
whole = lambda x: torch.view_as_complex(x.contiguous()) if x.shape[-1] == 2 else x[..., 0]
for axis in (1, 2):
    kept(f"DFT {axis}", "DFT", lambda x, a=axis: parts(torch.fft.fft(whole(x), dim=a)), (2, 5, 6, 2), constants={1: None, 2: np.int64(axis)})
    kept(f"DFT inverse {axis}", "DFT", lambda x, a=axis: parts(torch.fft.ifft(whole(x), dim=a)), (2, 5, 6, 2), constants={1: None, 2: np.int64(axis)},
         attributes={"inverse": 1})
kept("DFT real", "DFT", lambda x: parts(torch.fft.fft(whole(x), dim=1)), (2, 7, 1), constants={1: None, 2: np.int64(1)})
kept("DFT one-sided", "DFT", lambda x: parts(torch.fft.rfft(whole(x), dim=1)), (2, 7, 1), constants={1: None, 2: np.int64(1)}, attributes={"onesided": 1})
kept("DFT longer", "DFT", lambda x: parts(torch.fft.rfft(whole(x), n=10, dim=1)), (2, 7, 1), constants={1: np.int64(10), 2: np.int64(1)}, attributes={"onesided": 1})
kept("DFT shorter", "DFT", lambda x: parts(torch.fft.fft(whole(x), n=4, dim=1)), (2, 7, 2), constants={1: np.int64(4), 2: np.int64(1)})
kept("STFT", "STFT", lambda x, w: parts(torch.stft(whole(x), 6, 3, 6, w, center=False, return_complex=True).transpose(1, 2)), (2, 20, 1), (6,),
     constants={1: np.int64(3), 3: np.int64(6)})

# --- norms ---
row("LayerNormalization", "LayerNormalization", lambda x, g, b: F.layer_norm(x, (7,), g, b), (3, 5, 7), (7,), (7,))
row("LayerNormalization axis", "LayerNormalization", lambda x, g, b: F.layer_norm(x, (5, 7), g, b, 1e-3), (3, 5, 7), (5, 7), (5, 7),
    attributes={"axis": 1, "epsilon": 1e-3})
row("LayerNormalization without bias", "LayerNormalization", lambda x, g: F.layer_norm(x, (9,), g), (4, 9), (9,))
row("RMSNormalization", "RMSNormalization", lambda x, g: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * g, (3, 5, 7), (7,))
row("GroupNormalization", "GroupNormalization", lambda x, g, b: F.group_norm(x, 2, g, b), (2, 6, 5, 3), (6,), (6,), attributes={"num_groups": 2})
row("InstanceNormalization", "InstanceNormalization", lambda x, g, b: F.instance_norm(x, weight=g, bias=b), (2, 3, 5, 7), (3,), (3,))
row("BatchNormalization", "BatchNormalization", lambda x, g, b: F.batch_norm(x, None, None, g, b, True), (4, 3, 5), (3,), (3,),
    attributes={"training_mode": 1}, constants={3: np.zeros(3, np.float32), 4: np.ones(3, np.float32)}, outputs=3, weighed=1)

# --- views ---
row("Reshape", "Reshape", lambda x: x.reshape(3, -1), (2, 3, 5), constants={1: ints(3, -1)})
row("Flatten", "Flatten", lambda x: x.flatten(0, 1).flatten(1), (2, 3, 5, 1), attributes={"axis": 2})
row("Squeeze", "Squeeze", lambda x: x.squeeze(1), (3, 1, 5), constants={1: ints(1)})
row("Unsqueeze", "Unsqueeze", lambda x: x[:, None, :, None], (3, 5), constants={1: ints(1, 3)})
for perm in ((1, 0, 2), (2, 1, 0), (0, 2, 1)):
    row(f"Transpose {list(perm)}", "Transpose", lambda x, p=perm: x.permute(*p), (3, 1, 5), attributes={"perm": perm})
row("Transpose of six", "Transpose", lambda x: x.permute(5, 3, 1, 0, 2, 4), (2, 1, 3, 2, 1, 3), attributes={"perm": [5, 3, 1, 0, 2, 4]})
row("Concat", "Concat", lambda a, b, c: torch.cat((a, b, c), 1), (2, 3, 5), (2, 1, 5), (2, 4, 5), attributes={"axis": 1})
row("Concat last", "Concat", lambda a, b: torch.cat((a, b), -1), (3, 2), (3, 5), attributes={"axis": -1})
row("Split", "Split", lambda x: x.split([1, 3, 2], 1), (2, 6, 3), attributes={"axis": 1}, constants={1: ints(1, 3, 2)}, outputs=3)
row("Slice", "Slice", lambda x: x[1:, :, 1:6:2], (3, 2, 7), constants={1: ints(1, 1), 2: ints(9, 6), 3: ints(0, 2), 4: ints(1, 2)})
row("Slice backwards", "Slice", lambda x: x.flip(0)[:, 1:3], (5, 4), constants={1: ints(-1, 1), 2: ints(-99, 3), 3: ints(0, 1), 4: ints(-1, 1)})
row("Pad", "Pad", lambda x: F.pad(x, (0, 3, 2, 1), value=1.5), (3, 4), constants={1: ints(2, 0, 1, 3), 2: np.float32(1.5)})
row("Pad reflect", "Pad", lambda x: F.pad(x, (2, 1), mode="reflect"), (2, 3, 5), attributes={"mode": "reflect"}, constants={1: ints(0, 0, 2, 0, 0, 1)})
row("Pad edge", "Pad", lambda x: F.pad(x, (2, 1), mode="replicate"), (2, 3, 5), attributes={"mode": "edge"}, constants={1: ints(0, 0, 2, 0, 0, 1)})
row("Expand", "Expand", lambda x: x.expand(2, 3, 4, 5), (3, 1, 5), constants={1: ints(2, 1, 4, 5)})
row("Tile", "Tile", lambda x: x.repeat(2, 1, 3), (3, 1, 5), constants={1: ints(2, 1, 3)})
row("Trilu", "Trilu", lambda x: torch.tril(x), (2, 4, 5), attributes={"upper": 0})
row("Trilu upper", "Trilu", lambda x: torch.triu(x, 1), (4, 5), attributes={"upper": 1}, constants={1: np.int64(1)})
for mode, function in (("DCR", lambda x: F.pixel_shuffle(x.reshape(2, 4, 3, 3, 5).transpose(1, 2).reshape(2, 12, 3, 5), 2)),
                       ("CRD", lambda x: F.pixel_shuffle(x, 2))):
    kept(f"DepthToSpace {mode}", "DepthToSpace", function, (2, 12, 3, 5), attributes={"blocksize": 2, "mode": mode})
row("SpaceToDepth", "SpaceToDepth", lambda x: F.pixel_unshuffle(x, 2).reshape(2, 3, 4, 2, 5).transpose(1, 2).reshape(2, 12, 2, 5), (2, 3, 4, 10),
    attributes={"blocksize": 2})
row("Size", lambda x: [node("Size", [x], ["size"], "size"), node("Cast", ["size"], ["real"], "real", to=TensorProto.FLOAT), node("Mul", [x, "real"], ["y_0"], "op")],
    lambda x: 15 * x, (3, 5))
row("Shape", lambda x: [node("Shape", [x], ["shape"], "shape", start=1, end=2), node("Cast", ["shape"], ["real"], "real", to=TensorProto.FLOAT),
                        node("Mul", [x, "real"], ["y_0"], "op")], lambda x: 5 * x, (3, 5, 2))

# --- indices ---
for op, function in (("ArgMax", torch.argmax), ("ArgMin", torch.argmin)):
    kept(op, lambda x, o=op: [node(o, [x], ["most"], "most", axis=1, keepdims=1), node("Cast", ["most"], ["real"], "real", to=TensorProto.FLOAT),
                              node("Mul", [x, "real"], ["y_0"], "op")], lambda x, f=function: x * f(x, 1, keepdim=True), (3, 5, 2))
kept("OneHot", lambda x: [node("ArgMax", [x], ["most"], "most", axis=1, keepdims=0), node("OneHot", ["most", "depth", "values"], ["hot"], "hot", axis=1),
                          node("Mul", [x, "hot"], ["y_0"], "op")],
     lambda x: x * (0.5 + 1.5 * F.one_hot(x.argmax(1), 5).transpose(1, 2)), (3, 5, 2), constants={"depth": np.int64(5), "values": reals(0.5, 2)})
PICKS = np.array([[0, 2], [2, -1]], np.int64)
row("Gather 0", "Gather", lambda x: x[torch.tensor(PICKS)], (4, 3), constants={1: PICKS}, attributes={"axis": 0})
row("Gather 1", "Gather", lambda x: x[:, torch.tensor(PICKS)], (3, 4, 2), constants={1: PICKS}, attributes={"axis": 1})
row("Gather scalar", "Gather", lambda x: x[:, -1], (3, 4, 2), constants={1: np.int64(-1)}, attributes={"axis": 1})
LATTICE = np.array([[0, 2, 2], [1, 0, 3]], np.int64)
row("GatherElements", "GatherElements", lambda x: torch.gather(x, 1, torch.tensor(LATTICE)), (2, 4), constants={1: LATTICE}, attributes={"axis": 1})
SLICES = np.array([[0, -1], [2, 1], [0, -1]], np.int64)
row("GatherND", "GatherND", lambda x: x[torch.tensor(SLICES[:, 0]), torch.tensor(SLICES[:, 1])], (3, 4, 2), constants={1: SLICES})
row("GatherND batch_dims", "GatherND", lambda x: x[torch.arange(3), torch.tensor([2, -1, 0])], (3, 4, 2),
    constants={1: np.array([[2], [-1], [0]], np.int64)}, attributes={"batch_dims": 1})


def scattered(data, updates, accumulate):
    return data.index_put((torch.tensor([3, 0]),), updates, accumulate)


row("ScatterND", "ScatterND", lambda d, u: scattered(d, u, False), (5, 3), (2, 3), constants={1: np.array([[3], [0]], np.int64)})
row("ScatterND add", "ScatterND", lambda d, u: scattered(d, u, True), (5, 3), (2, 3), constants={1: np.array([[3], [0]], np.int64)},
    attributes={"reduction": "add"})
PLACES = np.array([[0, 2, 1], [1, 0, 3]], np.int64)
row("ScatterElements", "ScatterElements", lambda d, u: d.scatter(1, torch.tensor(PLACES), u), (2, 4), (2, 3), constants={1: PLACES},
    attributes={"axis": 1})
row("ScatterElements add", "ScatterElements", lambda d, u: d.scatter_add(1, torch.tensor(LATTICE), u), (2, 4), (2, 3),
    constants={1: LATTICE}, attributes={"axis": 1, "reduction": "add"})


for axis, largest in ((-1, 1), (1, 0)):
    kept(f"TopK {axis} {largest}", "TopK", lambda x, a=axis, g=largest: torch.topk(x, 3, a, bool(g))[0], (2, 5, 4), constants={1: ints(3)},
         attributes={"axis": axis, "largest": largest}, outputs=2, weighed=1)


# --- quantisation ---
def quantise(name, function, shape, scale, zero, low=None, high=None, **attributes):
    """A pair of QuantizeLinear and DequantizeLinear, perhaps with a Clip between them."""
    def nodes(x):
        made = [helper.make_node("QuantizeLinear", [x, "scale", "zero"], ["q"], "quantise", **attributes)]
        if low is not None:
            made.append(helper.make_node("Clip", ["q", "low", "high"], ["limited"], "limit"))
        made.append(helper.make_node("DequantizeLinear", ["q" if low is None else "limited", "scale", "zero"], ["y_0"], "op", **attributes))
        return made
    constants = {"scale": scale, "zero": zero}
    if low is not None:
        constants |= {"low": zero.dtype.type(low), "high": zero.dtype.type(high)}
    kept(name, nodes, function, shape, constants=constants)


quantise("fake quantise", lambda x: torch.fake_quantize_per_tensor_affine(x, 0.037, 12, -128, 127), (4, 31), np.float32(0.037), np.int8(12))
quantise("fake quantise unsigned", lambda x: torch.fake_quantize_per_tensor_affine(x, 0.01, 128, 0, 255), (4, 31), np.float32(0.01), np.uint8(128))
quantise("fake quantise narrow", lambda x: torch.fake_quantize_per_tensor_affine(x, 0.02, 0, -64, 63), (4, 31), np.float32(0.02), np.int8(0), -64, 63)
quantise("fake quantise channels", lambda x: torch.fake_quantize_per_channel_affine(x, torch.tensor([0.01, 0.05, 0.003]), torch.tensor([0, 5, -3], dtype=torch.int32), 0, -128, 127),
         (3, 2, 2, 3), reals(0.01, 0.05, 0.003), np.array([0, 5, -3], np.int8), axis=0)

# --- random numbers, in limits in which PyTorch draws the same ---
kept("RandomUniform", lambda x: [node("RandomUniform", [], ["r"], "draw", low=2.0, high=2.0, shape=[3, 5]), node("Mul", [x, "r"], ["y_0"], "op")], lambda x: 2 * x, (3, 5))
kept("RandomUniformLike", lambda x: [node("RandomUniformLike", [x], ["r"], "draw", low=2.0, high=2.0), node("Mul", [x, "r"], ["y_0"], "op")], lambda x: 2 * x, (3, 5))
kept("RandomNormalLike", lambda x: [node("RandomNormalLike", [x], ["r"], "draw", mean=-1.5, scale=0.0), node("Mul", [x, "r"], ["y_0"], "op")], lambda x: -1.5 * x, (3, 5))
kept("RandomNormal", lambda x: [node("RandomNormal", [], ["r"], "draw", mean=3.0, scale=0.0, shape=[3, 5]), node("Add", [x, "r"], ["y_0"], "op")], lambda x: x + 3, (3, 5))
kept("Bernoulli", lambda x: [node("Sub", [x, x], ["zero"], "less"), node("Exp", ["zero"], ["one"], "one"), node("Bernoulli", ["one"], ["r"], "draw"),
                             node("Mul", [x, "r"], ["y_0"], "op")], lambda x: x * 1, (3, 5))

# --- what is computed of constants, and added to an operand ---
def known(op, function, *constants, shape, result=0, results=None, **attributes):
    """The result with this number, of so many, of the shape, in float32."""
    names = [f"/known_{i}" for i in range(len(constants))]
    found = ["found" if i == result else f"other_{i}" for i in range(results or result + 1)]
    kept(f"known {op}", lambda x: [node(op, names, found, "known", **attributes),
                                   node("Cast", ["found"], ["real"], "real", to=TensorProto.FLOAT), node("Add", [x, "real"], ["y_0"], "op")],
         lambda x: x + torch.tensor(np.asarray(function(*constants), np.float64)), shape, constants=dict(zip(names, constants)))


BITS = np.array([[3, 12, 250, 7], [1, 0, 128, 85]], np.uint8)
MASK = np.array([[5, 6, 15, 2], [1, 7, 3, 4]], np.uint8)
known("BitShift", lambda a, b: (a << (b % 8)).astype(np.uint8), BITS, MASK % 8, shape=(2, 4), direction="LEFT")
known("BitwiseAnd", np.bitwise_and, BITS, MASK, shape=(2, 4))
known("BitwiseOr", np.bitwise_or, BITS, MASK, shape=(2, 4))
known("BitwiseXor", np.bitwise_xor, BITS, MASK, shape=(2, 4))
known("BitwiseNot", np.bitwise_not, BITS, shape=(2, 4))
known("CastLike", lambda a, b: np.trunc(a), reals(1.75, -2.5), ints(1), shape=(2,))
known("Constant", lambda: np.float64([1.5, -2.0]), shape=(2,), value=numpy_helper.from_array(reals(1.5, -2.0)))
known("ConstantOfShape", lambda n: np.full(n, 2.5), ints(2, 3), shape=(2, 3), value=numpy_helper.from_array(reals(2.5)))
known("Range", np.arange, np.int64(9), np.int64(1), np.int64(-3), shape=(3,))
known("HannWindow", lambda n: torch.hann_window(int(n), dtype=torch.float64), np.int64(7), shape=(7,))
known("HammingWindow", lambda n: torch.hamming_window(int(n), True, 25 / 46, 21 / 46, dtype=torch.float64), np.int64(7), shape=(7,))
known("BlackmanWindow", lambda n: torch.blackman_window(int(n), False, dtype=torch.float64), np.int64(7), shape=(7,), periodic=0)
known("EyeLike", lambda a: np.eye(2, 4, 1), BITS, shape=(2, 4), k=1, dtype=TensorProto.FLOAT)
known("ReverseSequence", lambda a, n: torch.stack([torch.cat((row[:m].flip(0), row[m:])) for row, m in zip(torch.tensor(a), n)]), BITS.astype(np.float32), ints(3, 2),
      shape=(2, 4), batch_axis=0, time_axis=1)
known("NonZero", lambda a: torch.nonzero(torch.tensor(a)).T, BITS, shape=(2, 7))
known("Compress", lambda a, c: a[:, c], BITS.astype(np.float32), np.array([True, False, True, True]), shape=(2, 3), axis=1)
known("Unique", lambda a: torch.unique(torch.tensor(a), return_counts=True)[1], reals(4, 1, 4, 2, 1, 4), shape=(3,), result=3)

# What else is computed when the plan is made, with extents that are joined and axes that are not the last.
SMALL = np.array([[0.5, -1.25, 2.0, 3.5], [-0.75, 4.0, 1.5, -2.5], [2.25, 0.25, -3.0, 1.0]], np.float32)
BOX = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 4 - 2
COLUMN, ROW = reals(2, -0.5, 1.5).reshape(3, 1), reals(1, 2, 0.5, -3)
for op, function in (("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Div", np.divide), ("Min", np.minimum), ("Max", np.maximum),
                     ("Equal", np.equal), ("Less", np.less), ("LessOrEqual", np.less_equal), ("Greater", np.greater), ("GreaterOrEqual", np.greater_equal)):
    known(op, function, COLUMN, ROW, shape=(3, 4))
known("Pow", np.power, np.abs(COLUMN), ROW, shape=(3, 4))
known("Mod", np.mod, ints(7, -7, 9), ints(4, 4, -5), shape=(3,))
for op, function in (("And", np.logical_and), ("Or", np.logical_or), ("Xor", np.logical_xor)):
    known(op, function, COLUMN > 0, ROW > 0, shape=(3, 4))
known("Not", np.logical_not, ROW > 0, shape=(4,))
known("Where", np.where, COLUMN > 0, ROW, COLUMN, shape=(3, 4))
for op, function in (("Abs", np.abs), ("Neg", np.negative), ("Exp", np.exp), ("Ceil", np.ceil), ("Floor", np.floor), ("Round", np.round), ("Sign", np.sign), ("Sin", np.sin),
                     ("Cos", np.cos), ("Tanh", np.tanh), ("Atan", np.arctan), ("Identity", np.copy), ("Relu", lambda a: np.maximum(a, 0)), ("IsNaN", np.isnan), ("IsInf", np.isinf)):
    known(op, function, SMALL, shape=(3, 4))
for op, function in (("Log", np.log), ("Sqrt", np.sqrt), ("Reciprocal", np.reciprocal)):
    known(op, function, np.abs(SMALL), shape=(3, 4))
known("Clip", np.clip, SMALL, np.float32(-1), np.float32(2), shape=(3, 4))
known("MatMul", np.matmul, BOX.reshape(2, 1, 3, 4)[:, :, :2], BOX.reshape(3, 4, 2), shape=(2, 3, 2, 2))
known("Transpose", lambda a: a.transpose(2, 0, 1), BOX, shape=(4, 2, 3), perm=[2, 0, 1])
known("Reshape", np.reshape, BOX, ints(4, 6), shape=(4, 6))
known("Flatten", lambda a: a.reshape(6, 4), BOX, shape=(6, 4), axis=2)
known("Squeeze", lambda a, axes: a[:, 0], COLUMN, ints(1), shape=(3,))
known("Concat", lambda a, b: np.concatenate((a, b), 1), SMALL, COLUMN, shape=(3, 5), axis=1)
known("Split", lambda a, sizes: a[:, 1:], SMALL, ints(1, 3), shape=(3, 3), result=1, axis=1)
known("Slice", lambda a, *limits: a[:, 2::-2, 1:], BOX, ints(2, 1), ints(-9, 9), ints(1, 2), ints(-2, 1), shape=(2, 2, 3))
known("Expand", lambda a, extents: np.broadcast_to(a, (2, 3, 4)), COLUMN, ints(2, 1, 4), shape=(2, 3, 4))
known("Tile", np.tile, SMALL, ints(2, 3), shape=(6, 12))
known("Pad", lambda a, pads, value: np.pad(a, ((1, 0), (0, 2)), constant_values=7), SMALL, ints(1, 0, 0, 2), np.float32(7), shape=(4, 6))
known("Trilu", np.triu, SMALL, np.int64(1), shape=(3, 4))
known("Gather", lambda a, i: a[:, i], BOX, np.array([[2, 0], [1, -1]]), shape=(2, 2, 2, 4), axis=1)
known("GatherElements", lambda a, i: np.take_along_axis(a, i, 0), SMALL, np.array([[2, 0, 1, 1], [0, 1, -1, 2]]), shape=(2, 4), axis=0)
known("GatherND", lambda a, i: a[i[:, 0], i[:, 1]], BOX, np.array([[1, 2], [0, -1]]), shape=(2, 4))
known("ScatterElements", lambda a, i, u: torch.tensor(a).scatter(1, torch.tensor(i), torch.tensor(u)), SMALL, np.array([[3, 0], [1, 2]]), reals(9, 8, 7, 6).reshape(2, 2),
      shape=(3, 4), axis=1)
known("ScatterND", lambda a, i, u: scattered(torch.tensor(a), torch.tensor(u), False), np.concatenate((SMALL, SMALL)), np.array([[3], [0]]), SMALL[:2] * 8, shape=(6, 4))
known("TopK", lambda a, k: torch.topk(torch.tensor(a), 2, 0)[0], SMALL, ints(2), shape=(2, 4), results=2, axis=0)
known("OneHot", lambda i, depth, values: np.where(np.arange(4)[:, None] == i % 4, 5, -1), ints(1, -1, 0), np.int64(4), reals(-1, 5), shape=(4, 3), axis=0)
known("CumSum", lambda a, axis: a.cumsum(0), SMALL, np.int64(0), shape=(3, 4))
for op, function in (("ReduceSum", np.sum), ("ReduceMean", np.mean), ("ReduceMax", np.max), ("ReduceMin", np.min), ("ReduceProd", np.prod),
                     ("ReduceL1", lambda a, axis: np.abs(a).sum(axis)), ("ReduceL2", lambda a, axis: np.sqrt((a * a).sum(axis))),
                     ("ReduceSumSquare", lambda a, axis: (a * a).sum(axis)), ("ReduceLogSum", lambda a, axis: np.log(a.sum(axis))),
                     ("ReduceLogSumExp", lambda a, axis: np.log(np.exp(a).sum(axis)))):
    known(op, lambda a, axes, f=function: f(a, (0, 2)), np.abs(BOX), ints(0, -1), shape=(3,), keepdims=0)
for op, function in (("ArgMax", np.argmax), ("ArgMin", np.argmin)):
    known(op, lambda a, f=function: f(a, 1), SMALL, shape=(3,), axis=1, keepdims=0)
known("QuantizeLinear", lambda a, scale, zero: np.clip(np.round(a / scale[:, None]) + zero[:, None], -128, 127), SMALL, reals(0.25, 0.5, 0.01), np.array([0, 3, -100], np.int8),
      shape=(3, 4), axis=0)
known("DequantizeLinear", lambda a, scale, zero: (a.astype(np.float64) - zero) * scale, BITS, np.float32(0.125), np.uint8(7), shape=(2, 4))

# --- recurrence ---
def recurrent(kind, gates, order, reverse=False, **options):
    """ONNX's operator by PyTorch's: gates of ONNX stand in another order."""
    def function(x, w, r, b, *state):
        size = r.shape[-1]
        turned = lambda t: torch.cat([t[i * size:(i + 1) * size] for i in order])
        module = {"LSTM": torch.lstm, "GRU": torch.gru, "RNN": torch.rnn_tanh}[kind]
        weights = [turned(w[0]), turned(r[0]), turned(b[0, :gates * size]), turned(b[0, gates * size:])]
        x = x.flip(0) if reverse else x
        y = module(x, tuple(state) if kind == "LSTM" else state[0], weights, True, 1, 0.0, True, False, False)
        out = y[0].flip(0) if reverse else y[0]
        return [out[:, None], *y[1:]]
    return function


for kind, gates, order, extra in (("LSTM", 4, (0, 2, 3, 1), {}), ("GRU", 3, (1, 0, 2), {"linear_before_reset": 1}), ("RNN", 1, (0,), {})):
    for reverse in (False, True):
        states = [(1, 2, 4)] * (2 if kind == "LSTM" else 1)
        row(f"{kind}{' reverse' if reverse else ''}", kind, recurrent(kind, gates, order, reverse), (5, 2, 3), (1, gates * 4, 3), (1, gates * 4, 4),
            (1, 2 * gates * 4), *states, constants={4: None}, outputs=3 if kind == "LSTM" else 2,
            attributes={"hidden_size": 4, **({"direction": "reverse"} if reverse else {}), **extra})

# --- attention ---
row("Attention", "Attention", lambda q, k, v: F.scaled_dot_product_attention(q, k, v), (2, 3, 4, 5), (2, 3, 6, 5), (2, 3, 6, 7))
row("Attention causal", "Attention", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), (2, 3, 4, 5), (2, 3, 4, 5), (2, 3, 4, 5),
    attributes={"is_causal": 1})
row("Attention grouped", "Attention", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True), (1, 4, 3, 5), (1, 2, 3, 5), (1, 2, 3, 5))
row("Attention mask", "Attention", lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m, scale=0.3), (2, 3, 4, 5), (2, 3, 6, 5), (2, 3, 6, 5), (4, 6),
    attributes={"scale": 0.3})


# --- running ---
def tensor(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def build(op, values, attributes, constants, weights, outputs):
    """The model, and the names of its parameters."""
    nodes, initializers, parameters, names = [], [], [], []
    operands = iter(enumerate(values))
    of_function = {key: value for key, value in constants.items() if isinstance(key, str)}
    initializers += [tensor(key, value) for key, value in of_function.items()]
    for position in range(len(values) + len(constants) - len(of_function)):
        if position in constants:
            if constants[position] is None:
                names.append("")
                continue
            names.append(f"constant_{position}")
            initializers.append(tensor(names[-1], constants[position]))
            continue
        i, value = next(operands)
        parameters.append(f"operand.{i}")
        initializers += [tensor(f"operand.{i}", value.reshape(1, -1)), tensor(f"shape_{i}", ints(*value.shape))]
        nodes += [helper.make_node("MatMul", ["unit", f"operand.{i}"], [f"row_{i}"], f"operand.{i}"),
                  helper.make_node("Reshape", [f"row_{i}", f"shape_{i}"], [f"x_{i}"], f"shape_{i}")]
        names.append(f"x_{i}")
    results = [f"y_{i}" for i in range(outputs)]
    nodes += op(*names) if callable(op) else [helper.make_node(op, names, results, "op", **attributes)]
    terms = []
    initializers.append(tensor("row", ints(1, -1)))
    initializers.append(tensor("rows", ints(1)))
    for i, weight in enumerate(weights):
        if weight.size > 1:  # a single number is a constant
            parameters.append(f"weights_{i}")
        initializers.append(tensor(f"weights_{i}", weight.astype(np.float32).reshape(1, -1)))
        nodes += [helper.make_node("Reshape", [f"y_{i}", "row"], [f"flat_{i}"], f"flat_{i}"),
                  helper.make_node("Mul", [f"flat_{i}", f"weights_{i}"], [f"product_{i}"], f"weighed_{i}"),
                  helper.make_node("ReduceSum", [f"product_{i}", "rows"], [f"term_{i}"], f"term_{i}", keepdims=1)]
        terms.append(f"term_{i}")
    while len(terms) > 1:
        nodes.append(helper.make_node("Add", terms[:2], [terms[0] + "_more"], terms[0] + "_more"))
        terms = [terms[0] + "_more"] + terms[2:]
    unit = helper.make_tensor_value_info("unit", TensorProto.FLOAT, [1, 1])
    loss = helper.make_tensor_value_info(terms[0], TensorProto.FLOAT, [1, 1])
    graph = helper.make_graph(nodes, "gradients", [unit], [loss], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    model.ir_version = 10
    onnx.checker.check_model(model, full_check=op != "STFT")  # onnx takes its second output extent for the fourth
    return model, parameters


def row_of(name, op, function, shapes, attributes, constants, prepare, outputs, weighed):
    """The model, the names of its parameters, and of each the numbers before the step and PyTorch's gradient."""
    generator = np.random.default_rng(sum(name.encode()))
    values = [generator.standard_normal(s) for s in shapes]
    values = [v.astype(np.float32) for v in (prepare(*values) if prepare else values)]
    leaves = [torch.tensor(v.astype(np.float64), requires_grad=True) for v in values]
    results = function(*leaves)
    results = list(results) if isinstance(results, (list, tuple)) else [results]
    weights = [generator.standard_normal(tuple(r.shape)).astype(np.float32) for r in results[:weighed]]
    loss = sum((r * torch.tensor(w.astype(np.float64))).sum() for r, w in zip(results, weights))
    if loss.requires_grad:
        loss.backward()
    model, parameters = build(op, values, attributes, constants, weights, outputs)
    gradients = [np.zeros(leaf.shape) if leaf.grad is None else leaf.grad.numpy() for leaf in leaves]
    outputs = [(w, r.detach().numpy()) for w, r in zip(weights, results) if w.size > 1]
    wanted = [g.ravel() for g in gradients + [r for _, r in outputs]]
    return model, parameters, [v.ravel() for v in values + [w for w, _ in outputs]], wanted


def main():
    options = argparse.ArgumentParser()
    options.add_argument("program")
    options.add_argument("--only", default="")
    options.add_argument("--write", action="store_true")
    options = options.parse_args()
    wrong, rows = 0, {}
    chosen = [r for r in ROWS if options.only in r[0]]
    for r in chosen:
        model, parameters, before, wanted = row_of(*r)
        message = run(options.program, model.SerializeToString(), parameters, before, wanted)
        if r[0] in KEPT:
            rows[r[0]] = (model.SerializeToString(), parameters, before, wanted)
        if message:
            wrong += 1
            print(f"failed: {r[0]}: {message}")
    print(f"onnx_gradients: {len(chosen) - wrong} of {len(chosen)} operators have PyTorch's gradients within {BOUND}")
    if options.write:
        write(rows)
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())

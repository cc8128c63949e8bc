"""Golden values of every op, forward and gradient, made with PyTorch in float64 from float32 inputs.

Writes ops_torch.golden beside this script; tests/unit/test_golden_ops.c reads it. Run: python3 ops_torch.py

A case is a block of lines:
  case NAME OP TOLERANCE           relative to the largest magnitude of an output; 0 means equal bits
  integers ... / reals ...         attributes in the order of plan/ops.def
  reduction KIND ACCUMULATOR CHUNK one line for each descriptor, unless it is f32
  input TYPE DIMS : HEX ...        dims joined by x; float32 as 8 hex digits, half types as 4, int32 as 8, int64 as 16
  input absent                     an optional input that the op does not have
  output TYPE DIMS : HEX ...       or "output TYPE DIMS ?" if the value is not compared
"""
import math, struct
from pathlib import Path
import torch
import torch.nn.functional as F

torch.manual_seed(3)
D = torch.float64
lines = []


def words(t):
    if t.dtype in (torch.int32, torch.int64):
        width = 8 if t.dtype == torch.int32 else 16
        return " ".join(f"{int(v) & (2 ** (width * 4) - 1):0{width}x}" for v in t.reshape(-1).tolist())
    return " ".join(struct.pack(">f", v).hex() for v in t.reshape(-1).to(torch.float32).tolist())


def shape(t):
    return "x".join(str(d) for d in t.shape)


def case(name, op, inputs, outputs, integers=(), reals=(), tolerance=2e-6):
    lines.append(f"case {name} {op} {tolerance:g}")
    if integers:
        lines.append("integers " + " ".join(str(i) for i in integers))
    if reals:
        lines.append("reals " + " ".join(f"{r:.9g}" for r in reals))
    for t in inputs:
        if t is None:
            lines.append("input absent")
            continue
        kind = {torch.int32: "int32", torch.int64: "int64"}.get(t.dtype, "float32")
        lines.append(f"input {kind} {shape(t)} : {words(t)}")
    for t in outputs:
        if isinstance(t, tuple):
            lines.append(f"output {t[0]} {'x'.join(map(str, t[1]))} ?")
        else:
            kind = {torch.int32: "int32", torch.int64: "int64"}.get(t.dtype, "float32")
            lines.append(f"output {kind} {shape(t)} : {words(t)}")


def rand(*dims, scale=1.0):
    return (torch.randn(*dims) * scale).float().to(D)


def leaf(t):
    return t.clone().requires_grad_(True)


def linear():
    for layout, n, k, o in ((0, 5, 7, 3), (1, 5, 7, 3), (0, 1, 1, 1), (1, 17, 33, 9)):
        x, b, dy = leaf(rand(n, k)), leaf(rand(o)), rand(n, o)
        w = leaf(rand(o, k) if layout == 0 else rand(k, o))
        y = F.linear(x, w if layout == 0 else w.t(), b)
        y.backward(dy)
        tag = f"{layout}_{n}x{k}x{o}"
        case("linear_" + tag, "linear", [x.detach(), w.detach(), b.detach()], [y.detach()], [layout])
        case("linear_no_bias_" + tag, "linear", [x.detach(), w.detach()], [(y - b).detach()], [layout])
        case("linear_dx_" + tag, "linear_backward_input", [dy, w.detach()], [x.grad], [layout])
        case("linear_dw_" + tag, "linear_backward_weight", [dy, x.detach()], [w.grad], [layout])
        case("linear_db_" + tag, "sum_leading", [dy], [b.grad], [1])


def embedding():
    table, dy = leaf(rand(9, 4)), rand(2, 5, 4)
    ids = torch.randint(0, 9, (2, 5), dtype=torch.int32)
    y = F.embedding(ids.long(), table)
    y.backward(dy)
    case("embedding", "embedding", [ids, table.detach()], [y.detach()])
    case("embedding_dtable", "embedding_backward", [ids, dy], [table.grad], [9])
    start = rand(9, 4)
    case("embedding_dtable_start", "embedding_backward", [ids, dy, start], [start + table.grad], [9])
    case("leading_rows", "leading_rows", [table.detach()], [table.detach()[:6]], [6])
    rows = rand(6, 4)
    case("leading_rows_dtable", "leading_rows_backward", [rows], [torch.cat([rows, torch.zeros(3, 4, dtype=D)])], [9])


def elementwise():
    x, dy = leaf(torch.cat([rand(40, scale=2), torch.tensor([0.0, 1e-30, -1e-30, 9.0, -9.0, 30.0, -30.0], dtype=D)])), rand(47)
    for name, op, f, attributes in (
            ("gelu_erf", "gelu", lambda v: F.gelu(v), [0]), ("gelu_tanh", "gelu", lambda v: F.gelu(v, approximate="tanh"), [1]),
            ("relu", "relu", F.relu, []), ("tanh", "tanh", torch.tanh, [])):
        x.grad = None
        y = f(x)
        y.backward(dy)
        case(name, op, [x.detach()], [y.detach()], attributes)
        saved = x if op == "gelu" else y
        case(name + "_dx", op + "_backward", [dy, saved.detach()], [x.grad], attributes)
    a, b = rand(3, 4, 5), rand(4, 5)
    case("add_broadcast", "add", [a, b], [a + b])
    case("sum_leading_2", "sum_leading", [a], [a.sum(0)], [2])
    case("accumulate", "accumulate", [a, a], [a], [])


def layer_norm():
    for n, c in ((3, 8), (2, 5), (4, 70), (1, 300)):
        x, g, b, dy = leaf(rand(n, c, scale=3)), leaf(1 + rand(c, scale=.2)), leaf(rand(c)), rand(n, c)
        y = F.layer_norm(x, (c,), g, b, 1e-5)
        y.backward(dy)
        xd = x.detach()
        mean = xd.mean(-1)
        rec = 1 / torch.sqrt(xd.var(-1, unbiased=False) + 1e-5)
        loose = 1e-5
        case(f"layer_norm_{n}x{c}", "layer_norm", [xd, g.detach(), b.detach()], [y.detach(), mean, rec], [0], [1e-5], loose)
        case(f"layer_norm_dx_{n}x{c}", "layer_norm_backward", [dy, xd, g.detach(), mean, rec], [x.grad], [0], (), loose)
        case(f"layer_norm_affine_{n}x{c}", "layer_norm_backward_affine", [dy, xd, mean, rec], [g.grad, b.grad], [0], (), loose)


def attention():
    for b, t, h, kv, d, causal in ((2, 5, 2, 2, 4, 1), (1, 9, 3, 1, 8, 0), (1, 1, 1, 1, 1, 1), (1, 17, 4, 2, 8, 1)):
        qkv, dy = leaf(rand(b, t, (h + 2 * kv) * d)), rand(b, t, h * d)
        q, k, v = qkv.split([h * d, kv * d, kv * d], -1)
        q = q.reshape(b, t, h, d).transpose(1, 2)
        k, v = (z.reshape(b, t, kv, d).transpose(1, 2).repeat_interleave(h // kv, 1) for z in (k, v))
        scale = torch.tensor(1 / math.sqrt(d)).float().item()
        s = q @ k.transpose(-1, -2) * scale
        if causal:
            s = s.masked_fill(torch.triu(torch.ones(t, t, dtype=torch.bool), 1), -math.inf)
        y = (torch.softmax(s, -1) @ v).transpose(1, 2).reshape(b, t, h * d)
        y.backward(dy)
        top = s.amax(-1).detach()
        total = torch.exp(s - s.amax(-1, keepdim=True)).sum(-1).detach()
        tag = f"{b}x{t}x{h}x{kv}x{d}"
        settings, reals = [h, kv, causal, 0, 0, 16], [scale, 0.0]
        case("attention_" + tag, "attention", [qkv.detach()], [y.detach(), top, total, ("float32", (b, h, 16, t))], settings, reals)
        case("attention_dqkv_" + tag, "attention_backward", [dy, qkv.detach(), top, total],
             [qkv.grad, ("float32", (b, h, 33, t))], settings, reals, 4e-6)


def losses():
    one = torch.tensor([0.75], dtype=D)
    for n, v in ((4, 10), (1, 1), (2, 300)):
        logits, labels = leaf(rand(n, v, scale=3)), torch.randint(0, v, (n,), dtype=torch.int32)
        loss = F.cross_entropy(logits, labels.long())
        (loss * 0.75).backward()
        top = logits.amax(-1).detach()
        total = torch.exp(logits - logits.amax(-1, keepdim=True)).sum(-1).detach()
        case(f"cross_entropy_{n}x{v}", "cross_entropy", [logits.detach(), labels], [loss.detach().reshape(1), top, total])
        case(f"cross_entropy_dlogits_{n}x{v}", "cross_entropy_backward", [one, logits.detach(), labels, top, total], [logits.grad])
    p, t = leaf(rand(6, 7)), rand(6, 7)
    loss = F.mse_loss(p, t)
    (loss * 0.75).backward()
    case("mean_squared_error", "mean_squared_error", [p.detach(), t], [loss.detach().reshape(1)])
    case("mean_squared_error_dprediction", "mean_squared_error_backward", [one, p.detach(), t], [p.grad])


def training():
    g, scale = rand(50), torch.tensor([1024.0], dtype=D)
    partial = torch.zeros(3, dtype=D)
    partial[1] = (g ** 2).sum()
    scratch = ("float32", (1, 1))
    case("sum_of_squares", "sum_of_squares", [g, torch.zeros(3, dtype=D)], [partial, scratch], [1])
    scaled = torch.zeros(3, dtype=D)
    scaled[2] = ((g / 3) ** 2).sum()
    case("sum_of_squares_scaled", "sum_of_squares", [g, torch.zeros(3, dtype=D), torch.tensor([3], dtype=D)],
         [scaled, scratch], [2])
    norm = partial.sum().sqrt().reshape(1)
    case("gradient_norm", "gradient_norm", [partial], [norm, torch.tensor([1], dtype=torch.int32)])
    coefficient = torch.clamp(1 / (norm + 1e-6), max=1)
    for scaled in (0, 1):
        given, u = scale if scaled else None, 1 / 1024 if scaled else 1.0
        case(f"gradient_factors_{scaled}", "gradient_factors", [given] * scaled, [torch.tensor([u, 1, math.inf], dtype=D)],
             [0], [0.0], 0)
        case(f"gradient_factors_norm_{scaled}", "gradient_factors", [given, norm],
             [torch.tensor([u, coefficient, math.inf], dtype=D)], [1], [1.0], 0)
        case(f"gradient_factors_value_{scaled}", "gradient_factors", [given] * scaled, [torch.tensor([u, 1, 0.5], dtype=D)],
             [2], [0.5], 0)
    p, m, v = rand(50), rand(50, scale=.1), rand(50, scale=.1) ** 2
    b1, b2, eps, wd, lr, t = 0.9, 0.95, 1e-6, 0.01, 3e-3, 3
    b1, b2, eps, wd, lr = (torch.tensor(z).item() for z in (b1, b2, eps, wd, lr))
    for correct in (1, 0):
        m2, v2 = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        u = m2 / (v2.sqrt() + eps) * (math.sqrt(1 - b2 ** t) / (1 - b1 ** t) if correct else 1)
        one = lambda z: torch.tensor([z], dtype=D)
        case(f"adamw_{correct}", "adamw", [p, g, one(lr), m, v, one(b1 ** t), one(b2 ** t)],
             [p - lr * (u + wd * p), m2, v2], [correct], [b1, b2, eps, wd], 4e-6)
    factors = torch.tensor([1 / 1024, 0.25, 1e-4], dtype=D)
    clipped = (g / 1024 * 0.25).clamp(-factors[2].float().item(), factors[2].float().item())
    case("sgd_factors", "sgd", [p, g, torch.tensor([lr], dtype=D), factors], [p - lr * (clipped + wd * p)], [0], [wd])
    d = g + wd * p
    case("sgd", "sgd", [p, g, torch.tensor([lr], dtype=D)], [p - lr * d], [0], [wd])
    for nesterov in (0, 1):
        buffer = 0.9 * m + (1 - 0.1) * d
        step = d + 0.9 * buffer if nesterov else buffer
        case(f"sgd_momentum_{nesterov}", "sgd_momentum", [p, g, torch.tensor([lr], dtype=D), m], [p - lr * step, buffer],
             [nesterov, 0], [0.9, 0.1, wd])


def leaf_case(name, op, f, x, others=(), integers=(), reals=(), backward=(), tolerance=2e-6):
    """A loss of x: its value, and its gradient for dloss 0.75. backward: the saved tensors that follow x and the others."""
    loss = f(x)
    x.grad = None
    loss.backward(torch.tensor(0.75, dtype=D))
    dloss = torch.tensor([0.75], dtype=D)
    case(name, op, [x.detach(), *others], [loss.detach().reshape(1)], integers, reals, tolerance)
    case(name + "_dx", op + "_backward", [dloss, x.detach(), *others, *backward], [x.grad], integers, reals, tolerance)


def more_activations():
    x, dy = leaf(torch.cat([rand(40, scale=3), torch.tensor([0.0, 1e-30, 20.0, -20.0, 60.0, -60.0], dtype=D)])), rand(46)
    for op, f, saves_output in (("sigmoid", torch.sigmoid, True), ("silu", F.silu, False),
                                ("softplus", lambda v: F.softplus(v, threshold=100), False)):
        x.grad = None
        y = f(x)
        y.backward(dy)
        case("torch_" + op, op, [x.detach()], [y.detach()])
        case(f"torch_{op}_dx", op + "_backward", [dy, (y if saves_output else x).detach()], [x.grad])
    for n, c in ((3, 7), (2, 300)):
        x, dy = leaf(rand(n, c, scale=3)), rand(n, c)
        y = F.log_softmax(x, -1)
        y.backward(dy)
        case(f"torch_softmax_{n}x{c}", "softmax", [x.detach()], [F.softmax(x, -1).detach()])
        case(f"torch_log_softmax_{n}x{c}", "log_softmax", [x.detach()], [y.detach()])
        case(f"torch_log_softmax_dx_{n}x{c}", "log_softmax_backward", [dy, y.detach()], [x.grad], tolerance=4e-6)


def more_losses():
    x, t = rand(6, 7, scale=2), rand(6, 7, scale=2)
    near = torch.where(torch.rand(6, 7) < 0.5, x + rand(6, 7, scale=0.3), t)
    unit, logs = torch.rand(6, 7).float().to(D), F.log_softmax(rand(6, 7), -1).float().to(D)
    leaf_case("torch_l1", "l1_loss", lambda v: F.l1_loss(v, t), leaf(x), [t])
    for threshold in (1.0, 0.375):
        leaf_case(f"torch_huber_{threshold}", "huber_loss", lambda v: F.huber_loss(v, near, delta=threshold), leaf(x), [near],
                  [0], [threshold])
        leaf_case(f"torch_smooth_l1_{threshold}", "huber_loss", lambda v: F.smooth_l1_loss(v, near, beta=threshold), leaf(x),
                  [near], [1], [threshold])
    wide = x * 10
    leaf_case("torch_bce", "binary_cross_entropy", lambda v: F.binary_cross_entropy_with_logits(v, unit), leaf(wide), [unit])
    hard = (unit > 0.5).to(D)
    leaf_case("torch_bce_hard", "binary_cross_entropy", lambda v: F.binary_cross_entropy_with_logits(v, hard), leaf(wide), [hard])
    for target, log_target in ((unit, 0), (hard, 0), (logs, 1)):
        for batch, reduction in ((0, "mean"), (1, "batchmean")):
            leaf_case(f"torch_kl_{log_target}_{reduction}_{int(target is hard)}", "kl_divergence",
                      lambda v: F.kl_div(v, target, reduction=reduction, log_target=bool(log_target)),
                      leaf(F.log_softmax(x, -1)), [target], [log_target, batch])
    labels = torch.randint(0, 7, (6,), dtype=torch.int32)
    leaf_case("torch_nll", "nll_loss", lambda v: F.nll_loss(v, labels.long()), leaf(F.log_softmax(x, -1)), [labels])


def weighted_cross_entropy():
    """F.cross_entropy with ignore_index and label_smoothing, and with the reference's two scalings of a mask."""
    one = torch.tensor([0.75], dtype=D)
    n, v = 8, 11
    labels = torch.randint(0, v, (n,), dtype=torch.int32)
    labels[3] = labels[5] = 2
    mask = torch.tensor([1, 0, 1, 1, 0.5, 1, 2, 0], dtype=D)
    for ignored, smoothing, weighted, batch in ((2, 0.0, 0, 0), (-1, 0.1, 0, 0), (2, 0.25, 0, 0), (-1, 0.0, 1, 0),
                                                (-1, 0.0, 1, 1), (2, 0.1, 1, 1)):
        logits = leaf(rand(n, v, scale=3))
        smooth = torch.tensor(smoothing).item()
        each = F.cross_entropy(logits, labels.long(), label_smoothing=smooth, reduction="none")
        w = (mask if weighted else torch.ones(n, dtype=D)) * (labels != ignored)
        loss = (each * w).sum() / n * 0.75 if batch else (each * w).sum() / w.sum()
        if not weighted:
            library = F.cross_entropy(logits, labels.long(), ignore_index=ignored, label_smoothing=smooth)
            assert abs(library - loss) < 1e-12
        loss.backward(one.reshape(()))
        top = logits.amax(-1).detach()
        total = torch.exp(logits - logits.amax(-1, keepdim=True)).sum(-1).detach()
        divisor = torch.tensor([n if batch else w.sum().item()], dtype=D)
        settings, reals, extra = [ignored, batch], [smoothing, 0.75 if batch else 1.0], [mask] if weighted else []
        tag = f"torch_weighted_{ignored}_{smoothing}_{weighted}_{batch}"
        case(tag, "cross_entropy_weighted", [logits.detach(), labels, *extra],
             [loss.detach().reshape(1), top, total, each.detach(), divisor], settings, reals)
        case(tag + "_dx", "cross_entropy_weighted_backward", [one, logits.detach(), labels, top, total, divisor, *extra],
             [logits.grad], settings, reals)


def rotary():
    """x cos + rotate(x) sin, as commonly written in models; the gradient is computed by autograd."""
    for b, t, heads, rotated, d, n, interleaved, base in (
            (2, 5, 3, 2, 8, 8, 1, 1e4), (2, 5, 3, 2, 8, 8, 0, 1e4), (1, 9, 2, 2, 6, 4, 1, 1e4), (1, 9, 2, 2, 6, 4, 0, 5e5),
            (1, 33, 1, 1, 2, 2, 1, 1.0)):
        x, dy = leaf(rand(b, t, heads * d)), rand(b, t, heads * d)
        angles = torch.arange(t, dtype=D)[:, None] * base ** (-torch.arange(0, n, 2, dtype=D) / n)
        angles = angles.repeat_interleave(2, -1) if interleaved else torch.cat([angles, angles], -1)
        head = x.reshape(b, t, heads, d)
        turning = head[:, :, :rotated, :n]
        if interleaved:
            turned = torch.stack([-turning[..., 1::2], turning[..., ::2]], -1).flatten(-2)
        else:
            turned = torch.cat([-turning[..., n // 2:], turning[..., :n // 2]], -1)
        y = turning * angles.cos()[:, None] + turned * angles.sin()[:, None]
        y = torch.cat([torch.cat([y, head[:, :, :rotated, n:]], -1), head[:, :, rotated:]], 2).reshape(x.shape)
        y.backward(dy)
        settings, tag = [0, heads, rotated, n, interleaved], f"{t}x{heads}x{d}_{n}_{interleaved}"
        case("torch_rotary_" + tag, "rotary_embedding", [x.detach()], [y.detach()], settings, [base], 4e-6)
        case("torch_rotary_dx_" + tag, "rotary_embedding_backward", [dy], [x.grad], settings, [base], 4e-6)


def multiply():
    for a_dims, b_dims in (((3, 4, 5), (5,)), ((3, 4, 5), (4, 5)), ((7, 300), (7, 300))):
        a, b, dy = leaf(rand(*a_dims)), leaf(rand(*b_dims)), rand(*a_dims)
        y = a * b
        y.backward(dy)
        tag = "x".join(str(d) for d in b_dims)
        case("multiply_" + tag, "multiply", [a.detach(), b.detach()], [y.detach()])
        case("multiply_da_" + tag, "multiply", [dy, b.detach()], [a.grad])


def concat():
    for axis, dims in ((0, ((2, 3), (1, 3), (4, 3))), (1, ((2, 3, 5), (2, 1, 5))), (2, ((2, 3, 1), (2, 3, 300))),
                       (0, ((7,),)), (0, ((1,),) * 64)):
        given = [rand(*d) for d in dims]
        case(f"concat_{axis}_{len(dims)}", "concat", given, [torch.cat(given, axis)], [axis], [], 0)


def rms_norm():
    for n, c in ((3, 8), (2, 5), (4, 70), (1, 300)):
        x, g, dy = leaf(rand(n, c, scale=3)), leaf(1 + rand(c, scale=.2)), rand(n, c)
        rec = 1 / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-6)
        y = x * rec * g
        y.backward(dy)
        xd, rec = x.detach(), rec.detach()[:, 0]
        loose = 1e-5
        case(f"rms_norm_{n}x{c}", "rms_norm", [xd, g.detach()], [y.detach(), rec], [0], [1e-6], loose)
        case(f"rms_norm_dx_{n}x{c}", "rms_norm_backward", [dy, xd, g.detach(), rec], [x.grad], [0], (), loose)
        case(f"rms_norm_gain_{n}x{c}", "rms_norm_backward_gain", [dy, xd, rec], [g.grad], [0], (), loose)


def pair(rows, columns):
    """Attributes of windows: rows and columns in one number."""
    return rows * 65536 + columns


def last(t):
    """[N,C,H,W] to [N,H,W,C]; a weight [O,C,R,S] to [O,R,S,C]."""
    return t.detach().permute(0, 2, 3, 1).contiguous()


# Images and windows: N, C, H, W; rows and columns of a window; stride; dilation; padding above, left, below and right.
WINDOWS = {
    "plain": ((2, 3, 6, 7), (3, 3), (1, 1), (1, 1), (1, 1, 1, 1)),
    "stride_beyond_kernel": ((1, 3, 9, 8), (2, 2), (3, 4), (1, 1), (0, 0, 0, 0)),
    "dilated": ((1, 2, 9, 10), (3, 2), (2, 1), (2, 3), (1, 2, 0, 1)),
    "rows_outside": ((1, 2, 4, 3), (3, 2), (1, 1), (1, 1), (2, 1, 2, 1)),
    "one_by_one": ((2, 5, 3, 3), (1, 1), (1, 1), (1, 1), (0, 0, 0, 0)),
    "one_pixel": ((2, 3, 1, 1), (3, 3), (1, 1), (1, 1), (1, 1, 1, 1)),
    "one_row": ((2, 4, 1, 11), (1, 4), (1, 2), (1, 1), (0, 2, 0, 1)),
    "unequal": ((1, 2, 5, 6), (2, 3), (2, 1), (1, 1), (0, 1, 1, 0)),
    "whole": ((2, 3, 5, 4), (5, 4), (1, 1), (1, 1), (0, 0, 0, 0)),
    "wide": ((1, 37, 4, 5), (3, 3), (1, 1), (1, 1), (1, 1, 1, 1)),
}


def window_settings(stride, dilation, padding):
    return [pair(*stride), pair(*dilation), pair(*padding[:2]), pair(*padding[2:])]


def padded(x, padding, value=0.0):
    above, left, below, right = padding
    return F.pad(x, (left, right, above, below), value=value)


def conv():
    for name, (dims, kernel, stride, dilation, padding) in WINDOWS.items():
        channels = dims[1]
        for groups, outputs in ((1, 4), (channels, channels), (channels, 2 * channels), (1, 19)):
            if groups > 1 and name not in ("plain", "dilated", "rows_outside", "wide"):
                continue
            x, w, b = leaf(rand(*dims)), leaf(rand(outputs, channels // groups, *kernel)), leaf(rand(outputs))
            y = F.conv2d(padded(x, padding), w, b, stride, 0, dilation, groups)
            dy = rand(*y.shape)
            y.backward(dy)
            tag, settings = f"{name}_{groups}_{outputs}", [groups] + window_settings(stride, dilation, padding)
            case("conv_" + tag, "conv", [last(x), last(w), b.detach()], [last(y)], settings)
            case("conv_dx_" + tag, "conv_backward_input", [last(dy), last(w)], [last(x.grad)], settings + list(dims[2:]))
            case("conv_dw_" + tag, "conv_backward_weight", [last(dy), last(x)], [last(w.grad)], settings + [pair(*kernel)])
            case("conv_db_" + tag, "sum_leading", [last(dy)], [b.grad], [1])
    # Windows of which some lie outside the image as a whole.
    x, w = leaf(rand(1, 2, 3, 3)), leaf(rand(3, 2, 2, 2))
    y = F.conv2d(padded(x, (3, 2, 4, 3)), w, None, 2)
    dy = rand(*y.shape)
    y.backward(dy)
    settings = [1] + window_settings((2, 2), (1, 1), (3, 2, 4, 3))
    case("conv_outside", "conv", [last(x), last(w)], [last(y)], settings)
    case("conv_dx_outside", "conv_backward_input", [last(dy), last(w)], [last(x.grad)], settings + [3, 3])
    case("conv_dw_outside", "conv_backward_weight", [last(dy), last(x)], [last(w.grad)], settings + [pair(2, 2)])


def pools():
    for name, (dims, kernel, stride, dilation, padding) in WINDOWS.items():
        x, settings = leaf(rand(*dims)), [pair(*kernel)] + window_settings(stride, dilation, padding)
        y = F.max_pool2d(padded(x, padding, -math.inf), kernel, stride, 0, dilation)
        dy = rand(*y.shape)
        y.backward(dy)
        case("max_pool_" + name, "max_pool", [last(x)], [last(y)], settings, tolerance=0)
        case("max_pool_dx_" + name, "max_pool_backward", [last(dy), last(x)], [last(x.grad)], settings)
        for whole in (0, 1):
            # The mean as a convolution, because PyTorch's has no dilation and no padding of single sides.
            x.grad = None
            ones = torch.ones(dims[1], 1, *kernel, dtype=D)
            total = F.conv2d(padded(x, padding), ones, None, stride, 0, dilation, dims[1])
            count = F.conv2d(padded(torch.ones(dims, dtype=D), padding), ones, None, stride, 0, dilation, dims[1])
            y = total / (kernel[0] * kernel[1] if whole else count)
            if dilation == (1, 1) and padding[:2] == padding[2:] and padding[0] <= kernel[0] // 2:
                library = F.avg_pool2d(x, kernel, stride, padding[:2], count_include_pad=bool(whole))
                assert (library - y).abs().max() < 1e-12
            y.backward(dy)
            case(f"average_pool_{name}_{whole}", "average_pool", [last(x)], [last(y)], settings + [whole])
            case(f"average_pool_dx_{name}_{whole}", "average_pool_backward", [last(dy)], [last(x.grad)],
                 settings + [whole, *dims[2:]])
    # Equal elements: the first one takes the gradient.
    x = leaf(torch.tensor([[[[1.0, 1.0, 0.0], [1.0, 2.0, 2.0], [0.0, 2.0, -1.0]]]], dtype=D))
    y = F.max_pool2d(x, 2, 1)
    dy = rand(*y.shape)
    y.backward(dy)
    settings = [pair(2, 2)] + window_settings((1, 1), (1, 1), (0, 0, 0, 0))
    case("max_pool_dx_equal", "max_pool_backward", [last(dy), last(x)], [last(x.grad)], settings)


# x, then sets of axes; the extents have ones and odd numbers, and lines longer than a block.
REDUCTIONS = (((5,), ((0,),)), ((1,), ((0,),)), ((3, 7), ((0,), (1,), (0, 1))), ((4, 1, 5), ((0,), (1,), (0, 2), (1, 2))),
              ((2, 3, 4, 5), ((1,), (1, 2), (0, 2), (0, 3), (1, 3))), ((3, 1, 2, 5, 1), ((2,), (0, 4), (0, 2, 3))),
              ((2, 3, 2, 2, 3, 2), ((0, 2, 4), (1, 3, 5), (2, 3), (0, 1, 2, 3, 4, 5))), ((2, 300), ((0,), (1,))),
              ((3, 2, 259), ((0,), (0, 2), (1,))))


def sums():
    torch.manual_seed(220)  # so that these cases depend on no other
    for dims, sets in REDUCTIONS:
        for axes in sets:
            for keep in (0, 1):
                mask, tag = sum(1 << a for a in axes), f"{'x'.join(map(str, dims))}_{''.join(map(str, axes))}_{keep}"
                x = leaf(rand(*dims))
                shape_of = [1 if d in axes else n for d, n in enumerate(dims) if keep or d not in axes] or [1]
                y = x.sum(axes, keepdim=bool(keep)).reshape(shape_of)
                dy = rand(*shape_of)
                y.backward(dy)
                case("reduce_sum_" + tag, "reduce_sum", [x.detach()], [y.detach()], [mask, keep])
                extents = [-n if d in axes else n for d, n in enumerate(dims)]
                case("reduce_sum_dx_" + tag, "reduce_sum_backward", [dy], [x.grad], extents + [0] * (8 - len(dims)))
                x = leaf(torch.randint(-2, 3, dims).to(D))  # with many equal ones
                y = x.amax(axes, keepdim=bool(keep)).reshape(shape_of)
                y.backward(dy)
                case("reduce_max_" + tag, "reduce_max", [x.detach()], [y.detach()], [mask, keep], tolerance=0)
                case("reduce_max_dx_" + tag, "reduce_max_backward", [dy, x.detach(), y.detach()], [x.grad], [mask, keep])
        for axis in range(len(dims)):
            x = torch.randint(-2, 3, dims).to(D)
            y = x.argmax(axis).to(torch.int32)
            last = (dims[axis] - 1 - x.flip(axis).argmax(axis)).to(torch.int32)
            tag = f"{'x'.join(map(str, dims))}_{axis}"
            for number, places in enumerate((y, last)):
                case(f"arg_max_{tag}_{number}", "arg_max", [x], [places.reshape(places.shape or [1])], [axis, number], tolerance=0)
    for n, c in ((3, 7), (1, 1), (2, 300)):
        x, dy = leaf(rand(n, c, scale=3)), rand(n, c)
        y = F.softmax(x, -1)
        y.backward(dy)
        case(f"softmax_dx_{n}x{c}", "softmax_backward", [dy, y.detach()], [x.grad])


def matmuls():
    for batch, m, k, n in (((), 3, 5, 2), ((1,), 1, 1, 1), ((2, 3), 4, 7, 5), ((3,), 1, 9, 4), ((2,), 17, 33, 19), ((5, 1), 2, 3, 1),
                           ((2, 1, 2, 1, 3, 1), 3, 2, 4), ((2,), 3, 70, 40)):
        for turned in range(4):
            ta, tb = turned & 1, turned >> 1
            a = leaf(rand(*batch, *((k, m) if ta else (m, k))))
            b = leaf(rand(*batch, *((n, k) if tb else (k, n))))
            y = (a.transpose(-1, -2) if ta else a) @ (b.transpose(-1, -2) if tb else b)
            dy = rand(*y.shape)
            y.backward(dy)
            tag = f"{'x'.join(map(str, (*batch, m, k, n)))}_{ta}{tb}"
            case("matmul_" + tag, "matmul", [a.detach(), b.detach()], [y.detach()], [ta, tb])
            da = ([b.detach(), dy], [tb, 1]) if ta else ([dy, b.detach()], [0, 1 - tb])
            db = ([dy, a.detach()], [1, ta]) if tb else ([a.detach(), dy], [1 - ta, 0])
            case("matmul_da_" + tag, "matmul", da[0], [a.grad], da[1])
            case("matmul_db_" + tag, "matmul", db[0], [b.grad], db[1])


def identity_module(make, gates, units, weight, **settings):
    """A module of torch.nn in both directions whose input is the gates: its input weight is the identity. weight, and the
    bias of the recurrent products, stand in both directions, so that either half of its output is the direction alone."""
    module = make(gates * units, units, bidirectional=True, **settings).to(D)
    for end in ("", "_reverse"):
        setattr(module, "weight_ih_l0" + end, torch.nn.Parameter(torch.eye(gates * units, dtype=D)))
        setattr(module, "weight_hh_l0" + end, torch.nn.Parameter(weight.detach().clone()))
        setattr(module, "bias_ih_l0" + end, torch.nn.Parameter(torch.zeros(gates * units, dtype=D)))
        setattr(module, "bias_hh_l0" + end, torch.nn.Parameter(torch.zeros(gates * units, dtype=D)))
    module._flat_weights = [getattr(module, name) for name in module._flat_weights_names]
    return module


def in_order(steps, reverse):
    return list(range(steps))[::-1] if reverse else list(range(steps))


def both(state):
    """An initial state for both directions, as torch.nn wants it."""
    return torch.stack([state, state])


# Steps, samples, units; the larger ones in one direction each.
RECURRENT_SHAPES = ((3, 2, 4), (1, 1, 1), (4, 3, 7), (1, 4, 3), (2, 17, 3), (3, 1, 17), (6, 5, 1))


def recurrent_shapes():
    return [(turn, *dims, reverse) for turn, dims in enumerate(RECURRENT_SHAPES) for reverse in (0, 1)
            if turn < 2 or reverse == turn % 2]


def weight_case(name, dproducts, y, h0, activations, gradient, reverse):
    inputs = [dproducts, y, h0, activations]
    while inputs[-1] is None:
        inputs.pop()
    case(name, "recurrent_backward_weight", inputs, [gradient], [reverse], tolerance=4e-6)


def ends(values):
    """The values without those at the end that are absent."""
    while values and values[-1] is None:
        values = values[:-1]
    return values


def detached(values):
    return [v if v is None or isinstance(v, tuple) else v.detach() for v in values]


def lstm():
    torch.manual_seed(236)  # so that these cases depend on no other
    for turn, t, b, h, reverse in recurrent_shapes():
        gates, weight = leaf(rand(t, b, 4 * h)), leaf(rand(4 * h, h, scale=0.5))
        h0, c0 = (leaf(rand(b, h)) if (turn + reverse) % 3 != n else None for n in (0, 1))
        dy, dlast_h, dlast_c = (rand(*dims) if (turn + 2 * reverse) % 4 != n else None
                                for n, dims in ((1, (t, b, h)), (2, (b, h)), (3, (b, h))))
        zeros = torch.zeros(b, h, dtype=D)
        state, cell = (zeros if v is None else v for v in (h0, c0))
        y, activations, cells = [None] * t, [None] * t, [None] * t
        for at in in_order(t, reverse):
            i, f, g, o = (gates[at] + state @ weight.t()).chunk(4, -1)
            i, f, g, o = torch.sigmoid(i), torch.sigmoid(f), torch.tanh(g), torch.sigmoid(o)
            cell = f * cell + i * g
            y[at] = state = o * torch.tanh(cell)
            activations[at], cells[at] = torch.cat([i, f, g, o], -1), cell
        y, activations, cells = torch.stack(y), torch.stack(activations), torch.stack(cells)
        module = identity_module(torch.nn.LSTM, 4, h, weight)
        theirs = leaf(gates.detach())
        begins = [leaf(both(zeros if v is None else v.detach())) for v in (h0, c0)]
        out, (last_h, last_c) = module(theirs, tuple(begins))
        out, last_h, last_c = out[..., h * reverse:h * (reverse + 1)], last_h[reverse], last_c[reverse]
        assert max((out - y).abs().max(), (last_h - state).abs().max(), (last_c - cell).abs().max()) < 1e-12
        loss = sum((v * d).sum() for v, d in ((out, dy), (last_h, dlast_h), (last_c, dlast_c)) if d is not None)
        loss.backward()
        dweight = getattr(module, "weight_hh_l0" + ("_reverse" if reverse else "")).grad
        tag = f"_{t}x{b}x{h}_{reverse}"
        inputs = detached(ends([gates, weight, h0, c0]))
        case("lstm" + tag, "lstm", inputs, detached([y, state, cell, activations, cells]), [reverse, 1])
        last = in_order(t, reverse)[-1]
        case("lstm_last" + tag, "lstm", inputs,
             detached([y, state, cell, activations[last:][:1], cells[last:][:1]]), [reverse, 0])
        case("lstm_dx" + tag, "lstm_backward",
             detached(ends([weight, activations, cells, dy, dlast_h, dlast_c, c0])),
             [theirs.grad, begins[0].grad[reverse], begins[1].grad[reverse], ("float32", (2, b, h))], [reverse], (), 4e-6)
        weight_case("lstm_dw" + tag, theirs.grad, y.detach(), h0 if h0 is None else h0.detach(), None, dweight, reverse)


def gru():
    for turn, t, b, h, reverse in recurrent_shapes():
        for after in (0, 1):
            gates, weight = leaf(rand(t, b, 3 * h)), leaf(rand(3 * h, h, scale=0.5))
            bias = leaf(rand(3 * h)) if (turn + reverse) % 2 == 0 else None
            h0 = leaf(rand(b, h)) if (turn + reverse) % 3 != 0 else None
            dy, dlast_h = (rand(*dims) if (turn + 2 * reverse) % 3 != n else None
                           for n, dims in ((1, (t, b, h)), (2, (b, h))))
            state = begin = leaf(torch.zeros(b, h, dtype=D)) if h0 is None else h0
            added = torch.zeros(3 * h, dtype=D) if bias is None else bias
            y, activations, products = [None] * t, [None] * t, [None] * t
            for at in in_order(t, reverse):
                p = state @ weight[:2 * h].t() + added[:2 * h]
                r, z = torch.sigmoid(gates[at, :, :2 * h] + p).chunk(2, -1)
                read = state if after else r * state
                q = read @ weight[2 * h:].t() + added[2 * h:]
                products[at] = (p, q)
                for v in products[at]:
                    v.retain_grad()
                n = torch.tanh(gates[at, :, 2 * h:] + (r * q if after else q))
                y[at] = state = (1 - z) * n + z * state
                activations[at] = torch.cat([r, z, n, q if after else read], -1)
            y, activations = torch.stack(y), torch.stack(activations)
            loss = sum((v * d).sum() for v, d in ((y, dy), (state, dlast_h)) if d is not None)
            loss.backward()
            dproducts = torch.stack([torch.cat([v.grad for v in pair], -1) for pair in products])
            if after:
                module = identity_module(torch.nn.GRU, 3, h, weight)
                end = "_reverse" if reverse else ""
                with torch.no_grad():
                    getattr(module, "bias_hh_l0" + end).copy_(added)
                theirs, begins = leaf(gates.detach()), leaf(both(begin.detach()))
                out, last_h = module(theirs, begins)
                out, last_h = out[..., h * reverse:h * (reverse + 1)], last_h[reverse]
                sum((v * d).sum() for v, d in ((out, dy), (last_h, dlast_h)) if d is not None).backward()
                for ours, other in ((y, out), (state, last_h), (gates.grad, theirs.grad), (begin.grad, begins.grad[reverse]),
                                    (weight.grad, getattr(module, "weight_hh_l0" + end).grad),
                                    (dproducts.sum((0, 1)), getattr(module, "bias_hh_l0" + end).grad)):
                    assert (ours - other).abs().max() < 1e-12
            tag = f"_{t}x{b}x{h}_{after}{reverse}"
            inputs = detached(ends([gates, weight, bias, h0]))
            case("gru" + tag, "gru", inputs, detached([y, state, activations]), [after, reverse, 1])
            last = in_order(t, reverse)[-1]
            case("gru_last" + tag, "gru", inputs, detached([y, state, activations[last:][:1]]), [after, reverse, 0])
            case("gru_dx" + tag, "gru_backward", detached(ends([weight, activations, y, dy, dlast_h, h0])),
                 [gates.grad, dproducts, begin.grad, ("float32", (2, b, h))], [after, reverse], (), 4e-6)
            weight_case("gru_dw" + tag, dproducts, y.detach(), h0 if h0 is None else h0.detach(),
                        None if after else activations.detach(), weight.grad, reverse)


def rnn():
    for turn, t, b, h, reverse in recurrent_shapes():
        for relu in (0, 1):
            gates, weight = leaf(rand(t, b, h)), leaf(rand(h, h, scale=0.5))
            h0 = leaf(rand(b, h)) if (turn + reverse) % 3 != 0 else None
            dy, dlast_h = (rand(*dims) if (turn + 2 * reverse) % 3 != n else None
                           for n, dims in ((1, (t, b, h)), (2, (b, h))))
            module = identity_module(torch.nn.RNN, 1, h, weight, nonlinearity="relu" if relu else "tanh")
            begins = leaf(both(torch.zeros(b, h, dtype=D) if h0 is None else h0.detach()))
            y, last_h = module(gates, begins)
            y, last_h = y[..., h * reverse:h * (reverse + 1)], last_h[reverse]
            sum((v * d).sum() for v, d in ((y, dy), (last_h, dlast_h)) if d is not None).backward()
            tag = f"_{t}x{b}x{h}_{relu}{reverse}"
            case("rnn" + tag, "rnn", detached(ends([gates, weight, h0])),
                 detached([y, last_h, ("float32", (b, h))]), [relu, reverse])
            case("rnn_dx" + tag, "rnn_backward", detached(ends([weight, y, dy, dlast_h])),
                 [gates.grad, begins.grad[reverse], ("float32", (1, b, h))], [relu, reverse], (), 4e-6)
            weight_case("rnn_dw" + tag, gates.grad, y.detach(), h0 if h0 is None else h0.detach(), None,
                        getattr(module, "weight_hh_l0" + ("_reverse" if reverse else "")).grad, reverse)


def batch_norm():
    torch.manual_seed(246)  # so that these cases depend on no other
    for dims in ((3, 8), (2, 1), (300, 3), (4, 5, 6, 20), (2, 70), (2, 3, 300), (2, 2, 1, 2, 3, 5)):
        c, loose = dims[-1], 1e-5
        x, g, b, dy = leaf(rand(*dims, scale=3)), leaf(1 + rand(c, scale=.2)), leaf(rand(c)), rand(*dims)
        before, rows = [rand(c), rand(c) ** 2], x.numel() // c
        now = [t.clone() for t in before]
        tag = "x".join(map(str, dims))
        y = F.batch_norm(x.reshape(rows, c), *now, g, b, True, .1, 1e-5).reshape(dims)
        y.backward(dy)
        xd, flat = x.detach(), x.detach().reshape(rows, c)
        mean, variance = flat.mean(0), flat.var(0, unbiased=False)
        rec, runs = 1 / torch.sqrt(variance + 1e-5), (rows - 1) // 128 + 1
        case("batch_norm_" + tag, "batch_norm", [xd, g.detach(), b.detach()],
             [y.detach(), mean, rec, variance, ("float32", (runs, c))], [], [1e-5], loose)
        case("batch_norm_backward_" + tag, "batch_norm_backward", [dy, xd, g.detach(), mean, rec],
             [x.grad, g.grad, b.grad, ("float32", (runs, 2, c))],
             tolerance=loose if rows > 2 else 5e-2)  # of two rows the gradient is the rest of terms that cancel out
        case("running_statistics_" + tag, "running_statistics", [torch.zeros(2, c, dtype=D), mean, variance, *before],
             [torch.stack(now)], [rows], [.1])
        x.grad = g.grad = b.grad = None
        y = F.batch_norm(x.reshape(rows, c), *before, g, b, False, .1, 1e-5).reshape(dims)
        y.backward(dy)
        case("batch_norm_fixed_" + tag, "batch_norm_fixed", [xd, g.detach(), b.detach(), *before], [y.detach()], [], [1e-5],
             loose)
        case("batch_norm_fixed_backward_" + tag, "batch_norm_fixed_backward", [dy, xd, g.detach(), *before],
             [x.grad, g.grad, b.grad, ("float32", (runs, 2, c))], [], [1e-5], loose)


def eight(dims):
    return list(dims) + [0] * (8 - len(dims))


def moved(name, op, backward, f, x, settings, of_backward, others=(), tolerance=0, tolerance_dx=0):
    """A case of an op of one differentiable input, and one of its gradient; of_backward: its attributes."""
    x = leaf(x)
    y = f(x)
    dy = rand(*y.shape)
    y.backward(dy)
    case("torch_" + name, op, [x.detach(), *others], [y.detach()], settings, [], tolerance)
    if backward is not None:
        case(f"torch_{name}_dx", backward, [dy, *others], [x.grad], of_backward, [], tolerance_dx)


def layouts():
    """Ops that move elements; sums of several have a tolerance."""
    torch.manual_seed(200)
    moved("reshape", "reshape", "reshape", lambda x: x.reshape(4, 6), rand(2, 3, 4), eight((4, 6)), eight((2, 3, 4)))
    for order in ((1, 0), (2, 0, 1), (3, 0, 2, 1), (4, 0, 5, 2, 1, 3)):
        x = rand(*(2, 3, 1, 4, 2, 3)[:len(order)])
        packed = sum(o << 4 * d for d, o in enumerate(order))
        back = sum(d << 4 * o for d, o in enumerate(order))
        moved(f"transpose_{len(order)}", "transpose", "transpose", lambda x: x.permute(order).contiguous(), x, [packed], [back])
    for axis, first, step, count in ((0, 1, 1, 2), (1, 4, -2, 3), (2, 0, 3, 1), (1, 0, 1, 5)):
        index = torch.arange(count) * step + first
        x = rand(3, 5, 2)
        moved(f"slice_{axis}_{step}_{count}", "slice", "slice_backward", lambda x: x.index_select(axis, index), x, [axis, first, step, count],
              [axis, first, step, x.shape[axis]])
    for axis, before, after, value in ((0, 1, 2, 0.5), (1, 0, 3, 0.0), (2, 2, 0, -1.0)):
        widths = [0, 0] * (2 - axis) + [before, after]
        x = leaf(rand(2, 3, 4))
        y = F.pad(x, widths, value=value)
        dy = rand(*y.shape)
        y.backward(dy)
        case(f"torch_pad_{axis}", "pad", [x.detach()], [y.detach()], [axis, before, after], [value], 0)
        case(f"torch_pad_dx_{axis}", "slice", [dy], [x.grad], [axis, before, 1, x.shape[axis]], [], 0)
    for old, new in (((3,), (2, 3)), ((2, 1, 3), (2, 4, 3)), ((1, 3, 1), (2, 2, 3, 5)), ((1,), (40,)), ((2, 1, 2, 1), (2, 3, 2, 4)), ((300,), (7, 300))):
        moved(f"expand_{'x'.join(map(str, new))}", "expand", "sum_to", lambda x: x.expand(new), rand(*old), eight(new), eight(old), (), 0, 2e-6)
    for dims, names, axis in (((5, 3), (4,), 0), ((2, 4, 3), (2, 5), 1), ((2, 3, 2, 6), (1, 7), 3)):
        ids = torch.randint(-dims[axis], dims[axis], names, dtype=torch.int32)
        flat = ids.long().reshape(-1) % dims[axis]
        y_dims = dims[:axis] + names + dims[axis + 1:]
        moved(f"gather_{axis}", "gather", "gather_backward", lambda x: x.index_select(axis, flat).reshape(y_dims), rand(*dims), [axis],
              [axis, dims[axis]], [ids], 0, 2e-6)
    for dims, taken, axis in (((5, 3), 7, 0), ((2, 4, 3), 2, 1), ((2, 1, 3), 4, 2)):
        ids = torch.randint(-dims[axis], dims[axis], dims[:axis] + (taken,) + dims[axis + 1:], dtype=torch.int32)
        moved(f"gather_elements_{axis}", "gather_elements", "gather_elements_backward", lambda x: x.gather(axis, ids.long() % dims[axis]),
              rand(*dims), [axis], [axis, dims[axis]], [ids], 0, 2e-6)
    for dims, rows, parts in (((6,), 4, 1), ((4, 3), 3, 1), ((4, 3), 5, 2), ((3, 2, 4), 2, 1)):
        extent = math.prod(dims[:parts])
        places = torch.randperm(extent)[:rows]  # no row twice: PyTorch leaves open which update stays
        ids = torch.stack(torch.unravel_index(places, dims[:parts]), -1).int()
        for add in (0, 1):
            data, updates = leaf(rand(*dims)), leaf(rand(len(places), *dims[parts:]))
            y = data.index_put(tuple(ids.long().T), updates, accumulate=bool(add))
            dy = rand(*dims)
            y.backward(dy)
            tag = f"{'x'.join(map(str, dims))}_{parts}_{add}"
            case("torch_scatter_nd_" + tag, "scatter_nd", [data.detach(), ids, updates.detach()], [y.detach()], [add])
            if add:
                case("torch_scatter_nd_dupdates_" + tag, "scatter_nd_backward_updates", [dy, ids], [updates.grad], [], [], 0)
            else:
                case("torch_scatter_nd_dx_" + tag, "scatter_nd_backward", [dy, ids], [data.grad, updates.grad], [], [], 0)
    for dims, axis in (((9,), 0), ((4, 3), 0), ((2, 5, 3), 1), ((2, 300), 1)):
        for exclusive in (0, 1):
            for reverse in (0, 1):
                def sums(x):
                    turned = x.flip(axis) if reverse else x
                    total = turned.cumsum(axis) - (turned if exclusive else 0)
                    return total.flip(axis) if reverse else total
                moved(f"cumulative_sum_{'x'.join(map(str, dims))}_{exclusive}{reverse}", "cumulative_sum", "cumulative_sum", sums, rand(*dims),
                      [axis, exclusive, reverse], [axis, exclusive, 1 - reverse], (), 2e-6, 2e-6)


def repeated_operands():
    """Operands of ranks 1 to 6, each repeated along other dimensions; gradients of ops with backward rows of their own."""
    shapes = (((7,), (1,)), ((3, 1, 5), (3, 1)), ((2, 1, 3, 1, 2, 1), (3, 1, 2, 1, 3)), ((2, 67), (67,)), ((4, 3), (4, 3)))
    for a_dims, b_dims in shapes:
        a, b = leaf(rand(*a_dims)), leaf(rand(*b_dims))
        tag = shape(a) + "_" + shape(b)
        case("torch_broadcast_add_" + tag, "broadcast_add", [a.detach(), b.detach()], [(a + b).detach()])
        case("torch_broadcast_multiply_" + tag, "broadcast_multiply", [a.detach(), b.detach()], [(a * b).detach()])
        case("torch_subtract_" + tag, "subtract", [a.detach(), b.detach()], [(a - b).detach()])
        case("torch_divide_" + tag, "divide", [a.detach(), b.detach()], [(a / b).detach()])
        for op, f in (("less", torch.lt), ("less_or_equal", torch.le), ("equal", torch.eq)):
            near = torch.where(b > 0, b, a.detach().flatten()[0])
            case(f"torch_{op}_{tag}", op, [a.detach(), near.detach()], [f(a, near).to(D)], tolerance=0)
        rounded_a, rounded_b = (leaf(t.detach().round() + 0.0) for t in (a, b))
        for op, f in (("maximum", torch.maximum), ("minimum", torch.minimum)):
            rounded_a.grad = rounded_b.grad = None
            y = f(rounded_a, rounded_b)
            dy = rand(*y.shape)
            y.backward(dy)
            case(f"torch_{op}_{tag}", op, [rounded_a.detach(), rounded_b.detach()], [y.detach()], tolerance=0)
            pair_of = [rounded_a.detach(), rounded_b.detach()]
            for x, mine, order in ((rounded_a, "a", pair_of), (rounded_b, "b", pair_of[::-1])):
                full = leaf(x.detach().expand(y.shape))
                f(full, order[1].expand(y.shape)).backward(dy)
                given = order if op == "maximum" else order[::-1]
                case(f"torch_{op}_d{mine}_{tag}", "larger_share", [dy, *given], [full.grad])
                extents = list(x.shape) + [0] * (8 - x.dim())
                case(f"torch_{op}_d{mine}_sum_{tag}", "sum_to", [full.grad.float().to(D)], [full.grad.float().to(D).sum_to_size(x.shape)],
                     extents)
        c = (rand(*b_dims) > 0).to(D)
        case("torch_select_" + tag, "select", [c, a.detach(), b.detach()], [torch.where(c != 0, a, b).detach()], tolerance=0)
    base, exponent = leaf(rand(5, 1, 6).abs() + 0.01), torch.tensor([2.0, 3.0, -1.0, 0.5, -0.5, 1.7], dtype=D)
    for tag, n in (("row", exponent), ("scalar", torch.tensor([2.5], dtype=D)), ("full", rand(5, 4, 6, scale=3))):
        base.grad = None
        y = base ** n
        case("torch_power_" + tag, "power", [base.detach(), n], [y.detach()])
        full = leaf(base.detach().expand(y.shape))
        dy = rand(*y.shape)
        (full ** n).backward(dy)
        case("torch_power_dx_" + tag, "power_backward", [dy, base.detach(), n], [full.grad], tolerance=4e-6)
    negative = leaf(torch.tensor([-3.0, -1.5, -0.25, 0.0, 2.0], dtype=D))
    for n in (2.0, 3.0, -1.0, 5.0, 6.0, 1.0, 0.0):
        negative.grad = None
        y = negative ** n
        y.backward(torch.ones(5, dtype=D))
        case(f"torch_power_negative_{n:g}", "power", [negative.detach(), torch.tensor([n], dtype=D)], [y.detach()])
        case(f"torch_power_negative_dx_{n:g}", "power_backward", [torch.ones(5, dtype=D), negative.detach(), torch.tensor([n], dtype=D)],
             [negative.grad])


def one_operand():
    special = torch.tensor([0.0, 1e-30, -1e-30, 9.0, -9.0, 30.0, -30.0, 0.5, -0.5, 1.0, -1.0, 2.5, -2.5, 1e9, -1e9], dtype=D)
    x, positive = leaf(torch.cat([rand(40, scale=2), special])), rand(40, scale=4).abs() + 1e-3
    dy = rand(55)
    case("torch_exp", "exp", [x.detach()[:53]], [torch.exp(x.detach()[:53])])
    for op, f in (("log", torch.log), ("sqrt", torch.sqrt), ("reciprocal", torch.reciprocal)):
        case("torch_" + op, op, [positive], [f(positive)])
    for op, f, reals in (("erf", torch.erf, []), ("clip", lambda v: torch.clamp(v, -0.5, 2.5), [-0.5, 2.5]),
                         ("leaky_relu", lambda v: F.leaky_relu(v, 0.125), [0.125]), ("elu", lambda v: F.elu(v, 1.5), [1.5])):
        x.grad = None
        y = f(x)
        y.backward(dy)
        case("torch_" + op, op, [x.detach()], [y.detach()], [], reals)
        case(f"torch_{op}_dx", op + "_backward", [dy, x.detach()], [x.grad], [], reals)
    for op, f in (("abs", torch.abs), ("sign", torch.sign), ("floor", torch.floor)):
        case("torch_" + op, op, [x.detach()], [f(x).detach()], tolerance=0)
    case("torch_affine", "affine", [x.detach()], [(x * -1.75 + 0.5).detach()], [], [-1.75, 0.5])
    case("torch_to_int32", "to_int32", [x.detach()], [x.detach().to(torch.int32)], tolerance=0)
    whole = torch.tensor([0, 1, -7, 2 ** 24, -2 ** 31], dtype=torch.int32)
    case("torch_to_float32", "to_float32", [whole], [whole.to(D)], tolerance=0)


def later_operand():
    x = torch.cat([rand(40, scale=2), torch.tensor([0.0, 1e-30, -1e-30, 9.0, -9.0, 30.0, 0.5, -0.5, 1.5, 1.0, -0.75, 2.5, -2.5, 1e9], dtype=D)])
    for op, f in (("sin", torch.sin), ("cos", torch.cos), ("atan", torch.atan)):
        case("torch_" + op, op, [x], [f(x)])
    above = x[x > -1]
    case("torch_log_one_plus", "log_one_plus", [above], [torch.log1p(above)])
    case("torch_round", "round", [x], [torch.round(x)], tolerance=0)


def quantized_numbers():
    scale, zero = 0.037, 12
    x, dy = leaf(rand(60, scale=3)), rand(60)
    y = torch.fake_quantize_per_tensor_affine(x.float(), scale, zero, -128, 127).to(D)
    y.backward(dy)
    one = lambda v: torch.tensor([v], dtype=D)
    case("torch_fake_quantize", "fake_quantize", [x.detach(), one(scale), one(zero)], [y.detach()], [], [-128, 127])
    case("torch_fake_quantize_dx", "fake_quantize_backward", [dy, x.detach(), one(scale), one(zero)], [x.grad], [], [-128, 127])
    x, dy = leaf(rand(3, 4, 5, scale=3)), rand(3, 4, 5)
    scales, zeros = torch.tensor([0.01, 0.05, 0.2, 0.003]), torch.tensor([0, 5, -3, 100], dtype=torch.int32)
    y = torch.fake_quantize_per_channel_affine(x.float(), scales, zeros, 1, -128, 127).to(D)
    y.backward(dy)
    column = lambda t: t.to(D).reshape(4, 1)
    case("torch_fake_quantize_channels", "fake_quantize", [x.detach(), column(scales), column(zeros)], [y.detach()], [], [-128, 127])
    case("torch_fake_quantize_channels_dx", "fake_quantize_backward", [dy, x.detach(), column(scales), column(zeros)], [x.grad], [], [-128, 127])


def top_k():
    x = rand(4, 37)
    for k, largest in ((5, True), (37, True), (6, False)):
        case(f"torch_top_k_{k}_{int(largest)}", "top_k", [x], [torch.topk(x, k, 1, largest, True)[1].int()], [k, int(not largest)], tolerance=0)


def slopes():
    """ALiBi: slope * (key - query) is added to the scores of each head."""
    torch.manual_seed(221)
    for b, t, h, kv, d, causal in ((2, 5, 4, 2, 4, 1), (1, 9, 3, 1, 8, 0), (1, 33, 2, 2, 3, 1)):
        qkv, dy, slope = leaf(rand(b, t, (h + 2 * kv) * d)), rand(b, t, h * d), 2.0 ** -torch.arange(1, h + 1).to(D) * 1.3
        slope = slope.float().to(D)
        q, k, v = qkv.split([h * d, kv * d, kv * d], -1)
        q = q.reshape(b, t, h, d).transpose(1, 2)
        k, v = (z.reshape(b, t, kv, d).transpose(1, 2).repeat_interleave(h // kv, 1) for z in (k, v))
        scale = torch.tensor(1 / math.sqrt(d)).float().item()
        at = torch.arange(t).to(D)
        s = q @ k.transpose(-1, -2) * scale + slope[:, None, None] * (at[None, :] - at[:, None])
        if causal:
            s = s.masked_fill(torch.triu(torch.ones(t, t, dtype=torch.bool), 1), -math.inf)
        y = (torch.softmax(s, -1) @ v).transpose(1, 2).reshape(b, t, h * d)
        y.backward(dy)
        top = s.amax(-1).detach()
        total = torch.exp(s - s.amax(-1, keepdim=True)).sum(-1).detach()
        tag = f"{b}x{t}x{h}x{kv}x{d}"
        settings, reals = [h, kv, causal, 0, 0, 16], [scale, 0.0]
        case("attention_slopes_" + tag, "attention", [qkv.detach(), slope],
             [y.detach(), top, total, ("float32", (b, h, 16, t))], settings, reals)
        case("attention_slopes_dqkv_" + tag, "attention_backward", [dy, qkv.detach(), top, total, slope],
             [qkv.grad, ("float32", (b, h, 33, t))], settings, reals, 4e-6)


def cross_attention():
    """Separate queries, keys and values, with masks of all four kinds, more keys than queries and fewer."""
    torch.manual_seed(227)
    for b, t, s, h, kv, d, causal, masked, sloped in (
            (2, 5, 7, 4, 2, 4, 0, (2, 4), 0), (1, 9, 3, 3, 1, 8, 0, (1, 3), 1), (2, 4, 4, 2, 2, 3, 1, (2, 1), 1),
            (1, 3, 6, 1, 1, 2, 1, None, 0), (2, 7, 2, 2, 1, 2, 1, (1, 1), 0), (1, 33, 40, 2, 2, 3, 0, None, 0),
            (1, 1, 1, 1, 1, 1, 0, None, 0), (2, 35, 65, 2, 2, 5, 0, (1, 1), 1)):
        query, key, value = leaf(rand(b, t, h * d)), leaf(rand(b, s, kv * d)), leaf(rand(b, s, kv * d))
        dy, mask = rand(b, t, h * d), None
        if masked:
            mask = torch.where(torch.rand(*masked, t, s) < 0.2, torch.tensor(-1e30, dtype=D), rand(*masked, t, s))
            mask = mask.float().to(D)
        slope = (1.3 * 2.0 ** -torch.arange(1, h + 1).to(D)).float().to(D) if sloped else None
        q = query.reshape(b, t, h, d).transpose(1, 2)
        k, v = (z.reshape(b, s, kv, d).transpose(1, 2).repeat_interleave(h // kv, 1) for z in (key, value))
        scale = torch.tensor(1 / math.sqrt(d)).float().item()
        scores = q @ k.transpose(-1, -2) * scale
        if sloped:
            scores = scores + slope[:, None, None] * (torch.arange(s).to(D)[None, :] - torch.arange(t).to(D)[:, None])
        if masked:
            scores = scores + mask
        if causal:
            scores = scores.masked_fill(torch.triu(torch.ones(t, s, dtype=torch.bool), 1), -math.inf)
        y = (torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(b, t, h * d)
        y.backward(dy)
        top = scores.amax(-1).detach()
        total = torch.exp(scores - scores.amax(-1, keepdim=True)).sum(-1).detach()
        tag = f"{b}x{t}x{s}x{h}x{kv}x{d}"
        settings, reals = [h, kv, causal, 0, 0, 16], [scale, 0.0]
        extra = [mask, slope] if sloped else [mask] if masked else []
        case("cross_attention_" + tag, "cross_attention", [query.detach(), key.detach(), value.detach(), *extra],
             [y.detach(), top, total, ("float32", (b, h, 16, s))], settings, reals)
        case("cross_attention_dx_" + tag, "cross_attention_backward",
             [dy, query.detach(), key.detach(), value.detach(), top, total, *extra],
             [query.grad, key.grad, value.grad, ("float32", (b, h, 33, max(t, s)))], settings, reals, 4e-6)


for make in (linear, embedding, elementwise, layer_norm, attention, losses, training,
             more_activations, more_losses, weighted_cross_entropy, rotary, multiply, concat, rms_norm,
             conv, pools, sums, matmuls, lstm, gru, rnn, batch_norm, layouts, slopes, cross_attention):
    make()
torch.manual_seed(170)  # so that these cases depend on no other
for make in (repeated_operands, one_operand):
    make()
torch.manual_seed(263)
for make in (later_operand, quantized_numbers, top_k):
    make()
Path(__file__).with_suffix(".golden").write_text("\n".join(lines) + "\n")
print(sum(l.startswith("case") for l in lines), "cases")

"""Every optimizer for 50 steps in float64, from the formulas of OPTIMIZERS.md: the reference for the kernels.

Writes optimizers.golden beside this script; tests/unit/test_optimizers.c reads it. Run: python3 optimizers.py
With --torch it also compares with torch.optim, for optimizers that have the same formula there. Needs numpy.

A case is a block of lines:
  case NAME OP TOLERANCE        relative to the largest magnitude of a tensor; OP muon is a sequence of ops
  integers ... / reals ...      attributes in the order of plan/ops.def
  run SHAPE SEED RATE           extents joined by x; RATE is the learning rate before its decay
  inputs ...                    inputs after parameter and gradient: s a tensor of state, r the learning rate,
                                t the number of steps so far
  state SHAPE INITIAL           for each s
  final : HEX ...               the parameter and each tensor of state after the last step, float32
Every input is a float32: parameter and gradients come from draws() below, and the rate of step t (from 0) is
the float32 nearest to RATE * (1 - t/128)."""
import os
import struct
import sys

import numpy as np

STEPS = 50
HERE = os.path.dirname(os.path.abspath(__file__))
lines = []


def single(x):
    return struct.unpack('f', struct.pack('f', x))[0]


def draws(seed):
    """Numbers in [-1, 1), each a multiple of 2^-23, from a 32-bit generator."""
    while True:
        seed = (seed * 1664525 + 1013904223) % 2 ** 32
        yield ((seed >> 8) - 2 ** 23) / 2 ** 23


def tensor(source, shape):
    return np.array([next(source) for _ in range(int(np.prod(shape)))]).reshape(shape)


def gradients(source, shape):
    """Gradients for each step: the sum of a constant and a new part, with some elements far smaller than others."""
    stays = tensor(source, shape)
    size = np.array([2.0 ** -(i % 7) for i in range(stays.size)]).reshape(shape)
    for _ in range(STEPS):
        yield (((stays + tensor(source, shape)) * 0.5).astype(np.float32) * size).astype(np.float64)


# --- the optimizers: p, the states s, the gradient g, the rate, the step t = 1, 2, ... ------------------------------------


def adam_moments(s, g, beta1, beta2):
    s[0] = beta1 * s[0] + (1 - beta1) * g
    s[1] = beta2 * s[1] + (1 - beta2) * g * g


def correction(beta1, beta2, t):
    return np.sqrt(1 - beta2 ** t) / (1 - beta1 ** t)


def adam(p, s, g, rate, t, *, beta1, beta2, epsilon, weight_decay):
    adam_moments(s, g + weight_decay * p, beta1, beta2)
    return p - rate * s[0] / (np.sqrt(s[1]) + epsilon) * correction(beta1, beta2, t)


def adam_amsgrad(p, s, g, rate, t, *, decoupled, correct_bias, beta1, beta2, epsilon, weight_decay):
    adam_moments(s, g if decoupled else g + weight_decay * p, beta1, beta2)
    s[2] = np.maximum(s[2], s[1])
    u = s[0] / (np.sqrt(s[2]) + epsilon) * (correction(beta1, beta2, t) if correct_bias else 1)
    return p - rate * (u + weight_decay * p if decoupled else u)


def radam(p, s, g, rate, t, *, beta1, beta2, epsilon, weight_decay):
    adam_moments(s, g + weight_decay * p, beta1, beta2)
    most = 2 / (1 - beta2) - 1
    r = most - 2 * t * beta2 ** t / (1 - beta2 ** t)
    u = s[0] / (1 - beta1 ** t)
    if r > 5:
        rectified = np.sqrt((r - 4) * (r - 2) * most / ((most - 4) * (most - 2) * r))
        u = u * rectified * np.sqrt(1 - beta2 ** t) / (np.sqrt(s[1]) + epsilon)
    return p - rate * u


def nadam(p, s, g, rate, t, *, beta1, beta2, epsilon, weight_decay, momentum_decay):
    d = g + weight_decay * p
    adam_moments(s, d, beta1, beta2)
    now, following = (beta1 * (1 - 0.5 * 0.96 ** (n * momentum_decay)) for n in (t, t + 1))
    s[2] = s[2] * now
    size = np.sqrt(s[1] / (1 - beta2 ** t)) + epsilon
    return p - rate * ((1 - now) / (1 - s[2]) * d + following / (1 - s[2] * following) * s[0]) / size


def adamax(p, s, g, rate, t, *, maximize, beta1, beta2, epsilon, weight_decay):
    d = (-g if maximize else g) + weight_decay * p
    s[0] = beta1 * s[0] + (1 - beta1) * d
    s[1] = np.maximum(beta2 * s[1], np.abs(d) + epsilon)
    return p - rate / (1 - beta1 ** t) * s[0] / s[1]


def lamb(p, s, g, rate, t, *, adam, beta1, beta2, epsilon, weight_decay):
    adam_moments(s, g, beta1, beta2)
    u = s[0] / (np.sqrt(s[1]) + epsilon) + weight_decay * p
    size, norm = min(np.sqrt((p * p).sum()), 10), np.sqrt((u * u).sum())
    return p - rate * (1 if adam or size == 0 or norm == 0 else size / norm) * u


def lion(p, s, g, rate, t, *, beta1, beta2, weight_decay):
    direction = beta1 * s[0] + (1 - beta1) * g
    assert np.abs(direction).min() > 1e-7, 'a sign that rounding could turn: take another seed'
    s[0] = beta2 * s[0] + (1 - beta2) * g
    return p - rate * (np.sign(direction) + weight_decay * p)


def rmsprop_any(p, s, g, rate, centered, alpha, epsilon, weight_decay, momentum=None):
    d = g + weight_decay * p
    s[0] = alpha * s[0] + (1 - alpha) * d * d
    variance = s[0]
    if centered:
        s[1] = alpha * s[1] + (1 - alpha) * d
        variance = s[0] - s[1] * s[1]
    u = d / (np.sqrt(variance) + epsilon)
    if momentum is not None:
        s[-1] = u = momentum * s[-1] + u
    return p - rate * u


def rmsprop(p, s, g, rate, t, **settings):
    return rmsprop_any(p, s, g, rate, False, **settings)


def rmsprop_centered(p, s, g, rate, t, **settings):
    return rmsprop_any(p, s, g, rate, True, **settings)


rmsprop_momentum, rmsprop_centered_momentum = rmsprop, rmsprop_centered


def rprop(p, s, g, rate, t, *, eta_minus, eta_plus, smallest, largest):
    turned = np.sign(g * s[0])
    if t == 1:
        s[1] = np.full(p.shape, rate)
    s[1] = np.clip(s[1] * np.where(turned > 0, eta_plus, np.where(turned < 0, eta_minus, 1)), smallest, largest)
    s[0] = np.where(turned < 0, 0, g)
    return p - np.sign(s[0]) * s[1]


def adagrad(p, s, g, rate, t, *, maximize, lr_decay, epsilon, weight_decay):
    d = (-g if maximize else g) + weight_decay * p
    s[0] = s[0] + d * d
    return p - rate / (1 + (t - 1) * lr_decay) * d / (np.sqrt(s[0]) + epsilon)


def adadelta(p, s, g, rate, t, *, maximize, rho, epsilon, weight_decay):
    d = (-g if maximize else g) + weight_decay * p
    s[0] = rho * s[0] + (1 - rho) * d * d
    u = np.sqrt(s[1] + epsilon) / np.sqrt(s[0] + epsilon) * d
    s[1] = rho * s[1] + (1 - rho) * u * u
    return p - rate * u


def asgd(p, s, g, rate, t, *, maximize, lambd, alpha, t0, weight_decay):
    d = (-g if maximize else g) + weight_decay * p
    rate = rate / (1 + lambd * rate * (t - 1)) ** alpha
    p = p * (1 - lambd * rate) - rate * d
    s[0] = s[0] + (p - s[0]) / max(1, t - 1 - t0)
    return p


def adafactor_step(p, u, rate, scale_parameter, epsilon2, clip, weight_decay):
    root = lambda x: np.sqrt((x * x).mean())
    if scale_parameter:
        rate = rate * max(epsilon2, root(p))
    return p - rate * (u / max(1, root(u) / clip) + weight_decay * p)


def adafactor(p, s, g, rate, t, *, scale_parameter, epsilon1, epsilon2, clip, decay_rate, weight_decay):
    kept = 1 - float(t) ** decay_rate
    s[0] = kept * s[0] + (1 - kept) * (g * g + epsilon1)
    return adafactor_step(p, g / np.sqrt(s[0]), rate, scale_parameter, epsilon2, clip, weight_decay)


def adafactor_factored(p, s, g, rate, t, *, scale_parameter, epsilon1, epsilon2, clip, decay_rate, weight_decay):
    kept = 1 - float(t) ** decay_rate
    square = g * g + epsilon1
    s[0] = kept * s[0] + (1 - kept) * square.mean(-1)
    s[1] = kept * s[1] + (1 - kept) * square.mean(-2)
    size = (s[0] / s[0].mean(-1, keepdims=True))[..., :, None] * s[1][..., None, :]
    return adafactor_step(p, g / np.sqrt(size), rate, scale_parameter, epsilon2, clip, weight_decay)


def muon(p, s, g, rate, t, *, nesterov, ns_steps, momentum, epsilon, scale, weight_decay):
    s[0] = momentum * s[0] + (1 - momentum) * g
    x = momentum * s[0] + (1 - momentum) * g if nesterov else s[0]
    if ns_steps > 0:
        x = x / (np.sqrt((x * x).sum()) + epsilon)
        a, b, c = (single(v) for v in (3.4445, -4.775, 2.0315))
        for _ in range(ns_steps):
            gram = x @ x.T if x.shape[0] <= x.shape[1] else x.T @ x
            square = b * gram + c * gram @ gram
            x = a * x + (square @ x if x.shape[0] <= x.shape[1] else x @ square)
    return p - rate * (scale * x + weight_decay * p)


def sgd(p, s, g, rate, t, *, maximize, weight_decay):
    return p - rate * ((-g if maximize else g) + weight_decay * p)


def sgd_momentum(p, s, g, rate, t, *, nesterov, maximize, momentum, dampening, weight_decay):
    d = (-g if maximize else g) + weight_decay * p
    s[0] = momentum * s[0] + (1 - dampening) * d
    return p - rate * (d + momentum * s[0] if nesterov else s[0])


# --- cases ----------------------------------------------------------------------------------------------------------------

INTEGERS = {'decoupled', 'correct_bias', 'maximize', 'adam', 'nesterov', 'ns_steps', 'scale_parameter'}
names = set()


def run(step, shape, seed, rate, states, settings):
    source = draws(seed)
    p, s = tensor(source, shape) * 0.5, [np.full(dims, float(initial)) for dims, initial in states]
    settings = {k: v if k in INTEGERS else single(v) for k, v in settings.items()}
    for t, g in enumerate(gradients(source, shape)):
        p = step(p, s, g, single(single(rate) * (1 - t / 128)), t + 1, **settings)
    return [p] + s


def case(op, shape, inputs, states, rate, tolerance=1e-6, seed=3, **settings):
    tag = 'x'.join(map(str, shape))
    name = f'{op}_{tag}_{sum(n.startswith(op + "_" + tag) for n in names)}'
    names.add(name)
    final = run(globals()[op], shape, seed, rate, states, settings)
    assert all(np.isfinite(x).all() for x in final)
    lines.append(f'case {name} {op} {tolerance:g}')
    integers = [str(v) for k, v in settings.items() if k in INTEGERS]
    reals = [f'{single(v):.9g}' for k, v in settings.items() if k not in INTEGERS]
    lines.extend(['integers ' + ' '.join(integers)] if integers else [])
    lines.extend(['reals ' + ' '.join(reals)] if reals else [])
    lines.append(f'run {tag} {seed} {single(rate):.9g}')
    lines.append('inputs ' + inputs)
    lines.extend(f'state {"x".join(map(str, dims))} {single(initial):.9g}' for dims, initial in states)
    for x in final:
        lines.append('final : ' + ' '.join(struct.pack('>f', v).hex() for v in x.reshape(-1)))


SHAPES = [(1,), (5, 7), (270,)]


def all_cases():
    for shape in SHAPES:
        z, one = (shape, 0), ((1,), 1)
        betas = dict(beta1=0.9, beta2=0.999, epsilon=1e-6)
        for decay in (0, 0.1) if shape == (5, 7) else (0.1,):
            adams = dict(betas, weight_decay=decay)
            case('adam', shape, 'r s s t', [z, z], 1e-3, **adams)
            case('radam', shape, 'r s s t', [z, z], 1e-3, **adams)
            case('radam', shape, 'r s s t', [z, z], 1e-2, **dict(adams, beta2=0.5))
            case('nadam', shape, 'r s s s t', [z, z, one], 2e-3, **dict(adams, epsilon=1e-8, momentum_decay=4e-3))
            for flag in (0, 1):
                case('adam_amsgrad', shape, 'r s s s t', [z, z, z], 1e-3, decoupled=flag, correct_bias=1, **adams)
                case('adamax', shape, 'r s s t', [z, z], 2e-3, maximize=flag, **adams)
                case('lamb', shape, 'r s s', [z, z], 1e-3, adam=flag, **adams)
                case('adagrad', shape, 'r s t', [(shape, 0.25 * flag)], 1e-2, maximize=flag, lr_decay=0.01 * flag,
                     epsilon=1e-6, weight_decay=decay)
                case('adadelta', shape, 'r s s', [z, z], 1.0, maximize=flag, rho=0.9, epsilon=1e-6, weight_decay=decay)
                case('asgd', shape, 'r s t', [z], 1e-2, maximize=flag, lambd=1e-4 if flag else 0.1, alpha=0.75,
                     t0=1e6 if flag else 10, weight_decay=decay)
                case('adafactor', shape, 'r s t', [z], 1e-2, scale_parameter=flag, epsilon1=1e-30, epsilon2=1e-3,
                     clip=1 if flag else 0.5, decay_rate=-0.8, weight_decay=decay)
            case('adam_amsgrad', shape, 'r s s s t', [z, z, z], 1e-3, decoupled=1, correct_bias=0, **adams)
            case('lion', shape, 'r s', [z], 1e-3, beta1=0.9, beta2=0.99, weight_decay=decay)
            rms = dict(alpha=0.99, epsilon=1e-8, weight_decay=decay)
            case('rmsprop', shape, 'r s', [z], 1e-2, **rms)
            case('rmsprop_momentum', shape, 'r s s', [z, z], 1e-3, **rms, momentum=0.9)
            case('rmsprop_centered', shape, 'r s s', [z, z], 1e-3, **rms)
            case('rmsprop_centered_momentum', shape, 'r s s s', [z, z, z], 1e-3, **rms, momentum=0.9)
            case('sgd', shape, 'r', [], 0.1, maximize=0, weight_decay=decay)
            for flag in (0, 1):
                case('sgd_momentum', shape, 'r s', [z], 0.01, nesterov=flag, maximize=0, momentum=0.9,
                     dampening=0 if flag else 0.3, weight_decay=decay)
        case('rprop', shape, 'r s s t', [z, z], 1e-3, eta_minus=0.5, eta_plus=1.2, smallest=1e-6, largest=50)
        case('rprop', shape, 'r s s t', [z, z], 1e-3, eta_minus=0.4, eta_plus=1.5, smallest=5e-4, largest=0.01)
    for shape in ((5, 7), (1, 9), (9, 1), (3, 4, 6), (18, 270)):
        for flag in (0, 1):
            case('adafactor_factored', shape, 'r s s t', [(shape[:-1], 0), (shape[:-2] + shape[-1:], 0)], 1e-2,
                 scale_parameter=flag, epsilon1=1e-30, epsilon2=1e-3, clip=1, decay_rate=-0.8, weight_decay=0.1 * flag)
    case('lamb', (5000,), 'r s s', [((5000,), 0)] * 2, 1e-3, adam=0, **betas, weight_decay=0.01)
    for shape, steps in (((5, 7), 5), (((7, 5)), 5), ((1, 9), 1), ((16, 16), 5), ((40, 24), 5), ((13,), 0)):
        for flag in (0, 1):
            tall = shape[0] / shape[1] if steps else 1
            case('muon', shape, 'r s', [(shape, 0)], 0.02, 2e-5 if steps else 1e-6, nesterov=flag, ns_steps=steps,
                 momentum=0.95, epsilon=1e-7, scale=max(1, tall) ** 0.5, weight_decay=0.1 * flag)


# --- torch.optim, where it means the same -----------------------------------------------------------------------------------


def compare_with_torch():
    import torch
    shape, betas = (5, 7), dict(beta1=0.9, beta2=0.999)
    z = (shape, 0)
    adams = dict(betas, epsilon=1e-30, weight_decay=0.1)  # PyTorch applies the correction before it adds epsilon
    theirs = dict(betas=(0.9, 0.999), eps=1e-30, weight_decay=0.1)
    optim = torch.optim
    pairs = [
        ('adam', [z, z], adams, optim.Adam, theirs),
        ('adam_amsgrad', [z] * 3, dict(adams, decoupled=1, correct_bias=1), optim.AdamW, dict(theirs, amsgrad=False)),
        ('radam', [z, z], adams, optim.RAdam, theirs), ('adamax', [z, z], dict(adams, maximize=1), optim.Adamax,
                                                        dict(theirs, maximize=True)),
        ('nadam', [z, z, ((1,), 1)], dict(adams, momentum_decay=4e-3), optim.NAdam, theirs),
        ('rmsprop_centered_momentum', [z] * 3, dict(alpha=0.9, epsilon=1e-8, weight_decay=0.1, momentum=0.9),
         optim.RMSprop, dict(alpha=0.9, eps=1e-8, weight_decay=0.1, momentum=0.9, centered=True)),
        ('rprop', [z, z], dict(eta_minus=0.5, eta_plus=1.2, smallest=1e-6, largest=50), optim.Rprop,
         dict(etas=(0.5, 1.2), step_sizes=(1e-6, 50))),
        ('adagrad', [(shape, 0.25)], dict(maximize=0, lr_decay=0.01, epsilon=1e-6, weight_decay=0.1), optim.Adagrad,
         dict(lr_decay=0.01, eps=1e-6, weight_decay=0.1, initial_accumulator_value=0.25)),
        ('adadelta', [z, z], dict(maximize=1, rho=0.9, epsilon=1e-6, weight_decay=0.1), optim.Adadelta,
         dict(rho=0.9, eps=1e-6, weight_decay=0.1, maximize=True)),
        ('asgd', [z], dict(maximize=0, lambd=0.1, alpha=0.75, t0=10, weight_decay=0.1), optim.ASGD,
         dict(lambd=0.1, alpha=0.75, t0=10, weight_decay=0.1)),
        ('sgd_momentum', [z], dict(nesterov=1, maximize=0, momentum=0.9, dampening=0, weight_decay=0.1), optim.SGD,
         dict(nesterov=True, momentum=0.9, weight_decay=0.1)),
    ]
    exact = lambda d: {k: v if k in INTEGERS or isinstance(v, bool) else tuple(map(single, v))
                       if isinstance(v, tuple) else single(v) for k, v in d.items()}
    for op, states, mine, theirs_class, settings in pairs:
        source = draws(1)
        p = torch.nn.Parameter(torch.tensor(tensor(source, shape) * 0.5))
        s = [np.full(dims, float(initial)) for dims, initial in states]
        q = p.detach().numpy().copy()
        optimizer = theirs_class([p], lr=1e-2, **exact(settings))
        worst = 0
        for t, g in enumerate(gradients(source, shape)):
            p.grad = torch.tensor(g)
            optimizer.step()
            if op == 'adam_amsgrad':
                s[2] = np.zeros(shape)
            q = globals()[op](q, s, g, 1e-2, t + 1, **exact(mine))
            worst = max(worst, np.abs(q - p.detach().numpy()).max())
        print(f'{op:28} {theirs_class.__name__:10} {worst:.1e}')


def main():
    all_cases()
    path = os.path.join(HERE, 'optimizers.golden')
    with open(path, 'w', encoding='ascii') as out:
        out.write('\n'.join(lines) + '\n')
    print(len(names), 'cases,', os.path.getsize(path), 'bytes')
    if '--torch' in sys.argv:
        compare_with_torch()


if __name__ == '__main__':
    main()

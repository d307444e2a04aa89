"""Random short programs of what moves elements about, on tensors of small extents, beside torch.

Every value is a small integer, so that results are equal to the last bit in any order of summation.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import torch
from torch.nn import functional

MOST_ELEMENTS = 3000
aten = torch.ops.aten
Value = tuple[str, torch.Tensor]


def type_of(value: torch.Tensor) -> str:
    """The type of a tensor as text."""
    return f"tensor<{''.join(f'{extent}x' for extent in value.shape)}f32>"


class Layouts:
    """One program: its text at the aten layer, its inputs, and what torch computes."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.arguments: list[Value] = []
        self.lines: list[str] = []
        self.values: list[Value] = []
        self.argument([self.choose.choice([1, 1, 2, 3]) for _ in range(self.choose.randint(1, 4))])
        for _ in range(self.choose.randint(2, 6)):
            made = self.choose.choice(STEPS)(self, *self._some_value())
            if made is not None:
                self.emit(*made)

    @property
    def inputs(self) -> list[np.ndarray]:
        """The arguments."""
        return [tensor.numpy() for _, tensor in self.arguments]

    @property
    def result(self) -> np.ndarray:
        """What the program computes."""
        return self.values[-1][1].numpy()

    def text(self) -> str:
        """The program."""
        arguments = ", ".join(f"{name}: {type_of(value)}" for name, value in self.arguments)
        name, value = self.values[-1]
        body = "\n  ".join([*self.lines, f"func.return {name} : {type_of(value)}"])
        return f"func.func @main({arguments}) -> ({type_of(value)}) {{\n  {body}\n}}\n"

    def argument(self, shape: list[int]) -> Value:
        """A new argument."""
        value = torch.from_numpy(self.numbers.integers(-4, 5, shape).astype(np.float32))
        self.arguments.append((f"%a{len(self.arguments)}", value))
        self.values.append(self.arguments[-1])
        return self.values[-1]

    def emit(self, call: str, value: torch.Tensor, *operands: torch.Tensor) -> Value | None:
        """The line of an op, unless its result is large."""
        if value.numel() > MOST_ELEMENTS:
            return None
        given = ", ".join(map(type_of, operands))
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = aten.{call} : ({given}) -> {type_of(value)}")
        self.values.append((name, value.contiguous()))
        return self.values[-1]

    def _some_value(self) -> Value:
        recent = self.values[-2:] if self.choose.random() < 0.8 else self.values
        return self.choose.choice(recent)

    def axis(self, value: torch.Tensor) -> int:
        """Some axis of a value that has one."""
        return self.choose.randrange(value.dim())

    def other(self, is_fitting: Callable[[torch.Tensor], bool]) -> Value:
        """Some value with a property."""
        return self.choose.choice([found for found in self.values if is_fitting(found[1])])


Made = tuple[object, ...] | None
Step = Callable[[Layouts, str, torch.Tensor], Made]


def _permute(p: Layouts, name: str, x: torch.Tensor) -> Made:
    order = p.choose.sample(range(x.dim()), x.dim())
    return f"permute.default({name}, {order})", x.permute(order), x


def _pad(p: Layouts, name: str, x: torch.Tensor) -> Made:
    if not x.dim():
        return None
    edges = [p.choose.choice([0, 0, 1, 1, 2, -1]) for _ in range(2 * min(x.dim(), 2))]
    try:
        value = functional.pad(x, edges, value=3.0)
    except RuntimeError:  # more is cut off than there is
        return None
    return f"constant_pad_nd.default({name}, {edges}, 3.0)", value, x


def _slice(p: Layouts, name: str, x: torch.Tensor) -> Made:
    if not x.numel() or not x.dim():
        return None
    axis = p.axis(x)
    start = p.choose.randrange(x.shape[axis])
    end, step = p.choose.randint(start + 1, x.shape[axis]), p.choose.randint(1, 2)
    value = aten.slice.Tensor(x, axis, start, end, step)
    return f"slice.Tensor({name}, {axis}, {start}, {end}, {step})", value, x


def _reshape(p: Layouts, name: str, x: torch.Tensor) -> Made:
    rest = x.numel()
    if not rest:
        return None
    shape: list[int] = []
    while len(shape) < 3 and rest > 1:
        shape.append(p.choose.choice([f for f in range(1, rest + 1) if rest % f == 0]))
        rest //= shape[-1]
    shape.append(rest)
    if p.choose.random() < 0.5:
        shape.insert(p.choose.randrange(len(shape) + 1), 1)
    return f"reshape.default({name}, {shape})", x.reshape(shape), x


def _unsqueeze(p: Layouts, name: str, x: torch.Tensor) -> Made:
    if x.dim() > 3:
        return None
    axis = p.choose.randrange(x.dim() + 1)
    return f"unsqueeze.default({name}, {axis})", x.unsqueeze(axis), x


def _select(p: Layouts, name: str, x: torch.Tensor) -> Made:
    if not x.dim() or not x.numel():
        return None
    axis = p.axis(x)
    index = p.choose.randrange(x.shape[axis])
    return f"select.int({name}, {axis}, {index})", x.select(axis, index), x


def _flip(p: Layouts, name: str, x: torch.Tensor) -> Made:
    if not x.dim():
        return None
    axis = p.axis(x)
    return f"flip.default({name}, [{axis}])", x.flip(axis), x


def _roll(p: Layouts, name: str, x: torch.Tensor) -> Made:
    if not x.dim():
        return None
    axis, shift = p.axis(x), p.choose.randint(-1, 2)
    return f"roll.default({name}, [{shift}], [{axis}])", x.roll(shift, axis), x


def _expand(p: Layouts, name: str, x: torch.Tensor) -> Made:
    shape = [p.choose.choice([1, 2, 3]) if e == 1 else e for e in x.shape]
    return f"expand.default({name}, {shape})", x.expand(shape), x


def _neg(p: Layouts, name: str, x: torch.Tensor) -> Made:
    return f"neg.default({name})", x.neg(), x


def _add(p: Layouts, name: str, x: torch.Tensor) -> Made:
    def fits(y: torch.Tensor) -> bool:
        return y.dim() == x.dim() and all(
            a == b or 1 in (a, b) for a, b in zip(x.shape, y.shape, strict=True)
        )

    other, y = p.other(fits)
    return f"add.Tensor({name}, {other})", x + y, x, y


def _cat(p: Layouts, name: str, x: torch.Tensor) -> Made:
    if not x.dim():
        return None
    axis = p.axis(x)

    def fits(y: torch.Tensor) -> bool:
        pairs = zip(x.shape, y.shape, strict=False)
        return y.dim() == x.dim() and all(d == axis or a == b for d, (a, b) in enumerate(pairs))

    other, y = p.other(fits)
    return f"cat.default([{name}, {other}], dim = {axis})", torch.cat([x, y], axis), x, y


def _sum(p: Layouts, name: str, x: torch.Tensor) -> Made:
    if not x.dim():
        return None
    axis, keeps = p.axis(x), p.choose.random() < 0.5
    kept = ", keepdim = true" if keeps else ""
    return f"sum.dim_IntList({name}, [{axis}]{kept})", x.sum(axis, keepdim=keeps), x


def _mm(p: Layouts, name: str, x: torch.Tensor) -> Made:
    if x.dim() != 2:
        return None
    other, y = p.argument([x.shape[1], p.choose.randint(1, 4)])
    return f"mm.default({name}, {other})", x @ y, x, y


def _pool(p: Layouts, name: str, x: torch.Tensor) -> Made:
    if x.dim() not in (3, 4) or not x.numel():
        return None
    window = [p.choose.randint(1, 3) for _ in range(2)]
    step = [p.choose.randint(1, 2) for _ in range(2)]
    edges = [p.choose.randint(0, extent // 2) for extent in window]
    try:
        value = functional.max_pool2d(x, window, step, edges)
    except RuntimeError:  # the window is larger than the image
        return None
    return f"max_pool2d.default({name}, {window}, {step}, {edges})", value, x


def _convolution(p: Layouts, name: str, x: torch.Tensor) -> Made:
    if x.dim() not in (3, 4) or not 0 < x.numel() < 200:
        return None
    spatial = x.dim() - 2
    window, edges, step, holes = (
        [p.choose.randint(low, high) for _ in range(spatial)]
        for low, high in ((1, 3), (0, 2), (1, 2), (1, 2))
    )
    is_transposed = p.choose.random() < 0.3
    groups = 1 if is_transposed or p.choose.random() < 0.7 else x.shape[1]
    channels = p.choose.randint(1, 3) * groups
    shape = [x.shape[1], channels] if is_transposed else [channels, x.shape[1] // groups]
    other, weight = p.argument([*window, *shape])
    order = [*range(spatial, spatial + 2), *range(spatial)]
    turned = p.emit(f"permute.default({other}, {order})", weight.permute(order), weight)
    assert turned is not None
    other, weight = turned
    options = (step, edges, holes, is_transposed, [0] * spatial, groups)
    try:
        value = aten.convolution(x, weight, None, *options)
    except RuntimeError:  # the window is larger than the image
        return None
    if not value.numel():
        return None
    words = ", ".join(str(option).lower() for option in options)
    return f"convolution.default({name}, {other}, none, {words})", value, x, weight


STEPS: tuple[Step, ...] = (
    *(_permute, _permute, _pad, _pad, _pad, _convolution, _convolution),
    *(_slice, _reshape, _unsqueeze, _select, _flip, _roll, _expand),
    *(_neg, _add, _cat, _sum, _mm, _pool),
)
"""What a step of a program may be; what fold-layout must look at hardest stands here twice."""

"""Why kernels stayed apart: reasons on `loop.kernel`s, for each the kernel that it is about.

Kernels have numbers, given by `fuse-kernels` and kept when kernels are merged, so that a reason
goes when the two that it is about become one after all. `explain_rest` names a reason for pairs
that no pass had looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, StringAttr
from xdsl.ir import Attribute, Block, Operation

from lamina.dialects.identity_cache import once_an_object
from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import UNSTRUCTURED_OPS, GenericOp, KernelOp, before_reshapes
from lamina.dialects.loop.labels import label_of
from lamina.dialects.loop.packing import is_packed
from lamina.dialects.loop.segments import array64

NOT_FUSED = "lamina.not_fused"
"""Attribute of a kernel: why it was not joined with others, an array of reasons."""
OTHERS = "lamina.not_fused_with"
"""Attribute of a kernel: the number of the other kernel of each reason, or -1."""
NUMBERS = "lamina.numbers"
"""Attribute of a kernel: its numbers, several if it was merged of several."""

Reason = tuple[int, str]
"""The number of the other kernel, -1 if it is not known, and what was said."""


def numbers_of(kernel: Operation) -> tuple[int, ...]:
    """The numbers of a kernel; none for one that was written by hand."""
    return _integers(kernel.attributes.get(NUMBERS))


def reasons_of(kernel: Operation) -> list[Reason]:
    """Why the kernel was not joined with others."""
    texts = reason_texts(kernel)
    others = _integers(kernel.attributes.get(OTHERS))
    return list(zip(others if len(others) == len(texts) else [-1] * len(texts), texts, strict=True))


def reason_texts(kernel: Operation) -> tuple[str, ...]:
    """Why the kernel was not joined with others, in words."""
    given = kernel.attributes.get(NOT_FUSED)
    if not isinstance(given, ArrayAttr):
        return ()
    return tuple(text.data for text in given if isinstance(text, StringAttr))


def set_reason_texts(kernel: Operation, texts: Sequence[str]) -> None:
    """Say why a kernel was not joined with others, or nothing of it."""
    kernel.attributes.pop(NOT_FUSED, None)
    if texts:
        kernel.attributes[NOT_FUSED] = _attribute(*texts)


@lru_cache(maxsize=1024)
def _attribute(*texts: str) -> Attribute:
    return ArrayAttr(map(StringAttr, texts))


def set_numbers(kernel: Operation, numbers: Iterable[int]) -> None:
    """Give a kernel its numbers."""
    kept = sorted(set(numbers))
    if kept:
        kernel.attributes[NUMBERS] = array64(*kept)


def add_reasons(kernel: Operation, reasons: Iterable[Reason]) -> None:
    """Add to why a kernel stands apart, unless it is said already or about a part of itself."""
    own = set(numbers_of(kernel))
    kept = [r for r in dict.fromkeys((*reasons_of(kernel), *reasons)) if r[0] not in own]
    set_reason_texts(kernel, [text for _, text in kept])
    kernel.attributes.pop(OTHERS, None)
    if any(other >= 0 for other, _ in kept):
        others = [other for other, _ in kept]
        kernel.attributes[OTHERS] = array64(*others)


def take_reasons(kernel: Operation, parts: Sequence[Operation]) -> None:
    """Give a kernel that was merged of others their numbers, and their reasons that still hold."""
    set_numbers(kernel, (n for part in parts for n in numbers_of(part)))
    add_reasons(kernel, (r for part in parts for r in reasons_of(part)))


# Pairs that no pass has looked at


def explain_rest(block: Block) -> None:
    """Name a reason for each pair of a kernel and one that it reads from, or runs right behind.

    Kernels without numbers were written by hand, and are left as they are.
    """
    kernels = [op for op in block_ops(block) if isinstance(op, KernelOp) and numbers_of(op)]
    pairs = dict.fromkeys(pairwise(kernels))
    edges = ((maker, kernel) for kernel in kernels for maker, _ in _edges(kernel))
    pairs |= dict.fromkeys(pair for pair in edges if numbers_of(pair[0]))
    for earlier, later in pairs:
        if not (_is_said(earlier, later) or _is_said(later, earlier)):
            add_reasons(later, [(numbers_of(earlier)[0], _reason(earlier, later))])


def _is_said(one: KernelOp, other: KernelOp) -> bool:
    numbers = numbers_of(one)
    return any(about in numbers for about, _ in reasons_of(other))


def _edges(kernel: KernelOp) -> list[tuple[KernelOp, bool]]:
    """The kernels that make what a kernel reads, and whether through a reshape."""
    found: list[tuple[KernelOp, bool]] = []
    for value in kernel.inputs:
        root = before_reshapes(value)
        if isinstance(root.owner, KernelOp):
            found.append((root.owner, root is not value))
    return found


def _reason(earlier: KernelOp, later: KernelOp) -> str:
    through = [reshaped for maker, reshaped in _edges(later) if maker is earlier]
    sign = "->" if through else "|"
    why = _why(earlier, later, through)
    return f"{_label(earlier)} {sign} {_label(later)}: {why}"


def _why(earlier: KernelOp, later: KernelOp, through: list[bool]) -> str:
    ops = [op for kernel in (earlier, later) for op in block_ops(kernel.block)]
    alone = next((op for op in ops if isinstance(op, UNSTRUCTURED_OPS)), None)
    if alone is not None:
        return f"a {alone.name.removeprefix('loop.')} is a kernel of its own"
    shared = {before_reshapes(v) for v in earlier.inputs} & {
        before_reshapes(v) for v in later.inputs
    }
    if not through and not shared:
        return "they share no data"
    if through and all(through):
        return "a reshape between them has no linear index map"
    if _path_between(earlier, later):
        return "a third kernel runs between them"
    if any(is_packed(op) for op in ops):
        return "a product of packed operands shares only rows that it makes or reads"
    if any(isinstance(op, GenericOp) and 0 in op.extents for op in ops):
        return "one of them has nothing to compute"
    return "they walk what they share along different rows"


def _path_between(earlier: KernelOp, later: KernelOp) -> bool:
    """Whether a third op needs the one and is needed by the other."""
    waiting = [before_reshapes(v).owner for v in later.inputs]
    seen: set[object] = {earlier}
    while waiting:
        op = waiting.pop()
        if isinstance(op, Block) or op in seen:
            continue
        seen.add(op)
        made = [before_reshapes(v).owner for v in op.operands]
        if earlier in made:
            return True
        waiting += made
    return False


def _label(kernel: KernelOp) -> str:
    """The source ops of a kernel's last nest."""
    *_, last = [None, *block_ops(kernel.block)[:-1]]
    return "loop.kernel" if last is None else label_of(last)


@once_an_object
def _integers(attribute: object) -> tuple[int, ...]:
    if not isinstance(attribute, DenseArrayBase):
        return ()
    return tuple(int(n) for n in attribute.get_values())

"""What holds where sizes are equal that need not be: rules of ops are asked with numbers for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any, Protocol

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Operation, SSAValue

from lamina.dialects.schema.inference import infer_from
from lamina.dialects.schema.op import SchemaOp
from lamina.dialects.schema.result_rules.shapes import show
from lamina.dialects.sizes import Extent, Size, SizeName, UndecidedSizeError
from lamina.passes.contracts.loop_shapes import Shape, sized_type
from lamina.passes.refusal import invalid

UNKNOWN = DYNAMIC_INDEX
"""An extent of which nothing is known: data decide it, or no rule says it."""

_MOST_TRIED = 64
"""Choices of values that are tried to make two sizes equal."""


class KnownSizes(Protocol):
    """Shapes of tensors and values of integers, as far as they follow from sizes."""

    @property
    def shapes(self) -> Mapping[SSAValue, Shape]:
        """Those of tensors."""
        ...

    @property
    def numbers(self) -> Mapping[SSAValue, Extent]:
        """What integers are."""
        ...

    def seen(self, value: Any) -> Any:
        """A value as rules of ops see it."""
        ...


def try_equal(
    op: SchemaOp,
    known: KnownSizes,
    shapes: Sequence[Shape | None],
    apart: Extent,
    where: str,
) -> None:
    """Ask the rule with numbers for which `apart` is 0. Raises InputError if it says otherwise."""
    names = _names_of(op, known)
    for chosen in _zeros(apart):
        values = {name: name.range.some(place) for place, name in enumerate(names)}
        values.update(chosen)
        try:
            made = infer_from(op, lambda value, at=values: _at(known.seen(value), at))
        except ValueError as error:
            raise invalid(op, f"where {where}: {error}") from None
        found = [shape_in(kind) for kind in made or ()]
        wanted = [None if shape is None else _numbers(shape, values) for shape in shapes]
        if not all(map(_agree, found, wanted)):
            texts = " and ".join(show(shape) for shape in found if shape is not None)
            raise invalid(op, f"where {where} its result has shape {texts}; nothing else may")


def _agree(one: Shape | None, other: Shape | None) -> bool:
    """Whether shapes are the same as far as they are known."""
    if one is None or other is None or len(one) != len(other):
        return one == other
    return all(UNKNOWN in (a, b) or a == b for a, b in zip(one, other, strict=True))


def _names_of(op: Operation, known: KnownSizes) -> list[SizeName]:
    sizes: list[Extent] = []
    for operand in op.operands:
        sizes += known.shapes.get(operand, ())
        sizes += [known.numbers[operand]] if operand in known.numbers else []
    found = {name for size in sizes if isinstance(size, Size) for name in size.names}
    return sorted(found, key=lambda name: name.text)


def _zeros(apart: Extent) -> Iterable[Mapping[SizeName, int]]:
    """Values of names for which a size is 0; a few, if there are many."""
    if not isinstance(apart, Size):
        return
    solved, *others = sorted(apart.names, key=lambda name: name.text)
    choices = [[name.range.some(place) for place in range(4)] for name in others]
    for values in islice(product(*choices), _MOST_TRIED):
        chosen = dict(zip(others, values, strict=True))
        left = apart.at(chosen)
        for root in _roots(left, solved) if isinstance(left, Size) else ():
            if solved.range.holds(root):
                yield {**chosen, solved: root}


def _roots(left: Size, name: SizeName) -> Iterator[int]:
    """Values of the one name of a size for which it is 0: of the first few, where it has powers."""
    try:
        found = left.solve(0)
    except UndecidedSizeError:
        yield from (v for v in range(_MOST_TRIED) if left.at({name: v}) == 0)
    else:
        if found is not None:
            yield found[1]


def _at(seen: Any, values: Mapping[SizeName, int]) -> Any:
    if isinstance(seen, Size):
        return seen.at(values)
    shape = shape_in(seen)
    return seen if shape is None else sized_type(seen, _numbers(shape, values))


def _numbers(shape: Shape, values: Mapping[SizeName, int]) -> Shape:
    return tuple(e.at(values) if isinstance(e, Size) else e for e in shape)


def shape_in(kind: object) -> Shape | None:
    """The shape of a tensor type; None for what is none."""
    return tuple(kind.get_shape()) if isinstance(kind, TensorType) else None

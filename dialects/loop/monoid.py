"""Reductions over several values at once: a combining region and its identities.

`loop.generic` names the usual combiners (`add`, `max`, ...), monoids of one value. Any other is a
region that takes two tuples and yields one, beside the tuple that it leaves everything else
unchanged with. Results whose combiner is `combine` belong to these regions in order, to each as
many as it has identities:

```mlir
%v, %i = loop.generic (d0, d1) in [8, 64] reads(%x[d0, d1] : tensor<8x64xf32>)
    writes([d0] combine : tensor<8xf32>, [d0] combine : tensor<8xi32>) {
  ...
} combine(0xFF800000 : f32, 2147483647 : i32) {
^bb0(%a: f32, %i: i32, %b: f32, %j: i32):
  ...
  loop.yield %largest, %first : f32, i32
}
```

That the region is associative and commutative up to rounding, and that the identities are such, is
what the form declares: schedules join parts in any order. `runtime/interpreters/monoid_laws.py`
tries it on samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.dialects import arith
from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop.body_ops import YieldOp, yielded_by
from lamina.dialects.loop.special import SpecialOp

COMBINE = "combine"
"""The combiner of results that a region combines."""


@dataclass(frozen=True, eq=False)
class Monoid:
    """A combining region and its identities, one for each value of its tuples."""

    identities: tuple[Attribute, ...]
    region: Region

    @property
    def block(self) -> Block:
        """The block of the region, whose arguments are the left tuple, then the right one."""
        return self.region.block

    @property
    def yielded(self) -> tuple[SSAValue, ...]:
        """The values of the combined tuple."""
        return yielded_by(self.block)

    @property
    def ops(self) -> list[Operation]:
        """What the region computes, without its end."""
        return [op for op in block_ops(self.block) if not isinstance(op, YieldOp)]


class Reduction(NamedTuple):
    """Results of a nest that are reduced together, by number; `monoid` or a named combiner."""

    results: tuple[int, ...]
    combiner: str
    monoid: Monoid | None = None


def extreme_of(monoid: Monoid) -> str | None:
    """`max` or `min` of a monoid of a value and its place, which of equal values has the lower
    place; None for others."""
    ops, arguments = monoid.ops, monoid.block.args
    if len(ops) != 7 or len(arguments) != 4 or any(len(op.results) != 1 for op in ops):
        return None
    one, here, other, there = arguments
    beyond, same, lower, both, first, value, place = ops
    made = [op.results[0] for op in ops]
    wanted = (
        (one, other),
        (one, other),
        (here, there),
        (made[1], made[2]),
        (made[0], made[3]),
        (made[4], one, other),
        (made[4], here, there),
    )
    if any(tuple(op.operands) != reads for op, reads in zip(ops, wanted, strict=True)):
        return None
    kinds = (arith.AndIOp, arith.OrIOp, arith.SelectOp, arith.SelectOp)
    rest = zip((both, first, value, place), kinds, strict=True)
    if not all(isinstance(op, kind) for op, kind in rest) or monoid.yielded != tuple(made[5:]):
        return None
    relations = tuple(map(_relation, (beyond, same, lower)))
    found = {"ogt": "max", "sgt": "max", "olt": "min", "slt": "min"}
    return found.get(relations[0]) if relations[1:] in _SAME_AND_LOWER else None


_SAME_AND_LOWER = (("oeq", "slt"), ("eq", "slt"))


def _relation(op: Operation) -> str:
    if isinstance(op, arith.CmpfOp):
        return arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
    if isinstance(op, arith.CmpiOp):
        return arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
    return ""


def reductions(combiners: Sequence[str], monoids: Sequence[Monoid]) -> list[Reduction]:
    """The reductions of a nest in the order of their first results; stores are none."""
    together = [n for n, combiner in enumerate(combiners) if combiner == COMBINE]
    alone = enumerate(combiners)
    found = [Reduction((n,), name) for n, name in alone if name not in ("store", COMBINE)]
    for monoid in monoids:
        width = len(monoid.identities)
        found.append(Reduction(tuple(together[:width]), COMBINE, monoid))
        together = together[width:]
    return sorted(found, key=lambda entry: entry.results)


def identities_attribute(monoids: Sequence[Monoid]) -> ArrayAttr[ArrayAttr[Attribute]]:
    """The identities of each region, as a property holds them."""
    return ArrayAttr([ArrayAttr(monoid.identities) for monoid in monoids])


def verify_monoids(
    combiners: Sequence[str],
    identities: Sequence[Sequence[Attribute]],
    regions: Sequence[Region],
    elements: Sequence[Attribute],
    reduced: Sequence[frozenset[int]],
) -> None:
    """Check the combining regions of a nest with these results. Raises VerifyException.

    `elements` are the results' types, `reduced` the dimensions that each leaves out.
    """
    numbers = [n for n, combiner in enumerate(combiners) if combiner == COMBINE]
    widths = [len(entry) for entry in identities]
    if len(widths) != len(regions) or 0 in widths or sum(widths) != len(numbers):
        raise VerifyException(
            f"loop.generic: {len(regions)} combining regions with {sum(widths)} identities for "
            f"{len(numbers)} results with the combiner '{COMBINE}'"
        )
    for given, region in zip(identities, regions, strict=True):
        own, numbers = numbers[: len(given)], numbers[len(given) :]
        _verify_region(given, region, [elements[n] for n in own])
        if len({reduced[n] for n in own}) > 1:
            raise VerifyException(
                "loop.generic: results that are combined together are reduced over the same dims"
            )


def _verify_region(given: Sequence[Attribute], region: Region, kinds: list[Attribute]) -> None:
    for number, (identity, kind) in enumerate(zip(given, kinds, strict=True)):
        if not isinstance(identity, FloatAttr | IntegerAttr) or identity.type != kind:
            raise VerifyException(
                f"loop.generic: identity {number} is {identity}, the result holds {kind}"
            )
    block, wanted = region.block, ", ".join(map(str, kinds))
    if [argument.type for argument in block.args] != kinds * 2:
        raise VerifyException(
            f"loop.generic: a combining region takes two tuples of ({wanted}), got "
            f"({', '.join(str(argument.type) for argument in block.args)})"
        )
    end = block.last_op
    if not isinstance(end, YieldOp) or [value.type for value in end.values] != kinds:
        raise VerifyException(f"loop.generic: a combining region yields ({wanted})")
    for op in block.ops:
        if not op.name.startswith(("arith.", "math.")) and not isinstance(op, YieldOp | SpecialOp):
            raise VerifyException(
                f"loop.generic: {op.name} in a combining region, which holds arith and math alone"
            )
        if any(_block_of(value) is not block for value in op.operands):
            raise VerifyException(
                "loop.generic: a combining region sees its own values alone, it is isolated"
            )


def _block_of(value: SSAValue) -> Block | None:
    return value.owner.parent if isinstance(value.owner, Operation) else value.owner


def join_body(kinds: Sequence[Attribute]) -> Region:
    """The body of a nest that joins partial results: it yields what it reads."""
    block = Block(arg_types=kinds)
    block.add_op(YieldOp(list(block.args)))
    return Region(block)


def kept_monoids(
    combiners: Sequence[str], monoids: Sequence[Monoid], kept: Sequence[int]
) -> list[Monoid]:
    """The regions of a nest that has only these of its results."""
    return [
        entry.monoid
        for entry in reductions(combiners, monoids)
        if entry.monoid is not None and set(entry.results) & set(kept)
    ]


def needed_together(
    combiners: Sequence[str], monoids: Sequence[Monoid], wanted: Sequence[int]
) -> list[int]:
    """These results, and those that are reduced together with one of them, in order."""
    groups = [set(entry.results) for entry in reductions(combiners, monoids)]
    needed = set(wanted).union(*(group for group in groups if group & set(wanted)))
    return sorted(needed)


def left_out(maps: Sequence[AffineMap], extents: Sequence[int]) -> list[frozenset[int]]:
    """The dimensions longer than 1 that each map leaves out."""
    wide = {d for d, extent in enumerate(extents) if extent != 1}
    return [frozenset(wide - index_map.used_dims()) for index_map in maps]


# Text


def print_monoids(printer: Printer, monoids: Sequence[Monoid]) -> None:
    """Print ` combine(identities) { region }` for each."""
    for monoid in monoids:
        printer.print_string(f" {COMBINE}(")
        printer.print_list(monoid.identities, printer.print_attribute)
        printer.print_string(") ")
        printer.print_region(monoid.region, print_empty_block=False)


def parse_monoids(parser: Parser) -> list[Monoid]:
    """Parse what `print_monoids` prints."""
    found: list[Monoid] = []
    while parser.parse_optional_keyword(COMBINE):
        given = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_attribute)
        found.append(Monoid(tuple(given), parser.parse_region()))
    return found


__all__ = [
    "COMBINE",
    "Monoid",
    "Reduction",
    "identities_attribute",
    "join_body",
    "kept_monoids",
    "left_out",
    "needed_together",
    "parse_monoids",
    "print_monoids",
    "reductions",
    "verify_monoids",
]

"""`limit-reads`: indirect reads of a table whose rows come with the call end at that number.

`bound-dynamic-shapes` makes places that are not below the size of a padded dimension its bound,
which the check of the read refuses, and those of padding 0. Followed through the nests that do so,
these choices say how far a table is read: `loop.read %table[%i below %n, %j]`. The read then checks
that itself, so that what is behind need not be there (`limit-arguments`), and nothing has to make
it (`limit-rows`). So it is where a place is computed and cannot be that far, as the least of a
position and `%n - 1` (`passes/loop/place_ends`).
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, ModuleOp, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass

from lamina.dialects.loop import GenericOp, ReadOp
from lamina.dialects.loop.access import shape_of
from lamina.dialects.loop.open_nests import is_open
from lamina.dialects.op_list import instances_under
from lamina.passes.defined_functions import defined_functions
from lamina.passes.loop.loop_rewriting import rebuild
from lamina.passes.loop.refused_places import end_of_index


class LimitReadsPass(ModulePass):
    """Note on indirect reads at which numbers of the call their indices end."""

    name = "limit-reads"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            for nest in instances_under(function, GenericOp):
                if nest.sources and not is_open(nest):
                    _limit(nest)


def _limit(nest: GenericOp) -> None:
    found: dict[ReadOp, list[SSAValue | None]] = {}
    for read in [op for op in nest.block.ops if isinstance(op, ReadOp) and not op.limits]:
        ends = [
            end_of_index(index, nest, extent) if extent else None
            for index, extent in zip(read.indices, shape_of(read.source), strict=True)
        ]
        if any(end is not None for end in ends):
            found[read] = ends
    if not found:
        return
    reads = nest.reads
    numbers: dict[SSAValue, SSAValue] = {}
    first = nest.block.first_op
    assert first is not None
    for count in dict.fromkeys(end for ends in found.values() for end in ends if end is not None):
        argument = nest.block.insert_arg(i64, len(reads))
        reads.append((count, AffineMap(len(nest.extents), 0, ()), None))
        cast = arith.IndexCastOp(argument, IndexType())
        nest.block.insert_op_before(cast, first)
        numbers[count] = cast.result
    for read, ends in found.items():
        limits = [None if end is None else numbers[end] for end in ends]
        made = ReadOp(read.source, list(read.indices), limits)
        made.attributes.update(read.attributes)
        made.location = read.location
        nest.block.insert_op_before(made, read)
        read.result.replace_all_uses_with(made.result)
        nest.block.erase_op(read)
    rebuild(nest, reads=reads)

"""Which elements of a program's values follow from what stands behind an argument's elements.

Callers pass memory for more than a call has (`lamina.counts`), and nobody knows what is there: any
float, NaN too. A program gives the same results whatever it is, so that none of these depends on a
float that arithmetic makes of such elements alone, and it need not be computed. So rows of a
product end at what counts though its reader looks them up, or begins its windows in front of them.

As LLVM's `undef`. Not so of what says where to read, or whether to fail (`decisive_operands`):
there a number in padding has to be a legal one, which a kernel in front may have made of anything.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from xdsl.dialects import arith, func, math
from xdsl.dialects.builtin import AnyFloat, ArrayAttr, DictionaryAttr, StringAttr
from xdsl.ir import BlockArgument, Operation, SSAValue

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, ReadOp, SpecialOp, YieldOp
from lamina.dialects.loop.access import row_major_strides, shape_of
from lamina.dialects.op_effects import is_free_of_effects
from lamina.passes.contracts.argument_numbers import COUNTS
from lamina.passes.fusion.element_limits import Demand, Limit, Points, Reach
from lamina.passes.fusion.masked_points import MaskedPoints

NOTHING: Points = frozenset()

_GIVE_NAN = (
    arith.AddfOp,
    arith.SubfOp,
    arith.MulfOp,
    arith.DivfOp,
    arith.NegfOp,
    arith.MaximumfOp,
    arith.MinimumfOp,
    arith.ExtFOp,
    arith.TruncFOp,
    SpecialOp,
)
"""Of a NaN they make NaN, so that what they make of any float is no known number. So do functions
of `math` that give floats, but for powers."""
_POWERS = (math.FPowIOp, math.PowFOp)

_COMBINERS = ("store", "add", "mul", "max", "min")
"""So do they."""


def undefined_arguments(function: func.FuncOp) -> dict[SSAValue, Demand]:
    """For each float argument limits outside of which its elements are whatever a caller left."""
    if function.arg_attrs is None:
        return {}
    arguments = function.body.block.args
    entries = [e.data if isinstance(e, DictionaryAttr) else {} for e in function.arg_attrs.data]
    names = {entry.get("lamina.name"): a for entry, a in zip(entries, arguments, strict=True)}
    found: dict[SSAValue, Demand] = {}
    for entry, argument in zip(entries, arguments, strict=True):
        counts = entry.get(COUNTS)
        if not isinstance(counts, ArrayAttr) or not _is_float(argument):
            continue
        shape = shape_of(argument)
        found[argument] = frozenset(
            Limit(stride, extent, Reach(names[count]))
            for count, stride, extent in zip(counts, row_major_strides(shape), shape, strict=True)
            if count != StringAttr("") and count in names and extent > 1
        )
    return found


def undefined_results(
    nest: GenericOp,
    known: Mapping[SSAValue, Demand],
    within: MaskedPoints,
    prefixes: Collection[SSAValue],
) -> dict[SSAValue, Demand]:
    """The same of the results of a nest, by what is known of its operands.

    `prefixes` are masks that are true at all elements within the limits that `within` has of them.
    """
    if not any(value in known for value in nest.inputs):
        return {}
    body = _UndefinedBody(nest, known, within, prefixes)
    found: dict[SSAValue, Demand] = {}
    pairs = zip(nest.res, nest.write_maps, nest.combiner_names, nest.yielded, strict=False)
    for result, index_map, combiner, value in pairs:
        if combiner not in _COMBINERS or not _is_float(result):
            continue
        limits = within.touched(result, index_map).limits(body.at(value))
        if limits:
            found[result] = limits
    return found


class _UndefinedBody:
    """Of values of a nest's body: limits outside of which they are undefined."""

    def __init__(
        self,
        nest: GenericOp,
        known: Mapping[SSAValue, Demand],
        within: MaskedPoints,
        prefixes: Collection[SSAValue],
    ) -> None:
        self._nest, self._within, self._prefixes = nest, within, prefixes
        self._known: dict[SSAValue, Points] = {}
        reads = zip(nest.block.args, nest.inputs, nest.read_maps, nest.pad_values, strict=False)
        for argument, value, index_map, pad in reads:
            limits = known.get(value)
            if limits and pad is None:
                self._known[argument] = within.touched(value, index_map).points(limits)

    def at(self, value: SSAValue) -> Points:
        """Limits outside of which a value is undefined; none where that is not known."""
        if value not in self._known:
            self._known[value] = self._made(value)
        return self._known[value]

    def _made(self, value: SSAValue) -> Points:
        op = value.owner
        if not isinstance(op, Operation) or op.parent is not self._nest.block:
            return NOTHING
        if isinstance(op, arith.SelectOp):
            return self._chosen(op)
        if isinstance(op, _GIVE_NAN) or _is_function(op):
            return NOTHING.union(*(self.at(operand) for operand in op.operands))
        return NOTHING

    def _chosen(self, op: arith.SelectOp) -> Points:
        """Undefined where both sides are. Where the left one is chosen of all positions below
        sizes, in other dimensions than a limit has, it is so outside of this one, too."""
        left, right = self.at(op.lhs), self.at(op.rhs)
        if not left or not self._within.is_all_of_truth(op.cond, self._prefixes):
            return left & right
        masked = {dim for p in self._within.truth(op.cond) for dim, _ in p.form.terms}
        apart = (p for p in left if not any(dim in masked for dim, _ in p.form.terms))
        return (left & right).union(apart)


def decisive_operands(nest: GenericOp, decisive: Sequence[bool]) -> set[SSAValue]:
    """The operands on which it depends where a nest reads, whether it fails, or what its `decisive`
    results are."""
    ops = block_ops(nest.block)
    end = ops[-1]
    assert isinstance(end, YieldOp)
    is_one = len(end.operands) == len(decisive)
    wanted: set[SSAValue] = {
        value
        for number, value in enumerate(end.operands)
        if (decisive[number] if is_one else any(decisive))
    }
    for op in reversed(ops[:-1]):
        if isinstance(op, ReadOp):
            wanted.update(op.operands if op.result in wanted else op.indices)
        elif any(result in wanted for result in op.results) or _may_fail(op):
            wanted.update(op.operands)
    values = (*nest.inputs, *nest.sources)
    places = (v.index for v in wanted if isinstance(v, BlockArgument) and v.block is nest.block)
    return {values[place] for place in places if place < len(values)}


def _is_function(op: Operation) -> bool:
    made = op.results[0].type if op.results else None
    return op.dialect_name() == "math" and isinstance(made, AnyFloat) and type(op) not in _POWERS


def _may_fail(op: Operation) -> bool:
    is_plain = op.dialect_name() == "arith" or is_free_of_effects(op)
    return bool(op.regions) or not is_plain


def _is_float(value: SSAValue) -> bool:
    return isinstance(getattr(value.type, "element_type", None), AnyFloat)

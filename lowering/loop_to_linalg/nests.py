"""`loop.generic` as `linalg.generic`: one for results that leave out the same dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from lamina.dialects.errors import UnsupportedError
from lamina.dialects.linalg import NAMED_OPS, RemFOp
from lamina.dialects.linalg import GenericOp as LinalgGenericOp
from lamina.dialects.linalg import IndexOp as LinalgIndexOp
from lamina.dialects.linalg import YieldOp as LinalgYieldOp
from lamina.dialects.loop import GenericOp, IndexOp, ReadOp, SpecialOp, YieldOp
from lamina.dialects.loop.identities import identity_value
from lamina.dialects.loop.linear import linear
from lamina.dialects.loop.monoid import COMBINE, Monoid
from lamina.dialects.records import mutable_record
from lamina.lowering.loop_to_linalg.reads import insert, operand_of
from lamina.lowering.loop_to_linalg.reshapes import reshaped
from lamina.lowering.prims_to_loop.table import Body
from lamina.lowering.scalar import is_float
from lamina.lowering.tensor_types import element_of
from lamina.lowering.upstream_text import signless
from lamina.passes.refusal import unsupported

_COMBINED: dict[str, tuple[Callable[..., Operation], Callable[..., Operation]]] = {
    "add": (arith.AddfOp, arith.AddiOp),
    "mul": (arith.MulfOp, arith.MuliOp),
    "max": (arith.MaximumfOp, arith.MaxSIOp),
    "min": (arith.MinimumfOp, arith.MinSIOp),
    "and": (arith.AndIOp, arith.AndIOp),
    "or": (arith.OrIOp, arith.OrIOp),
}
"""The ops of combiners, of floats and of integers."""


def nest_as_linalg(op: GenericOp) -> list[SSAValue]:
    """Ops in front of the nest; the values of its results."""
    extents = op.extents
    wide = {n for n, extent in enumerate(extents) if extent != 1}
    groups: dict[frozenset[int], list[int]] = {}
    for result, index_map in enumerate(op.write_maps):
        groups.setdefault(frozenset(wide - index_map.used_dims()), []).append(result)
    made: dict[int, SSAValue] = {}
    for left_out, results in groups.items():
        made.update(zip(results, _Part(op, results, left_out).made(), strict=True))
    return [made[result] for result in range(len(op.res))]


@mutable_record
class _Part:
    """Results of a nest that leave out the same dimensions."""

    op: GenericOp
    results: list[int]
    left_out: frozenset[int]

    def made(self) -> list[SSAValue]:
        """The ops in front of the nest; the values."""
        op, extents = self.op, self.op.extents
        pairs = [self._written(result) for result in self.results]
        written = [index_map for index_map, _ in pairs]
        begun = self._outs([shape for _, shape in pairs])
        if prod(extents) == 0:
            return self._collapsed(begun)
        values = [op.yielded[result] for result in self.results]
        needed = _needed(op.block, values)
        read = {operand for inner in needed for operand in inner.operands} | set(values)
        operands: list[SSAValue] = []
        maps: list[AffineMap] = []
        meant: list[SSAValue] = []
        arguments = op.block.args[: len(op.inputs)]
        reads = zip(arguments, op.inputs, op.read_maps, op.pad_values, strict=True)
        for argument, value, index_map, pad in reads:
            if argument not in read:
                continue
            operand, exprs = operand_of(op, value, index_map, pad, extents)
            operands.append(operand)
            maps.append(AffineMap(len(extents), 0, tuple(exprs)))
            meant.append(argument)
        bare = {
            expr.position
            for index_map in (*maps, *written)
            for expr in index_map.results
            if isinstance(expr, AffineDimExpr)
        }
        if missing := [n for n in range(len(extents)) if n not in bare]:
            operands.append(self._shape_of(missing))
            exprs = tuple(AffineExpr.dimension(n) for n in missing)
            maps.append(AffineMap(len(extents), 0, exprs))
        body = self._body(operands, begun, meant, needed, values)
        kinds = ["reduction" if n in self.left_out else "parallel" for n in range(len(extents))]
        made = LinalgGenericOp.build(
            operands=[operands, begun],
            result_types=[[value.type for value in begun]],
            properties={
                "indexing_maps": ArrayAttr(map(AffineMapAttr, (*maps, *written))),
                "iterator_types": ArrayAttr(map(StringAttr, kinds)),
            },
            regions=[[body]],
        )
        insert(op, made)
        return self._collapsed(list(made.res))

    def _collapsed(self, values: list[SSAValue]) -> list[SSAValue]:
        kinds = [self.op.res[result].type for result in self.results]
        return [
            reshaped(self.op, value, list(kind.get_shape()))  # pyright: ignore
            for value, kind in zip(values, kinds, strict=True)
        ]

    def _written(self, result: int) -> tuple[AffineMap, list[int]]:
        """The map of a result and its shape, with a dimension for each that an index is made of.

        `d0 * 3 + d1` is the place of (d0, d1) once the two dimensions are collapsed.
        """
        op, extents = self.op, self.op.extents
        index_map, exprs, shape = op.write_maps[result], list[AffineExpr](), list[int]()
        for expr, extent in zip(index_map.results, op.res[result].type.get_shape(), strict=True):  # pyright: ignore
            if isinstance(expr, AffineDimExpr):
                exprs.append(expr)
                shape.append(extent)
                continue
            found = linear(expr, extents)
            terms = [] if found is None else found.coefficients.items()
            size = 1
            parts: list[int] = []
            for dim, coefficient in sorted(terms, key=lambda term: term[1]):
                if extents[dim] == 1:
                    continue
                if coefficient != size:
                    raise self._refused(index_map)
                size *= extents[dim]
                parts.insert(0, dim)
            if found is None or size != extent:
                raise self._refused(index_map)
            exprs += [AffineExpr.dimension(dim) for dim in parts]
            shape += [extents[dim] for dim in parts]
            if not parts:
                exprs.append(AffineExpr.constant(0))
                shape.append(1)
        used = [e.position for e in exprs if isinstance(e, AffineDimExpr)]
        if len(set(used)) < len(used):
            raise self._refused(index_map)
        return AffineMap(len(extents), 0, tuple(exprs)), shape

    def _refused(self, index_map: AffineMap) -> UnsupportedError:
        return unsupported(
            self.op,
            f"writes at {index_map}, which is no permutation of dimensions",
            "results whose indices are dimensions of the domain",
        )

    def _shape_of(self, dims: Sequence[int]) -> SSAValue:
        """An operand that nobody reads, which says how long these dimensions are."""
        extents = [self.op.extents[n] for n in dims]
        element = self.op.res[0].type.element_type  # pyright: ignore
        return insert(self.op, tensor.EmptyOp([], TensorType(signless(element), extents)))

    # What was there before

    def _outs(self, shapes: Sequence[Sequence[int]]) -> list[SSAValue]:
        """Empty tensors for what is stored, and what combiners ignore for the others."""
        neutral = self._neutral()
        outs: list[SSAValue] = []
        for result, shape in zip(self.results, shapes, strict=True):
            kind = TensorType(element_of(self.op.res[result]), shape)
            out = insert(self.op, tensor.EmptyOp([], kind))
            if (begin := neutral.get(result)) is not None:
                constant = insert(self.op, arith.ConstantOp(signless(begin)))  # pyright: ignore
                if constant.type != kind.element_type:
                    constant = insert(self.op, arith.BitcastOp(constant, kind.element_type))  # pyright: ignore
                fill = NAMED_OPS["fill"].build(
                    operands=[[constant], [out]], result_types=[[kind]], regions=[[]]
                )
                out = insert(self.op, fill)
            outs.append(out)
        return outs

    def _neutral(self) -> dict[int, Attribute]:
        found: dict[int, Attribute] = {}
        for reduction in self.op.reductions:
            if reduction.monoid is not None:
                found.update(zip(reduction.results, reduction.monoid.identities, strict=True))
                continue
            (result,) = reduction.results
            element = self.op.res[result].type.element_type  # pyright: ignore
            found[result] = identity_value(reduction.combiner, element)
        return found

    # The body

    def _body(
        self,
        operands: Sequence[SSAValue],
        begun: Sequence[SSAValue],
        meant: Sequence[SSAValue],
        needed: Sequence[Operation],
        values: Sequence[SSAValue],
    ) -> Region:
        op = self.op
        elements = [v.type.element_type for v in (*operands, *begun)]  # pyright: ignore
        block = Block(arg_types=elements)
        inner = Body(block)
        known: dict[SSAValue, SSAValue] = dict(zip(meant, block.args, strict=False))
        sources = op.block.args[len(op.inputs) :]
        known.update(zip(sources, op.sources, strict=True))
        for one in needed:
            copy_op(op, inner, one, known)
        old = dict(zip(self.results, block.args[len(operands) :], strict=True))
        new = {result: known[value] for result, value in zip(self.results, values, strict=True)}
        yielded = dict(new)
        for reduction in op.reductions:
            if reduction.results[0] not in old:
                continue
            joined = self._joined(
                inner,
                reduction.combiner,
                reduction.monoid,
                [old[result] for result in reduction.results],
                [new[result] for result in reduction.results],
            )
            yielded.update(zip(reduction.results, joined, strict=True))
        block.add_op(LinalgYieldOp(*(yielded[result] for result in self.results)))
        return Region(block)

    def _joined(
        self,
        inner: Body,
        combiner: str,
        monoid: Monoid | None,
        old: list[SSAValue],
        new: list[SSAValue],
    ) -> list[SSAValue]:
        if combiner != COMBINE:
            kinds = _COMBINED[combiner]
            kind = kinds[0 if is_float(old[0].type) else 1]
            return [inner.add(kind(old[0], new[0]))]
        assert monoid is not None
        known: dict[SSAValue, SSAValue] = {}
        known.update(zip(monoid.block.args, (*old, *new), strict=True))
        for one in monoid.ops:
            copy_op(self.op, inner, one, known)
        return [known[value] for value in monoid.yielded]


def _needed(block: Block, values: Sequence[SSAValue]) -> list[Operation]:
    """The ops that these values are made of, in order."""
    wanted = {value.owner for value in values}
    needed: list[Operation] = []
    for op in reversed(list(block.ops)):
        if op in wanted and not isinstance(op, YieldOp):
            needed.append(op)
            wanted.update(operand.owner for operand in op.operands)
    return needed[::-1]


def copy_op(nest: Operation, inner: Body, op: Operation, known: dict[SSAValue, SSAValue]) -> None:
    """Copy one op of a nest's body into a body of linalg."""
    operands = [known[operand] for operand in op.operands]
    if isinstance(op, IndexOp):
        made: Operation = LinalgIndexOp(op.dim.value.data)
    elif isinstance(op, ReadOp):
        made = tensor.ExtractOp(
            operands[0], [known[index] for index in op.indices], element_of(operands[0])
        )
    elif isinstance(op, SpecialOp):
        if op.function.data != "fmod":
            raise unsupported(
                op,
                f'"{op.function.data}" is no function of arith or math ({nest.name})',
                "functions of arith and math",
            )
        made = RemFOp.build(operands=operands, result_types=[op.result.type])
    else:
        made = op.clone(dict(zip(op.operands, operands, strict=True)))
    inner.add(made)
    known.update(zip(op.results, made.results, strict=True))

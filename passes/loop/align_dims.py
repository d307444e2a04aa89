"""`align-dims`: a nest walks an axis as its neighbour does, so that their rows line up.

A convolution in groups writes channel `d0 * 4 + d1`, of group d0, and reads channel `d0 * 4 + d4`.
What pads its image and what adds its bias walk 128 channels as one dimension: no row of theirs is
one of the convolution's. Split in 32 x 4 they share the groups, and `fuse-kernels` makes one kernel
of all. The tensors between them get an axis for each part, and free reshapes stand in front of
other users.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import prod
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, OpResult, Use
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, ReshapeOp
from lamina.dialects.loop.access import Forms, forms_of, map_of, shape_of
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.packing import is_packed
from lamina.dialects.loop.pairs import copies_in_pairs
from lamina.dialects.records import record
from lamina.dialects.schema.result_rules.shapes import tensor
from lamina.passes.defined_functions import defined_functions
from lamina.passes.loop.loop_rewriting import rebuild
from lamina.passes.loop.split_dim import is_divisible, split_dim


class AlignDimsPass(ModulePass):
    """Split dimensions of nests as the nests that they hand tensors to or from walk them."""

    name = "align-dims"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            _Alignment(function.body.block).run()


@record
class _Access:
    """Where a nest touches a tensor: the index of each axis over the dimensions of the nest."""

    nest: GenericOp
    forms: Forms

    def dim(self, axis: int, extent: int) -> int | None:
        """The dimension that walks all of an axis alone."""
        form = self.forms[axis]
        dim = form.terms[0][0] if form.terms else 0
        return dim if form == Linear.dim(dim) and self.nest.extents[dim] == extent else None

    def parts(self, axis: int, extent: int) -> tuple[int, ...]:
        """The dimensions, outermost first, that walk all of an axis together; () if none do."""
        form = self.forms[axis]
        if len(form.terms) < 2 or form.constant:
            return ()
        terms = sorted(form.terms, key=lambda term: -term[1])
        extents = [self.nest.extents[dim] for dim, _ in terms]
        steps = [prod(extents[n + 1 :]) for n in range(len(extents))]
        if prod(extents) != extent:
            return ()
        return tuple(dim for dim, _ in terms) if steps == [step for _, step in terms] else ()


class _Alignment:
    """Splits dimensions of the nests of a block."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.split: set[GenericOp] = set()
        """Nests that have been split, which ask the same of those around them."""
        self.rebuilt: dict[GenericOp, GenericOp] = {}

    def run(self) -> None:
        """From readers to what they read, then to what else reads that."""
        nests = [op for op in block_ops(self.block) if isinstance(op, GenericOp)]
        for nest in (*reversed(nests), *nests):
            for number in range(len(nest.res)):
                if not _walk_sums(self._now(nest), number):
                    continue
                axis = 0
                while axis < len(shape_of(self._now(nest).res[number])):
                    self._align(self._now(nest), number, axis)
                    axis += 1

    def _now(self, nest: GenericOp) -> GenericOp:
        """What a nest has become."""
        while nest in self.rebuilt:
            nest = self.rebuilt[nest]
        return nest

    def _align(self, producer: GenericOp, number: int, axis: int) -> None:
        """Split an axis and the dimensions that walk it, where a nest walks its parts.

        One along which elements are neighbours stays: vectors run along it.
        """
        value = producer.res[number]
        extent, inner = shape_of(value)[axis], shape_of(value)[axis + 1 :]
        if prod(inner) < 2:
            return
        written = _access(producer, producer.write_maps[number])
        reads = [_read(use) for use in value.uses if _is_read(use)]
        if written is None or not reads or any(read is None for read in reads):
            return
        accesses = [written, *(read for read in reads if read is not None)]
        parts = next(
            (
                tuple(access.nest.extents[dim] for dim in dims)
                for access in accesses
                if (dims := access.parts(axis, extent)) and self._asks(access, dims[0], written)
            ),
            None,
        )
        if parts is None:
            return
        plan: dict[GenericOp, set[int]] = {}
        for access in accesses:
            dims = access.parts(axis, extent)
            plan.setdefault(access.nest, set())
            if tuple(access.nest.extents[dim] for dim in dims) == parts:
                continue
            dim = access.dim(axis, extent)
            if dim is None or not _can_split(access.nest, dim):
                return
            plan[access.nest].add(dim)
        if any(plan.values()):
            self._carry_out(plan, value, axis, parts)

    def _asks(self, access: _Access, outermost: int, written: _Access) -> bool:
        """Whether what walks an axis in parts gains from a neighbour that does so too.

        A reduction does whose outermost part is a row of it that shares no operand with others.
        The panels that a product reads are not made in a kernel with it.
        """
        nest = access.nest
        if nest in self.split:
            return True
        if nest.is_pointwise or outermost in nest.reduction_dims:
            return False
        if not all(outermost in index_map.used_dims() for index_map in nest.read_maps):
            return False
        return access is written or not is_packed(nest)

    def _carry_out(
        self,
        plan: Mapping[GenericOp, Collection[int]],
        value: OpResult,
        axis: int,
        parts: Sequence[int],
    ) -> None:
        """Rebuild the nests, first of them the producer, with dimensions and the axis split."""
        assert isinstance(value.type, TensorType)
        shape = list(shape_of(value))
        kind = tensor([*shape[:axis], *parts, *shape[axis + 1 :]], value.type.element_type)
        number, old, producer = value.index, value.type, value.owner
        for nest, dims in plan.items():
            new = nest
            for dim in sorted(dims, reverse=True):
                new = split_dim(new, dim, parts)
            if nest is producer:
                new = _retyped(new, axis, (), number, kind)
                value = new.res[number]
            else:
                reads = [n for n, given in enumerate(new.inputs) if given is value]
                new = _retyped(new, axis, reads, None, kind)
            self.rebuilt[nest] = new
            if dims or nest in self.split:
                self.split.add(new)
        if others := [use for use in value.uses if not _is_read(use)]:
            view = ReshapeOp(value, old)
            view.location = value.owner.location
            self.block.insert_op_after(view, value.owner)
            for use in others:
                use.operation.operands[use.index] = view.result


def _is_read(use: Use) -> bool:
    """Whether a use is a read of a nest by index map."""
    nest = use.operation
    return isinstance(nest, GenericOp) and use.index < len(nest.inputs)


def _walk_sums(nest: GenericOp, number: int) -> bool:
    """Whether some nest walks an axis of a result by several dimensions, as parts of it are.

    Of most tensors none does, and this is all that is asked of them.
    """
    forms = [forms_of(nest.write_maps[number], nest.extents)]
    for use in nest.res[number].uses:
        if _is_read(use):
            reader: Any = use.operation
            forms.append(forms_of(reader.read_maps[use.index], reader.extents))
    return any(len(form.terms) > 1 for axes in forms for form in axes or ())


def _read(use: Use) -> _Access | None:
    assert isinstance(use.operation, GenericOp)
    return _access(use.operation, use.operation.read_maps[use.index])


def _access(nest: GenericOp, index_map: AffineMap) -> _Access | None:
    forms = None if 0 in nest.extents else forms_of(index_map, nest.extents)
    return None if forms is None else _Access(nest, forms)


def _can_split(nest: GenericOp, dim: int) -> bool:
    """Whether a dimension of a nest may become several."""
    if is_packed(nest) or copies_in_pairs(nest) or dim in nest.reduction_dims:
        return False
    return is_divisible(nest)


def _retyped(
    nest: GenericOp, axis: int, reads: Collection[int], result: int | None, kind: TensorType
) -> GenericOp:
    """The nest with an axis of these reads, or of a result, that gets type `kind`, in parts."""

    def final(index_map: AffineMap) -> AffineMap:
        forms = forms_of(index_map, nest.extents)
        assert forms is not None
        terms = sorted(forms[axis].terms, key=lambda term: -term[1])
        parts = [Linear.dim(dim) for dim, _ in terms]
        return map_of([*forms[:axis], *parts, *forms[axis + 1 :]], len(nest.extents))

    inputs, outputs = enumerate(nest.read_maps), enumerate(nest.write_maps)
    return rebuild(
        nest,
        input_maps=[final(m) if n in reads else m for n, m in inputs],
        output_maps=[final(m) if n == result else m for n, m in outputs],
        result_types=[kind if n == result else r.type for n, r in enumerate(nest.res)],
    )

"""`choose-layouts`: the order of axes in which the results of nests are best stored.

A product of an activation and a constant, such as a convolution, wants the constant's columns
(output channels) innermost: they are then packed for good, and rows are read as they stand. The
wish spreads along the axes that nests walk with one dimension: through pointwise nests, windows,
sums, lookups along other axes, other products; and through reshapes that leave the axis alone. What
it spreads over is a region, which gets the layout if its products save more time than copies at its
ends take. If not, it may be worth while to read images as they are, such as one of few channels
that is masked: the wish then spreads to results of products only, not to what they read. The choice
is `lamina.layout`, an attribute of nests and reshapes that `apply-layouts` carries out; what stands
in the text stays.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field
from math import prod

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, UnitAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass

from lamina.codegen.roofline import Roofline
from lamina.codegen.target import Target
from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, ReshapeOp
from lamina.dialects.loop.access import is_contraction, shape_of
from lamina.dialects.loop.input_layouts import INPUT_LAYOUTS
from lamina.dialects.loop.nest_attributes import LAYOUT, LAYOUT_COPY, in_vectors
from lamina.dialects.loop.segments import array64, walked_dims
from lamina.dialects.loop.winograd import Windows
from lamina.dialects.records import mutable_record, record
from lamina.passes.cost.fusion_cost import value_bytes
from lamina.passes.cost.kernel_model import IMAGE_PANELS, JUMP_CYCLES
from lamina.passes.cost.product_limits import PANEL_VECTORS
from lamina.passes.cost.winograd_cost import seconds_saved
from lamina.passes.defined_functions import defined_functions
from lamina.passes.fusion.fusion_decisions import DecisionLog
from lamina.passes.loop.apply_layouts import moves_nothing, with_innermost
from lamina.passes.loop.looked_up import walked_axes
from lamina.passes.loop.packing import is_constant
from lamina.passes.loop.reshaped_axes import axis_beside
from lamina.passes.loop.widened_operands import multiplies_in_pairs
from lamina.passes.regions.region_functions import invariant_values


@dataclass(frozen=True)
class ChooseLayoutsPass(ModulePass):
    """Note on nests in which order the axes of their results are to be stored.

    `print_decisions` tells on stderr, for each region, what the layout saves and costs.
    """

    name = "choose-layouts"

    target: str = "host"
    print_decisions: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target, log = Target.parse(self.target), DecisionLog(self.name, self.print_decisions)
        invariants = invariant_values(op)
        for function in defined_functions(op):
            _Regions(function, invariants, target).choose(log)


@record
class _Product:
    """A product by a constant: the axis of its result that the constant's columns walk, the read of
    the other operand, and the axis of that with the channels (None where several walk them)."""

    column: int
    image: int
    channel: int | None


@mutable_record
class _Region:
    """What one wish has spread over: values, and seconds that the layout saves and costs."""

    values: list[SSAValue] = field(default_factory=list)
    saved: float = 0.0
    cost: float = 0.0
    copied: dict[GenericOp, SSAValue] = field(default_factory=dict)
    """Images of products that nobody makes in that layout, which a copy has."""

    @property
    def gains(self) -> bool:
        """Whether the layout saves more than it costs."""
        return self.saved > self.cost


class _Regions:
    """The regions of one function."""

    def __init__(
        self, function: func.FuncOp, invariants: Collection[SSAValue], target: Target
    ) -> None:
        self.nests = [op for op in block_ops(function.body.block) if isinstance(op, GenericOp)]
        self.target = target
        self.machine = Roofline.of(target)
        self.products: dict[GenericOp, _Product] = {}
        for nest in self.nests:
            if (product := _product(nest, invariants)) is not None:
                self.products[nest] = product
        self.inner: dict[SSAValue, int] = {}
        """The axis that is to be innermost."""

    def choose(self, log: DecisionLog) -> None:
        """Write the attribute on the nests of regions that gain."""
        regions: list[_Region] = []
        for nest, product in self.products.items():
            if nest.res[0] not in self.inner and not self._is_last(nest.res[0], product.column):
                regions.append(self._region_from(nest.res[0], product.column))
        for region in regions:
            if region.gains:
                for value in region.values:
                    self._note(value)
                for nest in region.copied:
                    self._note_copy(nest, self.products[nest])
            saved, cost = f"{region.saved * 1e6:.2f} us", f"{region.cost * 1e6:.2f} us"
            about = f"{len(region.values)} results, columns of products innermost"
            log.choice(f"{about}: saves {saved} of products, costs {cost}", chosen=region.gains)

    def _region_from(self, value: SSAValue, axis: int) -> _Region:
        """The region of a product's result; where it does not gain, without what products read,
        if that does."""
        before = dict(self.inner)
        region = self._spread_from(value, axis)
        self._estimate(region)
        if region.gains:
            return region
        whole, self.inner = self.inner, before
        behind = self._spread_from(value, axis, to_images=False)
        self._estimate(behind)
        if behind.gains:
            return behind
        self.inner = whole
        return region

    def _is_last(self, value: SSAValue, axis: int) -> bool:
        return axis == len(shape_of(value)) - 1

    def _spread_from(self, value: SSAValue, axis: int, *, to_images: bool = True) -> _Region:
        region, waiting = _Region(), deque([(value, axis)])
        while waiting:
            found, inner = waiting.popleft()
            if found in self.inner or not _is_made(found, inner):
                continue
            self.inner[found] = inner
            region.values.append(found)
            for op in (found.owner, *dict.fromkeys(use.operation for use in found.uses)):
                if isinstance(op, GenericOp):
                    waiting.extend(self._wanted_beside(op, found, to_images=to_images))
                elif isinstance(op, ReshapeOp) and (beside := axis_beside(op, found, inner)):
                    waiting.append(beside)
        return region

    def _wanted_beside(
        self, nest: GenericOp, value: SSAValue, *, to_images: bool
    ) -> list[tuple[SSAValue, int]]:
        """What a nest reads and writes beside `value`, with the axis that the same wish means."""
        if (product := self.products.get(nest)) is not None:
            wanted = [(nest.res[0], product.column)]
            if product.channel is not None and to_images:
                wanted.append((nest.inputs[product.image], product.channel))
            return wanted
        accesses = _accesses(nest)
        dims = {d for v, walked in accesses if v is value for d in walked[self.inner[value]]}
        wanted: list[tuple[SSAValue, int]] = []
        for other, walked in accesses:
            same = [axis for axis, used in enumerate(walked) if used & dims]
            if other is not value and len(same) == 1:
                wanted.append((other, same[0]))
        return wanted

    def _estimate(self, region: _Region) -> None:
        own = set(region.values)
        seen: dict[GenericOp, None] = {}
        for value in region.values:
            moves = not self._moves_nothing(value)
            for use in value.uses:
                if isinstance(use.operation, GenericOp):
                    seen[use.operation] = None
                elif moves and own.isdisjoint(use.operation.results):
                    region.cost += self._copy_seconds(value)
            if isinstance(value.owner, GenericOp):
                seen[value.owner] = None
            elif moves and own.isdisjoint(value.owner.operands):  # pyright: ignore - a reshape
                region.cost += self._copy_seconds(value)
        for nest in seen:
            product = self.products.get(nest)
            if product is not None:
                region.saved += self._saved(nest, product)
                self._weigh_tiles(region, nest, product)
            if product is not None and _columns_alone(nest, product):
                continue
            for other, _ in _accesses(nest):
                if other not in own and self._is_image(nest, other):
                    jumps = prod(shape_of(other))
                    region.cost += JUMP_CYCLES * jumps / self.target.clock_hz

    def _is_image(self, nest: GenericOp, value: SSAValue) -> bool:
        """Whether a tensor outside the region is as large as what the nest walks but for sums."""
        if any(value is result for result in nest.res):
            return False
        kept = prod(shape_of(nest.res[0]))
        return 2 * prod(shape_of(value)) > kept and len(shape_of(value)) > 1

    def _moves_nothing(self, value: SSAValue) -> bool:
        return moves_nothing(shape_of(value), self._order(value))

    def _order(self, value: SSAValue) -> list[int]:
        return with_innermost(self.inner[value], len(shape_of(value)))

    def _saved(self, nest: GenericOp, product: _Product) -> float:
        """Seconds that a product with constant panels saves, by how full panels are."""
        columns = _columns_alone(nest, product)
        if not columns or self._is_last(nest.res[0], product.column):
            return 0.0
        kind = nest.res[0].type.element_type  # pyright: ignore[reportAttributeAccessIssue]
        if not in_vectors(kind):
            return 0.0
        bits = kind.bitwidth  # pyright: ignore[reportAttributeAccessIssue]
        panel = PANEL_VECTORS * self.target.lanes(bits)
        line = shape_of(nest.res[0])[-1]
        steps = prod(nest.extents)
        full = self.machine.peak_flops * 32 / bits
        before = IMAGE_PANELS * steps / _filled(line, panel) / full
        after = steps / _filled(prod(nest.extents[d] for d in columns), panel) / full
        return before - after

    def _weigh_tiles(self, region: _Region, nest: GenericOp, product: _Product) -> None:
        """Add what Winograd's tiles save, which want channels of image and result innermost. An
        image that cannot be stored so is copied, if that takes less."""
        image, channel = nest.inputs[product.image], product.channel
        shape = Windows.of(nest)
        if shape is None or channel is None or self._is_last(nest.res[0], product.column):
            return
        in_pairs = multiplies_in_pairs(nest, self.target)
        saved = seconds_saved(shape, self.target, in_pairs=in_pairs)
        if self.inner.get(image) == channel or self._is_last(image, channel):
            region.saved += saved
        elif image not in self.inner and not _is_made(image, channel):
            copy = 0.0 if image in region.copied.values() else self._copy_seconds(image)
            if saved > copy:
                region.saved += saved
                region.cost += copy
                region.copied[nest] = image

    def _note(self, value: SSAValue) -> None:
        maker = value.owner
        assert isinstance(maker, GenericOp | ReshapeOp)
        if LAYOUT in maker.attributes or self._is_last(value, self.inner[value]):
            return
        if any(
            self.inner.get(result) != self.inner[value]
            or len(shape_of(result)) != len(shape_of(value))
            for result in maker.results
        ):
            return
        maker.attributes[LAYOUT] = array64(*self._order(value))
        if self._gains_by_copy(value):
            maker.attributes[LAYOUT_COPY] = UnitAttr()

    def _note_copy(self, nest: GenericOp, product: _Product) -> None:
        if LAYOUT not in nest.attributes or INPUT_LAYOUTS in nest.attributes:
            return
        layouts: list[Attribute] = [UnitAttr() for _ in nest.inputs]
        assert product.channel is not None
        rank = len(shape_of(nest.inputs[product.image]))
        layouts[product.image] = array64(*with_innermost(product.channel, rank))
        nest.attributes[INPUT_LAYOUTS] = ArrayAttr(layouts)

    def _gains_by_copy(self, value: SSAValue) -> bool:
        """Whether a product that makes what is no nest's alone had better be copied for that."""
        product = self.products.get(value.owner)  # pyright: ignore[reportArgumentType]
        if product is None or self._moves_nothing(value):
            return False
        if all(isinstance(use.operation, GenericOp) for use in value.uses):
            return False
        assert isinstance(value.owner, GenericOp)
        return self._saved(value.owner, product) > self._copy_seconds(value)

    def _copy_seconds(self, value: SSAValue) -> float:
        """Seconds that it takes to copy a value to another order of its axes."""
        size = 2 * value_bytes(value)
        return size / self.machine.bandwidth(size)


def _is_made(value: SSAValue, inner: int) -> bool:
    """Whether a value may be stored with an axis innermost: what a nest makes, or the reshape of
    such a value that leaves the axis alone."""
    maker = value.owner
    if not isinstance(maker, ReshapeOp):
        return isinstance(maker, GenericOp)
    return isinstance(maker.source.owner, GenericOp | ReshapeOp) and (
        axis_beside(maker, value, inner) is not None
    )


def _filled(columns: int, panel: int) -> float:
    """The part of the columns of panels that are columns of the result."""
    return columns / (-(-columns // panel) * panel)


def _walked(nest: GenericOp, number: int, *, written: bool = False) -> list[set[int]]:
    """For each axis of an access, the dimensions of several positions that walk it."""
    index_map = nest.write_maps[number] if written else nest.read_maps[number]
    extents = nest.extents
    return [{d for d in dims if extents[d] > 1} for dims in walked_dims(index_map)]


def _accesses(nest: GenericOp) -> list[tuple[SSAValue, list[set[int]]]]:
    reads = [(value, _walked(nest, number)) for number, value in enumerate(nest.inputs)]
    looked_up = [(value, walked_axes(nest, number)) for number, value in enumerate(nest.sources)]
    reads += [(value, walked) for value, walked in looked_up if walked]
    return reads + [(v, _walked(nest, n, written=True)) for n, v in enumerate(nest.res)]


def _columns_alone(nest: GenericOp, product: _Product) -> set[int]:
    """Dimensions of a product's columns that its image does not walk: none in depthwise ones."""
    column = _walked(nest, 0, written=True)[product.column]
    return column - set().union(*_walked(nest, product.image))


def _product(nest: GenericOp, invariants: Collection[SSAValue]) -> _Product | None:
    """What a sum of products by a constant is, if one axis of its result is the constant's."""
    if not is_contraction(nest) or 0 in nest.extents:
        return None
    constant = [is_constant(value, invariants) for value in nest.inputs]
    if constant[0] == constant[1]:
        return None
    image = constant.index(False)
    written = _walked(nest, 0, written=True)
    kept = set().union(*written)
    own = set().union(*_walked(nest, 1 - image)) & kept
    columns = [axis for axis, dims in enumerate(written) if dims and dims <= own]
    if len(columns) != 1:
        return None
    read = _walked(nest, image)
    groups = [axis for axis, dims in enumerate(read) if dims & own]
    sums = [
        (prod(nest.extents[d] for d in dims), axis)
        for axis, dims in enumerate(read)
        if dims and not dims & kept
    ]
    channel = None
    if len(groups) == 1:
        channel = groups[0]
    elif not groups and sums:
        channel = max(sums)[1]
    return _Product(columns[0], image, channel)


__all__ = ["ChooseLayoutsPass"]

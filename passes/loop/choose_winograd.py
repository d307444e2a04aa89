"""`choose-winograd`: which convolutions by 3x3 are computed by Winograd's F(2x2, 3x3).

It takes 4/9 of the multiplications, and sums in front and behind, whose results are four times as
large as image and result. Both ways are estimated (`passes/cost/winograd_cost.py`). The choice is
`lamina.winograd` of the nest, `"line"` or `"image"`, that `apply-winograd` carries out.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from lamina.codegen.target import Target
from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.labels import label_of
from lamina.dialects.loop.winograd import BY_IMAGE, BY_LINE, WINOGRAD, Windows
from lamina.passes.cost.winograd_cost import (
    direct_seconds,
    goes_by_lines,
    tiles_pay,
    winograd_seconds,
)
from lamina.passes.defined_functions import defined_functions
from lamina.passes.fusion.fusion_decisions import DecisionLog
from lamina.passes.loop.packing import is_constant
from lamina.passes.loop.widened_operands import multiplies_in_pairs
from lamina.passes.regions.region_functions import invariant_values


@dataclass(frozen=True)
class ChooseWinogradPass(ModulePass):
    """Note on convolutions by constant windows that they are to be computed by F(2x2, 3x3).

    `print_decisions` tells on stderr, for each that could be, what both ways take.
    """

    name = "choose-winograd"

    target: str = "host"
    print_decisions: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target, log = Target.parse(self.target), DecisionLog(self.name, self.print_decisions)
        invariants = invariant_values(op)
        for function in defined_functions(op):
            for nest in function.body.block.ops:
                if isinstance(nest, GenericOp):
                    _choose(nest, invariants, target, log)


def _choose(
    nest: GenericOp, invariants: Collection[SSAValue], target: Target, log: DecisionLog
) -> None:
    if WINOGRAD in nest.attributes:
        return
    shape = Windows.of(nest)
    if shape is None or not _has_channels_innermost(shape):
        return
    if not is_constant(nest.inputs[1 - shape.image], invariants):
        return
    direct = direct_seconds(shape, target, in_pairs=multiplies_in_pairs(nest, target))
    winograd = winograd_seconds(shape, target)
    chosen = tiles_pay(winograd, direct)
    if chosen:
        nest.attributes[WINOGRAD] = BY_LINE if goes_by_lines(shape, target) else BY_IMAGE
    took = f"F(2x2, 3x3) takes {winograd * 1e6:.2f} us, windows {direct * 1e6:.2f} us"
    log.choice(f"{label_of(nest)}: {took}", chosen=chosen)


def _has_channels_innermost(shape: Windows) -> bool:
    """Whether vectors run along channels of the image, and of the result."""
    image = {d for form in shape.image_forms for d, _ in form.terms}
    columns = {d for d, step in shape.result_forms[-1].terms if step == 1}
    last = len(shape.image_forms) - 1
    return last not in shape.image_axes and bool(columns) and not columns & image


__all__ = ["ChooseWinogradPass"]

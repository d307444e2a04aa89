"""`control.repeat`: a region runs a known number of times, each time with operands of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import IsolatedFromAbove, Pure
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.control.region_op import RegionOp
from lamina.dialects.op_accessors import op_definition

TIMES = "times"
"""Attribute: how many steps there are, an integer from 1 to `MOST_TIMES`."""

MOST_TIMES = 4096
"""Steps are written out, so that code grows with them; a scan is for more. Not measured."""


@op_definition
class RepeatOp(RegionOp):
    """The last carried values, then what each step gave, step by step.

    Each step has the carried values, which start with the operands `from`, its own of the operands
    `each`, which are those of the first step, then those of the second one, and the operands
    `with`. It yields the next carried values, and then what is a result of this step alone. Equal
    layers of a network are the usual case: `each` are their weights.

    ```mlir
    %r:3 = control.repeat from(%x) each(%w0, %w1) : (tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) attributes {times = 2 : i64} do {
    ^bb0(%a: tensor<f32>, %w: tensor<f32>):
      %s = aten.add.Tensor(%a, %w) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      control.yield %s, %s : tensor<f32>, tensor<f32>
    }
    ```
    """  # noqa: E501 - an op on one line

    name = "control.repeat"
    starts = var_operand_def()
    own = var_operand_def()
    inputs = var_operand_def()
    res = var_result_def()
    body_region = region_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(IsolatedFromAbove(), Pure())

    GROUPS: ClassVar[tuple[str, ...]] = ("from", "each", "with")
    REGIONS: ClassVar[tuple[str, ...]] = ("do",)

    def __init__(
        self,
        starts: Sequence[SSAValue],
        own: Sequence[SSAValue],
        inputs: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        body_region: Region,
        times: int | None = None,
    ) -> None:
        super().__init__(
            operands=[list(starts), list(own), list(inputs)],
            result_types=[list(result_types)],
            regions=[body_region],
        )
        if times is not None:
            self.attributes[TIMES] = IntegerAttr(times, 64)

    @property
    def times(self) -> int:
        """How many steps there are."""
        found = self.attributes[TIMES]
        assert isinstance(found, IntegerAttr)
        return found.value.data

    @property
    def groups(self) -> tuple[Sequence[SSAValue], ...]:
        """Carried values at the start; what steps have of their own; what is the same for all."""
        return tuple(self.starts), tuple(self.own), tuple(self.inputs)

    @property
    def own_operands(self) -> list[list[SSAValue]]:
        """What each step has of its own."""
        count = len(self.own) // self.times
        return [list(self.own[n * count : (n + 1) * count]) for n in range(self.times)]

    @property
    def own_results(self) -> list[list[SSAValue]]:
        """What each step gives behind the carried values."""
        given: list[SSAValue] = list(self.res[len(self.starts) :])
        count = len(given) // self.times
        return [given[n * count : (n + 1) * count] for n in range(self.times)]

    @classmethod
    def build_from(
        cls, groups: Sequence[Sequence[SSAValue]], types: Sequence[Attribute], regions: list[Region]
    ) -> Self:
        """The op of these parts; the number of steps is an attribute, which is to be copied."""
        (region,) = regions
        return cls(groups[0], groups[1], groups[2], types, region)

    def region_inputs(self) -> tuple[tuple[Attribute, ...], ...]:
        """Carried values, what a step has of its own, and what is the same for all."""
        values = (*self.starts, *self.own_operands[0], *self.inputs)
        return (tuple(value.type for value in values),)

    def region_results(self) -> tuple[tuple[Attribute, ...] | None, ...]:
        """The next carried values, and what a step gives of its own."""
        return (tuple(r.type for r in (*self.res[: len(self.starts)], *self.own_results[0])),)

    def verify_(self) -> None:
        times = self.attributes.get(TIMES)
        if not isinstance(times, IntegerAttr) or times.value.data < 1:
            raise VerifyException("control.repeat: 'times' is how many steps there are: 1 or more")
        if times.value.data > MOST_TIMES:
            raise VerifyException(
                f"control.repeat: {times.value.data} steps are written out, at most {MOST_TIMES}; "
                "a control.scan is for more"
            )
        if [r.type for r in self.res[: len(self.starts)]] != [v.type for v in self.starts]:
            raise VerifyException(
                "control.repeat: the first results must have the types of what is carried"
            )
        for word, values in (("each", self.own), ("results", self.res[len(self.starts) :])):
            if len(values) % self.times:
                raise VerifyException(
                    f"control.repeat: {len(values)} operands or results of single steps ({word}) "
                    f"for {self.times} steps"
                )
        for steps in (self.own_operands, self.own_results):
            kinds = [[value.type for value in step] for step in steps]
            if any(step != kinds[0] for step in kinds):
                raise VerifyException("control.repeat: steps differ in types of what is their own")
        super().verify_()

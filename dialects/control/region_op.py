"""What the ops of the `control` dialect share: groups of operands, and regions that see no more."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import DenseArrayBase, FunctionType, TensorType, i1, i32
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.op_accessors import op_definition

_SEGMENTS = "operandSegmentSizes"


@op_definition
class YieldOp(IRDLOperation):
    """Ends a region of a `control` op with what it gives: `control.yield %x : tensor<4xf32>`."""

    name = "control.yield"
    values = var_operand_def()
    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "($values^ `:` type($values))? attr-dict"

    def __init__(self, values: Sequence[SSAValue]) -> None:
        super().__init__(operands=[list(values)])

    def verify_(self) -> None:
        if not isinstance(self.parent_op(), RegionOp):
            raise VerifyException("control.yield ends regions of control ops only")


class RegionOp(IRDLOperation, ABC):
    """An op with groups of operands and regions of one block each, isolated from above.

    Its text is `name group(%a, %b) group(%c) : (operand types) -> (result types) region {...}`,
    where the words before groups and regions are those of the class, and empty groups are left out.
    """

    GROUPS: ClassVar[tuple[str, ...]]
    REGIONS: ClassVar[tuple[str, ...]]

    @property
    @abstractmethod
    def groups(self) -> tuple[Sequence[SSAValue], ...]:
        """The operands of each group."""

    @classmethod
    @abstractmethod
    def build_from(
        cls, groups: Sequence[Sequence[SSAValue]], types: Sequence[Attribute], regions: list[Region]
    ) -> Self:
        """The op of these parts. Raises ValueError if a group has too many or too few operands."""

    @abstractmethod
    def region_inputs(self) -> tuple[tuple[Attribute, ...], ...]:
        """The types of each region's arguments."""

    @abstractmethod
    def region_results(self) -> tuple[tuple[Attribute, ...] | None, ...]:
        """The types that each region yields; None for a region that yields a predicate."""

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The one block of each region."""
        return tuple(region.block for region in self.regions)

    def add_input(self, value: SSAValue) -> list[BlockArgument]:
        """Give every region one more operand that stays the same, behind the others; the argument
        of each region for it."""
        self._set_inputs([*self.groups[-1], value])
        return [block.insert_arg(value.type, len(block.args)) for block in self.blocks]

    def drop_input(self, place: int) -> None:
        """Take away an operand of the last group, whose arguments no region uses."""
        inputs = list(self.groups[-1])
        first = len(self.blocks[0].args) - len(inputs)
        for block in self.blocks:
            block.erase_arg(block.args[first + place])
        self._set_inputs([*inputs[:place], *inputs[place + 1 :]])

    def drop_unused(self, kinds: tuple[type[Attribute], ...]) -> None:
        """Take away operands of the last group of these kinds of types that no region uses."""
        first = len(self.blocks[0].args) - len(self.groups[-1])
        for place in reversed(range(len(self.groups[-1]))):
            arguments = [block.args[first + place] for block in self.blocks]
            is_one = isinstance(self.groups[-1][place].type, kinds)
            if is_one and not any(argument.first_use for argument in arguments):
                self.drop_input(place)

    def _set_inputs(self, values: Sequence[SSAValue]) -> None:
        """Put these in the place of the last group of operands."""
        kept = len(self.operands) - len(self.groups[-1])
        counts = self.properties.get(_SEGMENTS)
        if isinstance(counts, DenseArrayBase):
            numbers = [*counts.get_values()][:-1]
            self.properties[_SEGMENTS] = DenseArrayBase.from_list(i32, [*numbers, len(values)])  # pyright: ignore
        self.operands = [*self.operands[:kept], *values]

    def verify_(self) -> None:
        expected = zip(self.REGIONS, self.regions, self.region_inputs(), strict=True)
        for (word, region, inputs), results in zip(expected, self.region_results(), strict=True):
            if len(region.blocks) != 1:
                raise VerifyException(f"{self.name}: region '{word}' must have one block")
            self._verify_region(word, region.block, inputs, results)

    def _verify_region(
        self,
        word: str,
        block: Block,
        inputs: Sequence[Attribute],
        results: Sequence[Attribute] | None,
    ) -> None:
        if list(block.arg_types) != list(inputs):
            raise VerifyException(
                f"{self.name}: region '{word}' must take ({_listed(inputs)}), "
                f"it takes ({_listed(block.arg_types)})"
            )
        end = block.last_op
        if not isinstance(end, YieldOp):
            raise VerifyException(f"{self.name}: region '{word}' must end in control.yield")
        given = [value.type for value in end.values]
        if results is None:
            if len(given) != 1 or not is_predicate(given[0]):
                raise VerifyException(
                    f"{self.name}: region '{word}' must yield one boolean, "
                    f"it yields ({_listed(given)})"
                )
        elif given != list(results):
            raise VerifyException(
                f"{self.name}: region '{word}' must yield ({_listed(results)}), "
                f"it yields ({_listed(given)})"
            )

    def print(self, printer: Printer) -> None:
        for word, values in zip(self.GROUPS, self.groups, strict=True):
            if values:
                printer.print_string(f" {word}(")
                printer.print_list(values, printer.print_ssa_value)
                printer.print_string(")")
        printer.print_string(" : ")
        kinds = [v.type for values in self.groups for v in values]
        printer.print_attribute(FunctionType.from_lists(kinds, [r.type for r in self.results]))
        if self.attributes:
            printer.print_op_attributes(self.attributes, print_keyword=True)
        for word, region in zip(self.REGIONS, self.regions, strict=True):
            printer.print_string(f" {word} ")
            printer.print_region(region, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        at = parser.pos
        unresolved: list[list[UnresolvedOperand]] = []
        for word in cls.GROUPS:
            found = parser.parse_optional_keyword(word) is not None
            unresolved.append(
                parser.parse_comma_separated_list(
                    parser.Delimiter.PAREN, parser.parse_unresolved_operand
                )
                if found
                else []
            )
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        if not isinstance(kind, FunctionType):
            parser.raise_error("expected (operand types) -> (result types)", at)
        if len(kind.inputs) != sum(map(len, unresolved)):
            parser.raise_error(
                f"{sum(map(len, unresolved))} operands with {len(kind.inputs)} types", at
            )
        types = iter(kind.inputs)
        groups = [[parser.resolve_operand(o, next(types)) for o in group] for group in unresolved]
        attributes = parser.parse_optional_attr_dict_with_keyword()
        regions: list[Region] = []
        for word in cls.REGIONS:
            parser.parse_keyword(word)
            regions.append(parser.parse_region())
        try:
            op = cls.build_from(groups, list(kind.outputs), regions)
        except ValueError as error:
            parser.raise_error(str(error), at)
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op


def is_predicate(kind: Attribute) -> bool:
    """Whether a type is one boolean: `tensor<i1>`, or of more dimensions with one element."""
    return (
        isinstance(kind, TensorType)
        and kind.element_type == i1
        and all(extent in (1, -1) for extent in kind.get_shape())
    )


def _listed(types: Sequence[Attribute]) -> str:
    return ", ".join(map(str, types))

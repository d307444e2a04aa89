"""The ops of a `loop.generic` body besides arith and math: yield, index, indirect read."""

from collections.abc import Sequence
from itertools import pairwise

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    MemRefType,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    base,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.loop.segments import SEGMENTS, array64, integer64, segment_sizes
from lamina.dialects.op_accessors import op_definition
from lamina.dialects.plain_ops import init_plain

Shaped = TensorType | MemRefType

INDEX = IndexType()


def element_type(shaped: Attribute) -> Attribute:
    """The element type of a tensor or memref type."""
    assert isinstance(shaped, Shaped)
    return shaped.element_type


@op_definition
class YieldOp(IRDLOperation):
    """Ends the body of a `loop.generic` with one value for each write."""

    name = "loop.yield"
    values = var_operand_def()
    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "($values^ `:` type($values))? attr-dict"

    def __init__(self, values: Sequence[SSAValue]) -> None:
        init_plain(self, values)


def yielded_by(block: Block) -> tuple[SSAValue, ...]:
    """The values of the `loop.yield` that a block ends in."""
    terminator = block.last_op
    assert isinstance(terminator, YieldOp)
    return terminator.values  # pyright: ignore[reportReturnType] - a tuple


@op_definition
class IndexOp(IRDLOperation):
    """The position along one dimension of the enclosing domain: `%i = loop.index 1 : index`."""

    name = "loop.index"
    dim = prop_def(IntegerAttr)
    result = result_def(IndexType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)

    def __init__(self, dim: int) -> None:
        init_plain(self, (), (INDEX,), {"dim": integer64(dim)})

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.dim.value.data} : index")

    @classmethod
    def parse(cls, parser: Parser) -> "IndexOp":
        dim = parser.parse_integer(allow_negative=False)
        parser.parse_punctuation(":")
        parser.parse_type()
        return cls(dim)

    def verify_(self) -> None:
        parent = _nest_around(self)
        if parent is None:
            return
        domain = parent.properties["domain"]
        assert isinstance(domain, DenseArrayBase)
        if self.dim.value.data >= len(domain):
            raise VerifyException(
                f"loop.index {self.dim.value.data}: the domain has {len(domain)} dimensions"
            )


def _nest_around(op: Operation) -> Operation | None:
    """The nest in whose body an op stands, if it stands in one."""
    parent = op.parent_op()
    while parent is not None and "domain" not in parent.properties:
        parent = parent.parent_op()
    return parent


@op_definition
class SizeOp(IRDLOperation):
    """A size of the enclosing nest: `%n = loop.size 0 : index`, in its order (see `GenericOp`)."""

    name = "loop.size"
    place = prop_def(IntegerAttr)
    result = result_def(IndexType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)

    def __init__(self, place: int) -> None:
        init_plain(self, (), (INDEX,), {"place": integer64(place)})

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.place.value.data} : index")

    @classmethod
    def parse(cls, parser: Parser) -> "SizeOp":
        place = parser.parse_integer(allow_negative=False)
        parser.parse_punctuation(":")
        parser.parse_type()
        return cls(place)

    def verify_(self) -> None:
        nest = _nest_around(self)
        count = 0 if nest is None else len(getattr(nest, "sizes", ()))
        if nest is not None and self.place.value.data >= count:
            raise VerifyException(f"loop.size {self.place.value.data}: the nest has {count} sizes")


RUNS = "lamina.runs"
"""Of indirect reads: places are mostly neighbours, which are read at once (`expect-runs`)."""


@op_definition
class ReadOp(IRDLOperation):
    """An indirect read of a source inside a nest's body; indices are checked at run time.

    `%v = loop.read %table[%i, %j] : tensor<10x4xf32>`

    An index may have a limit, a number that comes with the call: `%table[%i below %n, %j]`. It is
    then below that number too, or 0 where that is less than 1. So rows of padding may look up
    place 0 of a table that has no rows, and nothing is touched behind those that there are.
    """

    name = "loop.read"
    source = operand_def(base(TensorType) | base(MemRefType))
    indices = var_operand_def(IndexType)
    limits = var_operand_def(IndexType)
    limited = prop_def(DenseArrayBase)
    """The numbers of the indices that have limits, in their order."""
    result = result_def()
    # Not speculatable past its check, but free of effects: an unused read may go.
    traits = traits_def(Pure())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        source: SSAValue,
        indices: Sequence[SSAValue],
        limits: Sequence[SSAValue | None] = (),
    ) -> None:
        """`limits` are, for each index, what it is below beside the extent, or None."""
        limited = [number for number, limit in enumerate(limits) if limit is not None]
        below = [limit for limit in limits if limit is not None]
        init_plain(
            self,
            [source, *indices, *below],
            [element_type(source.type)],
            {
                "limited": array64(*limited),
                SEGMENTS: segment_sizes(1, len(indices), len(below)),
            },
        )

    @property
    def limited_indices(self) -> tuple[int, ...]:
        """The numbers of the indices that have limits."""
        return tuple(self.limited.get_values())  # pyright: ignore

    @property
    def limit_of_each(self) -> list[SSAValue | None]:
        """For each index what it is below beside the extent, or None."""
        found: list[SSAValue | None] = [None] * len(self.indices)
        for number, limit in zip(self.limited_indices, self.limits, strict=True):
            found[number] = limit
        return found

    def verify_(self) -> None:
        assert isinstance(self.source.type, Shaped)
        if len(self.indices) != self.source.type.get_num_dims():
            raise VerifyException(
                f"loop.read gives {len(self.indices)} indices for {self.source.type}"
            )
        limited = list(self.limited_indices)
        rising = all(one < other for one, other in pairwise([-1, *limited, len(self.indices)]))
        if len(limited) != len(self.limits) or not rising:
            raise VerifyException(
                f"loop.read has {len(self.limits)} limits, which cannot be those of the indices "
                f"{limited} of {len(self.indices)}"
            )
        if self.result.type != self.source.type.element_type:
            raise VerifyException(f"loop.read of {self.source.type} gives {self.result.type}")
        if not isinstance(self.attributes.get(RUNS, UnitAttr()), UnitAttr):
            raise VerifyException(
                f"{RUNS} = {self.attributes[RUNS]}: it stands there alone, or not"
            )

    def print(self, printer: Printer) -> None:
        def print_index(index: tuple[SSAValue, SSAValue | None]) -> None:
            printer.print_ssa_value(index[0])
            if index[1] is not None:
                printer.print_string(" below ")
                printer.print_ssa_value(index[1])

        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        printer.print_string("[")
        printer.print_list(zip(self.indices, self.limit_of_each, strict=True), print_index)
        printer.print_string("]")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.source.type)

    @classmethod
    def parse(cls, parser: Parser) -> "ReadOp":
        def parse_index() -> tuple[SSAValue, SSAValue | None]:
            index = parser.resolve_operand(parser.parse_unresolved_operand(), IndexType())
            if parser.parse_optional_keyword("below") is None:
                return index, None
            return index, parser.resolve_operand(parser.parse_unresolved_operand(), IndexType())

        source = parser.parse_unresolved_operand()
        indices = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse_index)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        source_type = parser.parse_type()
        op = cls(
            parser.resolve_operand(source, source_type),
            [index for index, _ in indices],
            [limit for _, limit in indices],
        )
        op.attributes.update(attributes)
        return op


def out_of_range(extent: int, *, is_limited: bool = False) -> str:
    """The message of an index outside of a dimension; it may end at a number of the call."""
    end = "the size that the call gives the dimension" if is_limited else str(extent)
    return f"index out of range: must be at least 0 and below {end}"

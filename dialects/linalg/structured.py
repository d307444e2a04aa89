"""Ops of MLIR's `linalg` on tensors: all of one form, `ins`, `outs`, and a body or a name for one.

xDSL has classes for some of them, each with a part of the syntax. Here one class reads what MLIR
prints for any: attributes in front or behind, several results, bodies that are one op
(`linalg.map { arith.addf }`), `dimensions = [...]`, and MLIR's generic form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from xdsl.dialects.builtin import (
    I64,
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    DenseIntElementsAttr,
    IndexType,
    IntegerAttr,
    ShapedType,
    StringAttr,
    i32,
    i64,
)
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.dialects.utils import AbstractYieldOperation
from xdsl.ir import Attribute, Block, ParametrizedAttribute, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_attr_definition,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.linalg.named_ops_table import FORMS, Form
from lamina.dialects.linalg.structured_text import StructuredText, element_of
from lamina.dialects.op_accessors import op_definition

_SEGMENTS = "operandSegmentSizes"
_NOT_PRINTED = (_SEGMENTS, "indexing_maps", "iterator_types", "linalg.memoized_indexing_maps")


class _Word(ParametrizedAttribute):
    """An attribute that is one word: `#linalg.type_fn<cast_unsigned>`."""

    word: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        """`<word>`"""
        with parser.in_angle_brackets():
            return [StringAttr(parser.parse_identifier())]

    def print_parameters(self, printer: Printer) -> None:
        """`<word>`"""
        with printer.in_angle_brackets():
            printer.print_string(self.word.data)


@irdl_attr_definition
class TypeFnAttr(_Word):
    """How the operands of a product become of the result's type."""

    name = "linalg.type_fn"


@irdl_attr_definition
class ElementwiseKindAttr(_Word):
    """Which function `linalg.elementwise` is."""

    name = "linalg.elementwise_kind"


class StructuredOp(IRDLOperation):
    """A computation over the points that the index maps of its operands span.

    ```mlir
    %r = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x2xf32>)
        outs(%c : tensor<4x2xf32>) -> tensor<4x2xf32>
    ```
    """

    inputs = var_operand_def()
    outputs = var_operand_def()
    res = var_result_def()
    bodies = var_region_def("single_block")
    indexing_maps = opt_prop_def(ArrayAttr[AffineMapAttr])
    iterator_types = opt_prop_def(ArrayAttr)
    doc = opt_prop_def(StringAttr)
    library_call = opt_prop_def(StringAttr)
    strides = opt_prop_def(DenseArrayBase | DenseIntElementsAttr)
    dilations = opt_prop_def(DenseArrayBase | DenseIntElementsAttr)
    permutation = opt_prop_def(DenseArrayBase)
    dimensions = opt_prop_def(DenseArrayBase)
    dimension = opt_prop_def(IntegerAttr)
    kind = opt_prop_def(ElementwiseKindAttr)
    cast = opt_prop_def(TypeFnAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def create(
        cls,
        *,
        operands: Sequence[SSAValue] = (),
        result_types: Sequence[Attribute] = (),
        properties: Mapping[str, Attribute] | None = None,
        **others: Any,
    ) -> Self:
        """In MLIR's generic form not all of these ops say how many of the operands are outs."""
        given = dict(properties or {})
        if _SEGMENTS not in given and _SEGMENTS not in (others.get("attributes") or {}):
            outs = len(result_types)
            given[_SEGMENTS] = DenseArrayBase.from_list(i32, [len(operands) - outs, outs])
        return super().create(
            operands=operands, result_types=result_types, properties=given, **others
        )

    @property
    def form(self) -> Form:
        """How the op's text differs from that of others."""
        return FORMS.get(self.name, Form())

    @property
    def maps(self) -> tuple[AffineMap, ...] | None:
        """The index maps of inputs and outputs, if the text says them."""
        held = self.indexing_maps
        return None if held is None else tuple(entry.data for entry in held)

    @property
    def iterators(self) -> tuple[str, ...] | None:
        """`parallel` or `reduction` for each dimension, if the text says it."""
        if self.iterator_types is None:
            return None
        return tuple(_word(entry) for entry in self.iterator_types)

    @property
    def block(self) -> Block | None:
        """The body; None for an op whose name says it."""
        return self.bodies[0].block if self.bodies else None

    def numbers(self, name: str) -> list[int] | None:
        """A property that is a list of integers; None if the op has none of that name."""
        held = self.properties.get(name)
        if held is None:
            return None
        return [int(number) for number in held.get_values()]  # pyright: ignore

    def verify_(self) -> None:
        if not self.outputs:
            raise VerifyException(f"{self.name} has no outs")
        if self.res and len(self.res) != len(self.outputs):
            raise VerifyException(
                f"{self.name} gives {len(self.res)} results for {len(self.outputs)} outs"
            )
        for result, out in zip(self.res, self.outputs, strict=bool(self.res)):
            if result.type != out.type:
                raise VerifyException(f"{self.name}: out of {out.type} gives {result.type}")
        self._verify_maps()
        self._verify_body()

    def _verify_maps(self) -> None:
        maps, kinds = self.maps, self.iterators
        if not self.form.is_generic and maps is None:
            return
        if maps is None or (self.form.is_generic and kinds is None):
            raise VerifyException(f"{self.name} needs indexing_maps and iterator_types")
        if len(maps) != len(self.operands):
            raise VerifyException(
                f"{self.name}: {len(maps)} index maps for {len(self.operands)} operands"
            )
        for number, (operand, index_map) in enumerate(zip(self.operands, maps, strict=True)):
            rank = operand.type.get_num_dims() if isinstance(operand.type, ShapedType) else 0
            if len(index_map.results) != rank or index_map.num_symbols:
                raise VerifyException(
                    f"{self.name}: index map {number} is {index_map}, the operand {operand.type}"
                )
            if kinds is not None and index_map.num_dims != len(kinds):
                raise VerifyException(
                    f"{self.name}: index map {number} has {index_map.num_dims} dimensions, there "
                    f"are {len(kinds)} iterator types"
                )
        for kind in kinds or ():
            if kind not in ("parallel", "reduction"):
                raise VerifyException(f"{self.name}: there is no iterator type '{kind}'")

    def _verify_body(self) -> None:
        block = self.block
        if block is None:
            if self.form.is_generic or self.form.payload:
                raise VerifyException(f"{self.name} needs a body")
            return
        if not self.form.is_generic:
            return
        wanted = [element_of(operand.type) for operand in self.operands]
        given = [argument.type for argument in block.args]
        if wanted != given:
            raise VerifyException(
                f"{self.name}: the body takes ({', '.join(map(str, given))}), the operands hold "
                f"({', '.join(map(str, wanted))})"
            )
        end = block.last_op
        made = [element_of(out.type) for out in self.outputs]
        if not isinstance(end, YieldOp) or [value.type for value in end.operands] != made:
            raise VerifyException(
                f"{self.name}: the body must yield ({', '.join(map(str, made))}) by linalg.yield"
            )

    def print(self, printer: Printer) -> None:
        hidden = (*_NOT_PRINTED, self.form.behind or "")
        shown = {**self.properties, **self.attributes}
        extra = {name: value for name, value in shown.items() if name not in hidden}
        if self.form.is_generic:
            named = ("indexing_maps", "iterator_types")
            printer.print_op_attributes({name: self.properties[name] for name in named})
        elif self.indexing_maps is not None:
            printer.print_string(" indexing_maps = ")
            printer.print_attribute(self.indexing_maps)
        if "dimension" in extra:
            printer.print_string(f" dimension({self.properties['dimension'].value.data})")  # pyright: ignore
            del extra["dimension"]
        if "kind" in extra:
            printer.print_string(" kind=")
            printer.print_attribute(extra.pop("kind"))
        if not self.form.is_generic:
            printer.print_op_attributes(extra)
        _print_operands(printer, "ins", self.inputs)
        _print_operands(printer, "outs", self.outputs)
        if self.form.behind is not None:
            listed = ", ".join(map(str, self.numbers(self.form.behind) or []))
            printer.print_string(f" {self.form.behind} = [{listed}]")
        if self.form.is_generic and extra:
            printer.print_string(" attrs =")
            printer.print_op_attributes(extra)
        self._print_body(printer)
        if self.form.arrow and self.res:
            printer.print_string(" -> ")
            types = [result.type for result in self.res]
            if len(types) > 1:
                with printer.in_parens():
                    printer.print_list(types, printer.print_attribute)
            else:
                printer.print_attribute(types[0])

    def _print_body(self, printer: Printer) -> None:
        if self.form.is_generic:
            printer.print_string(" ")
            printer.print_region(self.bodies[0], print_empty_block=False)
        elif self.form.payload and self.bodies:
            printer.print_string(" ")
            with printer.in_parens():
                printer.print_list(self.bodies[0].block.args, printer.print_block_argument)
            printer.print_string(" ")
            printer.print_region(self.bodies[0], print_entry_block_args=False)

    @classmethod
    def parse(cls, parser: Parser) -> StructuredOp:
        form = FORMS.get(cls.name, Form())
        text = StructuredText(parser, form)
        text.read()
        declared = cls.get_irdl_definition().properties
        properties = {n: a for n, a in text.attributes.items() if n in declared}
        attributes = {n: a for n, a in text.attributes.items() if n not in declared}
        types = text.types
        if not form.arrow:
            types = [out.type for out in text.outputs]
        region = text.region
        if region is None and text.payload is not None:
            region = one_op_body(parser, text, form.payload == "init first")
        return cls.build(
            operands=[text.inputs, text.outputs],
            result_types=[types],
            properties=properties,
            attributes=attributes,
            regions=[[] if region is None else [region]],
        )


def one_op_body(parser: Parser, text: StructuredText, init_first: bool) -> Region:
    """The body of `linalg.map { arith.addf }` and `linalg.reduce { arith.addf }`."""
    ins = [element_of(value.type) for value in text.inputs]
    outs = [element_of(value.type) for value in text.outputs]
    block = Block(arg_types=[*ins, *outs])
    taken: list[SSAValue] = list(block.args)
    taken = [*taken[len(ins) :], *taken[: len(ins)]] if init_first else taken[: len(ins)]
    assert text.payload is not None
    kind = parser._get_op_by_name(text.payload)
    made = kind(*taken)
    made.attributes.update(text.payload_attributes)
    block.add_ops([made, YieldOp(*made.results)])
    return Region(block)


def _print_operands(printer: Printer, word: str, values: tuple[SSAValue, ...]) -> None:
    if not values:
        return
    printer.print_string(f" {word}(")
    printer.print_list(values, printer.print_ssa_value)
    printer.print_string(" : ")
    printer.print_list([value.type for value in values], printer.print_attribute)
    printer.print_string(")")


@op_definition
class GenericOp(StructuredOp):
    """`linalg.generic`: the maps and the body stand in the text."""

    name = "linalg.generic"


@op_definition
class YieldOp(AbstractYieldOperation[Attribute]):
    """What a body gives at each point, one value for each of `outs`."""

    name = "linalg.yield"
    traits = traits_def(IsTerminator())


@op_definition
class IndexOp(IRDLOperation):
    """The position along a dimension, in a body."""

    name = "linalg.index"
    dim = prop_def(IntegerAttr[I64])
    result = result_def(IndexType)
    assembly_format = "$dim attr-dict `:` type($result)"

    def __init__(self, dim: int) -> None:
        super().__init__(properties={"dim": IntegerAttr(dim, i64)}, result_types=[IndexType()])


def _word(entry: Attribute) -> str:
    """An iterator type, of an attribute of its own or of a string."""
    if isinstance(entry, IteratorTypeAttr):
        return str(entry.data.value)
    return entry.data if isinstance(entry, StringAttr) else str(entry)

"""Grouping and metadata ops of the structured loop level: `loop.kernel`, `loop.reshape`."""

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import ComplexType, IndexType, MemRefType, TensorType
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    base,
    operand_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import HasParent, IsolatedFromAbove, IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.op_accessors import op_definition
from lamina.dialects.plain_ops import init_plain

Shaped = TensorType | MemRefType


@op_definition
class KernelOp(IRDLOperation):
    """The loop nests that one native kernel computes.

    ```mlir
    %y = loop.kernel(%arg = %x : tensor<4x8xf32>) -> (tensor<4x8xf32>) {
      %m = loop.generic ...
      loop.return %m : tensor<4x8xf32>
    }
    ```
    """

    name = "loop.kernel"
    inputs = var_operand_def(TensorType)
    res = var_result_def(TensorType)
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), Pure())

    def __init__(
        self, inputs: Sequence[SSAValue], result_types: Sequence[Attribute], body: Region
    ) -> None:
        init_plain(self, inputs, result_types, regions=[body])

    @property
    def block(self) -> Block:
        return self.body.block

    @property
    def returned(self) -> Sequence[SSAValue]:
        """What `loop.return` gives, a value for each result."""
        end = self.block.last_op
        assert isinstance(end, ReturnOp)
        return end.values

    def verify_(self) -> None:
        if [v.type for v in self.inputs] != [a.type for a in self.block.args]:
            raise VerifyException("loop.kernel: body arguments must have the types of the inputs")
        terminator = self.block.last_op
        if not isinstance(terminator, ReturnOp):
            raise VerifyException("loop.kernel: the body must end in loop.return")
        if [v.type for v in terminator.values] != [r.type for r in self.res]:
            raise VerifyException("loop.kernel: loop.return must give the types of the results")
        from lamina.dialects.loop.kernel_contract import verify_kernel  # tools start without

        verify_kernel(self.block.ops)

    def print(self, printer: Printer) -> None:
        def print_input(pair: tuple[SSAValue, SSAValue]) -> None:
            printer.print_ssa_value(pair[0])
            printer.print_string(" = ")
            printer.print_ssa_value(pair[1])
            printer.print_string(" : ")
            printer.print_attribute(pair[1].type)

        printer.enter_scope()
        printer.print_string("(")
        printer.print_list(zip(self.block.args, self.inputs, strict=True), print_input)
        printer.print_string(") -> (")
        printer.print_list(self.res, lambda r: printer.print_attribute(r.type))
        printer.print_string(")")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)
        printer.exit_scope()

    @classmethod
    def parse(cls, parser: Parser) -> "KernelOp":
        def parse_input() -> tuple[Parser.Argument, SSAValue]:
            argument = parser.parse_argument(expect_type=False)
            parser.parse_punctuation("=")
            operand = parser.parse_unresolved_operand()
            parser.parse_punctuation(":")
            operand_type = parser.parse_type()
            return argument.resolve(operand_type), parser.resolve_operand(operand, operand_type)

        pairs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_input)
        parser.parse_punctuation("->")
        types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region([argument for argument, _ in pairs])
        op = cls([value for _, value in pairs], types, body)
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op


@op_definition
class ReturnOp(IRDLOperation):
    """Ends a `loop.kernel` with its results."""

    name = "loop.return"
    values = var_operand_def()
    traits = traits_def(IsTerminator(), HasParent(KernelOp), Pure())
    assembly_format = "($values^ `:` type($values))? attr-dict"

    def __init__(self, values: Sequence[SSAValue]) -> None:
        init_plain(self, values)


def _part(element: Attribute) -> Attribute:
    return element.element_type if isinstance(element, ComplexType) else element


def floats_of(kind: TensorType | MemRefType) -> int:
    """Elements, complex ones counted twice."""
    return prod(kind.get_shape()) * (2 if isinstance(kind.element_type, ComplexType) else 1)


@op_definition
class ReshapeOp(IRDLOperation):
    """The same elements in row-major order under another shape; costs nothing at run time.

    Complex numbers may be seen as pairs of floats in a last dimension of 2, and the other way
    around: `loop.reshape %z : tensor<4xcomplex<f32>> -> tensor<4x2xf32>`.

    Each `?` of the result has a value: `loop.reshape %x[%n] : tensor<?x4xf32> -> tensor<?xf32>`.
    """

    name = "loop.reshape"
    source = operand_def(base(TensorType) | base(MemRefType))
    sizes = var_operand_def(IndexType)
    result = result_def(base(TensorType) | base(MemRefType))
    traits = traits_def(Pure())
    assembly_format = "$source (`[` $sizes^ `]`)? attr-dict `:` type($source) `->` type($result)"

    def __init__(
        self, source: SSAValue, result_type: Attribute, sizes: Sequence[SSAValue] = ()
    ) -> None:
        init_plain(self, [source, *sizes], [result_type])

    def verify_(self) -> None:
        source, result = self.source.type, self.result.type
        assert isinstance(source, Shaped) and isinstance(result, Shaped)
        if _part(source.element_type) != _part(result.element_type):
            raise VerifyException(f"loop.reshape may not change the dtype: {source} to {result}")
        open_dims = sum(extent < 0 for extent in result.get_shape())
        if open_dims != len(self.sizes):
            raise VerifyException(
                f"loop.reshape has {len(self.sizes)} sizes for the {open_dims} dimensions that "
                f"{result} leaves open"
            )
        if open_dims or any(extent < 0 for extent in source.get_shape()):
            return  # of how many elements they are, `symbolic_shapes` tells
        if floats_of(source) != floats_of(result):
            raise VerifyException(
                f"loop.reshape may not change the element count: {source} to {result}"
            )


def before_reshapes(value: SSAValue) -> SSAValue:
    """What a chain of `loop.reshape` begins with: the same elements, as they were made."""
    while type(made := value.owner) is ReshapeOp:
        value = made.source
    return value

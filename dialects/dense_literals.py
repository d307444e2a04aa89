"""Reading tensors that a text writes out, `dense<...>`, or names, `dense_resource<...>`; and their
types, each of which is read once."""

from __future__ import annotations

import re
import struct
from functools import cache
from math import prod
from typing import Any

from xdsl.context import Context
from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    ComplexType,
    DenseIntOrFPElementsAttr,
    Float80Type,
    Float128Type,
    FloatAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    RankedStructure,
)
from xdsl.ir import TypeAttribute
from xdsl.irdl import AttrConstraint, base
from xdsl.parser import AttrParser, Parser
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import KIND_BY_PUNCTUATION_SPELLING, MLIRToken, MLIRTokenKind

_MOST_SPLAT_ELEMENTS = 1 << 24
"""Of a `dense<...>` of one value: each element takes memory. More are a tensor to be computed."""

_NO_SPLAT = {MLIRTokenKind.L_SQUARE, MLIRTokenKind.STRING_LIT, MLIRTokenKind.GREATER}
"""What a `dense<...>` begins with that is not one value: lists, bytes, nothing."""

_TENSOR_TEXT = r"tensor<(?:\d+x)*+(?:[a-z]+\d+|complex<f\d+>)>"
_TENSOR = re.compile(_TENSOR_TEXT)
"""A tensor of static shape, whose elements are of a type with a name of its own."""

_TENSORS_TEXT = rf"\((?:{_TENSOR_TEXT}(?:, {_TENSOR_TEXT})*+)?\)"
_FUNCTION = re.compile(rf"{_TENSORS_TEXT} -> (?:{_TENSOR_TEXT}|{_TENSORS_TEXT})")
"""A function of such tensors, spaced as printers do."""


class _Bits(Parser._TensorLiteralElement):  # pyright: ignore[reportPrivateUsage]
    """A hexadecimal element of a literal."""

    def to_type(self, parser: AttrParser, type: Any) -> Any:  # noqa: A002 - as xDSL calls it
        """The float with these bits, or the integer."""
        if not isinstance(type, AnyFloat) or not isinstance(self.value, int):
            return super().to_type(parser, type)
        size = type.compile_time_size
        try:
            (value,) = type.unpack(self.value.to_bytes(size, "little"), 1)
        except OverflowError:
            parser.raise_error(f"{self.span.text} has more bits than {type}", self.span)
        return value


class LiteralParser(Parser):
    """A parser that makes no literal of more elements than memory is for.

    A handle of a resource means one key of the process's storage in a text: xDSL's own parser
    finds another free key each time that it meets a handle whose name was taken before.
    """

    def __init__(self, ctx: Context, text: str, name: str) -> None:
        super().__init__(ctx, text, name)
        self._tensors: dict[str, TypeAttribute] = {}
        self._literal_types: set[Any] = set()
        self._functions: dict[str, FunctionType] = {}
        self._keys: dict[tuple[str, str], str] = {}

    def _consume_token(self, expected_kind: MLIRTokenKind | None = None) -> MLIRToken:
        """The next token; this is half of what reading costs."""
        state = self._parser_state
        token = state.current_token
        assert expected_kind is None or token.kind is expected_kind, f"{token}: {expected_kind}"
        state.current_token = state.lexer.lex()
        return token

    def parse_optional_punctuation(self, punctuation: Any) -> Any:
        """A piece of punctuation, if it comes next."""
        if self._parser_state.current_token.kind is not KIND_BY_PUNCTUATION_SPELLING[punctuation]:
            return None
        self._consume_token()
        return punctuation

    def parse_optional_type(self) -> TypeAttribute | None:
        """A type; tensors that the text had before are not read again, token by token."""
        token = self._current_token
        if token.text != "tensor":
            return super().parse_optional_type()
        content, start = str(self.lexer.input.content), token.span.start
        found = _TENSOR.match(content, start)
        if found is None:
            return super().parse_optional_type()
        known = self._tensors.get(found[0])
        if known is None:
            known = super().parse_optional_type()
            if known is not None and content[found.end() - 1] == ">":
                self._tensors[found[0]] = known
            return known
        self._resume_from(found.end())
        return known

    def parse_optional_function_type(self) -> FunctionType | None:
        """A function type; one of tensors that the text had before is not read again."""
        token = self._current_token
        if token.kind is not MLIRTokenKind.L_PAREN:
            return None
        found = _FUNCTION.match(self.lexer.input.content, token.span.start)
        if found is None:
            return super().parse_optional_function_type()
        known = self._functions.get(found[0])
        if known is None:
            known = super().parse_optional_function_type()
            if known is not None:
                self._functions[found[0]] = known
            return known
        self._resume_from(found.end())
        return known

    def parse_optional_builtin_int_or_float_attr(self) -> IntegerAttr | FloatAttr | None:
        """A number; those of floats wider than f64 can be neither held nor printed."""
        start = self._current_token.span
        made = super().parse_optional_builtin_int_or_float_attr()
        if isinstance(made, FloatAttr) and isinstance(made.type, Float80Type | Float128Type):
            self.raise_error(f"no number of {made.type} can be held, the widest is f64", start)
        return made

    def _parse_dialect_resource_handle(
        self, dialect_name: str, interface: OpAsmDialectInterface
    ) -> str:
        name = self.parse_identifier(" for resource handle")
        if (dialect_name, name) not in self._keys:
            key = self._keys[dialect_name, name] = interface.declare_resource(name)
            self.dialect_resources.add((dialect_name, key))
        return self._keys[dialect_name, name]

    def _parse_tensor_literal_element(self) -> Any:
        """An element; a hexadecimal one is the bits of a float, if the tensor is of floats."""
        text = self._current_token.text
        made = super()._parse_tensor_literal_element()
        return _Bits(made.is_negative, made.value, made.span) if text[:2] == "0x" else made

    def _parse_optional_complex(self) -> Any:
        """`(re, im)`; parts that are bits are floats of f32 or f64, as many as their digits say."""
        if self._current_token.text != "(":
            return None
        start = self._current_token.span.start
        self.parse_punctuation("(")
        parts = [self._complex_part()]
        self.parse_punctuation(",")
        parts.append(self._complex_part())
        end = self._current_token.span.end
        self.parse_punctuation(")")
        if any(isinstance(part, float) for part in parts):
            parts = [float(part) for part in parts]
        return (parts[0], parts[1]), Span(start, end, self.lexer.input)

    def _complex_part(self) -> int | float:
        text = self._current_token.text
        value = self.parse_number(allow_boolean=False)
        digits = len(text) - len("0x")
        if text[:2] != "0x" or digits not in (8, 16):
            return value
        (number,) = struct.unpack(
            "<f" if digits == 8 else "<d", int(value).to_bytes(digits // 2, "little")
        )
        return number

    def parse_dense_int_or_fp_elements_attr(
        self,
        type: Any,  # noqa: A002 - as xDSL calls it
    ) -> DenseIntOrFPElementsAttr:
        """A literal. Of one value for all elements, that one is read: xDSL's own parser checks as
        many integers as the type has, a million in 0.9 s of a Zen 4."""
        start = self._current_token.span.start
        self.parse_punctuation("<", " in dense attribute")
        if self._current_token.kind in _NO_SPLAT:
            self._resume_from(start)
            return super().parse_dense_int_or_fp_elements_attr(type)
        (value,), _ = self._parse_tensor_literal()
        self.parse_punctuation(">", " in dense attribute")
        kind = type
        if kind is None:
            self.parse_punctuation(":", " in dense attribute")
            kind = self._parse_dense_literal_type()
        element: Any = value.to_type(self, kind.element_type)
        return DenseIntOrFPElementsAttr.from_list(kind, [element])

    def _parse_dense_literal_type(self) -> Any:
        """The type of a `dense<...>`, checked before its elements are made."""
        start = self._current_token.span
        kind: Any = self.expect(self.parse_optional_type, "Dense attribute must be typed!")
        if kind in self._literal_types:
            return kind
        if not _literal_types().verifies(kind):
            self.raise_error(
                "Expected memref, vector or tensor type of integer, index, float, or complex type"
            )
        if DYNAMIC_INDEX in kind.get_shape():
            self.raise_error("Dense literal attribute should have a static shape.")
        count = prod(kind.get_shape())
        # An element that is written takes a character; more of them are one value repeated.
        if count > max(_MOST_SPLAT_ELEMENTS, start.start):
            self.raise_error(
                f"a constant of {count} elements holds each of them, and may have "
                f"{_MOST_SPLAT_ELEMENTS}; aten.full.default makes a larger one",
                start.start,
                start.end,
            )
        self._literal_types.add(kind)
        return kind


@cache
def _literal_types() -> AttrConstraint[Any]:
    """The types of literals, made once: xDSL makes this constraint for each literal."""
    return base(RankedStructure[IntegerType | IndexType | AnyFloat | ComplexType])

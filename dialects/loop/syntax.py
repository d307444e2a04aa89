"""Text of iteration domains and index maps: `(d0, d1)[s0 = %n] in [s0, 8]` and `%x[d0, d1 - 1]`."""

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineExpr,
    AffineMap,
    AffineSymExpr,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from lamina.dialects.records import record


def parse_domain(parser: Parser) -> tuple[list[str], list[int], list[SSAValue]]:
    """Parse `(d0, d1)[s0 = %n] in [s0, 8]`; the names are the author's choice.

    Gives the names of dimensions and, behind them, of sizes; the extents, where value `n` of the
    sizes is -1 - n; and the sizes.
    """
    names = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_identifier)
    sizes: list[SSAValue] = []
    size_names: list[str] = []

    def parse_size() -> None:
        size_names.append(parser.parse_identifier())
        parser.parse_punctuation("=")
        sizes.append(parser.resolve_operand(parser.parse_unresolved_operand(), IndexType()))

    if parser.parse_optional_punctuation("[") is not None:
        parse_size()
        while parser.parse_optional_punctuation(",") is not None:
            parse_size()
        parser.parse_punctuation("]")
    parser.parse_characters("in")
    at = parser.pos

    def parse_extent() -> int:
        number = parser.parse_optional_integer(allow_boolean=False)
        if number is not None:
            if number < 0:
                parser.raise_error(f"negative extent {number}", at)
            return number
        return -1 - _place(parser, size_names, "size of this domain")

    extents = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse_extent)
    if len(names) != len(extents):
        parser.raise_error(
            f"the domain names {len(names)} dimensions and gives {len(extents)} extents", at
        )
    return [*names, *size_names], extents, sizes


def print_domain(printer: Printer, extents: Sequence[int], sizes: Sequence[SSAValue] = ()) -> None:
    """Print `(d0, d1)[s0 = %n] in [s0, 8]`."""

    def print_size(size: tuple[int, SSAValue]) -> None:
        printer.print_string(f"s{size[0]} = ")
        printer.print_ssa_value(size[1])

    names = ", ".join(f"d{i}" for i in range(len(extents)))
    printer.print_string(f"({names})")
    if sizes:
        printer.print_string("[")
        printer.print_list(enumerate(sizes), print_size)
        printer.print_string("]")
    texts = [str(extent) if extent >= 0 else f"s{-1 - extent}" for extent in extents]
    printer.print_string(f" in [{', '.join(texts)}]")


def parse_map(parser: Parser, names: Sequence[str], sizes: int = 0) -> AffineMap:
    """Parse `[expr, expr, ...]` over the named dimensions, the last `sizes` of which are sizes."""
    scope = _Scope(names, len(names) - sizes)
    exprs = parser.parse_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: _parse_sum(parser, scope)
    )
    return AffineMap(len(names) - sizes, sizes, tuple(exprs))


def print_map(printer: Printer, index_map: AffineMap) -> None:
    """Print `[expr, expr, ...]` in dimensions d0, d1, ... and sizes s0, s1, ..."""
    printer.print_string(f"[{', '.join(_text(e) for e in index_map.results)}]")


@record
class _Scope:
    """The names of dimensions, and behind them those of sizes."""

    names: Sequence[str]
    dims: int

    def named(self, parser: Parser) -> AffineExpr:
        place = _place(parser, self.names, "dimension of this domain")
        if place < self.dims:
            return AffineExpr.dimension(place)
        return AffineExpr.symbol(place - self.dims)


def _place(parser: Parser, names: Sequence[str], what: str) -> int:
    at = parser.pos
    name = parser.parse_identifier()
    if name not in names:
        parser.raise_error(f"'{name}' is not a {what} ({', '.join(names)})", at)
    return list(names).index(name)


def _text(expr: AffineExpr) -> str:
    text = str(expr)
    return text[1:-1] if text.startswith("(") and _closes_at_end(text) else text


def _closes_at_end(text: str) -> bool:
    depth = 0
    for position, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0:
            return position == len(text) - 1
    return False


def _parse_sum(parser: Parser, scope: _Scope) -> AffineExpr:
    left = _parse_product(parser, scope)
    while True:
        if parser.parse_optional_punctuation("+"):
            left = left + _parse_product(parser, scope)
        elif parser.parse_optional_punctuation("-"):
            left = left - _parse_product(parser, scope)
        elif (value := parser.parse_optional_integer(allow_boolean=False)) is not None:
            # `d0 -1`: the lexer reads `-1` as one token.
            left = left + value
        else:
            return left


def _parse_product(parser: Parser, scope: _Scope) -> AffineExpr:
    left = _parse_factor(parser, scope)
    while True:
        if parser.parse_optional_punctuation("*"):
            left = _binary(AffineBinaryOpKind.Mul, left, _parse_factor(parser, scope))
        elif parser.parse_optional_keyword("floordiv"):
            left = _binary(AffineBinaryOpKind.FloorDiv, left, _parse_divisor(parser, scope))
        elif parser.parse_optional_keyword("mod"):
            left = _binary(AffineBinaryOpKind.Mod, left, _parse_divisor(parser, scope))
        else:
            return left


def _parse_factor(parser: Parser, scope: _Scope) -> AffineExpr:
    if parser.parse_optional_punctuation("("):
        inner = _parse_sum(parser, scope)
        parser.parse_punctuation(")")
        return inner
    if parser.parse_optional_punctuation("-"):
        return -_parse_factor(parser, scope)
    value = parser.parse_optional_integer(allow_boolean=False)
    if value is not None:
        return AffineExpr.constant(value)
    return scope.named(parser)


def _parse_divisor(parser: Parser, scope: _Scope) -> AffineExpr:
    value = parser.parse_optional_integer(allow_boolean=False)
    return scope.named(parser) if value is None else AffineExpr.constant(value)


def _binary(kind: AffineBinaryOpKind, left: AffineExpr, right: AffineExpr) -> AffineExpr:
    """What xDSL's operators make, which take no product and no division by a size."""
    if isinstance(right, AffineSymExpr):
        return AffineBinaryOpExpr(kind, left, right)
    return AffineExpr.binary(kind, left, right)

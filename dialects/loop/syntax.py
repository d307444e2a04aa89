"""Text of iteration domains and index maps: `(d0, d1) in [4, 8]` and `%x[d0, d1 - 1]`."""

from collections.abc import Sequence

from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.parser import Parser
from xdsl.printer import Printer


def parse_domain(parser: Parser) -> tuple[list[str], list[int]]:
    """Parse `(d0, d1) in [4, 8]`; the dimension names are the author's choice."""
    names = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_identifier)
    parser.parse_characters("in")
    at = parser.pos
    extents = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
    if len(names) != len(extents):
        parser.raise_error(
            f"the domain names {len(names)} dimensions and gives {len(extents)} extents", at
        )
    return names, extents


def print_domain(printer: Printer, extents: Sequence[int]) -> None:
    """Print `(d0, d1) in [4, 8]`."""
    names = ", ".join(f"d{i}" for i in range(len(extents)))
    printer.print_string(f"({names}) in [{', '.join(str(e) for e in extents)}]")


def parse_map(parser: Parser, names: Sequence[str]) -> AffineMap:
    """Parse `[expr, expr, ...]` over the named dimensions."""
    exprs = parser.parse_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: _parse_sum(parser, names)
    )
    return AffineMap(len(names), 0, tuple(exprs))


def print_map(printer: Printer, index_map: AffineMap) -> None:
    """Print `[expr, expr, ...]` in dimensions d0, d1, ..."""
    printer.print_string(f"[{', '.join(_text(e) for e in index_map.results)}]")


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


def _parse_sum(parser: Parser, names: Sequence[str]) -> AffineExpr:
    left = _parse_product(parser, names)
    while True:
        if parser.parse_optional_punctuation("+"):
            left = left + _parse_product(parser, names)
        elif parser.parse_optional_punctuation("-"):
            left = left - _parse_product(parser, names)
        elif (value := parser.parse_optional_integer(allow_boolean=False)) is not None:
            # `d0 -1`: the lexer reads `-1` as one token.
            left = left + value
        else:
            return left


def _parse_product(parser: Parser, names: Sequence[str]) -> AffineExpr:
    left = _parse_factor(parser, names)
    while True:
        if parser.parse_optional_punctuation("*"):
            left = left * _parse_factor(parser, names)
        elif parser.parse_optional_keyword("floordiv"):
            left = left // parser.parse_integer()
        elif parser.parse_optional_keyword("mod"):
            left = left % parser.parse_integer()
        else:
            return left


def _parse_factor(parser: Parser, names: Sequence[str]) -> AffineExpr:
    if parser.parse_optional_punctuation("("):
        inner = _parse_sum(parser, names)
        parser.parse_punctuation(")")
        return inner
    if parser.parse_optional_punctuation("-"):
        return -_parse_factor(parser, names)
    value = parser.parse_optional_integer(allow_boolean=False)
    if value is not None:
        return AffineExpr.constant(value)
    at = parser.pos
    name = parser.parse_identifier()
    if name not in names:
        parser.raise_error(f"'{name}' is not a dimension of this domain ({', '.join(names)})", at)
    return AffineExpr.dimension(list(names).index(name))

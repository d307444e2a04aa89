"""The `core_aten` dialect: the overloads tagged core that do not mutate, and extensions.

`overloads.txt` lists the tagged ones. `extensions.tsv` lists overloads that core ops cannot
express, or only at a loss, each with the reason why it stands here.
"""

from functools import cache
from pathlib import Path

from lamina.dialects.aten import Aten
from lamina.dialects.schema.dialect import TableDialect
from lamina.dialects.schema.op import SchemaOp

_FOLDER = Path(__file__).parent


def _lines(file: str) -> list[str]:
    text = (_FOLDER / file).read_text()
    return [line for line in text.splitlines() if line and not line.startswith("#")]


@cache
def extensions() -> dict[str, str]:
    """The overloads that torch does not tag core, each with the reason why it is here."""
    return dict(line.split("\t") for line in _lines("extensions.tsv"))


def _rows() -> dict[str, str]:
    return {name: Aten.rows[name] for name in [*_lines("overloads.txt"), *extensions()]}


CoreAten = TableDialect("core_aten", _rows)


def op(name: str) -> type[SchemaOp]:
    """The op class of a core overload such as `add.Tensor`. Raises UnknownOpError."""
    return CoreAten.op(name)


def __getattr__(name: str) -> type[SchemaOp]:
    return CoreAten.pickled(name)

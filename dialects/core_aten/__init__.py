"""The `core_aten` dialect: the overloads tagged core that do not mutate, from `overloads.txt`."""

from pathlib import Path

from lamina.dialects.aten import Aten
from lamina.dialects.schema.dialect import TableDialect
from lamina.dialects.schema.op import SchemaOp


def _rows() -> dict[str, str]:
    text = (Path(__file__).parent / "overloads.txt").read_text()
    names = [n for n in text.splitlines() if n and not n.startswith("#")]
    return {name: Aten.rows[name] for name in names}


CoreAten = TableDialect("core_aten", _rows)


def op(name: str) -> type[SchemaOp]:
    """The op class of a core overload such as `add.Tensor`. Raises UnknownOpError."""
    return CoreAten.op(name)

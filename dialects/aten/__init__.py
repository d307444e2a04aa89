"""The `aten` dialect: every overload that torch registers, from `schemas.tsv`."""

from pathlib import Path

from lamina.dialects.schema.dialect import TableDialect, table_rows
from lamina.dialects.schema.op import SchemaOp


def _rows() -> dict[str, str]:
    text = (Path(__file__).parent / "schemas.tsv").read_text()
    return table_rows(text, default_suffix=True)


Aten = TableDialect("aten", _rows, functional=False)


def op(name: str) -> type[SchemaOp]:
    """The op class of an overload such as `add.Tensor`. Raises UnknownOpError."""
    return Aten.op(name)


def overloads(packet: str) -> list[str]:
    """Overload names of an op: `Tensor`, `Scalar`, `out` and `Scalar_out` for `add`."""
    return Aten.overloads(packet)


def __getattr__(name: str) -> type[SchemaOp]:
    return Aten.pickled(name)

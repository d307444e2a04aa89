"""The `aten` dialect: every overload that torch registers, from `schemas.tsv`."""

from lamina.dialects.schema.dialect import TableDialect
from lamina.dialects.schema.op import SchemaOp
from lamina.dialects.schema.tables import aten_rows

Aten = TableDialect("aten", aten_rows, functional=False)


def op(name: str) -> type[SchemaOp]:
    """The op class of an overload such as `add.Tensor`. Raises UnknownOpError."""
    return Aten.op(name)


def overloads(packet: str) -> list[str]:
    """Overload names of an op: `Tensor`, `Scalar`, `out` and `Scalar_out` for `add`."""
    return Aten.overloads(packet)


def __getattr__(name: str) -> type[SchemaOp]:
    return Aten.pickled(name)

"""The `prims` dialect: torch's own (`schemas.tsv`) and ours (`extensions.tsv`, tag `ext`)."""

from pathlib import Path

from lamina.dialects.schema.dialect import TableDialect
from lamina.dialects.schema.op import SchemaOp
from lamina.dialects.schema.tables import table_rows


def _rows() -> dict[str, str]:
    folder = Path(__file__).parent
    rows: dict[str, str] = {}
    for name in ("schemas.tsv", "extensions.tsv"):
        rows.update(table_rows((folder / name).read_text(), default_suffix=False))
    return rows


Prims = TableDialect("prims", _rows)


def op(name: str) -> type[SchemaOp]:
    """The op class of a prim such as `add` or `contract`. Raises UnknownOpError."""
    return Prims.op(name)


def __getattr__(name: str) -> type[SchemaOp]:
    return Prims.pickled(name)

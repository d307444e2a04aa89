"""`TableDialect`: a dialect whose op classes are made from its table when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from xdsl.ir import Dialect, Operation
from xdsl.irdl import traits_def

from lamina.dialects.extension_tables import extended, extended_names
from lamina.dialects.schema.effects import traits_of
from lamina.dialects.schema.grammar import Schema
from lamina.dialects.schema.names import UnknownOpError, unknown_op
from lamina.dialects.schema.op import SchemaOp
from lamina.dialects.schema.slots import Slots
from lamina.dialects.schema.tables import schema_of

_DOT = "__"
"""In the names of op classes, which cannot have dots; no overload is named with it."""


class TableDialect(Dialect):
    """Op classes by overload name, made on demand and kept.

    In a `functional` dialect no op mutates what another reads, so that equal ops may be merged.
    """

    def __init__(
        self, name: str, rows: Callable[[], Mapping[str, str]], *, functional: bool = True
    ) -> None:
        super().__init__(name, [], [])
        self.functional = functional
        self._load_rows = rows
        self._classes: dict[str, type[SchemaOp]] = {}
        self._added: dict[str, type[SchemaOp]] = {}

    @cached_property
    def rows(self) -> Mapping[str, str]:
        """Overload name (as it follows the dialect's dot) to its table line."""
        return self._load_rows()

    @property
    def names(self) -> Iterator[str]:
        """Every overload name, in the table's order; then those that extensions add."""
        prefix = f"{self.name}."
        added = [n.removeprefix(prefix) for n in extended_names("op") if n.startswith(prefix)]
        return iter(dict.fromkeys([*self.rows, *added]))

    @property
    def operations(self) -> Iterator[type[Operation]]:
        """Every op class: makes them all, for tools that cannot load one at a time."""
        return iter([self.op(name) for name in self.names])

    def find(self, name: str) -> type[SchemaOp] | None:
        """The op class of an overload name, or None."""
        found = self._classes.get(name)
        if found is None and name in self.rows:
            # Of classes that several threads make at once, one becomes the op's.
            found = self._classes.setdefault(name, _make_class(self, name, self.rows[name]))
        if found is None and (entry := extended("op", f"{self.name}.{name}")) is not None:
            row: str = entry.value
            found = self._added.get(row) or self._added.setdefault(
                row, _make_class(self, name, row)
            )
        return found

    def op(self, name: str) -> type[SchemaOp]:
        """The op class of an overload name. Raises UnknownOpError."""
        found = self.find(name)
        if found is None:
            raise unknown_op(self.name, name, self.rows)
        return found

    def pickled(self, name: str) -> type[SchemaOp]:
        """The op class whose `__qualname__` is `name`: by it pickle finds classes in a module.

        Raises AttributeError for any other name, as a module does.
        """
        is_own = not (name.startswith("__") and name.endswith("__"))  # else it is Python's
        found = self.find(".".join(name.rsplit(_DOT, 1))) if is_own else None
        if found is None:
            raise AttributeError(f"module 'lamina.dialects.{self.name}' has no attribute '{name}'")
        return found

    def overloads(self, packet: str) -> list[str]:
        """Overload names of an op ("Tensor", "Scalar", "out" for `add`), in the table's order."""
        prefix = f"{packet}."
        return [name[len(prefix) :] for name in self.rows if name.startswith(prefix)]

    def schema(self, name: str) -> Schema:
        """The parsed schema of an overload name."""
        row = self.rows.get(name)
        if row is None and (entry := extended("op", f"{self.name}.{name}")) is not None:
            row = entry.value
        return schema_of(self.rows[name] if row is None else row)


def _make_class(dialect: TableDialect, name: str, row: str) -> type[SchemaOp]:
    schema = schema_of(row)
    return type(
        name.replace(".", "_"),
        (SchemaOp,),
        {
            "name": f"{dialect.name}.{name}",
            "__module__": f"lamina.dialects.{dialect.name}",
            "__qualname__": name.replace(".", _DOT),
            "__doc__": row.partition("\t")[0],
            "schema": schema,
            "slots": Slots(schema),
            "traits": traits_def(*traits_of(schema, dialect.functional)),
        },
    )


__all__ = ["TableDialect", "UnknownOpError"]

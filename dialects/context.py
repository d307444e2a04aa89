"""The context that knows Lamina's dialects and the xDSL ones they build on."""

from __future__ import annotations

from importlib import import_module

from xdsl.context import Context as XdslContext
from xdsl.dialects import get_all_dialects
from xdsl.ir import Dialect, Operation

from lamina.dialects.extension_tables import extended_names

DIALECTS: dict[str, str] = {
    "aten": "lamina.dialects.aten:Aten",
    "core_aten": "lamina.dialects.core_aten:CoreAten",
    "prims": "lamina.dialects.prims:Prims",
    "loop": "lamina.dialects.loop:Loop",
    "control": "lamina.dialects.control:Control",
    "lamina": "lamina.dialects.sizes:Lamina",
    "stablehlo": "lamina.dialects.stablehlo.all_ops:StableHLO",
    "chlo": "lamina.dialects.stablehlo.all_ops:Chlo",
    "mhlo": "lamina.dialects.stablehlo.all_ops:Mhlo",
    "sdy": "lamina.dialects.stablehlo.all_ops:Sdy",
}
"""Lamina's dialects: name to `module:object`."""

UPSTREAM: dict[str, str] = {
    "linalg": "lamina.dialects.linalg:Linalg",
    "tensor": "lamina.dialects.linalg:Tensor",
    "arith": "lamina.dialects.linalg:Arith",
}
"""MLIR's dialects that stand in the place of xDSL's: they read more of what MLIR prints."""


def load_dialect(name: str) -> Dialect:
    """The dialect object of that name."""
    module, _, attribute = (DIALECTS | UPSTREAM)[name].partition(":")
    return getattr(import_module(module), attribute)


class Context(XdslContext):
    """An xDSL context with every dialect registered, those of active extensions among them.

    Table dialects give single ops on demand. Ops of dialects that nobody knows are read as well
    with `allow_unregistered`. `lamina.parse` makes one of its own where none is given.

        module = lamina.parse(text, context=lamina.Context())
    """

    def __init__(self, allow_unregistered: bool = False) -> None:
        super().__init__(allow_unregistered)
        for name, factory in get_all_dialects().items():
            if name not in UPSTREAM:
                self.register_dialect(name, factory)
        for name in (*DIALECTS, *UPSTREAM):
            self.register_dialect(name, lambda name=name: load_dialect(name))
        for name, entry in extended_names("dialect").items():
            self._registered_dialects[name] = entry.value

    def load_registered_dialect(self, name: str) -> None:
        """Load the dialect `name`; ops of a table dialect stay unmade until they are asked for."""
        from lamina.dialects.schema.dialect import TableDialect

        factory = self._registered_dialects.get(name)
        dialect = factory() if factory is not None else None
        if isinstance(dialect, TableDialect):
            self._loaded_dialects[name] = dialect
        else:
            super().load_registered_dialect(name)

    def _get_known_op(self, name: str) -> type[Operation] | None:
        found = super()._get_known_op(name)
        if found is not None or "." not in name:
            return found
        dialect_name, _, rest = name.partition(".")
        dialect = self._loaded_dialects.get(dialect_name)
        from lamina.dialects.schema.dialect import TableDialect

        if not isinstance(dialect, TableDialect):
            return None
        op = dialect.find(rest)
        if op is not None:
            self._loaded_ops[name] = op
        return op

    def clone(self) -> Context:
        """A context whose later loads do not reach this one."""
        copy = Context(self.allow_unregistered)
        copy._loaded_dialects.update(self._loaded_dialects)
        copy._loaded_ops.update(self._loaded_ops)
        copy._loaded_attrs.update(self._loaded_attrs)
        copy._loaded_types.update(self._loaded_types)
        copy._registered_dialects.update(self._registered_dialects)
        return copy

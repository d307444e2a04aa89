"""What Lamina itself has under a name that an extension gives something to."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

from lamina.codegen.target import Target
from lamina.dialects.context import load_dialect
from lamina.dialects.extension_entries import BY_OP, SCHEMA_DIALECTS, Entry, Table
from lamina.dialects.extension_tables import extended, known_dialects
from lamina.dialects.nearest_ops import nearest
from lamina.dialects.schema.dialect import TableDialect
from lamina.passes.registry import PASSES


def owner_of(table: Table, name: str, entry: Entry) -> str | None:
    """Words for what stands there without extensions, or None."""
    return _OWNERS[table](_full_name(name) if table in BY_OP else name, entry)


def missing_op(table: Table, name: str, entry: Entry, own: Container[str]) -> str | None:
    """The nearest names, where an entry is about an op of Lamina's dialects that there is not, nor
    among the extension's `own`; else None."""
    dialect = name.partition(".")[0]
    if table not in BY_OP or dialect not in SCHEMA_DIALECTS:
        return None
    full = _full_name(name)
    if full in own or extended("op", full) is not None or _op(full, entry) is not None:
        return None
    table_dialect: Any = load_dialect(dialect)
    near = nearest(full.partition(".")[2], table_dialect.rows)
    return ", ".join(f"{dialect}.{one}" for one in near) or "none"


def _full_name(name: str) -> str:
    dialect, _, rest = name.partition(".")
    is_short = dialect in ("aten", "core_aten") and "." not in rest
    return f"{name}.default" if is_short else name


def _dialect(name: str, _: Entry) -> str | None:
    return "Lamina or xDSL" if name in known_dialects() else None


def _op(name: str, entry: Entry) -> str | None:
    dialect, _, rest = name.partition(".")
    if dialect not in SCHEMA_DIALECTS:
        return None
    table: Any = load_dialect(dialect)
    assert isinstance(table, TableDialect)
    return "Lamina" if rest in table.rows else None


def _rule(name: str, entry: Entry) -> str | None:
    dialect, _, rest = name.partition(".")
    if _op(name, entry) is None:
        return None
    from lamina.dialects.schema.result_rules import find_rule

    table: Any = load_dialect(dialect)
    found = find_rule(dialect, rest, table.schema(rest).tags)
    return None if found is None else _module_of(found)


def _lowering(name: str, entry: Entry) -> str | None:
    dialect, _, rest = name.partition(".")
    if dialect not in SCHEMA_DIALECTS:
        return None
    if dialect == "aten":
        from lamina.lowering.aten_to_core_aten.table import DECOMPOSITIONS as CONVERSION

        core: Any = load_dialect("core_aten")
        if rest in core.rows:
            return "Lamina, which renames it"
    elif dialect == "core_aten":
        from lamina.lowering.core_aten_to_prims.table import LOWERINGS as CONVERSION
    else:
        from lamina.lowering.prims_to_loop.table import LOWERINGS as CONVERSION
    found = CONVERSION.table().get(rest)
    return None if found is None else _module_of(found)


def _interpreter(name: str, entry: Entry) -> str | None:
    dialect, _, rest = name.partition(".")
    if dialect in ("aten", "core_aten"):
        from lamina.runtime.interpreters.aten import load_functions

        return _module_of(load_functions().get(rest))
    if dialect == "prims":
        from lamina.runtime.interpreters.prims import FUNCTIONS

        return _module_of(FUNCTIONS.get(rest))
    from lamina.runtime.interpreters.providers import PROVIDERS

    return f"Lamina ({PROVIDERS[dialect]})" if dialect in PROVIDERS else None


def _kernel(name: str, _: Entry) -> str | None:
    from lamina.runtime.extern_kernels.registry import registered_kernel

    found = registered_kernel(name)
    if found is None:
        return None
    return f"lamina.extern_kernel ({getattr(found.function, '__module__', 'C')})"


def _target(name: str, _: Entry) -> str | None:
    return "Lamina" if name in Target.own_names() else None


def _importer(name: str, _: Entry) -> str | None:
    return "Lamina" if name.partition("::")[0] in ("aten", "prims") else None


def _pass(name: str, _: Entry) -> str | None:
    from xdsl.transforms import get_all_passes

    if name in PASSES:
        return f"Lamina ({PASSES[name].partition(':')[0]})"
    return "xDSL" if name in get_all_passes() else None


def _vector_function(name: str, _: Entry) -> str | None:
    from lamina.dialects.elementwise import FUNCTIONS

    return "Lamina" if name in FUNCTIONS else None


def _module_of(function: object) -> str | None:
    if function is None:
        return None
    owner = getattr(function, "__module__", None) or getattr(
        getattr(function, "func", None), "__module__", "its own"
    )
    return f"Lamina ({owner})"


_OWNERS: dict[Table, Callable[[str, Entry], str | None]] = {
    "dialect": _dialect,
    "op": _op,
    "result rule": _rule,
    "lowering": _lowering,
    "interpreter": _interpreter,
    "vector function": _vector_function,
    "extern kernel": _kernel,
    "target": _target,
    "importer": _importer,
    "pass": _pass,
    "backend": lambda _name, _entry: None,
    "schedule chooser": lambda _name, _entry: None,
}

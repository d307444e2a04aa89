"""Which rule gives the result types of which overload.

Elementwise functions are not listed (their records say it), nor are other pointwise overloads that
promote their operands (the fallback serves them), nor in-place, `out=` and `_copy` variants, which
follow the overload they are variants of.
"""

from __future__ import annotations

from lamina.dialects.elementwise import PRIMITIVES, ROWS, spellings
from lamina.dialects.schema.result_rules.rule_table_library import LIBRARY
from lamina.dialects.schema.result_rules.rule_table_prims import PRIMS
from lamina.dialects.schema.result_rules.rule_table_tensors import TENSORS


def _inverted(families: dict[str, str], suffix: str) -> dict[str, str]:
    rules: dict[str, str] = {}
    for rule, names in families.items():
        for name in names.split():
            rules[name if "." in name else name + suffix] = rule
    return rules


RULES: dict[str, str] = _inverted(TENSORS, ".default") | _inverted(LIBRARY, ".default")
"""`aten` and `core_aten`: overload name to `module:function` of its rule."""
RULES |= {name: f"pointwise:{row.promotion}" for row in ROWS for name in spellings(row.name)}

_PRIMITIVE_RULES = {"boolean": "prims:comparison", "real": "prims:real_elementwise"}

PRIMS_RULES: dict[str, str] = _inverted(PRIMS, "") | {
    name: _PRIMITIVE_RULES.get(row.promotion, "prims:elementwise")
    for name, row in PRIMITIVES.items()
}
"""`prims`: name to `module:function` of its rule."""

"""The calls of extern kernels in a program, looked up before anything is compiled."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp, TensorType

from lamina.dialects.errors import UnsupportedError
from lamina.dialects.loop.extern import ExternOp
from lamina.dialects.op_list import ops_of
from lamina.dialects.places import place_of
from lamina.passes.calls.callee_programs import callee_of, callee_programs
from lamina.runtime.entry import element_name
from lamina.runtime.extern_kernels.registry import find_kernel


def refused_calls(module: ModuleOp) -> Iterator[UnsupportedError]:
    """An error for each `loop.extern` whose kernel nobody registered, or does not take its dtypes.

    The operands are tensors: `module` stands at the loop layer.
    """
    programs = callee_programs(module)
    for call in ops_of(module, ExternOp):
        if (callee := callee_of(call)) is not None:
            if callee not in programs:
                yield UnsupportedError(
                    call.name,
                    f"no program is called @{callee}",
                    location=place_of(call),
                    nearest=", ".join(programs) or None,
                )
            continue
        types = [value.type for value in call.inputs]
        dtypes = [element_name(kind.element_type) for kind in types if isinstance(kind, TensorType)]
        try:
            find_kernel(call.kernel.data, dtypes)
        except UnsupportedError as error:
            yield UnsupportedError(
                call.name,
                error.reason,
                types=[str(kind) for kind in types],
                location=place_of(call),
                nearest=error.nearest,
            )

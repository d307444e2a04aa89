"""A scheduled module as one LLVM module: internal kernels and the exported entry points.

An entry `@name` becomes `i32 lamina_name(ptr args)`, or has another prefix: `args[i]` points at the
i-th argument's data, the result is 0 or 1 + the index of the first failed assertion's message. The
status is on the stack of the call and every kernel is told where: entries may run several times at
once.
"""

from collections.abc import Callable

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    FunctionType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    UnitAttr,
)
from xdsl.ir import Operation

from lamina.codegen.llvm_emitter import (
    arith,
    control_flow,
    dot_pairs,
    math,
    memory,
    parallel,
    tiles,
    vector,
)
from lamina.codegen.llvm_emitter.shared_loops import chunked_loops
from lamina.codegen.llvm_emitter.symbols import escaped, function_symbol
from lamina.codegen.llvm_emitter.writer import (
    EmitOptions,
    Emitter,
    FunctionWriter,
    ModuleWriter,
    unsupported,
)
from lamina.codegen.target import Target
from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop.team import SHARED
from lamina.dialects.records import record

EMITTERS: dict[type[Operation], Emitter] = {
    **arith.EMITTERS,
    **math.EMITTERS,
    **memory.EMITTERS,
    **vector.EMITTERS,
    **dot_pairs.EMITTERS,
    **tiles.EMITTERS,
    **control_flow.EMITTERS,
    **parallel.EMITTERS,
}

#: Never-taken weights for assertions; loops are scheduled by us: LLVM may not unroll them again.
_METADATA = """!0 = !{i32 1}
!1 = !{!"branch_weights", i32 1048575, i32 1}
!2 = distinct !{!2, !3}
!3 = !{!"llvm.loop.unroll.disable"}"""


UNIT_CHARACTERS = 250_000
"""Of text from which on kernels that follow stand in a module of LLVM's of their own: it translates
in some 0.15 s, fifty times what a module takes beside its functions."""

FIRST_UNIT_CHARACTERS = 32_000
"""Of the first such module: LLVM has work early. Each is half as long again as the one before. By
the times of steps on a Zen 4 that spares 2 % of RegNet-Y-040's first result, 1 % of DenseNet's."""


@record
class EmittedModule:
    """LLVM IR text of a program; none where its modules were handed over.

    `entries` are the entry functions' names in the scheduled module (symbols have `lamina_` before
    them); `messages[i]` is the assertion that status i + 1 stands for; `needs_openmp` says that
    the code calls an OpenMP runtime.
    """

    text: str
    entries: tuple[str, ...]
    messages: tuple[str, ...]
    needs_openmp: bool


def emit_module(
    module: ModuleOp, target: Target, options: EmitOptions | None = None
) -> EmittedModule:
    """LLVM IR for a scheduled module; UnsupportedError for what codegen cannot take."""
    return ProgramEmitter(target, options).finish(module)


class ProgramEmitter:
    """A program as as many modules of LLVM's as its length asks for.

    Each is handed over when its text is written; they are to be linked. Kernels may be added before
    the functions that call them are there, as soon as no pass changes them any more. Without
    `hand_over` there is one module.

        emitter = ProgramEmitter(target, options, translation.add)
        emitter.add_kernel(kernel)
        emitted = emitter.finish(module)
    """

    def __init__(
        self,
        target: Target,
        options: EmitOptions | None = None,
        hand_over: Callable[[str], None] | None = None,
    ) -> None:
        self._writer = ModuleWriter(target, options or EmitOptions())
        self._hand_over = hand_over
        self._size, self._unit_size = 0, FIRST_UNIT_CHARACTERS
        self._added: dict[func.FuncOp, FunctionType] = {}

    def add_kernel(self, kernel: func.FuncOp) -> None:
        """Writes a scheduled kernel; UnsupportedError for what codegen cannot take."""
        writer = self._writer
        self._added[kernel] = kernel.function_type
        if SHARED in kernel.attributes and writer.options.openmp:
            writer.team_kernels[kernel.sym_name.data] = chunked_loops(kernel)
        _kernel(writer, kernel, "internal" if self._hand_over is None else "hidden")
        self._size += len(writer.functions[-1])
        if self._size > self._unit_size:
            self._finish_unit()

    def _finish_unit(self) -> None:
        """Hands over the kernels that were added since this was done last."""
        if self._hand_over is not None:
            self._hand_over(_unit(self._writer))
            self._size, self._unit_size = 0, min(self._unit_size * 3 // 2, UNIT_CHARACTERS)

    def finish(self, module: ModuleOp) -> EmittedModule:
        """Writes what is left of the program in whose module the kernels stand."""
        writer = self._writer
        if writer.options.openmp:
            # A text of scheduled kernels may have teams without the notes that passes make. What
            # was added is a kernel, which calls none.
            functions = [f for f in block_ops(module.body.block) if isinstance(f, func.FuncOp)]
            others = [f for f in functions if f not in self._added]
            writer.team_kernels |= parallel.team_kernels(module, others)
        writer.uses_tiles = tiles.are_used(module, writer.target)
        callers: list[func.FuncOp] = []
        for op in module.body.block.ops:
            if not isinstance(op, func.FuncOp):
                raise unsupported(op, "only functions stand at the top of a scheduled module")
            if "lamina.entry" in op.attributes or "lamina.callee" in op.attributes:
                callers.append(op)
            elif op not in self._added:
                self.add_kernel(op)
            else:
                assert op.function_type is self._added[op], "changed behind its code"
        if self._size > FIRST_UNIT_CHARACTERS:  # so that both are translated at once
            self._finish_unit()
        entries: list[str] = []
        for op in callers:
            if "lamina.entry" in op.attributes:
                entries.append(op.sym_name.data)
                _entry(writer, op)
            else:
                _kernel(writer, op, "internal")
        needs_openmp = "GOMP_parallel" in writer.declarations
        text = _assemble(writer)
        if self._hand_over is not None:
            self._hand_over(text)
        return EmittedModule(
            "" if self._hand_over is not None else text,
            tuple(entries),
            tuple(writer.messages),
            needs_openmp,
        )


def _unit(writer: ModuleWriter) -> str:
    """The module of what is written so far, with which the writer is done but for calls of it."""
    text = _assemble(writer)
    writer.elsewhere.update(writer.names)
    for written in (writer.names, writer.functions, writer.declarations, writer.helpers):
        written.clear()
    return text


def _kernel(writer: ModuleWriter, op: func.FuncOp, linkage: str) -> None:
    symbol = function_symbol(op.sym_name.data)
    writer.names.append(symbol)
    w = FunctionWriter(writer, symbol, EMITTERS)
    parameters: list[str] = []
    for number, argument in enumerate(op.body.block.args):
        w.bind(argument, f"%a{number}")
        attributes = _parameter_attributes(op, number)
        w.attributes[argument] = attributes
        parameters.append(f"{w.type(argument)}{attributes} %a{number}")
    parameters.append(f"ptr nonnull {w.status}")
    if op.sym_name.data in writer.team_kernels:
        w.team = ("%thread", "%threads", "%arrived")
        parameters += ["i64 %thread", "i64 %threads", "ptr %arrived"]
        if writer.team_kernels[op.sym_name.data]:
            w.first_loop = "%loops"
            parameters.append(f"i64 {w.first_loop}")
    w.run(op.body.block)
    header = f"define {linkage} void @{symbol}({', '.join(parameters)})"
    writer.functions.append(w.text(header))


def _parameter_attributes(op: func.FuncOp, number: int) -> str:
    """noalias and alignment as the argument attributes promise; memrefs are never null."""
    if not isinstance(op.body.block.args[number].type, MemRefType):
        return ""
    text = " nonnull"
    given = op.arg_attrs.data[number].data if op.arg_attrs is not None else {}
    if isinstance(given.get("llvm.noalias"), UnitAttr):
        text = " noalias" + text
    alignment = given.get("llvm.align")
    if isinstance(alignment, IntegerAttr):
        text += f" align {alignment.value.data}"
    return text


def _entry(writer: ModuleWriter, op: func.FuncOp) -> None:
    name = f"{writer.options.prefix}_{escaped(op.sym_name.data)}"
    w = FunctionWriter(writer, name, EMITTERS)
    w.allocas.append(f"  {w.status} = alloca i32")
    w.line(f"store i32 0, ptr {w.status}")
    w.arguments = "%args"
    if writer.options.alone and writer.uses_tiles:
        tiles.ask(w)
    for number, argument in enumerate(op.body.block.args):
        if not isinstance(argument.type, MemRefType):
            raise unsupported(op, f"entry argument {number} is no memref")
        w.places[argument] = number, "0"
    w.run(op.body.block)
    status = w.emit(f"load i32, ptr {w.status}")
    writer.functions.append(
        w.text(f"define i32 @{name}(ptr noalias readonly %args)", f"i32 {status}")
    )


def _assemble(writer: ModuleWriter) -> str:
    bits = writer.target.vector_bits
    # An attribute that widens: x86-64-v4 and some CPUs default to half their vector registers.
    # With a frame pointer LLVM can align the stack, so that spilled vectors lie within cache lines.
    width = (
        f'"prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits}" "frame-pointer"="all"'
    )
    return (
        "\n\n".join(
            (
                f'target triple = "{writer.target.triple}"',
                "\n".join(writer.types),
                "\n".join(writer.declarations.values()),
                *writer.helpers.values(),
                *writer.functions,
                f"attributes #0 = {{ nounwind noinline {width} }}\n"
                f"attributes #1 = {{ nounwind alwaysinline {width} }}",
                _METADATA,
            )
        )
        + "\n"
    )

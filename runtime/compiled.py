"""`Compiled`: a program as native code, called like a function."""

import os
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any, NoReturn, SupportsIndex

from lamina.codegen.target import Target
from lamina.dialects.errors import ArgumentError, ExecutionError
from lamina.passes.contracts.argument_sizes import refuse_unknown_names
from lamina.runtime.arguments import Structure
from lamina.runtime.bind import bind
from lamina.runtime.checked_call import CheckedCall
from lamina.runtime.dispatch.binding import BoundProgram
from lamina.runtime.entry import Slot
from lamina.runtime.kernels import Kernels
from lamina.runtime.memory_use import MemoryUse, memory_use
from lamina.runtime.native_entry import NativeEntry
from lamina.runtime.program import MachineCode, Program
from lamina.runtime.random_state import DrawnState, SeedSource, make_state
from lamina.runtime.shared_constants import SharedConstants
from lamina.runtime.size_versions import Sizes


class Compiled:
    """A compiled program, bound to its constants.

    Call it with NumPy arrays or torch tensors of exactly the shapes and dtypes that the program has
    and it gives back the same kind, in fresh memory. Contiguous ones are read where they are; those
    of other strides or byte order are copied. Numbers may stand for tensors of rank 0, and arrays
    of other libraries (with `__array__` or `__dlpack__`) for arrays; alone they give NumPy arrays.
    Buffers and arguments that the program mutates are written in place; they must not overlap other
    arguments. Calls from several threads run one after another.

    Raises ArgumentError when an argument does not fit, and ExecutionError when a check at run time
    fails, for example an index out of range.

    `lamina.compile` and `lamina.load` make these.

        compiled = lamina.compile(text)
        print(compiled.inputs, compiled.outputs, compiled.kernels, compiled.ir("loop"))
        result = compiled(x)
    """

    def __init__(
        self,
        program: Program,
        constants: Mapping[str, Any],
        structure: Structure,
        render: Callable[[str], str],
        seeds: SeedSource | None = None,
        shared: SharedConstants | None = None,
    ) -> None:
        self.others: dict[str, Compiled] = {}
        """Its public functions but `main`."""
        self.program = program
        """Its code and what its pointers are to."""
        self.structure = structure
        """How the arguments of a call nest."""
        self._render = render
        self._measured: Kernels | None = None
        slots = program.main.slots
        self._inputs = tuple(slot for slot in slots if slot.kind == "input")
        self._outputs = tuple(slot for slot in slots if slot.kind == "output")
        self._drawn = drawn_state(program, seeds)
        call: Callable[..., Any] = _refuse
        if program.code is not None:
            call = self._bind(program.code, constants, structure, shared or SharedConstants())
        # A builtin function as `__call__` of the object's own type is what Python calls fastest.
        own_type: Any = type("Compiled", (Compiled,), {"__call__": staticmethod(call)})
        self.__class__ = own_type

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program; see the class for what it takes and gives."""
        raise NotImplementedError  # every object has its own, see __init__

    def __del__(self) -> None:
        # Types are freed by the cycle collector only: let go of the memory now. Names of this
        # module may be gone when the process ends, so that none is used.
        own = self.__class__
        base = own.__base__
        if base is not None and base.__base__ is not None:  # else `__init__` did not come so far
            own.__call__ = base.__call__

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError(
            "compiled programs hold machine code and cannot be copied or pickled; "
            "Compiled.save writes them to a file"
        )

    @property
    def entries(self) -> dict[str, "Compiled"]:
        """The program's public functions, each compiled on its own; `main` is this one.

        Constants of one name are bound in each that has them; what one writes to a buffer, the
        others see if it was given as a contiguous array or tensor.
        """
        return {"main": self, **self.others}

    @property
    def inputs(self) -> tuple[Slot, ...]:
        """Name, dtype and shape of each input, in order."""
        return self._inputs

    @property
    def outputs(self) -> tuple[Slot, ...]:
        """Name, dtype and shape of each output, in order."""
        return self._outputs

    @property
    def stages(self) -> "tuple[Compiled, ...]":
        """The programs that run one after the other where sizes depend on data; itself alone."""
        return (self,)

    @property
    def sizes(self) -> Sizes:
        """Sizes of its arguments that it leaves open, with the versions for them; none here."""
        return Sizes()

    def version(self, **sizes: int) -> "Compiled":
        """The program for exactly these values of its open sizes, by name; itself if it has none.

        Raises InputError for sizes that it has not, that are missing or out of their ranges.
        """
        refuse_unknown_names(sizes, ())
        return self

    @property
    def native(self) -> NativeEntry:
        """The program as a C function on pointers, for callers that do without Python's call.

        `entry = compiled.native` has the function's address and says what each pointer is to; see
        `NativeEntry`. ExecutionError where it is for another machine.
        """
        bound = self.bound
        assert self.program.code is not None
        return NativeEntry(bound, self.program.code)

    @property
    def bound(self) -> BoundProgram:
        """The program with its memory; ExecutionError where it is for another machine."""
        if self.program.code is None:
            _refuse()
        return self._bound

    @property
    def kernels(self) -> Kernels:
        """The native kernels, each with the ops fused into it; prints as a table."""
        return self._measured or self.program.kernels

    def measure(self, *args: Any, repeats: int = 20, **kwargs: Any) -> Kernels:
        """`kernels` with the least time of each over `repeats` runs on copies of these arguments.

        `args` and `kwargs` are those of a call. Compiles entry points for the single kernels;
        ordinary calls stay as they are. Raises ArgumentError for unfit arguments or repeats below
        1, ExecutionError on another machine.
        """
        from lamina.runtime.kernel_timing import KernelTimer, pointers_for
        from lamina.runtime.layers import parse

        if not isinstance(repeats, Integral) or repeats < 1:
            raise ArgumentError(f"repeats = {repeats}: it takes at least one run")
        if self.program.target is None or self.program.code is None:
            _refuse()
        assert self.program.target is not None
        values = self.structure.flatten(args, kwargs)
        pointers, _kept = pointers_for(self._bound, values)
        timer = KernelTimer(parse(self._render("scheduled")), self.program.target)
        self._measured = self.program.kernels.with_times(timer.measure(pointers, repeats))
        return self._measured

    def seed(self, number: int) -> None:
        """Starts the sequence of seed `number`, for this program alone; each call goes on in it.

        Without it, programs share one sequence: see `lamina.manual_seed`. Nothing happens in a
        program that draws no random numbers. Raises ArgumentError for what is no integer.
        """
        self.take_state(make_state(number))

    @property
    def is_one_native_call(self) -> bool:
        """Whether calls are that of its code: on this machine, without random numbers."""
        return self.runs_here and self._drawn is None

    def take_state(self, state: Any) -> None:
        """Draws random numbers from a state, which other programs may share; see `seed`."""
        if self.program.code is None:
            _refuse()
        if self._drawn is not None:
            self._drawn.is_drawn = False
        for index, slot in enumerate(self._bound.slots):
            if slot.kind == "seed":
                self._bound.kept.append(state)
                self._bound.template[index] = state.ctypes.data

    @property
    def memory(self) -> MemoryUse:
        """What the program takes while it runs, by what it is for; prints as a line."""
        return memory_use(self.program.main.slots)

    @property
    def peak_bytes(self) -> int:
        """Bytes of arena, outputs and constants together."""
        return self.memory.peak

    @property
    def runs_here(self) -> bool:
        """Whether it can be called; False when it was compiled for another machine."""
        return self.program.code is not None

    def save(
        self, path: str | os.PathLike[str], *, sizes: Sequence[Mapping[str, int]] = ()
    ) -> None:
        """Writes the program to the file `path`, for `lamina.load`: code, constants, messages.

        Other public functions are saved with it. Constants are saved as the program reads them,
        buffers as they are now. Of a program with open sizes all versions are saved that it has,
        and those for calls with `sizes`, as in `sizes=[{"batch": 4}, {"batch": 32}]`. Raises
        InputError where the file cannot be written, or where calls depend on objects of this
        process; ExecutionError for a program of another machine.
        """
        from lamina.runtime.saved import save

        for one in sizes:
            self.version(**one)  # which refuses sizes that it has not
        save(self.entries, path)

    def sized_head(
        self, program_head: Callable[["Compiled"], dict[str, Any]]
    ) -> dict[str, Any] | None:
        """None: it is one program of known sizes, for which `program_head` alone makes what a file
        has; see `SizedCalls`."""
        return None

    def ir(self, layer: str) -> str:
        """The program's text at `layer`, one of `lamina.LAYERS`; InputError for another name.

        Layers below the one the program came in are made again when asked for.
        """
        return self._render(layer)

    def explain_schedules(self) -> str:
        """What the schedule of each kernel is estimated to take, and what others would.

        Each of the others differs in one clause; an estimate in microseconds stands there, or why
        the kernel cannot have it. Raises InputError for a program that came in scheduled.
        """
        from lamina.passes.schedule.explain_schedule import note_considered, report
        from lamina.runtime.layers import parse

        module = parse(self._render("bufferized"))
        note_considered(module, self.program.target or Target.host())
        return report(module)

    def __repr__(self) -> str:
        takes = ", ".join(f"{slot.name}: {slot.type_text}" for slot in self.inputs)
        gives = ", ".join(slot.type_text for slot in self.outputs)
        return f"<lamina.Compiled ({takes}) -> ({gives}), {len(self.kernels)} kernels>"

    def _bind(
        self,
        code: MachineCode,
        constants: Mapping[str, Any],
        structure: Structure,
        shared: SharedConstants,
    ) -> Callable[..., Any]:
        drawn = self._drawn
        self._bound = bind(self.program, code, constants, drawn and drawn.state, shared)
        layout = structure.layout(len(self._outputs))
        checked = CheckedCall(self._bound, layout)
        direct = self._bound.function(layout, checked)
        flatten = structure.flatten

        def nested(*args: Any, **kwargs: Any) -> Any:
            return direct(*flatten(args, kwargs))

        call = self._bound.function(layout, nested) if structure.is_flat else nested
        return call if drawn is None else _drawing(call, drawn)


def _drawing(call: Callable[..., Any], drawn: DrawnState) -> Callable[..., Any]:
    def seeded(*args: Any, **kwargs: Any) -> Any:
        with drawn.call():
            return call(*args, **kwargs)

    return seeded


def drawn_state(program: Program, seeds: SeedSource | None) -> DrawnState | None:
    """A state for a program that draws random numbers; None if it has none or no source."""
    if seeds is None or not any(slot.kind == "seed" for slot in program.main.slots):
        return None
    return DrawnState(seeds)


def _refuse(*args: Any, **kwargs: Any) -> Any:
    raise ExecutionError("the program is compiled for another machine and cannot run here")

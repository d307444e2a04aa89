"""What one elementwise function is called at each layer."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Literal

from lamina.dialects.records import record

Promotion = Literal[
    "promoting",
    "floating",
    "boolean",
    "integral",
    "number_like",
    "subtraction",
    "real",
    "division_with_mode",
]
"""How the element type of a result comes from those of the operands: a function of
`dialects/schema/result_rules/pointwise.py`."""

Cost = Literal["add", "root", "function", "curve", "special"]
"""What a function costs about as much as: an addition, a square root, an exponential, a hyperbolic
tangent, a function of its own in the program. The numbers stand in `passes/cost/fusion_cost.py`."""

SPECIAL_OP = "loop.special"
"""The op of loop bodies for functions that `math` has no op for; it names the function."""


@record
class Elementwise:
    """The names of one elementwise function, and what is known of it besides.

    An empty name says that the layer has no single word for the function: what it does then is an
    implementation there, found by `name`. What a layer lists, it derives from these records.
    """

    _: KW_ONLY
    name: str
    """The primitive (`prims.NAME`), the function of `loop.special` and that of the vector math."""
    operands: int = 1
    prims: bool = True
    """Whether there is a primitive; functions without one are taken apart further up."""
    promotion: Promotion = "promoting"

    aten: str = ""
    """The packet of `aten` and `core_aten` that is this function, in each of `overloads`."""
    overloads: tuple[str, ...] = ("default",)
    aliases: tuple[str, ...] = ()
    """Second names of the packet, with the same overloads and arguments."""
    core: bool = True
    """Whether the packet is in `core_aten`; others are decomposed, under all their names."""
    composed: bool = False
    """Whether the packet is more than the primitive, so that a function of its own lowers it."""
    rounds: bool = False
    """Whether it gives whole numbers, so that integers are left as they are."""

    loop: str = ""
    """The op in loop bodies on floats: of `arith`, of `math`, or `SPECIAL_OP`."""
    integer: str = ""
    """The op on integers, as signed ones if it matters."""
    unsigned: str = ""
    """The op on unsigned integers and bools, where it is not `integer`."""
    bools: bool = False
    """Whether these ops of integers are also for bools."""
    intrinsic: str = ""
    """LLVM's intrinsic, where the CPU has the instruction (`llvm.NAME.TYPE`)."""
    vector: str = ""
    """The file in `codegen/vector_math/` that writes the function, called `name`, as LLVM IR."""
    outlined: bool = False
    """Whether its code is so long that it stays a call in machine code."""
    cost: Cost = "add"

    complex: bool = False
    """Whether `split-complex` makes it of real functions."""
    numpy: str = ""
    """NumPy's function, for the interpreters (`arcsinh` is `numpy.arcsinh`)."""

    @property
    def overload_names(self) -> tuple[str, ...]:
        """The overloads of the packet: `("mul.Tensor", "mul.Scalar")`."""
        return tuple(f"{self.aten}.{overload}" for overload in self.overloads if self.aten)

    @property
    def second_names(self) -> dict[str, str]:
        """Overload of an alias to that of the packet: `{"multiply.Tensor": "mul.Tensor", ...}`."""
        return {
            f"{alias}.{overload}": f"{self.aten}.{overload}"
            for alias in self.aliases
            for overload in self.overloads
        }

    @property
    def packets(self) -> tuple[str, ...]:
        """The packet and its aliases."""
        return (self.aten, *self.aliases) if self.aten else ()

    @property
    def loop_ops(self) -> tuple[str, ...]:
        """The ops of `arith` and `math` in loop bodies."""
        return tuple(
            op for op in (self.loop, self.integer, self.unsigned) if op and op != SPECIAL_OP
        )

    @property
    def is_predicate(self) -> bool:
        """Whether the result is bool, so that operands are compared in their own type."""
        return self.promotion == "boolean"

    @property
    def is_special(self) -> bool:
        """Whether bodies compute it by `loop.special`."""
        return SPECIAL_OP in (self.loop, self.integer)

"""`loop.poll`: a loop of unknown length asks whether the program should stop."""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, operand_def

from lamina.dialects.op_accessors import op_definition


@op_definition
class PollOp(IRDLOperation):
    """Ends the loops of the program if the process was interrupted, as by Ctrl-C.

    `loop.poll through %callee : memref<1xi8>`

    `callee` is the address of `i32 ()`, which gives 0 to go on. It is asked a few times a second.
    """

    name = "loop.poll"
    callee = operand_def(MemRefType)
    assembly_format = "`through` $callee attr-dict `:` type($callee)"

    def __init__(self, callee: SSAValue) -> None:
        super().__init__(operands=[callee])

"""The `control` dialect: branches and loops over whole tensors, at every layer of tensors.

`control.cond`, `control.while`, `control.scan` and `control.repeat` hold regions whose ops are of
the layer around them. A region sees its arguments only; what it needs from outside is an operand.
So a region is like a function, and what rewrites functions rewrites regions.
"""

from xdsl.ir import Dialect

from lamina.dialects.control.cond import CondOp
from lamina.dialects.control.region_op import RegionOp, YieldOp
from lamina.dialects.control.repeat import RepeatOp
from lamina.dialects.control.scan import ScanOp
from lamina.dialects.control.while_loop import WhileOp

Control = Dialect("control", [CondOp, WhileOp, ScanOp, RepeatOp, YieldOp], [])

__all__ = ["CondOp", "Control", "RegionOp", "RepeatOp", "ScanOp", "WhileOp", "YieldOp"]

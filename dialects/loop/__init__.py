"""The `loop` dialect: iteration domains, index maps and scalar bodies made explicit.

Structured ops (`generic`, `reshape`, `kernel`) work on tensors and, after bufferization, on
memrefs; the scheduled level below adds the few memory ops that xDSL's `vector` and `memref` lack.
"""

from xdsl.ir import Dialect

from lamina.dialects.loop.body_ops import IndexOp, ReadOp, SizeOp, YieldOp
from lamina.dialects.loop.bounds import BoundsAttr, StreamAttr
from lamina.dialects.loop.compress import CompressOp
from lamina.dialects.loop.dot_pairs import DotPairsOp
from lamina.dialects.loop.extern import ExternOp
from lamina.dialects.loop.fourier import FourierOp
from lamina.dialects.loop.generic import GenericOp
from lamina.dialects.loop.kernel import KernelOp, ReshapeOp, ReturnOp, before_reshapes
from lamina.dialects.loop.kernel_nests import NestAttr
from lamina.dialects.loop.live_rows import LiveCountOp, LiveRowOp, LiveRowsAttr, LiveTurnsOp
from lamina.dialects.loop.packing import PackingAttr
from lamina.dialects.loop.poll import PollOp
from lamina.dialects.loop.row import RowOp
from lamina.dialects.loop.scan import ScanOp
from lamina.dialects.loop.scatter import ScatterOp
from lamina.dialects.loop.scheduled import GatherOp, PrefetchOp
from lamina.dialects.loop.schedules import SCHEDULES
from lamina.dialects.loop.segment_reduce import SegmentReduceOp
from lamina.dialects.loop.slices import SliceAttr
from lamina.dialects.loop.sort import SortOp
from lamina.dialects.loop.special import SpecialOp
from lamina.dialects.loop.team import BarrierOp, NumThreadsOp, SingleOp, TeamOp, ThreadOp
from lamina.dialects.loop.tiles import TILE_OPS
from lamina.dialects.loop.vector_arith import VECTOR_OPS

Loop = Dialect(
    "loop",
    [
        GenericOp,
        YieldOp,
        IndexOp,
        SizeOp,
        ReadOp,
        SpecialOp,
        KernelOp,
        ExternOp,
        ReturnOp,
        ReshapeOp,
        RowOp,
        PollOp,
        LiveCountOp,
        LiveRowOp,
        LiveTurnsOp,
        ScatterOp,
        ScanOp,
        SegmentReduceOp,
        SortOp,
        FourierOp,
        GatherOp,
        PrefetchOp,
        DotPairsOp,
        CompressOp,
        TeamOp,
        SingleOp,
        BarrierOp,
        ThreadOp,
        NumThreadsOp,
        *TILE_OPS,
        *VECTOR_OPS,
    ],
    [BoundsAttr, StreamAttr, SliceAttr, NestAttr, LiveRowsAttr, PackingAttr, *SCHEDULES],
)

UNSTRUCTURED_OPS = (ScatterOp, ScanOp, SegmentReduceOp, SortOp, FourierOp)
"""What is no nest of independent points: each makes a kernel of its own."""

TEAM_OPS = (TeamOp, SingleOp, BarrierOp, ThreadOp, NumThreadsOp)
"""What starts several threads, or tells them apart."""

__all__ = [
    "TEAM_OPS",
    "UNSTRUCTURED_OPS",
    "BarrierOp",
    "ExternOp",
    "FourierOp",
    "GatherOp",
    "GenericOp",
    "IndexOp",
    "KernelOp",
    "LiveCountOp",
    "LiveRowOp",
    "LiveTurnsOp",
    "Loop",
    "NumThreadsOp",
    "PollOp",
    "PrefetchOp",
    "ReadOp",
    "ReshapeOp",
    "ReturnOp",
    "RowOp",
    "ScanOp",
    "ScatterOp",
    "SegmentReduceOp",
    "SingleOp",
    "SizeOp",
    "SortOp",
    "SpecialOp",
    "TeamOp",
    "ThreadOp",
    "YieldOp",
    "before_reshapes",
]

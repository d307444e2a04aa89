"""`stream-dims`: kernels that would keep long rows are told to walk them in blocks.

Of whole rows of scores, a task keeps fewer the longer they are, and reads all keys again for those;
in blocks it keeps a few hundred keys of many rows in the nearest caches, however long a row is.
"""

from __future__ import annotations

from xdsl.dialects import func

from lamina.codegen.target import Target
from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.bounds import STREAM, StreamAttr
from lamina.dialects.loop.packing import is_packed
from lamina.dialects.loop.streamed_dims import streamed_dim
from lamina.dialects.records import record
from lamina.passes.cost.cache_shares import stream_block
from lamina.passes.cost.fusion_limits import LEAST_STREAM_BLOCKS
from lamina.passes.kernel_passes import KernelPass


@record
class StreamDimsPass(KernelPass):
    """Note on nests along a long dimension that a kernel sums over in a product: in blocks.

    `block` is the number of positions, whole panels of the products; by default what fits a share
    of the caches of `target`. With `least` blocks a dimension is long.
    """

    name = "stream-dims"

    target: str = "host"
    block: int | None = None
    least: int = LEAST_STREAM_BLOCKS

    def apply_to_kernel(self, kernel: func.FuncOp) -> None:
        nests = [nest for nest in block_ops(kernel.body.block) if isinstance(nest, GenericOp)]
        if sum(is_packed(nest) for nest in nests) < 2:
            return
        found = streamed_dim(nests)
        if found is None:
            return
        first, dim = next(iter(found.dims.items()))
        block = self.block or stream_block(Target.parse(self.target))
        if first.extents[dim] >= self.least * block:
            for nest, own in found.dims.items():
                nest.attributes[STREAM] = StreamAttr.of(own, block)

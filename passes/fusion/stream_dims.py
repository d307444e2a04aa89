"""`stream-dims`: kernels that would keep long rows are told to walk them in blocks.

Of whole rows of scores, a task keeps fewer the longer they are, and reads all keys again for those;
in blocks it keeps a few hundred keys of many rows in the nearest caches, however long a row is.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import func

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.bounds import STREAM, StreamAttr
from lamina.dialects.loop.packing import in_matrix_tiles, is_packed
from lamina.dialects.loop.streamed_dims import streamed_dim
from lamina.passes.cost.fusion_limits import LEAST_STREAM_BLOCKS, STREAM_BLOCK, TILE_STREAM_BLOCKS
from lamina.passes.kernel_passes import KernelPass


@dataclass(frozen=True)
class StreamDimsPass(KernelPass):
    """Note on nests along a long dimension that a kernel sums over in a product: in blocks.

    `block` is the number of positions, whole panels of the products; those in matrix tiles take
    more at a time.
    """

    name = "stream-dims"

    block: int = STREAM_BLOCK

    def apply_to_kernel(self, kernel: func.FuncOp) -> None:
        nests = [nest for nest in block_ops(kernel.body.block) if isinstance(nest, GenericOp)]
        if sum(is_packed(nest) for nest in nests) < 2:
            return
        found = streamed_dim(nests)
        if found is None:
            return
        first, dim = next(iter(found.dims.items()))
        if first.extents[dim] >= LEAST_STREAM_BLOCKS * self.block:
            tiled = any(in_matrix_tiles(nest) for nest in nests)
            block = self.block * TILE_STREAM_BLOCKS if tiled else self.block
            for nest, own in found.dims.items():
                nest.attributes[STREAM] = StreamAttr.of(own, block)

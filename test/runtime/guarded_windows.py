"""Windows of an open image, of which there may be none; see `guarded_sizes`."""

from __future__ import annotations

import torch

WINDOW_SUMS = """
func.func @main(%x: tensor<?x?x3xf32> {lamina.dims = [#lamina.size<h in [0, 256]>,
                                                      #lamina.size<w in [0, 256]>]})
    -> tensor<?x?x3xf32> {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %h = tensor.dim %x, %0 : tensor<?x?x3xf32>
  %w = tensor.dim %x, %1 : tensor<?x?x3xf32>
  %four = arith.constant 4 : index
  %rows = arith.floordivsi %h, %four : index
  %columns = arith.floordivsi %w, %four : index
  %sums = loop.generic (i, j, k, l, c)[s0 = %rows, s1 = %columns] in [s0, s1, 4, 4, 3]
      reads(%x[(i * 4) + k, (j * 4) + l, c] : tensor<?x?x3xf32>)
      writes([i, j, c] add : tensor<?x?x3xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return %sums : tensor<?x?x3xf32>
}
"""
"""Sums of whole windows of 4 by 4, of which there may be none."""
IMAGES = ((8, 9), (3, 9), (9, 2), (3, 3), (1, 17), (0, 5), (4, 4), (5, 7), (200, 21))


def window_sums(image: torch.Tensor) -> torch.Tensor:
    """What it gives."""
    height, width, channels = image.shape
    if min(height, width) < 4:
        return torch.zeros(height // 4, width // 4, channels)
    return image.unfold(0, 4, 4).unfold(1, 4, 4).sum((3, 4))

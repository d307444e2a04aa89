// RUN: lamina-opt %s -p 'fuse-kernels{target="x86-64-v4"}' --split-input-file | filecheck %s

// Beside a product loops of a nest run to the bound that go along what is the same for all they make of it: an image that a product scales, of whose lines a call may need but a few, is a kernel of its own.
func.func @scaled(%t: tensor<64x32xf32>, %w: tensor<1x32x32xf32>, %x: tensor<64x32x64x64xf32>) -> tensor<64x32x64x64xf32> {
  %0 = loop.generic (b, c, k) in [64, 32, 32] reads(%t[b, k] : tensor<64x32xf32>, %w[c floordiv 32, k, c mod 32] : tensor<1x32x32xf32>) writes([b, c] add : tensor<64x32xf32>) attributes {lamina.op = "product", lamina.packing = #loop.packing<panel = 32>, lamina.least_extents = array<i64: 1, 32, 32>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %1 = loop.generic (b, c, h, w) in [64, 32, 64, 64] reads(%0[b, c] : tensor<64x32xf32>, %x[b, c, h, w] : tensor<64x32x64x64xf32>) writes([b, c, h, w] store : tensor<64x32x64x64xf32>) attributes {lamina.op = "scale", lamina.least_extents = array<i64: 1, 32, 1, 1>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %1 : tensor<64x32x64x64xf32>
}
// CHECK-LABEL: @scaled
// CHECK:         lamina.not_fused = ["product -> scale: loops over sizes of the call would run to the bound: a reader has windows, panels or lines of them"

// -----

func.func @scaled_of_numbers(%t: tensor<64x32xf32>, %w: tensor<1x32x32xf32>, %x: tensor<64x32x64x64xf32>) -> tensor<64x32x64x64xf32> {
  %0 = loop.generic (b, c, k) in [64, 32, 32] reads(%t[b, k] : tensor<64x32xf32>, %w[c floordiv 32, k, c mod 32] : tensor<1x32x32xf32>) writes([b, c] add : tensor<64x32xf32>) attributes {lamina.op = "product", lamina.packing = #loop.packing<panel = 32>, lamina.least_extents = array<i64: 1, 32, 32>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %1 = loop.generic (b, c, h, w) in [64, 32, 64, 64] reads(%0[b, c] : tensor<64x32xf32>, %x[b, c, h, w] : tensor<64x32x64x64xf32>) writes([b, c, h, w] store : tensor<64x32x64x64xf32>) attributes {lamina.op = "scale", lamina.least_extents = array<i64: 1, 32, 64, 64>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %1 : tensor<64x32x64x64xf32>
}
// CHECK-LABEL: @scaled_of_numbers
// CHECK-NOT:     would run to the bound
// CHECK:         func.return

// -----

// So is what packs the windows of an image with its border, where the product that reads the panels needs but a few columns.
func.func @packed(%x: tensor<64x8x64x64xf32>, %w: tensor<16x8xf32>) -> tensor<64x16x64x64xf32> {
  %0 = loop.generic (b, c, h, w) in [64, 8, 66, 66] reads(%x[b, c, h + -1, w + -1] pad 0.0 : f32 : tensor<64x8x64x64xf32>) writes([b, c, h, w] store : tensor<64x8x66x66xf32>) attributes {lamina.op = "pad", lamina.materialized, lamina.least_extents = array<i64: 1, 8, 3, 3>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %1 = loop.generic (b, h, g, c, n) in [64, 64, 2, 8, 32] reads(%0[b, c, h + 1, g * 32 + n + 1] : tensor<64x8x66x66xf32>) writes([b, h, g, c, n] store : tensor<64x64x2x8x32xf32>) attributes {lamina.op = "pack", lamina.least_extents = array<i64: 1, 1, 2, 8, 32>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %2 = loop.generic (b, m, h, w, c) in [64, 16, 64, 64, 8] reads(%1[b, h, w floordiv 32, c, w mod 32] : tensor<64x64x2x8x32xf32>, %w[m, c] : tensor<16x8xf32>) writes([b, m, h, w] add : tensor<64x16x64x64xf32>) attributes {lamina.op = "product", lamina.packing = #loop.packing<panel = 32, pack_at = call>, lamina.least_extents = array<i64: 1, 16, 1, 1, 8>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %2 : tensor<64x16x64x64xf32>
}
// CHECK-LABEL: @packed
// CHECK:         lamina.not_fused = ["pad -> pack: loops over sizes of the call would run to the bound: a reader has windows, panels or lines of them"

// RUN: lamina-opt %s -p fold-layout --split-input-file | filecheck %s


// Heads that share their keys are a batch of their own for the product: it reads each key once for
// all rows of the heads that share it, and what reads the scores has heads and groups apart.
func.func @grouped(%q: tensor<4x5x3xf32>, %k: tensor<2x6x3xf32>) -> tensor<4x5x6xf32> {
  %r = loop.generic (h, g, i, j) in [2, 2, 6, 3] reads(%k[h, i, j] : tensor<2x6x3xf32>) writes([h, g, i, j] store : tensor<2x2x6x3xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %b = loop.reshape %r : tensor<2x2x6x3xf32> -> tensor<4x6x3xf32>
  %s = loop.generic (h, i, j, k) in [4, 5, 6, 3] reads(%q[h, i, k] : tensor<4x5x3xf32>, %b[h, j, k] : tensor<4x6x3xf32>) writes([h, i, j] add : tensor<4x5x6xf32>) {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  %e = loop.generic (h, i, j) in [4, 5, 6] reads(%s[h, i, j] : tensor<4x5x6xf32>) writes([h, i, j] store : tensor<4x5x6xf32>) {
  ^bb0(%p: f32):
    %n = loop.index 0 : index
    %m = arith.index_cast %n : index to i64
    %f = arith.sitofp %m : i64 to f32
    %v = arith.mulf %p, %f : f32
    loop.yield %v : f32
  }
  func.return %e : tensor<4x5x6xf32>
}
// CHECK-LABEL: @grouped
// CHECK-NEXT:    [[S:%\S+]] = loop.generic (d0, d1, d2, d3, d4) in [2, 2, 5, 6, 3] reads(%q[(d0 * 2) + d1, d2, d4] : tensor<4x5x3xf32>, %k[d0, d3, d4] : tensor<2x6x3xf32>) writes([d0, d1, d2, d3] add : tensor<2x2x5x6xf32>)
// CHECK:         [[E:%\S+]] = loop.generic (d0, d1, d2, d3) in [2, 2, 5, 6] reads([[S]][d0, d1, d2, d3] : tensor<2x2x5x6xf32>) writes([d0, d1, d2, d3] store : tensor<2x2x5x6xf32>)
// CHECK:         loop.index 0
// CHECK:         loop.index 1
// CHECK:         [[V:%\S+]] = loop.reshape [[E]] : tensor<2x2x5x6xf32> -> tensor<4x5x6xf32>
// CHECK-NEXT:    func.return [[V]]

// -----

// What is computed of repeated keys is computed once for each, and repeated then.
func.func @repeated(%q: tensor<4x5x3xf32>, %k: tensor<2x6x3xf32>) -> tensor<4x5x6xf32> {
  %r = loop.generic (h, g, i, j) in [2, 2, 6, 3] reads(%k[h, i, j] : tensor<2x6x3xf32>) writes([h, g, i, j] store : tensor<2x2x6x3xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %b = loop.reshape %r : tensor<2x2x6x3xf32> -> tensor<4x6x3xf32>
  %c = loop.generic (h, i, j) in [4, 6, 3] reads(%b[h, i, j] : tensor<4x6x3xf32>) writes([h, i, j] store : tensor<4x6x3xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %s = loop.generic (h, i, j, k) in [4, 5, 6, 3] reads(%q[h, i, k] : tensor<4x5x3xf32>, %c[h, j, k] : tensor<4x6x3xf32>) writes([h, i, j] add : tensor<4x5x6xf32>) {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return %s : tensor<4x5x6xf32>
}
// CHECK-LABEL: @repeated
// CHECK-NEXT:    [[C:%\S+]] = loop.generic (d0, d1, d2) in [2, 6, 3] reads(%k[d0, d1, d2]
// CHECK:         loop.generic (d0, d1, d2, d3, d4) in [2, 2, 5, 6, 3]

// -----

// Not split: no operand of the product is shared by parts of the batch.
func.func @own_keys(%q: tensor<4x5x3xf32>, %k: tensor<2x2x6x3xf32>) -> tensor<4x5x6xf32> {
  %r = loop.generic (h, g, i, j) in [2, 2, 6, 3] reads(%k[g, h, i, j] : tensor<2x2x6x3xf32>) writes([h, g, i, j] store : tensor<2x2x6x3xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %b = loop.reshape %r : tensor<2x2x6x3xf32> -> tensor<4x6x3xf32>
  %s = loop.generic (h, i, j, k) in [4, 5, 6, 3] reads(%q[h, i, k] : tensor<4x5x3xf32>, %b[h, j, k] : tensor<4x6x3xf32>) writes([h, i, j] add : tensor<4x5x6xf32>) {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return %s : tensor<4x5x6xf32>
}
// CHECK-LABEL: @own_keys
// CHECK:         loop.generic (d0, d1, d2, d3) in [4, 5, 6, 3]

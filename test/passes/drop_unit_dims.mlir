// RUN: lamina-opt %s -p drop-unit-dims --split-input-file | filecheck %s
// RUN: lamina-opt %s -p drop-unit-dims,outline-kernels --split-input-file > /dev/null

// The copy of columns that are one panel: panels are no loop.
// CHECK-LABEL: func.func @packs
// CHECK:         loop.generic (d0, d1, d2) in [64, 56, 32] reads(%{{[^ ]*}}[d0, d2, d1] : tensor<64x32x56xf32>) writes([d0, 0, d1, d2] store : tensor<64x1x56x32xf32>)
// CHECK-SAME:      lamina.nest = #loop.nest<rows = [d0, d1, d2]>
func.func @packs(%x: tensor<64x32x56xf32>) -> tensor<64x1x56x32xf32> {
  %0 = loop.kernel(%a = %x : tensor<64x32x56xf32>) -> (tensor<64x1x56x32xf32>) {
    %p = loop.generic (d0, d1, d2, d3) in [64, 1, 56, 32] reads(%a[d0, (d1 * 32) + d3, d2] : tensor<64x32x56xf32>) writes([d0, d1, d2, d3] store : tensor<64x1x56x32xf32>) attributes {lamina.op = "pack", lamina.nest = #loop.nest<rows = [d0, d2, d3]>} {
    ^bb0(%v: f32):
      loop.yield %v : f32
    }
    loop.return %p : tensor<64x1x56x32xf32>
  }
  func.return %0 : tensor<64x1x56x32xf32>
}

// -----

// Not where another nest shares rows with it, and not of what asks for positions.
// CHECK-LABEL: func.func @two
// CHECK:         loop.generic (d0, d1) in [8, 1]
// CHECK:         loop.generic (d0, d1) in [8, 4]
func.func @two(%x: tensor<8x1xf32>) -> tensor<8x4xf32> {
  %0 = loop.kernel(%a = %x : tensor<8x1xf32>) -> (tensor<8x4xf32>) {
    %p = loop.generic (d0, d1) in [8, 1] reads(%a[d0, d1] : tensor<8x1xf32>) writes([d0, d1] store : tensor<8x1xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
    ^bb0(%v: f32):
      %e = math.exp %v : f32
      loop.yield %e : f32
    }
    %q = loop.generic (d0, d1) in [8, 4] reads(%p[d0, 0] : tensor<8x1xf32>) writes([d0, d1] store : tensor<8x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
    ^bb0(%v: f32):
      loop.yield %v : f32
    }
    loop.return %q : tensor<8x4xf32>
  }
  func.return %0 : tensor<8x4xf32>
}

// -----

// CHECK-LABEL: func.func @positions
// CHECK:         loop.generic (d0, d1) in [8, 1]
func.func @positions() -> tensor<8x1xi64> {
  %0 = loop.kernel() -> (tensor<8x1xi64>) {
    %p = loop.generic (d0, d1) in [8, 1] writes([d0, d1] store : tensor<8x1xi64>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
    ^bb0:
      %i = loop.index 0 : index
      %n = arith.index_cast %i : index to i64
      loop.yield %n : i64
    }
    loop.return %p : tensor<8x1xi64>
  }
  func.return %0 : tensor<8x1xi64>
}
